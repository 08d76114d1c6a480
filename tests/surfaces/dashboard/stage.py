"""A served dashboard with a scripted model behind it, and a tab that follows it as the page does."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import httpx2

from gateway.parlour import call, step, until
from redline.cli.config import Config
from redline.cli.roster import ConfiguredRoster
from redline.gateway.archive import Archive
from redline.gateway.gateway import Gateway
from redline.surfaces.dashboard.guard import Access
from redline.surfaces.dashboard.server import listen, serve
from redline.tools.builtin import builtin_toolset

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence
    from pathlib import Path

    from redline.gateway.permissions import Approval

__all__ = ["House", "Picture", "Tab", "call", "dashboard", "step", "until"]

TOKEN = "a-token-of-the-test-0123456789"


@dataclass
class House:
    """The server, and what stands behind it."""

    folder: Path
    workspace: Path
    archive: Archive
    gateway: Gateway
    access: Access
    client: httpx2.AsyncClient
    stop: asyncio.Event
    tabs: list[Tab] = field(default_factory=list)

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.access.port}"

    def script(self, *turns: Sequence[dict[str, Any]], **more: Any) -> str:
        """A model that plays these turns, each a list of steps."""
        path = self.folder / f"script-{len(list(self.folder.glob('script-*')))}.json"
        path.write_text(json.dumps({"turn": [{"step": list(steps)} for steps in turns], **more}))
        return f"script:{path}"

    async def get(self, path: str, /, **query: Any) -> Any:
        answer = await self.client.get(f"/api/{path}", params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def post(self, path: str, body: Mapping[str, Any], *, status: int = 200) -> Any:
        answer = await self.client.post(f"/api/{path}", json=dict(body))
        assert answer.status_code == status, answer.text
        return answer.json()

    async def begin(self, *turns: Sequence[dict[str, Any]], prompt: str = "", **more: Any) -> str:
        """A new session on a script; its id."""
        body = {"folder": str(self.workspace), "model": self.script(*turns, **more), "prompt": prompt}
        return str((await self.post("sessions", body, status=201))["session"])

    async def rows(self, session: str, limit: int = 1000) -> list[dict[str, Any]]:
        """All rows, page by page."""
        found: list[dict[str, Any]] = []
        before: int | None = None
        while True:
            query = {"limit": limit} if before is None else {"limit": limit, "before": before}
            page = await self.get(f"sessions/{session}/rows", **query)
            found = page["rows"] + found
            before = page["before"]
            if before is None:
                return found

    async def done(self, session: str, turn: int = 1) -> None:
        """Wait for the end of a turn."""

        async def ended() -> bool:
            return any(row["id"] == f"turn_end:{turn}" for row in await self.rows(session))

        await until(ended)

    async def asked(self, session: str, count: int = 1) -> dict[str, Any]:
        """Wait for a question; its row."""

        async def open_ones() -> list[dict[str, Any]]:
            rows = [row for row in await self.rows(session) if row["kind"] == "permission"]
            return [row for row in rows[count - 1 :] if row["outcome"] is None]

        await until(open_ones)
        return (await open_ones())[0]

    async def answer(self, session: str, option: str, count: int = 1) -> Any:
        request = (await self.asked(session, count))["request"]
        return await self.post(f"sessions/{session}/permission", {"request": request, "option": option})

    def tab(self, sessions: str = "", **more: Any) -> Tab:
        """Follow sessions, given as `session:after`."""
        tab = Tab(self, sessions, **more)
        self.tabs.append(tab)
        return tab


class Picture:
    """What a page makes of the stream's bytes, by the rules of the contract."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[str, dict[str, Any]]] = {}
        self.states: dict[str, dict[str, Any]] = {}
        self.listed: dict[str, dict[str, Any]] = {}
        self.resets: list[dict[str, Any]] = []
        self.events: list[str] = []
        self.last = ""
        self.stream = ""
        self._waiting = b""

    def ordered(self, session: str) -> list[dict[str, Any]]:
        return sorted(self.rows.get(session, {}).values(), key=lambda row: row["seq"])

    def texts(self, session: str) -> list[str]:
        return [row["text"] for row in self.ordered(session) if row["kind"] in ("agent", "thought")]

    def has(self, session: str, row: str) -> Callable[[], bool]:
        return lambda: row in self.rows.get(session, {})

    def feed(self, chunk: bytes) -> None:
        self._waiting += chunk
        while b"\n\n" in self._waiting:
            whole, _, self._waiting = self._waiting.partition(b"\n\n")
            self._take(whole.decode())

    def _take(self, whole: str) -> None:
        fields = dict(line.partition(": ")[::2] for line in whole.split("\n") if not line.startswith(":"))
        if "id" in fields:
            self.last = fields["id"]
        if "data" not in fields:
            return
        kind, data = fields["event"], json.loads(fields["data"])
        self.events.append(kind)
        match kind:
            case "hello":
                self.stream = data["stream"]
            case "rows":
                known = self.rows.setdefault(data["session"], {})
                for row in data["rows"]:
                    if row["revision"] >= known.get(row["id"], row)["revision"]:
                        known[row["id"]] = row
            case "text":
                known = self.rows.setdefault(data["session"], {})
                row = known.setdefault(
                    data["row"], {"id": data["row"], "kind": data["kind"], "text": "", "seq": 2**53, "revision": 0}
                )
                known[data["row"]] = {**row, "text": data["text"] if data["replace"] else row["text"] + data["text"]}
            case "state":
                self.states[data["session"]] = data["state"]
            case "sessions":
                self.listed.update((one["session"], one) for one in data["sessions"])
                for gone in data["removed"]:
                    self.listed.pop(gone, None)
            case "reset":
                self.resets.append(data)
            case _:
                raise AssertionError(f"an event of no known kind: {kind}")


