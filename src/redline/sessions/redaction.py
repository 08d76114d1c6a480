"""The door of the session log: secrets are masked on the way in, so that no surface can show what the log lacks.

Masking goes line by line and keeps the number of lines, so that the arithmetic of hunks stays true; only private keys
reach over several lines. The name of a key stays visible: `KEY=⟦redacted aws-key⟧`. Masking a masked text changes
nothing. The rules are in `secret_tokens` (forms), `secret_assignments` (places, judged by `secret_values`) and
`key_blocks` (private keys); `secret_sieve` decides which lines they look at. `docs/redaction.md` says what is not
caught.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any

from redline.sessions import escapes, key_blocks, listings, secret_assignments, secret_sieve, secret_statements
from redline.sessions.marks import holds_mask, mark, new_masks

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from redline.sessions.secret_tokens import Rule, Span

__all__ = ["LineMasker", "Redactor", "holds_mask", "new_masks"]

KEPT_KEYS = frozenset(
    {
        "session", "sessionId", "call", "toolCallId", "request", "blob", "path", "real", "old_path", "moved_to",
        "workspace", "type", "mimeType", "media_type",
    }
)  # fmt: skip
"""Strings under these keys name something (a session, a call, a file, bytes): masked, they would name nothing."""
FOREIGN_KEYS = frozenset({"arguments", "rawInput", "rawOutput", "meta", "_meta"})
"""Below these stands what a model or an agent wrote: the same keys may hold anything there, but for a path."""
_KEPT_BELOW = frozenset({"path"})

LONG_LINE = 4_096
"""Characters; of a longer line only the neighbourhoods of candidates are searched."""
_WINDOW = 2_048
_OVERLAP = 512
_TOKEN_REST = re.compile(r"[0-9A-Za-z_.=+/-]*+")


class Redactor:
    """Masks secrets in text and in JSON values. Stateless; safe for several threads."""

    @functools.cached_property
    def _rules(self) -> list[Rule]:
        from redline.sessions import secret_tokens  # a quarter of a second, and most processes never need it

        return secret_tokens.rules()

    def mask(self, text: str) -> str:
        """The text with its secrets masked; the same object if there are none."""
        masked = self.mask_lines(text) if text else {}
        if not masked:
            return text
        lines = text.split("\n")
        for number, line in masked.items():
            lines[number - 1] = line
        return "\n".join(lines)

    def mask_lines(self, text: str | bytes) -> dict[int, str]:
        """The lines that hold a secret: number from 1 -> masked line, without its `\\n`.

        Give whole texts, so that a private key is seen from its first line on. Bytes are read as UTF-8 with surrogate
        escapes, as lines of hunks are.
        """
        if isinstance(text, bytes):
            data, errors = text, "surrogateescape"
        else:
            data, errors = text.encode("utf-8", "surrogatepass"), "surrogatepass"
        masked: dict[int, str] = {}
        if not secret_sieve.may_hold_any(data):
            return masked
        if secret_sieve.may_hold_block(data):
            masked = key_blocks.mask_blocks(data.decode("utf-8", errors))
        for number, raw, marks in _candidates(data):
            line = masked.get(number)
            if line is None:
                line = raw.decode("utf-8", errors)
            elif len(raw) > LONG_LINE:
                marks = _Marks((0,), (0,))
            shown = self._mask_line(line, marks)
            if shown != line:
                masked[number] = shown
        return masked

    def mask_json(self, value: Any, *, foreign: bool = False) -> tuple[Any, bool]:
        """A JSON value with every string masked, and whether any was.

        Strings under `KEPT_KEYS` stay, but not below `FOREIGN_KEYS`, nor anywhere in what is `foreign` as a whole. A
        list under "lines" is read as one text, since hunks are kept that way; the sign of each line stays. A value
        under a key such as "password" is judged with its key.
        """
        return self._json(value, None, foreign)

    def _json(self, value: Any, key: str | None, foreign: bool) -> tuple[Any, bool]:
        if isinstance(value, str):
            shown = self._value(value, key)
            return shown, shown is not value
        if isinstance(value, dict):
            return self._object(value, foreign or key in FOREIGN_KEYS)
        if isinstance(value, list):
            if key == "lines" and value and all(isinstance(line, str) and "\n" not in line for line in value):
                shown = self.mask("\n".join(value))
                lines = shown.split("\n")
                return (lines, True) if lines != value else (value, False)
            items = [self._json(item, key, foreign) for item in value]
            changed = any(was for _, was in items)
            return ([item for item, _ in items], True) if changed else (value, False)
        return value, False

    def _object(self, value: Mapping[str, Any], foreign: bool) -> tuple[Any, bool]:
        kept = _KEPT_BELOW if foreign else KEPT_KEYS
        changed = False
        shown: dict[str, Any] = {}
        for key, item in value.items():
            name = self.mask(key)
            if name in shown or (name != key and name in value):
                name = key
            names = key in kept and isinstance(item, str) and "://" not in item
            item_shown, item_changed = (item, False) if names else self._json(item, key, foreign)
            changed = changed or item_changed or name != key
            shown[name] = item_shown
        return (shown, True) if changed else (value, False)

    def _value(self, text: str, key: str | None) -> str:
        if key is not None and len(text) <= LONG_LINE and secret_assignments.is_secret(key, text):
            return mark(secret_assignments.kind(key))
        return self.mask(text)

    def mask_line(self, line: str) -> str:
        """One line by itself: without what only its neighbours can tell."""
        found = next(iter(_candidates(line.encode("utf-8", "surrogatepass"))), None)
        return line if found is None else self._mask_line(line, found[2])

    def may_hold_block(self, data: bytes) -> bool:
        """The text may hold a private key, the one secret that reaches over several lines."""
        return secret_sieve.may_hold_block(data)

    def open_block(self, text: str) -> bool:
        """The text ends inside a private key: what comes next may belong to it."""
        if not any(anchor in text for anchor in key_blocks.ANCHORS):
            return False
        block = key_blocks.KeyBlock()
        for line in text.split("\n"):
            block.mask(line.removesuffix("\r"))
        return block.open

    def _mask_line(self, line: str, places: _Marks) -> str:
        ending = "\r" if line.endswith("\r") else ""
        bare = line.removesuffix("\r")
        # What was masked can make a second secret visible to a rule; masking must be stable.
        for _ in range(8):
            spans = list(self._spans(bare, places))
            if not spans:
                break
            bare = _masked(bare, spans)
            places = _again(bare, places)
        return bare + ending

    def _spans(self, line: str, places: _Marks) -> Iterator[Span]:
        if len(line) <= LONG_LINE:
            yield from self._line_spans(line, tokens=bool(places.tokens), names=bool(places.names))
            return
        tokens = {at // _WINDOW for at in places.tokens}
        names = {at // _WINDOW for at in places.names}
        covered = 0
        for window in sorted(tokens | names):
            low = max(0, window * _WINDOW - _OVERLAP)
            high = min(len(line), (window + 1) * _WINDOW + _OVERLAP)
            if high <= covered:
                continue
            for start, end, kind in self._line_spans(line[low:high], tokens=window in tokens, names=window in names):
                stop = low + end
                if stop == high:  # cut by the window: what follows belongs to it
                    stop = _TOKEN_REST.match(line, stop).end()  # type: ignore[union-attr]  # matches nothing, too
                    covered = max(covered, stop)
                yield low + start, stop, kind

    def _line_spans(self, line: str, *, tokens: bool, names: bool) -> Iterator[Span]:
        yield from self._found(line, tokens=tokens, names=names)
        if (blanked := escapes.blanked(line)) != line:
            yield from self._found(blanked, tokens=tokens, names=names)
        if names and (bounds := listings.bounds(line)) is not None:
            for start, end, kind in self._found(line[slice(*bounds)], tokens=False, names=True):
                yield bounds[0] + start, bounds[0] + end, kind

    def _found(self, line: str, *, tokens: bool, names: bool) -> Iterator[Span]:
        if tokens:
            for rule in self._rules:
                yield from rule.spans(line)
        if names:
            yield from secret_assignments.spans(line)
            yield from secret_statements.spans(line)


class LineMasker:
    """Masks a text that arrives line by line, such as what a model is writing or a command prints."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._block = key_blocks.KeyBlock()

    @property
    def open(self) -> bool:
        """The lines so far end inside a private key."""
        return self._block.open

    def mask(self, line: str) -> str:
        """The next line, without its `\\n`, masked."""
        if self._block.open or any(anchor in line for anchor in key_blocks.ANCHORS):
            ending = "\r" if line.endswith("\r") else ""
            line = self._block.mask(line.removesuffix("\r")) + ending
        return self._redactor.mask_line(line)


