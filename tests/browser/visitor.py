"""Somebody who looks at the dashboard in a browser window of their own."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, ConsoleMessage, Page, Request

    from browser.house import Server

LOST = re.compile(r"net::ERR_(CONNECTION_REFUSED|CONNECTION_RESET|INCOMPLETE_CHUNKED_ENCODING|EMPTY_RESPONSE)")
"""What a browser's console says when a server is gone; a test that ends the server expects it."""


class Visitor:
    """A window with its own cookies and storage. `complaints` collects what the console and the page's errors say,
    every violation of the content-security policy and every request to another origin."""

    def __init__(
        self,
        browser: Browser,
        server: Server,
        *,
        theme: Literal["light", "dark"] = "light",
        width: int = 1280,
        height: int = 900,
        language: str = "en-GB",
        expect: str = "",
    ) -> None:
        self.server = server
        self.complaints: list[str] = []
        self._expected = re.compile(expect) if expect else None
        self.context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme=theme,
            locale=language,
            has_touch=width < 600,
            reduced_motion="no-preference",
        )
        self.context.grant_permissions(["clipboard-read", "clipboard-write"])
        self.page = self.window()
        self.page.goto(server.address)

    def window(self) -> Page:
        """One more tab of the same visitor."""
        page = self.context.new_page()
        page.set_default_timeout(10_000)
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self._complain(f"error in the page: {error}"))
        page.on("request", self._asked)
        return page

    def photograph(self, path: Path) -> None:
        path.parent.mkdir(exist_ok=True)
        self.page.screenshot(path=path)

    def leave(self) -> None:
        self.context.close()

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self._complain(f"console {message.type}: {message.text}")

    def _asked(self, request: Request) -> None:
        if request.url.startswith(("data:", "blob:")):
            return
        if urlsplit(request.url).netloc != urlsplit(self.server.origin).netloc:
            self._complain(f"request to another place: {request.url}")

    def _complain(self, what: str) -> None:
        if self._expected is None or not self._expected.search(what):
            self.complaints.append(what)
