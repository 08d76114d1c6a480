"""A data folder with sessions in it, and a real `redline serve` over it, for tests that look through a browser.

Sessions come about in four ways: a scripted model works with the real tools (`scripted`), a recorded agent plays its
turn again (`recorded`), another process of Redline runs a turn step by step (`Elsewhere`), or, for shapes that no
tool of ours makes, events are written into the log by hand (`written`).
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from captures.recorded import Recording, stage
from redline.agents.builtin.factory import BuiltinFactory, BuiltinOptions
from redline.changes.codec import to_json
from redline.files.local import LocalFiles
from redline.gateway.archive import Archive
from redline.gateway.conversation import Conversation
from redline.tools.builtin import builtin_toolset

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable

    from redline.changes.record import FileChange
    from redline.gateway.archive import OpenSession
    from redline.tools.permission import PermissionOutcome, PermissionRequest
    from redline.transcript.rows import AnyRow, SessionState

T = TypeVar("T")

START_SECONDS = 60
_ADDRESS = re.compile(r"http://\S+")


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"tool": tool, "arguments": arguments}


def step(text: str = "", *calls: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"text": text, "call": list(calls), **more}


class Server:
    """`redline serve` in a process of its own."""

    def __init__(self, data: Path, *options: str, environment: Mapping[str, str] | None = None) -> None:
        self._data = data
        self._options = options
        self._environment = dict(environment or {})
        self.port = _free_port()
        self.address = ""
        """With the token, as it was printed."""
        self.printed: list[str] = []
        self._process: subprocess.Popen[str] | None = None

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> Server:
        """Returns once it has printed its address. Again after `stop` or `kill`: on the same port."""
        command = [sys.executable, "-m", "redline", "serve", "--port", str(self.port), "--data", str(self._data)]
        self._process = subprocess.Popen(
            [*command, "--no-open", *self._options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=self._data.parent,
            env={**os.environ, **self._environment},
        )
        self.printed = []
        found: Future[str] = Future()
        threading.Thread(target=self._listen, args=(self._process, found), daemon=True).start()
        self.address = found.result(START_SECONDS)
        return self

    def stop(self) -> int:
        """Ask it to end, as Ctrl-C does; its exit code."""
        assert self._process is not None
        self._process.send_signal(signal.SIGINT)
        return self._process.wait(START_SECONDS)

    def kill(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def _listen(self, process: subprocess.Popen[str], found: Future[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            self.printed.append(line)
            match = _ADDRESS.search(line)
            if match and urlsplit(match[0]).port == self.port and not found.done():
                found.set_result(match[0])
        if not found.done():
            found.set_exception(AssertionError("redline serve ended:\n" + "".join(self.printed)))


@dataclass
class Onlooker:
    """Who answers in the process that runs a scripted session: as `answer` says, by default yes."""

    answer: Callable[[PermissionRequest], PermissionOutcome] = lambda _: "allow_once"
    name: str = "terminal"
    shows_changes: bool = True

    async def show(self, rows: Sequence[AnyRow], state: SessionState) -> None:
        pass

    async def stream(self, row: str, turn: int, kind: str, text: str) -> None:
        pass

    async def ask(self, request: PermissionRequest) -> PermissionOutcome | None:
        return self.answer(request)


@dataclass
class House:
    """Folders below `folder`; `run` lends the tests a loop, because a page that is driven has one of its own."""

    folder: Path
    server: Server
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)
    _count: int = 0

    def __post_init__(self) -> None:
        threading.Thread(target=self._loop.run_forever, daemon=True).start()

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def run(self, work: Coroutine[Any, Any, T], seconds: float = 60) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(seconds)

    def begin(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def workspace(self, files: Mapping[str, str | bytes] | None = None) -> Path:
        """A new folder with these files."""
        self._count += 1
        workspace = (self.folder / f"project-{self._count}").resolve()
        workspace.mkdir()
        for name, content in (files or {}).items():
            (workspace / name).parent.mkdir(parents=True, exist_ok=True)
            (workspace / name).write_bytes(content.encode() if isinstance(content, str) else content)
        return workspace

    def script(self, *turns: Sequence[dict[str, Any]], **more: Any) -> str:
        """The name of a model that plays these turns, each a list of steps."""
        self._count += 1
        path = self.folder / f"script-{self._count}.json"
        path.write_text(json.dumps({"turn": [{"step": list(steps)} for steps in turns], **more}))
        return f"script:{path}"

    def scripted(
        self,
        *turns: Sequence[dict[str, Any]],
        workspace: Path | None = None,
        prompts: Sequence[str] = (),
        answer: Callable[[PermissionRequest], PermissionOutcome] = lambda _: "allow_once",
    ) -> str:
        """Play the turns with the real tools, in this process; the session's id."""
        elsewhere = self.elsewhere(*turns, workspace=workspace, answer=answer)
        with elsewhere:
            for number in range(len(turns)):
                elsewhere.prompt(prompts[number] if number < len(prompts) else f"Prompt {number + 1}")
        return elsewhere.session

    def elsewhere(
        self,
        *turns: Sequence[dict[str, Any]],
        workspace: Path | None = None,
        answer: Callable[[PermissionRequest], PermissionOutcome] = lambda _: "allow_once",
    ) -> Elsewhere:
        return Elsewhere(self, workspace or self.workspace(), self.script(*turns), answer)

    def recorded(self, name: str) -> tuple[str, Path]:
        """Play a recording of a real agent again, changes on disk included; the session's id, and where it worked."""
        recording = Recording.of(name)
        base = self.folder / f"recorded-{name.replace('/', '-')}"
        base.mkdir()
        (base / "data").symlink_to(self.data, target_is_directory=True)
        (base / "workspace").mkdir()
        recording.prepare(base / "workspace")

        async def play() -> str:
            async with stage(base, recording.command(), answers=recording.answers()) as scene:
                await scene.conversation.prompt("Do as recorded.", source="terminal")
                return scene.session.log.session

        return self.run(play()), base / "workspace"

    def written(
        self, events: Iterable[tuple[str, dict[str, Any]]], workspace: Path, model: str = "script:none.json"
    ) -> str:
        """Append events to a new session, through the gate and the door as any writer; its id."""

        async def write() -> str:
            async with Archive.open(self.data) as archive:
                with await archive.start(workspace, "builtin", model=model, surface="terminal") as session:
                    for type_, data in events:
                        await session.log.append(type_, data)
                    return session.log.session

        return self.run(write())

    def close(self) -> None:
        self.server.kill()
        self._loop.call_soon_threadsafe(self._loop.stop)


