"""A preview is what would happen, and a refusal leaves the disk as it was: for any actions on any bytes."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from files.mutations import names
from redline.files.blob import git_blob
from redline.files.error import FileError
from redline.files.local import LocalFiles
from redline.files.seam import (
    Action,
    Delete,
    DeleteLines,
    EditText,
    Insert,
    Outcome,
    Replace,
    Write,
    WriteBytes,
)

_DATA = st.one_of(st.binary(max_size=30), st.lists(st.sampled_from([b"a", b"\n", b"\r\n", b"\xe9"])).map(b"".join))
_TEXT = st.text(alphabet="ab\n\ré\ufeff\ud83d", max_size=4)
_EDIT = st.one_of(
    st.builds(Replace, _TEXT, _TEXT, st.booleans()),
    st.builds(Insert, st.integers(0, 3), _TEXT),
    st.builds(DeleteLines, st.integers(1, 3), st.integers(1, 3)),
)
_ACTION: st.SearchStrategy[Action] = st.one_of(
    st.builds(Write, _TEXT),
    st.builds(EditText, st.lists(_EDIT, min_size=1, max_size=3)),
    st.builds(WriteBytes, _DATA, st.sampled_from([None, True, False])),
    st.just(Delete()),
)


@given(st.one_of(st.none(), _DATA), st.lists(_ACTION, min_size=1, max_size=4), st.sampled_from([8, 1000]))
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_preview_equals_apply(start: bytes | None, actions: list[Action], limit: int) -> None:
    async def run(folder: Path) -> None:
        files = LocalFiles([folder], basis_limit=limit)
        target = await files.resolve("f")
        if start is not None:
            target.real.write_bytes(start)
        for action in actions:
            now = _bytes(target.real)
            promised = await _told(files.preview(target, action))
            assert _bytes(target.real) == now
            done = await _told(files.apply(target, action))
            assert done == promised
            if isinstance(done, Outcome):
                _agrees(target.real, now, done, limit)
            else:
                assert _bytes(target.real) == now
            assert names(folder) == (["f"] if target.real.exists() else [])

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(run(Path(folder)))


async def _told(call: Awaitable[Outcome]) -> Outcome | tuple[str, str, str]:
    try:
        return await call
    except FileError as error:
        return error.code, error.message, error.remedy


def _bytes(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


def _agrees(path: Path, before: bytes | None, done: Outcome, limit: int) -> None:
    after = _bytes(path)
    for data, content in ((before, done.before), (after, done.after)):
        assert (data is None) == (content is None)
        if data is not None and content is not None:
            assert (content.blob, content.size) == (git_blob(data), len(data))
            assert content.data == (data if len(data) <= limit else None)
    if done.after is not None:
        assert done.after.executable == bool(path.stat().st_mode & 0o100)
