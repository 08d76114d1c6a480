"""The gate of the log: JSON values only, so that what was appended is what will be read.

The walk keeps its own stack, so depth never meets Python's recursion limit. Containers are matched by exact type: a
subclass may carry what JSON would lose. Every string comes out encodable: a lone surrogate is written as an escape in
plain text, one way, so that a live reader and a later one see the same.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

DEPTH_LIMIT = 100
"""Containers within one another, the outermost included."""
EVENT_LIMIT = 8 * 2**20
"""Bytes of an event's JSON form, counted before JSON's own escapes."""
INTEGER_LIMIT = 2**53
"""The largest whole number that every JSON reader keeps."""
LARGE_STRING = 256 * 2**10
"""Bytes above which a string in one of `BULKY` leaves the event."""
BULKY: frozenset[str] = frozenset({"rawInput", "rawOutput", "_meta", "arguments"})
"""Keys under which agents send whole texts."""

_MENDED_DEPTH = DEPTH_LIMIT - 16
_TEXT_LIMIT = 256 * 2**20
"""Characters."""
_SURROGATES = re.compile("[\ud800-\udfff]")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


class GateError(ValueError):
    """`path`: where the culprit stands, as in `changes[2].path`; empty for the value itself."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path or 'the value'}: {reason}; the log takes JSON values only")
        self.path = path
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Admitted:
    """What passed the gate."""

    value: Any
    """A copy that shares nothing with what came in and holds no lone surrogate."""
    size: int
    """About the bytes of its JSON form."""
    strings: list[str]
    """All strings in it, keys of objects aside."""
    keys: set[str]
    omitted: tuple[Omitted, ...] = ()


@dataclass(frozen=True, slots=True)
class Omitted:
    """A large string that left an event: `place` is the `{omitted, bytes}` object that stands for it."""

    place: dict[str, Any]
    data: bytes


def check(value: object) -> None:
    """Raise `GateError` where the log would refuse the value."""
    _Walk(None, mend=False).run(value)


def admit(value: object, *, omit: bool = False) -> Admitted:
    """The value as the log may keep it, or `GateError`.

    With `omit`, strings of more than `LARGE_STRING` bytes under a key of `BULKY` are replaced by `{omitted: true,
    bytes}` and handed back in `omitted`, for the caller to store.
    """
    omitted: list[Omitted] | None = [] if omit else None
    walk = _Walk(omitted, mend=False)
    return Admitted(walk.run(value), walk.size, walk.strings, walk.keys, tuple(omitted or ()))


def as_json(value: object) -> Any:
    """What an agent sent, with whatever the gate would refuse kept as text; of more than `EVENT_LIMIT` bytes, all of it
    becomes one text."""
    try:
        return _Walk(None, mend=True).run(value)
    except GateError:
        return escaped(_as_text(value))


def escaped(text: str) -> str:
    """The text with each lone surrogate written out: `\\xE9` for U+DC80 to U+DCFF, which stand for bytes that are not
    UTF-8, and `\\uD83D` for all others."""
    if text.isascii():
        return text
    return _SURROGATES.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code - 0xDC00:02X}" if 0xDC80 <= code <= 0xDCFF else f"\\u{code:04X}"


class _Frame:
    """One container that the walk is inside of."""

    __slots__ = ("bulky", "identity", "items", "key", "named", "source", "target")

    def __init__(self, source: Any, named: bool, bulky: bool) -> None:
        self.source = source
        self.named = named
        self.bulky = bulky
        self.key: Any = None
        self.items: Iterator[tuple[Any, Any]]
        self.target: Any
        if named:
            self.items, self.target = iter(source.items()), {}
        else:
            self.items, self.target = enumerate(source), [None] * len(source)


