"""A server of the Python SDK, whose MCPServer was called FastMCP: typed tools, both wire eras.

    python mcp_server.py PORT
"""

import asyncio
import sys

from mcp.server.mcpserver import Context, MCPServer
from pydantic import BaseModel

server = MCPServer("library")

BOOKS = [("Momo", 1973), ("Krabat", 1971), ("Emil", 1929)]


class Book(BaseModel):
    title: str
    year: int


class Books(BaseModel):
    books: list[Book]


@server.tool()
def find_books(since: int = 0) -> Books:
    """Finds books that appeared since a year."""
    return Books(books=[Book(title=t, year=y) for t, y in BOOKS if y >= since])


@server.tool()
def lend(title: str) -> str:
    """Lends a book."""
    if title not in [t for t, _ in BOOKS]:
        raise ValueError(f"there is no book {title}")
    return f"{title} is yours"


@server.tool()
async def bind(pages: int, ctx: Context) -> str:
    """Binds a book, a page at a time."""
    for page in range(pages):
        await ctx.report_progress(page, pages)
        await asyncio.sleep(0.2)
    return "bound"


server.run(transport="streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
