"""A chat's session, whole: prompts, cards, questions, commands, and what a restart leaves."""

from __future__ import annotations

import asyncio
import subprocess
from typing import TYPE_CHECKING

import pytest

from gateway.parlour import Screen, never, until
from redline.surfaces.chat.parts import File, Message
from redline.surfaces.chat.platform import Pace, Place, Refused
from surfaces.chat.channel import Channel
from surfaces.chat.office import ADA, MALLORY, Setting, call, house, scripted, step

if TYPE_CHECKING:
    from pathlib import Path

    from redline.surfaces.chat.cards import Shown
    from redline.surfaces.chat.desk import Desk
    from surfaces.chat.office import House

HERE = Place("C1", "1.1")
QUICK = Pace(gap=0.0, burst=1000, refill=0.001)


def _channel(name: str = "slack") -> Channel:
    return Channel(name=name, tempo=QUICK)


async def _turn_over(channel: Channel, turn: int = 1) -> None:
    await until(lambda: f"Turn {turn} " in channel.said())


async def test_a_prompt_becomes_one_message_with_the_card_and_the_net_list(tmp_path: Path) -> None:
    model = scripted(tmp_path, [step("On it.", call("write", path="a.py", content="x = 1\n")), step("Done.")])
    async with house(tmp_path, model) as at:
        channel = _channel()
        desk = await at.desk(channel)
        await desk.heard(HERE, "make a.py", ADA)
        await _turn_over(channel)
        said = channel.said()
        assert said.index("On it.") < said.index("Created a.py  \u22120 +1 · applied") < said.index("+x = 1")
        assert (
            said.index("Done.")
            < said.index("Turn 1 done · 1 file \u22120 +1")
            < said.index("• a.py  \u22120 +1  created")
        )
        assert "make a.py" not in said, "the place shows it already"
        assert len(channel.stands) == 1
        (started,) = await at.events("turn/started")
        assert (started.data["source"], started.data["rule"]) == ("slack", "cards_and_observation")


async def test_nobody_is_listened_to_who_is_not_on_the_list(tmp_path: Path) -> None:
    async with house(tmp_path, scripted(tmp_path, [step("Hello.")])) as at:
        channel = _channel()
        desk = await at.desk(channel)
        await desk.heard(HERE, "let me in", MALLORY)
        await desk.heard(HERE, "/sessions", MALLORY)
        await until(channel.said)
        assert "Your id is U666" in channel.said()
        assert len(channel.stands) == 1, "said once"
        assert await at.gateway.archive.list() == []
        nobody = await at.desk(_channel("discord"), allow=frozenset())
        await nobody.heard(HERE, "hello", ADA)
        assert await at.gateway.archive.list() == []


async def _asked(at: House, channel: Channel) -> str:
    desk = await at.desk(channel)
    await desk.heard(HERE, "change it", ADA)
    await until(channel.buttons)
    return channel.buttons()[0].token


_READ = step("", call("read", path="a.py"))
_EDIT = [_READ, step("", call("write", path="a.py", content="new\n")), step("Done.")]


async def test_a_question_carries_the_whole_change_and_says_who_answered(tmp_path: Path) -> None:
    async with house(tmp_path, scripted(tmp_path, _EDIT), approval="ask") as at:
        (at.workspace / "a.py").write_text("old\n")
        channel = _channel()
        token = await _asked(at, channel)
        asked = [page for page in channel.stands.values() if isinstance(page, Message) and "May this" in repr(page)]
        assert "-old\\n+new" in repr(asked[0])
        await until(lambda: "Waiting for an answer …" in channel.said())
        assert (at.workspace / "a.py").read_text() == "old\n"
        assert "not on the list" in await at.desks[0].pressed(token, "allow_once", MALLORY)
        assert await at.desks[0].pressed(token, "allow_once", ADA) == ""
        await _turn_over(channel)
        assert (at.workspace / "a.py").read_text() == "new\n"
        await until(lambda: "Allowed once by Ada." in channel.said())
        assert channel.buttons() == []
        assert await at.desks[0].pressed(token, "reject", ADA) == "This question is not open any more."
        (answered,) = await at.events("permission/answered")
        assert answered.data["by"] == "slack: Ada"