class _Walk:
    """One pass: checks, copies, escapes, and counts bytes as it goes, so that shared parts cannot blow up."""

    def __init__(self, omitted: list[Omitted] | None, *, mend: bool) -> None:
        self.omitted = omitted
        self.mend = mend
        self.depth_limit = _MENDED_DEPTH if mend else DEPTH_LIMIT
        self.size = 0
        self.strings: list[str] = []
        self.keys: set[str] = set()
        self.escaping = False
        """Some key was changed, so that another may now be its equal."""
        self.stack: list[_Frame] = []
        self.inside: set[int] = set()

    def run(self, value: object) -> Any:
        result = [None]
        root = _Frame([value], False, False)
        root.target = result
        self.stack.append(root)
        stack = self.stack
        while stack:
            frame = stack[-1]
            if not self._fill(frame):
                stack.pop()
                self.inside.discard(id(frame.source))
        return result[0]

    def _fill(self, frame: _Frame) -> bool:
        """Copy the frame's items up to the next container; True: that one was pushed and comes first.

        The common cases stand in line: this loop is most of what the gate costs.
        """
        target, named, bulky = frame.target, frame.named, frame.bulky
        strings, keys = self.strings, self.keys
        size = 0
        for key, item in frame.items:
            frame.key = key
            if named:
                if type(key) is str and key.isascii() and not self.escaping:
                    size += len(key)
                else:
                    key = self._key(key, target)
                keys.add(key)
            size += 3
            kind = type(item)
            if kind is str:
                if item.isascii() and len(item) <= LARGE_STRING:
                    size += len(item)
                    strings.append(item)
                    target[key] = item
                else:
                    target[key] = self._text(item, bulky or key in BULKY)
            elif kind is int:
                fits = -INTEGER_LIMIT <= item <= INTEGER_LIMIT
                target[key] = item if fits else self._refuse(item, "a whole number beyond 2^53")
                size += 8
            elif item is None or kind is bool:
                target[key] = item
            elif (kind is dict or kind is list) and not item and len(self.stack) <= self.depth_limit:
                target[key] = kind()
            elif kind is dict or kind is list:
                self.size += size
                size = 0
                child = self._enter(item, kind is dict, bulky or (named and key in BULKY))
                if isinstance(child, _Frame):
                    target[key] = child.target
                    return True
                target[key] = child
            elif kind is float:
                target[key] = self._real(item)
                size += 16
            else:
                target[key] = self._refuse(item, f"{_called(kind)} is not a JSON value")
            if self.size + size > EVENT_LIMIT:
                raise self._grown()
        self.size += size
        return False

    def _enter(self, item: Any, named: bool, bulky: bool) -> Any:
        if id(item) in self.inside:
            return self._refuse(item, "a container within itself")
        if len(self.stack) > self.depth_limit:
            return self._refuse(item, f"more than {DEPTH_LIMIT} containers within one another")
        frame = _Frame(item, named, bulky)
        self.inside.add(id(item))
        self.stack.append(frame)
        return frame

    def _key(self, key: Any, target: dict[str, Any]) -> str:
        if type(key) is not str:
            key = self._refuse(key, f"a key that is {_called(type(key))}, not a string")
        text: str = self._text(key, False)
        self.strings.pop()
        self.escaping = self.escaping or text is not key
        while text in target:
            if not self.mend:
                raise GateError(self._path(), "two keys of one object are the same once escaped")
            text += "_"
        return text

    def _text(self, item: str, bulky: bool) -> Any:
        try:
            data = item.encode()
        except UnicodeEncodeError:
            data = item.encode("utf-8", "surrogatepass")
            item = escaped(item)
        if len(data) <= LARGE_STRING or self.omitted is None or not bulky:
            self.size += len(data)
            self.strings.append(item)
            return item
        place: dict[str, Any] = {"omitted": True, "bytes": len(data)}
        self.omitted.append(Omitted(place, data))
        self.size += 100
        return place

    def _real(self, item: float) -> Any:
        if not math.isfinite(item):
            return self._refuse(item, f"{item} is not a number in JSON")
        if item == 0 and math.copysign(1, item) < 0:
            return self._refuse(item, "-0.0 loses its sign in JSON")
        return item

    def _refuse(self, item: object, reason: str) -> Any:
        if not self.mend:
            raise GateError(self._path(), reason)
        self.escaping = True
        return self._text(_as_text(item), False)

    def _grown(self) -> GateError:
        return GateError(self._path(), f"the event grows beyond {EVENT_LIMIT} bytes here")

    def _path(self) -> str:
        parts = []
        for frame in self.stack[1:]:
            if not frame.named:
                parts.append(f"[{frame.key}]")
            elif type(frame.key) is str and _NAME.match(frame.key):
                parts.append(f".{frame.key}")
            else:
                parts.append(f"[{_shown(frame.key)}]")
        return "".join(parts).removeprefix(".")


def _called(kind: type) -> str:
    return f"{'an' if kind.__name__[0] in 'aeiouAEIOU' else 'a'} {kind.__name__}"


def _shown(key: object) -> str:
    return escaped(json.dumps(key, ensure_ascii=False)) if type(key) is str else _as_text(key)


def _as_text(value: object) -> str:
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
