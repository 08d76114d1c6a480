"""A small MCP server, on standard input and output or over HTTP: `mcp_server.py [PORT]`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from mcp.server.mcpserver import MCPServer

server = MCPServer("notes")


@server.tool()
def note(text: str) -> str:
    """Write a note into the folder."""
    Path("note.txt").write_text(text + "\n")
    return f"Noted for {os.environ.get('NOTER', 'nobody')}: {text}"


@server.tool()
def fail() -> str:
    """Never works."""
    raise ValueError("the ink is dry")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
    else:
        server.run("stdio")
