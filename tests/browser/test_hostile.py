"""Text of a model, a file or a path is shown as text, whatever it holds: nothing runs, hides or freezes."""

from __future__ import annotations

import json
import re
import sqlite3
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from browser.house import Story, call, step
from browser.visitor import TRANSCRIPT
from redline.changes.compare import describe

if TYPE_CHECKING:
    from collections.abc import Callable

    from browser.house import House
    from browser.visitor import Visitor

TRAP = """
window.__ran = [];
for (const name of ["alert", "confirm", "prompt"]) window[name] = (what) => window.__ran.push(`${name} ${what}`);
"""
INJECTIONS = [
    "<img src=x onerror=alert(1)>",
    "<script>alert(2)</script>",
    "</script><script>alert(3)</script>",
    "<svg onload=alert(4)>",
    "<details open ontoggle=alert(5)>",
    "&lt;b&gt; &#60;img src=x onerror=alert(6)&#62;",
    '"><iframe srcdoc="<script>parent.alert(7)</script>">',
    "{{constructor.constructor('alert(8)')()}}",
]
NAME = "<img src=x onerror=alert(9)>.py"
BIDI = 'if level != "user\u202e \u2066// Check if admin\u2069 \u2066":\u200b'


@pytest.fixture
def wary(visit: Callable[..., Visitor]) -> Visitor:
    """A visitor who notices whatever runs."""
    visitor = visit()
    visitor.context.add_init_script(TRAP)
    visitor.page.reload()
    return visitor


def nothing_ran(visitor: Visitor) -> None:
    page = visitor.page
    page.wait_for_timeout(200)
    assert page.evaluate("window.__ran") == []
    marked = "img[src=x], script:not([src]), iframe, svg[onload], [onerror], [ontoggle], [onload]"
    assert page.locator(marked).count() == 0


class TestInjection:
    def test_everywhere_that_foreign_text_stands(self, wary: Visitor, house: House) -> None:
        """L125, L126."""
        workspace = house.workspace()
        nasty = "\n".join(INJECTIONS)
        story = Story(workspace, nasty)
        story.add("session/state", title=INJECTIONS[0], modes={"approval": INJECTIONS[1]})
        story.add("assistant/thought", message="t", text=nasty)
        story.say(nasty + "\n\n" + "\n\n".join(INJECTIONS))
        story.say(
            "[click](javascript:alert(10)) ![seen](http://192.0.2.1/pixel.png) <http://192.0.2.1/> `" + nasty + "`"
        )
        story.say(f"```html\n{nasty}\n```\n\n| a | b |\n|---|---|\n| {INJECTIONS[0]} | {INJECTIONS[1]} |\n")
        story.call("write", [describe(str(workspace / NAME), b"x = 1\n", nasty.encode())], arguments={"path": NAME})
        story.call(
            "bash", kind="execute", arguments={"command": nasty, "description": nasty},
            content=[{"type": "text", "text": nasty}], meta={"exit_code": 1, "output": nasty},
        )  # fmt: skip
        problem = {"code": "<b>", "message": nasty, "remedy": nasty}
        story.call("edit", status="failed", error=problem, warnings=[nasty])
        story.call(nasty, kind="other", title=nasty, arguments={nasty: nasty}, content=[{"type": nasty, "text": nasty}])
        story.add("plan/updated", entries=[{"content": one, "status": "pending"} for one in INJECTIONS])
        story.add("notice/raised", code="X", message=nasty, remedy=nasty, level="warning")
        story.add("agent/update", update={"sessionUpdate": nasty, "text": nasty})
        asked = story.call("write", [describe(str(workspace / f"b{NAME}"), None, nasty.encode())], ended=False)
        options = [{"id": "allow_once", "kind": "allow_once", "name": nasty}, {"id": nasty, "kind": "x", "name": nasty}]
        story.add("permission/asked", call=asked, request=nasty, title=nasty, changes=[], options=options)
        story.end("failed", error=problem)
        session = house.written(story.events, workspace)

        page = wary.open(session)
        wary.unfold()
        closed = page.locator("[data-part=details-toggle][aria-expanded=false], [data-part=fold][aria-expanded=false]")
        while closed.count() > 0:
            closed.first.click()
        page.wait_for_timeout(500)  # until what was opened last has been drawn
        file = wary.file(NAME)
        file.scroll_into_view_if_needed()
        expect(file.locator("[data-part=file-name]")).to_have_text(NAME)
        expect(file.locator("diffs-container")).to_contain_text("<script>alert(2)</script>")
        expect(file.locator("diffs-container")).to_contain_text("&lt;b&gt; &#60;img src=x onerror=alert(6)&#62;")
        expect(page.locator("[data-part=header] h1")).to_have_text(INJECTIONS[0])
        nothing_ran(wary)
        assert page.locator("a[href^='javascript']").count() == 0
        file.locator("[data-part=open-panel]").click()
        expect(page.locator("[data-part=panel] diffs-container")).to_contain_text("<svg onload=alert(4)>")
        page.locator("[data-part=tab-files]").click()
        page.locator("[data-part=files] [data-path]").first.wait_for()
        wary.set("diff-view", "table")
        wary.file(NAME).scroll_into_view_if_needed()
        expect(wary.file(NAME).locator("table")).to_contain_text("<script>alert(2)</script>")
        nothing_ran(wary)

    def test_word_marks_are_made_before_anything_is_escaped(self, wary: Visitor, house: House) -> None:
        """L127."""
        workspace = house.workspace()
        story = Story(workspace)
        story.call("edit", [describe(str(workspace / "a.py"), b"if foo > bar & 1:\n", b"if foo < bar & 1:\n")])
        page = wary.open(house.written(story.end().events, workspace))
        expect(page.locator("diffs-container")).to_contain_text("if foo > bar & 1:")
        expect(page.locator("diffs-container")).to_contain_text("if foo < bar & 1:")
        expect(page.locator("diffs-container")).not_to_contain_text("&gt;")
        expect(page.locator("diffs-container")).not_to_contain_text("amp;")
        assert page.locator("diffs-container [data-diff-span]").all_text_contents() == [">", "<"]

    def test_of_an_address_that_names_a_session_shows_an_error_and_runs_nothing(
        self, visit: Callable[..., Visitor]
    ) -> None:
        visitor = visit(expect="status of 4")
        visitor.context.add_init_script(TRAP)
        visitor.page.goto(
            f"{visitor.server.origin}/?x=<script>alert(1)</script>#/s/%3Cimg%20src=x%20onerror=alert(1)%3E"
        )
        expect(visitor.page.locator("[data-part=problem]").first).to_be_visible()
        nothing_ran(visitor)


