"""Discord whole: discord.py itself, against a simulated Discord that enforces its limits."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import simcord

from gateway.parlour import until
from redline.surfaces.chat.platform import Pace
from redline.surfaces.discord.surface import DiscordClient
from surfaces.chat.office import Setting, call, house, scripted, step

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from surfaces.chat.office import House

QUICK = Pace(gap=0.0, burst=1000, refill=0.001)


@asynccontextmanager
async def connected(at: House, **rules: Any) -> AsyncIterator[Any]:
    client = DiscordClient(at.gateway, at.places, at.rules(**{"allow": frozenset(), **rules}), QUICK)
    async with _beside(client), simcord.run(client) as env:
        yield env
        await client.desk.close()


@asynccontextmanager
async def _beside(client: DiscordClient) -> AsyncIterator[None]:
    """simcord waits until everything that the bot began has ended, and a turn takes its own time: so what the desk
    begins runs outside of what simcord watches."""
    heard: asyncio.Queue[Any] = asyncio.Queue()
    take = client.desk.take

    async def work() -> None:
        while True:
            take(*await heard.get())

    worker = asyncio.create_task(work())
    client.desk.take = lambda *what: heard.put_nowait(what)  # type: ignore[method-assign]
    try:
        yield
    finally:
        worker.cancel()


@dataclass
class Server:
    env: Any
    guild: Any
    channel: Any
    ada: Any

    async def type(self, text: str, channel: Any = None) -> None:
        await self.ada.send(channel or self.channel, text)

    async def mention(self, text: str) -> Any:
        """In the channel; the thread that it opens."""
        await self.type(f"<@{self.env.bot.user.id}> {text}")
        return self.channel.threads[-1]

    def said(self, place: Any) -> str:
        return "\n".join(_text(message) for message in place.history())

    def button(self, place: Any) -> Any:
        """The message that has buttons, if there is one."""
        return next((message for message in place.history() if "custom_id" in str(_components(message))), None)


def _components(message: Any) -> list[Any]:
    return [component.to_dict() for component in message.components]


def _text(message: Any) -> str:
    return "\n".join(one["content"] for one in _components(message) if "content" in one)


def _server(at: House, env: Any, **rules: Any) -> Server:
    guild = env.create_guild()
    channel = guild.create_text_channel("dev")
    ada = guild.add_member(env.create_user("ada"))
    env.bot.desk.rules = at.rules(**{"allow": frozenset({str(ada.id)}), **rules})
    return Server(env, guild, channel, ada)


_WRITE = [step("On it.", call("write", path="__init__.py", content="x = 1\n")), step("Done.")]


async def test_a_mention_opens_a_thread_that_is_a_session(tmp_path: Path) -> None:
    async with house(tmp_path, scripted(tmp_path, _WRITE, [step("Again.")])) as at, connected(at) as env:
        server = _server(at, env)
        thread = await server.mention("make it")
        await until(lambda: "Turn 1 done" in server.said(thread))
        assert "```diff\n@@ -0,0 +1 @@\n+x = 1\n```" in server.said(thread)
        assert "Created \\_\\_init\\_\\_.py" in server.said(thread)
        assert len(thread.history()) == 1
        await server.type("go on", thread)
        await until(lambda: "Turn 2 done" in server.said(thread))
        await server.type("not to it")
        assert len(await at.events("user/message")) == 2
        assert len(await at.gateway.archive.list()) == 1


async def test_a_stranger_is_told_the_id_and_nothing_begins(tmp_path: Path) -> None:
    async with house(tmp_path, scripted(tmp_path, _WRITE)) as at, connected(at) as env:
        server = _server(at, env, allow=frozenset())
        await server.type(f"<@{env.bot.user.id}> hello")
        await until(lambda: f"Your id is {server.ada.id}" in server.said(server.channel))
        assert await at.gateway.archive.list() == []
        assert server.channel.threads == []


async def test_a_long_diff_is_in_parts_that_each_have_their_fence(tmp_path: Path) -> None:
    """Public reports: N142, N145."""
    text = "".join(f"{'`' * (number % 7)} @everyone line {number}\n" for number in range(400))
    model = scripted(tmp_path, [step("", call("write", path="a.md", content=text)), step("Done.")])
    async with house(tmp_path, model) as at, connected(at) as env:
        server = _server(at, env, setting=Setting("full", 100_000, 100_000))
        thread = await server.mention("make it")
        await until(lambda: "Turn 1 done" in server.said(thread))
        parts = [one["content"] for message in thread.history() for one in _components(message) if "```" in str(one)]
        assert len(parts) > 2
        for part in parts:
            assert part.count("```") == 2
            assert "```diff\n" in part
            assert part.endswith("\n```")
        for request in env.http_requests:
            if "messages" in request.path and request.method in ("POST", "PATCH") and "threads" not in request.path:
                assert request.json["allowed_mentions"] == {"parse": []}


_EDIT = [
    step("", call("read", path="a.py")),
    step("", call("write", path="a.py", content="new\n")),
    step("Done."),
]


async def test_a_question_is_answered_with_a_button(tmp_path: Path) -> None:
    async with house(tmp_path, scripted(tmp_path, _EDIT), approval="ask") as at, connected(at) as env:
        server = _server(at, env)
        (at.workspace / "a.py").write_text("old\n")
        thread = await server.mention("change it")
        await until(lambda: server.button(thread))
        assert "-old\n+new" in server.said(thread)
        eve = server.guild.add_member(env.create_user("eve"))
        told = await eve.click(server.button(thread), label="Allow once")
        assert "not on the list" in told.followups[0].content
        await server.ada.click(server.button(thread), label="Allow once")
        await until(lambda: "Allowed once by ada" in server.said(thread) and "Turn 1 done" in server.said(thread))
        assert (at.workspace / "a.py").read_text() == "new\n"
        assert server.button(thread) is None


async def test_a_long_change_is_an_attachment_before_the_buttons(tmp_path: Path) -> None:
    text = "".join(f"line {number}\n" for number in range(3000))
    model = scripted(tmp_path, [step("", call("write", path="long.txt", content=text)), step("Done.")])
    async with house(tmp_path, model, approval="ask") as at, connected(at) as env:
        server = _server(at, env)
        thread = await server.mention("write it")
        await until(lambda: server.button(thread))
        kinds = ["file" if message.attachments else "text" for message in thread.history()]
        assert kinds[-1] == "text"
        assert "file" in kinds
        (attached,) = [message.attachments[0] for message in thread.history() if message.attachments]
        assert attached.filename == "long.txt.diff"
        await server.ada.click(server.button(thread), label="Reject")
        await until(lambda: "Turn 1 done" in server.said(thread) and server.button(thread) is None)
        assert "rejected, not applied" in server.said(thread)
        assert server.said(thread).count("Rejected by") == 1


async def test_slash_commands_say_what_they_show(tmp_path: Path) -> None:
    async with house(tmp_path, scripted(tmp_path, _WRITE)) as at, connected(at) as env:
        server = _server(at, env)
        result = await server.ada.slash(server.channel, "sessions")
        assert result.ephemeral
        await until(lambda: "There is no session yet" in server.said(server.channel))
        await server.ada.slash(server.channel, "help")
        await until(lambda: "Stop what is running" in server.said(server.channel))


async def test_a_message_that_is_gone_does_not_lose_the_final_state(tmp_path: Path) -> None:
    model = scripted(tmp_path, [step("Begun.", call("bash", command="sleep 0.5")), step("Ended.")])
    async with house(tmp_path, model) as at, connected(at) as env:
        server = _server(at, env)
        thread = await server.mention("go")
        await until(lambda: "sleep 0.5" in server.said(thread))
        env.inject_error("PATCH", "/channels/*/messages/*", status=404, code=10008)
        await until(lambda: "Turn 1 done" in server.said(thread))
        assert "Ended." in server.said(thread)
        assert "takes the place of an earlier message" in server.said(thread), "a new message"
        await until(lambda: len(thread.history()) == 1)
