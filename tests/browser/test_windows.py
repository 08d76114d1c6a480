"""Many windows of one browser, which has few connections to a server."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page, expect

from browser.house import House, call, step
from browser.visitor import LOST, TRANSCRIPT, Visitor

WINDOWS = 10
"""More than the six connections that a browser opens."""


def look(visitor: Visitor, page: Page, session: str) -> None:
    page.goto(f"{visitor.server.origin}/#/s/{session}")
    page.locator(f"{TRANSCRIPT} [data-row]").first.wait_for()


def test_ten_windows_all_live_on_one_stream(visit: Callable[..., Visitor], house: House) -> None:
    turns = [
        [step(f"Answer {number}.", call("write", path=f"{{workspace}}/{number}.txt", content="x\n"))]
        for number in range(4)
    ]
    visitor = visit(expect=LOST.pattern)
    with house.elsewhere(*turns) as elsewhere:
        elsewhere.prompt("First.")
        other = house.scripted([step("Another session.")])
        pages = [visitor.page, *(visitor.window() for _ in range(WINDOWS - 1))]
        streams: list[str] = []
        for page in pages[1:]:
            page.on("request", lambda request: streams.append(request.url) if "/api/stream?" in request.url else None)
        for number, page in enumerate(pages):
            look(visitor, page, other if number == 4 else elsewhere.session)
        watching = [page for number, page in enumerate(pages) if number != 4]
        assert streams == [], "the first window's stream is enough"

        elsewhere.prompt("Second.")
        for page in watching:
            expect(page.locator("[data-kind=user]", has_text="Second.")).to_have_count(1)
            expect(page.locator('[data-row="turn_end:2"]')).to_have_count(1)
            expect(page.locator("[data-kind=agent]", has_text="Answer 1.")).to_have_text("Answer 1.")

        # Any of them can ask for something, and one that looks elsewhere follows there.
        pages[8].reload()
        expect(pages[8].locator('[data-row="turn_end:2"]')).to_have_count(1)
        look(visitor, pages[4], elsewhere.session)

        # Who holds the stream goes; the others go on.
        pages[0].close()
        elsewhere.prompt("Third.")
        for page in pages[1:]:
            expect(page.locator("[data-kind=user]", has_text="Third.")).to_have_count(1)
            expect(page.locator('[data-row="turn_end:3"]')).to_have_count(1)
        assert len(streams) == 1

        # The server goes, and comes again.
        house.server.kill()
        for page in pages[1:]:
            expect(page.locator("[data-part=banner]")).to_be_visible()
        house.server.start()
        elsewhere.prompt("Fourth.")
        for page in pages[1:]:
            expect(page.locator("[data-part=banner]")).to_have_count(0)
            expect(page.locator('[data-row="turn_end:4"]')).to_have_count(1)
            expect(page.locator("[data-kind=user]")).to_have_count(4)
            expect(page.locator("[data-kind=agent]", has_text="Answer 3.")).to_have_text("Answer 3.")
    visitor.page = pages[1]
