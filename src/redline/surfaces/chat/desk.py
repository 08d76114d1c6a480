"""The desk of one platform: who may talk, which place shows which session, and what a message or a press does."""

from __future__ import annotations

import asyncio
import logging
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from redline.files.local import LocalFiles
from redline.gateway.roster import GatewayError
from redline.sessions.store import StoreError
from redline.surfaces.chat import answers
from redline.surfaces.chat import rows as made_from
from redline.surfaces.chat.cards import Setting, short
from redline.surfaces.chat.commands import Command, described, parsed
from redline.surfaces.chat.paginate import paginate
from redline.surfaces.chat.parts import Text
from redline.surfaces.chat.places import Begun
from redline.surfaces.chat.screens import Screens
from redline.surfaces.visible import visible
from redline.transcript.rows import Problem
from redline.workspace.store import BytesError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from redline.gateway.gateway import Gateway
    from redline.gateway.room import Room
    from redline.surfaces.chat.parts import Part
    from redline.surfaces.chat.places import Places
    from redline.surfaces.chat.platform import Place, Platform
    from redline.surfaces.chat.screen import Screen

_log = logging.getLogger(__name__)

_LISTED = 10
CLOSED = "This question is not open any more."


@dataclass(frozen=True, slots=True)
class Rules:
    """Of one platform, from the configuration."""

    allow: frozenset[str]
    """Ids of people. Nobody else is listened to; empty: nobody at all."""
    folders: Mapping[str, str] = field(default_factory=dict)
    """By name; the first is where a new session works unless another is named."""
    agent: str = ""
    setting: Setting = field(default_factory=Setting)
    answer_seconds: float = 3600.0
    """After which a question that nobody answered is a no."""
    tell: Callable[[str], None] = lambda _line: None
    """Takes a line for whoever runs Redline, such as that the platform lets it not post in a channel."""


@dataclass(frozen=True, slots=True)
class Person:
    id: str
    name: str


