"""A guard against texts whose lines are made to collide.

libgit2 keeps lines in a hash table whose hash has no key, so a text can be built on which it is quadratic: 33,000 lines
of one megabyte keep it busy for ten seconds. Such a text is recognised from a few lines; its lines are then replaced by
numbers before the search, which gives the same hunks.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    Found = tuple[bytes | bytearray, int, int]
    Search = Callable[[bytes, bytes], Found]

FEW_LINES = 4_000
FEW_BYTES = 64_000
"""Below so many lines or bytes of both sides together, collisions cost a tenth of a second at worst."""
_STEPS = 10_000_000
"""Comparisons of colliding lines, about 5 ns each, that are not worth a guard."""
_GUESSED_FROM = 256
"""libgit2 guesses the number of lines, and so the size of its table, from so many first lines."""
_PLACES = 4
_PLACE_BYTES = 2048
_MAX_INDENT = 200
"""git looks no further when it places a group of changed lines by indentation."""


def would_collide(before: bytes, after: bytes) -> bool:
    """Whether the search would spend its time on lines that fall into one place of the hash table.

    Judged from randomly picked lines, so that no text can be built to look innocent; either judgement gives the same
    hunks.
    """
    if len(before) + len(after) < FEW_BYTES or (lines := guessed_lines(before) + guessed_lines(after)) < FEW_LINES:
        return False
    bits = (_expected_lines(before) + _expected_lines(after) + 2).bit_length()
    picked = {*_picked_lines(before, lines), *_picked_lines(after, lines)}
    places = Counter(_place(line, bits) for line in picked)
    pairs = sum(count * (count - 1) for count in places.values()) // 2
    possible = len(picked) * (len(picked) - 1) // 2
    return pairs >= 3 and pairs * lines * lines // (2 * possible) > _STEPS + 50 * lines


def numbered_patch(before: bytes, after: bytes, search: Search) -> Found:
    """What `search` gives for the two texts, found by way of numbers that stand for their lines."""
    old, new = before.split(b"\n"), after.split(b"\n")
    numbers = {line: _number(line, at) for at, line in enumerate(dict.fromkeys(old + new))}
    numbers[b""] = b""  # also what follows a final newline
    lines = {number: line for line, number in numbers.items()}
    patch, added, removed = search(
        b"\n".join([numbers[line] for line in old]), b"\n".join([numbers[line] for line in new])
    )
    parts = bytes(patch).split(b"\n")
    for at, part in enumerate(parts):
        if part[:1] in (b" ", b"-", b"+"):
            parts[at] = part[:1] + lines[part[1:]]
    return b"\n".join(parts), added, removed


def _number(line: bytes, at: int) -> bytes:
    """A number with what git's placing of groups looks at: the indentation, or that the line is blank."""
    if not line or line.isspace():
        return b"%s" % format(at, "b").replace("0", " ").replace("1", "\t").encode()
    width = 0
    for byte in line[: len(line) - len(line.lstrip())]:
        width += 1 if byte == 0x20 else 8 - width % 8 if byte == 0x09 else 0
    return b" " * min(width, _MAX_INDENT) + b"%d" % at


def guessed_lines(data: bytes) -> int:
    """About how many lines there are, from a few randomly picked places."""
    if len(data) <= _PLACES * _PLACE_BYTES:
        return data.count(b"\n")
    seen = 0
    for _ in range(_PLACES):
        start = int(random.random() * (len(data) - _PLACE_BYTES))
        seen += data.count(b"\n", start, start + _PLACE_BYTES)
    return seen * len(data) // (_PLACES * _PLACE_BYTES)


def _picked_lines(data: bytes, lines: int) -> list[bytes]:
    """Some lines at random; long ones are passed over, for chance finds them more often than their share."""
    wanted = min(max(int(lines**0.5) // 8, 12), 400)
    longest = 4 * len(data) // lines + 64
    picked: list[bytes] = []
    for _ in range(8 * wanted):
        place = int(random.random() * len(data))
        start, end = data.rfind(b"\n", 0, place) + 1, data.find(b"\n", place)
        if 0 <= end <= start + longest:
            picked.append(data[start:end])
            if len(picked) == wanted:
                return picked
    return random.choices(data.split(b"\n"), k=wanted)


def _place(line: bytes, bits: int) -> int:
    """Where libgit2 keeps a line in a table of `2 ** bits` places."""
    value = 5381
    for start in range(0, len(line), 32):
        for byte in line[start : start + 32]:
            value = value * 33 ^ byte
        value &= 0xFFFFFFFFFFFFFFFF
    return (value + (value >> bits)) & ((1 << bits) - 1)


def _expected_lines(data: bytes) -> int:
    """How many lines libgit2 makes room for, by the length of the first ones."""
    reach = 1 << 14
    while True:
        first = data[:reach].split(b"\n", _GUESSED_FROM)
        if len(first) > _GUESSED_FROM:
            taken = min(reach, len(data)) - len(first[-1])
            return len(data) // max(taken // _GUESSED_FROM, 1) + 1
        if reach >= len(data):
            return len(first)
        reach *= 8
