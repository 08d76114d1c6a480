"""Telegram whole: the real client library against a server that enforces the documented limits."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from gateway.parlour import until
from redline.gateway.roster import GatewayError
from redline.surfaces.chat.platform import Pace
from redline.surfaces.telegram.surface import TelegramAccess, TelegramSurface
from surfaces.chat.asking import FILES, FORMS, ODD, ODD_TURN, TURNS, shown
from surfaces.chat.office import Setting, call, house, scripted, step
from surfaces.telegram.fake_telegram import TOKEN, FakeTelegram, fake_telegram

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from surfaces.chat.asking import FILES, FORMS, ODD, ODD_TURN, TURNS, shown
from surfaces.chat.office import House

QUICK = Pace(gap=0.0, burst=1000, refill=0.001)


@asynccontextmanager
async def connected(at: House, telegram: FakeTelegram, **rules: Any) -> AsyncIterator[TelegramSurface]:
    given = at.rules(**{"allow": frozenset({"7"}), **rules})
    access = TelegramAccess(TOKEN, telegram.base_url)
    async with TelegramSurface(at.gateway, at.places, given, access, QUICK) as surface:
        yield surface


_WRITE = [step("On it.", call("write", path="my_file[1].py", content="x = 1\n")), step("Done.")]


@pytest.mark.parametrize("rich", [True, False], ids=["rich", "html"])
async def test_a_message_becomes_a_session_with_the_card(tmp_path: Path, rich: bool) -> None:
    """Public reports: N148."""
    async with (
        fake_telegram(rich=rich) as telegram,
        house(tmp_path, scripted(tmp_path, _WRITE, [step("Again.")])) as at,
        connected(at, telegram),
    ):
        telegram.type("make it")
        await until(lambda: "Turn 1 done" in telegram.said())
        assert "Created my_file[1].py  \u22120 +1 · applied" in telegram.said()
        assert "+x = 1" in telegram.said()
        assert len(telegram.messages) == 1
        telegram.type("go on")
        await until(lambda: "Turn 2 done" in telegram.said())
        assert len(await at.gateway.archive.list()) == 1
        sent = {name for name, _ in telegram.calls}
        assert ("sendMessage" in sent) is not rich
        if not rich:
            assert sum(name == "sendRichMessage" for name, _ in telegram.calls) == 1, "asked once"


@pytest.mark.parametrize("rich", [True, False], ids=["rich", "html"])
async def test_a_long_turn_goes_on_in_further_messages(tmp_path: Path, rich: bool) -> None:
    """Public reports: N142, N148."""
    text = "".join(f"{'`' * (number % 6)} line {number} <b>&amp;\n" for number in range(900))
    model = scripted(tmp_path, [step("", call("write", path="a.md", content=text)), step("Done.")])
    async with fake_telegram(rich=rich) as telegram, house(tmp_path, model) as at:
        setting = Setting("full", change_limit=100_000, turn_limit=100_000)
        async with connected(at, telegram, setting=setting):
            telegram.type("make it")
            await until(lambda: "Turn 1 done" in telegram.said())
            assert all(f"line {number} <b>&amp;" in telegram.said() for number in range(900))
            assert (len(telegram.messages) > 5) is not rich


async def test_what_cannot_be_parsed_comes_as_plain_text(tmp_path: Path) -> None:
    """Public reports: N148."""
    no = (400, {"description": "Bad Request: can't parse entities: unexpected end of name token at byte offset 3"})
    async with fake_telegram(rich=False) as telegram, house(tmp_path, scripted(tmp_path, _WRITE)) as at:
        telegram.answers["sendMessage"] = [no]
        telegram.answers["editMessageText"] = [no]
        async with connected(at, telegram):
            telegram.type("make it")
            await until(lambda: "Turn 1 done" in telegram.said())
            assert "+x = 1" in telegram.said()
            first = [sent for name, sent in telegram.calls if name == "sendMessage"][:2]
            assert [sent.get("parse_mode") for sent in first] == ["HTML", None]


_EDIT = [
    step("", call("read", path="a.py")),
    step("", call("write", path="a.py", content="new\n")),
    step("Done."),
]


@pytest.mark.parametrize("rich", [True, False], ids=["rich", "html"])
async def test_a_question_is_answered_with_a_button(tmp_path: Path, rich: bool) -> None:
    async with (
        fake_telegram(rich=rich) as telegram,
        house(tmp_path, scripted(tmp_path, _EDIT), approval="ask") as at,
        connected(at, telegram),
    ):
        (at.workspace / "a.py").write_text("old\n")
        telegram.type("change it")
        await until(telegram.has_buttons)
        assert "-old\n+new" in telegram.said()
        telegram.press("Allow once", user=666)
        await until(lambda: telegram.told)
        assert "not on the list" in telegram.told[0]
        telegram.press("Allow once")
        await until(lambda: "Allowed once by Ada." in telegram.said() and "Turn 1 done" in telegram.said())
        assert (at.workspace / "a.py").read_text() == "new\n"
        assert not telegram.has_buttons()


async def test_a_long_change_is_a_document_before_the_buttons(tmp_path: Path) -> None:
    text = "".join(f"line {number}\n" for number in range(3000))
    model = scripted(tmp_path, [step("", call("write", path="long.txt", content=text)), step("Done.")])
    async with fake_telegram() as telegram, house(tmp_path, model, approval="ask") as at, connected(at, telegram):
        telegram.type("write it")
        await until(telegram.has_buttons)
        (document,) = telegram.documents
        assert document["name"] == "long.txt.diff"
        assert document["content"].count(b"\n+line ") == 3000
        names = [name for name, sent in telegram.calls if name == "sendDocument" or "Reject" in str(sent)]
        assert names[0] == "sendDocument"
        telegram.press("Reject")
        await until(lambda: "Turn 1 done" in telegram.said() and not telegram.has_buttons())
        assert telegram.said().count("Rejected by Ada.") == 1


async def test_flood_control_is_waited_out(tmp_path: Path) -> None:
    """Public reports: N150."""
    flood = (429, {"description": "Too Many Requests: retry after 1", "parameters": {"retry_after": 1}})
    model = scripted(tmp_path, [step("Begun.", call("bash", command="sleep 0.3")), step("Ended.")])
    async with fake_telegram() as telegram, house(tmp_path, model) as at, connected(at, telegram):
        telegram.answers["editMessageText"] = [flood, flood]
        telegram.type("go")
        await until(lambda: "Turn 1 done" in telegram.said())
        assert "Ended." in telegram.said()
        assert len(telegram.messages) == 1


async def test_a_message_that_is_gone_does_not_lose_the_final_state(tmp_path: Path) -> None:
    model = scripted(tmp_path, [step("Begun.", call("bash", command="sleep 0.3")), step("Ended.")])
    async with fake_telegram() as telegram, house(tmp_path, model) as at, connected(at, telegram):
        telegram.type("go")
        await until(lambda: telegram.messages)
        telegram.messages.clear()
        await until(lambda: "Turn 1 done" in telegram.said())
        assert "Begun." in telegram.said()


async def test_in_a_group_only_what_is_meant_for_it_is_heard_and_a_topic_is_a_session(tmp_path: Path) -> None:
    model = scripted(tmp_path, [step("One.")], [step("Two.")])
    async with fake_telegram() as telegram, house(tmp_path, model) as at, connected(at, telegram):
        telegram.type("not to us", chat=-5)
        telegram.type("@redline_bot hello", chat=-5, topic=3)
        await until(lambda: "Turn 1 done" in telegram.said())
        assert {message["topic"] for message in telegram.messages.values()} == {3}
        (prompt,) = await at.events("user/message")
        assert prompt.data["content"] == [{"type": "text", "text": "hello"}]
        telegram.type("/sessions@redline_bot", chat=-5)
        await until(lambda: "hello" in telegram.said())
        assert len(await at.gateway.archive.list()) == 1


async def test_changes_are_shown_again_in_each_form(tmp_path: Path) -> None:
    async with fake_telegram() as telegram, house(tmp_path, scripted(tmp_path, *TURNS)) as at, connected(at, telegram):
        for number in (1, 2, 3):
            telegram.type("go on")
            await until(lambda number=number: f"Turn {number} done" in telegram.said())
        for typed, said in FORMS:
            before = set(telegram.messages)
            telegram.type(f"/diff@redline_bot {typed}")
            await until(lambda before=before: set(telegram.messages) - before)
            (new,) = set(telegram.messages) - before
            assert said in telegram.messages[new]["text"], typed
        for typed, name, held in FILES:
            before = len(telegram.documents)
            telegram.type(f"/diff {typed}")
            await until(lambda before=before: len(telegram.documents) > before)
            assert telegram.documents[-1]["name"] == name
            assert all(one in telegram.documents[-1]["content"] for one in held)


@pytest.mark.parametrize("rich", [True, False], ids=["rich", "html"])
async def test_odd_names_stand_as_they_are_and_find_their_change(tmp_path: Path, rich: bool) -> None:
    async with (
        fake_telegram(rich=rich) as telegram,
        house(tmp_path, scripted(tmp_path, ODD_TURN)) as at,
        connected(at, telegram),
    ):
        telegram.type("go")
        await until(lambda: "Turn 1 done" in telegram.said())
        for number, name in enumerate(ODD):
            assert f"Created {shown(name)}  \u22120 +1 · applied" in telegram.said()
            before = set(telegram.messages)
            telegram.type(f"/diff {shown(name)}")
            await until(lambda before=before: set(telegram.messages) - before)
            (new,) = set(telegram.messages) - before
            assert f"+number {number}." in telegram.messages[new]["text"], name


async def test_start_says_what_can_be_typed(tmp_path: Path) -> None:
    async with fake_telegram() as telegram, house(tmp_path, "") as at, connected(at, telegram):
        telegram.type("/start")
        await until(lambda: "/stop: Stop what is running." in telegram.said())
        assert telegram.commands == ["diff", "stop", "new", "sessions", "help"]
        telegram.type("/start", user=8, chat=8)
        await until(lambda: "Your id is 8" in telegram.said())


@pytest.mark.parametrize("token", ["nonsense", "1234:wrongwrongwrongwrongwrongwrongwrong"])
async def test_a_token_that_is_none_is_said_with_its_remedy(tmp_path: Path, token: str) -> None:
    async with fake_telegram() as telegram, house(tmp_path, "") as at:
        with pytest.raises(GatewayError, match=r"docs/telegram\.md"):
            async with TelegramSurface(at.gateway, at.places, at.rules(), TelegramAccess(token, telegram.base_url)):
                pass
