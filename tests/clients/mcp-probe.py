#!/usr/bin/env python3
"""Raw HTTP probe of an MCP endpoint: does it give the RIGHT answer, case by case?

usage: python3 mcp-probe.py URL [--token T] [--origin O] [--only REGEX] [--timeout S] [--host-check] [--list]

  URL            the MCP endpoint, e.g. http://127.0.0.1:8787/mcp
  --token T      bearer token sent as `Authorization: Bearer T` (also enables the auth cases);
                 with --token - the token is read from the environment variable MCP_TOKEN
  --origin O     an origin the server is configured to allow (default: the origin of URL)
  --only REGEX   run only the cases whose name matches
  --timeout S    seconds to wait for one answer (default 10)
  --host-check   also require a request with a foreign Host header to be refused (local servers)
  --list         print the case names and exit

One line per case: verdict, name, what is right, what came. Exit status 0 when no case FAILs, 1 when
some do, 2 when the probe could not start. The expectations are those of the specification (MCP
2026-07-28 plus the legacy leg 2025-03-26 .. 2025-11-25), not what a particular SDK does.

The server must list a tool named `execute`; it is called with {"code": "return 1"}, which must be
answered without asking for an approval. Standard library only.
"""
import argparse
import base64
import http.client
import json
import os
import re
import ssl
import sys
import time
from urllib.parse import urlsplit

MODERN = '2026-07-28'
LEGACY = ('2025-03-26', '2025-06-18', '2025-11-25')
NEWEST_LEGACY = LEGACY[-1]
P = 'io.modelcontextprotocol/'
TASKS = P + 'tasks'
BOTH = 'application/json, text/event-stream'
EVIL = 'https://evil.example.com'
TOOL, ARGS = 'execute', {'code': 'return 1'}
ABSENT = object()          # "do not send this header / this field"
MAX_BODY = 8 << 20


# --------------------------------------------------------------------------- HTTP

class Reply:
    """One HTTP answer. `msg` is the JSON-RPC response, `stream` every message of an SSE body."""

    def __init__(self):
        self.status, self.headers, self.raw = None, {}, b''
        self.msg, self.stream, self.problem = None, [], None

    def header(self, name):
        return self.headers.get(name.lower())

    @property
    def media_type(self):
        return (self.header('content-type') or '').split(';')[0].strip().lower()

    @property
    def error_code(self):
        error = self.msg.get('error') if isinstance(self.msg, dict) else None
        return error.get('code') if isinstance(error, dict) else None

    @property
    def result(self):
        return self.msg.get('result') if isinstance(self.msg, dict) else None

    def short(self, full=True):
        if self.status is None:
            return self.problem or 'no answer'
        if self.error_code is not None:
            what = f'error {self.error_code}'
        elif self.result is not None:
            kind = self.result.get('resultType') if isinstance(self.result, dict) else None
            what = 'result' + (f' ({kind})' if kind else '')
        elif self.stream:
            what = 'stream, first ' + str(self.stream[0].get('method'))
        elif self.raw:
            what = f'{self.media_type or "no type"}, {len(self.raw)} bytes'
        else:
            what = 'empty'
        return f'{self.status} {what}' + (f' [{self.problem}]' if self.problem and full else '')


class Target:
    def __init__(self, url, token, origin, timeout):
        parts = urlsplit(url)
        if parts.scheme not in ('http', 'https') or not parts.hostname:
            raise ValueError('URL must be http:// or https://')
        self.url, self.scheme, self.host = url, parts.scheme, parts.hostname
        self.port = parts.port or (443 if parts.scheme == 'https' else 80)
        self.netloc, self.path = parts.netloc.rpartition('@')[2], parts.path or '/'
        self.query = parts.query
        self.base = f'{parts.scheme}://{self.netloc}'
        self.token, self.origin, self.timeout = token, origin or self.base, timeout

    def send(self, method='POST', headers=None, body=None, path=None, auth=True, want_id=ABSENT,
             stop=None, timeout=None):
        """Send one request. body: bytes, or something to encode as JSON. stop(msg) ends an SSE read."""
        reply = Reply()
        timeout = timeout or self.timeout
        deadline = time.monotonic() + timeout
        cls = http.client.HTTPSConnection if self.scheme == 'https' else http.client.HTTPConnection
        extra = {'context': ssl.create_default_context()} if self.scheme == 'https' else {}
        conn = cls(self.host, self.port, timeout=timeout, **extra)
        try:
            data = body if isinstance(body, bytes) else b'' if body is None else json.dumps(body).encode()
            out = {'Host': self.netloc, 'User-Agent': 'mcp-probe/1'}
            if auth and self.token:
                out['Authorization'] = 'Bearer ' + self.token
            if method == 'POST' or data:
                out['Content-Length'] = str(len(data))
            out.update(headers or {})
            target = path or (self.path + ('?' + self.query if self.query else ''))
            conn.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
            for name, value in out.items():
                if value is not ABSENT:
                    conn.putheader(name, value)
            conn.endheaders(data or None)
            answer = conn.getresponse()
            reply.status = answer.status
            for name, value in answer.getheaders():
                key = name.lower()
                reply.headers[key] = f'{reply.headers[key]}, {value}' if key in reply.headers else value
            if reply.media_type == 'text/event-stream':
                self._read_sse(answer, reply, deadline, want_id, stop)
            else:
                reply.raw = answer.read(MAX_BODY)
                if reply.media_type.endswith('json') and reply.raw:
                    try:
                        reply.msg = json.loads(reply.raw)
                    except ValueError:
                        reply.problem = 'body is not JSON'
        except Exception as exc:                                   # a hang or a broken answer is a result
            reply.problem = f'{type(exc).__name__}: {exc}'[:80]
        finally:
            conn.close()
        return reply

    @staticmethod
    def _read_sse(answer, reply, deadline, want_id, stop):
        data = []
        while True:
            if time.monotonic() > deadline:
                reply.problem = 'stream did not finish in time'
                return
            line = answer.readline(MAX_BODY)
            if not line:
                return
            line = line.rstrip(b'\r\n')
            if line.startswith(b'data:'):
                data.append(line[5:].lstrip())
            elif not line and data:
                text, data = b'\n'.join(data), []
                if not text:
                    continue                                       # legacy priming event
                try:
                    message = json.loads(text)
                except ValueError:
                    reply.problem = 'SSE data is not JSON'
                    return
                reply.stream.append(message)
                if isinstance(message, dict) and ('result' in message or 'error' in message):
                    reply.msg = message
                    if want_id is ABSENT or message.get('id') == want_id:
                        return
                if stop and stop(message):
                    return


