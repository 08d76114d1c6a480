"""A name whose bytes are not UTF-8: every surface shows it with escapes, and none is handed half a character."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from drawn import draw, plain
from eventmaker import WORKSPACE, Log, as_json, change
from redline.changes.codec import from_json
from redline.cli.sessions import plain as row_json
from redline.sessions.events import Event
from redline.sessions.gate import as_json as through_the_gate
from redline.surfaces.chat.cards import Setting
from redline.surfaces.chat.rows import TurnParts
from redline.surfaces.dashboard.place import Place
from redline.surfaces.dashboard.rows import shown_row
from redline.surfaces.editor import call as editor
from redline.surfaces.terminal.pipe import plain_row
from redline.tools.builtin import builtin_toolset
from redline.transcript.fold import rows
from redline.transcript.rows import AnyRow, FoundRow, RevertRow, ToolRow

if TYPE_CHECKING:
    from redline.changes.record import FileChange

PRESENT = builtin_toolset().by_name
ODD = (
    change("bad\udcff.txt", None, b"one\n"),
    change("b\udcfe/new", b"one\n", b"one\n", old_path="b\udcfe/old"),
    change("image\udcff", None, b"\0\1"),
)
LITERAL = change("bad\\xFF.txt", None, b"other\n")


def logged(log: Log) -> list[Event]:
    """As the log gives them back."""
    return [Event(one.session, one.seq, one.at, one.type, through_the_gate(one.data)) for one in log.events]


@pytest.fixture(params=["call", "found", "undone"])
def odd_rows(request: pytest.FixtureRequest) -> list[AnyRow]:
    log = Log()
    log.add("turn/started", source="terminal", rule="")
    if request.param == "call":
        log.call("c1", "bash", "execute", proposed=ODD)
        log.result("c1", name="bash", kind="execute", changes=ODD)
    elif request.param == "found":
        log.add("workspace/changed", changes=as_json(ODD, "observed"))
    else:
        log.add("change/reverted", call="undo-1", of=[], took=[], changes=as_json(ODD))
    log.add("turn/ended", reason="completed")
    return rows(logged(log), PRESENT)


@pytest.mark.parametrize("one", [*ODD, LITERAL])
def test_the_log_gives_the_true_name_back(one: FileChange) -> None:
    """Public reports: F69."""
    [again] = map(from_json, through_the_gate(as_json([one])))
    assert (again.path, again.old_path) == (one.path, one.old_path)


def test_a_file_with_the_escaped_name_is_another_file() -> None:
    log = Log()
    log.add("turn/started", source="terminal", rule="")
    log.add("workspace/changed", changes=as_json([ODD[0], LITERAL], "observed"))
    log.add("turn/ended", reason="completed")
    end = rows(logged(log), PRESENT)[-1]
    assert len({net.path for net in end.net}) == 2  # type: ignore[union-attr]


def test_the_terminal_and_the_pipe(odd_rows: list[AnyRow]) -> None:
    """Public reports: F69."""
    drawn = plain(draw(odd_rows))
    piped = "\n".join(line for row in odd_rows for line in plain_row(row, workspace=WORKSPACE, session="s1"))
    for text in (drawn, piped):
        assert "bad\\xFF.txt" in text
        text.encode()
    assert '+++ "b/bad\\377.txt"' in piped


def test_a_chat(odd_rows: list[AnyRow]) -> None:
    turn = TurnParts(Setting(workspace=WORKSPACE))
    for row in odd_rows:
        turn.add(row)
    said = repr([(getattr(part, "head", ""), getattr(part, "text", "")) for part in turn.parts])
    assert "bad\\\\xFF.txt" in said
    said.encode()


def test_an_editor(odd_rows: list[AnyRow]) -> None:
    """Public reports: F69."""
    for row in odd_rows:
        shown: dict[str, Any] = {}
        if isinstance(row, ToolRow):
            shown = {"begun": editor.begun(row, WORKSPACE, terminals=False, stored=lambda _: None)}
            shown["ended"] = editor.ended(row, WORKSPACE, terminals=False, stored=lambda _: None)
        elif isinstance(row, FoundRow):
            shown = editor.found(row)
        elif isinstance(row, RevertRow):
            shown = editor.reverted(row)
        json.dumps(shown, ensure_ascii=False).encode()


def test_the_dashboard_and_json(odd_rows: list[AnyRow]) -> None:
    """Public reports: F69."""
    place = Place(WORKSPACE, "s1")
    for row in odd_rows:
        shown_row(place, row).model_dump_json()
        json.dumps(row_json(row), ensure_ascii=False).encode()
