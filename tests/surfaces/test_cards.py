"""Cards in the terminal: right in every width and theme, and true to what is on disk."""

from __future__ import annotations

import io
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from drawn import SGR, draw, plain
from eventmaker import Log, change
from redline.changes.compare import describe, without_basis
from redline.changes.record import FileChange, Hunk
from redline.changes.shorten import shortened
from redline.surfaces.terminal.rows import render_row
from redline.tools.builtin import builtin_toolset
from redline.transcript.fold import rows
from redline.transcript.rows import AnyRow, ToolRow

PRESENT = builtin_toolset().by_name
EDIT = change("src/a.py", b"x = 1\ny = 1\n", b"x = 2\ny = 1\n")


def card(*changes: FileChange, status: str = "completed", **result: Any) -> ToolRow:
    """The row of an edit; what it changed is on disk if it completed."""
    log = Log()
    log.call("c1", proposed=changes)
    log.result("c1", status=status, changes=changes if status == "completed" else [], **result)
    (row,) = rows(log.events, PRESENT)
    assert isinstance(row, ToolRow)
    return row


def shown(row: AnyRow, width: int = 80, **more: Any) -> str:
    return plain(draw(row, width, **more))


class TestChange:
    def test_head_numbers_signs_and_status(self) -> None:
        assert shown(card(EDIT)) == (
            "╭─ Edited src/a.py  −1 +1 · applied\n│ 1   - x = 1\n│   1 + x = 2\n│ 2 2   y = 1\n╰─\n\n"
        )

    def test_one_column_of_numbers_in_a_narrow_terminal(self) -> None:
        assert "│ 1 - x = 1\n│ 1 + x = 2\n│ 2   y = 1\n" in shown(card(EDIT), 60)

    def test_a_move_names_both_paths(self) -> None:
        assert "Moved a.py → b.py · applied" in shown(card(change("b.py", b"1\n", b"1\n", old_path="a.py")))

    def test_a_path_outside_of_the_workspace_stays_absolute(self) -> None:
        assert "Edited /elsewhere/a " in shown(card(replace(EDIT, path="/elsewhere/a")))

    def test_what_changed_besides_lines_is_named(self) -> None:
        before, after = b"\xef\xbb\xbfa\r\nb\r\n", b"a\nb"
        text = shown(card(change("a", before, after, after_executable=True)), 200)
        for fact in ("BOM removed", "final newline removed", "line ends changed from CRLF to LF", "made executable"):
            assert fact in text
        assert "- <U+FEFF>a^M" in text
        assert "\\ no newline at the end of the file" in text

    def test_a_bom_is_no_reason_to_warn_however_many_lines_changed(self) -> None:
        text = shown(card(change("a", b"\xef\xbb\xbfa\nb\nc\n", b"\xef\xbb\xbfA\nB\nC\n")))
        assert "▲" not in text
        assert "U+FEFF" not in text

    def test_what_looks_like_a_bom_in_another_line_is_shown_and_warned_of(self) -> None:
        for after in (b"\xef\xbb\xbfA\n\xef\xbb\xbfB\n", b"\xef\xbb\xbfA\n\xef\xbb\xbfa\nb\n"):
            text = shown(card(change("a", b"\xef\xbb\xbfa\nb\n", after)))
            assert text.count("<U+FEFF>") == 1
            assert ("▲ Holds invisible characters" in text) == (b"B" in after)

    def test_a_name_that_is_not_shown_is_no_reason_to_warn(self) -> None:
        made = describe("/w\x1b/a", None, b"1\n")
        assert "▲" not in shown(card(made), workspace="/w\x1b")
        assert "▲ Holds control characters" in shown(card(made), workspace="/v")

    def test_carriage_returns_of_a_crlf_file_are_said_once(self) -> None:
        text = shown(card(change("a", b"a\r\nb\r\n", b"a\r\nc\r\n")))
        assert "CRLF line ends" in text
        assert "^M" not in text

    def test_a_lone_carriage_return_is_always_seen(self) -> None:
        assert "x^My" in shown(card(change("a", b"x\n", b"x\ry\n")))

    def test_a_snippet_of_unknown_place_has_no_numbers(self) -> None:
        text = shown(card(replace(EDIT, anchored=False)))
        assert "│ - x = 1\n│ + x = 2\n│   y = 1\n" in text

    def test_bounds_are_marked(self) -> None:
        assert "≈−1 ≈+1" in shown(card(replace(EDIT, exact=False)))

    def test_without_a_text_basis_it_says_so_and_counts_nothing(self) -> None:
        text = shown(card(without_basis("/w/a.bin", "modify", None, None)))
        assert "no text basis" in text
        assert "+" not in text

    def test_between_hunks_it_says_how_much_is_left_out(self) -> None:
        lines = [b"%d\n" % at for at in range(40)]
        after = [*lines]
        after[5], after[30] = b"x\n", b"y\n"
        text = shown(card(change("a", b"".join(lines), b"".join(after))))
        assert "⋯ 18 unchanged lines" in text

    def test_secrets_are_said_to_be_masked(self) -> None:
        assert "secrets masked" in shown(card(replace(EDIT, redacted=True)))

    def test_a_change_of_white_space_alone_is_seen(self) -> None:
        text = shown(card(change("Makefile", b"all:\n        build\n", b"all:\n\tbuild\n")))
        assert "- ········build" in text
        assert "+ →   build" in text


