"""The gateway: one room a session for all surfaces, taken up when it is needed and let go again."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from gateway.parlour import Parlour, Screen, call, never, parlour, step, until
from redline.cli.config import Config
from redline.cli.roster import ConfiguredRoster
from redline.gateway.gateway import Gateway
from redline.gateway.roster import GatewayError
from redline.sessions.store import StoreError
from redline.tools.builtin import builtin_toolset

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


@asynccontextmanager
async def gateway(made: Parlour, **more: float) -> AsyncIterator[Gateway]:
    roster = ConfiguredRoster(Config(data=made.folder / "data"))
    opened = Gateway(made.archive, roster, builtin_toolset().by_name, **more)
    try:
        yield opened
    finally:
        await opened.close()


@pytest.fixture
async def made(tmp_path: Path) -> AsyncIterator[Parlour]:
    async with parlour(tmp_path) as one:
        yield one


async def test_all_who_open_a_session_share_its_room(made: Parlour) -> None:
    async with gateway(made) as house:
        room = await house.start(made.workspace, "builtin", made.script([step("Hello.")]), source="chat")
        again, once_more = await asyncio.gather(house.open(room.session), house.open(room.session))
        assert room is again is once_more
        one, two = Screen(name="chat"), Screen(name="page")
        room.attach(one)
        room.attach(two)
        assert room.runs == "nobody"
        stop = await room.prompt("Hi.", source="chat")
        assert (stop.reason, room.runs) == ("completed", "here")
        await until(lambda: one.kinds() == two.kinds() == ["user", "agent", "turn_end"])


async def test_a_surface_that_comes_while_nobody_runs_the_session_stays_through_everything(made: Parlour) -> None:
    async with gateway(made) as house:
        room = await house.start(made.workspace, "", made.script([step("one")], [step("two")]), source="chat")
        screen = Screen()
        room.attach(screen)
        for prompt in ("First.", "Second."):
            await room.prompt(prompt, source="chat")
            await room.let_go()
            assert room.runs == "nobody"
            assert not made.archive.is_running(room.session)
        await until(lambda: screen.kinds() == ["user", "agent", "turn_end"] * 2)


async def test_to_be_let_go_is_no_use_of_a_session(made: Parlour) -> None:
    async with gateway(made) as house:
        room = await house.start(made.workspace, "", made.script([step("one")]), source="chat")
        await room.prompt("First.", source="chat")
        used = (await made.archive.summary(room.session)).updated_at
        await room.let_go()
        assert (await made.archive.summary(room.session)).updated_at == used


async def test_a_taken_up_session_remembers_what_was_allowed(made: Parlour) -> None:
    write = [step("", call("write", path="{workspace}/a.txt", content=content)) for content in ("a\n", "b\n")]
    read = step("", call("read", path="{workspace}/a.txt"))
    async with gateway(made) as house:
        room = await house.start(made.workspace, "", made.script([write[0]], [read, write[1]]), source="chat")
        screen = Screen(answer="allow_session")
        room.attach(screen)
        await room.prompt("First.", source="chat")
        await room.let_go()
        await room.prompt("Second.", source="chat")
        assert (made.workspace / "a.txt").read_text() == "b\n"
        assert len(screen.asked) == 1


async def test_a_session_that_another_process_runs_is_refused_with_a_remedy(made: Parlour) -> None:
    conversation = await made.begin(made.script([step("Hello.")]))
    session = conversation.session.log.session
    async with gateway(made) as house:
        room = await house.open(session)
        screen = Screen()
        room.attach(screen)
        assert room.runs == "elsewhere"
        with pytest.raises(StoreError, match="BUSY") as refused:
            await room.prompt("Me too.", source="chat")
        assert refused.value.remedy
        for act in (room.cancel, lambda: room.plan_undo(turn=1)):
            with pytest.raises((StoreError, GatewayError), match="BUSY"):
                await act()
        await conversation.prompt("Mine.", source="terminal")
        await until(lambda: screen.kinds() == ["user", "agent", "turn_end"])
    await conversation.close()


async def test_a_prompt_and_an_undo_at_once_do_not_meet(made: Parlour) -> None:
    async with gateway(made) as house:
        room = await house.start(made.workspace, "", made.script([step("", call("bash", command="true"))]), source="c")
        screen = Screen(answer=never)
        room.attach(screen)
        task = await room.submit("Run.", source="c")
        await until(lambda: screen.asked)
        with pytest.raises(GatewayError, match="RUNNING"):
            await room.plan_undo()
        assert await room.cancel()
        assert task.cancelled() or task.result().reason == "cancelled"


async def test_what_runs_is_closed_in_the_log_when_the_gateway_closes(made: Parlour) -> None:
    async with gateway(made) as house:
        room = await house.start(made.workspace, "", made.script([step("", call("bash", command="true"))]), source="c")
        screen = Screen(answer=never)
        room.attach(screen)
        await room.submit("Run.", source="c")
        await until(lambda: screen.asked)
    ended = await made.archive.store.of_types(room.session, ["turn/ended", "session/closed"])
    assert [event.type for event in ended] == ["turn/ended", "session/closed"]
    assert not made.archive.is_running(room.session)
    with pytest.raises(GatewayError, match="STOPPING"):
        await house.open(room.session)


async def test_a_session_whose_folder_is_gone_can_be_read_and_not_prompted(made: Parlour) -> None:
    async with gateway(made) as house:
        gone = made.folder / "gone"
        gone.mkdir()
        room = await house.start(gone, "", made.script([step("Hello.")], [step("Again.")]), source="c")
        await room.prompt("Hi.", source="c")
        await room.let_go()
        gone.rmdir()
        assert [row.kind for row in (await room.page()).rows] == ["user", "agent", "turn_end"]
        with pytest.raises(GatewayError, match="FOLDER"):
            await room.prompt("Again.", source="c")
        gone.mkdir()
        assert (await room.prompt("Again.", source="c")).reason == "completed"


async def test_an_unknown_session_is_no_session(made: Parlour) -> None:
    async with gateway(made) as house:
        for name in ("nobody", "../x", ""):
            with pytest.raises(StoreError, match="NO_SESSION"):
                await house.open(name)


async def test_listeners_hear_of_what_every_process_does(made: Parlour) -> None:
    async with gateway(made) as house:
        heard: dict[str, str] = {}
        gone: list[str] = []

        def listen(changed: object, removed: object) -> None:
            heard.update((one.summary.session, one.runs) for one in changed)  # type: ignore[attr-defined]
            gone.extend(removed)  # type: ignore[call-overload]

        leave = house.listen(listen)
        conversation = await made.begin(made.script([step("Hello.")]))
        session = conversation.session.log.session
        await until(lambda: heard.get(session) == "elsewhere")
        await conversation.close()
        conversation.session.close()
        await until(lambda: heard.get(session) == "nobody")
        await made.archive.delete(session)
        await until(lambda: gone == [session])
        leave()


async def test_the_list_says_what_a_session_is_doing(made: Parlour) -> None:
    steps = [step("", call("write", path="a.txt", content="one")), step("Done.")]
    async with gateway(made) as house:
        room = await house.start(made.workspace, "", made.script(steps), source="c")

        async def doing() -> str:
            ((listed, *_), _) = await house.sessions()
            return listed.doing

        assert await doing() == ""
        room.attach(Screen(answer=never))
        turn = await room.submit("Write.", source="c")
        await until(lambda: room.doing == "asking")
        assert await doing() == "asking"
        (question,) = [row for row in room.rows if row.kind == "permission"]
        room.answer(question.request, "allow_once", "c")
        await turn
        assert await doing() == ""


@pytest.mark.parametrize("name", ["/" + "x" * 300, "~nobody-of-that-name", "/a\0b", "relative", "", "/nowhere"])
async def test_what_can_be_no_folder_is_told_of_any_name(made: Parlour, name: str) -> None:
    async with gateway(made) as house:
        with pytest.raises(GatewayError, match="FOLDER"):
            await house.start(name, "", made.script([step("Hello.")]), source="c")
