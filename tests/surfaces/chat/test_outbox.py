"""What stands in a channel becomes what should stand there: in few calls, whatever the platform answers."""

from __future__ import annotations

import asyncio
import itertools
import random
import re
from typing import TYPE_CHECKING

import pytest

from eventmaker import change
from redline.surfaces.chat import cards
from redline.surfaces.chat.cards import Setting
from redline.surfaces.chat.outbox import Outbox
from redline.surfaces.chat.paginate import Measure, paginate
from redline.surfaces.chat.parts import Buttons, Choice, File, Message, Page, Part, Text
from redline.surfaces.chat.places import Begun, Places
from redline.surfaces.chat.platform import Barred, Place, Refused, Wait
from redline.surfaces.telegram.calls import TelegramCalls
from surfaces.chat.channel import Channel
from surfaces.chat.readback import PLATFORMS
from surfaces.chat.readback import Platform as Reader
from surfaces.chat.virtual_time import in_virtual_time

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_HERE = Place("C1", "1.1")


def _begun(flow: str = "s1/1") -> Begun:
    return Begun(flow, _HERE, "s1", 1)


def _says(*parts: Part, measure: Measure = PLATFORMS[0].measure) -> Callable[[], list[Page]]:
    return lambda: paginate(parts, measure)


def test_a_message_that_grows_is_edited_in_place(tmp_path: Path) -> None:
    async def run() -> None:
        channel = Channel()
        outbox = Outbox(channel, Places.open(tmp_path))
        for words in ("one", "one two", "one two three"):
            outbox.show(_begun(), _says(Text(words)))
            await asyncio.sleep(20)
        await outbox.close()
        assert channel.texts() == ["one two three"]
        assert [what for _, what, _ in channel.calls] == ["post", "edit", "edit"]

    in_virtual_time(run())


@pytest.mark.parametrize(
    "size", [1, 20, 400], ids=["small edits", "middling edits", "edits that are too large to show"]
)
@pytest.mark.parametrize("reader", PLATFORMS, ids=lambda one: one.name)
def test_a_turn_with_fifty_edits_in_a_minute_costs_at_most_twelve_calls(
    tmp_path: Path, reader: Reader, size: int
) -> None:
    async def run() -> None:
        channel = Channel(measure=reader.measure)
        outbox = Outbox(channel, Places.open(tmp_path))
        parts: list[Part] = []
        setting = Setting(workspace="/w")
        room = setting.turn_limit
        begin = asyncio.get_running_loop().time()
        for number in range(50):
            made = change(f"file_{number}.py", b"x = 1\n" * size, b"y = 2 # changed\n" * size)
            shown, used = cards.bounded(made, setting, cards.head(made, setting, "Edited", "applied"), room)
            room -= used
            parts += shown
            outbox.show(_begun(), _says(*parts, measure=reader.measure))
            await asyncio.sleep(1.2)
        parts.append(Text("Turn 1 done", "strong"))
        outbox.show(_begun(), _says(*parts, measure=reader.measure), urgent=True, final=True)
        await outbox.settled()
        assert asyncio.get_running_loop().time() - begin < 70
        assert channel.texts()[-1] == "Turn 1 done"
        assert channel.count() <= 12, channel.calls
        times = [at for at, _, _ in channel.calls]
        assert all(later - earlier >= 1 for earlier, later in itertools.pairwise(times)), "one a second in a channel"
        assert [page for page in channel.stands.values() if isinstance(page, Message)] == [
            page for page in paginate(parts, reader.measure) if isinstance(page, Message)
        ]
        held = b"".join(page.content for page in channel.stands.values() if isinstance(page, File))
        assert held == b"".join(part.content for part in parts if isinstance(part, File))
        await outbox.close()

    in_virtual_time(run())


