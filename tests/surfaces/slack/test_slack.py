"""Slack whole: the real client library against a server that enforces the documented limits."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import re
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from gateway.parlour import until
from redline.gateway.roster import GatewayError
from redline.surfaces.chat.platform import Pace
from redline.surfaces.slack.surface import SlackAccess, SlackSurface, plain
from surfaces.chat.asking import FILES, FORMS, ODD, ODD_TURN, TURNS, shown
from surfaces.chat.office import ADA, call, house, scripted, step
from surfaces.slack.fake_slack import FakeSlack, fake_slack, text_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from surfaces.chat.office import House

QUICK = Pace(gap=0.0, burst=1000, refill=0.001)


@asynccontextmanager
async def connected(at: House, slack: FakeSlack, **rules: Any) -> AsyncIterator[SlackSurface]:
    access = SlackAccess("xoxb-1", "xapp-1", slack.base_url)
    async with SlackSurface(at.gateway, at.places, at.rules(**rules), access, QUICK) as surface:
        yield surface


async def test_a_mention_becomes_a_session_in_its_thread_with_the_card(tmp_path: Path) -> None:
    model = scripted(tmp_path, [step("On it.", call("write", path="a.py", content="x = 1\n")), step("Done.")])
    async with fake_slack() as slack, house(tmp_path, model) as at, connected(at, slack):
        thread = await slack.type("make a.py")
        await until(lambda: "Turn 1 done" in slack.said())
        (message,) = slack.messages.values()
        assert message["thread_ts"] == thread
        kinds = [element["type"] for block in message["blocks"] for element in block["elements"]]
        assert "rich_text_preformatted" in kinds
        assert "+x = 1" in slack.said()
        assert max(slack.acks) < 3


async def test_a_thread_is_a_session_and_a_direct_message_needs_no_thread(tmp_path: Path) -> None:
    model = scripted(tmp_path, [step("First.")], [step("Second.")])
    async with fake_slack() as slack, house(tmp_path, model) as at, connected(at, slack):
        thread = await slack.type("one")
        await until(lambda: "Turn 1 done" in slack.said())
        follow = {"type": "message", "channel_type": "channel", "user": ADA.id, "channel": "C1", "text": "two"}
        await slack.send_event({**follow, "ts": "1700000001.1", "thread_ts": thread})
        await until(lambda: "Turn 2 done" in slack.said())
        assert len(await at.gateway.archive.list()) == 1
        await slack.send_event({**follow, "ts": "1700000001.2", "text": "not to us"})
        await slack.send_event({**follow, "ts": "1700000001.3", "thread_ts": "1.5", "text": "a thread of others"})
        await slack.send_event({**follow, "ts": "1700000001.4", "channel": "D1", "channel_type": "im", "text": "hi"})
        await until(lambda: any(channel == "D1" for channel, _ in slack.messages))
        await until(lambda: slack.said().count("Turn 1 done") == 2)
        assert len(await at.gateway.archive.list()) == 2
        assert all(message["thread_ts"] is None for (channel, _), message in slack.messages.items() if channel == "D1")


async def test_an_event_that_comes_twice_is_one_prompt(tmp_path: Path) -> None:
    async with fake_slack() as slack, house(tmp_path, scripted(tmp_path, [step("Hi.")])) as at, connected(at, slack):
        event = {"type": "app_mention", "user": ADA.id, "channel": "C1", "text": "<@UBOT> hi", "ts": "1.1"}
        await slack.send_event(event)
        await slack.send_event(event)
        await until(lambda: "Turn 1 done" in slack.said())
        assert len(await at.events("user/message")) == 1


_EDIT = [
    step("", call("read", path="a.py")),
    step("", call("write", path="a.py", content="new\n")),
    step("Done."),
]


async def test_a_question_is_answered_with_a_button(tmp_path: Path) -> None:
    async with (
        fake_slack() as slack,
        house(tmp_path, scripted(tmp_path, _EDIT), approval="ask") as at,
        connected(at, slack),
    ):
        (at.workspace / "a.py").write_text("old\n")
        await slack.type("change it")
        await until(slack.has_buttons)
        assert "-old\n+new" in slack.said()
        await slack.press("Allow once", user="U666")
        await until(lambda: slack.told)
        assert "not on the list" in slack.told[0]["text"]
        stale = copy.deepcopy(next(one for one in slack.messages.values() if "May this" in str(one)))
        await slack.press("Allow once")
        await until(lambda: "Allowed once by Ada." in slack.said() and "Turn 1 done" in slack.said())
        assert (at.workspace / "a.py").read_text() == "new\n"
        assert not slack.has_buttons()
        await slack.press("Allow once", stale=stale)
        await until(lambda: len(slack.told) == 2)
        assert "not open any more" in slack.told[1]["text"]


async def test_an_approval_of_a_long_change_shows_the_file_first(tmp_path: Path) -> None:
    text = "".join(f"line {number}\n" for number in range(3000))
    model = scripted(tmp_path, [step("", call("write", path="long.txt", content=text)), step("Done.")])
    async with fake_slack() as slack, house(tmp_path, model, approval="ask") as at, connected(at, slack):
        thread = await slack.type("write it")
        await until(slack.has_buttons)
        names = [name for name, sent in slack.calls if name != "chat.postMessage" or "actions" in str(sent["blocks"])]
        assert names.index("files.completeUploadExternal") < names.index("chat.postMessage")
        (file,) = slack.files
        assert (file["snippet_type"], file["thread"]) == ("diff", thread)
        assert file["content"].count(b"\n+line ") == 3000
        (asked,) = [message for message in slack.messages.values() if "actions" in str(message["blocks"])]
        assert asked["text"].startswith("May this be done?"), "as the notification says it"
        await slack.press("Reject")
        await until(lambda: "Turn 1 done" in slack.said() and not slack.has_buttons())
        assert "rejected, not applied" in slack.said()
        assert slack.said().count("Rejected by Ada.") == 1


@pytest.mark.parametrize(("status", "answerable"), [(413, False), (503, True), (429, True)])
async def test_an_upload_that_is_refused_for_good_is_not_tried_for_ever(
    tmp_path: Path, status: int, answerable: bool
) -> None:
    text = "".join(f"line {number}\n" for number in range(3000))
    model = scripted(tmp_path, [step("", call("write", path="long.txt", content=text)), step("Done.")])
    async with fake_slack() as slack, house(tmp_path, model, approval="ask") as at, connected(at, slack):
        slack.answers["upload"] = [(status, {}, {})] * (1 if answerable else 9)
        thread = await slack.type("write it")
        await until(slack.has_buttons if answerable else lambda: "It cannot be answered here" in slack.said())
        assert len(slack.files) == answerable
        assert slack.has_buttons() is answerable
        await slack.type("!stop", thread=thread)
        await until(lambda: "Turn 1 cancelled" in slack.said())


async def test_a_question_that_cannot_be_edited_any_more_leaves_no_buttons(tmp_path: Path) -> None:
    model = scripted(tmp_path, [step("", call("write", path="a.txt", content="x\n")), step("Done.")])
    async with fake_slack() as slack, house(tmp_path, model, approval="ask") as at, connected(at, slack):
        thread = await slack.type("write it")
        await until(slack.has_buttons)
        slack.answers["chat.update"] = [(200, {"ok": False, "error": "edit_window_closed"}, {})] * 2
        await slack.type("!stop", thread=thread)
        await until(lambda: "Turn 1 cancelled" in slack.said() and not slack.has_buttons())
        assert "takes the place of an earlier message" in slack.said()


async def test_a_file_over_the_size_of_a_snippet_goes_up_as_a_plain_file(tmp_path: Path) -> None:
    text = "".join(f"{number} {'x' * 90}\n" for number in range(10_500))
    model = scripted(tmp_path, [step("", call("write", path="long.txt", content=text)), step("Done.")])
    async with fake_slack() as slack, house(tmp_path, model) as at, connected(at, slack):
        await slack.type("write it")
        await until(lambda: slack.files and "Turn 1 done" in slack.said())
        assert slack.files[0]["snippet_type"] is None


async def test_nothing_in_a_file_is_markup_or_a_mention(tmp_path: Path) -> None:
    """Public reports: N142, N151."""
    hostile = "<!channel> <@U123> a && b\n```\n````\n*bold* \x1b[1A \u202e\n" * 60
    model = scripted(tmp_path, [step("<!here> see", call("write", path="<!channel>.md", content=hostile)), step("")])
    async with fake_slack() as slack, house(tmp_path, model) as at, connected(at, slack):
        await slack.type("write it")
        await until(lambda: "Turn 1 done" in slack.said())
        assert "+<!channel> <@U123> a && b" in slack.said()
        assert "^[[1A <U+202E>" in slack.said()
        for name, sent in slack.calls:
            if name in ("chat.postMessage", "chat.update"):
                assert "<" not in sent["text"]
                assert "mrkdwn" not in str(sent["blocks"])


@pytest.mark.parametrize(
    "answer",
    [
        (200, {"ok": False, "error": "ratelimited"}, {"Retry-After": "1"}),
        (429, {"ok": False, "error": "ratelimited"}, {"Retry-After": "1"}),
        (200, {"ok": False, "error": "message_not_found"}, {}),
        (500, {"ok": False, "error": "internal_error"}, {}),
    ],
    ids=["limited in a 200", "limited by a 429", "message gone", "server fault"],
)
async def test_an_edit_that_is_refused_still_brings_the_final_state(tmp_path: Path, answer: Any) -> None:
    """Public reports: N144."""
    model = scripted(tmp_path, [step("Begun.", call("bash", command="sleep 0.3")), step("Ended.")])
    async with fake_slack() as slack, house(tmp_path, model) as at, connected(at, slack):
        slack.answers["chat.update"] = [answer] * 2
        await slack.type("go")
        await until(lambda: "Turn 1 done" in slack.said())
        assert "Ended." in slack.said()


async def test_cards_do_without_colours_where_slack_knows_no_such_language(tmp_path: Path) -> None:
    model = scripted(tmp_path, [step("", call("write", path="a.py", content="x = 1\n")), step("Done.")])
    async with fake_slack() as slack, house(tmp_path, model) as at, connected(at, slack):
        slack.languages = frozenset(("python",))
        await slack.type("make it")
        await until(lambda: "Turn 1 done" in slack.said())
        assert "+x = 1" in slack.said()
        assert "could not" not in slack.said()


async def test_changes_are_shown_again_in_each_form(tmp_path: Path) -> None:
    async with fake_slack() as slack, house(tmp_path, scripted(tmp_path, *TURNS)) as at, connected(at, slack):
        thread = await slack.type("go")
        for number in (1, 2, 3):
            await until(lambda number=number: f"Turn {number} done" in slack.said())
            if number < 3:
                await slack.type("go on", thread=thread)
        for typed, said in FORMS:
            before = set(slack.messages)
            linked = re.sub(r"(?<![\w/])(\w+\.(?:py|md))", r"<http://\1|\1>", typed)  # as Slack takes them for domains
            await slack.type(f"!diff {linked}", thread=thread)
            await until(lambda before=before: set(slack.messages) - before)
            (new,) = set(slack.messages) - before
            assert said in text_of(slack.messages[new]), typed
        for typed, name, held in FILES:
            before = len(slack.files)
            await slack.type(f"!diff {typed}", thread=thread)
            await until(lambda before=before: len(slack.files) > before)
            assert slack.files[-1]["name"] == name
            assert all(one in slack.files[-1]["content"] for one in held)


async def test_odd_names_stand_as_they_are_and_find_their_change(tmp_path: Path) -> None:
    async with fake_slack() as slack, house(tmp_path, scripted(tmp_path, ODD_TURN)) as at, connected(at, slack):
        thread = await slack.type("go")
        await until(lambda: "Turn 1 done" in slack.said())
        for number, name in enumerate(ODD):
            assert f"Created {shown(name)}  \u22120 +1 · applied" in slack.said()
            before = set(slack.messages)
            typed = shown(name).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
            await slack.type(f"!diff {typed}", thread=thread)
            await until(lambda before=before: set(slack.messages) - before)
            (new,) = set(slack.messages) - before
            assert f"+number {number}." in text_of(slack.messages[new]), name


async def test_the_slash_command_shows_what_it_says(tmp_path: Path) -> None:
    async with fake_slack() as slack, house(tmp_path, scripted(tmp_path, [step("Hi.")])) as at, connected(at, slack):
        await slack.command("sessions")
        await until(lambda: "There is no session yet." in slack.said())
        await slack.command("")
        await until(lambda: "!stop: Stop what is running." in slack.said())


async def test_after_the_connection_broke_it_is_heard_again(tmp_path: Path) -> None:
    model = scripted(tmp_path, [step("One.")], [step("Two.")])
    async with fake_slack() as slack, house(tmp_path, model) as at, connected(at, slack):
        thread = await slack.type("one")
        await until(lambda: "Turn 1 done" in slack.said())
        await slack.drop()
        await slack.type("two", thread=thread)
        await until(lambda: "Turn 2 done" in slack.said())


async def test_a_token_that_is_revoked_in_a_turn_and_given_back_loses_nothing(tmp_path: Path) -> None:
    model = scripted(tmp_path, [step("Begun.", call("bash", command="sleep 0.5")), step("Ended.")])
    async with fake_slack() as slack, house(tmp_path, model) as at, connected(at, slack):
        slack.answers["chat.update"] = [(200, {"ok": False, "error": "token_revoked"}, {})] * 2
        await slack.type("go")
        await until(lambda: "sleep 0.5" in slack.said())
        for _ in range(2):
            with contextlib.suppress(AssertionError):
                await until(lambda: "Turn 1 done" in slack.said())
        assert "Ended." in slack.said()
        assert len(slack.messages) == 1


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (
            {"error": "missing_scope", "needed": "chat:write"},
            "missing_scope (it needs chat:write); see docs/slack.md, step 1",
        ),
        ({"error": "not_in_channel"}, "not_in_channel; see docs/slack.md, step 5"),
        ({"error": "is_archived"}, "is_archived; see docs/slack.md, step 5"),
        ({"error": "restricted_action"}, "restricted_action; see docs/slack.md, step 5"),
        ({"error": "channel_not_found"}, "channel_not_found; see docs/slack.md, step 5"),
        ({"error": "token_revoked"}, "token_revoked; see docs/slack.md, step 2"),
    ],
    ids=lambda one: one.get("error") if isinstance(one, dict) else "",
)  # fmt: skip
async def test_what_the_app_may_not_post_is_told_in_the_terminal_and_posted_once_it_may(
    tmp_path: Path, answer: dict[str, str], said: str
) -> None:
    told: list[str] = []
    model = scripted(tmp_path, [step("Done.")])
    async with fake_slack() as slack, house(tmp_path, model) as at, connected(at, slack, tell=told.append):
        slack.answers["chat.postMessage"] = [(200, {"ok": False, **answer}, {})] * 2
        await slack.type("go")
        for _ in range(2):
            with contextlib.suppress(AssertionError):
                await until(lambda: "Turn 1 done" in slack.said())
        assert "Turn 1 done" in slack.said()
        assert told == [f"Slack refuses to post in C1: {said}"]


async def test_two_people_press_at_once_and_one_answer_counts(tmp_path: Path) -> None:
    async with (
        fake_slack() as slack,
        house(tmp_path, scripted(tmp_path, _EDIT), approval="ask") as at,
        connected(at, slack, allow=frozenset({ADA.id, "U2"})),
    ):
        (at.workspace / "a.py").write_text("old\n")
        await slack.type("change it")
        await until(slack.has_buttons)
        await asyncio.gather(slack.press("Allow once"), slack.press("Reject", user="U2"))
        await until(lambda: "Turn 1 done" in slack.said() and slack.told)
        assert [one["text"] for one in slack.told] == ["This question is not open any more."]
        (answered,) = await at.events("permission/answered")
        allowed = answered.data["outcome"] == "allow_once"
        assert (at.workspace / "a.py").read_text() == ("new\n" if allowed else "old\n")


async def test_a_token_that_slack_does_not_take_is_said_with_its_remedy(tmp_path: Path) -> None:
    async with fake_slack() as slack, house(tmp_path, "") as at:
        for access in (SlackAccess("no", "xapp-1", slack.base_url), SlackAccess("xoxb-1", "no", slack.base_url)):
            with pytest.raises(GatewayError, match=r"invalid_auth.*docs/slack\.md"):
                async with SlackSurface(at.gateway, at.places, at.rules(), access, QUICK):
                    pass


def test_what_was_typed() -> None:
    assert plain("<@UBOT> run `a &lt;b&gt; &amp;&amp; c`", "UBOT") == "run `a <b> && c`"
    assert plain("!diff <http://README.md|README.md> file", "UBOT") == "!diff README.md file"
    assert plain("see <https://x.org/a|x.org/a> and <#C1|general>", "UBOT") == "see https://x.org/a and #general"
