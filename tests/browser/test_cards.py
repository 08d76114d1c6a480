"""Which rows have a card, how much of it is drawn, and what it says of itself."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from browser import shapes
from browser.house import Story
from redline.changes.compare import describe, without_basis

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Locator

    from browser.house import House
    from browser.visitor import Visitor

LOOKS_LIKE_A_DIFF = "--- a/shop.py\n+++ b/shop.py\n@@ -1 +1 @@\n-import json\n+import os\n"
DENIED = {"code": "REJECTED", "message": "The user said no.", "remedy": "Ask what should be done instead."}
NOT_APPLIED = {
    "rejected": "rejected, not applied",
    "failed": "failed, not applied",
    "cancelled": "cancelled, not applied",
    "interrupted": "interrupted, not applied",
    "unknown": "outcome unknown",
}


@dataclass(frozen=True)
class Shown:
    """A session with every shape of change in it, and the calls by what they are."""

    session: str
    calls: dict[str, str]


@pytest.fixture(scope="module")
def shown(house: House) -> Shown:
    workspace = house.workspace()
    story = Story(workspace, "Show me every kind of card.")
    calls: dict[str, str] = {}
    calls["edit"] = story.call("edit", [shapes.edit(workspace)], arguments={"path": "shop.py"})
    calls["whole"] = story.call("write", [shapes.create(workspace, "whole.txt", shapes.CARD_LINES)])
    calls["long"] = story.call("write", [shapes.create(workspace, "long.txt", shapes.CARD_LINES + 1)])
    calls["short"] = story.call("write", [shapes.shortened(workspace)])
    logo = describe(str(workspace / "mark.png"), b"\x89PNG\0old", b"\x89PNG\0newer")
    calls["mixed"] = story.call("apply_patch", [shapes.edit(workspace, "beside.py"), logo])
    calls["huge"] = story.call("write", [shapes.inexact(workspace)])
    calls["many"] = story.call(
        "apply_patch",
        [
            shapes.edit(workspace, "one.py"),
            shapes.create(workspace, "two.txt", 3),
            shapes.edit(workspace, "src/three.py"),
        ],
    )
    output = [{"type": "text", "text": LOOKS_LIKE_A_DIFF}]
    command = {"command": "git diff"}
    calls["shell"] = story.call(
        "bash", kind="execute", arguments=command, content=output, meta={"exit_code": 0, "output": LOOKS_LIKE_A_DIFF}
    )
    calls["mislabelled"] = story.call("web_search", [shapes.edit(workspace, "found.py")], kind="search")
    for status in NOT_APPLIED:
        wanted = [shapes.edit(workspace, f"{status}.py")]
        calls[status] = story.call("edit", wanted, status=status, error=DENIED if status == "rejected" else None)
    both = [shapes.edit(workspace, "landed.py"), shapes.edit(workspace, "never.py")]
    calls["half"] = story.call("apply_patch", both, ended=False)
    error = {"code": "PERMISSION", "message": "never.py cannot be written.", "remedy": "Change its permissions."}
    story.add(
        "tool/result", call=calls["half"], name="apply_patch", kind="edit", status="failed", content=[], error=error,
        changes=[_logged(both[0])],
    )  # fmt: skip
    calls["unchanged"] = story.call("write", arguments={"path": "same.txt"}, meta={"unchanged": True})
    calls["binary"] = story.call("write", [describe(str(workspace / "logo.png"), b"\x89PNG\0old", b"\x89PNG\0newer")])
    calls["no basis"] = story.call("write", [without_basis(str(workspace / "dump.sql"), "modify", None, None)])
    calls["moved"] = story.call(
        "move", [describe(str(workspace / "new/name.py"), shapes.CODE, shapes.CODE, old_path=str(workspace / "old.py"))]
    )
    calls["deleted"] = story.call("delete", [describe(str(workspace / "gone.py"), shapes.CODE, None)])
    calls["line ends"] = story.call("edit", [describe(str(workspace / "dos.txt"), b"a\r\nb\r\n", b"a\nb\n")])
    calls["executable"] = story.call(
        "edit", [describe(str(workspace / "run.sh"), b"#!/bin/sh\n", b"#!/bin/sh\n", after_executable=True)]
    )
    story.add(
        "workspace/changed", changes=[_logged(replace(shapes.edit(workspace, "formatted.py"), provenance="observed"))]
    )
    story.say("That is all.")
    story.end()
    return Shown(house.written(story.events, workspace), calls)


def _logged(change: object) -> dict[str, object]:
    from redline.changes.codec import to_json

    return to_json(change)  # type: ignore[arg-type]


@pytest.fixture
def visitor(visit: Callable[..., Visitor], shown: Shown) -> Visitor:
    visitor = visit()
    visitor.open(shown.session)
    # All of it: every row of the session, none folded away.
    expect(visitor.page.locator('[data-row="tool:1:c1"]')).to_be_attached()
    return visitor


def counts(within: Locator) -> str:
    """`−1 +2`, as it is seen."""
    parts = within.locator("[data-part=counts] [aria-hidden]").all_text_contents()
    return " ".join(parts[:2])


class TestAnAppliedChange:
    def test_has_its_card_inside_its_row_below_the_label(self, visitor: Visitor, shown: Shown) -> None:
        row = visitor.row(shown.calls["edit"])
        row.scroll_into_view_if_needed()
        card = row.locator("[data-card]")
        expect(card).to_have_attribute("data-standing", "applied")
        expect(card.locator("diffs-container")).to_contain_text('round(sum(item["price"]')
        label, box = row.locator(".tool-line").bounding_box(), card.bounding_box()
        assert label is not None
        assert box is not None
        assert label["y"] + label["height"] <= box["y"]
        assert counts(card) == "−1 +1"

    def test_of_four_hundred_diff_lines_is_drawn_whole(self, visitor: Visitor) -> None:
        file = visitor.file("whole.txt")
        expect(file).to_have_attribute("data-form", "full")
        file.scroll_into_view_if_needed()
        expect(file.locator("diffs-container")).to_contain_text("row 0")
        expect(file.locator("diffs-container")).to_contain_text("row 399")

    def test_of_one_line_more_is_a_chip_that_opens_the_details(self, visitor: Visitor) -> None:
        file = visitor.file("long.txt")
        expect(file).to_have_attribute("data-form", "summary")
        assert counts(file) == "−0 +401"
        expect(file).to_contain_text("401 diff lines")
        assert visitor.viewers(file) == 0
        file.locator("[data-part=card-details]").click()
        panel = visitor.page.locator("[data-part=panel]")
        expect(panel.locator("diffs-container").first).to_contain_text("row 0")
        panel.locator("[data-diff-part]").last.scroll_into_view_if_needed()
        expect(panel.locator("diffs-container").last).to_contain_text("row 400")

    def test_that_was_shortened_is_a_chip_with_the_totals_of_the_whole(self, visitor: Visitor) -> None:
        file = visitor.file("short.txt")
        expect(file).to_have_attribute("data-form", "summary")
        assert counts(file) == "−0 +9,000"
        expect(file).to_contain_text("shortened")

    def test_that_cannot_be_counted_makes_the_sum_a_lower_bound(self, visitor: Visitor, shown: Shown) -> None:
        head = visitor.row(shown.calls["mixed"]).locator("[data-card] > [data-part=card-head]")
        assert counts(head) == "≥−1 ≥+1"
        expect(head.locator("[data-part=counts]")).to_contain_text("at least")

    def test_too_large_to_compare_is_counted_about(self, visitor: Visitor) -> None:
        assert counts(visitor.file("huge.txt")) == "≈−30 ≈+30"
        expect(visitor.file("huge.txt").locator("[data-part=counts]")).to_contain_text("about")

    def test_of_several_files_is_one_card_with_a_row_a_file_and_totals(self, visitor: Visitor, shown: Shown) -> None:
        row = visitor.row(shown.calls["many"])
        expect(row.locator("[data-card]")).to_have_count(1)
        head = row.locator("[data-card] > [data-part=card-head]")
        expect(head).to_contain_text("3 files")
        assert counts(head) == "−2 +5"
        names = row.locator("[data-part=file-name]").all_text_contents()
        assert names == ["one.py", "two.txt", "src/three.py"]

    def test_found_by_no_call_has_a_card_of_its_own(self, visitor: Visitor) -> None:
        row = visitor.page.locator("[data-kind=found]")
        expect(row).to_contain_text("Found on disk")
        expect(row.locator("[data-card] [data-file]")).to_contain_text("formatted.py")


class TestEvidence:
    """A card is made from the record alone."""

    def test_a_shell_call_whose_text_looks_like_a_diff_has_no_card(self, visitor: Visitor, shown: Shown) -> None:
        for _ in ("at first", "reloaded"):
            visitor.unfold()
            row = visitor.row(shown.calls["shell"])
            expect(row).to_have_attribute("data-status", "completed")
            expect(row.locator("[data-card], [data-part=diff], diffs-container")).to_have_count(0)
            visitor.page.reload()
            visitor.page.locator("[data-part=transcript] [data-row]").first.wait_for()
        visitor.unfold()
        visitor.row(shown.calls["shell"]).locator("[data-part=details-toggle]").click()
        expect(visitor.row(shown.calls["shell"])).to_contain_text("+++ b/shop.py")

    def test_a_mislabelled_edit_has_one(self, visitor: Visitor, shown: Shown) -> None:
        card = visitor.row(shown.calls["mislabelled"]).locator("[data-card]")
        expect(card).to_have_attribute("data-standing", "applied")
        expect(card.locator("[data-file]")).to_contain_text("found.py")


class TestWhatIsNotOnDisk:
    @pytest.mark.parametrize(("status", "words"), NOT_APPLIED.items())
    def test_is_readable_and_says_what_it_is(self, visitor: Visitor, shown: Shown, status: str, words: str) -> None:
        """D49, Q173."""
        for _ in ("at first", "reloaded"):
            row = visitor.row(shown.calls[status])
            expect(row).to_have_attribute("data-status", status)
            file = row.locator("[data-card] [data-file]")
            expect(file).to_have_attribute("data-standing", status)
            expect(file.locator("[data-part=standing]")).to_have_text(words)
            expect(file.locator(".verb")).to_have_text("Edit")
            file.scroll_into_view_if_needed()
            expect(file.locator("diffs-container")).to_contain_text('round(sum(item["price"]')
            visitor.page.reload()
            visitor.page.locator("[data-part=transcript] [data-row]").first.wait_for()

    def test_is_not_counted(self, visitor: Visitor, shown: Shown) -> None:
        net = visitor.page.locator("[data-part=net]")
        more = net.locator("[data-part=more-chips]")
        more.click()
        names = {
            one.rpartition("/")[2]
            for one in net.locator("[data-path]").evaluate_all("all => all.map(one => one.dataset.path)")
        }
        assert {"shop.py", "landed.py", "formatted.py"} <= names
        assert not names & {f"{status}.py" for status in NOT_APPLIED}
        assert "never.py" not in names

    def test_a_call_that_failed_half_way_shows_what_landed_and_what_did_not(
        self, visitor: Visitor, shown: Shown
    ) -> None:
        """G78, Q175."""
        row = visitor.row(shown.calls["half"])
        expect(row).to_have_attribute("data-status", "failed")
        expect(row.locator('[data-file$="/landed.py"]')).to_have_attribute("data-standing", "landed")
        expect(row.locator('[data-file$="/never.py"]')).to_have_attribute("data-standing", "failed")
        expect(row.locator("[data-part=problem]")).to_contain_text("never.py cannot be written.")
        expect(row.locator("[data-part=problem]")).to_contain_text("Change its permissions.")

    def test_what_changed_nothing_has_no_card_and_says_so(self, visitor: Visitor, shown: Shown) -> None:
        """Q174."""
        visitor.unfold()
        row = visitor.row(shown.calls["unchanged"])
        expect(row.locator("[data-part=note]")).to_contain_text(re.compile("unchanged", re.IGNORECASE))
        expect(row.locator("[data-card]")).to_have_count(0)


class TestWithoutLines:
    def test_a_binary_change_tells_its_sizes(self, visitor: Visitor) -> None:
        expect(visitor.file("logo.png")).to_contain_text("Binary: 8 bytes, now 10 bytes")

    def test_a_file_without_a_text_basis_never_pretends_to_be_new(self, visitor: Visitor) -> None:
        file = visitor.file("dump.sql")
        expect(file).to_contain_text("No text to compare")
        expect(file.locator(".verb")).to_have_text("Edited")

    def test_a_move_names_both_paths(self, visitor: Visitor) -> None:
        expect(visitor.file("name.py").locator("[data-part=file-name]")).to_have_text("old.py → new/name.py")

    def test_line_ends_and_the_executable_bit_are_named(self, visitor: Visitor) -> None:
        expect(visitor.file("dos.txt")).to_contain_text("line ends changed from CRLF to LF")
        expect(visitor.file("run.sh")).to_contain_text("made executable")


class TestTheSettingOfNewCards:
    def test_summary_starts_them_as_one_line_and_none_as_a_bare_one(self, visitor: Visitor) -> None:
        file = visitor.file("shop.py")
        expect(file).to_have_attribute("data-open", "true")
        visitor.set("cards", "summary")
        expect(file).to_have_attribute("data-open", "false")
        assert counts(file) == "−1 +1"
        visitor.set("cards", "none")
        expect(file).to_have_class(re.compile("file-bare"))
        assert counts(file) == "−1 +1"
        visitor.set("cards", "full")
        expect(file).to_have_attribute("data-open", "true")

    def test_a_card_that_was_folded_by_hand_stays_so_under_any_setting(self, visitor: Visitor) -> None:
        file = visitor.file("shop.py")
        file.locator("[data-part=card-toggle]").click()
        expect(file).to_have_attribute("data-open", "false")
        visitor.set("cards", "summary")
        visitor.set("cards", "full")
        expect(file).to_have_attribute("data-open", "false")
        expect(visitor.file("found.py")).to_have_attribute("data-open", "true")