class TestTheMarkdownLibrary:
    def test_that_cannot_be_loaded_leaves_plain_text(self, visit: Callable[..., Visitor], house: House) -> None:
        """L125: it fails closed."""
        workspace = house.workspace()
        story = Story(workspace)
        story.say("**bold** <img src=x onerror=alert(1)>")
        session = house.written(story.end().events, workspace)
        visitor = visit(expect="net::ERR_FAILED|dynamically imported")
        visitor.context.add_init_script(TRAP)
        visitor.page.route("**/assets/render-*", lambda route: route.abort())
        visitor.page.reload()
        page = visitor.open(session)
        expect(page.locator("[data-kind=agent]")).to_contain_text("**bold** <img src=x onerror=alert(1)>")
        nothing_ran(visitor)


class TestTheViewer:
    def test_that_cannot_be_loaded_leaves_a_plain_table(self, visit: Callable[..., Visitor], house: House) -> None:
        workspace = house.workspace()
        story = Story(workspace)
        story.call("edit", [describe(str(workspace / "a.py"), b"one\n", b"two\n")])
        session = house.written(story.end().events, workspace)
        visitor = visit(expect="net::ERR_FAILED|dynamically imported|could not draw")
        visitor.page.route(re.compile("/assets/(dist|highlights)-"), lambda route: route.abort())
        visitor.page.reload()
        page = visitor.open(session)
        table = visitor.file("a.py").locator("[data-part=diff-table]")
        expect(table.locator("[data-line-type=removed]")).to_contain_text("one")
        expect(table.locator("[data-line-type=added]")).to_contain_text("two")
        expect(page.locator("diffs-container")).to_have_count(0)


class TestHiddenCharacters:
    def test_are_marked_and_the_card_warns(self, wary: Visitor, house: House) -> None:
        """L135."""
        workspace = house.workspace()
        story = Story(workspace)
        story.call("edit", [describe(str(workspace / "auth.py"), b'if level != "user":\n', BIDI.encode() + b"\n")])
        story.call("edit", [describe(str(workspace / "file\u202egnp.py"), b"a\n", b"b\n")])
        wary.open(house.written(story.end().events, workspace))
        file = wary.file("auth.py")
        expect(file.locator("[data-part=hidden-warning]")).to_contain_text("bidirectional")
        expect(file.locator("[data-part=hidden-warning]")).to_contain_text("invisible")
        expect(file.locator("diffs-container")).to_contain_text("<U+202E>")
        expect(file.locator("diffs-container")).to_contain_text("<U+200B>")
        whole = wary.page.locator("body").evaluate(
            """(body) => {
              const text = (node) => [...node.childNodes].map((one) =>
                one.nodeType === 3 ? one.data : text(one) + (one.shadowRoot ? text(one.shadowRoot) : "")).join("");
              return text(body);
            }"""
        )
        assert "\u202e" not in whole
        assert "\u200b" not in whole
        named = wary.page.locator(f"{TRANSCRIPT} [data-file]").nth(1)
        expect(named.locator("[data-part=file-name]")).to_contain_text("file<U+202E>gnp.py")
        expect(named.locator("[data-part=hidden-warning]")).to_be_visible()

    def test_in_the_plain_table_too(self, wary: Visitor, house: House) -> None:
        workspace = house.workspace()
        story = Story(workspace)
        story.call("edit", [describe(str(workspace / "auth.py"), b"x\n", b"x\x1b[2J\r\x07\x00y\n", file_type="text")])
        wary.set("diff-view", "table")
        wary.open(house.written(story.end().events, workspace))
        line = wary.file("auth.py").locator("[data-line-type=added]")
        expect(line).to_contain_text("x^[[2J^M^G^@y")


