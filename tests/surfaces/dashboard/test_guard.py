"""Who may talk to the dashboard, and what a browser may do with what it says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx2
import pygit2
import pytest

from redline.gateway.roster import GatewayError
from redline.surfaces.dashboard.guard import Access
from redline.surfaces.dashboard.server import address, check, listen
from redline.surfaces.dashboard.site import asset, page
from surfaces.dashboard.stage import TOKEN, House, step

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


@pytest.fixture
async def stranger(house: House) -> AsyncIterator[httpx2.AsyncClient]:
    """A client that knows the address and no token."""
    async with httpx2.AsyncClient(base_url=house.origin) as client:
        yield client


async def test_the_token_becomes_a_cookie_and_leaves_the_address(house: House, stranger: httpx2.AsyncClient) -> None:
    assert (await stranger.get("/api/sessions")).status_code == 401
    entered = await stranger.get("/", params={"token": TOKEN, "theme": "dark"})
    assert (entered.status_code, entered.headers["location"]) == (303, "/?theme=dark")
    cookie = entered.headers["set-cookie"]
    assert cookie.startswith(f"redline-{house.access.port}={TOKEN};")
    assert {"httponly", "samesite=strict", "path=/"} <= {part.strip().lower() for part in cookie.split(";")}
    assert (await stranger.get("/api/sessions")).status_code == 200


async def test_a_link_on_a_foreign_page_enters_too(stranger: httpx2.AsyncClient) -> None:
    """A browser sends no strict cookie along a redirect that a foreign page began."""
    headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    entered = await stranger.get("/", params={"token": TOKEN}, headers=headers)
    assert entered.status_code == 200
    assert TOKEN not in entered.text
    assert '<meta http-equiv="refresh" content="0;url=/">' in entered.text


@pytest.mark.parametrize("token", ["", "wrong", TOKEN[:-1], TOKEN + "x", "é\u2028"])
async def test_another_token_does_not_enter(stranger: httpx2.AsyncClient, token: str) -> None:
    refused = await stranger.get("/", params={"token": token})
    assert refused.status_code == 401
    assert "set-cookie" not in refused.headers
    assert (await stranger.get("/api/agents", headers={"Authorization": "Bearer nothing"})).status_code == 401
    assert (await stranger.get("/api/agents", headers={"Cookie": "redline-1=x"})).json()["code"] == "TOKEN"


async def test_the_way_in_leads_nowhere_else(house: House, stranger: httpx2.AsyncClient) -> None:
    entered = await stranger.get(f"{house.origin}//elsewhere.example/x", params={"token": TOKEN})
    assert entered.headers["location"] == "/elsewhere.example/x"


@pytest.mark.parametrize(
    "host",
    ["attacker.example", "attacker.example:{port}", "127.0.0.1", "127.0.0.1:1", "localhost.attacker.example:{port}"],
)
async def test_a_name_that_was_rebound_to_this_address_is_refused(house: House, host: str) -> None:
    refused = await house.client.get("/api/sessions", headers={"Host": host.format(port=house.access.port)})
    assert (refused.status_code, refused.json()["code"]) == (421, "HOST")


@pytest.mark.parametrize("host", ["localhost:{port}", "127.0.0.1:{port}", "[::1]:{port}", "LOCALHOST:{port}"])
async def test_every_name_of_this_machine_is_ours(house: House, host: str) -> None:
    answer = await house.client.get("/api/sessions", headers={"Host": host.format(port=house.access.port)})
    assert answer.status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://attacker.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"},
    ],
)
async def test_what_another_site_sends_is_refused(house: House, headers: dict[str, str]) -> None:
    for method, path in (("POST", "/api/sessions"), ("GET", "/api/sessions"), ("GET", "/api/stream")):
        refused = await house.client.request(method, path, headers=headers)
        assert (refused.status_code, refused.json()["code"]) == (403, "FOREIGN")
    assert (await house.get("sessions"))["sessions"] == []


async def test_the_page_itself_may_act(house: House) -> None:
    headers = {"Origin": house.origin, "Sec-Fetch-Site": "same-origin"}
    answer = await house.client.post("/api/sessions", json={"folder": "/nowhere"}, headers=headers)
    assert answer.json()["code"] == "FOLDER"


@pytest.mark.parametrize("path", ["/", "/api/sessions", "/api/nothing", "/assets/nothing.js", "/anything/else"])
async def test_every_answer_says_what_a_browser_may_do_with_it(house: House, path: str) -> None:
    headers = (await house.client.get(path)).headers
    policy = dict(part.strip().partition(" ")[::2] for part in headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == "'self' 'wasm-unsafe-eval'"
    assert policy["style-src"] == "'self' 'unsafe-inline'"
    assert policy["frame-ancestors"] == "'none'"
    assert (policy["base-uri"], policy["form-action"], policy["connect-src"]) == ("'none'", "'self'", "'self'")
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert "server" not in headers


async def test_a_request_is_bounded(house: House) -> None:
    refused = await house.client.post("/api/sessions", content=b"x" * (5 * 2**20))
    assert (refused.status_code, refused.json()["code"]) == (413, "TOO_LARGE")

    async def endless() -> AsyncIterator[bytes]:
        for _ in range(6):
            yield b" " * 2**20

    refused = await house.client.post("/api/sessions", content=endless(), headers={"Content-Type": "application/json"})
    assert refused.status_code == 422


async def test_a_path_stays_inside_the_session_folder(house: House) -> None:
    session = await house.begin([step("ok")])
    (house.folder / "secret.txt").write_text("outside")
    (house.workspace / "link").symlink_to(house.folder / "secret.txt")
    (house.workspace / "up").symlink_to(house.folder)
    for path in ("../secret.txt", str(house.folder / "secret.txt"), "link", "up/secret.txt", "/etc/passwd", "~/x"):
        refused = await house.client.get("/api/file-diff", params={"session": session, "path": path})
        assert (refused.status_code, refused.json()["code"]) == (403, "OUTSIDE_WORKSPACE"), path
        assert "outside\\n" not in refused.text
    odd = await house.client.get("/api/file-diff", params={"session": session, "path": "a\0b"})
    assert odd.status_code in (404, 422)


async def test_a_secret_in_a_file_is_masked(house: House) -> None:
    session = await house.begin([step("ok")])
    pygit2.init_repository(house.workspace)
    key = "AKIA" + "Z7WQ3LMK9XPT2VBN"
    (house.workspace / "settings.ini").write_text(f"aws_access_key_id = {key}\n")
    answer = await house.get("file-diff", session=session, path="settings.ini")
    assert answer["state"] == "untracked"
    assert key not in str(answer)
    assert answer["change"]["redacted"] is True


async def test_a_file_of_secrets_is_refused_whatever_leads_to_it(house: House) -> None:
    session = await house.begin([step("ok")])
    repository = pygit2.init_repository(house.workspace)
    body = "\n".join("MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"[at:] for at in range(3))
    key = f"-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n"
    plain = "the word is swordfish\n"
    files = {".env": plain, "app/.env.local": plain, "id_ed25519": plain, ".aws/credentials": plain, "server.pem": key}
    for name, content in {**files, "rotated.pem": key}.items():
        (house.workspace / name).parent.mkdir(exist_ok=True)
        (house.workspace / name).write_text(content)
    (house.workspace / "notes.txt").symlink_to(".env")
    (house.workspace / "cloud").symlink_to(".aws")
    repository.index.add("rotated.pem")
    who = pygit2.Signature("a", "a@example.org")
    repository.create_commit("HEAD", who, who, "so far", repository.index.write_tree(), [])
    (house.workspace / "rotated.pem").write_text("it was here\n")
    for path in (*files, "rotated.pem", "notes.txt", "cloud/credentials", str(house.workspace / ".env"), "x/../.env"):
        refused = await house.client.get("/api/file-diff", params={"session": session, "path": path})
        assert (refused.status_code, refused.json()["code"]) == (403, "SECRET_FILE"), path
        assert "swordfish" not in refused.text
        assert "MIIEv" not in refused.text
    shown = await house.get("file-diff", session=session, path=".env.example")
    assert shown["state"] == "clean"


def test_another_address_needs_a_token() -> None:
    for host in ("0.0.0.0", "192.168.1.5", "::", "example.org"):
        with pytest.raises(GatewayError, match="NO_TOKEN"):
            check(host, token=False)
        check(host, token=True)
    for host in ("127.0.0.1", "::1", "localhost", "127.8.9.1"):
        check(host, token=False)


def test_where_everybody_may_come_an_address_is_ours_and_a_name_only_if_it_was_given() -> None:
    access = Access(80, "0.0.0.0", names=("redline.example",))
    assert access.is_ours("192.168.1.5")
    assert access.is_ours("redline.example")
    assert access.is_ours("redline.example:8443"), "a proxy in front has a port of its own"
    assert not access.is_ours("not-redline.example")
    assert not access.is_ours("attacker.example")
    assert not access.is_ours("192.168.1.5:8080")


def test_a_port_that_is_taken_is_said_with_a_remedy() -> None:
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(GatewayError, match=r"PORT_IN_USE.*--port"):
            listen("127.0.0.1", port)
        assert address(taken, Access(port, token=None)) == f"http://127.0.0.1:{port}/"
    with pytest.raises(GatewayError, match="ADDRESS"):
        listen("203.0.113.7", 0)


def test_the_page_is_served_and_nothing_beside_it(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("outside")
    static = tmp_path / "static"
    assert b"make web" in page(static).body
    assert page(static).status_code == 503
    (static / "assets").mkdir(parents=True)
    (static / "index.html").write_text("<!doctype html>")
    (static / "assets" / "app-1234.js").write_text("1")
    (static / "link").symlink_to(tmp_path / "secret")
    assert page(static).headers["cache-control"] == "no-cache"
    hashed = asset("assets/app-1234.js", static)
    assert hashed is not None
    assert "immutable" in hashed.headers["cache-control"]
    for path in ("../secret", "assets/../../secret", "link", "assets", "assets/none.js", "a\0", "..\\secret"):
        assert asset(path, static) is None