async def test_a_rejected_change_stays_readable_and_is_not_counted(tmp_path: Path) -> None:
    """Public reports: D49, Q173."""
    async with house(tmp_path, scripted(tmp_path, _EDIT), approval="ask") as at:
        (at.workspace / "a.py").write_text("old\n")
        channel = _channel()
        token = await _asked(at, channel)
        await at.desks[0].pressed(token, "reject", ADA)
        await _turn_over(channel)
        await until(lambda: "Rejected by Ada." in channel.said())
        said = channel.said()
        assert "-old\n+new" in said
        assert "Edit a.py  \u22121 +1 · rejected, not applied" in said
        assert "no file changed" in said


async def test_what_needs_no_answer_is_not_asked_and_is_no_refusal(tmp_path: Path) -> None:
    """Public reports: D45."""
    again = step("", call("edit", path="a.py", old_string="old", new_string="new"))
    same = step("", call("write", path="a.py", content="new\n"))
    async with house(tmp_path, scripted(tmp_path, [*_EDIT[:2], again, same, step("Done.")]), approval="ask") as at:
        (at.workspace / "a.py").write_text("old\n")
        channel = _channel()
        token = await _asked(at, channel)
        await at.desks[0].pressed(token, "allow_once", ADA)
        await _turn_over(channel)
        assert "NO_MATCH: " in channel.said()
        assert "rejected" not in channel.said().lower()
        assert len(await at.events("permission/asked")) == 1
        results = [event.data for event in await at.events("tool/result")]
        assert [result["status"] for result in results] == ["completed", "completed", "failed", "completed"]
        assert results[2]["error"]["code"] == "NO_MATCH"
        assert results[3]["changes"] == []


async def test_a_change_too_long_for_a_message_is_a_file_before_the_buttons(tmp_path: Path) -> None:
    """Public reports: D46."""
    text = "".join(f"line {number}\n" for number in range(3000))
    model = scripted(tmp_path, [step("", call("write", path="long.txt", content=text)), step("Done.")])
    async with house(tmp_path, model, approval="ask") as at:
        channel = _channel()
        token = await _asked(at, channel)
        pages = list(channel.stands.values())
        asked = next(at for at, page in enumerate(pages) if "May this be done" in repr(page))
        kinds = [type(page) for page in pages[asked : asked + 3]]
        assert kinds == [Message, File, Message]
        (file,) = channel.files()
        assert file.content.count(b"\n+line ") == 3000
        assert "3000 lines in 1 place, too long for a message." in channel.said()
        await at.desks[0].pressed(token, "reject", ADA)


async def test_all_changes_of_a_question_are_counted_and_shown(tmp_path: Path) -> None:
    """Public reports: D41."""
    edits = [{"old_string": one, "new_string": one.upper()} for one in "az"]
    model = scripted(tmp_path, [_READ, step("", call("multi_edit", path="a.py", edits=edits)), step("Done.")])
    async with house(tmp_path, model, approval="ask") as at:
        (at.workspace / "a.py").write_text("a\n" + "m\n" * 30 + "z\n")
        channel = _channel()
        token = await _asked(at, channel)
        said = channel.said()
        assert "-a\n+A" in said
        assert "-z\n+Z" in said
        await at.desks[0].pressed(token, "allow_once", ADA)
        await _turn_over(channel)


