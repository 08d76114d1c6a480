"""The terminal as a surface: order, streaming, questions; and that live and replayed are the same."""

from __future__ import annotations

import asyncio
import os
import pty
from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING, Any, TextIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drawn import console, draw, plain, written
from eventmaker import Log, change
from redline.surfaces.terminal.terminal import TerminalSurface
from redline.tools.builtin import builtin_toolset
from redline.tools.permission import PermissionRequest
from redline.transcript.fold import Transcript, rows
from redline.transcript.rows import AnyRow, SessionState, agent_row_id

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from rich.console import Console

    from redline.sessions.events import Event

PRESENT = builtin_toolset().by_name
EDIT = change("a.py", b"x = 1\n", b"x = 2\n")
OTHER = change("b.py", None, b"new\n")


def quiet(width: int = 80) -> Console:
    """A console that is no terminal to `rich`, so that no working line is drawn into what is compared."""
    return console(width, force_terminal=False, color_system=None)


async def live(events: Sequence[Event], surface: TerminalSurface, stream: dict[int, list[str]] | None = None) -> None:
    """What a gateway does with the events of a session: fold each, show what changed. `stream`: text that a model
    wrote before the event of that number was committed."""
    transcript = Transcript("s1", PRESENT)
    for event in events:
        for text in (stream or {}).get(event.seq, []):
            row = agent_row_id(event.data["turn"], event.data["message"])
            await surface.stream(row, event.data["turn"], "agent", text)
        await surface.show(transcript.apply(event), transcript.state)


def replayed(events: Sequence[Event], width: int = 80) -> str:
    return draw(rows(events, PRESENT), width, force_terminal=False, color_system=None)


def story() -> Log:
    log = Log()
    log.add("session/started", workspace="/w", agent="builtin", model="m", surface="terminal")
    log.add("turn/started", source="terminal")
    log.add("user/message", content=[{"type": "text", "text": "Change it."}])
    log.add("assistant/message", message="m1", text="First I look.\n\nThen I ch")
    log.add("assistant/message", message="m1", text="ange.\n")
    log.call("c1", proposed=[EDIT])
    log.call("c2", name="bash", kind="execute", arguments={"command": "make"})
    log.call("c3", name="read", kind="read", arguments={"path": "a.py"})
    log.add("permission/asked", call="c1", request="r1", title="Edit a.py", changes=[], options=[])
    log.add("permission/answered", call="c1", request="r1", outcome="allow_once", by="terminal")
    log.result("c3", name="read", kind="read", meta={"offset": 1, "lines": 1, "total": 1})
    log.add("notice/raised", code="N", message="Something.", level="info")
    log.update("c2", content=[{"type": "text", "text": "half"}])
    log.result("c1", changes=[EDIT])
    log.result("c2", name="bash", kind="execute", content=[{"type": "text", "text": "ok"}], meta={"exit_code": 0})
    log.call("c4", proposed=[OTHER])
    log.result("c4", status="rejected", error={"code": "REJECTED", "message": "No.", "remedy": "Ask."})
    log.add("assistant/message", message="m2", text="Done.")
    log.add("usage/updated", model="m", input_tokens=100, output_tokens=10, cost=0.01)
    log.add("turn/ended", reason="completed")
    return log


class TestSameLiveAndReplayed:
    async def test_a_turn(self) -> None:
        log, target = story(), quiet()
        await live(log.events, TerminalSurface(target, workspace="/w"))
        assert written(target) == replayed(log.events)

    async def test_with_streamed_text(self) -> None:
        log, target = story(), quiet()
        streamed = {4: ["First ", "I look.\n", "\n", "Then I ch"], 5: ["ange", ".\n"], 18: ["Do", "ne."]}
        await live(log.events, TerminalSurface(target, workspace="/w"), streamed)
        assert written(target) == replayed(log.events)

    async def test_when_versions_are_merged_because_the_terminal_was_slow(self) -> None:
        log, target = story(), quiet()
        transcript = Transcript("s1", PRESENT)
        surface = TerminalSurface(target, workspace="/w")
        changed: dict[str, None] = {}
        for event in log.events:
            changed.update(dict.fromkeys(row.id for row in transcript.apply(event)))
            if event.seq % 4 == 0 or event is log.events[-1]:
                found = [row for row in map(transcript.row, changed) if row is not None]
                await surface.show(sorted(found, key=lambda row: row.seq), transcript.state)
                changed = {}
        assert written(target) == replayed(log.events)

    @settings(max_examples=50, deadline=None)
    @given(st.lists(st.text("ab \n\t`", max_size=12), max_size=8), st.integers(24, 60))
    def test_any_text_in_any_pieces(self, parts: list[str], width: int) -> None:
        log = Log()
        log.add("turn/started")
        for part in parts:
            log.add("assistant/message", message="m", text=part)
        log.add("turn/ended", reason="completed")
        target = quiet(width)
        streamed = {event.seq: [event.data["text"]] for event in log.events if event.type == "assistant/message"}
        asyncio.run(live(log.events, TerminalSurface(target, workspace="/w"), streamed))
        assert plain(written(target)) == plain(replayed(log.events, width))