def test_a_group_of_telegram_gets_no_more_than_twenty_messages_a_minute(tmp_path: Path) -> None:
    async def run() -> None:
        pace = TelegramCalls(None).pace("-5")  # type: ignore[arg-type]
        channel = Channel(tempo=pace)
        outbox = Outbox(channel, Places.open(tmp_path), "-5")
        for number in range(200):
            outbox.show(_begun(f"s1/{number}"), _says(Text(str(number))), urgent=True, final=True)
            await asyncio.sleep(0.5)
        await outbox.settled()
        times = [at for at, _, _ in channel.calls]
        assert len(times) == 200
        assert max(sum(begin <= at < begin + 60 for at in times) for begin in times) <= 20
        await outbox.close()

    in_virtual_time(run())


def test_a_rate_limit_is_waited_out_and_only_the_newest_state_is_sent_then(tmp_path: Path) -> None:
    """Public reports: N150."""

    async def run() -> None:
        channel = Channel()
        outbox = Outbox(channel, Places.open(tmp_path))
        outbox.show(_begun(), _says(Text("0")))
        await asyncio.sleep(20)
        channel.answers = [Wait(51)]
        for number in range(1, 11):
            outbox.show(_begun(), _says(Text(str(number))))
            await asyncio.sleep(1)
        await asyncio.sleep(100)
        (told, _, _), (then, what, _) = channel.calls[1:]
        assert what == "edit"
        assert then - told >= 51
        assert channel.texts() == ["10"]
        await outbox.close()

    in_virtual_time(run())


def test_an_edit_that_is_refused_still_delivers_the_final_state_as_a_new_message(tmp_path: Path) -> None:
    """Public reports: N144."""

    async def run() -> None:
        channel = Channel()
        outbox = Outbox(channel, Places.open(tmp_path))
        outbox.show(_begun(), _says(Text("begins")))
        await asyncio.sleep(20)
        channel.answers = [Refused("message_not_found")]
        outbox.show(_begun(), _says(Text("ends")), urgent=True, final=True)
        await outbox.settled()
        assert channel.texts()[-1] == "ends"
        assert "begins" not in channel.texts(), "it would contradict the new one"
        assert "takes the place of an earlier message" in channel.texts()[0]
        await outbox.close()

    in_virtual_time(run())


def test_a_platform_that_is_away_gets_the_state_when_it_is_back(tmp_path: Path) -> None:
    async def run() -> None:
        channel = Channel(answers=[OSError("no route"), OSError("no route"), TimeoutError()])
        outbox = Outbox(channel, Places.open(tmp_path))
        outbox.show(_begun(), _says(Text("the end")), urgent=True, final=True)
        await outbox.settled()
        assert channel.texts() == ["the end"]
        assert channel.count() == 4
        await outbox.close()

    in_virtual_time(run())


def test_what_cannot_be_posted_at_all_is_said_in_other_words_once(tmp_path: Path) -> None:
    async def run() -> None:
        channel = Channel(answers=[Refused("invalid_blocks")])
        outbox = Outbox(channel, Places.open(tmp_path))
        outbox.show(_begun(), _says(Text("odd")), urgent=True, final=True)
        await outbox.settled()
        assert len(channel.texts()) == 2
        assert "redline show" in channel.texts()[0]
        channel.answers = [Refused("channel_not_found")] * 3
        outbox.show(_begun("s1/2"), _says(Text("odd")), urgent=True, final=True)
        await outbox.settled()
        assert len(channel.texts()) == 2
        await outbox.close()

    in_virtual_time(run())


def test_the_end_of_a_turn_is_told_in_plain_words_where_its_message_is_refused(tmp_path: Path) -> None:
    async def run() -> None:
        channel = Channel()
        outbox = Outbox(channel, Places.open(tmp_path))
        outbox.show(_begun(), _says(Text("Working …", "quiet")))
        await asyncio.sleep(20)
        channel.answers = [Refused("msg_blocks_too_long"), Refused("msg_blocks_too_long")]
        parts = [Text("# a\n" * 600, "reply"), Text("Turn 1 done", "strong")]
        outbox.show(_begun(), _says(*parts), urgent=True, final=True)
        await outbox.settled()
        assert "Working" not in channel.said()
        assert "The chat refused to show a part here" in channel.said()
        assert channel.said().endswith("Turn 1 done")
        await outbox.close()

    in_virtual_time(run())


