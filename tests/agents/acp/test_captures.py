"""Every recorded turn of a real agent: the cards say exactly what happened, live, from the log and after a reload."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from captures.recorded import Recording, Stage, names, on_disk, replayed, stage
from redline.transcript.call import Call
from redline.transcript.rows import FoundRow, ToolRow

if TYPE_CHECKING:
    from pathlib import Path

    from redline.transcript.rows import AnyRow


@pytest.mark.parametrize("name", names())
async def test_the_cards_of_a_recorded_turn_state_exactly_what_happened(name: str, tmp_path: Path) -> None:
    """Public reports: E51."""
    recording = Recording.of(name)
    (tmp_path / "workspace").mkdir()
    recording.prepare(tmp_path / "workspace")
    before = on_disk(tmp_path / "workspace")

    async with stage(tmp_path, recording.command(), answers=recording.answers()) as live:
        stop = await live.conversation.prompt("Do the scripted step.", source="terminal")
        assert stop.reason in ("completed", "cancelled"), stop
        check(recording, live, before)
        session = live.session.log.session
        told = _content(live.conversation.transcript.rows)
        assert told == _content(list(live.onlooker.rows.values()))

    # Another process takes the session up: the agent tells its past again, and none of it is taken for new.
    async with stage(tmp_path, recording.command(), session=session) as later:
        assert _content(later.conversation.transcript.rows) == told
        await later.agent.connect(2)
        assert _content(later.conversation.transcript.rows) == told


HARD_TO_TELL = [
    "codex-old/l2_twice",
    "copilot/c_multi",
    "deepagents/j_sed",
    "nanocoder/c_multi",
]


@pytest.mark.parametrize("name", HARD_TO_TELL)
async def test_calls_that_overlap_or_are_told_late_get_their_own_changes(name: str, tmp_path: Path) -> None:
    """At thrice their speed: the recording tells a command's end before its change, or writes what several calls did at
    once, in two steps."""
    recording = Recording.of(name)
    (tmp_path / "workspace").mkdir()
    recording.prepare(tmp_path / "workspace")
    before = on_disk(tmp_path / "workspace")
    async with stage(tmp_path, recording.command(3), answers=recording.answers()) as live:
        await live.conversation.prompt("Do the scripted step.", source="terminal")
        check(recording, live, before)
        assert not [row for row in live.conversation.transcript.rows if isinstance(row, FoundRow)]


async def test_a_diff_that_is_dropped_from_the_replay_does_not_go_unnoticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = Recording.of("claude/b_edit")
    (tmp_path / "workspace").mkdir()
    recording.prepare(tmp_path / "workspace")
    async with stage(tmp_path, recording.command(), answers=recording.answers()) as live:
        await live.conversation.prompt("Do the scripted step.", source="terminal")
        session, told = live.session.log.session, live.conversation.transcript.rows
    monkeypatch.setattr(Call, "_take_changes", lambda *_, **__: None)
    async with stage(tmp_path, recording.command(), session=session) as later:
        assert _content(later.conversation.transcript.rows) != _content(told)


def check(recording: Recording, live: Stage, before: dict[str, bytes]) -> None:
    transcript = live.conversation.transcript
    after = on_disk(live.workspace)
    assert after == recording.after, "the turn did not go as recorded"
    assert replayed(before, transcript.landed(1), live.workspace, live) == after
    cards = [row for row in transcript.rows if isinstance(row, ToolRow | FoundRow)]
    for row in cards:
        if isinstance(row, ToolRow):
            assert row.ended, row
            assert bool(row.changes) == (row.status == "applied") or row.status in ("failed", "unknown"), row
    if before == after and "/o_" not in recording.name:  # there and back is two changes, each with its card
        assert not [row for row in cards if row.changes]


def _content(found: list[AnyRow]) -> list[AnyRow]:
    return [row for row in found if row.kind != "notice"]
