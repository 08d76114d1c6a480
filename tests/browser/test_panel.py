"""The whole change beside the transcript: net changes, patches that apply, undo, keys, and what git says of files."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from browser import shapes
from browser.house import Story, call, step
from browser.visitor import TRANSCRIPT
from redline.changes.compare import describe

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from playwright.sync_api import Locator, Page

    from browser.house import House
    from browser.visitor import Visitor

LONG = "".join(f"value_{number} = {number}\n" for number in range(60))
TWICE = [
    call("edit", path="long.py", old_string="value_5 = 5\n", new_string="value_5 = 50\nextra = 1\n"),
    call("edit", path="long.py", old_string="value_40 = 40", new_string="value_40 = 400"),
]


def git(folder: Path, *arguments: str, patch: str | None = None) -> None:
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", *arguments]
    done = subprocess.run(
        command, cwd=folder, input=patch, capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr


def contents(folder: Path) -> Mapping[str, str]:
    return {path.name: path.read_text() for path in sorted(folder.iterdir()) if path.is_file()}


@pytest.fixture
def long(visit: Callable[..., Visitor], house: House) -> tuple[Visitor, Path]:
    """A file of sixty lines, changed in two places by two calls of one turn; a second file, created."""
    workspace = house.workspace({"long.py": LONG})
    turn = [
        step("", call("read", path="long.py")),
        *[step("", edit) for edit in TWICE],
        step("", call("write", path="new.py", content="x = 1\n")),
        step("Done."),
    ]
    visitor = visit()
    visitor.open(house.scripted(turn, workspace=workspace))
    visitor.page.locator("[data-part=net]").wait_for()
    return visitor, workspace


def counts(within: Locator) -> str:
    return " ".join(within.locator("[data-part=counts] [aria-hidden]").all_text_contents()[:2])


class TestTheNetChangesOfATurn:
    def test_go_from_the_first_state_of_each_file_to_its_last(self, long: tuple[Visitor, Path]) -> None:
        """C36, C37: the chip and what it opens come from the same two states."""
        visitor, _ = long
        net = visitor.page.locator("[data-part=net]")
        expect(net.locator(".net-head")).to_contain_text("2 files changed")
        chip = net.locator("[data-path$='/long.py']")
        assert counts(chip) == "−2 +3"
        assert counts(net.locator(".net-head")) == "−2 +4"
        assert chip.locator("[data-part=diffstat] i").count() == 5
        expect(net.locator("[data-path$='/new.py']")).to_contain_text("added")
        chip.click()
        panel = visitor.page.locator("[data-part=panel]")
        expect(panel.locator("[data-file]")).to_have_count(1)
        assert counts(panel.locator("[data-file]")) == "−2 +3"
        for line in ("value_5 = 50", "extra = 1", "value_40 = 400"):
            expect(panel.locator("diffs-container")).to_contain_text(line)

    def test_of_many_files_show_eight_and_the_way_to_the_others(
        self, visit: Callable[..., Visitor], house: House
    ) -> None:
        workspace = house.workspace()
        story = Story(workspace)
        for number in range(11):
            story.call("edit", [shapes.edit(workspace, f"file_{number}.py")])
        visitor = visit()
        page = visitor.open(house.written(story.end().events, workspace))
        net = page.locator("[data-part=net]")
        expect(net.locator("[data-part=net-chip]")).to_have_count(8)
        expect(net.locator("[data-part=more-chips]")).to_have_text("3 more")
        net.locator("[data-part=more-chips]").click()
        expect(net.locator("[data-part=net-chip]")).to_have_count(11)
        page.reload()
        expect(net.locator("[data-part=net-chip]")).to_have_count(11)

    def test_name_what_became_of_a_file_and_leave_out_what_cancels_out(
        self, visit: Callable[..., Visitor], house: House
    ) -> None:
        """G79."""
        workspace = house.workspace()
        story = Story(workspace)
        story.call("delete", [describe(str(workspace / "gone.py"), shapes.CODE, None)])
        old = str(workspace / "old.py")
        story.call("move", [describe(str(workspace / "new.py"), shapes.CODE, shapes.CODE, old_path=old)])
        story.call("write", [describe(str(workspace / "logo.png"), b"\x89PNG\0a", b"\x89PNG\0bb")])
        story.call("edit", [describe(str(workspace / "back.py"), b"a\n", b"b\n")])
        story.call("edit", [describe(str(workspace / "back.py"), b"b\n", b"a\n")])
        visitor = visit()
        page = visitor.open(house.written(story.end().events, workspace))
        net = page.locator("[data-part=net]")
        expect(net.locator("[data-path$='/gone.py']")).to_contain_text("deleted")
        expect(net.locator("[data-path$='/new.py']")).to_contain_text("renamed")
        expect(net.locator("[data-path$='/logo.png']")).to_contain_text("binary")
        expect(net.locator("[data-path$='/back.py']")).to_have_count(0)


class TestTheSidePanel:
    def test_shows_lines_between_the_hunks_where_the_bytes_are_known(self, long: tuple[Visitor, Path]) -> None:
        visitor, _ = long
        visitor.page.locator("[data-path$='/long.py']").first.click()
        diff = visitor.page.locator("[data-part=panel] diffs-container")
        expect(diff).to_contain_text("value_40 = 400")
        expect(diff).not_to_contain_text("value_20 = 20")
        diff.get_by_role("button", name="Show all").nth(1).click()
        expect(diff).to_contain_text("value_20 = 20")

    def test_shows_lines_between_the_hunks_of_a_large_change_too(
        self, visit: Callable[..., Visitor], house: House
    ) -> None:
        old = "".join(f"value_{number} = {number}\n" for number in range(1, 3001))
        new = "".join(f"value_{number} = {number * (10 if number % 25 == 0 else 1)}\n" for number in range(1, 3001))
        workspace = house.workspace({"large.py": old})
        session = house.scripted(
            [
                step("", call("read", path="large.py")),
                step("", call("write", path="large.py", content=new)),
                step("Done."),
            ],
            workspace=workspace,
        )
        visitor = visit(height=1400)
        visitor.open(session)
        page = visitor.page
        page.locator("[data-part=net-chip]").first.click()
        panel = page.locator("[data-part=panel-change]")
        parts = panel.locator("[data-diff-part]")
        third = parts.nth(2)
        third.scroll_into_view_if_needed()
        diff = third.locator("diffs-container")
        shown = diff.locator("[data-line]").first
        number = int(shown.get_attribute("data-line") or "0")
        hidden = number - 9
        expect(diff).not_to_contain_text(f"value_{hidden} = {hidden}")
        diff.get_by_role("button", name="Show all").first.click()
        line = diff.locator(f"[data-line='{hidden}']").first
        expect(line).to_contain_text(f"line {hidden}: value_{hidden} = {hidden}")

    def test_remembers_one_switch_of_split_and_unified_for_every_diff(self, long: tuple[Visitor, Path]) -> None:
        """L130."""
        visitor, _ = long
        page = visitor.page
        page.locator("[data-path$='/long.py']").first.click()
        page.locator("[data-part=style-split]").click()
        diffs = page.locator("[data-part=diff]")
        assert set(diffs.evaluate_all("all => all.map(one => one.dataset.style)")) == {"split"}
        page.reload()
        page.locator("[data-part=net]").wait_for()
        page.locator("[data-path$='/long.py']").first.click()
        expect(page.locator("[data-part=panel] [data-part=diff]")).to_have_attribute("data-style", "split")
        assert set(diffs.evaluate_all("all => all.map(one => one.dataset.style)")) == {"split"}
        page.locator("[data-part=panel]").focus()
        page.keyboard.press("s")
        expect(page.locator("[data-part=panel] [data-part=diff]")).to_have_attribute("data-style", "unified")

    def test_goes_from_change_to_change_by_keyboard(self, long: tuple[Visitor, Path]) -> None:
        visitor, _ = long
        page = visitor.page
        page.locator("[data-path$='/long.py']").first.click()
        place = page.locator("[data-part=panel] [data-part=place]")
        expect(place).to_have_text("0 of 2")
        page.keyboard.press("n")
        expect(place).to_have_text("1 of 2")
        page.keyboard.press("n")
        expect(place).to_have_text("2 of 2")
        page.keyboard.press("p")
        expect(place).to_have_text("1 of 2")
        page.keyboard.press("Escape")
        expect(page.locator("[data-part=panel]")).to_have_count(0)

    def test_remembers_what_was_viewed_until_it_changes(self, long: tuple[Visitor, Path]) -> None:
        visitor, _ = long
        page = visitor.page
        page.locator("[data-path$='/long.py']").first.click()
        file = page.locator("[data-part=panel] [data-file]")
        file.locator("[data-part=viewed]").check()
        expect(file).to_have_attribute("data-viewed", "true")
        expect(file.locator("diffs-container")).to_have_count(0)
        page.reload()
        page.locator("[data-path$='/long.py']").first.click()
        expect(file).to_have_attribute("data-viewed", "true")
        page.keyboard.press("v")
        expect(file).to_have_attribute("data-viewed", "false")
        expect(file.locator("diffs-container")).to_have_count(1)

    def test_copies_code_without_signs(self, long: tuple[Visitor, Path]) -> None:
        visitor, _ = long
        page = visitor.page
        visitor.file("new.py").locator("[data-part=open-panel]").click()
        page.locator("[data-part=copy-code]").click()
        expect(page.locator("[data-part=panel] [role=status]")).to_have_text("Copied")
        assert page.evaluate("navigator.clipboard.readText()").rstrip("\n") == "x = 1"

    def test_gives_patches_that_git_applies(self, long: tuple[Visitor, Path], tmp_path: Path) -> None:
        """Of a file of the turn, copied, and of a call, downloaded: applied to what was, they give what is."""
        visitor, workspace = long
        page = visitor.page
        (tmp_path / "long.py").write_text(LONG)
        git(tmp_path, "init", "-q")
        page.locator("[data-path$='/long.py']").first.click()
        page.locator("[data-part=copy-patch]").click()
        expect(page.locator("[data-part=panel] [role=status]")).to_have_text("Copied")
        git(tmp_path, "apply", patch=page.evaluate("navigator.clipboard.readText()"))
        assert contents(tmp_path) == {"long.py": (workspace / "long.py").read_text()}
        visitor.file("new.py").locator("[data-part=open-panel]").click()
        with page.expect_download() as download:
            page.locator("[data-part=download-patch]").click()
        git(tmp_path, "apply", str(download.value.path()))
        assert contents(tmp_path) == contents(workspace)

    def test_offers_no_patch_of_what_is_not_on_disk(self, visit: Callable[..., Visitor], house: House) -> None:
        workspace = house.workspace()
        story = Story(workspace)
        story.call("edit", [shapes.edit(workspace)], status="rejected")
        visitor = visit()
        page = visitor.open(house.written(story.end().events, workspace))
        visitor.file("shop.py").locator("[data-part=open-panel]").click()
        panel = page.locator("[data-part=panel]")
        expect(panel.locator("[data-part=standing]")).to_have_text("rejected, not applied")
        expect(panel.locator("[data-part=copy-patch], [data-part=download-patch]")).to_have_count(0)


class TestUndo:
    def test_of_a_file_says_what_it_will_do_and_then_does_that(self, long: tuple[Visitor, Path]) -> None:
        visitor, workspace = long
        page = visitor.page
        visitor.file("new.py").locator("[data-part=undo]").click()
        preview = page.locator("[data-part=undo-preview]")
        expect(preview).to_contain_text("This is what the undo would do:")
        expect(preview.locator("[data-file$='/new.py']")).to_contain_text("Delete")
        assert (workspace / "new.py").exists()
        page.locator("[data-part=undo-cancel]").click()
        assert (workspace / "new.py").exists()
        visitor.file("new.py").locator("[data-part=undo]").click()
        page.locator("[data-part=undo-confirm]").click()
        expect(visitor.file("new.py").first).to_have_attribute("data-standing", "reverted")
        expect(page.locator("[data-kind=revert] [data-file$='/new.py']")).to_be_attached()
        assert not (workspace / "new.py").exists()

    def test_of_a_hunk_leaves_the_others(self, visit: Callable[..., Visitor], house: House) -> None:
        workspace = house.workspace({"long.py": LONG})
        edits = [
            {"old_string": one["arguments"]["old_string"], "new_string": one["arguments"]["new_string"]}
            for one in TWICE
        ]
        turn = [
            step("", call("read", path="long.py")),
            step("", call("multi_edit", path="long.py", edits=edits)),
            step("Done."),
        ]
        visitor = visit()
        page = visitor.open(house.scripted(turn, workspace=workspace))
        visitor.file("long.py").locator("[data-part=undo]").click()
        page.locator("[data-part=undo-hunk]").select_option("2")
        preview = page.locator("[data-part=undo-preview] diffs-container")
        expect(preview).to_contain_text("value_40 = 400")
        expect(preview).not_to_contain_text("value_5 = 50")
        page.locator("[data-part=undo-confirm]").click()
        expect(page.locator("[data-kind=revert]")).to_be_attached()
        after = (workspace / "long.py").read_text()
        assert "value_5 = 50\n" in after
        assert "value_40 = 40\n" in after
        file = visitor.file("long.py").first
        expect(file).to_have_attribute("data-standing", "partial")
        expect(file.locator("[data-part=standing]")).to_have_text("partly undone")
        changed = (workspace / "long.py").read_text().split("\n").index("value_40 = 40") + 1
        expect(file.locator("[data-part=part-undone]")).to_have_text(f"Undone: Line {changed}: −1 +1")

    def test_of_the_turn_takes_all_of_it_back_and_can_itself_be_undone(self, long: tuple[Visitor, Path]) -> None:
        visitor, workspace = long
        page = visitor.page
        before = contents(workspace)
        page.locator("[data-part=undo-turn]").click()
        expect(page.locator("[data-part=undo-preview] [data-file]")).to_have_count(2)
        page.locator("[data-part=undo-confirm]").click()
        expect(page.locator("[data-kind=revert]")).to_have_count(1)
        expect(page.locator("[data-part=turn-undone]")).to_have_text("undone")
        expect(page.locator("[data-part=undo-turn]")).to_have_count(1)
        assert contents(workspace) == {"long.py": LONG}
        page.locator("[data-part=undo-turn]").last.click()
        page.locator("[data-part=undo-confirm]").click()
        expect(page.locator("[data-kind=revert]")).to_have_count(2)
        assert contents(workspace) == before

    def test_that_would_overwrite_what_was_changed_since_is_refused_with_the_lines(
        self, visit: Callable[..., Visitor], house: House
    ) -> None:
        workspace = house.workspace({"long.py": LONG})
        visitor = visit(expect="status of 409")
        turn = [step("", call("read", path="long.py")), step("", TWICE[1]), step("Done.")]
        page = visitor.open(house.scripted(turn, workspace=workspace))
        file = workspace / "long.py"
        file.write_text(file.read_text().replace("value_40 = 400", "value_40 = 4711"))
        visitor.file("long.py").locator("[data-part=undo]").click()
        problem = page.get_by_role("dialog").locator("[data-part=problem]")
        expect(problem).to_contain_text("value_40 = 4711")
        expect(page.locator("[data-part=undo-confirm]")).to_be_disabled()
        assert "4711" in file.read_text()


class TestTheKeyboard:
    def test_reaches_every_card_and_what_it_offers(self, long: tuple[Visitor, Path]) -> None:
        visitor, _ = long
        page = visitor.page
        page.locator("[data-part=transcript]").focus()
        page.keyboard.press("p")
        last = visitor.file("new.py")
        assert last.evaluate("file => file.contains(document.activeElement)")
        page.keyboard.press("o")
        expect(last).to_have_attribute("data-open", "false")
        page.keyboard.press("o")
        expect(last).to_have_attribute("data-open", "true")
        page.keyboard.press("d")
        expect(page.locator("[data-part=panel] [data-file$='/new.py']")).to_be_visible()
        page.keyboard.press("Escape")
        page.keyboard.press("?")
        expect(page.get_by_role("dialog")).to_contain_text("Next, previous row")
        page.keyboard.press("Escape")
        page.keyboard.press("c")
        expect(page.locator("[data-part=prompt]")).to_be_focused()
        page.keyboard.press("Escape")
        page.keyboard.press("/")
        expect(page.locator("[data-part=session-search]")).to_be_focused()

    def test_can_reach_every_button_of_a_card_by_tab(self, long: tuple[Visitor, Path]) -> None:
        visitor, _ = long
        page = visitor.page
        visitor.file("new.py").locator("[data-part=card-toggle]").focus()
        reached = []
        for _ in range(2):
            page.keyboard.press("Tab")
            reached.append(page.evaluate("document.activeElement.dataset.part"))
        assert reached == ["open-panel", "undo"]


class TestTheFilesTab:
    def test_gives_five_different_answers_and_says_whether_the_change_still_stands(
        self, visit: Callable[..., Visitor], house: House, tmp_path: Path
    ) -> None:
        workspace = house.workspace(
            {"clean.py": "a\n", "modified.py": "a\n", "edited.py": "a\n", "gone.py": "a\n", "sub/outside.py": "a\n"}
        )
        names = ["clean.py", "modified.py", "edited.py", "gone.py", "sub/outside.py"]
        reads = [call("read", path=name) for name in names]
        edits = [call("edit", path=name, old_string="a", new_string="b") for name in names]
        new = call("write", path="untracked.py", content="new\n")
        session = house.scripted([step("", *reads), step("", *edits, new), step("Done.")], workspace=workspace)
        git(workspace, "init", "-q")
        git(workspace, "add", "clean.py", "gone.py", "edited.py")
        (workspace / "modified.py").write_text("a\n")
        git(workspace, "add", "modified.py")
        git(workspace, "commit", "-qm", "first")
        (workspace / "modified.py").write_text("b\n")
        (workspace / "edited.py").write_text("c\n")
        (workspace / "gone.py").unlink()
        visitor = visit()
        page = visitor.open(session)
        page.locator("[data-part=open-files]").click()

        def says(name: str, state: str, on_disk: str) -> None:
            file = page.locator(f"[data-part=files] [data-path$='/{name}']")
            expect(file).to_have_attribute("data-git", state)
            expect(file).to_have_attribute("data-on-disk", on_disk)

        says("clean.py", "clean", "same")
        says("modified.py", "modified", "same")
        says("edited.py", "modified", "changed")
        says("gone.py", "modified", "missing")
        says("untracked.py", "untracked", "same")
        page.locator("[data-path$='/modified.py'] [data-part=touched-toggle]").click()
        expect(page.locator("[data-part=files] diffs-container")).to_contain_text("b")

        # A repository that is no longer one, and one that cannot be read.
        (workspace / ".git" / "HEAD").rename(workspace / ".git" / "HEAD.away")
        (workspace / ".git").rename(tmp_path / "git.away")
        page.locator("[data-part=look-again]").click()
        says("clean.py", "not_in_git", "same")
        (tmp_path / "git.away").rename(workspace / ".git")
        (workspace / ".git" / "HEAD.away").rename(workspace / ".git" / "HEAD")
        (workspace / ".git" / "index").write_bytes(b"DIRC\0\0\0\x02garbage")
        page.locator("[data-part=look-again]").click()
        says("clean.py", "failed", "same")
        expect(
            page.locator(
                "[data-path$='/clean.py'] ~ [data-part=problem], [data-path$='/clean.py'] [data-part=problem]"
            ).first
        ).to_be_visible()


class TestDiffFences:
    def test_are_folded_only_where_a_card_of_the_turn_says_the_same(
        self, visit: Callable[..., Visitor], house: House
    ) -> None:
        """Q177."""
        workspace = house.workspace({"a.py": "one\ntwo\n"})
        same = "```diff\n--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n-one\n+eins\n two\n```"
        more = same.replace("+eins\n two\n", "+eins\n+zwei\n two\n")
        unnamed = "```diff\n-one\n+eins\n```"
        turn = [
            step("", call("read", path="a.py")),
            step("", call("edit", path="a.py", old_string="one", new_string="eins")),
            step(f"Covered:\n\n{same}\n\nNot covered:\n\n{more}\n\nNameless:\n\n{unnamed}\n"),
        ]
        visitor = visit()
        page = visitor.open(house.scripted(turn, workspace=workspace))
        fences = page.locator(f"{TRANSCRIPT} [data-part=covered-fence]")
        expect(fences).to_have_count(1)
        expect(fences.locator("summary")).to_contain_text("This diff is on a card above.")
        expect(fences.locator("pre")).not_to_be_visible()
        expect(page.locator(".md pre").filter(has_text="+zwei")).to_be_visible()
        fences.locator("summary").click()
        expect(fences.locator("pre")).to_be_visible()


def test_the_list_of_sessions_counts_and_searches(visit: Callable[..., Visitor], house: House) -> None:
    workspace = house.workspace()
    story = Story(workspace)
    story.add("session/state", title="A very particular title")
    story.call("edit", [shapes.edit(workspace)])
    story.call("edit", [shapes.edit(workspace, "never.py")], status="rejected")
    session = house.written(story.end().events, workspace)
    visitor = visit()
    page: Page = visitor.page
    link = page.locator(f"[data-session='{session}']")
    assert counts(link) == "−1 +1"
    search = page.locator("[data-part=session-search]")
    search.fill("particular")
    expect(page.locator("[data-part=session-list] a")).to_have_count(1)
    expect(link).to_be_visible()
    search.fill("no such session at all")
    expect(page.locator("[data-part=session-list]")).to_contain_text("No session matches")
