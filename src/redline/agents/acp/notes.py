"""What the log keeps of a call beside what happened to files: its output, how its commands ended, and what the agent
sent of which a client of the agent's own might make something."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from redline.agents.acp.normalise import FURTHER

if TYPE_CHECKING:
    from redline.agents.acp.bulk import Bulk
    from redline.agents.acp.call import ForeignCall
    from redline.sessions.redaction import Redactor

AS_SAID = "text"
"""In place of the content that an agent sent: it was one text, which the result holds."""
LIVE_OUTPUT = 4 * 1024
"""Characters of its output that are told of a call while it runs."""
_TEXT_LIMIT = 32 * 1024
"""Characters of what a call's content says and its commands print that its result keeps."""

Terminal = Callable[[str], tuple[str, Mapping[str, Any] | None] | None]
"""The output of a terminal of ours and how it ended (None: it runs), by its id; None: it is not ours."""


class Notes:
    """Of the calls of one session."""

    def __init__(self, bulk: Bulk, terminal: Terminal, redactor: Redactor) -> None:
        self._bulk = bulk
        self._terminal = terminal
        self._redactor = redactor

    async def output(self, call: ForeignCall) -> str:
        """What the call has said and its commands have printed; of more than is kept, the beginning and the end."""
        text = await self._cuttable(_text(call, self._terminal), _TEXT_LIMIT)
        if len(text) <= _TEXT_LIMIT:
            return text
        half = _TEXT_LIMIT // 2
        return f"{text[:half]}\n[… {len(text) - 2 * half} characters left out …]\n{text[-half:]}"

    async def live_output(self, call: ForeignCall) -> str:
        """The end of the same."""
        return (await self._cuttable(_text(call, self._terminal), LIVE_OUTPUT))[-LIVE_OUTPUT:]

    def runs_on(self, call: ForeignCall) -> bool:
        """A command of the call has not ended."""
        known = map(self._terminal, {*call.evidence.terminals, *call.terminals})
        return any(one is not None and one[1] is None for one in known)

    async def of(self, call: ForeignCall) -> dict[str, Any]:
        """What can be told before its end."""
        notes = {name: await self._bulk.slim(call.fields.get(name)) for name in ("_meta", "name", FURTHER)}
        seen, kind, places = call.evidence, call.fields.get("kind"), call.fields.get("locations")
        if isinstance(kind, str) and (kind != seen.kind or seen.proposed):
            notes["kind"] = kind
        if isinstance(places, list) and places != [*seen.locations]:
            notes["locations"] = await self._bulk.slim(places)
        return {name: value for name, value in notes.items() if value}

    async def at_its_end(self, call: ForeignCall, before: Mapping[str, Any]) -> dict[str, Any]:
        """All of it. `before`: what an earlier result of the call told, which is not taken back where it was only
        forgotten."""
        now = await self._now(call)
        notes = {**before, **now}
        if "omitted" not in (further := before.get(FURTHER, {})) and "omitted" not in now.get(FURTHER, {}):
            notes |= {FURTHER: joint} if (joint := {**further, **now.get(FURTHER, {})}) else {}
        return notes

    async def _cuttable(self, text: str, limit: int) -> str:
        """Masked, if it is over the limit: the door could not know a secret by the part that a cut leaves of it."""
        return text if len(text) <= limit else await asyncio.to_thread(self._redactor.mask, text)

    async def _now(self, call: ForeignCall) -> dict[str, Any]:
        notes = await self.of(call)
        output = await self._bulk.slim(call.fields.get("rawOutput"))
        if output:
            notes["rawOutput"] = output
        content = call.fields.get("content")
        if isinstance(content, list) and not _told_otherwise(content):
            short = _is_text(content) and len(call.evidence.text) <= _TEXT_LIMIT and not call.output
            notes["content"] = AS_SAID if short else await self._bulk.slim(content)
        elif isinstance(content, list):
            more = [one for one in content if not self._is_told(one)]
            if not all(map(_is_words, more)):
                notes["content"] = await self._bulk.slim(more)
        ending = call.exit
        for terminal in call.evidence.terminals:
            known = self._terminal(terminal)
            ending = known[1] if known is not None and known[1] is not None else ending
        if ending is not None:
            notes["exit"] = dict(ending)
        return notes

    def _is_told(self, block: object) -> bool:
        """Diffs come from the disk, and what our terminals say from us."""
        if not isinstance(block, Mapping):
            return False
        ours = block.get("type") == "terminal" and self._terminal(str(block.get("terminalId"))) is not None
        return ours or block.get("type") == "diff"


def _text(call: ForeignCall, terminal: Terminal) -> str:
    parts = [call.evidence.text if call.fields.get("content") else "", call.output]
    parts += [known[0] for known in map(terminal, call.evidence.terminals) if known is not None]
    return "\n".join(part for part in parts if part)


def _told_otherwise(content: Sequence[Any]) -> bool:
    """Diffs come from the disk, and what terminals say from us."""
    return not content or any(isinstance(one, Mapping) and one.get("type") in ("diff", "terminal") for one in content)


def _is_words(block: object) -> bool:
    """Its result holds the same text."""
    inner = block.get("content") if isinstance(block, Mapping) and block.get("type") == "content" else None
    return isinstance(inner, Mapping) and inner.get("type") == "text" and isinstance(inner.get("text"), str)


def _is_text(content: Sequence[Any]) -> bool:
    """One text, and nothing beside it."""
    block = content[0].get("content") if len(content) == 1 and isinstance(content[0], Mapping) else None
    return isinstance(block, Mapping) and block.keys() == {"type", "text"} and len(content[0]) == 2
