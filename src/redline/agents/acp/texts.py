"""Files that an agent reads and writes through its client (`fs/*`): inside the workspace only, through the journal."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from redline.agents.acp.call import ForeignCall
from redline.agents.acp.places import absolute, key
from redline.agents.acp.step import Step
from redline.changes.compare import describe
from redline.files.error import FileError
from redline.files.seam import Blob, Files, Outcome, Target, Write
from redline.protocol.connection import INTERNAL_ERROR, INVALID_PARAMS, RESOURCE_NOT_FOUND, RpcError
from redline.tools.mutation import to_its_end
from redline.tools.tool import Step as Mutation
from redline.tools.tool import ToolError

if TYPE_CHECKING:
    from redline.agents.acp.calls import Calls
    from redline.agents.acp.consent import Consent
    from redline.agents.acp.watch import Watch
    from redline.tools.mutation import Journal, Landed

READ_LIMIT = 48 * 2**20
"""Bytes of a file that is handed over: an answer has to fit into one message."""

_READS_EMPTY = ("gemini",)


def takes_missing_for_error(agent: str) -> bool:
    """`agent`, as it names itself, understands no client's error for "there is no such file", and then cannot create
    one: it has to be told that the file is empty."""
    return any(word in agent.lower() for word in _READS_EMPTY)


class Texts:
    """Serves one agent."""

    def __init__(
        self,
        files: Files,
        journal: Journal,
        calls: Calls,
        consent: Consent,
        watch: Watch,
    ) -> None:
        self.missing_is_empty = False
        """The agent takes no error for "there is no such file": it is told that the file is empty."""
        self._files = files
        self._journal = journal
        self._calls = calls
        self._consent = consent
        self._watch = watch
        self._now = asyncio.get_running_loop().time
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        """By file."""

    async def read(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """`line` counts from 1, `limit` counts lines. Text comes as it is, but for a BOM, which is kept by `write`."""
        path = self._path(params)
        try:
            target = await self._files.resolve(path)
            content = await self._files.read(target, READ_LIMIT)
        except FileError as error:
            if error.code == "NOT_FOUND" and self.missing_is_empty:
                return {"content": ""}
            raise _told(error, path) from error
        if content.data is None:
            raise RpcError(INVALID_PARAMS, f"{path} is too large to be read at once ({content.size} bytes).")
        try:
            text = content.data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise RpcError(INVALID_PARAMS, f"{path} is not UTF-8 text, so it cannot be handed over as text.") from error
        return {"content": _lines(text, params.get("line"), params.get("limit"))}

    async def write(self, params: Mapping[str, Any]) -> dict[str, Any]:
        path, content = self._path(params), params.get("content")
        if not isinstance(content, str):
            raise RpcError(INVALID_PARAMS, "content is missing")
        try:
            target = await self._files.resolve(path)
            content = await self._as_stored(target, content, params.get("_meta"))
        except FileError as error:
            await self._refuse(path, str(error))
            raise _told(error, path) from error
        try:
            async with self._turns[target.key]:  # of two texts for one file, the second is for what the first has left
                await self._apply(target, content)
        except FileError as error:
            raise _told(error, path) from error
        except ToolError as error:
            raise RpcError(INTERNAL_ERROR, f"{error.code}: {error.message}") from error
        return {}

    async def _as_stored(self, target: Target, content: str, meta: object) -> str:
        """With the line ends of the file, where the agent says that it has taken them out. Refuses to overwrite what is
        no UTF-8 text: the agent cannot have read it."""
        there = await self._files.stat(target)
        if there is not None and there.kind == "file":
            data = (await self._files.read(target, READ_LIMIT)).data
            if data is not None and not _is_text(data):
                raise FileError(
                    "NOT_TEXT",
                    f"{target.path} is not UTF-8 text; writing it as text would destroy it.",
                    "Change it with a command that keeps its encoding.",
                )
        ending = meta.get("lineEnding") if isinstance(meta, Mapping) else None
        if isinstance(ending, str) and ending.lower() == "crlf" and "\r" not in content:
            return content.replace("\n", "\r\n")
        return content

    async def _refuse(self, path: str, why: str) -> None:
        """What cannot be written, for whatever reason, is told: of the open call that names it, by the agent."""
        if any(key(path) in map(key, call.evidence.named) for call in self._open_calls()):
            return
        call = self._calls.own(f"Write {path.rpartition('/')[2]}", "edit", path)
        await self._calls.tell(call, whole=True)
        call.failed(why, self._now())
        self._watch.ended(call)

    async def _apply(self, target: Target, content: str) -> None:
        call = await self._call_for(target, content)
        if call is None:
            call = self._calls.own(f"Write {target.path.name}", "edit", str(target.path))
        if not call.told:
            await self._calls.tell(call, whole=True)
        try:
            await self._write(call, target, content)
        except (FileError, ToolError, RpcError) as error:
            if call.made_up:
                call.failed(error.message, self._now())
            raise
        finally:
            if call.made_up:
                call.ended = self._now()
                self._watch.ended(call)

    async def _write(self, call: ForeignCall, target: Target, content: str) -> None:
        expected = await self._consent.to_write(call, target, content)
        await to_its_end(self._commit(call, target, content, expected))

    async def _commit(self, call: ForeignCall, target: Target, content: str, expected: Blob | None) -> None:
        landed: list[Landed] = []
        await self._watch.look_at(str(target.real))
        self._watch.observer.announce(target.real)
        try:
            await self._journal.apply(
                Mutation(target, Write(content)), turn=call.turn, call=call.id, expected=expected,
                landed=landed.append, check_masks=False,
            )  # fmt: skip
        except FileError as error:
            if not landed or error.code != "STALE":  # else the agent itself has just written the very same
                raise
        finally:
            if landed:
                self._accept(landed[-1].outcome)
            else:
                self._watch.observer.withdraw(target.real)
            for one in landed:  # also where it went wrong after that
                call.warnings += one.outcome.notes
                await self._calls.landing.land(call, _step(one))

    async def _call_for(self, target: Target, content: str) -> ForeignCall | None:
        """The open call that means to change the file, or names it, or the only one that may change any. What a command
        writes does not come this way."""
        running = self._open_calls()
        paths = {str(target.real), key(str(target.path))}
        for fitting in (
            [call for call in running if paths & {key(path) for path in call.evidence.intended}],
            [call for call in running if paths & {key(path) for path in call.evidence.named}],
        ):
            if len(fitting) > 1:
                fitting = await self._likeliest(fitting, target, content)
            if fitting:
                return next((call for call in fitting if call.ended is None), fitting[0])
        able = [call for call in running if call.ended is None and call.evidence.command is None]
        able = [call for call in able if call.evidence.is_shell or call.is_open_ended]
        for fitting in ([call for call in able if call.titles([target.path.name])], able):
            if len(fitting) == 1:
                return fitting[0]
        return None

    def _open_calls(self) -> list[ForeignCall]:
        """Of the agent's, those that may change a file now."""
        calls = self._calls.of_turn()
        return [call for call in calls if not call.closed and call.may_run and not call.made_up]

    async def _likeliest(self, calls: list[ForeignCall], target: Target, content: str) -> list[ForeignCall]:
        """Of several calls on one file: those that told this change and have not made theirs yet, as far as any is
        such."""
        outcome = await self._files.preview(target, Write(content))
        before, after = (side.data if side is not None else b"" for side in (outcome.before, outcome.after))
        if before is not None and after is not None:
            change = await asyncio.to_thread(describe, str(target.path), before, after)
            calls = [call for call in calls if call.foretold(Step(change, None, None))] or calls
        paths = {str(target.real), key(str(target.path))}
        return [call for call in calls if not any(paths & step.paths for step in call.steps)] or calls

    def _path(self, params: Mapping[str, Any]) -> str:
        path = params.get("path")
        if not isinstance(path, str) or not path:
            raise RpcError(INVALID_PARAMS, "path is missing")
        return absolute(path, self._calls.workspace)

    def _accept(self, outcome: Outcome) -> None:
        after = outcome.after
        self._watch.observer.accept(
            outcome.target.real,
            None if after is None else after.blob,
            executable=after is not None and after.executable,
        )


def _step(landed: Landed) -> Step:
    before, after = landed.outcome.before, landed.outcome.after
    return Step(landed.change, before.data if before is not None else None, after.data if after is not None else None)


def _lines(text: str, line: object, limit: object) -> str:
    first = line - 1 if isinstance(line, int) and line > 0 else 0
    count = limit if isinstance(limit, int) and limit >= 0 else None
    if not first and count is None:
        return text
    lines = text.split("\n")
    kept = [f"{one}\n" for one in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    return "".join(kept[first : None if count is None else first + count])


def _is_text(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return b"\0" not in data


def _told(error: FileError, path: str) -> RpcError:
    if error.code == "NOT_FOUND":
        return RpcError(RESOURCE_NOT_FOUND, f"ENOENT: no such file: {path}", {"uri": path})
    code = INTERNAL_ERROR if error.code in ("IO", "NO_SPACE") else INVALID_PARAMS
    return RpcError(code, f"{error.code}: {error.message} {error.remedy}", {"uri": path, "code": error.code})