class TestFolding:
    BIG = change("big.txt", None, b"".join(b"row %d\n" % at for at in range(600)))

    def test_a_long_card_folds_and_says_how_to_see_the_rest(self) -> None:
        text = shown(card(self.BIG))
        assert len(text.splitlines()) < 20
        assert "588 more lines in 1 place. All of it:\n│ redline diff s1 --turn 1 --call c1 --file big.txt\n" in text
        assert "−0 +600" in text

    def test_whole_means_whole(self) -> None:
        assert "row 599" in shown(card(self.BIG), whole=True)

    def test_a_change_that_is_not_applied_gives_no_command_that_would_not_show_it(self) -> None:
        text = shown(card(self.BIG, status="rejected"))
        assert "588 more lines" in text
        assert "redline diff" not in text

    def test_what_the_log_cut_is_said_to_be_cut(self) -> None:
        cut = shortened(self.BIG, 800)
        assert cut.truncated
        text = shown(card(cut))
        assert "the log keeps only this much of it" in text
        assert "+600" in text

    def test_one_enormous_line_shows_the_piece_that_changed(self) -> None:
        before = b'{"k":' + b"1" * 2_000_000 + b"}"
        after = before[:-2] + b"2}"
        text = shown(card(change("one.json", before, after)))
        assert len(text) < 3000
        assert "[1999844 characters] 111" in text
        assert "12}" in text


class TestTruth:
    WORDS: ClassVar = {
        "failed": "failed, not applied",
        "rejected": "rejected, not applied",
        "cancelled": "cancelled, not applied",
        "interrupted": "interrupted, not applied",
        "unknown": "outcome unknown, not counted as applied",
    }

    @pytest.mark.parametrize("status", WORDS)
    def test_what_is_not_on_disk_says_so_and_looks_different(self, status: str) -> None:
        raw = draw(card(EDIT, status=status))
        text = plain(raw)
        assert text.startswith(f"┌╌ Edit src/a.py  −1 +1 · {self.WORDS[status]}")
        assert all(line.startswith("┆") for line in text.splitlines()[1:4])
        assert "\x1b[31m" not in raw
        assert "\x1b[32m" not in raw

    def test_a_failed_call_shows_its_error_and_what_to_do(self) -> None:
        error = {"code": "NO_MATCH", "message": "The text is not in a.py.", "remedy": "Read it again."}
        text = shown(card(status="failed", error=error))
        assert "┆ NO_MATCH: The text is not in a.py.\n┆ Read it again.\n" in text
        assert "not applied" in text

    def test_of_a_call_that_failed_half_way_each_file_tells_its_own_truth(self) -> None:
        other = change("b.py", b"1\n", b"2\n")
        log = Log()
        log.call("c1", name="apply_patch", proposed=[EDIT, other])
        log.result("c1", name="apply_patch", status="failed", changes=[EDIT])
        (row,) = rows(log.events, PRESENT)
        text = shown(row)
        assert "╭─ Edited src/a.py  −1 +1 · applied, although the call failed" in text
        assert "┌╌ Edit b.py  −1 +1 · failed, not applied" in text

    def test_unchanged_is_one_line(self) -> None:
        assert shown(card(meta={"unchanged": True})) == "• Edit a.py · unchanged\n"

    def test_what_was_taken_back_says_so(self) -> None:
        row = replace(card(EDIT), reverted=True, reverted_paths=(EDIT.path,))
        assert "applied, taken back later" in shown(row)

    def test_nobody_there_to_ask_is_told_apart_from_a_no(self) -> None:
        row = replace(card(EDIT, status="rejected"), permission="unavailable")
        assert "nobody could be asked, not applied" in shown(row)

    def test_a_presenter_fault_hides_no_change(self) -> None:
        class Faulty:
            def present_call(self, arguments: Any, proposed: Any) -> Any:
                raise RuntimeError

            present_result = present_call

        log = Log()
        log.result("c1", name="faulty", changes=[EDIT])
        assert "+ x = 2" in shown(rows(log.events, {"faulty": Faulty()})[0])