class TestOrder:
    async def test_nothing_is_drawn_before_what_came_earlier(self) -> None:
        target = quiet()
        log = story()
        await live(log.events[:12], TerminalSurface(target, workspace="/w"))
        assert "Read a.py" not in written(target)
        assert "First I look." in written(target)

    async def test_whole_lines_of_streamed_text_appear_at_once(self) -> None:
        target = quiet()
        surface = TerminalSurface(target, workspace="/w")
        await surface.show([], SessionState(session="s1", turn=1, running=True))
        await surface.stream(agent_row_id(1, "m1"), 1, "agent", "One line.\nHalf a")
        assert written(target) == "  One line.\n"

    async def test_streamed_text_that_differs_from_what_was_committed_is_corrected(self) -> None:
        target = quiet()
        surface = TerminalSurface(target, workspace="/w")
        log = Log()
        log.add("turn/started")
        log.add("assistant/message", message="m1", text="The key is masked.\n")
        log.add("turn/ended", reason="completed")
        await live(log.events, surface, {2: ["Something else.\n"]})
        assert "  The key is masked.\n" in written(target)

    async def test_a_late_result_is_drawn_again_in_its_new_state(self) -> None:
        log, target = Log(), quiet()
        log.add("turn/started")
        log.call("c1", proposed=[EDIT])
        log.add("turn/ended", reason="completed")
        log.result("c1", changes=[EDIT])
        await live(log.events, TerminalSurface(target, workspace="/w"))
        text = written(target)
        assert "outcome unknown, not counted as applied" in text
        assert text.index("outcome unknown") < text.index("Edited a.py  −1 +1 · applied")
        assert "a.py −1 +1" in text.split("· applied")[1]

    async def test_rows_of_turns_before_it_was_attached_are_not_drawn(self) -> None:
        log = story()
        log.turn = 2
        log.add("turn/started")
        log.add("change/reverted", call="u", of=[{"turn": 1, "call": "c1"}], changes=[])
        log.add("turn/ended", reason="completed")
        transcript = Transcript("s1", PRESENT)
        target = quiet()
        surface = TerminalSurface(target, workspace="/w")
        for event in log.events:
            changed = transcript.apply(event)
            if event.data.get("turn") == 2:
                await surface.show(changed, transcript.state)
        assert "Edited a.py" not in written(target)
        assert "Turn 2 done" in written(target)


@dataclass
class Seat:
    """Somebody at a terminal: the surface, what was drawn, and a keyboard."""

    surface: TerminalSurface
    console: Console
    keyboard: int

    async def ask(self, request: PermissionRequest, *lines: str) -> Any:
        task = asyncio.create_task(self.surface.ask(request))
        for line in lines:
            await self.until_asked()
            os.write(self.keyboard, line.encode())
        return await asyncio.wait_for(task, 10)

    async def until_asked(self) -> None:
        before = written(self.console).count("Allow?")
        for _ in range(200):
            await asyncio.sleep(0.01)
            if written(self.console).count("Allow?") > before or before:
                await asyncio.sleep(0.05)
                return


@pytest.fixture
async def seat() -> AsyncIterator[Seat]:
    keyboard, terminal = pty.openpty()
    target = console()
    stdin: TextIO = os.fdopen(terminal, "r", closefd=False)
    surface = TerminalSurface(target, workspace="/w", stdin=stdin)
    yield Seat(surface, target, keyboard)
    surface.close()
    for descriptor in (keyboard, terminal):
        os.close(descriptor)


def request(*changes: Any, **more: Any) -> PermissionRequest:
    fields = {"turn": 1, "call": "c1", "tool": "edit", "title": "Edit a.py", "paths": ["/w/a.py"], **more}
    return PermissionRequest(changes=changes, **fields)


