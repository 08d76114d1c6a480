"""MCP servers that a client hands over, as tools of the built-in agent, through pydantic-ai's client.

What such a tool does is its server's business and unknown here: so every call asks, and what it changed on disk is
found there, as with a shell command. A server that cannot be used costs its tools and nothing else.
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict

from redline.tools.tool import ContentBlock, Tool, ToolContext, ToolError, text_block

if TYPE_CHECKING:
    from pydantic_ai.mcp import MCPToolset

START_SECONDS = 60.0
"""For a server to start and to say what it has: some are installed at their first start."""
_NAME_LIMIT = 64
"""Characters that model providers take for a tool's name."""
_ODD = re.compile(r"[^A-Za-z0-9_-]+")


class McpArguments(BaseModel):
    """Whatever the server's schema says; the server checks it."""

    model_config = ConfigDict(extra="allow", frozen=True)


class McpTool(Tool[McpArguments]):
    kind = "other"
    parameters = McpArguments
    asks = True
    touches_workspace = True

    def __init__(self, server: MCPToolset[Any], name: str, remote: str, description: str, schema: Mapping[str, Any]):
        self.name = name  # type: ignore[misc]
        self.description = description  # type: ignore[misc]
        self._server = server
        self._remote = remote
        self._schema = schema

    def schema(self) -> Mapping[str, Any]:
        return self._schema

    async def execute(self, arguments: McpArguments, context: ToolContext) -> Sequence[ContentBlock]:  # noqa: ARG002
        try:
            answer = await self._server.direct_call_tool(self._remote, arguments.model_dump())
        except Exception as fault:
            said = str(fault).rstrip() or type(fault).__name__
            said = said if said.endswith((".", "!", "?")) else f"{said}."
            raise ToolError("MCP", f"{self._remote}: {said}", "See what the server itself says about it.") from fault
        return _blocks(answer)


@dataclass(slots=True)
class McpServers:
    """The servers of one session. Made at no cost: they are started by `tools`."""

    declared: Sequence[Mapping[str, Any]]
    """As the Agent Client Protocol has them."""
    workspace: Path
    faults: list[str] = field(default_factory=list)
    """Why a server cannot be used."""
    _running: list[MCPToolset[Any]] = field(default_factory=list)

    async def tools(self) -> list[Tool[Any]]:
        """Start all of them, side by side, and ask what they have."""
        if not self.declared:
            return []
        await asyncio.to_thread(__import__, "pydantic_ai.mcp")  # it takes a second
        found = await asyncio.gather(*(self._tools_of(one) for one in self.declared))
        tools: dict[str, Tool[Any]] = {}
        for tool in (tool for some in found for tool in some):
            if tools.setdefault(tool.name, tool) is not tool:
                self.faults.append(f"Two tools are called {tool.name}; the second one is left out.")
        return list(tools.values())

    async def close(self) -> None:
        running, self._running = self._running, []
        for server in running:
            with suppress(Exception):
                await server.__aexit__(None, None, None)

    async def _tools_of(self, declared: Mapping[str, Any]) -> list[Tool[Any]]:
        name = str(declared.get("name") or "server")
        try:
            server = _server(declared, self.workspace)
            await server.__aenter__()
            self._running.append(server)
            listed = await server.list_tools()
        except Exception as fault:
            said = " ".join(str(fault).split())[:500] or type(fault).__name__
            self.faults.append(f"The MCP server {name!r} cannot be used: {said.rstrip('.')}.")
            return []
        return [
            McpTool(server, _tool_name(name, one.name), one.name, one.description or one.name, _schema(one))
            for one in listed
        ]


def _server(declared: Mapping[str, Any], workspace: Path) -> MCPToolset[Any]:
    from fastmcp.client.transports import ClientTransport, SSETransport, StdioTransport, StreamableHttpTransport
    from pydantic_ai.mcp import MCPToolset

    transport: ClientTransport
    match declared.get("type", "stdio"):
        case "http":
            transport = StreamableHttpTransport(_said(declared, "url"), headers=_pairs(declared.get("headers")))
        case "sse":
            transport = SSETransport(_said(declared, "url"), headers=_pairs(declared.get("headers")))
        case "stdio":
            arguments = [str(one) for one in declared.get("args") or ()]
            environment = _pairs(declared.get("env"))
            transport = StdioTransport(_said(declared, "command"), arguments, env=environment, cwd=str(workspace))
        case other:
            raise ValueError(f"servers of type {other!r} are not known; known are stdio, http and sse")
    return MCPToolset(transport, tool_error_behavior="error", init_timeout=START_SECONDS)


def _said(declared: Mapping[str, Any], name: str) -> str:
    value = declared.get(name)
    if not isinstance(value, str) or not value:
        raise ValueError(f"its {name} is missing")
    return value


def _pairs(listed: object) -> dict[str, str]:
    """`[{name, value}]` as a mapping."""
    pairs = [one for one in listed if isinstance(one, Mapping)] if isinstance(listed, list) else []
    return {str(one["name"]): str(one["value"]) for one in pairs if "name" in one and "value" in one}


def _tool_name(server: str, tool: str) -> str:
    return "_".join(_ODD.sub("_", part).strip("_") for part in (server, tool))[:_NAME_LIMIT]


def _schema(listed: Any) -> Mapping[str, Any]:
    schema = getattr(listed, "input_schema", None) or getattr(listed, "inputSchema", None)
    return schema if isinstance(schema, Mapping) else {"type": "object"}


def _blocks(answer: Any) -> list[ContentBlock]:
    """What the model gets: texts and images; of anything else, its JSON."""
    parts = answer if isinstance(answer, list) else [answer]
    return [_block(part) for part in parts] or [text_block("(no output)")]


def _block(part: Any) -> ContentBlock:
    if isinstance(part, str):
        return text_block(part)
    data, media = getattr(part, "data", None), str(getattr(part, "media_type", ""))
    if isinstance(data, bytes) and media.startswith("image/"):
        return {"type": "image", "data": base64.b64encode(data).decode("ascii"), "media_type": media}
    if isinstance(data, bytes):
        return text_block(f"({len(data)} bytes of {media or 'an unknown kind'})")
    return text_block(json.dumps(part, ensure_ascii=False, default=str))
