"""What whoever holds the files has to add to a write, such as an editor, reaches people and the model."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from redline.files.local import LocalFiles
from redline.files.seam import Action, BeforeCommit, Blob, Outcome, Target, WriteBytes
from tool_bench import Bench


class Titled(LocalFiles):
    """As an editor that formats on each save: another text is there by the time the write is answered."""

    async def apply(
        self, target: Target, action: Action, *, expected: Blob | None = None, before_commit: BeforeCommit | None = None
    ) -> Outcome:
        meant = await super().apply(target, action, expected=expected, before_commit=before_commit)
        assert meant.after is not None
        assert meant.after.data is not None
        made = WriteBytes(meant.after.data.title())
        saved = await super().apply(target, made, before_commit=before_commit)
        return replace(meant, after=saved.after, notes=("It was titled.",))


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    bench = await Bench.open(tmp_path)
    runner: Any = bench.runner
    runner._journal = replace(runner._journal, files=Titled([bench.workspace]))
    yield bench
    await bench.store.close()


async def test_a_text_that_was_saved_as_another_is_one_change_and_told(bench: Bench) -> None:
    bench.put("a.txt", "one\ntwo\n")
    done = await bench.read_first("a.txt", "edit", old_string="two", new_string="three")
    assert bench.bytes_of("a.txt") == b"One\nThree\n"
    assert [line for hunk in done.change.hunks for line in hunk.lines] == ["-one", "-two", "+One", "+Three"]
    assert done.logged["warnings"] == ["It was titled."]
    assert "It was titled." in done.text
    assert len(done.result.changes) == 1