def test_a_message_that_is_of_no_use_any_more_is_deleted_or_says_so(tmp_path: Path) -> None:
    async def run() -> None:
        channel = Channel()
        outbox = Outbox(channel, Places.open(tmp_path))
        buttons = Buttons("t", (Choice("yes", "Yes"),))
        asked = [Text("May this be done?"), File("a.diff", b"x"), buttons]
        for flow, answers in (("s1/1", []), ("s1/2", [None, Refused("cant_delete_message")])):
            outbox.show(_begun(flow), _says(*asked), urgent=True)
            await outbox.settled()
            assert channel.buttons() == [buttons]
            channel.answers = [*answers]
            outbox.show(_begun(flow), _says(Text("It was answered."), File("a.diff", b"x")), urgent=True, final=True)
            await outbox.settled()
            assert channel.buttons() == []
        assert channel.texts()[-1] == "What stood here is in the other messages of this turn."
        assert channel.count("delete") == 2
        await outbox.close()

    in_virtual_time(run())


def test_a_platform_that_takes_no_edit_and_no_deletion_is_not_asked_for_ever(tmp_path: Path) -> None:
    async def run() -> None:
        channel = Channel()
        outbox = Outbox(channel, Places.open(tmp_path))
        outbox.show(_begun(), _says(Text("begins")))
        await asyncio.sleep(20)
        no = Refused("edit_window_closed")
        channel.answers = [no, None, no, no]
        outbox.show(_begun(), _says(Text("goes on")), urgent=True)
        await outbox.settled()
        channel.answers = [no, None, no, no]
        outbox.show(_begun(), _says(Text("ends")), urgent=True, final=True)
        await outbox.settled()
        assert [what for _, what, _ in channel.calls] == ["post", *["edit", "post", "delete", "edit"] * 2]
        assert channel.texts()[-1] == "ends"
        await outbox.close()

    in_virtual_time(run())


def test_the_file_stands_there_before_the_buttons(tmp_path: Path) -> None:
    async def run() -> None:
        channel = Channel(answers=[None, OSError("once"), None])
        outbox = Outbox(channel, Places.open(tmp_path))
        buttons = Buttons("t", (Choice("yes", "Yes"),))
        outbox.show(_begun(), _says(Text("May this be done?"), File("a.diff", b"x"), buttons), urgent=True)
        await outbox.settled()
        assert [type(page) for page in channel.stands.values()] == [Message, File, Message]
        await outbox.close()

    in_virtual_time(run())


@pytest.mark.parametrize("refused", [0, 1], ids=["the message", "the file"])
def test_nobody_can_answer_what_the_chat_refused_to_show(tmp_path: Path, refused: int) -> None:
    async def run() -> None:
        channel = Channel(answers=[*[None] * refused, Refused("file_uploads_disabled")])
        outbox = Outbox(channel, Places.open(tmp_path))
        buttons = Buttons("t", (Choice("yes", "Yes"),))
        outbox.show(_begun(), _says(Text("May this be done?"), File("a.diff", b"x"), buttons), urgent=True)
        await outbox.settled()
        assert channel.buttons() == []
        assert "The chat refused" in channel.said()
        assert "It cannot be answered here" in channel.said()
        await outbox.close()

    in_virtual_time(run())


