"""The gate of the log: JSON values only, so that what was appended is what will be read.

The walk keeps its own stack, so depth never meets Python's recursion limit. Containers are matched by exact type: a
subclass may carry what JSON would lose. Every string comes out encodable: a lone surrogate is written as an escape in
plain text, one way, so that a live reader and a later one see the same.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from redline.sessions.spelling import as_text

DEPTH_LIMIT = 100
"""Containers within one another, the outermost included."""
EVENT_LIMIT = 8 * 2**20
"""Bytes of an event's JSON form, counted before JSON's own escapes; a container counts as `CONTAINER_SIZE`."""
CONTAINER_SIZE = 32
"""So that an event of nothing but brackets does not take seconds."""
INTEGER_LIMIT = 2**53
"""The largest whole number that every JSON reader keeps."""
LARGE_STRING = 256 * 2**10
"""Bytes above which a string in one of `BULKY` leaves the event."""
BULKY: frozenset[str] = frozenset({"rawInput", "rawOutput", "_meta", "arguments"})
"""Keys under which agents send whole texts."""

_MENDED_DEPTH = DEPTH_LIMIT - 16
_SURROGATES = re.compile("[\ud800-\udfff]")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


class GateError(ValueError):
    """`path`: where the culprit stands, as in `changes[2].path`; empty for the value itself."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path or 'the value'}: {reason}; the log takes JSON values only")
        self.path = path
        self.reason = reason


class Admitted:
    """What passed the gate. One is made for each event, so it is no frozen record, which takes twice as long to make;
    for the same reason the walk that fills it is it."""

    __slots__ = ("keys", "omitted", "size", "strings", "value")

    def __init__(self) -> None:
        self.value: Any = None
        """A copy that shares nothing with what came in and holds no lone surrogate."""
        self.size = 0
        """About the bytes of its JSON form."""
        self.strings: list[str] = []
        """All strings in it, keys of objects aside."""
        self.keys: set[str] = set()
        self.omitted: list[Omitted] = []


@dataclass(frozen=True, slots=True)
class Omitted:
    """A large string that left an event: `place` is the `{omitted, bytes}` object that stands for it."""

    place: dict[str, Any]
    data: bytes


def check(value: object) -> None:
    """Raise `GateError` where the log would refuse the value."""
    _Walk(omit=False, mend=False).run(value)


def admit(value: object, *, omit: bool = False) -> Admitted:
    """The value as the log may keep it, or `GateError`.

    With `omit`, strings of more than `LARGE_STRING` bytes under a key of `BULKY` are replaced by `{omitted: true,
    bytes}` and handed back in `omitted`, for the caller to store.
    """
    walk = _Walk(omit=omit, mend=False)
    walk.value = walk.run(value)
    return walk


def as_json(value: object) -> Any:
    """What an agent sent, with whatever the gate would refuse kept as text; of more than `EVENT_LIMIT` bytes, all of it
    becomes one text."""
    try:
        return _Walk(omit=False, mend=True).run(value)
    except GateError:
        return escaped(as_text(value))


def escaped(text: str) -> str:
    """The text with each lone surrogate written out: `\\xE9` for U+DC80 to U+DCFF, which stand for bytes that are not
    UTF-8, and `\\uD83D` for all others."""
    if text.isascii():
        return text
    return _SURROGATES.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code - 0xDC00:02X}" if 0xDC80 <= code <= 0xDCFF else f"\\u{code:04X}"


_Frame = tuple[Iterator[tuple[Any, Any]], Any, bool, bool, Any, int]
"""A container that the walk will come back to: its items, its copy, whether it is a dict, whether it stands under a key
of `BULKY`, the key that is being walked, and its identity."""


