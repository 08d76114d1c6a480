"""What an event cannot hold leaves it and comes back as the same JSON value."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline.agents.acp.bulk import TEXT_LIMIT, is_whole, slimmed, whole
from redline.files.blob import git_blob
from redline.sessions.gate import check
from redline.sessions.redaction import Redactor


class Shelf:
    """A store of bytes in memory; `full`: it keeps nothing more."""

    def __init__(self, *, full: bool = False) -> None:
        self.held: dict[str, bytes] = {}
        self.full = full

    async def keep(self, data: Sequence[bytes]) -> list[str | None]:
        blobs: list[str | None] = [None if self.full else git_blob(one) for one in data]
        self.held |= {blob: one for blob, one in zip(blobs, data, strict=True) if blob is not None}
        return blobs


def same(one: Any, other: Any) -> bool:
    """As JSON, to the sign of a zero and the last half of a character."""
    return json.dumps(one) == json.dumps(other)


TEXTS = st.text(st.characters(codec=None, exclude_categories=())) | st.sampled_from(
    ["omitted", "blob", "json", "\ud83d"]
)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner) | st.just({"omitted": True, "blob": "0" * 40})
)


@given(VALUES)
async def test_any_json_value_comes_back_as_it_was(value: Any) -> None:
    shelf = Shelf()
    event = await slimmed(value, shelf.keep, limit=20)
    check(event)
    back = whole(json.loads(json.dumps(event)), shelf.held.get)
    assert same(back, value)
    assert is_whole(back)


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("value", [
    "x" * 20_000_000, {"a": {"b": "é" * 9_000_000}}, [[]] * 300_000, {"deep": deep(300)}, ["y" * TEXT_LIMIT] * 2000,
], ids=["long", "longer than one piece", "many", "deep", "many long"])  # fmt: skip
async def test_however_large_or_deep_it_fits_into_an_event(value: Any) -> None:
    shelf = Shelf()
    event = await slimmed(value, shelf.keep)
    check(event)
    assert len(json.dumps(event)) < 8 << 20
    assert same(whole(event, shelf.held.get), value)


async def test_what_could_not_be_kept_is_known_to_be_lost() -> None:
    event = await slimmed({"a": "x" * 10_000, "b": 1}, Shelf(full=True).keep)
    back = whole(event, {}.get)
    assert back == {"a": {"omitted": True, "bytes": 10_000}, "b": 1}
    assert not is_whole(back)


async def test_what_leaves_an_event_is_masked_as_the_event_is() -> None:
    key, shelf = "AKIAIOSFODNN7EXAMPLQ", Shelf()
    for value in (
        f"{'word ' * 3000}{key}",
        {"number": 2**70, "key": key, "deep": deep(60), "tail": ["w " * 9000, key]},
    ):
        await slimmed({"it": value}, shelf.keep, Redactor().mask)
    assert shelf.held
    assert not any(key.encode() in data for data in shelf.held.values())
