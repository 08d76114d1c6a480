"""Somebody who looks at the dashboard in a browser window of their own."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from playwright.sync_api import expect

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import APIResponse, Browser, ConsoleMessage, Locator, Page, Request

    from browser.house import Server

TRANSCRIPT = "[data-part=transcript]"

LOST = re.compile(
    r"net::ERR_(CONNECTION_REFUSED|CONNECTION_RESET|INCOMPLETE_CHUNKED_ENCODING|CONTENT_LENGTH_MISMATCH|EMPTY_RESPONSE)"
)
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
        page.set_default_timeout(30_000)
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self._complain(f"error in the page: {error}"))
        page.on("request", self._asked)
        return page

    def open(self, session: str) -> Page:
        """Go to a session; returns once its rows stand there."""
        self.page.goto(f"{self.server.origin}/#/s/{session}")
        self.page.locator(f"{TRANSCRIPT} [data-row]").first.wait_for()
        return self.page

    def ask(self, method: str, path: str, body: object = None) -> APIResponse:
        """A request as the page would send it, with its cookie."""
        return self.context.request.fetch(
            f"{self.server.origin}{path}",
            method=method,
            headers={"Origin": self.server.origin},
            **({} if body is None else {"data": body}),  # type: ignore[arg-type]
        )

    def begin(self, folder: Path, model: str, prompt: str = "") -> str:
        """Start a session of the built-in agent in the server itself; its id."""
        answer = self.ask("POST", "/api/sessions", {"folder": str(folder), "agent": "builtin", "model": model})
        assert answer.status == 201, answer.text()
        session: str = answer.json()["session"]
        if prompt:
            self.open_empty(session)
            self.prompt(prompt)
        return session

    def open_empty(self, session: str) -> Page:
        self.page.goto(f"{self.server.origin}/#/s/{session}")
        self.page.locator("[data-part=prompt]").wait_for()
        return self.page

    def prompt(self, text: str) -> None:
        """Type into the composer and send."""
        self.page.locator("[data-part=prompt]").fill(text)
        self.page.keyboard.press("Enter")

    def set(self, setting: str, value: str) -> None:
        """Choose something in the settings."""
        button = self.page.locator("[data-part=settings]")
        button.wait_for(state="attached")
        if not button.is_visible():
            self.page.locator("[data-part=open-sessions]").click()
        button.click()
        self.page.locator(f"[data-part=setting-{setting}] [data-value={value}]").click()
        self.page.keyboard.press("Escape")
        expect(self.page.locator("[data-part=settings-dialog]")).to_have_count(0)

    def unfold(self) -> None:
        """Open the steps of every turn."""
        folded = self.page.locator(f"{TRANSCRIPT} [data-part=steps][data-open=false] > button")
        while folded.count() > 0:
            folded.first.click()

    def row(self, call: str) -> Locator:
        """Of a call of the first turn."""
        return self.page.locator(f'[data-row="tool:1:{call}"]')

    def file(self, name: str) -> Locator:
        """The line and diff of a file on a card in the transcript."""
        return self.page.locator(f'{TRANSCRIPT} [data-card] [data-file$="/{name}"]')

    def viewers(self, within: Locator | None = None) -> int:
        """Diff viewers that are mounted."""
        return (within or self.page.locator("body")).locator("diffs-container").count()

    def photograph(self, path: Path) -> None:
        path.parent.mkdir(exist_ok=True)
        self.page.screenshot(path=path)

    def leave(self) -> None:
        self.context.close()

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self._complain(f"console {message.type}: {message.text} {message.location.get('url', '')}".strip())

    def _asked(self, request: Request) -> None:
        if request.url.startswith(("data:", "blob:")):
            return
        if urlsplit(request.url).netloc != urlsplit(self.server.origin).netloc:
            self._complain(f"request to another place: {request.url}")

    def _complain(self, what: str) -> None:
        if self._expected is None or not self._expected.search(what):
            self.complaints.append(what)