def test_a_file_that_is_refused_is_named_and_the_turn_goes_on(tmp_path: Path) -> None:
    async def run() -> None:
        channel = Channel(answers=[None, Refused("too large")])
        outbox = Outbox(channel, Places.open(tmp_path))
        parts = [Text("one"), File("a.diff", b"x"), File("b.diff", b"y"), Text("two", "strong")]
        outbox.show(_begun(), _says(*parts), urgent=True)
        await outbox.settled()
        assert channel.files() == []
        assert "The chat refused the file a.diff: too large." in channel.said()
        assert "The chat refused the file b.diff: too large." in channel.said()
        assert channel.count("upload") == 1
        outbox.show(_begun(), _says(*parts, File("c.diff", b"z")), urgent=True, final=True)
        await outbox.settled()
        assert [file.name for file in channel.files()] == ["c.diff"], "the next one is tried, once"
        await outbox.close()

    in_virtual_time(run())


def test_nothing_is_posted_again_after_a_restart_and_what_was_begun_is_brought_to_its_end(tmp_path: Path) -> None:
    """Public reports: E55."""

    async def run() -> None:
        channel = Channel()
        long = "\n".join(f"line {number}" for number in range(3000))
        outbox = Outbox(channel, Places.open(tmp_path))
        outbox.show(_begun(), _says(Text(long), File("a.diff", b"x")))
        await outbox.settled()
        await outbox.close()
        before, calls = dict(channel.stands), channel.count()

        places = Places.open(tmp_path)
        assert [one.flow for one in places.unfinished("slack")] == ["s1/1"]
        outbox = Outbox(channel, places)
        outbox.show(_begun(), _says(Text(long), File("a.diff", b"x")), urgent=True)
        await outbox.settled()
        assert channel.count() == calls

        outbox.show(
            _begun(),
            _says(Text(long), File("a.diff", b"x"), Text("Turn 1 interrupted", "strong")),
            urgent=True,
            final=True,
        )
        await outbox.settled()
        assert channel.count() == calls + 1
        assert len(channel.stands) == len(before)
        assert channel.texts()[-1] == "Turn 1 interrupted"
        assert places.unfinished("slack") == []
        await outbox.close()

    in_virtual_time(run())


@pytest.mark.parametrize("arrived", [True, False])
@pytest.mark.parametrize("what", ["post", "edit", "upload", "delete"])
@pytest.mark.parametrize("changes", [True, False], ids=["goes on", "stays as it was"])
def test_a_process_that_dies_in_a_call_posts_nothing_twice_and_the_final_state_is_there(
    tmp_path: Path, what: str, arrived: bool, changes: bool
) -> None:
    """Whatever the call was, and whether or not the platform had done it."""

    async def run() -> None:
        channel = Channel()
        outbox = Outbox(channel, Places.open(tmp_path))
        begins, file = Text("It begins."), File("a.diff", b"x")
        buttons = Buttons("t", (Choice("yes", "Yes"),))
        if what == "edit":
            outbox.show(_begun(), _says(begins))
            await outbox.settled()
        elif what == "delete":
            outbox.show(_begun(), _says(begins, file, buttons), urgent=True)
            await outbox.settled()
        after = [begins, Text("It goes on.")] if what in ("post", "edit") else [begins, file]
        channel.dies = what, arrived
        outbox.show(_begun(), _says(*after), urgent=True, final=what == "delete")
        await channel.died.wait()
        outbox._task.cancel()  # as a crash would
        await asyncio.wait({outbox._task})
        assert channel.count("upload") <= 1
        before = len(channel.stands)

        outbox = Outbox(channel, Places.open(tmp_path))
        parts = [*after, Text("Turn 1 interrupted", "strong")] if changes else after
        outbox.show(_begun(), _says(*parts), urgent=True, final=True)
        await outbox.settled()
        said = channel.said()
        if changes:
            assert said.count("Turn 1 interrupted") == 1
        shown = sum("It begins." in text for text in channel.texts())
        unsure = "Redline ended while it sent" in said
        if what in ("edit", "delete"):
            assert shown == 1
            assert not unsure
            assert channel.buttons() == []
        elif what == "upload":
            assert len(channel.files()) == arrived, "it is not sent a second time"
            assert unsure, "and it is said that it may be missing"
        elif changes:
            assert shown == 1 + arrived
            assert unsure, "the older one is told apart"
        else:
            assert shown == arrived
            assert unsure
            assert len(channel.stands) == before + 1
        assert Places.open(tmp_path).unfinished("slack") == []
        await outbox.close()

    in_virtual_time(run())


