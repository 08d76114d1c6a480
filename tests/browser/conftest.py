"""A browser, a served house, and a visitor who looks at it and complains about whatever the console says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect, sync_playwright

from browser import chromium
from browser.house import House, Server
from browser.visitor import Visitor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser

PICTURES = Path(__file__).with_name("pictures")
"""Where screenshots are kept, git-ignored."""

expect.set_options(timeout=20_000)  # milliseconds; only what fails waits so long, and a shared machine can be slow

THEMES = ("light", "dark")
WIDTHS = (1280, 390)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of one module share a server and a browser, so they run on one worker."""
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.xdist_group(f"browser-{item.path.stem}"))


@pytest.fixture(scope="session")
def executable() -> str:
    found = chromium.find()
    if found is None:
        pytest.fail(chromium.REMEDY, pytrace=False)
    return found


@pytest.fixture(scope="module")
def browser(executable: str) -> Iterator[Browser]:
    """One for each module: while Playwright runs, this thread can run no other loop, and other tests need theirs."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=chromium.FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    folder = tmp_path_factory.mktemp("house")
    (folder / "data").mkdir()
    made = House(folder, Server(folder / "data"))
    made.server.start()
    yield made
    made.close()


@pytest.fixture
def visit(browser: Browser, house: House, request: pytest.FixtureRequest) -> Iterator[Callable[..., Visitor]]:
    """Opens the dashboard as one more visitor; at the end, nobody's console may have said anything."""
    visitors: list[Visitor] = []

    def come(**options: object) -> Visitor:
        visitors.append(Visitor(browser, house.server, **options))  # type: ignore[arg-type]
        return visitors[-1]

    yield come
    name = re.sub(r"[^\w.-]+", "-", request.node.name)
    failed = getattr(request.node, "failed", False)
    for number, visitor in enumerate(visitors):
        if failed:
            visitor.photograph(PICTURES / f"failed-{name}-{number}.png")
        visitor.leave()
    complaints = [line for visitor in visitors for line in visitor.complaints]
    assert complaints == [], "\n".join(complaints)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> object:
    report = yield
    if call.when == "call" and report.failed:
        item.failed = True  # type: ignore[attr-defined]
    return report