async def test_a_question_expires_with_no(tmp_path: Path) -> None:
    async with house(tmp_path, scripted(tmp_path, _EDIT), approval="ask") as at:
        (at.workspace / "a.py").write_text("old\n")
        channel = _channel()
        desk = await at.desk(channel, answer_seconds=0.05)
        await desk.heard(HERE, "change it", ADA)
        await _turn_over(channel)
        await until(lambda: "Nobody answered within 0.05 s: the answer is no." in channel.said())
        assert channel.buttons() == []
        assert (at.workspace / "a.py").read_text() == "old\n"


async def _both_there(at: House, here: Desk, channel: Channel, there: Desk) -> None:
    """A session that was begun here is shown there, too."""
    await here.heard(HERE, "begin", ADA)
    await _turn_over(channel)
    (session,) = await at.gateway.archive.list()
    await there.heard(HERE, f"/sessions {session.session}", ADA)


async def test_the_time_of_the_chat_that_was_prompted_in_ends_the_question_everywhere(tmp_path: Path) -> None:
    model = scripted(tmp_path, [step("Begun.")], _EDIT)
    async with house(tmp_path, model, approval="ask") as at:
        (at.workspace / "a.py").write_text("old\n")
        short, long = _channel(), _channel("discord")
        first, second = await at.desk(short, answer_seconds=0.3), await at.desk(long)
        await _both_there(at, first, short, second)
        page = Screen("dashboard", answer=never)
        (session,) = await at.gateway.archive.list()
        (await at.gateway.open(session.session)).attach(page)
        await first.heard(HERE, "change it", ADA)
        await until(lambda: page.asked and long.buttons())
        await _turn_over(short, 2)
        await until(lambda: "Nobody answered within 0.3 s: the answer is no." in short.said())
        await until(lambda: "Not allowed, since nobody answered by slack." in long.said())
        assert short.buttons() == long.buttons() == []
        assert (at.workspace / "a.py").read_text() == "old\n"


async def test_the_time_of_a_chat_that_only_looks_on_ends_no_question_and_it_can_still_answer(tmp_path: Path) -> None:
    model = scripted(tmp_path, [step("Begun.")], _EDIT, _EDIT)
    async with house(tmp_path, model, approval="ask") as at:
        (at.workspace / "a.py").write_text("old\n")
        short, long = _channel(), _channel("discord")
        first, second = await at.desk(short, answer_seconds=0.05), await at.desk(long)
        await _both_there(at, first, short, second)
        await second.heard(HERE, "change it", ADA)
        await until(lambda: short.buttons() and long.buttons())
        await asyncio.sleep(0.2)
        assert short.buttons()
        assert await first.pressed(short.buttons()[0].token, "allow_once", ADA) == ""
        await until(lambda: "Allowed once by slack: Ada." in long.said() and "Allowed once by Ada." in short.said())
        assert short.buttons() == long.buttons() == []
        await _turn_over(long, 2)
        assert (at.workspace / "a.py").read_text() == "new\n"


@pytest.mark.parametrize("command", ["/new", "/sessions {other}"])
async def test_what_a_place_was_asked_is_answered_there_although_it_shows_another_session(
    tmp_path: Path, command: str
) -> None:
    async with house(tmp_path, scripted(tmp_path, _EDIT), approval="ask") as at:
        (at.workspace / "a.py").write_text("old\n")
        channel = _channel()
        desk = await at.desk(channel)
        await desk.heard(Place("C2"), "/new", ADA)
        (other,) = await at.gateway.archive.list()
        await desk.heard(HERE, "change it", ADA)
        await until(channel.buttons)
        await desk.heard(HERE, command.format(other=other.session), ADA)
        await until(lambda: "Waiting for an answer" in channel.said())
        assert await desk.pressed(channel.buttons()[0].token, "allow_once", ADA) == ""
        await _turn_over(channel)
        await until(lambda: "Allowed once by Ada." in channel.said())
        assert channel.buttons() == []
        assert "Waiting" not in channel.said()
        assert (at.workspace / "a.py").read_text() == "new\n"
        (first,) = await at.events("user/message")
        await desk.heard(HERE, "and now", ADA)
        await until(lambda: channel.said().count("Turn 1 done") >= 2)
        (last,) = [one for one in await at.events("user/message") if one.session != first.session]
        assert (last.session == other.session) is ("sessions" in command)


