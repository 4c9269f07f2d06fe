"""Sends the same with sentry-sdk, which knows no tunnels: the DSN's path leads to ours.

Arguments: DSN, the timeout's text.
"""

import sys

import sentry_sdk

dsn, timeout = sys.argv[1:]
sentry_sdk.init(dsn=dsn, default_integrations=False, release="client")
try:
    raise RuntimeError("D1 write failed")
except RuntimeError as error:
    sentry_sdk.capture_exception(error)
sentry_sdk.capture_exception(TimeoutError(timeout))
sentry_sdk.capture_message(timeout)
try:
    try:
        raise TimeoutError(timeout)
    except TimeoutError as cause:
        raise RuntimeError("the sweep failed") from cause
except RuntimeError as error:
    sentry_sdk.capture_exception(error)
sentry_sdk.flush(10)
