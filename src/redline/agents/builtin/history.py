"""The model's message history, rebuilt from the log.

What the log holds is what a resumed model hears: masks stay masks, a call that was cut off gets a result that says so,
and what happened outside its own work (an undo, a stopped turn, files changed by others) is told as a note before the
next prompt. Thoughts are left out: their signatures are not kept, and providers ask for them only within a turn.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from redline.agents.markers import framed, neutralised

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ToolReturnPart, UserPromptPart

    from redline.sessions.events import Event

Images = Callable[[str], bytes | None]
"""The bytes of a blob in the store of bytes; None if they are gone."""

CallKey = tuple[int, str]

_NO_RESULT = "The call was interrupted and its outcome is unknown. Read the files that it concerns before you go on."
_ENDED = {
    "rejected": "Not applied: the user rejected this call.",
    "cancelled": "Not applied: the call was cancelled.",
    "interrupted": "The call was interrupted.",
    "unknown": _NO_RESULT,
    "failed": "The call failed.",
    "completed": "Done.",
}
_STOPPED = {
    "cancelled": "The user stopped the turn before this prompt; what it had not finished stays undone.",
    "failed": "The turn before this prompt ended early, because a model request failed.",
    "limit": "The turn before this prompt ended at a limit, perhaps before its work was done.",
    "interrupted": "The turn before this prompt was cut off, because the program ended.",
}


@dataclass(slots=True)
class Answer:
    """One answer of the model: its text and calls, in order."""

    parts: list[str | Mapping[str, Any]] = field(default_factory=list)
    """Text, or the data of a `tool/call`."""

    @property
    def calls(self) -> list[Mapping[str, Any]]:
        return [part for part in self.parts if not isinstance(part, str)]


@dataclass(slots=True)
class Prompt:
    content: Sequence[Mapping[str, Any]]
    notes: Sequence[str] = ()


@dataclass(slots=True)
class History:
    """What a log says of a conversation, in the terms of no provider."""

    entries: list[Prompt | Answer] = field(default_factory=list)
    results: dict[CallKey, Mapping[str, Any]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    """Not yet told: they go before the next prompt."""


def read_history(events: Iterable[Event]) -> History:
    """Fold a session's events, or those of its latest part."""
    history = History()
    message: str | None = None
    for event in events:
        data = event.data
        match event.type:
            case "user/message":
                history.entries.append(Prompt(_blocks(data.get("content")), tuple(history.notes)))
                history.notes.clear()
            case "assistant/message":
                _add_text(_answer(history, for_text=True), str(data.get("text", "")), data.get("message") == message)
                message = data.get("message")
            case "tool/call":
                _answer(history, for_text=False).parts.append(data)
            case "tool/result":
                history.results[_key(data)] = data
            case _:
                note = note_of(event)
                if note is not None:
                    history.notes.append(note)
    return history


def note_of(event: Event) -> str | None:
    """What the model should hear of an event that is not its own doing; None: nothing."""
    match event.type:
        case "change/reverted":
            paths = _paths(event.data)
            return (
                f"Earlier changes were taken back, at the user's wish: {paths}. Read a file again before you edit it."
            )
        case "workspace/changed" if not event.data.get("during"):
            return f"Files were changed by something other than your calls: {_paths(event.data)}."
        case "turn/ended":
            return _STOPPED.get(str(event.data.get("reason")))
    return None


def to_messages(history: History, images: Images) -> list[ModelMessage]:
    """The history as pydantic-ai's messages. Every call has exactly one result behind it, as providers demand."""
    from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ToolCallPart

    messages: list[ModelMessage] = []
    for entry in history.entries:
        if isinstance(entry, Prompt):
            messages.append(ModelRequest([prompt_part(entry, images)]))
            continue
        parts: list[TextPart | ToolCallPart] = []
        returns: list[ToolReturnPart] = []
        for part in entry.parts:
            if isinstance(part, str):
                parts.append(TextPart(part))
                continue
            name, call = str(part.get("name")), str(part.get("call"))
            parts.append(ToolCallPart(name, _arguments(part.get("arguments")), call))
            returns.append(_logged_return(name, call, history.results.get(_key(part)), images))
        if parts:
            messages.append(ModelResponse(parts))
        if returns:
            messages.append(ModelRequest(returns))
    return messages


def prompt_part(prompt: Prompt, images: Images) -> UserPromptPart:
    """A prompt with the notes that go before it."""
    from pydantic_ai.messages import UserPromptPart

    notes = [framed("note", "\n".join(neutralised(note) for note in prompt.notes))] if prompt.notes else []
    content = [*notes, *_content(prompt.content, images)]
    texts = [piece for piece in content if isinstance(piece, str)]
    return UserPromptPart("\n\n".join(texts) if len(texts) == len(content) else content)


