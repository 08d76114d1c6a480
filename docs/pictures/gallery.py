"""Every kind of card, out of events made by hand, drawn by the code that draws a session.

    python docs/pictures/gallery.py

`docs/pictures/take.py` photographs it; it is also the quickest way to see what a change of the drawing does.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

from rich.console import Console

from redline.changes.codec import to_json
from redline.changes.compare import describe, without_basis
from redline.sessions.events import Event
from redline.surfaces.terminal.rows import render_row
from redline.tools.builtin import builtin_toolset
from redline.transcript.fold import rows

if TYPE_CHECKING:
    from redline.changes.record import FileChange

WORKSPACE = "/home/ada/shop"

BEFORE = b"""import json


def load(path):
    with open(path) as file:
        return json.load(file)


def total(items):
    return sum(item["price"] for item in items)


def main():
    items = load("basket.json")
    print(total(items))
"""
AFTER = (
    BEFORE.replace(b"import json\n", b"import json\nfrom decimal import Decimal\n")
    .replace(b'return sum(item["price"] for item in items)', b'return sum(Decimal(item["price"]) for item in items)')
    .replace(b"print(total(items))", b'print(f"{total(items):.2f}")')
)


def change(path: str, before: bytes | None, after: bytes | None, **more: Any) -> FileChange:
    old = more.pop("old_path", None)
    return describe(f"{WORKSPACE}/{path}", before, after, old_path=old and f"{WORKSPACE}/{old}", **more)


class Story:
    """Events, numbered as they come."""

    def __init__(self) -> None:
        self._seq = count(1)
        self.events: list[Event] = []
        self._calls = count(1)

    def add(self, type_: str, **data: Any) -> None:
        seq = next(self._seq)
        self.events.append(Event("demo", seq, 1_700_000_000_000 + seq, type_, data))

    def call(
        self,
        name: str,
        kind: str,
        arguments: dict[str, Any],
        changes: list[FileChange] | None = None,
        *,
        status: str = "completed",
        answer: str | None = None,
        **result: Any,
    ) -> str:
        call = f"call-{next(self._calls)}"
        proposed = [{**to_json(item), "provenance": "proposed"} for item in changes or []]
        self.add("tool/call", turn=1, call=call, name=name, kind=kind, arguments=arguments, proposed=proposed)
        if answer:
            self.add("permission/answered", turn=1, call=call, request=call, outcome=answer, by="terminal")
        landed = [to_json(item) for item in changes or []] if status == "completed" else []
        data = {"content": [], "changes": landed, **result}
        self.add("tool/result", turn=1, call=call, name=name, kind=kind, status=status, **data)
        return call


def story() -> list[Event]:
    tale = Story()
    tale.add("session/started", workspace=WORKSPACE, agent="builtin", model="scripted", surface="terminal")
    tale.add("turn/started", turn=1, source="terminal", rule="")
    tale.add("user/message", turn=1, content=[{"type": "text", "text": "Make the totals exact, and tidy up."}])
    tale.add("assistant/message", turn=1, message="m1", text=OPENING)
    text = [{"type": "text", "text": "1→import json"}]
    meta = {"offset": 1, "lines": 15, "total": 15}
    tale.call("read", "read", {"path": "shop.py"}, content=text, meta=meta)
    tale.call("edit", "edit", {"path": "shop.py"}, [change("shop.py", BEFORE, AFTER)], answer="allow_once")
    tale.call("write", "edit", {"path": "docs/totals.md"}, [change("docs/totals.md", None, NOTES)])
    tale.call("move", "move", {}, [change("src/basket.py", b"BASKET = {}\n", b"BASKET = {}\n", old_path="basket.py")])
    tale.call("delete", "delete", {"path": "old.txt"}, [change("old.txt", b"\xef\xbb\xbfold\r\nfile\r\n", None)])
    tale.call("edit", "edit", {"path": "notes.txt"}, [change("notes.txt", b"\xef\xbb\xbfone\r\ntwo\r\n", b"one\ntwo")])
    run = change("run.sh", b"#!/bin/sh\nexec shop\n", b"#!/bin/sh\nexec shop\n", after_executable=True)
    tale.call("edit", "edit", {"path": "run.sh"}, [run])
    tale.call("edit", "edit", {"path": "hostile.py"}, [change("hostile.py", b"x = 1\n", HOSTILE)])
    tale.call("edit", "edit", {"path": "long.txt"}, [change("long.txt", LONG_BEFORE, LONG_AFTER)])
    tale.call("edit", "edit", {"path": "Makefile"}, [change("Makefile", b"all:\n        build\n", b"all:\n\tbuild\n")])
    big = b"".join(b"row %d\n" % line for line in range(600))
    tale.call("write", "edit", {"path": "data/rows.csv"}, [change("data/rows.csv", None, big)])
    tale.call("write", "edit", {"path": "logo.png"}, [change("logo.png", b"\x89PNG\0old", b"\x89PNG\0newer")])
    huge = without_basis(f"{WORKSPACE}/dump.sql", "modify", None, None)
    tale.call("write", "edit", {"path": "dump.sql"}, [huge])
    tale.call("bash", "execute", {"command": "pytest -q"}, **ran(PYTEST, 1), answer="allow_once")
    reject = {"code": "REJECTED", "message": "The user said no.", "remedy": "Ask what should be done instead."}
    wanted = change("shop.py", AFTER, AFTER.replace(b"main", b"run"))
    tale.call("edit", "edit", {"path": "shop.py"}, [wanted], status="rejected", answer="reject", error=reject)
    missing = {
        "code": "NO_MATCH",
        "message": "The text to replace is not in shop.py.",
        "remedy": "Read the file again and quote it exactly.",
    }
    tale.call("edit", "edit", {"path": "shop.py"}, status="failed", error=missing)
    tale.call("bash", "execute", {"command": "rm -rf build"}, status="rejected", answer="reject", error=reject)
    tale.call("write", "edit", {"path": "docs/totals.md"}, meta={"unchanged": True})
    back = change("docs/totals.md", NOTES, None)
    tale.add("change/reverted", turn=1, call="u1", of=[{"turn": 1, "call": "call-3"}], changes=[to_json(back)])
    tale.add("notice/raised", turn=1, code="SWEEP", message="The workspace is too large to watch.", level="warning")
    tale.add("assistant/message", turn=1, message="m2", text="The totals are exact now. One test still fails.\n")
    usage = {"input_tokens": 5210, "output_tokens": 684, "cached_tokens": 0, "cost": 0.0193}
    tale.add("usage/updated", turn=1, model="scripted", **usage)
    tale.add("turn/ended", turn=1, reason="completed")
    return tale.events


OPENING = """I'll use `Decimal` for the prices:

- the sum first, because everything stands on it, and then the place where it is printed, which rounds it
- then what is left over from the last release
"""
NOTES = "# Totals\n\nPrices are `Decimal`. 価格は正確です。 ✅\n".encode()
HOSTILE = b"x = 1\x1b[1A\x1b[2K approved \x1b]52;c;QQ==\x07\n"
HOSTILE += "if user != 'admin\u202e \u2066# check\u2069 \u2066':\u200b\n".encode()
LONG_BEFORE = b"intro\n" + b"word " * 40 + b"end\n"
LONG_AFTER = b"intro\n" + b"word " * 22 + b"changed " + b"word " * 18 + b"end\n"
PYTEST = "\n".join([*(f"tests/test_{name}.py ..." for name in range(30)), "1 failed, 89 passed in 1.02s"])


def ran(output: str, code: int) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": output}], "meta": {"exit_code": code}}


def main(console: Console | None = None) -> None:
    console = console or Console(highlight=False)
    for row in rows(story(), builtin_toolset().by_name):
        console.print(render_row(row, workspace=WORKSPACE, session="demo"), crop=False)


if __name__ == "__main__":
    main()