class Desk:
    def __init__(self, platform: Platform, gateway: Gateway, places: Places, rules: Rules) -> None:
        self.rules = rules
        self._platform = platform
        self._gateway = gateway
        self._places = places
        self.screens = Screens(platform, places, gateway.archive.redactor, rules.tell)
        self._doors: dict[Place, asyncio.Lock] = {}
        self._told: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Bring to its end what an earlier process began: open turns, questions that nobody can answer any more."""
        for begun in self._places.unfinished(self._platform.name):
            try:
                await self._finish(begun)
            except Exception:
                _log.exception("%s cannot be shown to its end", begun.flow)
                self._places.done(begun.flow)

    async def close(self) -> None:
        """What stands in the outboxes is delivered, for some seconds at most."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*(outbox.close() for outbox in self.screens.close()))

    def admits(self, person: Person) -> bool:
        return person.id in self.rules.allow

    def _closed_door(self, person: Person) -> str:
        return (
            f"You are not on the list of those whom I listen to. Your id is {visible(person.id)}; the owner of this "
            f"Redline can add it to allow under [{self._platform.name}] in the configuration."
        )

    # What people do.

    def take(self, place: Place, text: str, person: Person) -> None:
        """A message, dealt with beside whatever else comes: a platform wants its acknowledgement at once."""
        task = asyncio.get_running_loop().create_task(self.heard(place, text, person))
        self._tasks.add(task)
        task.add_done_callback(self._over)

    def _over(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("A message from %s could not be dealt with", self._platform.name, exc_info=error)

    async def heard(self, place: Place, text: str, person: Person) -> None:
        """A message. Whoever is not on the list is told so once, with the id that the list would need."""
        if not self.admits(person):
            if person.id not in self._told:
                self._told.add(person.id)
                self._say(place, Text(self._closed_door(person)))
            return
        if not text.strip():
            return
        try:
            command = parsed(text)
            if command is not None:
                await self._command(place, command)
            else:
                await self._prompt(place, text)
        except (StoreError, GatewayError, BytesError) as error:
            self._say(place, made_from.problem(Problem(code=error.code, message=error.message, remedy=error.remedy)))

    async def pressed(self, token: str, choice: str, person: Person) -> str:
        """A button; what to tell whoever pressed it, empty where the message itself will say it."""
        if not self.admits(person):
            return "You are not on the list of those who may answer."
        for screen in self.screens:
            question = screen.questions.get(token)
            if question is None:
                continue
            try:
                by = f"{self._platform.name}: {person.name or person.id}"
                return "" if screen.room.answer(question.identity, choice, by) else CLOSED
            except GatewayError as error:
                return f"{error.message} {error.remedy}"
        return CLOSED

    # Sessions.

    async def _prompt(self, place: Place, text: str) -> None:
        async with self._doors.setdefault(place, asyncio.Lock()):
            screen = await self._screen(place) or await self._new(place)
        withdraws = bool(screen.questions)
        screen.typed(text)
        try:
            await screen.room.submit(text, source=self._platform.name)
        except BaseException:
            screen.typed(text, times=-1)
            raise
        if screen.room.waiting and screen.room.state.running and not withdraws:
            said = f"This waits for the end of the running turn; {self._platform.mark}stop ends that."
            self._say(place, Text(said, "quiet"))

    async def _screen(self, place: Place) -> Screen | None:
        """Of the session that the place shows; None: it shows none, or one that is gone."""
        if (screen := self.screens.here(place)) is not None:
            return screen
        session = self._places.session(self._platform.name, place)
        if session is None:
            return None
        try:
            return self._show(place, await self._gateway.open(session))
        except StoreError as error:
            if error.code != "NO_SESSION":
                raise
            return None

    async def _new(self, place: Place, folder: str = "", agent: str = "") -> Screen:
        folders = self.rules.folders
        if not folders:
            raise GatewayError(
                "NO_FOLDER",
                "No folder is set in which sessions of this chat may work.",
                f'Name one in the configuration: [{self._platform.name}.folders] and a line such as app = "~/src/app".',
            )
        name = folder or next(iter(folders))
        if name not in folders:
            raise GatewayError("NO_FOLDER", f"There is no folder {visible(name)!r}.", f"Known: {', '.join(folders)}.")
        try:
            room = await self._gateway.start(folders[name], agent or self.rules.agent, source=self._platform.name)
        except GatewayError as error:
            if error.code != "UNKNOWN_AGENT":
                raise
            known = ", ".join(sorted(offer.name for offer in self._gateway.offers()))
            raise GatewayError(error.code, error.message, f"Known are {known}.") from error
        self._places.bind(self._platform.name, place, room.session)
        return self._show(place, room)

    def _show(self, place: Place, room: Room) -> Screen:
        return self.screens.show(place, room, self.rules.setting, self.rules.answer_seconds)

    def _joined(self, place: Place, room: Room) -> Screen:
        """With the turn that runs, from its beginning."""
        turn = room.state.turn if room.state.running else 0
        begun = min((row.seq for row in room.fanout.transcript.rows if turn and row.turn == turn), default=None)
        after = None if begun is None else begun - 1
        return self.screens.show(
            place, room, self.rules.setting, self.rules.answer_seconds, after=after, since=after
        )  # fmt: skip

    async def _finish(self, begun: Begun) -> None:
        """The turn or the question of a flow that an earlier process did not bring to its end."""
        if not begun.turn:
            self._places.done(begun.flow)  # an answer to a command: it would come out of nowhere now
            return
        room = await self._gateway.open(begun.session)
        if room.state.running and room.runs == "nobody":
            # What a crash left open is closed by what is on the disk; the room sees it within a second.
            (await self._gateway.archive.resume(begun.session, LocalFiles([room.workspace]))).close()
        before = min((row.seq for row in room.fanout.transcript.rows if row.turn == begun.turn), default=0) - 1
        screen = self.screens.of(begun.place, begun.session)
        if screen is None:
            is_here = self._places.session(self._platform.name, begun.place) == begun.session
            attach = self.screens.show if is_here else self.screens.beside
            screen = attach(begun.place, room, self.rules.setting, self.rules.answer_seconds, after=max(before, 0))
        _, asked, identity = begun.flow.partition("/ask/")
        if (asked and not await screen.settle_old(identity)) or before < 0:
            self._places.done(begun.flow)

    # Commands.

    async def _command(self, place: Place, command: Command) -> None:
        match command.name:
            case "help":
                self._say(place, Text(described(self._platform.mark)))
            case "new":
                await self._start_new(place, *command.words[:2])
            case "sessions":
                await self._sessions(place, *command.words[:1])
            case "stop":
                screen = await self._screen(place)
                stopped = await screen.room.cancel() if screen is not None else False
                if not stopped:
                    self._say(place, Text("Nothing is running here."))
            case "diff":
                await self._diff(place, command.words)

    async def _start_new(self, place: Place, folder: str = "", agent: str = "") -> None:
        async with self._doors.setdefault(place, asyncio.Lock()):
            screen = await self._new(place, folder, agent)
        others = [name for name in self.rules.folders if name != (folder or next(iter(self.rules.folders)))]
        more = f" Other folders: {', '.join(others)}." if others else ""
        agent = visible(screen.room.state.agent)
        self._say(place, Text(f"New session in {visible(str(screen.room.workspace))}, with {agent}.{more}"))

    async def _sessions(self, place: Place, wanted: str = "") -> None:
        here = self._places.session(self._platform.name, place)
        if wanted:
            try:
                session = await self._gateway.archive.find(wanted)
            except StoreError as error:
                if error.code != "NO_SESSION":
                    raise
                raise StoreError(error.code, error.message, f"{self._platform.mark}sessions lists them.") from error
            async with self._doors.setdefault(place, asyncio.Lock()):
                screen = self._joined(place, await self._gateway.open(session))
                self._places.bind(self._platform.name, place, session)
            title = short(visible(screen.room.state.title or "a session without a title"))
            self._say(place, Text(f"From now on this is “{title}”, in {visible(str(screen.room.workspace))}."))
            if screen.room.runs == "here":
                await screen.join()
            return
        listed, _ = await self._gateway.sessions(limit=_LISTED)
        self._say(place, answers.listing(listed[:_LISTED], here))

    async def _diff(self, place: Place, wanted: Sequence[str]) -> None:
        screen = await self._screen(place)
        if screen is None:
            self._say(place, Text("No session stands here yet; the first message begins one."))
            return
        self._say(
            place, *await answers.diff(screen.room, wanted, self.rules.setting, screen.wholes, self._platform.mark)
        )

    # Saying.

    def _say(self, place: Place, *parts: Part) -> None:
        """Something that is no row of a session."""
        name = f"{self._platform.name}/{place.channel}/{place.thread}/say/{secrets.token_hex(8)}"
        platform = self._platform
        self.screens.outbox(place).show(
            Begun(name, place, "", 0), lambda: paginate(parts, platform.measure), urgent=True, final=True
        )
