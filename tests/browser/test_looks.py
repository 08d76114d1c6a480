"""How the page looks and reads: both themes, a phone, two languages, a screen reader. Pictures are kept to look at."""

from __future__ import annotations

import re
from itertools import product
from typing import TYPE_CHECKING, Any, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from browser import shapes
from browser.conftest import PICTURES, THEMES, WIDTHS
from browser.house import Story, call, step
from redline.changes.compare import describe

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Locator, Page

    from browser.house import House
    from browser.visitor import Visitor

Theme = Literal["light", "dark"]
PANEL = "[data-part=panel]"

REPLY = """Done, in three steps:

1. the *schedule*
2. **the limits**, see `limits.json`

> Mind the fan.

```python
def is_due(bed): ...
```

| bed | due |
|---|---|
| roses | yes |
"""


@pytest.fixture(scope="module")
def tale(house: House) -> str:
    """A session with a bit of everything: what a person looks at for a minute."""
    workspace = house.workspace()
    story = Story(workspace, "Make the totals exact, and tidy up.")
    story.add("assistant/thought", message="t1", text="The sum first, because everything stands on it.")
    story.add(
        "plan/updated",
        entries=[{"content": "Make it exact", "status": "in_progress"}, {"content": "Tidy up", "status": "pending"}],
    )
    text = [{"type": "text", "text": "1→import json"}]
    for name in ("shop.py", "limits.json", "notes.md"):
        story.call("read", kind="read", arguments={"path": name}, content=text)
    story.call("edit", [shapes.edit(workspace)], arguments={"path": "shop.py"})
    story.call("write", [shapes.create(workspace, "docs/rows.txt", 12)])
    story.call("apply_patch", [shapes.edit(workspace, "one.py"), shapes.create(workspace, "two.txt", 3)])
    story.call("write", [shapes.create(workspace, "data/long.csv", 900)])
    story.call("edit", [describe(str(workspace / "auth.py"), b"a = 1\n", "a = 2\u202e\u200b\n".encode())])
    denied = {"code": "REJECTED", "message": "The user said no.", "remedy": "Ask what should be done instead."}
    story.call("edit", [shapes.edit(workspace, "rejected.py")], status="rejected", error=denied)
    missing = {"code": "NO_MATCH", "message": "The text to replace is not in shop.py.", "remedy": "Read it again."}
    story.call("edit", status="failed", error=missing)
    output = [{"type": "text", "text": "1 failed, 89 passed in 1.02s"}]
    story.call("bash", kind="execute", arguments={"command": "pytest -q"}, content=output, meta={"exit_code": 1})
    story.add("notice/raised", code="SWEEP", message="The workspace is too large to watch.", level="warning")
    story.say(REPLY)
    usage = {"input_tokens": 5210, "output_tokens": 684, "cached_tokens": 0, "cost": 0.0193}
    story.add("usage/updated", model="scripted", **usage)
    return house.written(story.end().events, workspace)


def settled(page: Page) -> None:
    """Every card in view is drawn."""
    expect(page.locator("[data-diff-part][data-drawn=true]").first).to_be_visible()
    page.wait_for_timeout(500)


def serious(page: Page, within: str = "body") -> list[str]:
    """The faults that axe calls serious or critical, with where they are."""
    found: list[dict[str, Any]] = Axe().run(page, context=within).response["violations"]
    return [
        f"{one['id']} ({one['impact']}): {node['target']} {node.get('failureSummary', '')[:300]}"
        for one in found
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"]
    ]


