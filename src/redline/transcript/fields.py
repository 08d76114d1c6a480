"""Reading the `data` of an event without trusting it.

A log may come from another version, from a foreign agent, or with a damaged row in it, so a value of a wrong type reads
as absent. Nothing here raises.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from redline.changes.codec import from_json, kept_place
from redline.transcript.rows import Problem
from redline.views import Location

if TYPE_CHECKING:
    from redline.changes.record import FileChange

Data = Mapping[str, Any]


def text(data: Data, name: str, otherwise: str = "") -> str:
    value = data.get(name)
    return value if isinstance(value, str) else otherwise


def optional_text(data: Data, name: str) -> str | None:
    value = data.get(name)
    return value if isinstance(value, str) else None


def number(data: Data, name: str, otherwise: int = 0) -> int:
    value = data.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else otherwise


def amount(data: Data, name: str) -> float | None:
    value = data.get(name)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def items(data: Data, name: str) -> Sequence[Any]:
    value = data.get(name)
    return value if isinstance(value, list | tuple) else ()


def mappings(data: Data, name: str) -> tuple[Mapping[str, Any], ...]:
    return tuple(item for item in items(data, name) if isinstance(item, Mapping))


def texts(data: Data, name: str) -> tuple[str, ...]:
    return tuple(item for item in items(data, name) if isinstance(item, str))


def records(data: Data, name: str) -> tuple[dict[str, str], ...]:
    """A list of flat records of strings; what is no string in them is left out."""
    return tuple(
        {key: value for key, value in item.items() if isinstance(key, str) and isinstance(value, str)}
        for item in mappings(data, name)
    )


def problem(data: Data, name: str) -> Problem | None:
    value = data.get(name)
    return problem_from(value) if isinstance(value, Mapping) else None


def problem_from(value: Data) -> Problem:
    return Problem(code=text(value, "code", "ERROR"), message=text(value, "message"), remedy=text(value, "remedy"))


def changes(data: Data, name: str, known: Sequence[FileChange] = ()) -> tuple[tuple[FileChange, ...], tuple[str, ...]]:
    """The changes that can be read, and a sentence for each that cannot: one bad record costs itself only. `known`:
    those of the event before, which references are about."""
    read: list[FileChange] = []
    faults: list[str] = []
    for position, item in enumerate(items(data, name)):
        place = kept_place(item)
        try:
            read.append(known[place] if place is not None else from_json(item))
        except (ValueError, TypeError, KeyError, IndexError, RecursionError) as fault:
            faults.append(f"A recorded change cannot be read ({name}[{position}]: {fault}).")
    return tuple(read), tuple(faults)


def locations(data: Data, name: str) -> tuple[Location, ...]:
    return tuple(
        Location(path=item["path"], line=number(item, "line") or None)
        for item in mappings(data, name)
        if isinstance(item.get("path"), str)
    )


def block_text(blocks: Sequence[Any]) -> str:
    """The text of content blocks, joined by line breaks. Both shapes are read: `{type: text, text}` and the same
    wrapped as `{type: content, content: {…}}`."""
    found: list[str] = []
    for block in blocks:
        inner = block.get("content") if isinstance(block, Mapping) and block.get("type") == "content" else block
        if isinstance(inner, Mapping) and isinstance(inner.get("text"), str):
            found.append(inner["text"])
    return "\n".join(found)
