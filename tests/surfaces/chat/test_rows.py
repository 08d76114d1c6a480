"""Parts made from rows: what a chat says of each kind of row, and of questions."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from eventmaker import WORKSPACE, Log, change
from redline.changes.compare import without_basis
from redline.changes.record import FileChange
from redline.changes.shorten import shortened
from redline.surfaces.chat import cards
from redline.surfaces.chat.cards import Setting, Shown
from redline.surfaces.chat.paginate import paginate
from redline.surfaces.chat.parts import Buttons, File, Message, Part, Text, Verbatim
from redline.surfaces.chat.question import question
from redline.surfaces.chat.rows import TurnParts, plan, reply
from redline.tools.builtin import builtin_toolset
from redline.tools.permission import PermissionRequest
from redline.transcript.fold import rows
from redline.transcript.rows import PlanRow
from surfaces.chat.readback import PLATFORMS, Platform, rejoined

PRESENT = builtin_toolset().by_name
HERE = Setting(workspace=WORKSPACE)
EDIT = change("src/a.py", b"x = 1\ny = 1\n", b"x = 2\ny = 1\n")


def made(log: Log, setting: Setting = HERE) -> list[Part]:
    turn = TurnParts(setting)
    for row in rows(log.events, PRESENT):
        turn.add(row)
    return turn.parts


def card(*changes: FileChange, status: str = "completed", setting: Setting = HERE, **result: Any) -> list[Part]:
    log = Log()
    log.call("c1", proposed=changes)
    log.result("c1", status=status, changes=changes if status == "completed" else [], **result)
    return made(log, setting)


def said(parts: list[Part]) -> str:
    return "\n".join(f"{getattr(part, 'head', '')}\n{getattr(part, 'text', '')}".strip("\n") for part in parts)


class TestCards:
    def test_head_and_lines(self) -> None:
        (part,) = card(EDIT)
        assert part == Verbatim(
            "@@ -1,2 +1,2 @@\n-x = 1\n+x = 2\n y = 1",
            head="Edited src/a.py  \u22121 +1 · applied",
            label="src/a.py",
        )

    @pytest.mark.parametrize(
        ("of", "head"),
        [
            (change("n.py", None, b"1\n"), "Created n.py  \u22120 +1 · applied"),
            (change("n.py", b"1\n", None), "Deleted n.py  \u22121 +0 · applied"),
            (change("n.py", b"1\n", b"1\n", old_path="o.py"), "Moved o.py → n.py · applied"),
            (replace(EDIT, exact=False), "Edited src/a.py  ≈\u22121 ≈+1 · applied"),
            (change("b.bin", b"\x00", b"\x00\x01"), "Edited b.bin · binary file · applied"),
            (replace(EDIT, redacted=True), "Edited src/a.py  \u22121 +1 · secrets masked · applied"),
        ],
        ids=["created", "deleted", "moved", "bounds", "binary", "masked"],
    )
    def test_what_happened_stands_in_the_head(self, of: FileChange, head: str) -> None:
        assert head in said(card(of))

    def test_one_without_lines_says_why(self) -> None:
        unknown = without_basis(f"{WORKSPACE}/big", "modify", EDIT.before, EDIT.after)
        assert "No text to compare" in said(card(unknown))

    def test_blank_context_lines_are_kept(self) -> None:
        """Public reports: N153."""
        before = b"a\n\n\nb\n\n\nc\n"
        (part,) = card(change("a", before, before.replace(b"b", b"B")))
        assert isinstance(part, Verbatim)
        assert part.text.split("\n")[1:] == [" a", " ", " ", "-b", "+B", " ", " ", " c"]

    def test_hidden_characters_are_seen_and_named(self) -> None:
        """Public reports: L135, M136."""
        text = said(card(change("a", b"", "\x1b[1A\x1b[2Kapproved\x1b]52;c;QQ==\x07 admin\u202e\n".encode())))
        assert "+^[[1A^[[2Kapproved^[]52;c;QQ==^G admin<U+202E>" in text
        assert "Holds bidirectional, control characters" in text
        assert "\x1b" not in text

    def test_tabs_and_indentation_stay_plain(self) -> None:
        """Public reports: N154."""
        (part,) = card(change("a.go", b"", b"\tif x {\n    y\n"))
        assert isinstance(part, Verbatim)
        assert "+\tif x {\n+    y" in part.text
        assert "\u00a0" not in part.text

    def test_a_path_is_no_markup_and_no_escape(self) -> None:
        text = said(card(change("a\x1b[2J\n\u202e`*b*`.py", b"", b"1\n")))
        assert "a^[[2J^J<U+202E>`*b*`.py" in text

    def test_what_is_too_long_is_a_head_and_the_whole_file(self) -> None:
        large = change("a.py", None, b"".join(b"line %d\n" % n for n in range(2000)))
        head, summary, file = card(large)
        assert isinstance(head, Text)
        assert isinstance(file, File)
        assert "2000 lines in 1 place" in said([summary])
        assert file.name == "a.py.diff"
        assert file.content.startswith(
            b"diff --git a/a.py b/a.py\nnew file mode 100644\n--- /dev/null\n+++ b/a.py\n@@ -0,0 +1,2000 @@\n+line 0\n"
        )

    @pytest.mark.parametrize("shown", ["full", "summary"])
    def test_many_small_changes_do_not_flood_a_thread(self, shown: Shown) -> None:
        log = Log()
        for number in range(1000):
            log.call(f"c{number}")
            log.result(f"c{number}", changes=[change(f"{number}.py", None, b"x\n")])
        log.add("turn/ended", reason="completed")
        parts = made(log, replace(HERE, shown=shown))
        assert sum(len(part.text) for part in parts if not isinstance(part, (File, Buttons))) < 1.5 * HERE.turn_limit
        heads = re.findall(r"^Created (\d+)\.py", said(parts), re.MULTILINE)
        files = b"".join(part.content for part in parts if isinstance(part, File)).decode()
        filed = re.findall(r"^\+\+\+ b/(\d+)\.py", files, re.MULTILINE)
        assert heads[0] == "0"
        assert len([part for part in parts if isinstance(part, File)]) == (1 if shown == "summary" else len(filed))
        assert {*heads, *filed} == {str(number) for number in range(1000)}, "each change is there"
        assert said(parts).count("All further changes of this turn are too many for messages.") == 1
        assert f"And {1000 - len(heads)} more changes, too many for messages.\nTurn 1 done" in said(parts)

    @pytest.mark.parametrize("status", ["rejected", "failed"])
    def test_many_changes_that_are_not_applied_do_not_flood_it_and_their_files_say_so(self, status: str) -> None:
        log = Log()
        log.call("c1", proposed=[change(f"{number}.py", None, b"x\n") for number in range(1000)])
        log.result("c1", status=status)
        log.add("turn/ended", reason="completed")
        parts = made(log)
        assert len(said(parts)) < 1.5 * HERE.turn_limit
        for part in parts:
            if isinstance(part, File):
                assert re.match(rb"# \d+\.py: .*not applied", part.content)
        heads = said(parts).count("Create ")
        assert f"And {1000 - heads} more that were not applied;" in said(parts)

    def test_a_turn_has_a_limit_too(self) -> None:
        log = Log()
        for number in range(9):
            log.call(f"c{number}")
            log.result(f"c{number}", changes=[change(f"{number}.py", b"", b"x" * 90 + b"\n")])
        parts = made(log, replace(HERE, turn_limit=400))
        assert sum(isinstance(part, Verbatim) for part in parts) == 3, "heads count, too"
        assert sum(isinstance(part, File) for part in parts) == 6
        merged = cards.merged([part for part in parts if isinstance(part, File)])
        assert merged.content.count(b"\n+++ b/") == 6

    def test_a_file_of_a_change_that_the_log_cut_does_not_claim_to_be_all_of_it(self) -> None:
        long = shortened(change("a.py", b"", b"".join(b"%d\n" % n for n in range(9000))), 40_000)
        assert "too long for a message; the log keeps a part of it only." in said(card(long))
        assert "all of it" not in said(card(long))

    def test_hidden_characters_are_named_above_a_file_too(self) -> None:
        assert "Holds bidirectional characters" in said(card(change("a", b"", "\u202e\n".encode() * 4000)))

    def test_git_takes_the_file_and_passes_over_what_is_not_whole(self, tmp_path: Path) -> None:
        masked = replace(change("secret.txt", b"a\n", b"b\n"), redacted=True)
        moved = change("n é.py", b"1\n2\n", b"1\n3\n", old_path="o.py")
        changes = [change("a.py", b"x\n", b"y\n"), masked, moved, change("new.py", None, b"1")]
        for name, text in (("a.py", "x\n"), ("secret.txt", "a\n"), ("o.py", "1\n2\n")):
            (tmp_path / name).write_text(text)
        file = cards.diff_file(changes, HERE)
        subprocess.run(["git", "apply", "-"], input=file.content, cwd=tmp_path, check=True)
        assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
            "a.py": "y\n", "secret.txt": "a\n", "n é.py": "1\n3\n", "new.py": "1",
        }  # fmt: skip
        assert b"# secret.txt: secrets are masked\n" in file.content
        assert b"# -a\n# +b\n" in file.content

    def test_summary_and_none(self) -> None:
        assert card(EDIT, setting=replace(HERE, shown="summary")) == [
            Text("Edited src/a.py  \u22121 +1 · applied", "strong")
        ]
        assert card(EDIT, setting=replace(HERE, shown="none")) == []

    def test_a_record_that_the_log_cut_says_so(self) -> None:
        long = change("a.py", b"", b"".join(b"%d\n" % n for n in range(100)))
        assert said(card(shortened(long, 300))).endswith("\\ diff truncated")


class TestTruth:
    @pytest.mark.parametrize("status", ["failed", "rejected", "cancelled", "interrupted", "unknown"])
    def test_what_did_not_happen_never_looks_applied(self, status: str) -> None:
        text = said(card(EDIT, status=status, error={"code": "STALE", "message": "it changed", "remedy": "read it"}))
        head = text.split("\n")[0]
        assert head.startswith("Edit src/a.py")
        assert "applied" in head
        assert "· applied" not in head
        assert "STALE: it changed\nread it" in text

    def test_a_failed_edit_stays_readable(self) -> None:
        assert "-x = 1\n+x = 2" in said(card(EDIT, status="failed"))

    def test_a_call_that_failed_after_a_part_of_it_landed_shows_that_part_as_applied(self) -> None:
        log = Log()
        log.call("c1", proposed=[EDIT, change("b.py", b"1\n", b"2\n")])
        log.result("c1", status="failed", changes=[EDIT], error={"code": "IO", "message": "full", "remedy": ""})
        text = said(made(log))
        assert "Edited src/a.py  \u22121 +1 · applied, although the call failed" in text
        assert "Edit b.py  \u22121 +1 · failed, not applied" in text

    def test_a_command_that_went_wrong_shows_its_last_lines(self) -> None:
        log = Log()
        log.call("c1", "bash", "execute", arguments={"command": "make"}, proposed=[])
        log.result(
            "c1", name="bash", kind="execute", meta={"exit_code": 2, "output": "1\n" * 50 + "boom \x1b[31m\n"},
            content=[{"type": "text", "text": "1\n" * 50 + "boom \x1b[31m\n"}],
        )  # fmt: skip
        assert "make" in said(made(log))

    def test_a_plan_stands_at_the_end_of_a_running_turn_only(self) -> None:
        log = Log()
        log.add(
            "plan/updated", entries=[{"content": "look", "status": "completed"}, {"content": "do", "status": "pending"}]
        )
        (row,) = rows(log.events, PRESENT)
        assert isinstance(row, PlanRow)
        assert made(log) == []
        assert plan(row) == Text("Plan\n✓ look\n○ do")

    def test_the_net_list_closes_the_turn(self) -> None:
        log = Log()
        log.add("turn/started", source="slack", rule="cards_only")
        log.call("c1")
        log.result("c1", changes=[EDIT, change("b.py", None, b"1\n2\n")])
        log.add("turn/ended", reason="completed")
        assert said(made(log)).endswith(
            "Turn 1 done · 2 files \u22121 +3\n• b.py  \u22120 +2  created\n• src/a.py  \u22121 +1"
        )

    def test_what_the_turn_used_stands_at_its_end(self) -> None:
        log = Log()
        log.add("turn/started", source="slack", rule="cards_only")
        log.add("usage/updated", model="openai:x", input_tokens=1200, output_tokens=30, cost=0.5)
        log.add("turn/ended", reason="completed")
        assert said(made(log)).endswith("1,200 tokens in, 30 out · $0.5000 · openai:x")

    def test_a_diff_that_the_model_writes_again_is_folded_only_if_a_card_shows_it(self) -> None:
        text = (
            "Done:\n```diff\n--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n```\nand\n```diff\n+no\n```"
        )
        parts = reply(text, [EDIT], WORKSPACE)
        assert "x = 2" not in said(parts)
        assert Verbatim("+no", label="The block") in parts
        assert "x = 2" in said(reply(text, [], WORKSPACE))


class TestReplies:
    def test_code_blocks_are_blocks_and_all_else_is_text(self) -> None:
        parts = reply("*See* <@U1>\n\n````python\nprint('```')\n````\nend", [], WORKSPACE)
        assert parts == [
            Text("*See* <@U1>", "reply"),
            Verbatim("print('```')", label="The block", language="python"),
            Text("end", "reply"),
        ]

    def test_a_block_that_is_still_written_is_a_block(self) -> None:
        assert reply("```sh\nmake", [], "")[-1] == Verbatim("make", label="The block", language="sh")

    @pytest.mark.parametrize("platform", PLATFORMS, ids=lambda one: one.name)
    def test_a_reply_with_an_over_long_block_arrives_in_parts_with_its_blank_lines(self, platform: Platform) -> None:
        """Public reports: N147, N153."""
        block = "\n".join(["", *(f"{n} ``` & <b>\n" for n in range(4000)), "x" * 5000, ""])
        parts = reply(f"Before.\n```\n{block}\n```\nAfter.", [], "")
        messages = [page for page in paginate(parts, platform.measure) if isinstance(page, Message)]
        assert len(messages) > 1
        assert all(platform.size(message) <= platform.limit for message in messages)
        assert rejoined(messages, platform) == block.strip("\n")
        assert platform.read(messages[-1])[-1] == ("prose", "After.")


def _request(*changes: FileChange, **more: Any) -> PermissionRequest:
    given = {"paths": [change.path for change in changes], **more}
    return PermissionRequest(1, "c1", "edit", "Edit the files", changes, **given)


class TestQuestions:
    @pytest.mark.parametrize("platform", PLATFORMS, ids=lambda one: one.name)
    def test_every_change_is_readable_before_the_buttons(self, platform: Platform) -> None:
        """Public reports: D41."""
        asked = _request(EDIT, change("b.py", b"1\n", b"2\n"), change("src/a.py", b"tail\n", b"end\n"))
        parts = question(asked, HERE, "token")
        pages = paginate(parts, platform.measure)
        text = said(parts)
        assert "3 changes in 2 files:" in text
        for line in ("-x = 1", "-1\n+2", "-tail\n+end"):
            assert line in text
        assert isinstance(pages[-1], Message)
        assert isinstance(pages[-1].pieces[-1], Buttons)
        assert sum(isinstance(part, Buttons) for part in parts) == 1

    @pytest.mark.parametrize("platform", PLATFORMS, ids=lambda one: one.name)
    def test_a_thousand_changes_are_all_there_before_the_buttons_in_few_messages(self, platform: Platform) -> None:
        many = [change(f"{number}.py", None, b"x = %d\n" % number) for number in range(999)]
        parts = question(_request(*many, change("z.py", None, "x\u202e\n".encode())), HERE, "token")
        pages = paginate(parts, platform.measure)
        (file,) = [page for page in pages if isinstance(page, File)]
        assert pages.index(file) < len(pages) - 1
        shown = said(parts) + file.content.decode()
        assert all(f"+x = {number}\n" in shown for number in range(999))
        assert "1000 changes in 1000 files:" in said(parts)
        assert "▲ Holds bidirectional characters" in said(parts)
        size = sum(len(part.text) for part in parts if isinstance(part, Text | Verbatim))
        assert size < 1.5 * HERE.turn_limit

    @pytest.mark.parametrize("lines", [40, 300, 5000])
    @pytest.mark.parametrize("platform", PLATFORMS, ids=lambda one: one.name)
    def test_the_whole_diff_is_there_before_allow_and_a_cut_is_stated(self, platform: Platform, lines: int) -> None:
        """Public reports: D46."""
        of = change("a.py", b"", b"".join(b"line %d\n" % n for n in range(lines)))
        pages = paginate(question(_request(of), HERE, "token"), platform.measure)
        messages = [page for page in pages if isinstance(page, Message)]
        files = [page for page in pages if isinstance(page, File)]
        if files:
            assert files[0].content.decode().count("\n+line ") == lines
            assert pages.index(files[0]) < len(pages) - 1
            assert f"{lines} lines in 1 place, too long for a message." in repr(messages)
        else:
            assert rejoined(messages, platform) == cards.hunk_text(of)

    def test_without_a_preview_that_is_said_and_plain_allow_is_not_offered(self) -> None:
        """Public reports: D42."""
        asked = _request(paths=["/w/a.py"], note="The preview failed: NO_MATCH.", allow_session=False)
        parts = question(asked, HERE, "token")
        assert "There is no preview of what would happen to a.py." in said(parts)
        assert "The preview failed: NO_MATCH." in said(parts)
        (buttons,) = [part for part in parts if isinstance(part, Buttons)]
        assert [choice.name for choice in buttons.choices] == ["Allow once without a preview", "Reject"]

    def test_a_command_stands_whole_before_the_buttons(self) -> None:
        command = "rm -rf build\n" + "echo \x1b[2K'approved'\n" * 80
        parts = question(_request(paths=[], arguments={"command": command}), HERE, "token")
        assert "rm -rf build\necho ^[[2K'approved'" in said(parts)
        assert said(parts).count("approved") == 80

    def test_the_setting_of_a_chat_does_not_hide_what_is_asked(self) -> None:
        for shown in ("summary", "none"):
            parts = question(_request(EDIT), replace(HERE, shown=shown), "token")  # type: ignore[arg-type]
            assert "-x = 1\n+x = 2" in said(parts)
