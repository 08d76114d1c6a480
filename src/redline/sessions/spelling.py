"""How what the gate refuses is written as text: as people write JSON, and as its `repr` where JSON has no form."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

_TEXT_LIMIT = 256 * 2**20
"""Characters."""


def as_text(value: object) -> str:
    """The value as people write JSON, whatever its depth; what JSON has no form for, as its `repr`. Ends early where
    shared parts would make it larger than anything that was sent."""
    written: list[str] = []
    size = 0
    waiting: list[Any] = [value]
    inside: dict[int, None] = {}
    while waiting and size < _TEXT_LIMIT:
        item = waiting.pop()
        kind = type(item)
        if kind is _Verbatim:
            text = item.text
            if item.closes:
                inside.popitem()
        elif kind is not dict and kind is not list:
            text = _leaf(item)
        elif id(item) in inside:
            text = '"(itself)"'
        else:
            inside[id(item)] = None
            waiting.extend(reversed(list(_opened(item))))
            continue
        written.append(text)
        size += len(text)
    return "".join(written)


@dataclass(frozen=True, slots=True)
class _Verbatim:
    text: str
    closes: bool = False


def _opened(item: dict[Any, Any] | list[Any]) -> Iterator[Any]:
    named = isinstance(item, dict)
    yield _Verbatim("{" if named else "[")
    pairs: Any = item.items() if isinstance(item, dict) else enumerate(item)
    for number, (key, value) in enumerate(pairs):
        if number:
            yield _Verbatim(",")
        if named:
            yield _Verbatim(_leaf(key) + ":")
        yield value
    yield _Verbatim("}" if named else "]", closes=True)


def _leaf(item: object) -> str:
    spell: Callable[[object], str] = repr
    if item is None or type(item) in (str, bool, int, float):
        spell = _json_leaf
    try:
        return spell(item)
    except Exception:  # a foreign object's own repr may fail in any way
        return f"<{type(item).__name__}>"


def _json_leaf(item: object) -> str:
    return json.dumps(item, ensure_ascii=False)
