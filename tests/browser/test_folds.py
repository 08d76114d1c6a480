"""What folds, what never hides, what is remembered; and how many diff viewers that costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from browser import shapes
from browser.house import Story, step
from redline.changes.codec import to_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Locator

    from browser.house import House
    from browser.visitor import Visitor

CARDS = 30
SELECTED = "(viewer) => viewer.shadowRoot.getSelection().toString()"


@dataclass(frozen=True)
class Shown:
    session: str
    calls: list[str]


@pytest.fixture(scope="module")
def many(house: House) -> Shown:
    """Thirty cards, one under the other."""
    workspace = house.workspace()
    story = Story(workspace, "Change thirty files.")
    calls = [story.call("edit", [shapes.edit(workspace, f"file_{number}.py")]) for number in range(CARDS)]
    story.end()
    return Shown(house.written(story.events, workspace), calls)


@pytest.fixture(scope="module")
def steps(house: House) -> Shown:
    """A turn of steps between which there are things that must not hide."""
    workspace = house.workspace()
    story = Story(workspace, "Work through it.")
    story.add("assistant/thought", message="t1", text="Hm, where to begin?")
    text = [{"type": "text", "text": "1→import json"}]
    calls = [story.call("read", kind="read", arguments={"path": f"{name}.py"}, content=text) for name in "abc"]
    calls.append(story.call("edit", [shapes.edit(workspace)]))
    calls.append(story.call("read", kind="read", arguments={"path": "d.py"}, content=text))
    missing = {"code": "NO_MATCH", "message": "The text is not there.", "remedy": "Read the file again."}
    calls.append(story.call("edit", status="failed", error=missing))
    calls.append(story.call("bash", kind="execute", arguments={"command": "true"}, meta={"exit_code": 0}))
    asked = story.call("bash", kind="execute", arguments={"command": "rm -r build"}, ended=False)
    options = [{"id": "allow_once", "kind": "allow_once", "name": "Allow"}]
    story.add("permission/asked", call=asked, request="r1", title="$ rm -r build", changes=[], options=options)
    story.add("permission/answered", call=asked, request="r1", outcome="reject", by="terminal")
    error = {"code": "REJECTED", "message": "The user said no.", "remedy": ""}
    story.add(
        "tool/result", call=asked, name="bash", kind="execute", status="rejected", content=[], changes=[], error=error
    )
    calls.append(asked)
    story.add("notice/raised", code="SWEEP", message="The workspace is too large to watch.", level="warning")
    calls.append(story.call("grep", kind="search", arguments={"pattern": "x"}))
    story.say("The conclusion.")
    story.end()
    return Shown(house.written(story.events, workspace), calls)


def top(of: Locator) -> float:
    box = of.bounding_box()
    assert box is not None
    return box["y"]


class TestACard:
    def test_folds_to_its_line_and_opens_again_and_mounts_one_viewer_while_it_is_open(
        self, visit: Callable[..., Visitor], many: Shown
    ) -> None:
        visitor = visit()
        visitor.open(many.session)
        file = visitor.file(f"file_{CARDS - 1}.py")
        expect(file.locator("diffs-container")).to_have_count(1)
        others = visitor.viewers() - 1

        file.locator("[data-part=card-toggle]").click()
        expect(file.locator("diffs-container")).to_have_count(0)
        assert file.locator(".card-head").bounding_box()["height"] < 48  # type: ignore[index]

        file.locator("[data-part=card-toggle]").click()
        expect(file.locator("diffs-container")).to_have_count(1)
        assert visitor.viewers() >= others

    def test_unmounts_its_viewer_only_when_its_closing_has_been_drawn(
        self, visit: Callable[..., Visitor], many: Shown
    ) -> None:
        visitor = visit()
        visitor.open(many.session)
        file = visitor.file(f"file_{CARDS - 1}.py")
        expect(file.locator("diffs-container")).to_have_count(1)
        seen = file.evaluate(
            """(file) => new Promise((resolve) => {
              const seen = [];
              const look = () => {
                const closing = file.querySelector('.collapse')?.dataset.state ?? 'gone';
                seen.push([closing, file.querySelectorAll('diffs-container').length]);
                closing === 'gone' ? resolve(seen) : requestAnimationFrame(look);
              };
              file.querySelector('[data-part=card-toggle]').click();
              requestAnimationFrame(look);
            })"""
        )
        assert ["closing", 1] in seen, "it was gone before its closing was drawn"
        assert ["closing", 0] not in seen
        assert seen[-1] == ["gone", 0]

    def test_that_starts_closed_mounts_nothing(self, visit: Callable[..., Visitor], many: Shown) -> None:
        visitor = visit()
        visitor.page.locator("[data-part=settings]").wait_for()
        visitor.set("cards", "summary")
        visitor.open(many.session)
        expect(visitor.file(f"file_{CARDS - 1}.py")).to_have_attribute("data-open", "false")
        assert visitor.viewers() == 0
        assert visitor.page.evaluate("window.__redline.viewers.opened") == 0
        visitor.file(f"file_{CARDS - 1}.py").locator("[data-part=card-toggle]").click()
        expect(visitor.page.locator("diffs-container")).to_have_count(1)
        assert visitor.page.evaluate("window.__redline.viewers.opened") == 1

    def test_out_of_view_holds_no_viewer(self, visit: Callable[..., Visitor], many: Shown) -> None:
        visitor = visit()
        visitor.open(many.session)
        first, last = visitor.file("file_0.py"), visitor.file(f"file_{CARDS - 1}.py")
        expect(last.locator("diffs-container")).to_have_count(1)
        expect(first).to_have_attribute("data-open", "true")
        expect(first.locator("diffs-container")).to_have_count(0)
        assert visitor.viewers() < CARDS / 2
        first.scroll_into_view_if_needed()
        expect(first.locator("diffs-container")).to_have_count(1)
        expect(last.locator("diffs-container")).to_have_count(0)

    def test_looks_the_same_after_scrolling_away_and_back(self, visit: Callable[..., Visitor], many: Shown) -> None:
        """L133."""
        visitor = visit()
        visitor.open(many.session)
        file = visitor.file("file_4.py")
        file.scroll_into_view_if_needed()
        expect(file.locator("diffs-container")).to_contain_text("round(")
        before = file.bounding_box()
        visitor.file(f"file_{CARDS - 1}.py").scroll_into_view_if_needed()
        expect(file.locator("diffs-container")).to_have_count(0)
        file.scroll_into_view_if_needed()
        expect(file.locator("diffs-container")).to_contain_text("round(")
        after = file.bounding_box()
        assert before is not None
        assert after is not None
        assert abs(before["height"] - after["height"]) < 2

    def test_keeps_what_is_selected_in_it_while_it_is_scrolled_away(
        self, visit: Callable[..., Visitor], many: Shown
    ) -> None:
        """L133."""
        visitor = visit()
        page = visitor.open(many.session)
        file = visitor.file("file_4.py")
        file.scroll_into_view_if_needed()
        box = file.locator("diffs-container").bounding_box()
        assert box is not None
        page.mouse.dblclick(box["x"] + 100, box["y"] + box["height"] - 10)
        selected = file.locator("diffs-container").evaluate(SELECTED)
        assert selected.strip()
        visitor.file(f"file_{CARDS - 1}.py").scroll_into_view_if_needed()
        page.wait_for_timeout(500)
        file.scroll_into_view_if_needed()
        expect(file.locator("diffs-container")).to_have_count(1)
        assert file.locator("diffs-container").evaluate(SELECTED) == selected


class TestAFold:
    def test_survives_new_rows_scrolling_away_and_a_reload(self, visit: Callable[..., Visitor], house: House) -> None:
        workspace = house.workspace()
        with house.elsewhere([step("Nothing.")], workspace=workspace) as live:
            live.append("turn/started", turn=1, source="terminal", rule="")
            story = Story(workspace)
            for number in range(12):
                story.call("edit", [shapes.edit(workspace, f"file_{number}.py")])
            for type_, data in story.events[1:]:
                live.append(type_, **data)
            visitor = visit()
            page = visitor.open(live.session)
            file = visitor.file("file_0.py")
            file.locator("[data-part=card-toggle]").click()
            expect(file).to_have_attribute("data-open", "false")

            story.call("edit", [shapes.edit(workspace, "later.py")])
            for type_, data in story.events[-2:]:
                live.append(type_, **data)
            expect(visitor.file("later.py")).to_be_attached()
            expect(file).to_have_attribute("data-open", "false")

            visitor.file("later.py").scroll_into_view_if_needed()
            file.scroll_into_view_if_needed()
            expect(file).to_have_attribute("data-open", "false")

            page.reload()
            expect(visitor.file("later.py")).to_be_attached()
            expect(file).to_have_attribute("data-open", "false")
            expect(visitor.file("file_1.py")).to_have_attribute("data-open", "true")

    def test_never_makes_the_page_jump(self, visit: Callable[..., Visitor], many: Shown) -> None:
        """L129: what was clicked stays under the pointer, also at the end of the transcript."""
        visitor = visit()
        page = visitor.open(many.session)
        for number in (10, CARDS - 1):
            head = visitor.file(f"file_{number}.py").locator("[data-part=card-toggle]")
            head.scroll_into_view_if_needed()
            page.wait_for_timeout(300)
            for _ in ("fold", "open"):
                before = top(head)
                head.click()
                page.wait_for_timeout(500)
                assert abs(top(head) - before) < 2

    def test_growth_above_does_not_move_what_is_read(self, visit: Callable[..., Visitor], house: House) -> None:
        """L129: a live card above grows while the reader is further down."""
        workspace = house.workspace()
        with house.elsewhere([step("Nothing.")], workspace=workspace) as live:
            story = Story(workspace)
            opened = story.call("edit", [shapes.edit(workspace, "above.py")], ended=False)
            for number in range(12):
                story.call("edit", [shapes.edit(workspace, f"file_{number}.py")])
            for type_, data in story.events:
                live.append(type_, **data)
            visitor = visit()
            page = visitor.open(live.session)
            head = visitor.file("file_6.py").locator("[data-part=card-toggle]")
            head.scroll_into_view_if_needed()
            page.wait_for_timeout(400)
            before = top(head)
            grown = to_json(shapes.create(workspace, "above.py", 60))
            end = {"name": "edit", "kind": "edit", "status": "completed", "content": [], "changes": [grown]}
            live.append("tool/result", turn=1, call=opened, **end)
            expect(visitor.row(opened)).to_have_attribute("data-status", "applied")
            page.wait_for_timeout(400)
            assert abs(top(head) - before) < 2


class TestTheStepsOfATurn:
    def test_fold_under_their_number_when_it_has_ended(self, visit: Callable[..., Visitor], steps: Shown) -> None:
        visitor = visit()
        page = visitor.open(steps.session)
        folded = page.locator("[data-part=steps]")
        expect(folded.first).to_have_attribute("data-open", "false")
        expect(folded.first).to_contain_text("3 tool calls")
        expect(visitor.row(steps.calls[0])).to_have_count(0)
        folded.first.locator("button").first.click()
        expect(visitor.row(steps.calls[0])).to_be_visible()
        page.reload()
        expect(visitor.row(steps.calls[0])).to_be_visible()

    def test_and_thoughts_are_one_line_until_they_are_opened(self, visit: Callable[..., Visitor], steps: Shown) -> None:
        visitor = visit()
        page = visitor.open(steps.session)
        visitor.unfold()
        thought = page.locator("[data-kind=thought]")
        expect(thought.locator("[data-part=markdown]")).to_have_count(0)
        thought.locator("[data-part=fold]").click()
        expect(thought.locator("[data-part=markdown]")).to_contain_text("Hm, where to begin?")

    def test_hide_no_change_permission_error_or_warning_in_either_fold(
        self, visit: Callable[..., Visitor], steps: Shown
    ) -> None:
        visitor = visit()
        page = visitor.open(steps.session)

        def all_there() -> None:
            expect(visitor.file("shop.py")).to_be_visible()
            expect(page.locator("[data-part=problem]").filter(has_text="The text is not there.")).to_be_visible()
            expect(page.locator("[data-part=permission]")).to_be_visible()
            expect(page.locator("[data-row][data-status=rejected]")).to_be_visible()
            expect(page.locator("[data-part=notice]")).to_be_visible()
            expect(page.get_by_text("The conclusion.")).to_be_visible()

        all_there()
        page.locator("[data-part=collapse-all]").click()
        expect(page.locator("[data-turn='1']")).to_have_attribute("data-collapsed", "true")
        expect(page.locator("[data-part=steps]")).to_have_count(0)
        expect(page.get_by_text("Hm, where to begin?")).to_have_count(0)
        all_there()
        page.reload()
        expect(page.locator("[data-turn='1']")).to_have_attribute("data-collapsed", "true")
        all_there()

    def test_that_the_reader_opened_stay_open_when_the_turn_goes_on(
        self, visit: Callable[..., Visitor], house: House
    ) -> None:
        workspace = house.workspace()
        with house.elsewhere([step("Nothing.")], workspace=workspace) as live:
            story = Story(workspace)
            for name in "abc":
                story.call("read", kind="read", arguments={"path": f"{name}.py"})
            for type_, data in story.events:
                live.append(type_, **data)
            visitor = visit()
            page = visitor.open(live.session)
            steps = page.locator("[data-part=steps]")
            expect(steps).to_have_attribute("data-open", "true")
            steps.locator("button").first.click()
            expect(steps).to_have_attribute("data-open", "false")
            story.call("read", kind="read", arguments={"path": "d.py"})
            for type_, data in story.events[-2:]:
                live.append(type_, **data)
            expect(steps).to_contain_text("4 tool calls")
            expect(steps).to_have_attribute("data-open", "false")