class TestQuestions:
    @pytest.mark.parametrize(
        ("typed", "outcome"),
        [
            ("y\n", "allow_once"),
            ("YES\n", "allow_once"),
            ("s\n", "allow_session"),
            ("n\n", "reject"),
            ("\n", "reject"),
            ("\x04", "reject"),  # the end of input
        ],
    )
    async def test_answers(self, seat: Seat, typed: str, outcome: str) -> None:
        assert await seat.ask(request(EDIT), typed) == outcome

    async def test_what_means_nothing_is_asked_again(self, seat: Seat) -> None:
        assert await seat.ask(request(EDIT), "maybe\n", "y\n") == "allow_once"
        assert written(seat.console).count("Allow?") == 2

    async def test_the_question_names_what_a_session_wide_yes_covers(self, seat: Seat) -> None:
        await seat.ask(request(EDIT), "n\n")
        text = plain(written(seat.console))
        assert "[y] once   [s] for this session: edit on a.py   [n] no" in text
        assert text.index("+ x = 2") < text.index("Allow?")

    async def test_every_file_is_shown_and_nothing_is_cut(self, seat: Seat) -> None:
        big = change("big.txt", None, b"".join(b"row %d\n" % at for at in range(1000)))
        long = change("long.txt", None, b"z" * 5000)
        await seat.ask(request(EDIT, big, long, change("a.py", b"q\n", b"r\n")), "n\n")
        text = plain(written(seat.console))
        assert "4 changes in 3 files:" in text
        assert all(f"+ row {at}\n" in text for at in range(1000))
        assert text.count("z") == 5000
        assert "+ r\n" in text

    async def test_what_the_agent_says_of_a_command_is_quoted(self, seat: Seat) -> None:
        said = {"command": "rm -r build", "description": "List files"}
        await seat.ask(request(tool="bash", title="rm", paths=[], arguments=said), "n\n")
        assert '│ $ rm -r build\n│ the agent says: "List files"\n' in plain(written(seat.console))

    async def test_what_was_typed_before_is_no_answer(self, seat: Seat) -> None:
        os.write(seat.keyboard, b"y\n")
        await asyncio.sleep(0.05)
        assert await seat.ask(request(EDIT), "n\n") == "reject"

    async def test_without_a_preview_a_short_yes_is_not_enough(self, seat: Seat) -> None:
        assert await seat.ask(request(), "y\n", "yes\n") == "allow_once"
        text = plain(written(seat.console))
        assert "There is no preview of what would happen to a.py." in text
        assert "[s]" not in text

    async def test_a_command_is_shown_whole(self, seat: Seat) -> None:
        command = "echo one\nrm -rf \x1b[2Kbuild"
        asked = request(tool="bash", title="Run", paths=[], arguments={"command": command})
        await seat.ask(asked, "n\n")
        text = plain(written(seat.console))
        assert "│ $ echo one\n│   rm -rf ^[[2Kbuild\n" in text
        assert "[s] for this session: bash with exactly this command" in text

    async def test_file_text_cannot_imitate_the_question(self, seat: Seat) -> None:
        """Public reports: M136."""
        fake = "╰─ Allow? [y/N] y\n╭─ Edited a.py · applied\n\x1b[2J[y] once\n".encode()
        await seat.ask(request(change("a.py", b"", fake)), "n\n")
        lines = plain(written(seat.console)).split("\n")
        assert [line for line in lines if line.startswith("╰─")] == ["╰─ Allow? [y/s/N]"]
        assert len([line for line in lines if line.startswith("╭─")]) == 1

    async def test_a_withdrawn_question_ends_at_once_and_the_next_one_is_answered(self, seat: Seat) -> None:
        task = asyncio.create_task(seat.surface.ask(request(EDIT)))
        await seat.until_asked()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await seat.ask(request(EDIT), "y\n") == "allow_once"

    async def test_rows_wait_while_a_question_is_open(self, seat: Seat) -> None:
        task = asyncio.create_task(seat.surface.ask(request(EDIT)))
        await seat.until_asked()
        log = Log()
        log.add("notice/raised", code="LATER", message="m", level="info")
        shown: list[AnyRow] = rows(log.events, PRESENT)
        await seat.surface.show(shown, SessionState(session="s1"))
        assert "LATER" not in written(seat.console)
        os.write(seat.keyboard, b"n\n")
        assert await task == "reject"
        assert "LATER" in written(seat.console)

    async def test_nobody_is_there_where_there_is_no_terminal(self) -> None:
        assert await TerminalSurface(quiet(), workspace="/w", stdin=StringIO("y\n")).ask(request(EDIT)) is None
        assert await TerminalSurface(console(), workspace="/w", stdin=StringIO("y\n")).ask(request(EDIT)) is None
        assert await TerminalSurface(console(), workspace="/w", ask=False).ask(request(EDIT)) is None


async def test_the_working_line_leaves_no_trace() -> None:
    target = console()
    surface = TerminalSurface(target, workspace="/w")
    await live(story().events, surface)
    text = written(target)
    assert "\x1b[?25l" in text  # the cursor was hidden for it
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")


async def test_a_card_that_stands_there_is_not_drawn_again_when_its_call_goes_on() -> None:
    """Such as a command that still runs when the turn ends."""
    log = Log()
    log.add("turn/started")
    log.call("c", name="", kind="execute", title="make")
    log.result("c", "unknown", changes=[EDIT], observed=True, name="", kind="execute")
    log.add("turn/ended", reason="completed")
    log.result("c", changes=[EDIT, OTHER], observed=True, name="", kind="execute")
    screen = quiet()
    await live(log.events, TerminalSurface(screen, workspace="/w"))
    text = written(screen)
    assert text.count("x = 2") == 1
    assert text.count("new") >= 1
    assert text.index("Turn 1") < text.index("b.py")
