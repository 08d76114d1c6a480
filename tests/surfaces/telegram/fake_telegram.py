"""Telegram's Bot API on loopback, with the limits that its documents name and nothing more.

Enforced, each with its source (all under core.telegram.org/bots/api):
- a text has 1 to 4,096 characters after entities are parsed (#sendmessage), counted in UTF-16 units (#messageentity);
- HTML knows the tags of #html-style, all closed in order, else 400 "can't parse entities";
- a rich message holds 32,768 characters and 500 blocks, nested ones included, 16 deep at most
  (#rich-message-formatting-options); exactly one of its forms is used (#inputrichmessage);
- `callback_data` has 1 to 64 bytes (#inlinekeyboardbutton); a document at most 50 MB, a caption 1,024 characters
  (#senddocument); the answer to a press 200 characters (#answercallbackquery);
- a command has 1 to 32 of `a-z`, `0-9` and `_`, its description 1 to 256 characters, 100 commands at most
  (#setmycommands, #botcommand);
- an edit that changes nothing is 400 "message is not modified", one of a message that is gone is 400 "message to edit
  not found" (both as the public server says them);
- flood control is 429 with `parameters.retry_after` (#responseparameters): at a test's word.
`rich = False` makes it a server from before rich messages.
"""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

from aiohttp import web

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

TOKEN = "123456:abcdefghijklmnopqrstuvwxyz0123456"
_ME = {"id": 99, "is_bot": True, "first_name": "Redline", "username": "redline_bot"}
_TAGS = frozenset(("b", "strong", "i", "em", "u", "s", "code", "pre", "a", "blockquote", "span", "tg-spoiler"))


class BadRequestError(Exception):
    pass