@pytest.mark.parametrize("seed", range(12))
def test_whatever_a_platform_answers_the_end_is_told_and_no_file_stands_there_twice(tmp_path: Path, seed: int) -> None:
    """Waits, refusals and faults in any order, and ends of the process in between."""
    chance = random.Random(seed)

    def answers(count: int) -> list[BaseException | None]:
        kinds = [None, None, Wait(1), Wait(30), OSError("gone"), Refused("no")]
        return [chance.choice(kinds) for _ in range(count)]

    async def run() -> None:
        channel = Channel()
        outbox = Outbox(channel, Places.open(tmp_path))
        parts: list[Part] = []
        for number in range(chance.randint(2, 10)):
            file = File(f"{number}.diff", f"<{number}>".encode())
            parts.append(chance.choice([Text(f"part {number}"), Text("x" * 900 + "\n" * chance.randint(1, 30)), file]))
            channel.answers = answers(chance.randint(0, 8))
            outbox.show(_begun(), _says(*parts, Text("Working …", "quiet")), urgent=chance.random() < 0.5)
            await asyncio.sleep(chance.choice([0.01, 1, 20, 200]))
            if chance.random() < 0.3:
                outbox._task.cancel()  # as a crash would
                await asyncio.wait({outbox._task})
                outbox = Outbox(channel, Places.open(tmp_path))
        channel.answers = [one for one in answers(5) if not isinstance(one, Refused)]
        outbox.show(_begun(), _says(*parts, Text("Turn 1 done", "strong")), urgent=True, final=True)
        await outbox.settled()
        assert channel.said().count("Turn 1 done") == 1
        held = re.findall(rb"<\d+>", b"".join(file.content for file in channel.files()))
        assert len(held) == len(set(held))
        assert Places.open(tmp_path).unfinished("slack") == []
        await outbox.close()

    in_virtual_time(run())


def test_files_that_wait_go_up_together_also_where_others_between_them_stand_there(tmp_path: Path) -> None:
    async def run() -> None:
        channel = Channel(answers=[Refused("too large")])
        files = [File(f"{number}.diff", f"<{number}>".encode()) for number in range(3)]
        outbox = Outbox(channel, Places.open(tmp_path))
        for upto in (1, 2):
            outbox.show(_begun(), _says(*files[:upto]), urgent=True)
            await outbox.settled()
        await outbox.close()
        outbox = Outbox(channel, Places.open(tmp_path))  # what was refused is not known any more, and is tried again
        outbox.show(_begun(), _says(*files), urgent=True, final=True)
        await outbox.settled()
        assert [file.content for file in channel.files()] == [b"<1>", b"<0><2>"]
        await outbox.close()

    in_virtual_time(run())


def test_a_channel_that_answers_in_ten_seconds_delays_no_other_and_nobody_who_shows(tmp_path: Path) -> None:
    async def run() -> None:
        slow, quick = Channel(seconds=10), Channel(name="telegram")
        places = Places.open(tmp_path)
        outboxes = Outbox(slow, places), Outbox(quick, places)
        loop = asyncio.get_running_loop()
        begin = loop.time()
        for number in range(100):
            for outbox in outboxes:
                outbox.show(_begun(f"{number % 3}"), _says(Text(str(number))), urgent=True)
        assert loop.time() == begin
        await outboxes[1].settled()
        assert loop.time() - begin < 4
        await outboxes[0].settled()
        assert sorted(slow.texts()) == sorted(quick.texts()) == ["97", "98", "99"]
        for outbox in outboxes:
            await outbox.close()

    in_virtual_time(run())