class Tab(Picture):
    """Follows the stream, and remembers what a browser remembers."""

    def __init__(self, house: House, sessions: str, *, listing: bool = False, last: str = "") -> None:
        super().__init__()
        self.last = last
        self.gate = asyncio.Event()
        self.gate.set()
        self._house = house
        self._task = asyncio.create_task(self._follow(sessions, listing))

    async def leave(self) -> None:
        self._task.cancel()
        await asyncio.wait({self._task})

    async def _follow(self, sessions: str, listing: bool) -> None:
        query = {"sessions": sessions, "listing": str(listing).lower()}
        headers = {"Last-Event-ID": self.last} if self.last else {}
        client = self._house.client
        async with client.stream("GET", "/api/stream", params=query, headers=headers, timeout=None) as answer:
            assert answer.status_code == 200
            assert answer.headers["content-type"].startswith("text/event-stream")
            async for chunk in answer.aiter_raw():
                self.feed(chunk)
                await self.gate.wait()


@asynccontextmanager
async def dashboard(
    folder: Path, *, approval: Approval = "ask", agent_command: str = "", **options: Any
) -> AsyncIterator[House]:
    """A real server on a socket, in this loop. `options`: of the gateway."""
    workspace = folder / "workspace"
    workspace.mkdir(exist_ok=True)
    archive = Archive.open(folder / "data")
    config = Config(data=folder / "data", approval=approval, agent_command=agent_command)
    gateway = Gateway(archive, ConfiguredRoster(config), builtin_toolset().by_name, **options)
    bound = listen("127.0.0.1", 0)
    access = Access(bound.getsockname()[1], token=TOKEN)
    ready = asyncio.Event()
    served = asyncio.create_task(serve(gateway, bound, access, here=folder, ready=ready.set))
    try:
        await asyncio.wait({served, asyncio.create_task(ready.wait())}, return_when=asyncio.FIRST_COMPLETED)
        limits = httpx2.Limits(max_connections=None)
        # A page waits for its answers as long as they take; the first session of a process loads the agent for it.
        async with httpx2.AsyncClient(
            base_url=f"http://127.0.0.1:{access.port}",
            headers={"Authorization": f"Bearer {TOKEN}"},
            limits=limits,
            timeout=None,
        ) as client:
            house = House(folder, workspace, archive, gateway, access, client, asyncio.Event())
            yield house
            for tab in house.tabs:
                await tab.leave()
    finally:
        served.cancel()
        await asyncio.wait({served})
        await archive.close()