async def test_a_restart_ends_what_two_sessions_had_begun_in_one_place_and_the_place_keeps_its_session(
    tmp_path: Path,
) -> None:
    model = scripted(tmp_path, [step("", call("bash", command="sleep 30"))], [step("Well.")])
    channel = _channel()
    async with house(tmp_path, model) as at:
        desk = await at.desk(channel)
        for number, command in enumerate(("", "/new"), 1):
            if command:
                await desk.heard(HERE, command, ADA)
            await desk.heard(HERE, "sleep", ADA)
            await until(lambda number=number: channel.said().count("$ sleep 30 …") == number)
        session = at.places.session("slack", HERE)
        channel.answers = [OSError("gone")] * 10_000  # as in a crash, nothing is told to anybody any more
    channel.answers = []
    async with house(tmp_path, model) as at:
        desk = await at.desk(channel)
        await until(lambda: channel.said().count("Turn 1 ") == 2)
        assert "$ sleep 30 …" not in channel.said()
        await desk.heard(HERE, "well?", ADA)
        await _turn_over(channel, 2)
        (last,) = [event for event in await at.events("turn/started") if event.data["turn"] == 2]
        assert last.session == session


_LARGE = "".join(f"{number} {'y' * 90}\n" for number in range(12_000))
"""More than the log keeps of one change."""


@pytest.mark.parametrize("before", ["", "".join(f"old {n}\n" for n in range(60_000))], ids=["add", "overwrite"])
@pytest.mark.parametrize("shown", ["full", "summary"])
async def test_a_change_too_large_for_the_log_is_whole_in_its_file_before_the_buttons_and_after(
    tmp_path: Path, before: str, shown: Shown
) -> None:
    model = scripted(
        tmp_path, [step("", call("read", path="big.txt"))] * bool(before)
        + [step("", call("write", path="big.txt", content=_LARGE)), step("Done.")]
    )  # fmt: skip
    async with house(tmp_path, model, approval="ask") as at:
        if before:
            (at.workspace / "big.txt").write_text(before)
        channel = _channel()
        desk = await at.desk(channel, setting=Setting(shown))
        await desk.heard(HERE, "write it", ADA)
        await until(channel.buttons)
        (asked,) = channel.files()
        assert ", too long for a message." in channel.said()
        _applies(at, asked, before, _LARGE)
        await desk.pressed(channel.buttons()[0].token, "allow_once", ADA)
        await _turn_over(channel)
        assert (at.workspace / "big.txt").read_text() == _LARGE
        await desk.heard(HERE, "/diff big.txt file", ADA)
        await until(lambda: len(channel.files()) == 3)
        assert {file.content for file in channel.files()} == {asked.content}
        (screen,) = desk.screens
        calls = channel.count()
        await screen.show(screen.room.rows, screen.room.state)
        await at.desks[0].screens.outbox(HERE).settled()
        assert channel.count() == calls, "made again, it is what stands there"


def _applies(at: House, file: File, before: str, after: str) -> None:
    """`git apply` takes the file where the workspace was."""
    folder = at.folder / "elsewhere"
    folder.mkdir()
    if before:
        (folder / "big.txt").write_text(before)
    subprocess.run(["git", "apply", "-"], input=file.content, cwd=folder, check=True)
    assert (folder / "big.txt").read_text() == after


