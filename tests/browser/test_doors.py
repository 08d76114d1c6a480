"""Who may come in: as a browser sees it, with pages of other origins and addresses that are not ours."""

from __future__ import annotations

import re
import socket
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from browser.house import Story, call, step

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser

    from browser.house import House
    from browser.visitor import Visitor


@pytest.fixture
def elsewhere(house: House) -> Iterator[str]:
    """Another site on this machine, whose page tries what a foreign page can; its address."""
    page = f"""<!doctype html><title>elsewhere</title><script>
    const at = {house.server.origin!r};
    const told = [];
    const tell = (name) => (answer) => told.push(name + ": " + (answer.ok ? "in" : "out"));
    const no = (name) => () => told.push(name + ": out");
    window.done = Promise.allSettled([
      fetch(at + "/api/sessions", {{credentials: "include"}}).then(tell("read"), no("read")),
      fetch(at + "/api/sessions", {{method: "POST", credentials: "include", mode: "no-cors",
        headers: {{"Content-Type": "text/plain"}}, body: '{{"folder": "/tmp", "prompt": "rm"}}'}})
        .then(tell("write"), no("write")),
      new Promise((resolve) => {{
        const frame = document.createElement("iframe");
        frame.src = at + "/";
        frame.onload = () => {{ let seen = "out"; try {{ seen = frame.contentDocument ? "in" : "out"; }} catch {{}}
          told.push("frame: " + seen); resolve(); }};
        document.documentElement.append(frame);
      }}),
    ]).then(() => told);
    </script>"""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(page.encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://localhost:{server.server_address[1]}/"
    server.shutdown()
    server.server_close()


def test_the_token_becomes_a_cookie_that_scripts_cannot_read_and_leaves_the_address(
    visit: Callable[..., Visitor], house: House
) -> None:
    visitor = visit()
    assert "token" not in visitor.page.url
    (cookie,) = visitor.context.cookies()
    assert cookie["httpOnly"]
    assert cookie["sameSite"] == "Strict"
    token = house.server.address.partition("token=")[2]
    assert cookie["value"] == token
    assert visitor.page.evaluate("document.cookie") == ""
    visitor.page.reload()
    expect(visitor.page.locator("[data-part=session-list]")).to_be_visible()
    assert token not in visitor.page.content()


def test_without_the_token_there_is_nothing_to_see(browser: Browser, house: House) -> None:
    context = browser.new_context()
    page = context.new_page()
    answer = page.goto(house.server.origin)
    assert answer is not None
    assert answer.status == 401
    expect(page.locator("body")).to_contain_text("Open the address that redline serve printed")
    assert context.request.get(f"{house.server.origin}/api/sessions").status == 401
    context.close()


def test_a_page_that_lost_its_access_says_what_to_do(visit: Callable[..., Visitor]) -> None:
    visitor = visit(expect="status of 401")
    visitor.page.locator("[data-part=session-list]").wait_for()
    visitor.context.clear_cookies()
    visitor.page.route("**/api/stream*", lambda route: route.continue_())
    visitor.page.evaluate("location.hash = '#/s/none'")
    expect(visitor.page.locator("[data-part=problem], [data-part=banner]").first).to_contain_text("redline serve")


def test_a_page_of_another_origin_can_neither_read_nor_write_nor_frame_it(
    visit: Callable[..., Visitor], house: House, elsewhere: str
) -> None:
    before = len(visit().ask("GET", "/api/sessions?limit=500").json()["sessions"])
    visitor = visit(expect=".*")
    page = visitor.page
    page.goto(elsewhere)
    told = sorted(page.evaluate("window.done"))
    assert told == ["frame: out", "read: out", "write: out"]
    assert page.frames[-1].url.startswith("chrome-error:")
    assert len(visit().ask("GET", "/api/sessions?limit=500").json()["sessions"]) == before


def test_a_foreign_name_for_this_address_is_refused(browser: Browser, house: House) -> None:
    """DNS rebinding: the name resolves to loopback, the browser believes that it is the same site."""
    context = browser.new_context()
    with socket.create_connection(("127.0.0.1", house.server.port)) as connection:
        token = house.server.address.partition("token=")[2]
        cookie = f"redline-{house.server.port}={token}"
        connection.sendall(
            f"GET /api/sessions HTTP/1.1\r\nHost: evil.example:{house.server.port}\r\nCookie: {cookie}\r\n"
            "Connection: close\r\n\r\n".encode()
        )
        answer = b"".join(iter(lambda: connection.recv(65536), b"")).decode()
    assert answer.startswith("HTTP/1.1 421")
    assert '"code":"HOST"' in answer
    context.close()


def test_the_policy_relaxes_two_things_and_no_other(visit: Callable[..., Visitor]) -> None:
    answer = visit().page.reload()
    assert answer is not None
    policy = dict(
        one.strip().partition(" ")[::2] for one in answer.headers["content-security-policy"].split(";") if one.strip()
    )
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == "'self' 'wasm-unsafe-eval'"
    assert policy["style-src"] == "'self' 'unsafe-inline'"
    assert policy["frame-ancestors"] == "'none'"
    assert policy["connect-src"] == "'self'"
    assert "'unsafe-eval'" not in re.sub("'wasm-unsafe-eval'", "", str(policy))
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["x-frame-options"] == "DENY"
    assert answer.headers["referrer-policy"] == "no-referrer"


def test_file_answers_stay_inside_the_folder_and_away_from_secrets(visit: Callable[..., Visitor], house: House) -> None:
    workspace = house.workspace({"a.py": "x\n", ".env": "TOKEN=ghp_" + "a1B2" * 9 + "\n"})
    outside = workspace.parent / "outside.txt"
    outside.write_text("not yours")
    (workspace / "link").symlink_to(outside)
    session = house.written(Story(workspace).end().events, workspace)
    visitor = visit()
    for path in ("/etc/passwd", "../outside.txt", str(outside), "link", "~root/.bashrc"):
        answer = visitor.ask("GET", f"/api/file-diff?session={session}&path={path}")
        assert answer.status == 403, (path, answer.text())
        assert answer.json()["code"] == "OUTSIDE_WORKSPACE"
    shown = visitor.ask("GET", f"/api/file-diff?session={session}&path=.env")
    assert (shown.status, shown.json()["code"]) == (403, "SECRET_FILE")
    assert "ghp_" not in shown.text()


@pytest.mark.parametrize(
    ("language", "what", "remedy"),
    [
        ("en-GB", "There is no session 'none'.", "Choose another one in the list."),
        ("zh-CN", "没有会话 'none'。", "请在列表中选择另一个会话。"),
    ],
)
def test_what_the_server_answers_is_said_in_the_language_of_the_page(
    visit: Callable[..., Visitor], language: str, what: str, remedy: str
) -> None:
    visitor = visit(language=language, expect="status of 404")
    visitor.page.goto(f"{visitor.server.origin}/#/s/none")
    problem = visitor.page.locator("main [data-part=problem]").first
    expect(problem).to_contain_text(what)
    expect(problem).to_contain_text(remedy)
    expect(problem).not_to_contain_text("redline sessions")


def test_a_file_of_secrets_says_so_among_the_files_of_the_session(visit: Callable[..., Visitor], house: House) -> None:
    workspace = house.workspace({".env": "WORD is swordfish\nMODE=old\n"})
    steps = [
        step("", call("read", path=".env")),
        step("", call("edit", path=".env", old_string="MODE=old", new_string="MODE=new")),
        step("Done."),
    ]
    visitor = visit()
    page = visitor.open(house.scripted(steps, workspace=workspace))
    expect(visitor.file(".env")).to_contain_text("MODE=new")
    page.locator("[data-part=open-files]").click()
    file = page.locator("[data-part=files] [data-path$='/.env']")
    expect(file).to_have_attribute("data-git", "secret")
    expect(file).to_contain_text("a file of secrets: not shown here")
    expect(file.locator("[data-part=problem]")).to_have_count(0)
    page.locator("[data-part=open-panel]").first.click()
    panel = page.locator("[data-part=panel-change]")
    expect(panel).to_contain_text("MODE=new")
    expect(panel).to_contain_text("the lines around the change are not shown")