class Elsewhere:
    """A session that this process runs, as `redline run` in another window would. A context manager."""

    def __init__(
        self, house: House, workspace: Path, model: str, answer: Callable[[PermissionRequest], PermissionOutcome]
    ) -> None:
        self._house = house
        self._model = model
        self._surface = Onlooker(answer)
        self.workspace = workspace
        self.session = ""
        self._archive: Archive | None = None
        self._opened: OpenSession | None = None
        self.conversation: Conversation | None = None

    def __enter__(self) -> Elsewhere:
        self._house.run(self._begin())
        return self

    def __exit__(self, *_: object) -> None:
        self._house.run(self._end())

    def prompt(self, text: str) -> str:
        """Work through a prompt; how its turn ended."""
        assert self.conversation is not None
        return self._house.run(self.conversation.prompt(text, source="terminal")).reason

    def begin(self, text: str) -> Future[Any]:
        assert self.conversation is not None
        return self._house.begin(self.conversation.prompt(text, source="terminal"))

    def append(self, type_: str, **data: Any) -> None:
        """An event that nothing of ours would write at this moment."""
        assert self._opened is not None
        self._house.run(self._opened.log.append(type_, data))

    async def _begin(self) -> None:
        self._archive = archive = Archive.open(self._house.data)
        self._opened = opened = await archive.start(self.workspace, "builtin", model=self._model, surface="terminal")
        files = LocalFiles([self.workspace])
        options = BuiltinOptions(self._model, step_limit=50)
        self.conversation = await Conversation.begin(
            opened,
            BuiltinFactory(options, files, archive.bytes, archive.redactor, builtin_toolset()),
            files=files,
            workspace=self.workspace,
            present=builtin_toolset().by_name,
        )
        self.conversation.attach(self._surface)
        self.session = opened.log.session

    async def _end(self) -> None:
        assert self.conversation is not None
        assert self._opened is not None
        assert self._archive is not None
        await self.conversation.close()
        self._opened.close()
        await self._archive.close()


class Story:
    """Events of a session that has one turn, for `House.written`: a call is opened, answered and closed in one go."""

    def __init__(self, workspace: Path, prompt: str = "Do it.") -> None:
        self.workspace = workspace
        self.events: list[tuple[str, dict[str, Any]]] = []
        self._calls = 0
        self.turn = 0
        self.begin(prompt)

    def begin(self, prompt: str) -> None:
        self.turn += 1
        self.add("turn/started", source="terminal", rule="cards and observation")
        self.add("user/message", content=[{"type": "text", "text": prompt}])

    def add(self, type_: str, **data: Any) -> None:
        self.events.append((type_, {"turn": self.turn, **data}))

    def say(self, text: str, message: str = "") -> None:
        self._calls += 1
        self.add("assistant/message", message=message or f"m{self._calls}", text=text)

    def call(
        self,
        name: str,
        changes: Sequence[FileChange] = (),
        *,
        status: str = "completed",
        kind: str = "edit",
        arguments: Mapping[str, Any] | None = None,
        ended: bool = True,
        **result: Any,
    ) -> str:
        """A call with what it proposed, and its end: with the changes on disk if it completed, else without."""
        self._calls += 1
        identity = f"c{self._calls}"
        proposed = [{**to_json(change), "provenance": "proposed"} for change in changes]
        self.add("tool/call", call=identity, name=name, kind=kind, arguments=dict(arguments or {}), proposed=proposed)
        if ended:
            landed = [to_json(change) for change in changes] if status == "completed" else []
            data = {"content": [], "changes": landed, **result}
            self.add("tool/result", call=identity, name=name, kind=kind, status=status, **data)
        return identity

    def end(self, reason: str = "completed", **more: Any) -> Story:
        self.add("turn/ended", reason=reason, **more)
        return self


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