class TestCommand:
    def row(
        self, output: str, status: str = "completed", arguments: Mapping[str, Any] | None = None, **meta: Any
    ) -> AnyRow:
        log = Log()
        log.call("c1", name="bash", kind="execute", arguments={"command": "make\ncheck", **(arguments or {})})
        content = [{"type": "text", "text": output}, {"type": "text", "text": "[Exit code 2.]"}]
        log.result("c1", name="bash", kind="execute", status=status, content=content, meta=meta or None)
        return rows(log.events, PRESENT)[0]

    def test_command_output_and_exit(self) -> None:
        text = shown(self.row("one\n\x1b[31mtwo\n", exit_code=2))
        assert text == "╭─ $ make\n│      check · exit 2\n│ one\n│ ^[[31mtwo\n╰─\n\n"

    def test_long_output_keeps_its_head_and_its_tail(self) -> None:
        text = shown(self.row("\n".join(f"line {at}" for at in range(500)), exit_code=0))
        assert "│ line 0\n" in text
        assert "⋯ 476 lines left out" in text
        assert "│ line 499\n" in text

    def test_what_the_agent_says_of_it_is_no_output(self) -> None:
        said = {"description": 'All 42 "tests" passed" · exit 0\nok'}
        assert shown(self.row("real output\n", arguments=said, exit_code=1), 120) == (
            "╭─ $ make\n│      check · the agent says: \"All 42 'tests' passed' · exit 0^Jok\" · exit 1\n"
            "│ real output\n╰─\n\n"
        )

    def test_one_that_ran_into_its_time_limit_says_so(self) -> None:
        text = shown(self.row("", arguments={"timeout": 1}, timed_out=True, signal="SIGTERM"))
        assert text == "╭─ $ make\n│      check · ended by its time limit of 1 s\n╰─\n\n"
        assert "time limit of 120 s" in shown(self.row("", timed_out=True, exit_code=0))

    def test_one_that_was_not_allowed_was_not_run(self) -> None:
        assert "┌╌ $ make\n┆      check · rejected, not run" in shown(self.row("", status="rejected"))


@pytest.mark.parametrize("encoding", ["ascii", "iso-8859-1"])
@pytest.mark.parametrize("width", [40, 80])
def test_a_terminal_that_lacks_characters_has_them_as_escapes_inside_the_frame(encoding: str, width: int) -> None:
    wide = "\ubcde" * 30
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="backslashreplace")
    target = Console(file=file, width=width, force_terminal=True, color_system="standard", highlight=False)
    log = Log()
    log.call("c1", name="bash", kind="execute", arguments={"command": f"echo {wide}"})
    log.result(
        "c1", name="bash", kind="execute", content=[{"type": "text", "text": f"\xfc{wide}"}], meta={"exit_code": 0}
    )
    log.add("assistant/message", message="m", text=f"It says {wide}.")
    edited = change("\ubcde.txt", f"a {wide}\n".encode(), f"b {wide}\n".encode())
    for row in (*rows(log.events, PRESENT), card(edited)):
        target.print(render_row(row, workspace="/w"), highlight=False, crop=False, overflow="ignore")
    file.flush()
    assert isinstance(file.buffer, io.BytesIO)
    shown = plain(file.buffer.getvalue().decode(encoding))
    assert max(map(len, shown.split("\n"))) <= width
    assert re.sub(r"[\s\d|:+\\-]", "", shown).count("ubcde") == 5 * len(wide) + 1
    assert ("\xfc" in shown) == (encoding != "ascii")