@dataclass
class FakeTelegram:
    base_url: str = ""
    rich: bool = True
    messages: dict[tuple[int, int], dict[str, Any]] = field(default_factory=dict)
    """By chat and id, as they stand."""
    documents: list[dict[str, Any]] = field(default_factory=list)
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    """In the bot's menu."""
    told: list[str] = field(default_factory=list)
    """What answers to presses said."""
    answers: dict[str, list[tuple[int, dict[str, Any]]]] = field(default_factory=dict)
    """By method: what it answers instead, first come first."""
    _updates: list[dict[str, Any]] = field(default_factory=list)
    _more: asyncio.Event = field(default_factory=asyncio.Event)
    _count: int = 100

    def app(self) -> web.Application:
        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_route("*", "/bot{token}/{method}", self._method)
        return app

    # What a test does.

    def type(self, text: str, *, user: int = 7, chat: int = 7, topic: int = 0, **more: Any) -> None:
        message: dict[str, Any] = {
            "message_id": self._next(), "date": 1_700_000_000, "text": text,
            "from": {"id": user, "is_bot": False, "first_name": "Ada"},
            "chat": {"id": chat, "type": "private" if chat > 0 else "supergroup"}, **more,
        }  # fmt: skip
        if topic:
            message |= {"message_thread_id": topic, "is_topic_message": True}
        self._update({"message": message})

    def press(self, name: str, *, user: int = 7) -> None:
        """The button of that name, wherever it stands."""
        for (chat, id_), message in self.messages.items():
            for row in message["keyboard"]:
                for button in row:
                    if button["text"] == name:
                        message_of = {"message_id": id_, "date": 1_700_000_000, "chat": {"id": chat, "type": "private"}}
                        self._update({"callback_query": {
                            "id": str(self._next()), "chat_instance": "1", "data": button["callback_data"],
                            "from": {"id": user, "is_bot": False, "first_name": "Ada"},
                            "message": message_of,
                        }})  # fmt: skip
                        return
        raise AssertionError(f"no button {name!r}")

    def said(self) -> str:
        return "\n".join(message["text"] for message in self.messages.values())

    def has_buttons(self) -> bool:
        return any(message["keyboard"] for message in self.messages.values())

    # What Telegram does.

    async def _method(self, request: web.Request) -> web.Response:
        name = request.match_info["method"]
        if request.match_info["token"] != TOKEN:
            return _no(401, "Unauthorized")
        sent = await _arguments(request)
        if name != "getUpdates":
            self.calls.append((name, sent))
        if self.answers.get(name):
            status, body = self.answers[name].pop(0)
            return web.json_response({"ok": False, "error_code": status, **body}, status=status)
        handler = getattr(self, "_" + name, None)
        if handler is None or (name == "sendRichMessage" and not self.rich):
            return _no(404, "Not Found: method not found")
        try:
            result = handler(sent)
            if asyncio.iscoroutine(result):
                result = await result
        except BadRequestError as error:
            return _no(400, f"Bad Request: {error}")
        return web.json_response({"ok": True, "result": result})

    def _getMe(self, _: dict[str, Any]) -> dict[str, Any]:  # noqa: N802 - Telegram's
        return _ME

    def _setMyCommands(self, sent: dict[str, Any]) -> bool:  # noqa: N802 - Telegram's
        return all(1 <= len(one["description"]) <= 256 for one in sent["commands"])

    async def _getUpdates(self, sent: dict[str, Any]) -> list[dict[str, Any]]:  # noqa: N802 - Telegram's
        offset = int(sent.get("offset") or 0)
        self._updates = [one for one in self._updates if one["update_id"] >= offset]
        if not self._updates:
            self._more.clear()
            with_time = min(float(sent.get("timeout") or 0), 1.0)
            try:
                await asyncio.wait_for(self._more.wait(), with_time)
            except TimeoutError:
                return []
        return self._updates

    def _setMyCommands(self, sent: dict[str, Any]) -> bool:  # noqa: N802 - Telegram's
        for one in sent["commands"]:
            if not re.fullmatch(r"[a-z0-9_]{1,32}", one["command"]) or not 1 <= len(one["description"]) <= 256:
                raise BadRequestError("BOT_COMMAND_INVALID")
        if len(sent["commands"]) > 100:
            raise BadRequestError("BOT_COMMANDS_TOO_MUCH")
        self.commands = [one["command"] for one in sent["commands"]]
        return True

    def _sendMessage(self, sent: dict[str, Any]) -> dict[str, Any]:  # noqa: N802 - Telegram's
        return self._put(sent, self._next(), _parsed(sent))

    def _sendRichMessage(self, sent: dict[str, Any]) -> dict[str, Any]:  # noqa: N802 - Telegram's
        return self._put(sent, self._next(), _rich(sent["rich_message"]))

    def _editMessageText(self, sent: dict[str, Any]) -> dict[str, Any]:  # noqa: N802 - Telegram's
        key = (int(sent["chat_id"]), int(sent["message_id"]))
        if key not in self.messages:
            raise BadRequestError("message to edit not found")
        if "rich_message" in sent and self.rich:
            text = _rich(sent["rich_message"])
        else:
            text = _parsed(sent)
        if self.messages[key]["text"] == text and self.messages[key]["keyboard"] == _keyboard(sent):
            raise BadRequestError(
                "message is not modified: specified new message content and reply markup are the same"
            )
        return self._put(sent, key[1], text)

    def _editMessageReplyMarkup(self, sent: dict[str, Any]) -> dict[str, Any]:  # noqa: N802 - Telegram's
        key = (int(sent["chat_id"]), int(sent["message_id"]))
        return self._put(sent, key[1], self.messages[key]["text"])

    def _deleteMessage(self, sent: dict[str, Any]) -> bool:  # noqa: N802 - Telegram's
        if self.messages.pop((int(sent["chat_id"]), int(sent["message_id"])), None) is None:
            raise BadRequestError("message to delete not found")
        return True

    def _sendDocument(self, sent: dict[str, Any]) -> dict[str, Any]:  # noqa: N802 - Telegram's
        document = next(value for value in sent.values() if isinstance(value, web.FileField))
        content = document.file.read()
        if len(content) > 50 * 2**20 or len(sent.get("caption", "")) > 1024:
            raise BadRequestError("file is too big")
        self.documents.append({"chat": int(sent["chat_id"]), "name": document.filename, "content": content})
        return self._message(int(sent["chat_id"]), self._next())

    def _answerCallbackQuery(self, sent: dict[str, Any]) -> bool:  # noqa: N802 - Telegram's
        if len(sent.get("text", "")) > 200:
            raise BadRequestError("MESSAGE_TOO_LONG")
        self.told.append(sent.get("text", ""))
        return True

    def _put(self, sent: dict[str, Any], id_: int, text: str) -> dict[str, Any]:
        chat = int(sent["chat_id"])
        self.messages[chat, id_] = {
            "text": text, "keyboard": _keyboard(sent),
            "topic": int(sent.get("message_thread_id") or self.messages.get((chat, id_), {}).get("topic", 0)),
        }  # fmt: skip
        return self._message(chat, id_)

    def _message(self, chat: int, id_: int) -> dict[str, Any]:
        return {"message_id": id_, "date": 1_700_000_000, "chat": {"id": chat, "type": "private"}, "from": _ME}

    def _update(self, update: dict[str, Any]) -> None:
        self._updates.append({"update_id": self._next(), **update})
        self._more.set()

    def _next(self) -> int:
        self._count += 1
        return self._count


