"""The guard: who may talk to the dashboard, and what a browser may do with its answers.

The server listens on loopback, and any page that the user has open elsewhere can send requests there. So a request
needs the token (a cookie that other sites' requests do not carry), a `Host` that is ours (a foreign name may be rebound
to this address), and, where it changes something, no foreign `Origin`.
"""

from __future__ import annotations

import ipaddress
import secrets
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import HTMLResponse, RedirectResponse, Response

from redline.surfaces.dashboard.contract import Problem

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

BODY_LIMIT = 4 * 2**20
"""Bytes of a request."""
_SAFE = ("GET", "HEAD")
_POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self' 'unsafe-inline'; connect-src 'self'; "
    "img-src 'self' data: blob:; font-src 'self'; worker-src 'self'; manifest-src 'self'; frame-ancestors 'none'; "
    "base-uri 'none'; form-action 'self'"
)
HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
}


@dataclass(frozen=True, slots=True)
class Access:
    """Who may come in."""

    port: int
    host: str = "127.0.0.1"
    """That the server is bound to."""
    token: str | None = field(default_factory=lambda: secrets.token_urlsafe(32))
    """None: none is asked for; only ever on loopback."""
    names: tuple[str, ...] = ()
    """Further names under which the server is reached."""

    @property
    def cookie(self) -> str:
        """Cookies do not tell ports apart."""
        return f"redline-{self.port}"

    def is_ours(self, host: str) -> bool:
        """Whether a `Host` header names this server. A name can be rebound by whoever owns it; an address cannot."""
        name, port = _split(host)
        if name in self.names:
            return True  # on whatever port the proxy in front listens
        if port != self.port and not (port is None and self.port == 80):
            return False
        return name in ("localhost", self.host.lower()) or (
            _is_address(name) if self._is_everywhere else _is_loopback(name)
        )

    @property
    def _is_everywhere(self) -> bool:
        return not _is_loopback(self.host) and self.host != "localhost"


def is_loopback(host: str) -> bool:
    """Only programs of this machine reach it."""
    return host.lower() == "localhost" or _is_loopback(host)


class Guard:
    """ASGI middleware around everything."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("cache-control", "no-store")
            await send(message)

        answer = self._refusal(scope)
        if answer is not None:
            await answer(scope, receive, send_guarded)
            return
        await self._app(scope, _bounded(receive), send_guarded)

    def _refusal(self, scope: Scope) -> Response | None:
        """What is answered instead of the app; None: come in."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if not self._access.is_ours(host):
            return _refused(
                421, "HOST", f"This server is not {host!r}.", "Open the address that redline serve printed."
            )
        if not _is_of_this_page(scope["method"], scope["path"], headers, host):
            return _refused(403, "FOREIGN", "Another site sent this request.", "Do it in the dashboard itself.")
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > BODY_LIMIT:
            return _refused(413, "TOO_LARGE", f"A request holds at most {BODY_LIMIT} bytes.", "Send less at once.")
        given = dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True))
        if "token" in given and scope["method"] in _SAFE and not scope["path"].startswith("/api/"):
            return self._let_in(scope, given, headers)
        if scope["path"].startswith("/assets/") or self._is_known(headers):
            return None
        if scope["path"].startswith("/api/"):
            return _refused(401, "TOKEN", "This needs the token.", "Open the address that redline serve printed.")
        return _page(
            401, "Open the address that <code>redline serve</code> printed: it holds the token that this page needs."
        )

    def _let_in(self, scope: Scope, given: dict[str, str], headers: Headers) -> Response:
        """The token becomes a cookie and leaves the address."""
        if not self._matches(given.pop("token")):
            return _page(
                401,
                "This token is of another start of <code>redline serve</code>. Open the address that it printed last.",
            )
        where = scope["path"] + (f"?{urlencode(given)}" if given else "")
        where = "/" + where.lstrip("/\\")
        answer: Response = RedirectResponse(where, status_code=303)
        if headers.get("sec-fetch-site") in ("cross-site", "same-site"):
            # A strict cookie does not go along with a redirect that a foreign page began; it does with the page's own.
            answer = HTMLResponse(f'<meta http-equiv="refresh" content="0;url={escape(where)}">')
        if self._access.token is not None:
            answer.set_cookie(
                self._access.cookie, self._access.token, httponly=True, samesite="strict", path="/", max_age=30 * 86400
            )
        return answer

    def _is_known(self, headers: Headers) -> bool:
        if self._access.token is None:
            return True
        scheme, _, bearer = headers.get("authorization", "").partition(" ")
        cookie = cookie_parser(headers.get("cookie", "")).get(self._access.cookie, "")
        return self._matches(cookie) or (scheme.lower() == "bearer" and self._matches(bearer.strip()))

    def _matches(self, token: str) -> bool:
        wanted = self._access.token
        return wanted is None or secrets.compare_digest(token.encode("utf-8", "replace"), wanted.encode())


def _is_of_this_page(method: str, path: str, headers: Headers, host: str) -> bool:
    """A browser says from where a request comes; what no browser sends says nothing, and needs the token anyway."""
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    if origin is not None and origin not in (f"http://{host}", f"https://{host}"):
        return False
    if site in (None, "same-origin", "none"):
        return True
    # A link from elsewhere may open the page, and do nothing more.
    return method in _SAFE and headers.get("sec-fetch-mode") == "navigate" and not path.startswith("/api/")


def _bounded(receive: Receive) -> Receive:
    """A body without a length is cut off at the limit: what comes of it is no JSON."""
    got = 0

    async def receive_bounded() -> Message:
        nonlocal got
        message = await receive()
        if message["type"] == "http.request":
            got += len(message.get("body", b""))
            if got > BODY_LIMIT:
                return {"type": "http.request", "body": b"", "more_body": False}
        return message

    return receive_bounded


def _split(host: str) -> tuple[str, int | None]:
    name, colon, port = host.lower().rpartition(":")
    if not colon or not port.isascii() or not port.isdigit() or len(port) > 5:
        name, port = host.lower(), ""
    return name.strip("[]"), int(port) if port else None


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _is_loopback(name: str) -> bool:
    return _is_address(name) and ipaddress.ip_address(name).is_loopback


def _refused(status: int, code: str, message: str, remedy: str) -> Response:
    body = Problem(code=code, message=message, remedy=remedy).model_dump_json()
    return Response(body, status_code=status, media_type="application/json")


def _page(status: int, said: str) -> Response:
    return HTMLResponse(
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Redline</title><body>{said}</body></html>',
        status_code=status,
    )
