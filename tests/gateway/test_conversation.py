"""A conversation closes what it opens, whatever the agent, the surfaces and the user do."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from gateway.parlour import Parlour, Screen, call, events, never, parlour, step, until
from redline.agents.agent import Host, Stop
from redline.gateway.rule import REPEATED
from redline.sessions.store import StoreError
from redline.tools.builtin import builtin_toolset
from redline.transcript.fold import rows
from redline.workspace.store import BytesError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from redline.sessions.log import SessionLog


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Parlour]:
    async with parlour(tmp_path) as made:
        yield made


class Puppet:
    """An agent that does what a test says, and keeps the rules that it was given."""

    name = "puppet"
    model = "none"

    def __init__(self, act: Any = None) -> None:
        self.act = act
        self.rules: list[str] = []
        self.heard: list[str] = []

    def __call__(self, *, log: SessionLog, host: Host, workspace: Path) -> Puppet:
        self.log, self.host = log, host
        return self

    async def prompt(self, turn: int, content: Any, rule: str) -> Stop:
        self.rules.append(rule)
        self.heard.append(content[0]["text"])
        if self.act is not None:
            await self.act(self, turn)
        return Stop("completed")

    async def close(self) -> None:
        return None


async def test_an_edit_is_shown_as_it_happens_and_read_back_the_same(place: Parlour) -> None:
    write = call("write", path="{workspace}/a.txt", content="hello\n")
    model = place.script([step("I write.", write), step("Done.")], piece=4)
    conversation = await place.begin(model)
    screen = Screen(answer="allow_once")
    conversation.attach(screen)
    stop = await conversation.prompt("Write\n  a file", source="terminal")
    assert stop == Stop("completed")
    assert (place.workspace / "a.txt").read_text() == "hello\n"
    assert [change.added for change in screen.asked[0].changes] == [1]
    assert "".join(screen.streamed) == "I write.Done."
    assert screen.kinds() == ["user", "agent", "tool", "permission", "agent", "turn_end"]
    assert screen.state is not None
    assert (screen.state.title, screen.state.running) == ("Write a file", False)
    kept = rows(await events(conversation), builtin_toolset().by_name)
    assert {row.id: row for row in kept} == screen.rows
    starts = await events(conversation, "turn/started")
    assert [event.data for event in starts] == [{"turn": 1, "source": "terminal", "rule": "cards_and_observation"}]


async def test_every_prompt_of_a_script_is_a_turn_and_its_end_is_told(place: Parlour) -> None:
    conversation = await place.begin(place.script([step("One.")], [step("Two.", error="the line is dead")]))
    assert (await conversation.prompt("1", source="pipe")).reason == "completed"
    assert (await conversation.prompt("2", source="pipe")).code == "SCRIPT_FAULT"
    assert (await conversation.prompt("3", source="pipe")).code == "SCRIPT_OVER"
    ends = [event.data for event in await events(conversation, "turn/ended")]
    assert [end["reason"] for end in ends] == ["completed", "failed", "failed"]
    assert ends[1]["error"]["message"] == "the line is dead"
    assert ends[2]["error"]["remedy"]


async def test_nobody_there_means_no(place: Parlour) -> None:
    write = call("write", path="{workspace}/a.txt", content="x\n")
    conversation = await place.begin(place.script([step("", write), step("So not.")]))
    assert (await conversation.prompt("go", source="pipe")).reason == "completed"
    assert not (place.workspace / "a.txt").exists()
    [answer] = await events(conversation, "permission/answered")
    assert (answer.data["outcome"], answer.data["by"]) == ("unavailable", "nobody")
    [result] = await events(conversation, "tool/result")
    assert result.data["status"] == "rejected"


async def test_the_first_surface_that_answers_settles_it_for_all(place: Parlour) -> None:
    write = call("write", path="{workspace}/a.txt", content="x\n")
    conversation = await place.begin(place.script([step("", write)]))
    slow, passing, quick = Screen("slow", answer=never), Screen("passing"), Screen("quick", answer="reject")
    for screen in (slow, passing, quick):
        conversation.attach(screen)
    await conversation.prompt("go", source="quick")
    [answer] = await events(conversation, "permission/answered")
    assert (answer.data["outcome"], answer.data["by"]) == ("reject", "quick")
    for screen in (slow, passing, quick):
        [row] = [row for row in screen.rows.values() if row.kind == "permission"]
        assert (row.outcome, row.by) == ("reject", "quick")
    assert not (place.workspace / "a.txt").exists()


async def test_a_surface_that_raises_or_hangs_stops_no_turn(place: Parlour, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("redline.gateway.conversation._DRAIN_SECONDS", 0.2)

    class Broken(Screen):
        async def show(self, rows: Any, state: Any) -> None:
            raise OSError("the pipe is closed")

        async def ask(self, request: Any) -> Any:
            raise RuntimeError("no keyboard")

    class Stuck(Screen):
        async def show(self, rows: Any, state: Any) -> None:
            await asyncio.Event().wait()

    write = call("write", path="{workspace}/a.txt", content="x\n")
    conversation = await place.begin(place.script([step("Hm.", write), step("Done.")]))
    good = Screen("good", answer="allow_once")
    for screen in (Broken("broken"), Stuck("stuck", answer=never), good):
        conversation.attach(screen)
    assert (await conversation.prompt("go", source="good")).reason == "completed"
    assert (place.workspace / "a.txt").exists()
    await conversation.close()
    notices = [event.data for event in await events(conversation, "notice/raised")]
    assert [(notice["code"], "broken" in notice["message"]) for notice in notices] == [("SURFACE_FAULT", True)]


async def test_a_stopped_turn_is_closed_as_cancelled_with_its_calls(place: Parlour) -> None:
    conversation = await place.begin(place.script([step("", call("bash", command="sleep 60"))], [step("Hi.")]))
    conversation.attach(Screen(answer="allow_once"))
    running = asyncio.create_task(conversation.prompt("go", source="terminal"))
    await until(lambda: events(conversation, "permission/answered"))
    assert await conversation.cancel()
    assert (await running).reason == "cancelled"
    assert [event.data["status"] for event in await events(conversation, "tool/result")] == ["cancelled"]
    assert [event.data["reason"] for event in await events(conversation, "turn/ended")] == ["cancelled"]
    assert not await conversation.cancel()
    assert (await conversation.prompt("hello", source="terminal")).reason == "completed"


async def test_an_interrupt_of_the_caller_closes_the_turn_before_it_goes_on(place: Parlour) -> None:
    conversation = await place.begin(place.script([step("x" * 100)], delay=0.5))
    running = asyncio.create_task(conversation.prompt("go", source="terminal"))
    await until(lambda: events(conversation, "user/message"))
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert [event.data["reason"] for event in await events(conversation, "turn/ended")] == ["cancelled"]


async def test_a_new_prompt_withdraws_the_open_question_and_the_old_turn(place: Parlour) -> None:
    write = call("write", path="{workspace}/a.txt", content="x\n")
    conversation = await place.begin(place.script([step("", write), step("Never.")], [step("Other things.")]))
    screen = Screen(answer=never)
    conversation.attach(screen)
    first = asyncio.create_task(conversation.prompt("write it", source="terminal"))
    await until(lambda: screen.asked)
    second = await conversation.prompt("no, do something else", source="terminal")
    assert (await first).reason == "cancelled"
    assert second.reason == "completed"
    assert not (place.workspace / "a.txt").exists()
    [answer] = await events(conversation, "permission/answered")
    assert answer.data["outcome"] == "cancelled"
    [result] = await events(conversation, "tool/result")
    assert (result.data["status"], result.data["changes"]) == ("cancelled", [])
    assert [event.data["reason"] for event in await events(conversation, "turn/ended")] == ["cancelled", "completed"]


async def test_prompts_that_come_while_one_is_worked_on_wait_their_turn(place: Parlour) -> None:
    conversation = await place.begin(place.script([step("One.")], [step("Two.")], [step("Three.")], delay=0.05))
    await asyncio.gather(*(conversation.prompt(str(number), source="terminal") for number in (1, 2, 3)))
    log = [event.data.get("turn") for event in await events(conversation, "turn/started", "turn/ended")]
    assert log == [1, 1, 2, 2, 3, 3]


async def test_an_agent_with_a_fault_costs_its_turn_and_no_more(place: Parlour) -> None:
    async def fail(_: Puppet, turn: int) -> None:
        if turn == 1:
            raise KeyError("oops")

    conversation = await place.begin(factory=Puppet(fail))
    stop = await conversation.prompt("go", source="terminal")
    assert (stop.reason, stop.code) == ("failed", "AGENT_FAULT")
    assert (await conversation.prompt("again", source="terminal")).reason == "completed"
    assert len(await events(conversation, "turn/ended")) == 2


async def test_calls_that_a_faulty_agent_left_open_are_closed(place: Parlour) -> None:
    async def leave_open(puppet: Puppet, turn: int) -> None:
        data = {"turn": turn, "call": "c", "name": "bash", "kind": "execute", "arguments": {}, "proposed": []}
        await puppet.log.append("tool/call", data)
        raise ValueError("lost my way")

    conversation = await place.begin(factory=Puppet(leave_open))
    assert (await conversation.prompt("go", source="terminal")).code == "AGENT_FAULT"
    assert len(await events(conversation, "tool/result")) == 1
    assert len(await events(conversation, "turn/ended")) == 1


async def test_the_rule_follows_the_surface_and_is_repeated_on_the_way_from_cards_to_text(place: Parlour) -> None:
    puppet = Puppet()
    conversation = await place.begin(factory=puppet)
    conversation.attach(Screen("terminal"))
    conversation.attach(Screen("sms", shows_changes=False))
    for source in ("terminal", "sms", "terminal", "who knows"):
        await conversation.prompt("[REDLINE-RULE] none", source=source)
    rules = [event.data["rule"] for event in await events(conversation, "turn/started")]
    assert rules == ["cards_only", "text_only", "cards_only", "text_only"]
    assert [REPEATED in rule for rule in puppet.rules] == [False, True, False, True]
    assert all("REDLINE" not in text for text in puppet.heard)
    [kept, *_] = await events(conversation, "user/message")
    assert kept.data["content"][0]["text"] == "[REDLINE-RULE] none"


async def test_nothing_is_repeated_before_a_session_has_seen_cards_and_all_that_comes_after_is(place: Parlour) -> None:
    puppet = Puppet()
    conversation = await place.begin(factory=puppet)
    conversation.attach(Screen("terminal"))
    for source in ("sms", "terminal", "sms"):
        await conversation.prompt("x", source=source)
    assert [REPEATED in rule for rule in puppet.rules] == [False, False, True]


async def test_a_resumed_conversation_goes_on_with_its_turns_and_its_rows(place: Parlour) -> None:
    edit = call("edit", path="{workspace}/a.txt", old_string="one", new_string="two")
    model = place.script([step("", call("read", path="{workspace}/a.txt")), step("I see one.")], [step("", edit)])
    (place.workspace / "a.txt").write_text("one\n")
    conversation = await place.begin(model)
    await conversation.prompt("read", source="terminal")
    await conversation.close()
    session = conversation.session.log.session
    conversation.session.close()

    resumed = await place.begin(model, session=session)
    screen = Screen(answer="allow_once")
    resumed.attach(screen, after=0)
    assert (await resumed.prompt("edit", source="terminal")).reason == "completed"
    assert (place.workspace / "a.txt").read_text() == "two\n"
    assert {row.turn for row in screen.rows.values()} == {1, 2}


async def test_an_undo_between_turns_is_heard_by_the_agent(place: Parlour) -> None:
    edit = call("edit", path="{workspace}/a.txt", old_string="one", new_string="two")
    read = call("read", path="{workspace}/a.txt")
    (place.workspace / "a.txt").write_text("one\n")
    conversation = await place.begin(place.script([step("", read), step("", edit), step("Ok.")], [step("Fine.")]))
    conversation.attach(Screen(answer="allow_once"))
    await conversation.prompt("edit", source="terminal")
    undone = await conversation.undo()
    assert undone.changes
    assert (place.workspace / "a.txt").read_text() == "one\n"
    assert (await conversation.prompt("and now?", source="terminal")).reason == "completed"
    turns = [event.data["turn"] for event in await events(conversation, "turn/started")]
    assert turns == [1, 2, 3]


@pytest.mark.parametrize("kind", [StoreError, BytesError])
async def test_a_full_disk_ends_the_turn_with_the_reason(place: Parlour, kind: type[Exception]) -> None:
    async def fail(_: Puppet, __: int) -> None:
        raise kind("NO_SPACE", "The disk is full.", "Make room.")

    conversation = await place.begin(factory=Puppet(fail))
    stop = await conversation.prompt("go", source="terminal")
    assert (stop.code, stop.message, stop.remedy) == ("NO_SPACE", "The disk is full.", "Make room.")