def return_part(
    name: str, call: str, content: Sequence[Mapping[str, Any]], status: str, *, images: Images = lambda _: None
) -> ToolReturnPart:
    """The result of a call as the model hears it."""
    from pydantic_ai.messages import ToolReturnPart

    pieces = _content(content, images) or [_ENDED.get(status, "Done.")]
    outcome: Literal["success", "failed", "denied", "interrupted"] = "success"
    if status == "failed":
        outcome = "failed"
    elif status == "rejected":
        outcome = "denied"
    elif status in ("cancelled", "interrupted", "unknown"):
        outcome = "interrupted"
    texts = [piece for piece in pieces if isinstance(piece, str)]
    return ToolReturnPart(name, "\n".join(texts) if len(texts) == len(pieces) else pieces, call, outcome=outcome)


def _logged_return(name: str, call: str, result: Mapping[str, Any] | None, images: Images) -> ToolReturnPart:
    if result is None:
        return return_part(name, call, [{"type": "text", "text": _NO_RESULT}], "unknown")
    status = str(result.get("status"))
    content = list(_blocks(result.get("content")))
    if not content:
        content.append({"type": "text", "text": _said(status, result)})
    elif status == "interrupted":
        content.append({"type": "text", "text": _landed(result)})
    return return_part(name, call, content, status, images=images)


def _said(status: str, result: Mapping[str, Any]) -> str:
    error = result.get("error")
    if isinstance(error, Mapping):
        return " ".join(str(error.get(key, "")) for key in ("code", "message", "remedy")).strip()
    ended = _ENDED.get(status, "Done.")
    return f"{ended} {_landed(result)}" if status == "interrupted" else ended


def _landed(result: Mapping[str, Any]) -> str:
    """What an interrupted call did before it was cut off: its result carries the changes that are on disk."""
    if result.get("changes"):
        return f"Its change was applied before that: {_paths(result)}."
    return "It changed no file before that."


def _answer(history: History, *, for_text: bool) -> Answer:
    """The answer that the next part belongs to: a new one after a prompt, after calls if text follows, and after calls
    that already have results."""
    last = history.entries[-1] if history.entries else None
    if isinstance(last, Answer):
        done = any(_key(call) in history.results for call in last.calls)
        if not done and not (for_text and last.calls):
            return last
    answer = Answer()
    history.entries.append(answer)
    return answer


def _add_text(answer: Answer, text: str, joins: bool) -> None:
    """Parts of one message join without a gap; two messages in one answer stay two parts."""
    last = answer.parts[-1] if answer.parts else None
    if joins and isinstance(last, str):
        answer.parts[-1] = last + text
    elif text:
        answer.parts.append(text)


def _content(blocks: Sequence[Mapping[str, Any]], images: Images) -> list[Any]:
    """Text as it may reach a model, and images as their bytes."""
    from pydantic_ai.messages import BinaryContent

    pieces: list[Any] = []
    for block in blocks:
        if block.get("type") == "text":
            pieces.append(neutralised(str(block.get("text", ""))))
        elif block.get("type") == "image":
            data = _image(block, images)
            media_type = str(block.get("media_type", "image/png"))
            pieces.append(
                "(an image that is no longer kept)" if data is None else BinaryContent(data, media_type=media_type)
            )
    return pieces


def _image(block: Mapping[str, Any], images: Images) -> bytes | None:
    if isinstance(block.get("data"), str):
        try:
            return base64.b64decode(block["data"], validate=True)
        except binascii.Error:
            return None
    return images(str(block.get("blob")))


def _arguments(value: object) -> dict[str, Any] | str:
    return dict(value) if isinstance(value, Mapping) else str(value or "")


def _blocks(value: object) -> Sequence[Mapping[str, Any]]:
    if not isinstance(value, list):
        return []
    return [block for block in value if isinstance(block, Mapping)]


def _key(data: Mapping[str, Any]) -> CallKey:
    return (int(data.get("turn", 0)), str(data.get("call")))


def _paths(data: Mapping[str, Any]) -> str:
    changes = _blocks(data.get("changes"))
    paths = list(dict.fromkeys(str(change.get("path")) for change in changes))
    shown = ", ".join(paths[:20])
    return f"{shown} and {len(paths) - 20} more" if len(paths) > 20 else shown or "no file"
