"""Conversations with a scripted agent, and the words that such an agent uses."""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from captures.recorded import Onlooker, Stage, on_disk, replayed, stage
from redline.transcript.rows import AgentRow, FoundRow, NoticeRow, ToolRow, TurnEndRow

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence

PUPPET = Path(__file__).with_name("puppet.py")

Steps = list[dict[str, Any]]


@asynccontextmanager
async def puppet(
    base: Path,
    *prompts: Steps,
    files: Mapping[str, str | bytes] | None = None,
    answers: Sequence[bool] = (),
    session: str | None = None,
    onlooker: Onlooker | None = None,
    options: Mapping[str, Any] | None = None,
    **script: Any,
) -> AsyncIterator[Stage]:
    """A conversation with an agent that works through `prompts`, in a workspace with `files`."""
    workspace = base / "workspace"
    workspace.mkdir(exist_ok=True)
    for name, content in (files or {}).items():
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_bytes(content.encode() if isinstance(content, str) else content)
    path = base / "script.json"
    path.write_text(json.dumps({"prompts": list(prompts), **script}))
    command = [sys.executable, str(PUPPET), str(path)]
    async with stage(base, command, answers=answers, session=session, onlooker=onlooker, **(options or {})) as one:
        yield one


async def turn(live: Stage, before: Mapping[str, bytes] | None = None) -> str:
    """Work through the next prompt; why it ended. With `before`, the cards must turn it into what is on disk."""
    stop = await live.conversation.prompt("Go on.", source="terminal")
    if before is not None:
        landed = live.conversation.transcript.landed()
        assert replayed(before, landed, live.workspace, live) == on_disk(live.workspace)
    return stop.reason


async def until(happened: Callable[[], Any]) -> None:
    """Wait for what a test needs, thirty seconds at most."""
    for _ in range(3000):
        if happened():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it did not happen within thirty seconds")


def start(call: str, **fields: Any) -> dict[str, Any]:
    return {"send": {"sessionUpdate": "tool_call", "toolCallId": call, **fields}}


def update(call: str, **fields: Any) -> dict[str, Any]:
    return {"send": {"sessionUpdate": "tool_call_update", "toolCallId": call, **fields}}


def done(call: str, **fields: Any) -> dict[str, Any]:
    return update(call, status="completed", **fields)


def edit(call: str, path: str, old: str | None, new: str, **fields: Any) -> dict[str, Any]:
    """A `tool_call` that reports one edit."""
    return start(call, title=f"Edit {path}", kind="edit", status="pending", content=[diff(path, old, new)], **fields)


def shell(call: str, command: str, **fields: Any) -> dict[str, Any]:
    return start(call, title=command, kind="execute", status="in_progress", rawInput={"command": command}, **fields)


def diff(path: str, old: str | None, new: str) -> dict[str, Any]:
    return {"type": "diff", "path": f"{{w}}/{path}", "oldText": old, "newText": new}


def words(text: str) -> dict[str, Any]:
    return {"type": "content", "content": {"type": "text", "text": text}}


def say(text: str) -> dict[str, Any]:
    return {"send": {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}}


def tools(live: Stage) -> dict[str, ToolRow]:
    return {row.call: row for row in live.conversation.transcript.rows if isinstance(row, ToolRow)}


def found(live: Stage) -> list[FoundRow]:
    return [row for row in live.conversation.transcript.rows if isinstance(row, FoundRow)]


def notices(live: Stage) -> list[str]:
    return [row.problem.code for row in live.conversation.transcript.rows if isinstance(row, NoticeRow)]


def ends(live: Stage) -> list[TurnEndRow]:
    return [row for row in live.conversation.transcript.rows if isinstance(row, TurnEndRow)]


def said(live: Stage) -> list[str]:
    return [row.text for row in live.conversation.transcript.rows if isinstance(row, AgentRow)]


def touched(row: ToolRow | FoundRow, live: Stage) -> list[tuple[str, str, int, int]]:
    """Operation, relative path, added, removed of each change."""
    root = live.workspace.resolve()
    return [(one.operation, str(Path(one.path).relative_to(root)), one.added, one.removed) for one in row.changes]