def luminance(of: Locator) -> float:
    """Of what lies behind an element, as it is computed; 0 black, 1 white."""
    colour = of.evaluate(
        """(element) => {
          for (let at = element; at; at = at.parentElement ?? at.getRootNode().host) {
            const colour = getComputedStyle(at).backgroundColor;
            const drawn = new OffscreenCanvas(1, 1).getContext("2d");
            drawn.fillStyle = colour;
            drawn.fillRect(0, 0, 1, 1);
            const [r, g, b, a] = drawn.getImageData(0, 0, 1, 1).data;
            if (a > 200) return [r, g, b];
          }
          return [255, 255, 255];
        }"""
    )
    red, green, blue = (one / 255 for one in colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize(("theme", "width"), list(product(THEMES, WIDTHS)))
class TestEveryLook:
    def test_has_no_serious_fault_for_assistive_technology(
        self, visit: Callable[..., Visitor], tale: str, theme: Theme, width: int
    ) -> None:
        visitor = visit(theme=theme, width=width)
        page = visitor.open(tale)
        settled(page)
        visitor.photograph(PICTURES / f"transcript-{theme}-{width}.png")
        visitor.file("shop.py").scroll_into_view_if_needed()
        settled(page)
        visitor.photograph(PICTURES / f"cards-{theme}-{width}.png")
        assert serious(page) == []
        visitor.file("shop.py").locator("[data-part=open-panel]").click()
        expect(page.locator("[data-part=panel] diffs-container")).to_be_visible()
        page.wait_for_timeout(400)
        visitor.photograph(PICTURES / f"panel-{theme}-{width}.png")
        assert serious(page, PANEL) == []
        page.locator("[data-part=style-split]").click()
        page.wait_for_timeout(400)
        visitor.photograph(PICTURES / f"split-{theme}-{width}.png")
        assert serious(page, PANEL) == []
        page.locator("[data-part=tab-files]").click()
        page.locator("[data-part=files] [data-path]").first.wait_for()
        visitor.photograph(PICTURES / f"files-{theme}-{width}.png")
        assert serious(page, PANEL) == []

    def test_of_dialogs_and_questions_has_none_either(
        self, visit: Callable[..., Visitor], house: House, theme: Theme, width: int
    ) -> None:
        workspace = house.workspace({"shop.py": shapes.CODE.decode()})
        edit = call("edit", path="shop.py", old_string="import json\n", new_string="import json\nimport os\n")
        model = house.script(
            [step("I look first.", call("read", path="shop.py")), step("Then I change it.", edit), step("Done.")]
        )
        visitor = visit(theme=theme, width=width)
        visitor.begin(workspace, model, "Import os.")
        page = visitor.page
        expect(page.locator("[data-part=permission] diffs-container")).to_be_visible()
        settled(page)
        visitor.photograph(PICTURES / f"permission-{theme}-{width}.png")
        assert serious(page) == []
        page.locator("[data-part=permission] [data-option=allow_once]").click()
        visitor.file("shop.py").locator("[data-part=undo]").click()
        expect(page.locator("[data-part=undo-preview] diffs-container")).to_be_visible()
        page.wait_for_timeout(300)
        visitor.photograph(PICTURES / f"undo-{theme}-{width}.png")
        assert serious(page, "dialog") == []
        page.locator("[data-part=undo-cancel]").click()
        if width < 600:
            page.locator("[data-part=open-sessions]").click()
            page.wait_for_timeout(400)
            visitor.photograph(PICTURES / f"sessions-{theme}-{width}.png")
            assert serious(page, "[data-part=sidebar]") == []
        for opener, dialog in (("settings", "settings-dialog"), ("new-session", "new-session-dialog")):
            page.locator(f"[data-part={opener}]").click()
            expect(page.locator(f"[data-part={dialog}]")).to_be_visible()
            page.wait_for_timeout(300)
            visitor.photograph(PICTURES / f"{opener}-{theme}-{width}.png")
            assert serious(page, "dialog") == []
            page.keyboard.press("Escape")

    def test_follows_the_theme_down_to_the_lines_of_a_diff(
        self, visit: Callable[..., Visitor], tale: str, theme: Theme, width: int
    ) -> None:
        """L132: by computed colours, so that a renamed attribute of the viewer is seen."""
        visitor = visit(theme=theme, width=width)
        page = visitor.open(tale)
        visitor.file("shop.py").scroll_into_view_if_needed()
        settled(page)
        lines = visitor.file("shop.py").locator("diffs-container [data-content] [data-line]")
        assert lines.count() == 5
        for place in (page.locator("body"), lines.first, lines.last):
            assert (luminance(place) < 0.25) == (theme == "dark")
        kinds = {
            kind: visitor.file("shop.py")
            .locator(f"diffs-container [data-content] [data-line-type=change-{kind}]")
            .first
            for kind in ("addition", "deletion")
        }
        colours = {
            kind: line.evaluate("line => getComputedStyle(line).backgroundColor") for kind, line in kinds.items()
        }
        assert colours["addition"] != colours["deletion"]

    def test_is_never_wider_than_the_window(
        self, visit: Callable[..., Visitor], tale: str, theme: Theme, width: int
    ) -> None:
        visitor = visit(theme=theme, width=width)
        page = visitor.open(tale)
        settled(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.locator("[data-part=transcript]").evaluate("e => e.scrollWidth - e.clientWidth") <= 0
        visitor.file("shop.py").locator("[data-part=open-panel]").click()
        expect(page.locator("[data-part=panel] diffs-container")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= width


class TestTheTheme:
    def test_can_be_switched_against_the_system_and_is_remembered(
        self, visit: Callable[..., Visitor], tale: str
    ) -> None:
        visitor = visit(theme="light")
        page = visitor.open(tale)
        settled(page)
        visitor.set("theme", "dark")
        line = page.locator("diffs-container [data-content] [data-line]").first
        expect(page.locator("html")).to_have_attribute("data-theme", "dark")
        assert luminance(page.locator("body")) < 0.25
        assert luminance(line) < 0.25
        page.reload()
        settled(page)
        assert luminance(page.locator("body")) < 0.25
        assert luminance(line) < 0.25


class TestTheLanguage:
    def test_is_the_browsers_and_can_be_switched(self, visit: Callable[..., Visitor], tale: str) -> None:
        visitor = visit(language="zh-CN")
        page = visitor.open(tale)
        settled(page)
        expect(page.locator("[data-part=new-session]")).to_have_text("新建会话")
        expect(page.locator("html")).to_have_attribute("lang", re.compile("^zh"))
        expect(visitor.file("rejected.py").locator("[data-part=standing]")).to_have_text("已拒绝，未应用")
        expect(visitor.file("long.csv")).to_contain_text("900 行差异")
        visitor.photograph(PICTURES / "chinese-light-1280.png")
        visitor.set("language", "en")
        expect(page.locator("[data-part=new-session]")).to_have_text("New session")
        page.reload()
        expect(page.locator("[data-part=new-session]")).to_have_text("New session")

    def test_leaves_no_sentence_of_the_other_one_on_the_page(self, visit: Callable[..., Visitor], tale: str) -> None:
        visitor = visit(language="zh-CN")
        page = visitor.open(tale)
        settled(page)
        visitor.unfold()
        ours = page.locator(
            "[data-part=standing], [data-part=status], .quiet-word, .fact, .verb, button, legend, .label > span"
        )
        words = [re.sub(r"\S+\.\w+", "", text) for text in ours.all_text_contents()]  # without the names of files
        english = [
            text
            for text in words
            if re.search(r"\b(applied|rejected|failed|done|Open|Show|Undo|Files|lines|Edit|Created|changed)\b", text)
        ]
        assert english == []


class TestAScreenReader:
    def test_hears_rows_numbers_and_what_was_added_and_removed(self, visit: Callable[..., Visitor], tale: str) -> None:
        visitor = visit()
        page = visitor.open(tale)
        file = visitor.file("shop.py")
        file.scroll_into_view_if_needed()
        settled(page)
        heard = file.locator("diffs-container").aria_snapshot()
        assert re.search(r"removed, line 10: .*return sum", heard)
        assert re.search(r"added, line 10: .*return round", heard)
        assert re.search(r"line 9: .*def total", heard)
        visitor.set("diff-view", "table")
        table = file.get_by_role("table")
        expect(table.get_by_role("row").filter(has_text="removed")).to_contain_text("return sum")
        expect(table.get_by_role("row").filter(has_text="added")).to_contain_text("return round")
        expect(table.get_by_role("columnheader")).to_have_count(4)

    def test_is_told_what_arrives(self, visit: Callable[..., Visitor], house: House) -> None:
        workspace = house.workspace()
        with house.elsewhere([step("Nothing.")], workspace=workspace) as live:
            story = Story(workspace)
            story.say("First.")
            for type_, data in story.events:
                live.append(type_, **data)
            visitor = visit()
            page = visitor.open(live.session)
            story.call("edit", [shapes.edit(workspace)], arguments={"path": "shop.py"})
            for type_, data in story.events[-2:]:
                live.append(type_, **data)
            expect(page.locator("[data-part=announcer]")).to_contain_text("shop.py")


def test_with_reduced_motion_nothing_moves(visit: Callable[..., Visitor], tale: str) -> None:
    visitor = visit()
    visitor.page.emulate_media(reduced_motion="reduce")
    page = visitor.open(tale)
    settled(page)
    file = visitor.file("shop.py")
    file.scroll_into_view_if_needed()
    file.locator("[data-part=card-toggle]").click()
    assert file.locator("[data-state=closing]").count() == 0
    expect(file.locator("diffs-container")).to_have_count(0)