async def test_a_secret_in_a_change_too_large_for_the_log_is_masked_in_its_file(tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2" * 9
    text = f"{_LARGE}token = {secret}\n"
    model = scripted(tmp_path, [step("", call("write", path="big.txt", content=text)), step("Done.")])
    async with house(tmp_path, model, approval="ask") as at:
        channel = _channel()
        token = await _asked(at, channel)
        (file,) = channel.files()
        assert b"token = " in file.content
        assert secret.encode() not in file.content
        await at.desks[0].pressed(token, "reject", ADA)


async def test_a_change_that_cannot_be_shown_whole_cannot_be_allowed_here(tmp_path: Path) -> None:
    steps = [
        step("", call("write", path="big.txt", content=_LARGE)),
        step("", call("write", path="odd.bin", content="a\x00b\n")),
        step("", call("write", path="vast.txt", content="z" * (11 * 2**20))),
    ]
    reasons = ["over the bounds of what is kept", "it is binary", "too large to be compared"]
    async with house(tmp_path, scripted(tmp_path, *[[one] for one in steps]), approval="ask") as at:
        at.gateway.archive.bytes.cap = 10
        channel = _channel()
        desk = await at.desk(channel)
        for number, reason in enumerate(reasons, 1):
            await desk.heard(HERE, f"write it {number}", ADA)
            await until(lambda reason=reason: reason in channel.said())
            assert "Answer in the dashboard or the terminal." in channel.said()
            assert channel.buttons() == []
            await desk.heard(HERE, "/Stop", ADA)
            await _turn_over(channel, number)
        assert list(at.workspace.iterdir()) == []


async def test_a_file_is_found_by_the_name_that_its_card_shows(tmp_path: Path) -> None:
    model = scripted(tmp_path, [step("", call("write", path="nl\nn.txt", content="odd\n")), step("Done.")])
    async with house(tmp_path, model) as at:
        channel = _channel()
        desk = await at.desk(channel)
        await desk.heard(HERE, "write it", ADA)
        await _turn_over(channel)
        name = next(word for word in channel.said().split() if word.endswith("n.txt"))
        assert name != "n.txt"
        await desk.heard(HERE, f"/diff {name}", ADA)
        await until(lambda: channel.said().count("+odd") == 2)


async def test_a_command_may_begin_with_a_capital(tmp_path: Path) -> None:
    async with house(tmp_path, scripted(tmp_path, [step("Begun.")])) as at:
        channel = _channel()
        desk = await at.desk(channel)
        for typed in ("!Stop", "/DIFF"):
            await desk.heard(HERE, typed, ADA)
        await until(lambda: "Nothing is running here." in channel.said() and "No session stands" in channel.said())
        assert await at.gateway.archive.list() == []


async def test_an_answer_given_elsewhere_settles_every_copy(tmp_path: Path) -> None:
    async with house(tmp_path, scripted(tmp_path, _EDIT), approval="ask") as at:
        (at.workspace / "a.py").write_text("old\n")
        channel = _channel()
        await _asked(at, channel)
        (asked,) = await at.events("permission/asked")
        room = await at.gateway.open(asked.session)
        assert room.answer(asked.data["request"], "allow_once", "dashboard")
        await until(lambda: "Allowed once by dashboard." in channel.said())
        assert channel.buttons() == []
        await _turn_over(channel)


async def test_whoever_writes_on_has_not_approved(tmp_path: Path) -> None:
    """Public reports: D48."""
    model = scripted(tmp_path, _EDIT, [step("Then not.")])
    async with house(tmp_path, model, approval="ask") as at:
        (at.workspace / "a.py").write_text("old\n")
        channel = _channel()
        await _asked(at, channel)
        await at.desks[0].heard(HERE, "no, wait", ADA)
        await _turn_over(channel, 2)
        assert (at.workspace / "a.py").read_text() == "old\n"
        assert "cancelled, not applied" in channel.said()
        await until(lambda: "Withdrawn" in channel.said())


async def test_none_shows_no_changes_and_says_so_to_the_rule(tmp_path: Path) -> None:
    model = scripted(tmp_path, [step("", call("write", path="a.py", content="x = 1\n")), step("Done.")])
    async with house(tmp_path, model) as at:
        channel = _channel()
        desk = await at.desk(channel, setting=Setting("none"))
        await desk.heard(HERE, "make a.py", ADA)
        await _turn_over(channel)
        assert "+x = 1" not in channel.said()
        assert "• a.py" in channel.said()
        (started,) = await at.events("turn/started")
        assert started.data["rule"] == "text_only"


async def test_summary_shows_heads_and_diff_shows_the_rest(tmp_path: Path) -> None:
    steps = [step("", call("write", path=name, content=f"{name} = 1\n")) for name in ("a.py", "b.py")]
    async with house(tmp_path, scripted(tmp_path, [*steps, step("Done.")])) as at:
        channel = _channel()
        desk = await at.desk(channel, setting=Setting("summary"))
        await desk.heard(HERE, "make them", ADA)
        await _turn_over(channel)
        assert "Created a.py  \u22120 +1 · applied" in channel.said()
        assert "+a.py = 1" not in channel.said()
        await until(channel.files)
        (whole,) = channel.files()
        assert whole.name == "turn-1.diff"
        assert b"+a.py = 1" in whole.content
        assert b"+b.py = 1" in whole.content
        await desk.heard(HERE, "/diff", ADA)
        await until(lambda: "+b.py = 1" in channel.said())
        assert "+a.py = 1" not in channel.said()
        await desk.heard(HERE, "!diff a.py", ADA)
        await until(lambda: "+a.py = 1" in channel.said())
        await desk.heard(HERE, "/diff turn 1 file", ADA)
        await until(lambda: len(channel.files()) == 2)
        file = channel.files()[-1]
        assert file.name == "2-changes.diff"
        assert b"+a.py = 1" in file.content
        assert b"+b.py = 1" in file.content
        for odd in ("/diff nowhere.py", "/diff turn 9", "/diff turn x"):
            count = len(channel.stands)
            await desk.heard(HERE, odd, ADA)
            await until(lambda count=count: len(channel.stands) > count)
        assert "No change on disk in the file nowhere.py." in channel.said()
        assert "NO_TURN" in channel.said()
        assert "Its turns are 1 to " in channel.said() or "It has turn 1 only." in channel.said()


async def test_stop_new_sessions_and_help(tmp_path: Path) -> None:
    model = scripted(tmp_path, [step("", call("bash", command="sleep 30"))])
    async with house(tmp_path, model) as at:
        (tmp_path / "other").mkdir()
        channel = _channel()
        folders = {"app": str(at.workspace), "other": str(tmp_path / "other")}
        desk = await at.desk(channel, folders=folders)
        await desk.heard(HERE, "/stop", ADA)
        await until(lambda: "Nothing is running here." in channel.said())
        await desk.heard(HERE, "sleep", ADA)
        await until(lambda: "$ sleep 30 …" in channel.said())
        await desk.heard(HERE, "/stop", ADA)
        await until(lambda: "Turn 1 cancelled" in channel.said())
        await desk.heard(HERE, "/new other", ADA)
        await until(lambda: f"New session in {tmp_path / 'other'}, with builtin. Other folders: app." in channel.said())
        await desk.heard(HERE, "/new nowhere", ADA)
        await until(lambda: "There is no folder 'nowhere'." in channel.said())
        await desk.heard(HERE, "/help", ADA)
        await until(lambda: "/stop: Stop what is running." in channel.said())
        await desk.heard(HERE, "/sessions", ADA)
        await until(lambda: "(here)" in channel.said())
        assert len(await at.gateway.archive.list()) == 2
        first = (await at.events("turn/started"))[0].session
        await desk.heard(HERE, f"/sessions {first}", ADA)
        await until(lambda: "From now on this is “sleep”" in channel.said())


async def test_a_command_of_the_agent_and_a_path_are_prompts(tmp_path: Path) -> None:
    model = scripted(tmp_path, [step("One.")], [step("Two.")])
    async with house(tmp_path, model) as at:
        channel = _channel()
        desk = await at.desk(channel)
        await desk.heard(HERE, "/init", ADA)
        await _turn_over(channel)
        await desk.heard(HERE, "/etc/hosts is what?", ADA)
        await _turn_over(channel, 2)


async def test_a_session_that_cannot_begin_says_why(tmp_path: Path) -> None:
    async with house(tmp_path, "") as at:
        channel = _channel()
        desk = await at.desk(channel)
        await desk.heard(HERE, "hello", ADA)
        await until(lambda: "▲ NO_MODEL" in channel.said())
        unset = await at.desk(_channel("discord"), folders={})
        await unset.heard(HERE, "hello", ADA)
        platform = unset._platform
        assert isinstance(platform, Channel)
        await until(lambda: "[discord.folders]" in platform.said())


async def test_a_prompt_during_a_turn_is_told_that_it_waits(tmp_path: Path) -> None:
    model = scripted(tmp_path, [step("", call("bash", command="sleep 0.5"))], [step("Two.")])
    async with house(tmp_path, model) as at:
        channel = _channel()
        desk = await at.desk(channel)
        await desk.heard(HERE, "one", ADA)
        await until(lambda: "$ sleep 0.5 …" in channel.said())
        await desk.heard(HERE, "two", ADA)
        await until(lambda: "This waits for the end of the running turn" in channel.said())
        await _turn_over(channel, 2)


async def test_places_that_nobody_uses_are_let_go_and_taken_up_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("redline.surfaces.chat.screens._KEPT", 1)
    turns = [[step("Hello.")]] * 2
    async with house(tmp_path, scripted(tmp_path, *turns)) as at:
        channel = _channel()
        desk = await at.desk(channel)
        for number in range(4):
            await desk.heard(Place(f"C{number}"), f"hello {number}", ADA)
            await until(lambda number=number: channel.said().count("Turn 1 done") == number + 1)
        assert len(list(desk.screens)) <= 2
        assert len(desk.screens.outboxes) <= 2
        await desk.heard(Place("C0"), "again", ADA)
        await _turn_over(channel, 2)
        assert len(await at.gateway.archive.list()) == 4


async def test_in_a_place_that_is_gone_nobody_is_waited_for(tmp_path: Path) -> None:
    async with house(tmp_path, scripted(tmp_path, _EDIT), approval="ask") as at:
        (at.workspace / "a.py").write_text("old\n")
        channel = _channel()
        channel.answers = [Refused("channel_not_found")] * 10_000
        desk = await at.desk(channel)
        await desk.heard(HERE, "change it", ADA)
        await until(lambda: at.events("permission/answered"))
        (answered,) = await at.events("permission/answered")
        assert (answered.data["outcome"], answered.data["by"]) == ("unavailable", "nobody")
        await until(lambda: at.events("turn/ended"))
        assert channel.stands == {}
        assert (at.workspace / "a.py").read_text() == "old\n"


async def test_what_is_prompted_elsewhere_shows_here_with_its_prompt(tmp_path: Path) -> None:
    model = scripted(tmp_path, [step("One.")], [step("Two.")])
    async with house(tmp_path, model) as at:
        channel = _channel()
        desk = await at.desk(channel)
        await desk.heard(HERE, "first", ADA)
        await _turn_over(channel)
        room = await at.gateway.open((await at.events("turn/started"))[0].session)
        await room.prompt("from the browser", source="dashboard")
        await _turn_over(channel, 2)
        assert "> from the browser" in channel.said()
        assert "> first" not in channel.said()


async def test_a_restart_posts_nothing_old(tmp_path: Path) -> None:
    """Public reports: E55."""
    steps = [[step(f"Turn {n}.", call("write", path=f"{n}.py", content=f"{n}\n")), step("")] for n in range(1, 5)]
    channel = _channel()
    async with house(tmp_path, scripted(tmp_path, *steps)) as at:
        desk = await at.desk(channel)
        for number in range(1, 4):
            await desk.heard(HERE, f"prompt {number}", ADA)
            await _turn_over(channel, number)
    before = dict(channel.stands)
    calls = channel.count()
    async with house(tmp_path, scripted(tmp_path, *steps)) as at:
        desk = await at.desk(channel)
        await desk.heard(HERE, "prompt 4", ADA)
        await _turn_over(channel, 4)
        await at.desks[0].close()
    assert {key: page for key, page in channel.stands.items() if key in before} == before
    assert channel.count("post") == 4
    assert len(channel.stands) == len(before) + 1
    assert channel.count() > calls


@pytest.mark.parametrize("asks", [False, True], ids=["in a command", "before an answer"])
async def test_a_turn_that_a_crash_cut_off_is_brought_to_its_end_in_its_own_message(tmp_path: Path, asks: bool) -> None:
    steps = [step("Begun.", call("bash", command="sleep 30"))]
    channel = _channel()
    async with house(tmp_path, scripted(tmp_path, steps), approval="ask" if asks else "all") as at:
        desk = await at.desk(channel)
        await desk.heard(HERE, "go", ADA)
        await until(lambda: bool(channel.buttons()) if asks else "$ sleep 30 …" in channel.said())
        # A crash: nothing is told to anybody any more, and the session is free again.
        channel.answers = [OSError("gone")] * 10_000
        before = dict(channel.stands)
    channel.answers = []
    assert channel.stands == before
    async with house(tmp_path, scripted(tmp_path, steps)) as at:
        await at.desk(channel)
        await until(lambda: "Turn 1 " in channel.said() and not channel.buttons())
        assert set(channel.stands) == set(before), "edited, not posted again"
        assert "Begun." in channel.said()
        await until(lambda: at.places.unfinished("slack") == [])
        if asks:
            assert "Withdrawn by the end of the turn." in channel.said()


async def test_a_place_that_joins_sees_the_running_turn_and_can_answer_its_question(tmp_path: Path) -> None:
    async with house(tmp_path, scripted(tmp_path, _EDIT), approval="ask") as at:
        (at.workspace / "a.py").write_text("old\n")
        channel, other = _channel(), _channel("discord")
        await _asked(at, channel)
        (summary,) = await at.gateway.archive.list()
        desk = await at.desk(other)
        await desk.heard(Place("C9"), f"/sessions {summary.session}", ADA)
        await until(lambda: other.buttons() and "Waiting for an answer" in other.said())
        assert "-old\n+new" in other.said()
        assert [one.name for one in other.buttons()[0].choices] == [one.name for one in channel.buttons()[0].choices]
        await desk.heard(Place("C9"), f"/sessions {summary.session}", ADA)
        await asyncio.sleep(0.1)
        assert len(other.buttons()) == 1, "put once"
        assert await desk.pressed(other.buttons()[0].token, "allow_once", ADA) == ""
        await _turn_over(channel)
        await _turn_over(other)
        assert (at.workspace / "a.py").read_text() == "new\n"
        assert not other.buttons()
        assert not channel.buttons()


async def test_hints_name_what_can_be_typed_there(tmp_path: Path) -> None:
    async with house(tmp_path, scripted(tmp_path, [step("", call("write", path="a.py", content="1\n"))])) as at:
        channel = _channel()
        channel.mark = "!"
        desk = await at.desk(channel)
        await desk.heard(HERE, "go", ADA)
        await until(lambda: "applied" in channel.said())
        for typed, said in (
            ("!sessions zz", "!sessions lists them."),
            ("!diff turn x", "Such as: !diff turn 2"),
            ("!Diff Turn", "+1"),
            ("!diff FILE", "The last change:"),
        ):
            count = len(channel.stands)
            await desk.heard(HERE, typed, ADA)
            await until(lambda count=count: len(channel.stands) > count)
            assert said in channel.said(), typed
        assert "redline sessions" not in channel.said()
        assert "No change on disk" not in channel.said()
