"""Normalises the events on standard input, one JSON a line, as a Sentry server would.

Prints each again; the normaliser leaves what it had to correct in `errors` and `_meta`.
"""

import json
import sys

from sentry_relay.processing import StoreNormalizer

for line in sys.stdin:
    normalizer = StoreNormalizer(project_id=1, client="holdfast/0.1")
    print(json.dumps(normalizer.normalize_event(json.loads(line))))
