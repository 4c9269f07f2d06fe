"""The Python SDK lists the tools and runs programs.

usage: python mcp_python.py URL MODE      MODE: auto, legacy or 2026-07-28

The token is in HOLDFAST_ADMIN_TOKEN. Prints what came as one line of JSON; the test beside it
judges. Version of the SDK: scripts/versions.mjs.
"""

import asyncio
import json
import os
import sys

import httpx2
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client

PROGRAMS = {
    "one": "return 1",
    "boom": 'throw new Error("boom")',
    "late": 'await sleep(2500); return "late"',
    # Streamed, and over the largest event that the SDK reads if the JSON stood there twice.
    "large": 'await sleep(1200); return "x".repeat(600000)',
}


def told(result):
    return {
        "isError": bool(result.is_error),
        "text": result.content[0].text,
        "structured": result.structured_content,
    }


async def main(url, mode, programs):
    headers = {"Authorization": "Bearer " + os.environ["HOLDFAST_ADMIN_TOKEN"]}
    out = {}
    async with httpx2.AsyncClient(headers=headers, timeout=30) as http:
        transport = streamable_http_client(url, http_client=http)
        async with Client(transport, mode=mode, read_timeout_seconds=30) as client:
            out["version"] = client.protocol_version
            # A pinned client asks nobody.
            out["server"] = client.server_info and client.server_info.name
            out["tools"] = [tool.name for tool in (await client.list_tools()).tools]
            for name, code in programs.items():
                out[name] = told(await client.call_tool("execute", {"code": code}))
            out["wrong"] = told(await client.call_tool("execute", {"code": ""}))
            out["gone"] = told(await client.call_tool("run_get", {"runId": "no-such-run"}))
            try:
                await client.call_tool("no_such_tool", {})
            except MCPError as error:
                out["unknown"] = error.error.code
    return out


if __name__ == "__main__":
    more = json.loads(os.environ.get("HOLDFAST_PROGRAMS", "{}"))
    print(json.dumps(asyncio.run(main(sys.argv[1], sys.argv[2], {**PROGRAMS, **more}))))