class _Marks:
    """Offsets in a line near which tokens, and names with a value, may stand."""

    __slots__ = ("names", "tokens")

    def __init__(self, tokens: Sequence[int], names: Sequence[int]) -> None:
        self.tokens = tokens
        self.names = names


def _again(line: str, places: _Marks) -> _Marks:
    """For a second look at a line that has been masked once."""
    windows = range(0, len(line), _WINDOW)
    return _Marks(windows if places.tokens else (), windows if places.names else ())


def _candidates(data: bytes) -> Iterator[tuple[int, bytes, _Marks]]:
    """Lines that may hold a secret: their number from 1, their bytes, and where to look."""
    tokens = secret_sieve.token_places(data)
    names = secret_sieve.name_places(data)
    token = name = counted = end = 0
    number = 1
    while token < len(tokens) or name < len(names):
        at = min(tokens[token] if token < len(tokens) else len(data), names[name] if name < len(names) else len(data))
        start = data.rfind(b"\n", end, at) + 1 or end
        end = data.find(b"\n", at)
        end = len(data) if end < 0 else end
        number += data.count(b"\n", counted, start)
        counted = start
        first_token, first_name = token, name
        while token < len(tokens) and tokens[token] <= end:
            token += 1
        while name < len(names) and names[name] <= end:
            name += 1
        raw = data[start:end]
        offsets = [[at - start for at in tokens[first_token:token]], [at - start for at in names[first_name:name]]]
        if len(raw) > LONG_LINE and not raw.isascii():
            offsets = [_characters(raw, places) for places in offsets]
        yield number, raw, _Marks(*offsets)


def _characters(raw: bytes, places: Sequence[int]) -> list[int]:
    """Byte offsets as offsets in characters, near enough to choose a window by."""
    found = []
    characters = before = 0
    for at in places:
        characters += len(raw[before:at].decode("utf-8", "replace"))
        before = at
        found.append(characters)
    return found


def _masked(line: str, spans: Sequence[Span]) -> str:
    """Overlapping spans become one, named by the surest of them (they come in that order)."""
    ranked = sorted((start, end, rank, kind) for rank, (start, end, kind) in enumerate(spans))
    parts: list[str] = []
    shown = 0
    start, end, rank, kind = ranked[0]
    for next_start, next_end, next_rank, next_kind in ranked[1:]:
        if next_start < end:
            end = max(end, next_end)
            rank, kind = min((rank, kind), (next_rank, next_kind))
            continue
        parts += [line[shown:start], mark(kind)]
        shown = end
        start, end, rank, kind = next_start, next_end, next_rank, next_kind
    parts += [line[shown:start], mark(kind), line[end:]]
    return "".join(parts)
