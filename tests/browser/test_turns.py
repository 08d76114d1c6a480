"""From an empty page to an approved change, live, reloaded, from another process, and over a lost connection."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from browser import shapes
from browser.house import House, Server, Story, call, step
from browser.visitor import LOST, TRANSCRIPT, Visitor
from redline.changes.codec import to_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser, Page

CODE = shapes.CODE.decode()
EDIT = call("edit", path="shop.py", old_string="import json\n", new_string="import json\nimport os\n")
READ = call("read", path="shop.py")


def allow(page: Page, option: str = "allow_once") -> None:
    page.locator(f"[data-part=permission][data-outcome=open] [data-option={option}]").click()


class TestSomebodyNew:
    def test_starts_a_session_reads_a_proposed_change_approves_it_and_finds_all_of_it_after_a_reload(
        self, visit: Callable[..., Visitor], house: House
    ) -> None:
        workspace = house.workspace({"shop.py": CODE})
        model = house.script([step("I look first.", READ), step("Then I **change** it.", EDIT), step("It is done.")])
        visitor = visit()
        page = visitor.page
        page.locator("[data-part=new-session]").click()
        dialog = page.get_by_role("dialog")
        dialog.locator("[data-part=agent]").select_option("builtin")
        dialog.locator("[data-part=model]").fill(model)
        dialog.locator("[data-part=folder]").fill(str(workspace))
        dialog.locator("[data-part=start-session]").click()
        expect(dialog).to_have_count(0)
        expect(page.locator("[data-part=prompt]")).to_be_focused()
        visitor.prompt("Import os.")

        question = page.locator("[data-part=permission]")
        expect(question.locator("diffs-container")).to_contain_text("import os")
        diff, button = (
            question.locator("diffs-container").bounding_box(),
            question.get_by_role("button", name="Allow").first.bounding_box(),
        )
        assert diff is not None
        assert button is not None
        assert diff["y"] + diff["height"] <= button["y"], "the whole change stands before the buttons"
        assert (workspace / "shop.py").read_text() == CODE
        allow(page)

        expect(visitor.file("shop.py")).to_have_attribute("data-standing", "applied")
        assert "import os" in (workspace / "shop.py").read_text()
        expect(page.get_by_text("It is done.")).to_be_visible()
        expect(page.locator("[data-part=net] [data-part=net-chip]")).to_contain_text("shop.py")
        seen = _seen(page)
        page.reload()
        page.locator("[data-part=net-chip]").wait_for()
        assert _seen(page) == seen
        expect(page.locator("[data-part=session-list] [aria-current=page]")).to_contain_text("Import os.")

    def test_is_told_what_to_do_where_a_session_cannot_begin(self, visit: Callable[..., Visitor], house: House) -> None:
        visitor = visit(expect="status of 4")
        page = visitor.page
        page.locator("[data-part=new-session]").click()
        dialog = page.get_by_role("dialog")
        dialog.locator("[data-part=folder]").fill("/nowhere/at/all")
        dialog.locator("[data-part=model]").fill("script:/nowhere.json")
        dialog.locator("[data-part=start-session]").click()
        expect(dialog.locator("[data-part=problem]")).to_contain_text("is not a folder")
        expect(dialog.locator("[data-part=problem]")).to_contain_text("Name one that exists.")

    def test_may_paste_more_than_a_browser_can_lay_out(self, visit: Callable[..., Visitor], house: House) -> None:
        visitor = visit()
        visitor.open_empty(visitor.begin(house.workspace(), house.script([step("Read.")])))
        page = visitor.page
        box, held = page.locator("[data-part=prompt]"), page.locator("[data-part=held]")
        box.fill("Sum this up.")
        page.evaluate("navigator.clipboard.writeText('漢'.repeat(1_200_000))")
        box.press("Control+v")
        expect(held).to_contain_text("1,200,000 characters")
        expect(box).to_have_value("Sum this up.")
        box.press("Enter")
        expect(page.locator("[data-part=problem]")).to_have_attribute("data-code", "TOO_LONG")
        held.get_by_role("button").click()
        expect(held).to_have_count(0)
        page.evaluate("navigator.clipboard.writeText('漢'.repeat(300_000))")
        box.press("Control+v")
        expect(held).to_contain_text("300,000 characters")
        box.press("Enter")
        expect(page.locator("[data-kind=user]")).to_contain_text("Sum this up.")
        expect(page.locator("[data-kind=user]")).to_contain_text("漢漢漢")
        expect(box).to_have_value("")
        expect(held).to_have_count(0)
        expect(page.locator("[data-kind=agent]")).to_contain_text("Read.")


def _seen(page: Page) -> list[tuple[str, str]]:
    """Each row with what a reader sees of it, times aside."""
    rows = page.locator(f"{TRANSCRIPT} [data-row]").all()
    return [(row.get_attribute("data-row") or "", row.inner_text()) for row in rows]


class TestPermissions:
    def test_say_how_many_changes_in_how_many_files_and_show_all_of_them(
        self, visit: Callable[..., Visitor], house: House
    ) -> None:
        """D41."""
        workspace = house.workspace({"shop.py": CODE, "other.py": CODE})
        patch = "".join(
            f"--- a/{name}\n+++ b/{name}\n@@ -1,3 +1,4 @@\n import json\n+import {name[0]}\n \n \n"
            for name in ("shop.py", "other.py")
        )
        model = house.script(
            [step("", READ, call("read", path="other.py")), step("", call("apply_patch", patch=patch)), step("Done.")]
        )
        visitor = visit()
        visitor.begin(workspace, model, "Patch both.")
        page = visitor.page
        question = page.locator("[data-part=permission]")
        expect(question.locator("[data-part=permission-count]")).to_have_text("2 changes in 2 files")
        expect(question.locator("[data-file]")).to_have_count(2)
        expect(question.locator("diffs-container")).to_have_count(2)
        expect(question.locator("diffs-container").nth(0)).to_contain_text("import s")
        expect(question.locator("diffs-container").nth(1)).to_contain_text("import o")
        allow(page)
        expect(visitor.file("other.py")).to_have_attribute("data-standing", "applied")

    def test_show_a_long_change_whole_before_it_can_be_allowed(
        self, visit: Callable[..., Visitor], house: House
    ) -> None:
        """D46: over the bound of a card, every line is still there to be read."""
        workspace = house.workspace()
        content = "".join(f"row {number}\n" for number in range(1200))
        model = house.script([step("", call("write", path="rows.txt", content=content)), step("Done.")])
        visitor = visit()
        visitor.begin(workspace, model, "Write rows.")
        page = visitor.page
        question = page.locator("[data-part=permission]")
        expect(question.locator("[data-option=allow_once]")).to_be_enabled()
        parts = question.locator("[data-diff-part]")
        for part, line in ((parts.first, "row 0"), (parts.last, "row 1199")):
            part.scroll_into_view_if_needed()
            expect(part.locator("diffs-container")).to_contain_text(line)
        middle = question.get_by_text("row 600", exact=True)
        for part in parts.all():
            part.scroll_into_view_if_needed()
            expect(part.locator("diffs-container")).to_have_count(1)
            if middle.count() > 0:
                break
        expect(middle).to_be_visible()
        page.locator("[data-part=permission] [data-option=reject]").click()
        expect(page.locator("[data-row][data-kind=tool]")).to_have_attribute("data-status", "rejected")
        assert not (workspace / "rows.txt").exists()

    def test_ask_again_where_the_file_changed_meanwhile(self, visit: Callable[..., Visitor], house: House) -> None:
        """H87."""
        workspace = house.workspace({"shop.py": CODE})
        model = house.script([step("", READ), step("", EDIT), step("Done.")])
        visitor = visit()
        visitor.begin(workspace, model, "Import os.")
        page = visitor.page
        page.locator("[data-part=permission][data-outcome=open]").wait_for()
        (workspace / "shop.py").write_text(CODE.replace("def total", "def sum_up"))
        allow(page)
        expect(page.locator("[data-part=permission]")).to_have_count(2)
        second = page.locator("[data-part=permission][data-outcome=open]")
        expect(second).to_have_count(1)
        expect(second.locator("[data-part=asked-again]")).to_contain_text("changed since it was allowed")
        first = page.locator("[data-part=permission][data-outcome=allow_once]")
        expect(first).to_contain_text("asked again")
        assert "import os" not in (workspace / "shop.py").read_text()
        allow(page)
        expect(visitor.file("shop.py")).to_have_attribute("data-standing", "applied")
        after = (workspace / "shop.py").read_text()
        assert "import os" in after
        assert "def sum_up" in after

    def test_answered_in_one_window_settle_in_every_other(self, visit: Callable[..., Visitor], house: House) -> None:
        workspace = house.workspace({"shop.py": CODE})
        model = house.script([step("", READ), step("", EDIT), step("Done.")])
        first, second = visit(), visit()
        session = first.begin(workspace, model, "Import os.")
        second.open(session)
        expect(second.page.locator("[data-part=permission][data-outcome=open] [data-option=reject]")).to_be_visible()
        first.page.locator("[data-part=permission] [data-option=reject]").click()
        for visitor in (first, second):
            question = visitor.page.locator("[data-part=permission]")
            expect(question).to_have_attribute("data-outcome", "reject")
            expect(question.get_by_role("button", name="Allow")).to_have_count(0)
            expect(visitor.page.locator("[data-row][data-status=rejected] [data-file]")).to_have_attribute(
                "data-standing", "rejected"
            )
        assert (workspace / "shop.py").read_text() == CODE

    def test_are_withdrawn_when_the_user_writes_on(self, visit: Callable[..., Visitor], house: House) -> None:
        """D48."""
        workspace = house.workspace({"shop.py": CODE})
        model = house.script([step("", READ), step("", EDIT), step("Done.")], [step("Something else.")])
        visitor = visit()
        visitor.begin(workspace, model, "Import os.")
        page = visitor.page
        page.locator("[data-part=permission][data-outcome=open]").wait_for()
        visitor.prompt("Leave that. Do something else.")
        expect(page.get_by_text("Something else.", exact=True)).to_be_visible()
        expect(page.locator("[data-part=permission]")).to_have_attribute("data-outcome", "cancelled")
        expect(page.locator("[data-file$='/shop.py']").first).not_to_have_attribute("data-standing", "applied")
        expect(page.locator("[data-part=net]")).to_have_count(0)
        assert (workspace / "shop.py").read_text() == CODE

    def test_of_a_command_show_the_command(self, visit: Callable[..., Visitor], house: House) -> None:
        workspace = house.workspace()
        model = house.script([step("", call("bash", command="echo one > two.txt")), step("Done.")])
        visitor = visit()
        visitor.begin(workspace, model, "Run it.")
        page = visitor.page
        expect(page.locator("[data-part=permission]")).to_contain_text("echo one > two.txt")
        assert not (workspace / "two.txt").exists()
        allow(page)
        expect(visitor.file("two.txt")).to_have_attribute("data-standing", "applied")

    @pytest.mark.parametrize("width", [1280, 390])
    def test_of_a_command_of_many_lines_show_all_of_them_above_the_buttons(
        self, visit: Callable[..., Visitor], house: House, width: int
    ) -> None:
        workspace = house.workspace()
        command = "\n".join(["set -e", *[f"echo line {number}" for number in range(40)], "rm -rf build"])
        model = house.script([step("", call("bash", command=command)), step("Done.")])
        visitor = visit(width=width)
        visitor.begin(workspace, model, "Run it.")
        question = visitor.page.locator("[data-part=permission]")
        whole = question.locator("[data-part=whole-title]")
        expect(whole).to_be_visible()
        assert whole.inner_text() == command
        shown, button = whole.bounding_box(), question.locator("[data-option=allow_once]").bounding_box()
        assert shown is not None
        assert button is not None
        assert shown["y"] + shown["height"] <= button["y"]
        assert shown["height"] < 500, "it scrolls by itself, so the buttons stay near"
        allow(visitor.page)
        expect(question).to_have_attribute("data-outcome", "allow_once")
        expect(question).to_contain_text("set -e …")
        expect(visitor.page.locator("[data-part=prompt]")).to_be_focused()


class TestTheListOfSessions:
    def test_says_which_session_runs_and_which_waits_for_an_answer(
        self, visit: Callable[..., Visitor], house: House
    ) -> None:
        visitor = visit()
        page = visitor.page
        steps = [step("", READ), step("", EDIT), step("Done.")]
        asks = visitor.begin(house.workspace({"shop.py": CODE}), house.script(steps), "Edit.")
        page.locator("[data-part=permission][data-outcome=open]").wait_for()
        talks = visitor.begin(house.workspace(), house.script([step("word " * 2000)], delay=0.05, piece=5), "Talk.")
        visitor.open_empty(asks)
        entry = page.locator("[data-part=session-list] a")
        asking, running = (entry.and_(page.locator(f'[data-session="{one}"]')) for one in (asks, talks))
        expect(asking).to_contain_text("waiting for your answer")
        expect(running).to_contain_text("running")
        page.locator("[data-part=permission] [data-option=reject]").click()
        expect(asking).not_to_contain_text("waiting")
        expect(asking).not_to_contain_text("running")
        visitor.ask("POST", f"/api/sessions/{talks}/cancel")
        expect(running).not_to_contain_text("running")

    def test_makes_the_page_no_taller_than_its_window(self, visit: Callable[..., Visitor], house: House) -> None:
        for _ in range(25):
            story = Story(house.workspace())
            story.call("edit", [shapes.edit(story.workspace)])
            house.written(story.end().events, story.workspace)
        visitor = visit()
        expect(visitor.page.locator("[data-part=session-list] a").nth(24)).to_be_attached()
        assert visitor.page.evaluate("document.documentElement.scrollHeight <= innerHeight")


class TestARunningTurn:
    def test_can_be_stopped_and_ends_as_stopped(self, visit: Callable[..., Visitor], house: House) -> None:
        workspace = house.workspace()
        model = house.script([step("word " * 2000)], delay=0.05, piece=5)
        visitor = visit()
        visitor.begin(workspace, model, "Talk.")
        page = visitor.page
        expect(page.locator("[data-kind=agent]")).to_contain_text("word word")
        page.locator("[data-part=stop]").click()
        expect(page.locator("[data-reason=cancelled]")).to_contain_text("Stopped")
        expect(page.locator("[data-part=stop]")).to_have_count(0)

    def test_reloaded_half_way_shows_what_there_is_and_goes_on(
        self, visit: Callable[..., Visitor], house: House
    ) -> None:
        """E54: two cards at once, then three and four live."""
        workspace = house.workspace({f"{name}.py": CODE for name in "abcd"})
        visitor = visit()
        page = visitor.page
        edits = [
            call("edit", path=f"{name}.py", old_string="json", new_string="toml", replace_all=True) for name in "abcd"
        ]
        reads = [call("read", path=f"{name}.py") for name in "abcd"]
        model = house.script([step("", *reads), *[step("", edit) for edit in edits], step("Done.")])
        session = visitor.begin(workspace, model, "Four edits.")
        for name in "ab":
            allow(page)
            expect(visitor.file(f"{name}.py")).to_have_attribute("data-standing", "applied")
        page.locator("[data-part=permission][data-outcome=open]").wait_for()
        page.reload()
        for name in "ab":
            expect(visitor.file(f"{name}.py")).to_have_attribute("data-standing", "applied")
        for name in "cd":
            allow(page)
            expect(visitor.file(f"{name}.py")).to_have_attribute("data-standing", "applied")
        expect(page.get_by_text("Done.", exact=True)).to_be_visible()
        expect(page.locator(f"{TRANSCRIPT} [data-standing=applied][data-file]")).to_have_count(4)
        assert session in page.url

    def test_that_fails_says_what_to_do_and_the_next_prompt_goes_on(
        self, visit: Callable[..., Visitor], house: House
    ) -> None:
        model = house.script([step("One moment", error="The provider is overloaded.")], [step("Here I am again.")])
        visitor = visit()
        visitor.begin(house.workspace(), model, "Hello.")
        page = visitor.page
        expect(page.locator("[data-reason=failed] [data-part=problem]")).to_contain_text("The provider is overloaded.")
        visitor.prompt("Again.")
        expect(page.get_by_text("Here I am again.")).to_be_visible()

    def test_does_not_open_or_scroll_anything_by_itself(self, visit: Callable[..., Visitor], house: House) -> None:
        """C40: the reader is somewhere else, and stays there."""
        workspace = house.workspace({"shop.py": CODE})
        with house.elsewhere([step("Nothing.")], workspace=workspace) as live:
            story = Story(workspace)
            for number in range(15):
                story.call("edit", [shapes.edit(workspace, f"file_{number}.py")])
            for type_, data in story.events:
                live.append(type_, **data)
            visitor = visit()
            page = visitor.open(live.session)
            expect(visitor.file("file_14.py")).to_be_attached()
            head = visitor.file("file_2.py").locator("[data-part=card-toggle]")
            head.scroll_into_view_if_needed()
            page.wait_for_timeout(400)
            before = head.bounding_box()
            locations = [{"path": str(workspace / f"file_{number}.py"), "line": 3} for number in range(12)]
            live.append(
                "tool/call", turn=1, call="x1", name="", kind="search", title="Twelve places", arguments={}, proposed=[]
            )
            live.append("tool/update", turn=1, call="x1", locations=locations, status="in_progress")
            expect(page.locator("[data-part=to-end]")).to_contain_text("1 new row")
            assert head.bounding_box() == before
            expect(page.locator("[data-part=panel]")).to_have_count(0)


class TestAnotherProcess:
    def test_is_there_by_itself_and_can_be_read_not_steered(self, visit: Callable[..., Visitor], house: House) -> None:
        workspace = house.workspace({"shop.py": CODE})
        visitor = visit()
        page = visitor.page
        page.locator("[data-part=session-list]").wait_for()
        turn = [step("", READ), step("", EDIT), step("Done elsewhere.")]
        with house.elsewhere(turn, workspace=workspace) as live:
            live.begin("Import os.")
            link = page.locator(f"[data-session='{live.session}']")
            link.wait_for()
            link.click()
            expect(page.get_by_text("Done elsewhere.")).to_be_visible()
            expect(visitor.file("shop.py")).to_have_attribute("data-standing", "applied")
            expect(page.locator("[data-part=prompt]")).to_be_disabled()
            expect(page.locator("[data-part=composer]")).to_contain_text("runs in another Redline process")
        # Over there it has ended: now it can be taken up here.
        expect(page.locator("[data-part=prompt]")).to_be_enabled()


@pytest.fixture(scope="module")
def fragile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    folder = tmp_path_factory.mktemp("lost")
    (folder / "data").mkdir()
    house = House(folder, Server(folder / "data"))
    yield house
    house.close()


@pytest.fixture
def served(fragile: House) -> House:
    """A house whose server may be killed without anybody else being there."""
    if not fragile.server.is_running:
        fragile.server.start()
    return fragile


class TestALostConnection:
    def test_shows_comes_back_by_itself_and_doubles_nothing(self, browser: Browser, served: House) -> None:
        """E53: three cards, the server is killed, one more card, the server is back: four cards."""
        workspace = served.workspace()
        with served.elsewhere([step("Nothing.")], workspace=workspace) as live:
            story = Story(workspace)
            for name in "abc":
                story.call("edit", [shapes.edit(workspace, f"{name}.py")])
            for type_, data in story.events:
                live.append(type_, **data)
            visitor = Visitor(browser, served.server, expect=LOST.pattern)
            page = visitor.open(live.session)
            cards = page.locator(f"{TRANSCRIPT} [data-card]")
            expect(cards).to_have_count(3)
            expect(page.locator("[data-drawn=true]").first).to_be_visible()

            served.server.kill()
            expect(page.locator("[data-part=banner]")).to_be_visible()
            story.call("edit", [shapes.edit(workspace, "d.py")])
            for type_, data in story.events[-2:]:
                live.append(type_, **data)
            expect(cards).to_have_count(3)

            served.server.start()
            expect(page.locator("[data-part=banner]")).to_have_count(0, timeout=20_000)
            expect(visitor.file("d.py")).to_be_attached()
            expect(cards).to_have_count(4)
            ids = page.locator("[data-row]").evaluate_all("rows => rows.map(row => row.dataset.row)")
            assert len(ids) == len(set(ids))
            visitor.leave()
            assert visitor.complaints == []

    def test_ctrl_c_ends_the_server_also_while_windows_are_open(self, browser: Browser, served: House) -> None:
        visitor = Visitor(browser, served.server, expect=LOST.pattern)
        visitor.page.locator("[data-part=session-list]").wait_for()
        assert served.server.stop() == 0
        expect(visitor.page.locator("[data-part=banner]")).to_be_visible()
        visitor.leave()
        assert visitor.complaints == []


class TestARestartOfTheServer:
    def test_brings_every_row_back_as_it_was(self, browser: Browser, served: House) -> None:
        """E51: an edit, a write, a failed and a rejected edit."""
        workspace = served.workspace({"shop.py": CODE})
        wanted = call("edit", path="shop.py", old_string="def load", new_string="def read")
        turn = [
            step("I look first.", READ),
            step("", EDIT),
            step("", call("write", path="new.py", content="x = 1\n")),
            step("", call("edit", path="shop.py", old_string="not there", new_string="x")),
            step("", wanted),
            step("**Done.**"),
        ]
        visitor = Visitor(browser, served.server, expect=LOST.pattern)
        session = visitor.begin(workspace, served.script(turn), "All kinds.")
        page = visitor.page
        for option in ("allow_once", "allow_once", "reject"):
            allow(page, option)
        page.locator("[data-reason=completed]").wait_for()
        visitor.unfold()
        statuses = page.locator("[data-kind=tool]").evaluate_all("all => all.map(one => one.dataset.status)")
        assert statuses == ["completed", "applied", "applied", "failed", "rejected"]
        seen = _seen(page)
        served.server.kill()
        served.server.start()
        page.reload()
        page.locator("[data-reason=completed]").wait_for()
        visitor.unfold()
        assert _seen(page) == seen
        assert session in page.url
        visitor.leave()
        assert visitor.complaints == []


class TestWhatTheLogDoesNotSay:
    def test_a_call_of_which_only_the_end_was_stored_is_a_row_with_its_card(
        self, visit: Callable[..., Visitor], house: House
    ) -> None:
        """E52."""
        workspace = house.workspace()
        story = Story(workspace)
        change = to_json(shapes.edit(workspace))
        end = {"name": "edit", "kind": "edit", "status": "completed", "content": [], "changes": [change]}
        story.add("tool/result", call="orphan", **end)
        visitor = visit()
        visitor.open(house.written(story.end().events, workspace))
        expect(visitor.row("orphan")).to_have_attribute("data-status", "applied")
        expect(visitor.file("shop.py")).to_have_attribute("data-standing", "applied")
        expect(visitor.row("orphan").locator("[data-part=tool-title]")).not_to_be_empty()


class TestAPreview:
    def test_of_a_file_with_crlf_is_what_is_then_written(self, visit: Callable[..., Visitor], house: House) -> None:
        """D42."""
        workspace = house.workspace({"dos.txt": b"a\r\nb\r\n"})
        edit = call("edit", path="dos.txt", old_string="a\nb\n", new_string="a\nB\n")
        visitor = visit()
        visitor.begin(
            workspace, house.script([step("", call("read", path="dos.txt")), step("", edit), step("Done.")]), "Go."
        )
        page = visitor.page
        question = page.locator("[data-part=permission]")
        expect(question.locator("diffs-container")).to_contain_text("B")
        allow(page)
        expect(visitor.file("dos.txt")).to_have_attribute("data-standing", "applied")
        assert (workspace / "dos.txt").read_bytes() == b"a\r\nB\r\n"

    def test_that_cannot_be_built_is_an_error_and_not_a_denial(
        self, visit: Callable[..., Visitor], house: House
    ) -> None:
        """D45: the same edit twice."""
        workspace = house.workspace({"shop.py": CODE})
        edit = call("edit", path="shop.py", old_string="def load", new_string="def read")
        visitor = visit()
        visitor.begin(workspace, house.script([step("", READ), step("", edit), step("", edit), step("Done.")]), "Go.")
        page = visitor.page
        allow(page)
        expect(page.get_by_text("Done.", exact=True)).to_be_visible()
        expect(page.locator("[data-part=permission]")).to_have_count(1)
        failed = page.locator("[data-kind=tool][data-status=failed]")
        expect(failed.locator("[data-part=problem]")).to_contain_text("NO_MATCH")
        expect(page.locator("[data-status=rejected]")).to_have_count(0)

    def test_of_a_new_file_and_its_card_are_the_whole_file(self, visit: Callable[..., Visitor], house: House) -> None:
        """Q178."""
        workspace = house.workspace()
        write = call("write", path="new.py", content="one\ntwo\n")
        visitor = visit()
        visitor.begin(workspace, house.script([step("", write), step("Done.")]), "Go.")
        page = visitor.page
        expect(page.locator("[data-part=permission] diffs-container")).to_contain_text("two")
        allow(page)
        file = visitor.file("new.py")
        expect(file).to_have_attribute("data-standing", "applied")
        expect(file.locator("diffs-container")).to_contain_text("one")
        expect(file.locator("[data-part=counts]").first).to_contain_text("2 added")


class TestWhatACrashLeft:
    def test_is_closed_as_interrupted_when_the_session_goes_on(
        self, visit: Callable[..., Visitor], house: House
    ) -> None:
        """E57, P172: a call without an end of an earlier turn does not stay pending."""
        workspace = house.workspace({"shop.py": CODE})
        story = Story(workspace)
        story.call("edit", [shapes.edit(workspace)], ended=False)
        model = house.script([step("Before.")], [step("Going on.")])
        session = house.written(story.events, workspace, model)
        visitor = visit()
        visitor.open(session)
        page = visitor.page
        expect(page.locator("[data-kind=tool]")).not_to_have_attribute("data-status", "applied")
        visitor.prompt("Go on.")
        expect(page.locator("[data-kind=tool]").first).to_have_attribute("data-status", "interrupted")
        expect(visitor.file("shop.py")).to_have_attribute("data-standing", "interrupted")
