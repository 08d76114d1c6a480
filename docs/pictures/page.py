"""Photographs of the dashboard with the demo's changes in it, in both themes and on a phone.

    python docs/pictures/page.py          all of them, into this folder

Needs a Chromium: see tests/browser/chromium.py. `docs/pictures/take.py` takes these too.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from playwright.sync_api import expect, sync_playwright

from browser import chromium

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

HERE = Path(__file__).resolve().parent
SIZES = {"": (1280, 880), "-phone": (390, 844)}
SCALE = 1.5
"""Pixels of a picture for one of the page, so that it stays sharp where it is shown smaller."""
TURNS = 4
"""Of the demo, its undo included."""


def take_pages() -> None:
    executable = chromium.find() or sys.exit(chromium.REMEDY)
    with tempfile.TemporaryDirectory() as data, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=chromium.FLAGS)
        with demo(Path(data)) as address:
            for theme in ("light", "dark"):
                for suffix, (width, height) in SIZES.items():
                    page = visit(browser, address, theme, width, height)
                    expect(page.locator("[data-reason]")).to_have_count(TURNS, timeout=60_000)
                    show(page, "schedule.py")
                    page.screenshot(path=HERE / f"page-{theme}{suffix}.png")
                    print(HERE / f"page-{theme}{suffix}.png")
                    page.context.close()
            ask(browser, address)
        browser.close()


def ask(browser: Browser, address: str) -> None:
    """The visitor's own prompt, and the question that follows it."""
    page = visit(browser, address, "light", *SIZES[""])
    page.locator("[data-part=prompt]").fill("Print the report in both scales.")
    page.keyboard.press("Enter")
    question = page.locator("[data-part=permission][data-outcome=open]")
    expect(question.locator("[data-drawn=true]")).to_have_count(2)
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        page.wait_for_timeout(500)
        page.screenshot(path=HERE / f"question-{theme}.png")
        print(HERE / f"question-{theme}.png")
    page.context.close()


def visit(browser: Browser, address: str, theme: Literal["light", "dark"], width: int, height: int) -> Page:
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=theme, device_scale_factor=SCALE, locale="en-GB"
    )
    page = context.new_page()
    page.goto(address)
    page.locator("[data-row]").first.wait_for()
    return page


def show(page: Page, name: str) -> None:
    """Scroll to the row of a card, and wait until all that is in view is drawn."""
    row = page.locator("[data-row]").filter(has=page.locator(f"[data-card] [data-file$='/{name}']")).first
    row.scroll_into_view_if_needed()
    for _ in range(3):  # what is drawn above may change its height
        row.evaluate("row => row.scrollIntoView({block: 'start'})")
        page.wait_for_timeout(600)


@contextmanager
def demo(data: Path) -> Iterator[str]:
    """The address of a demo that is served until the end."""
    command = [sys.executable, "-m", "redline", "demo", "--page", "--fast", "--no-open", "--data", str(data)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield next(match[0] for line in process.stdout if (match := re.search(r"http://\S+", line)))
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()


if __name__ == "__main__":
    take_pages()