def test_what_cannot_be_kept_is_not_posted_again_and_again(tmp_path: Path) -> None:
    async def run() -> None:
        places = Places.open(tmp_path)
        channel = Channel()
        outbox = Outbox(channel, places)
        places.close()  # every write fails from now on, as on a full disk
        outbox.show(_begun(), _says(Text("one")), urgent=True)
        await outbox.settled()
        outbox.show(_begun(), _says(Text("two")), urgent=True, final=True)
        await outbox.settled()
        assert channel.texts() == ["two"]
        await outbox.close()

    in_virtual_time(run())


@pytest.mark.parametrize("times", [1, 7], ids=["soon", "after minutes"])
def test_what_the_app_may_not_post_is_told_once_and_posted_as_soon_as_it_may(tmp_path: Path, times: int) -> None:
    async def run() -> None:
        told: list[str] = []
        lost: list[bool] = []
        places = Places.open(tmp_path)
        barred: list[BaseException | None] = [Barred("not_in_channel", "docs/slack.md, step 5")] * times
        channel = Channel(answers=barred)
        outbox = Outbox(channel, places, "C1", told.append)
        outbox.show(_begun(), _says(Text("the end")), urgent=True, final=True, lost=lambda: lost.append(True))
        await asyncio.sleep(7200)
        assert told == ["Slack refuses to post in C1: not_in_channel; see docs/slack.md, step 5"]
        if times < 200:
            assert channel.texts() == ["the end"]
            assert not lost
            return
        assert channel.count() <= 25, "not for ever"
        assert lost, "nobody is waited for"
        assert [one.flow for one in places.unfinished("slack")] == ["s1/1"], "nor is it dropped"
        channel.answers.clear()
        outbox.show(_begun("s1/2"), _says(Text("another")), urgent=True, final=True)
        await asyncio.sleep(60)
        assert sorted(channel.texts()) == ["another", "the end"]
        assert places.unfinished("slack") == []

    in_virtual_time(run())


def test_a_file_that_the_app_may_not_send_is_named_with_the_reason_and_holds_nothing_up(tmp_path: Path) -> None:
    async def run() -> None:
        told: list[str] = []
        channel = Channel(answers=[None, Barred("missing_scope (it needs files:write)")])
        outbox = Outbox(channel, Places.open(tmp_path), "C1", told.append)
        asks = Buttons("t", (Choice("allow_once", "Allow"),))
        outbox.show(_begun(), _says(Text("May it?"), File("a.py.diff", b"x"), asks), urgent=True)
        await outbox.settled()
        assert told == ["Slack refuses to take a file in C1: missing_scope (it needs files:write)"]
        assert "refused the file a.py.diff: missing_scope (it needs files:write)." in channel.said()
        assert "but in the dashboard" in channel.said()
        assert not channel.buttons()

    in_virtual_time(run())


def test_a_file_waits_for_an_app_that_may_do_nothing_at_all(tmp_path: Path) -> None:
    async def run() -> None:
        channel = Channel(answers=[None, Barred("token_revoked", everywhere=True)])
        outbox = Outbox(channel, Places.open(tmp_path))
        outbox.show(_begun(), _says(Text("a"), File("a.py.diff", b"x")), urgent=True, final=True)
        await outbox.settled()
        assert len(channel.files()) == 1

    in_virtual_time(run())


def test_the_files_of_a_turn_stand_above_the_next_turn(tmp_path: Path) -> None:
    async def run() -> None:
        channel = Channel(seconds=2.0)
        outbox = Outbox(channel, Places.open(tmp_path))
        outbox.show(_begun(), _says(Text("Turn 1 done"), File("a.py.diff", b"x")), urgent=True, final=True)
        await asyncio.sleep(0.1)
        later = Begun("s1/2", _HERE, "s1", 2)
        outbox.show(later, _says(Text("Turn 2 done")), urgent=True, final=True)
        await outbox.settled()
        first, second, third = channel.stands.values()
        assert isinstance(second, File)
        assert "Turn 1" in repr(first)
        assert "Turn 2" in repr(third)

    in_virtual_time(run())