class TestHugeThings:
    def test_two_megabytes_on_one_line_are_a_placeholder_with_the_piece_that_changed(
        self, wary: Visitor, house: House
    ) -> None:
        """L124."""
        line = json.dumps({"data": "x" * 2_000_000})
        workspace = house.workspace({"data.json": line})
        model = house.script(
            [
                step("", call("read", path="data.json")),
                step(
                    "",
                    call(
                        "bash",
                        command="python3 -c \"t=open('data.json').read();open('data.json','w').write(t[:-1]+']')\"",
                    ),
                ),
                step("Done."),
            ]
        )
        wary.begin(workspace, model, "Change the last byte.")
        page = wary.page
        page.locator("[data-part=permission] [data-option=allow_once]").click()
        expect(page.get_by_text("Done.", exact=True)).to_be_visible(timeout=30_000)
        assert (workspace / "data.json").read_text()[-1] == "]"
        file = wary.file("data.json")
        expect(file).to_have_attribute("data-standing", "applied")
        if file.get_attribute("data-form") == "summary":
            file.locator("[data-part=card-details]").click()
            file = page.locator("[data-part=panel] [data-file]")
        placeholder = file.locator("[data-part=long-line]")
        expect(placeholder).to_have_count(2)
        expect(placeholder.first).to_contain_text("2,000,012 characters on one line")
        expect(placeholder.first).to_contain_text("the first 2,000,011")
        expect(placeholder.last).to_contain_text("]")
        assert page.evaluate("document.body.innerText.length") < 20_000

    def test_a_card_of_ten_thousand_lines_is_drawn_where_it_is_read(self, wary: Visitor, house: House) -> None:
        """L123."""
        workspace = house.workspace()
        before = b"".join(b"line %d\n" % number for number in range(5_000))
        after = before.replace(b"line", b"row")
        story = Story(workspace)
        story.call("write", [describe(str(workspace / "ten.txt"), before, after)])
        page = wary.open(house.written(story.end().events, workspace))
        file = wary.file("ten.txt")
        expect(file).to_contain_text("10,000 diff lines")
        assert wary.viewers() == 0
        file.locator("[data-part=card-details]").click()
        panel = page.locator("[data-part=panel]")
        expect(panel.locator("diffs-container").first).to_contain_text("line 0")
        parts = panel.locator("[data-diff-part]")
        assert parts.count() >= 25
        assert wary.viewers() < parts.count() / 3
        parts.last.scroll_into_view_if_needed()
        expect(panel.locator("diffs-container").last).to_contain_text("row 4999")
        assert wary.viewers() < parts.count() / 3

    def test_three_pairs_of_400_kb_do_not_keep_the_page_from_answering(self, wary: Visitor, house: House) -> None:
        """L123: the page answers a key while such a session opens; how fast is for a benchmark."""
        workspace = house.workspace()
        story = Story(workspace)
        for name in ("a.ts", "b.ts", "c.ts"):
            before = b"".join(
                b"export const value%d = { name: '%s', value: %d };\n" % (n, name.encode(), n) for n in range(7_000)
            )
            story.call("write", [describe(str(workspace / name), before, before.replace(b"value", b"other"))])
        session = house.written(story.end().events, workspace)
        other = Story(workspace)
        other.say("Nothing here.")
        calm = house.written(other.end().events, workspace)
        for one in (calm, session, calm, session):
            wary.open(one)
        expect(wary.file("c.ts")).to_have_attribute("data-form", "summary")
        assert wary.viewers() == 0


class TestABadRow:
    def test_is_one_row_that_says_so_and_the_others_stand(self, wary: Visitor, house: House) -> None:
        """P165, P169."""
        workspace = house.workspace()
        story = Story(workspace)
        for number in range(10):
            story.say(f"Message {number}.", message=f"m{number}")
        session = house.written(story.end().events, workspace)
        with sqlite3.connect(house.data / "sessions.db") as database:
            database.execute('UPDATE events SET data = \'{"turn": 1, "mess\' WHERE session = ? AND seq = 7', [session])
        database.close()
        page = wary.open(session)
        expect(page.locator("[data-kind=agent]")).to_have_count(9)
        expect(page.locator("[data-kind=other], [data-kind=notice]")).to_have_count(1)
        expect(page.get_by_text("Message 9.")).to_be_visible()