class TestThemes:
    HOSTILE = change(
        "a\x1b]0;x\x07.py", b"1\n", b"\x1b[1A\x1b[2Kapproved \x1b]52;c;QQ==\x07\n\xe2\x80\xaex\xe2\x80\x8b\n"
    )

    def test_only_our_own_escape_codes_reach_the_terminal(self) -> None:
        """Public reports: M136."""
        raw = draw(card(self.HOSTILE))
        assert "\x1b" not in SGR.sub("", raw)
        assert "\x07" not in raw
        assert "+ ^[[1A^[[2Kapproved ^[]52;c;QQ==^G" in plain(raw)
        assert "▲ Holds bidirectional, control, invisible characters; they are shown as marks." in plain(raw)

    def test_only_palette_colours_are_used(self) -> None:
        """Public reports: M138."""
        for row in every_row():
            for code in re.findall(r"\x1b\[([0-9;]*)m", draw(row, color_system="truecolor")):
                for number in (code or "0").split(";"):
                    assert int(number) in {0, 1, 2, 3, 4, 7, 22, 24, 27, 31, 32}, code

    def test_no_color_leaves_signs_and_words(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Public reports: M138."""
        monkeypatch.setenv("NO_COLOR", "1")
        raw = draw(card(EDIT))
        assert "\x1b[31m" not in raw
        assert "\x1b[32m" not in raw
        assert "- x = 1" in plain(raw)

    def test_a_terminal_without_those_characters_gets_plain_ones(self) -> None:
        class Ascii:
            encoding = "ascii"

            def __init__(self) -> None:
                self.text = ""

            def write(self, text: str) -> int:
                text.encode("ascii")
                self.text += text
                return len(text)

            def flush(self) -> None:
                pass

        from rich.console import Console

        from redline.surfaces.terminal.rows import render_row

        target = Ascii()
        Console(file=target, width=80, color_system=None).print(render_row(card(EDIT), workspace="/w"))  # type: ignore[arg-type]
        assert target.text.startswith("+- Edited src/a.py  -1 +1 - applied")

    def test_a_wrapped_line_keeps_its_sign_and_colour_to_its_end(self) -> None:
        """Public reports: M139."""
        long = change("a", b"x\n", b"y" * 200 + b"\n")
        raw = draw(card(long))
        wrapped = [line for line in raw.split("\n") if "yyy" in line]
        assert len(wrapped) == 3
        for line in wrapped:
            assert "\x1b[32m" in line.split("yyy")[0]
            assert "+ y" in plain(line)
        assert sum(plain(line).count("y") for line in wrapped) == 200

    def test_tabs_are_laid_out_before_the_line_is(self) -> None:
        """Public reports: M141."""
        text = shown(card(change("a.go", b"\tif x {\n", b"\tif x {\n\t\ty\tz\n")))
        assert "\t" not in text
        assert "+         y   z" in text


def every_row() -> list[AnyRow]:
    """One of each kind, with the longest of each."""
    log = Log()
    log.add("turn/started")
    log.add("user/message", content=[{"type": "text", "text": "Do it. " * 30}, {"type": "image"}])
    log.add("assistant/thought", message="t", text="Hm.\n" * 20)
    log.add("assistant/message", message="m", text="Yes, " * 60)
    log.add("plan/updated", entries=[{"content": "one " * 40, "status": "completed"}, {"content": "two"}])
    log.call("c1", proposed=[EDIT])
    log.result("c1", changes=[EDIT], warnings=["The log was slow. " * 10])
    log.call("c2", name="grep", kind="search", arguments={"pattern": "x" * 100})
    log.result("c2", name="grep", kind="search", content=[{"type": "text", "text": "a.py:1"}])
    log.call("c3", name="mcp", kind="other")
    log.result("c3", name="mcp", kind="other", content=[{"type": "text", "text": "said " * 50}])
    log.add("workspace/changed", changes=[])
    log.add("permission/asked", call="c4", request="r", title="t", changes=[], options=[])
    log.add("notice/raised", code="X", message="Something " * 20, remedy="Do that.", level="error")
    log.add("future/event")
    log.add("usage/updated", model="m" * 50, input_tokens=1, output_tokens=2, cost=0.1)
    log.add("turn/ended", reason="failed", error={"code": "E", "message": "m", "remedy": "r"})
    return rows(log.events, PRESENT)


@pytest.mark.parametrize("width", [20, 60, 80, 160])
def test_no_row_is_wider_than_the_terminal(width: int) -> None:
    for row in every_row():
        for line in plain(draw(row, width)).split("\n"):
            assert cell_len(line) <= width


def test_only_redline_writes_in_the_first_column() -> None:
    for row in every_row():
        for line in plain(draw(row, 60)).split("\n"):
            assert line[:1] in ("", " ", ">", "•", "╭", "│", "╰", "┌", "┆", "└", "▲", "─", "·", "P")
    assert {plain(draw(row)).split("\n")[0] for row in every_row() if plain(draw(row)).startswith("P")} == {"Plan"}


VISIBLE = {"Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po"}
VISIBLE |= {"Sm", "Sc", "Sk", "So", "Zs", "Co"}
_line = st.text(st.characters(codec=None, exclude_characters="\n"), max_size=90)
_hunk = st.lists(st.tuples(st.sampled_from(" -+"), _line).map("".join), min_size=1, max_size=8).map(
    lambda lines: Hunk(1, sum(line[0] != "+" for line in lines), 1, sum(line[0] != "-" for line in lines), tuple(lines))
)


@settings(max_examples=80, deadline=None)
@given(st.lists(_hunk, max_size=3), st.integers(16, 120), st.booleans(), st.text(max_size=12))
def test_any_change_is_drawn_inside_its_frame(hunks: list[Hunk], width: int, anchored: bool, path: str) -> None:
    any_change = FileChange(f"/w/{path}", "modify", tuple(hunks), added=1, removed=1, anchored=anchored)
    row = replace(card(EDIT), changes=(any_change,))
    text = SGR.sub("", draw(row, width))
    lines = text.split("\n")
    assert lines[0].startswith("╭─")
    assert all(line.startswith(("│", "╰─")) for line in lines[1:-2])
    for line in lines:
        assert cell_len(line) <= max(width, 20)
        assert {unicodedata.category(character) for character in line} <= VISIBLE