def _no(status: int, description: str) -> web.Response:
    return web.json_response({"ok": False, "error_code": status, "description": description}, status=status)


def _units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


class _Parser(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()
        if self.open:
            raise BadRequestError(
                f"can't parse entities: Can't find end tag corresponding to start tag \"{self.open[-1]}\""
            )

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag not in _TAGS:
            raise BadRequestError(f'can\'t parse entities: Unsupported start tag "{tag}"')
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            raise BadRequestError("can't parse entities: Unmatched end tag")

    def handle_data(self, data: str) -> None:
        self.text += data


def _parsed(sent: dict[str, Any]) -> str:
    text = sent.get("text", "")
    if sent.get("parse_mode") == "HTML":
        text = _Parser(text).text
    if not text.strip():
        raise BadRequestError("message text is empty")
    if _units(text) > 4096:
        raise BadRequestError("message is too long")
    return str(text)


def _rich(message: dict[str, Any]) -> str:
    texts: list[str] = []
    if sum(name in message for name in ("blocks", "html", "markdown")) != 1:
        raise BadRequestError("rich message must have exactly one content")
    count = _walk(message["blocks"], texts)
    if count > 500:
        raise BadRequestError("rich message has too many blocks")
    if sum(_units(text) for text in texts) > 32_768:
        raise BadRequestError("rich message is too long")
    return "\n".join(texts)


def _walk(blocks: list[dict[str, Any]], texts: list[str], depth: int = 1) -> int:
    if depth > 16:
        raise BadRequestError("rich message is nested too deep")
    count = 0
    for block in blocks:
        count += 1
        if block["type"] == "details":
            texts.append(_plain(block["summary"]))
            count += _walk(block["blocks"], texts, depth + 1)
        else:
            texts.append(_plain(block["text"]))
    return count


def _plain(text: Any) -> str:
    if isinstance(text, list):
        return "".join(_plain(one) for one in text)
    return text if isinstance(text, str) else _plain(text["text"])


def _keyboard(sent: dict[str, Any]) -> list[list[dict[str, Any]]]:
    rows: list[list[dict[str, Any]]] = (sent.get("reply_markup") or {}).get("inline_keyboard", [])
    for row in rows:
        for button in row:
            if not 1 <= len(button["callback_data"].encode()) <= 64:
                raise BadRequestError("BUTTON_DATA_INVALID")
    return rows


async def _arguments(request: web.Request) -> dict[str, Any]:
    found: dict[str, Any] = dict(request.query) | dict(await request.post())
    for name in ("rich_message", "reply_markup", "commands", "link_preview_options"):
        if isinstance(found.get(name), str):
            found[name] = json.loads(found[name])
    return found


@asynccontextmanager
async def fake_telegram(*, rich: bool = True) -> AsyncIterator[FakeTelegram]:
    fake = FakeTelegram(rich=rich)
    runner = web.AppRunner(fake.app(), shutdown_timeout=0.2)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    fake.base_url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield fake
    finally:
        await runner.cleanup()