# --------------------------------------------------------------------------- checks

def same_id(got, want):
    return type(got) is type(want) and got == want


class Case:
    def __init__(self, name, expect, run, only_if=None):
        self.name, self.expect, self.run, self.only_if = name, expect, run, only_if


class Suite:
    def __init__(self, target, host_check):
        self.t, self.cases, self.host_check = target, [], host_check
        self.next_id = 100
        self.caps, self.exts = {}, {}
        self.have_tool, self.sessionless = False, True

    # -- building requests -------------------------------------------------

    def new_id(self):
        self.next_id += 1
        return self.next_id

    @staticmethod
    def meta(version=MODERN, caps=None, **more):
        out = {P + 'protocolVersion': version,
               P + 'clientInfo': {'name': 'mcp-probe', 'version': '1'},
               P + 'clientCapabilities': {} if caps is None else caps}
        out.update(more)
        return {k: v for k, v in out.items() if v is not ABSENT}

    def modern(self, method, params=None, *, meta=None, headers=None, id=None, want_id=True, **send):
        """POST one modern request with all the required headers, then apply the overrides."""
        params = dict(params or {})
        if meta is not ABSENT:
            params['_meta'] = self.meta() if meta is None else meta
        rid = self.new_id() if id is None else id
        body = {'jsonrpc': '2.0', 'id': rid, 'method': method, 'params': params}
        out = {'Content-Type': 'application/json', 'Accept': BOTH,
               'MCP-Protocol-Version': MODERN, 'Mcp-Method': method}
        name = {'tools/call': 'name', 'prompts/get': 'name', 'resources/read': 'uri',
                'tasks/get': 'taskId', 'tasks/update': 'taskId', 'tasks/cancel': 'taskId'}.get(method)
        if name and isinstance(params.get(name), str):
            out['Mcp-Name'] = params[name]
        out.update(headers or {})
        reply = self.t.send(headers=out, body=body, want_id=rid, **send)
        return self.echoes(reply, rid) if want_id else reply

    def legacy(self, method, params=None, *, version='2025-06-18', headers=None, id=None, body=None, **send):
        rid = self.new_id() if id is None else id
        if body is None:
            body = {'jsonrpc': '2.0', 'id': rid, 'method': method}
            if params is not None:
                body['params'] = params
        out = {'Content-Type': 'application/json', 'Accept': BOTH, 'MCP-Protocol-Version': version}
        out.update(headers or {})
        reply = self.t.send(headers=out, body=body, want_id=rid, **send)
        return self.echoes(reply, rid) if 'id' in body and 'method' in body else reply

    def init(self, asked='2025-06-18', **kw):
        return self.legacy('initialize', {'protocolVersion': asked, 'capabilities': {},
                                          'clientInfo': {'name': 'mcp-probe', 'version': '1'}},
                           **{'version': ABSENT, **kw})

    # -- judging answers ---------------------------------------------------

    @staticmethod
    def echoes(reply, rid):
        """Results and JSON-RPC level errors carry the id of the request; HTTP level refusals need not."""
        if reply.status in (200, 400, 404) and isinstance(reply.msg, dict):
            if not same_id(reply.msg.get('id'), rid):
                reply.problem = f'id {reply.msg.get("id")!r} does not echo {rid!r}'
        return reply

    @staticmethod
    def err(reply, status, code, check=None):
        statuses = (status,) if isinstance(status, int) else status
        codes = (code,) if isinstance(code, int) else code
        if reply.problem:
            return reply.problem
        if reply.status not in statuses:
            return f'status {reply.status}'
        if reply.error_code not in codes:
            return f'no error {code}'
        if not isinstance(reply.msg['error'].get('message'), str):
            return 'error.message missing'
        return check(reply.msg['error'].get('data')) if check else None

    @staticmethod
    def malformed(reply, code):
        """An error about a body whose id could not be read: id absent (null tolerated)."""
        bad = Suite.err(reply, 400, code)
        if not bad and reply.msg.get('id') is not None:
            return f'id {reply.msg["id"]!r} invented'
        return bad

    @staticmethod
    def res(reply, check=None, status=200):
        if reply.problem:
            return reply.problem
        if reply.status != status:
            return f'status {reply.status}'
        if not isinstance(reply.result, dict):
            return 'no result object'
        return check(reply.result) if check else None

    def mres(self, reply, check=None):
        """A modern complete result, on a clean response stream."""
        def inner(result):
            if result.get('resultType') != 'complete':
                return f'resultType {result.get("resultType")!r}'
            if reply.header('mcp-session-id'):
                return 'minted or echoed Mcp-Session-Id'
            for message in reply.stream:
                if 'method' in message and 'id' in message:
                    return 'server sent a JSON-RPC request on the stream'
                if message.get('method') == 'notifications/message':
                    return 'log message although no logLevel was set'
            return check(result) if check else None
        return self.res(reply, inner)

    @staticmethod
    def accepted(reply):
        if reply.problem:
            return reply.problem
        if reply.status != 202:
            return f'status {reply.status}'
        return 'body not empty' if reply.raw or reply.stream else None

    @staticmethod
    def cacheable(result):
        ttl, scope = result.get('ttlMs'), result.get('cacheScope')
        if not isinstance(ttl, int) or isinstance(ttl, bool) or ttl < 0:
            return 'ttlMs is not an integer >= 0'
        return None if scope in ('public', 'private') else 'cacheScope is not public/private'

    @staticmethod
    def tools(result):
        tools = result.get('tools')
        if not isinstance(tools, list):
            return 'tools is not an array'
        for tool in tools:
            name = tool.get('name')
            if not isinstance(name, str) or not re.fullmatch(r'[A-Za-z0-9_.-]{1,64}', name):
                return f'tool name {name!r}'
            if not tool.get('description'):
                return f'tool {name} has no description'
            if (tool.get('inputSchema') or {}).get('type') != 'object':
                return f'tool {name}: inputSchema.type is not "object"'
        return None

    @staticmethod
    def content(result, is_error=False):
        blocks = result.get('content')
        if not isinstance(blocks, list) or not blocks:
            return 'content is not a non-empty array'
        return None if bool(result.get('isError')) is is_error else f'isError is {result.get("isError")!r}'

    # -- the cases ---------------------------------------------------------

    def add(self, name, expect, run, only_if=None):
        self.cases.append(Case(name, expect, run, only_if))

    def build(self):
        self.http_cases()
        self.accept_cases()
        self.legacy_cases()
        self.modern_cases()
        self.auth_cases()
        self.well_known_cases()

    def http_cases(self):
        t, add = self.t, self.add

        def no_method(method):
            def run():
                r = t.send(method, {'Accept': 'text/event-stream', 'Mcp-Session-Id': 'x'}, timeout=5)
                if r.problem or r.status != 405:
                    return r, r.problem or f'status {r.status}'
                return r, None if 'POST' in (r.header('allow') or '') else 'no Allow: POST'
            return run
        add('http: GET', '405 at once, Allow: POST', no_method('GET'))
        add('http: DELETE', '405, Allow: POST', no_method('DELETE'))

        def preflight():
            wanted = ['authorization', 'content-type', 'mcp-protocol-version', 'mcp-method', 'mcp-name']
            r = t.send('OPTIONS', {'Origin': t.origin, 'Access-Control-Request-Method': 'POST',
                                   'Access-Control-Request-Headers': ','.join(wanted)}, auth=False)
            if r.problem or r.status not in (200, 204):
                return r, r.problem or f'status {r.status}'
            if r.header('access-control-allow-origin') not in (t.origin, '*'):
                return r, f'Allow-Origin {r.header("access-control-allow-origin")!r}'
            if 'POST' not in (r.header('access-control-allow-methods') or ''):
                return r, 'Allow-Methods lacks POST'
            allowed = {h.strip().lower() for h in (r.header('access-control-allow-headers') or '').split(',')}
            missing = [h for h in wanted if h not in allowed]
            return r, 'Allow-Headers lacks ' + ' '.join(missing) if missing else None
        add('http: CORS preflight, no credentials', '204 (or 200) listing the MCP headers', preflight)

        def cors_on_answer():
            r = self.modern('tools/list', headers={'Origin': t.origin})
            bad = self.mres(r)
            if not bad and r.header('access-control-allow-origin') not in (t.origin, '*'):
                bad = 'no Access-Control-Allow-Origin'
            return r, bad
        add('http: allowed Origin', '200 result with Access-Control-Allow-Origin', cors_on_answer)

        def cors_on_error():
            r = self.modern('no/such', headers={'Origin': t.origin})
            bad = self.err(r, 404, -32601)
            if not bad and r.header('access-control-allow-origin') not in (t.origin, '*'):
                bad = 'no Access-Control-Allow-Origin'
            return r, bad
        add('http: allowed Origin, error answer', '404 / -32601 with Access-Control-Allow-Origin', cors_on_error)

        def refused(origin):
            def run():
                r = self.init(headers={'Origin': origin})
                return r, r.problem or (None if r.status == 403 else f'status {r.status}')
            return run
        add('http: foreign Origin', '403', refused(EVIL))
        add('http: Origin null', '403', refused('null'))

        def evil_preflight():
            r = t.send('OPTIONS', {'Origin': EVIL, 'Access-Control-Request-Method': 'POST'}, auth=False)
            leak = r.header('access-control-allow-origin') in (EVIL, '*')
            return r, r.problem or ('foreign origin allowed' if leak else None)
        add('http: preflight from a foreign Origin', 'no Access-Control-Allow-Origin', evil_preflight)

        if self.host_check:
            def evil_host():
                r = self.init(headers={'Host': 'evil.example.com'})
                return r, r.problem or (None if r.status in (403, 421) else f'status {r.status}')
            add('http: foreign Host', '421 or 403', evil_host)

        def plain():
            r = self.modern('tools/list', headers={'Content-Type': 'text/plain'})
            return r, None if r.status in (415, 400) else (r.problem or f'status {r.status}')
        add('http: Content-Type text/plain', '415 (400 tolerated)', plain)

        def charset():
            r = self.modern('tools/list', headers={'Content-Type': 'application/json; charset=utf-8'})
            return r, self.mres(r)
        add('http: Content-Type with charset', '200 result', charset)

        head = {'Content-Type': 'application/json', 'Accept': BOTH}

        def raw(body, code, **headers):
            def run():
                r = t.send(headers={**head, **headers}, body=body)
                return r, self.malformed(r, code)
            return run
        ping = {'jsonrpc': '2.0', 'method': 'ping'}
        old = {'MCP-Protocol-Version': '2025-06-18'}
        add('body: not JSON', '400 / -32700', raw(b'{nope', -32700))
        add('body: empty', '400 / -32700', raw(b'', (-32700, -32600)))
        add('body: not UTF-8', '400 / -32700', raw(b'{"jsonrpc":"2.0","id":1,"method":"\xff\xfe"}', -32700))
        add('body: a number', '400 / -32600', raw(b'42', -32600))
        add('body: batch, legacy header', '400 / -32600',
            raw([{**ping, 'id': 1}, {**ping, 'id': 2}], -32600, **old))
        add('body: batch, no version header', '400 / -32600', raw([{**ping, 'id': 1}, {**ping, 'id': 2}], -32600))
        add('body: batch, modern', '400 / -32600',
            raw([{'jsonrpc': '2.0', 'id': 1, 'method': 'tools/list', 'params': {'_meta': self.meta()}}], -32600,
                **{'MCP-Protocol-Version': MODERN, 'Mcp-Method': 'tools/list'}))
        add('body: empty batch', '400 / -32600', raw(b'[]', -32600))

        def shape(body, **headers):
            def run():
                r = t.send(headers={**head, **headers}, body=body)
                return r, self.err(r, 400, -32600)
            return run
        add('body: id null', '400 / -32600, not 202', shape({**ping, 'id': None}, **old))
        add('body: id 1.5', '400 / -32600', shape({**ping, 'id': 1.5}, **old))
        add('body: id true', '400 / -32600', shape({**ping, 'id': True}, **old))
        add('body: id object', '400 / -32600', shape({**ping, 'id': {}}, **old))
        add('body: jsonrpc missing', '400 / -32600', shape({'id': 1, 'method': 'ping'}, **old))
        add('body: method not a string', '400 / -32600', shape({'jsonrpc': '2.0', 'id': 1, 'method': 7}, **old))

    def accept_cases(self):
        def run(era, accept, allowed):
            def go():
                r = (self.init(headers={'Accept': accept}) if era == 'legacy'
                     else self.modern('tools/list', headers={'Accept': accept}))
                bad = self.res(r)
                if not bad and allowed and r.media_type not in allowed:
                    bad = f'answered {r.media_type}'
                return r, bad
            return go
        for era in ('legacy', 'modern'):
            for label, accept, allowed in (
                    ('application/json', 'application/json', ('application/json',)),
                    ('text/event-stream', 'text/event-stream', ('text/event-stream',)),
                    ('*/*', '*/*', None),
                    ('absent', ABSENT, None)):
                self.add(f'accept: {era}, {label}', '200 in an accepted type', run(era, accept, allowed))

    def legacy_cases(self):
        add = self.add

        def negotiated(asked, want, **kw):
            def run():
                r = self.init(asked, **kw)

                def check(result):
                    if result.get('protocolVersion') != want:
                        return f'protocolVersion {result.get("protocolVersion")!r}'
                    info = result.get('serverInfo') or {}
                    if not info.get('name') or not info.get('version'):
                        return 'serverInfo without name/version'
                    if not isinstance(result.get('capabilities'), dict):
                        return 'capabilities missing'
                    session = r.header('mcp-session-id')
                    if session is not None and not re.fullmatch(r'[\x21-\x7e]+', session):
                        return 'session id is not visible ASCII'
                    return None
                return r, self.res(r, check)
            return run
        for version in LEGACY:
            add(f'legacy: initialize {version}', f'200, protocolVersion {version}', negotiated(version, version))
        add('legacy: initialize 2099-01-01', f'200, protocolVersion {NEWEST_LEGACY}',
            negotiated('2099-01-01', NEWEST_LEGACY))
        add(f'legacy: initialize {MODERN}', f'200, protocolVersion {NEWEST_LEGACY}', negotiated(MODERN, NEWEST_LEGACY))
        add('legacy: initialize with a version header', '200, header not used for negotiation',
            negotiated('2025-06-18', '2025-06-18', version='2025-11-25'))
        add('legacy: initialize with a stale session id', '200, header ignored',
            negotiated('2025-06-18', '2025-06-18', headers={'Mcp-Session-Id': 'deadbeef'}))

        def note(body, **kw):
            def run():
                r = self.legacy(None, body=body, **kw)
                return r, self.accepted(r)
            return run
        add('legacy: notifications/initialized', '202, empty body',
            note({'jsonrpc': '2.0', 'method': 'notifications/initialized'}))
        add('legacy: notifications/cancelled', '202, empty body',
            note({'jsonrpc': '2.0', 'method': 'notifications/cancelled', 'params': {'requestId': 1}}))
        add('legacy: unknown notification', '202, empty body',
            note({'jsonrpc': '2.0', 'method': 'notifications/no_such_thing'}))

        def posted_response():
            r = self.legacy(None, body={'jsonrpc': '2.0', 'id': 7, 'result': {}})
            return r, None if r.status == 400 else self.accepted(r)
        add('legacy: posted JSON-RPC response', '202, empty body (400 tolerated)', posted_response)

        def simple(method, check=None, params=None, **kw):
            def run():
                r = self.legacy(method, params, **kw)
                return r, self.res(r, check)
            return run
        add('legacy: ping', '200 result', simple('ping'))
        add('legacy: tools/list, header 2025-06-18', '200 result, Mcp-Method not required',
            simple('tools/list', self.tools))
        add('legacy: tools/list, no version header', '200 result', simple('tools/list', self.tools, version=ABSENT))
        add('legacy: string id', '200, id "1" echoed as a string', simple('tools/list', id='1'))
        add('legacy: id 1774232524389', '200, same digits', simple('tools/list', id=1774232524389))
        add('legacy: id 2^53+1', '200, same digits', simple('tools/list', id=9007199254740993))

        def old_header():
            r = self.legacy('tools/list', version='1999-01-01')
            return r, None if r.status == 400 else (r.problem or f'status {r.status}')
        add('legacy: unsupported version header', '400', old_header)

        def unknown_session():
            r = self.legacy('tools/list', headers={'Mcp-Session-Id': 'deadbeef'})
            if self.sessionless:
                return r, self.res(r) or ('session id echoed' if r.header('mcp-session-id') else None)
            return r, None if r.status == 404 else f'status {r.status}'
        add('legacy: unknown session id', '200 when sessionless (404 when sessions are used)', unknown_session)

        def unknown_method():
            r = self.legacy('no/such', id='m-1')
            return r, self.err(r, 200, -32601)
        add('legacy: unknown method', '200 / -32601, never 404; id echoed', unknown_method)

        call = {'name': TOOL, 'arguments': ARGS}

        def plain_result(result):
            if result.get('resultType') not in (None, 'complete'):
                return f'resultType {result.get("resultType")!r}'
            return self.content(result)
        add('legacy: tools/call execute', '200, content, not a task', simple('tools/call', plain_result, call),
            self.needs_tool)
        add('legacy: tools/call with a task hint', '200, hint ignored',
            simple('tools/call', plain_result, {**call, 'task': {'ttl': 60000}}, version='2025-11-25'),
            self.needs_tool)

        def bad_args():
            r = self.legacy('tools/call', {'name': TOOL, 'arguments': {}})
            return r, self.res(r, lambda x: self.content(x, True))
        add('legacy: tools/call, bad arguments', '200 result isError', bad_args, self.needs_tool)

        def unknown_tool():
            r = self.legacy('tools/call', {'name': 'no_such_tool', 'arguments': {}})
            return r, self.err(r, (200, 400), -32602)
        add('legacy: tools/call, unknown tool', '200 (400 tolerated) / -32602', unknown_tool)

    def modern_cases(self):
        add, modern = self.add, self.modern

        def discover():
            r = modern('server/discover')

            def check(result):
                versions = result.get('supportedVersions')
                if not isinstance(versions, list) or MODERN not in versions:
                    return f'supportedVersions {versions!r}'
                if not isinstance(result.get('capabilities'), dict):
                    return 'capabilities missing'
                info = (result.get('_meta') or {}).get(P + 'serverInfo') or {}
                if not info.get('name') or not info.get('version'):
                    return '_meta serverInfo without name/version'
                return self.cacheable(result)
            return r, self.mres(r, check)
        add('modern: server/discover', '200 complete, every required field, serverInfo', discover)

        def listing():
            r = modern('tools/list')
            bad = self.mres(r, lambda x: self.tools(x) or self.cacheable(x))
            if not bad:
                names = [x['name'] for x in r.result['tools']]
                again = modern('tools/list')
                if [x['name'] for x in ((again.result or {}).get('tools') or [])] != names:
                    bad = 'second tools/list differs'
            return r, bad
        add('modern: tools/list', '200 complete, ttlMs, cacheScope, stable order', listing)

        def ok(method, params=None, **kw):
            def run():
                r = modern(method, params, **kw)
                return r, self.mres(r)
            return run

        def fails(status, code, method, params=None, check=None, **kw):
            def run():
                r = modern(method, params, **kw)
                return r, self.err(r, status, code, check)
            return run
        H = 'MCP-Protocol-Version'
        add('modern: clientInfo missing', '200 result', ok('tools/list', meta=self.meta(**{P + 'clientInfo': ABSENT})))
        add('modern: session id header', '200 result, header ignored and not echoed',
            ok('tools/list', headers={'Mcp-Session-Id': 'zzz', 'Last-Event-ID': '9'}))
        add('modern: header names in lower case', '200 result',
            ok('tools/list', headers={'Mcp-Method': ABSENT, 'mcp-method': 'tools/list', H: ABSENT, H.lower(): MODERN}))
        add('modern: id 2^53+1', '200, same digits', ok('tools/list', id=9007199254740993))
        add('modern: string id on an error', '404 / -32601, id echoed', fails(404, -32601, 'no/such', id='e-1'))

        add('modern: no _meta', '400 / -32602', fails(400, -32602, 'tools/list', meta=ABSENT))
        add('modern: _meta without protocolVersion', '400 / -32602',
            fails(400, -32602, 'tools/list', meta=self.meta(ABSENT)))
        add('modern: _meta without clientCapabilities', '400 / -32602',
            fails(400, -32602, 'tools/list', meta=self.meta(**{P + 'clientCapabilities': ABSENT})))
        add('modern: version header missing', '400 / -32020', fails(400, -32020, 'tools/list', headers={H: ABSENT}))
        add('modern: header 2025-11-25, _meta modern', '400 / -32020',
            fails(400, -32020, 'tools/list', headers={H: '2025-11-25'}))
        add('modern: header modern, _meta 2099-01-01', '400 / -32020',
            fails(400, -32020, 'tools/list', meta=self.meta('2099-01-01')))

        def versions(asked):
            def check(data):
                if not isinstance(data, dict) or MODERN not in (data.get('supported') or []):
                    return 'data.supported lacks ' + MODERN
                return None if data.get('requested') == asked else f'data.requested {data.get("requested")!r}'
            return check
        for version in ('2099-01-01', '2025-11-25'):
            add(f'modern: version {version} everywhere', '400 / -32022, data.supported, data.requested',
                fails(400, -32022, 'tools/list', meta=self.meta(version), headers={H: version},
                      check=versions(version)))

        add('modern: Mcp-Method missing', '400 / -32020', fails(400, -32020, 'tools/list', headers={'Mcp-Method': ABSENT}))
        add('modern: Mcp-Method of another method', '400 / -32020',
            fails(400, -32020, 'tools/list', headers={'Mcp-Method': 'prompts/list'}))
        add('modern: Mcp-Method in other case', '400 / -32020',
            fails(400, -32020, 'tools/list', headers={'Mcp-Method': 'TOOLS/LIST'}))

        for method in ('no/such', 'initialize', 'ping', 'logging/setLevel', 'resources/subscribe',
                       'resources/unsubscribe', 'tasks/list', 'tasks/result'):
            add(f'modern: {method}', '404 / -32601', fails(404, -32601, method))

        def gated(method, capability):
            def run():
                r = modern(method)
                if capability in self.caps:
                    return r, self.mres(r, self.cacheable)
                return r, self.err(r, 404, -32601)
            return run
        for method, capability in (('prompts/list', 'prompts'), ('resources/list', 'resources'),
                                   ('resources/templates/list', 'resources')):
            add(f'modern: {method}', '200 if advertised, else 404 / -32601', gated(method, capability))

        def notification():
            r = self.t.send(headers={'Content-Type': 'application/json', 'Accept': BOTH, H: MODERN,
                                     'Mcp-Method': 'notifications/cancelled'},
                            body={'jsonrpc': '2.0', 'method': 'notifications/cancelled', 'params': {'requestId': 9}})
            return r, self.accepted(r)
        add('modern: notification', '202, empty body', notification)

        call = {'name': TOOL, 'arguments': ARGS}

        def called(**kw):
            def run():
                params = {**call, **kw.pop('params', {})} if 'params' in kw else call
                r = modern('tools/call', params, **kw)
                return r, self.mres(r, self.content)
            return run

        def b64(text):
            return '=?base64?' + base64.b64encode(text.encode()).decode() + '?='
        add('modern: tools/call execute', '200 complete, content', called(), self.needs_tool)
        add('modern: Mcp-Name base64', '200 complete', called(headers={'Mcp-Name': b64(TOOL)}), self.needs_tool)
        add('modern: Mcp-Name padded with spaces', '200 complete', called(headers={'Mcp-Name': f'  {TOOL}  '}),
            self.needs_tool)
        add('modern: unasked inputResponses', '200 complete, extra keys ignored',
            called(params={'inputResponses': {'nobody_asked': {'action': 'accept'}}}), self.needs_tool)
        add('modern: forged requestState', '-32602 (200; 400 tolerated)',
            fails((200, 400), -32602, 'tools/call', {**call, 'requestState': 'v1.forged.forged'}), self.needs_tool)
        add('modern: Mcp-Name missing', '400 / -32020',
            fails(400, -32020, 'tools/call', call, headers={'Mcp-Name': ABSENT}), self.needs_tool)
        add('modern: Mcp-Name of another tool', '400 / -32020',
            fails(400, -32020, 'tools/call', call, headers={'Mcp-Name': 'other'}), self.needs_tool)
        add('modern: Mcp-Name broken base64', '400 / -32020',
            fails(400, -32020, 'tools/call', call, headers={'Mcp-Name': '=?base64?%%%?='}), self.needs_tool)
        add('modern: unknown tool', '200 (400 tolerated) / -32602',
            fails((200, 400), -32602, 'tools/call', {'name': 'no_such_tool', 'arguments': {}}))

        def bad_args():
            r = modern('tools/call', {'name': TOOL, 'arguments': {}})
            return r, self.mres(r, lambda x: self.content(x, True))
        add('modern: tools/call, bad arguments', '200 complete, isError', bad_args, self.needs_tool)

        def progress():
            token = 'probe-token'
            r = modern('tools/call', call, meta=self.meta(progressToken=token))
            bad, last = self.mres(r, self.content), None
            for message in r.stream:
                if bad or message.get('method') != 'notifications/progress':
                    continue
                params = message.get('params') or {}
                if params.get('progressToken') != token:
                    bad = 'progress for another token'
                elif last is not None and params.get('progress') <= last:
                    bad = 'progress did not increase'
                last = params.get('progress')
            return r, bad
        add('modern: progressToken', '200 complete; progress, if any, increases', progress, self.needs_tool)

        def tasks_gate():
            r = modern('tasks/get', {'taskId': 'no-such-task'})
            if TASKS not in self.exts:
                return r, self.err(r, 404, -32601)

            def check(data):
                need = (data or {}).get('requiredCapabilities')
                need = need.get('extensions') if isinstance(need, dict) else None
                return None if isinstance(need, dict) and TASKS in need else 'data.requiredCapabilities wrong'
            return r, self.err(r, 400, -32021, check)
        add('modern: tasks/get without the extension', '400 / -32021 if tasks advertised, else 404 / -32601', tasks_gate)

        def unknown_task():
            r = modern('tasks/get', {'taskId': 'no-such-task'}, meta=self.meta(caps={'extensions': {TASKS: {}}}))
            return r, self.err(r, (200, 400), -32602)
        add('modern: tasks/get, unknown task', '200 (400 tolerated) / -32602', unknown_task,
            lambda: None if TASKS in self.exts else 'tasks not advertised')

        def listen():
            rid = self.new_id()
            r = modern('subscriptions/listen', {'notifications': {'toolsListChanged': True}}, id=rid, want_id=False,
                       stop=lambda m: True, timeout=5)
            if r.stream:
                first = r.stream[0]
                tag = ((first.get('params') or {}).get('_meta') or {}).get(P + 'subscriptionId')
                if first.get('method') != 'notifications/subscriptions/acknowledged':
                    return r, 'first message is not the acknowledgement'
                return r, None if same_id(tag, rid) else f'subscriptionId {tag!r}'
            promised = any(isinstance(v, dict) and (v.get('listChanged') or v.get('subscribe'))
                           for v in self.caps.values())
            if promised:
                return r, r.problem or 'listChanged/subscribe advertised but no stream'
            return r, self.err(r, 404, -32601)
        add('modern: subscriptions/listen', 'SSE, acknowledgement first; 404 / -32601 if not offered', listen)

    def auth_cases(self):
        add, t = self.add, self.t

        def token_only():
            return None if t.token else 'no --token'

        def challenged(reply):
            if reply.problem or reply.status != 401:
                return reply.problem or f'status {reply.status}'
            value = reply.header('www-authenticate') or ''
            return None if value.lower().startswith('bearer') else 'no WWW-Authenticate: Bearer'

        def run(fn):
            def go():
                r = fn()
                return r, challenged(r)
            return go
        wrong = {'Authorization': 'Bearer wrong-' + 'x' * 20}
        add('auth: no token, legacy', '401, WWW-Authenticate: Bearer', run(lambda: self.init(auth=False)), token_only)
        add('auth: no token, modern', '401, WWW-Authenticate: Bearer',
            run(lambda: self.modern('server/discover', auth=False)), token_only)
        add('auth: wrong token', '401, WWW-Authenticate: Bearer',
            run(lambda: self.modern('tools/list', headers=wrong)), token_only)
        add('auth: token only in the query string', '401',
            run(lambda: self.modern('tools/list', auth=False, path=f'{t.path}?access_token={t.token}')), token_only)

        def get_first():
            r = t.send('GET', {'Accept': 'text/event-stream'}, auth=False, timeout=5)
            return r, None if r.status == 405 else (r.problem or f'status {r.status}')
        add('auth: GET without token', '405, not 401', get_first, token_only)

        def cors_401():
            r = self.modern('tools/list', auth=False, headers={'Origin': t.origin})
            bad = challenged(r)
            if not bad and r.header('access-control-allow-origin') not in (t.origin, '*'):
                bad = 'no Access-Control-Allow-Origin on 401'
            return r, bad
        add('auth: 401 for an allowed Origin', '401 with Access-Control-Allow-Origin', cors_401, token_only)

        def scheme():
            r = self.modern('tools/list', auth=False, headers={'Authorization': f'bearer {t.token}'})
            return r, self.mres(r)
        add('auth: scheme in lower case', '200 result', scheme, token_only)

    def well_known_cases(self):
        t = self.t
        paths = ['/.well-known/oauth-protected-resource', '/.well-known/oauth-protected-resource' + t.path,
                 '/.well-known/oauth-authorization-server', '/.well-known/openid-configuration']

        def oauth_on():
            if not hasattr(self, '_oauth'):
                replies = [t.send('GET', {'Accept': 'application/json'}, path=p, auth=False) for p in paths[:2]]
                self._oauth = any(r.status == 200 for r in replies)
            return self._oauth

        def doc(path, check, optional=False):
            def run():
                r = t.send('GET', {'Accept': 'application/json'}, path=path, auth=False)
                if not oauth_on() or (optional and r.status == 404):
                    return r, None if r.status == 404 else (r.problem or f'status {r.status}, but OAuth is off')
                if r.problem or r.status != 200 or not isinstance(r.msg, dict):
                    return r, r.problem or f'status {r.status}, or not a JSON object'
                return r, check(r.msg)
            return run

        def resource(d):
            if d.get('resource') not in (t.url, t.base):
                return f'resource {d.get("resource")!r}'
            servers = d.get('authorization_servers')
            if not isinstance(servers, list) or not servers:
                return 'authorization_servers missing'
            return 'offline_access in scopes_supported' if 'offline_access' in d.get('scopes_supported', []) else None

        def server(d):
            for key in ('issuer', 'authorization_endpoint', 'token_endpoint'):
                if not isinstance(d.get(key), str):
                    return key + ' missing'
            if 'S256' not in (d.get('code_challenge_methods_supported') or []):
                return 'code_challenge_methods_supported lacks S256'
            return None if 'code' in (d.get('response_types_supported') or []) else 'response_types_supported lacks code'
        self.add('well-known: protected resource', 'OAuth off: 404; on: RFC 9728 JSON', doc(paths[0], resource))
        self.add('well-known: protected resource + path', 'OAuth off: 404; on: RFC 9728 JSON', doc(paths[1], resource))
        self.add('well-known: authorization server', 'OAuth off: 404; on: RFC 8414 JSON (404 if elsewhere)',
                 doc(paths[2], server, True))
        self.add('well-known: openid-configuration', 'OAuth off: 404; on: 404 or JSON', doc(paths[3], server, True))

    # -- running -----------------------------------------------------------

    def needs_tool(self):
        return None if self.have_tool else f'server lists no tool named {TOOL}'

    def prepare(self):
        """Learn what the server has. Returns a reason to stop, or None."""
        first = self.modern('tools/list')
        if first.status is None:
            return f'no answer from {self.t.url}: {first.problem}'
        if first.status == 401:
            return 'the server wants a bearer token: pass --token'
        tools = (first.result or {}).get('tools') if isinstance(first.result, dict) else None
        if not isinstance(tools, list):
            print(f'note  modern tools/list gave {first.short()}; trying the legacy leg', file=sys.stderr)
            old = self.legacy('tools/list')
            tools = (old.result or {}).get('tools') if isinstance(old.result, dict) else []
        self.have_tool = any(isinstance(x, dict) and x.get('name') == TOOL for x in tools or [])
        found = self.modern('server/discover')
        if isinstance(found.result, dict):
            self.caps = found.result.get('capabilities') or {}
            self.exts = self.caps.get('extensions') or {}
        self.sessionless = self.init().header('mcp-session-id') is None
        return None

    def run(self, only):
        tally = {'ok': 0, 'FAIL': 0, 'skip': 0}

        def line(verdict, name, expect, got):
            tally[verdict] += 1
            print(f'{verdict:4}  {name:44}  expected: {expect:58}  got: {got}', flush=True)
        if not only or only.search('setup: tool execute'):
            line('ok' if self.have_tool else 'FAIL', 'setup: tool execute', f'tools/list has {TOOL}',
                 'listed' if self.have_tool else 'not listed')
        for case in self.cases:
            if only and not only.search(case.name):
                continue
            reason = case.only_if() if case.only_if else None
            if reason:
                line('skip', case.name, case.expect, reason)
                continue
            try:
                reply, bad = case.run()
            except Exception as exc:                               # an answer of an unforeseen shape
                reply, bad = Reply(), f'{type(exc).__name__}: {exc}'
            line('FAIL' if bad else 'ok', case.name, case.expect,
                 reply.short(bool(bad)) + (f' <- {bad}' if bad and bad != reply.problem else ''))
        print(f'{sum(tally.values())} cases: {tally["ok"]} ok, {tally["FAIL"]} FAIL, {tally["skip"]} skip')
        return 1 if tally['FAIL'] else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('url')
    parser.add_argument('--token')
    parser.add_argument('--origin')
    parser.add_argument('--only', type=re.compile)
    parser.add_argument('--timeout', type=float, default=10.0)
    parser.add_argument('--host-check', action='store_true')
    parser.add_argument('--list', action='store_true')
    args = parser.parse_args()
    token = os.environ.get('MCP_TOKEN') if args.token == '-' else args.token
    try:
        suite = Suite(Target(args.url, token, args.origin, args.timeout), args.host_check)
    except ValueError as exc:
        print(f'mcp-probe: {exc}', file=sys.stderr)
        return 2
    suite.build()
    if args.list:
        print('\n'.join(['setup: tool execute'] + [c.name for c in suite.cases]))
        return 0
    reason = suite.prepare()
    if reason:
        print(f'mcp-probe: {reason}', file=sys.stderr)
        return 2
    return suite.run(args.only)


if __name__ == '__main__':
    sys.exit(main())