class _Walk(Admitted):
    """One pass: checks, copies, escapes, and counts bytes as it goes, so that shared parts cannot blow up."""

    __slots__ = ("current", "depth_limit", "escaping", "inside", "mend", "omit", "stack")

    def __init__(self, *, omit: bool, mend: bool) -> None:
        # Not by `super`, which costs a tenth of all that the gate does.
        self.size = 0
        self.strings = []
        self.keys = set()
        self.omitted = []
        self.omit = omit
        self.mend = mend
        self.depth_limit = _MENDED_DEPTH if mend else DEPTH_LIMIT
        self.escaping = False
        """Some key was changed, so that another may now be its equal."""
        self.stack: list[_Frame] = []
        self.inside: set[int] = set()
        self.current: tuple[bool, Any] | None = None
        """Of the innermost container: whether it is a dict, and the key that is being looked at."""

    def run(self, value: object) -> Any:
        kind = type(value)
        if kind is dict or kind is list:
            return self._container(value)
        if value is None or kind is bool or (kind is int and -INTEGER_LIMIT <= value <= INTEGER_LIMIT):  # type: ignore[operator]
            return value
        shown = self._other(value, kind, False)
        if self.size > EVENT_LIMIT:
            raise self._grown()
        return shown

    def _container(self, value: Any) -> Any:
        """The common cases stand in line: this loop is all that most events cost at the gate."""
        strings, keys, stack, inside = self.strings, self.keys, self.stack, self.inside
        within = self.depth_limit - 1
        named, bulky, identity = type(value) is dict, False, id(value)
        items: Iterator[tuple[Any, Any]] = iter(value.items()) if named else enumerate(value)
        target: Any = {} if named else [None] * len(value)
        inside.add(identity)
        size, left = CONTAINER_SIZE, EVENT_LIMIT
        while True:
            for key, item in items:
                if named:
                    if type(key) is str and key.isascii() and not self.escaping:
                        size += len(key)
                    else:
                        self.current = named, key
                        key = self._key(key, target)
                        left = EVENT_LIMIT - self.size
                    keys.add(key)
                kind = type(item)
                if kind is str and item.isascii() and len(item) <= LARGE_STRING:
                    size += len(item) + 3
                    strings.append(item)
                    target[key] = item
                elif kind is int and -INTEGER_LIMIT <= item <= INTEGER_LIMIT:
                    size += 11
                    target[key] = item
                elif item is None or kind is bool:
                    size += 3
                    target[key] = item
                elif (kind is dict or kind is list) and len(stack) < within and id(item) not in inside:
                    size += CONTAINER_SIZE + 3
                    if size > left:
                        self.current = named, key
                        raise self._grown()
                    stack.append((items, target, named, bulky, key, identity))
                    bulky = bulky or (named and key in BULKY)
                    named = kind is dict
                    identity = id(item)
                    inside.add(identity)
                    child: Any = {} if named else [None] * len(item)
                    target[key] = child
                    target = child
                    items = iter(item.items()) if named else enumerate(item)
                    break
                else:
                    self.current = named, key
                    size += 3
                    target[key] = self._other(item, kind, bulky or (named and key in BULKY))
                    left = EVENT_LIMIT - self.size
                if size > left:
                    self.current = named, key
                    raise self._grown()
            else:
                if not stack:
                    self.size += size
                    return target
                inside.discard(identity)
                items, target, named, bulky, key, identity = stack.pop()

    def _other(self, item: Any, kind: type, bulky: bool) -> Any:
        """What takes a second look, and what is refused."""
        if kind is str:
            return self._text(item, bulky)
        if kind is float:
            return self._real(item)
        if kind is int:
            return self._refuse(item, "a whole number beyond 2^53")
        if kind is dict or kind is list:
            if id(item) in self.inside:
                return self._refuse(item, "a container within itself")
            return self._refuse(item, f"more than {DEPTH_LIMIT} containers within one another")
        return self._refuse(item, f"{_called(kind)} is not a JSON value")

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
        if len(data) <= LARGE_STRING or not self.omit or not bulky:
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
        return self._text(as_text(item), False)

    def _grown(self) -> GateError:
        return GateError(self._path(), f"the event grows beyond {EVENT_LIMIT} bytes here")

    def _path(self) -> str:
        """Where the walk stands; a container's own key is kept in the frame that it was entered from."""
        if self.current is None:
            return ""
        steps = [(frame[2], frame[4]) for frame in self.stack] + [self.current]
        return "".join(_step(named, key) for named, key in steps).removeprefix(".")


def _step(named: bool, key: Any) -> str:
    if not named:
        return f"[{key}]"
    return f".{key}" if type(key) is str and _NAME.match(key) else f"[{_shown(key)}]"


def _called(kind: type) -> str:
    return f"{'an' if kind.__name__[0] in 'aeiouAEIOU' else 'a'} {kind.__name__}"


def _shown(key: object) -> str:
    return escaped(json.dumps(key, ensure_ascii=False)) if type(key) is str else as_text(key)
