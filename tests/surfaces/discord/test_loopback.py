"""Discord over the wire: `DiscordSurface` with discord.py as it is, at an address from the configuration."""

from __future__ import annotations

import asyncio
import re
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import discord
import pytest

from gateway.parlour import until
from redline.gateway.roster import GatewayError
from redline.surfaces.chat.platform import Pace
from redline.surfaces.discord.surface import DiscordAccess, DiscordSurface
from surfaces.chat.asking import FILES, FORMS, ODD, ODD_TURN, TURNS, shown
from surfaces.chat.office import call, house, scripted, step
from surfaces.discord.loopback import FILE_LIMIT, Loopback, loopback, texts

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from surfaces.chat.asking import FILES, FORMS, ODD, ODD_TURN, TURNS, shown
from surfaces.chat.office import House

QUICK = Pace(gap=0.0, burst=1000, refill=0.001)
_WRITE = [step("On it.", call("write", path="__init__.py", content="x = 1\n")), step("Done.")]


@asynccontextmanager
async def connected(at: House, there: Loopback, **rules: Any) -> AsyncIterator[DiscordSurface]:
    given = at.rules(**{"allow": frozenset({str(there.ada.id)}), **rules})
    access = DiscordAccess(there.token, there.base_url)
    async with DiscordSurface(at.gateway, at.places, given, access, QUICK) as surface:
        yield surface


async def test_a_mention_opens_a_thread_that_is_a_session_and_goes_on_after_the_connection_broke(
    tmp_path: Path,
) -> None:
    model = scripted(tmp_path, _WRITE, [step("Again.")])
    async with loopback() as there, house(tmp_path, model) as at, connected(at, there):
        there.mention("make it")
        await until(lambda: "Turn 1 done" in there.said())
        (message,) = there.posted
        assert message.channel_id != there.channel.id, "it stands in a thread"
        assert "```diff\n@@ -0,0 +1 @@\n+x = 1\n```" in there.said()
        await there.drop()
        await until(lambda: there.connections == 2)
        there.type("go on", message.channel_id)
        await until(lambda: "Turn 2 done" in there.said())
        assert len(await at.gateway.archive.list()) == 1


async def test_changes_are_shown_again_in_each_form(tmp_path: Path) -> None:
    async with loopback() as there, house(tmp_path, scripted(tmp_path, *TURNS)) as at, connected(at, there):
        there.mention("go")
        for number in (1, 2, 3):
            await until(lambda number=number: f"Turn {number} done" in there.said())
            if number < 3:
                there.type("go on", there.posted[0].channel_id)
        place = there.posted[0].channel_id
        for typed, said in FORMS:
            before = {one.id for one in there.posted}
            there.type(f"!diff {typed}", place)
            await until(lambda before=before: len(there.posted) > len(before))
            (new,) = [one for one in there.posted if one.id not in before]
            assert said in _unescaped("\n".join(texts(new.components))), typed
        for typed, name, held in FILES:
            before_files = len(there.files())
            there.type(f"!diff {typed}", place)
            await until(lambda before=before_files: len(there.files()) > before)
            found, content = there.files()[-1]
            assert found == name
            assert all(one in content for one in held)


async def test_odd_names_stand_as_they_are_and_find_their_change(tmp_path: Path) -> None:
    async with loopback() as there, house(tmp_path, scripted(tmp_path, ODD_TURN)) as at, connected(at, there):
        there.mention("go")
        await until(lambda: "Turn 1 done" in there.said())
        place = there.posted[0].channel_id
        for number, name in enumerate(ODD):
            assert f"Created {shown(name)}  \u22120 +1 · applied" in _unescaped(there.said())
            before = {one.id for one in there.posted}
            there.type(f"!diff {shown(name)}", place)
            await until(lambda before=before: len(there.posted) > len(before))
            (new,) = [one for one in there.posted if one.id not in before]
            assert f"+number {number}." in "\n".join(texts(new.components)), name


def _unescaped(text: str) -> str:
    return re.sub(r"\\([^0-9A-Za-z\s])", r"\1", text)


@pytest.mark.parametrize("lines", [3, 3000], ids=["in the message", "as an attachment"])
async def test_a_question_is_answered_with_a_button_within_three_seconds(tmp_path: Path, lines: int) -> None:
    text = "".join(f"line {number}\n" for number in range(lines))
    model = scripted(tmp_path, [step("", call("write", path="a.txt", content=text)), step("Done.")])
    async with loopback() as there, house(tmp_path, model, approval="ask") as at, connected(at, there):
        there.mention("write it")
        await until(there.has_buttons)
        if lines > 3:
            ((name, content),) = there.files()
            assert name == "a.txt.diff"
            assert content.count(b"\n+line ") == lines
        there.press("Allow once", there.member("eve"))
        await until(lambda: "not on the list" in there.told())
        there.press("Allow once")
        await until(lambda: "Allowed once by ada." in there.said() and "Turn 1 done" in there.said())
        assert (at.workspace / "a.txt").read_text() == text
        assert not there.has_buttons()
        assert len(there.answered) == 2
        assert max(there.answered) < 3


async def test_a_file_that_discord_does_not_take_leaves_no_buttons(tmp_path: Path) -> None:
    text = f"{'y' * 19}\n" * (FILE_LIMIT // 20 - 10_000)  # with a sign before each line it is over the limit
    model = scripted(tmp_path, [step("", call("write", path="a.txt", content=text)), step("Done.")])
    async with loopback() as there, house(tmp_path, model, approval="ask") as at, connected(at, there):
        there.mention("write it")
        await until(lambda: "It cannot be answered here" in there.said())
        assert there.files() == []
        assert not there.has_buttons()
        there.type("!stop", there.posted[0].channel_id)
        await until(lambda: "Turn 1 cancelled" in there.said())


@pytest.mark.parametrize(
    "refusal",
    [
        (429, {"message": "You are being rate limited.", "retry_after": 0.3, "global": False}),
        (404, {"message": "Unknown Message", "code": 10008}),
        (500, {"message": "Internal Server Error", "code": 0}),
    ],
    ids=["limited", "gone", "fault"],
)
async def test_an_edit_that_is_refused_still_brings_the_final_state(tmp_path: Path, refusal: Any) -> None:
    model = scripted(tmp_path, [step("Begun.", call("bash", command="sleep 0.5")), step("Ended.")])
    async with loopback() as there, house(tmp_path, model) as at, connected(at, there):
        there.mention("go")
        await until(lambda: "sleep 0.5" in there.said())
        there.refusals["PATCH"] = [refusal]
        await until(lambda: "Turn 1 done" in there.said())
        assert "Ended." in there.said()
        await until(lambda: len(there.posted) == 1)


async def test_a_token_that_is_revoked_later_ends_the_stay(tmp_path: Path) -> None:
    async with loopback() as there, house(tmp_path, "") as at, connected(at, there) as surface:
        staying = asyncio.create_task(surface.stay())
        there.token = "another"
        await there.drop(4004)
        with pytest.raises(discord.ConnectionClosed):
            await asyncio.wait_for(staying, 10)


async def test_a_token_that_is_not_taken_is_said_with_its_remedy(tmp_path: Path) -> None:
    async with loopback() as there, house(tmp_path, "") as at:
        access = DiscordAccess("wrong", there.base_url)
        with pytest.raises(GatewayError, match=r"docs/discord\.md"):
            async with DiscordSurface(at.gateway, at.places, at.rules(), access):
                pass
