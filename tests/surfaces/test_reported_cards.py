"""Public reports about what a card says of a secret and of a name, as one real call is shown on every surface."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from drawn import console, plain, written
from redline.changes.parse import parse
from redline.surfaces.chat.cards import Setting
from redline.surfaces.chat.paginate import paginate
from redline.surfaces.chat.parts import Message
from redline.surfaces.chat.rows import TurnParts
from redline.surfaces.dashboard.place import Place
from redline.surfaces.dashboard.rows import shown_row
from redline.surfaces.editor import call as editor
from redline.surfaces.slack import blocks as slack
from redline.surfaces.terminal.pipe import plain_row
from redline.surfaces.terminal.rows import render_row
from redline.transcript.fold import rows
from redline.transcript.rows import ToolRow
from surfaces.chat.readback import PLATFORMS
from tool_bench import Bench

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

OLD = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
NEW = "ghp_" + "z9Y8x7W6v5U4t3S2r1Q0p9O8n7M6l5K4j3I2"


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    made = await Bench.open(tmp_path)
    yield made
    await made.store.close()


async def surfaces(bench: Bench) -> dict[str, str]:
    """What each surface shows of the last call, as it hands it out."""
    events = [event async for event in bench.log.events()]
    row = rows(events, bench.toolset.by_name)[-1]
    assert isinstance(row, ToolRow)
    workspace, session = str(bench.workspace), bench.log.session

    def stored(blob: str) -> bytes | None:
        return bench.runner._journal.kept(blob)

    target = console(400)
    target.print(render_row(row, workspace=workspace, session=session), crop=False, overflow="ignore")
    turn = TurnParts(Setting(workspace=workspace))
    turn.add(row)
    messages = [page for page in paginate(turn.parts, slack.MEASURE) if isinstance(page, Message)]
    told = [
        editor.begun(row, workspace, terminals=False, stored=stored),
        editor.ended(row, workspace, terminals=False, stored=stored),
    ]
    return {
        "terminal": plain(written(target)),
        "pipe": "\n".join(plain_row(row, workspace=workspace, session=session)),
        "chat": json.dumps([slack.blocks(message) for message in messages], ensure_ascii=False),
        "editor": json.dumps(told, ensure_ascii=False),
        "dashboard": shown_row(Place(session=session, workspace=workspace), row).model_dump_json(),
        "log": json.dumps([event.data for event in events], ensure_ascii=False),
    }


async def test_a_changed_secret_is_true_in_the_file_and_masked_in_every_card(bench: Bench) -> None:
    """Public reports: O157."""
    bench.put(".env", f"NAME=shop\nTOKEN={OLD}\n")
    done = await bench.read_first(".env", "edit", old_string=f"TOKEN={OLD}", new_string=f"TOKEN={NEW}")
    assert bench.bytes_of(".env") == f"NAME=shop\nTOKEN={NEW}\n".encode()
    assert (done.change.removed, done.change.added) == (1, 1)
    shown = await surfaces(bench)
    for name, text in shown.items():
        for secret in (OLD, NEW):
            assert secret[4:] not in text, name
        assert "⟦redacted github-token⟧" in text, name
    for name in ("terminal", "chat"):
        assert "−1 +1" in shown[name], name
    for path in bench.workspace.parent.glob("log.db*"):
        assert OLD.encode() not in path.read_bytes()
        assert NEW.encode() not in path.read_bytes()


@pytest.mark.parametrize("path", ['docs/My Notes/排查 "x".md', "a b/c b/d.txt", "src/it's – 100%.md"])
async def test_a_name_is_the_same_in_the_card_the_patch_and_the_places_and_is_no_rename(
    bench: Bench, path: str
) -> None:
    """Public reports: K118."""
    bench.put(path, "one\n")
    done = await bench.read_first(path, "edit", old_string="one", new_string="two")
    whole = str(bench.workspace / path)
    assert (done.change.path, done.change.operation, done.change.old_path) == (whole, "modify", None)
    shown = await surfaces(bench)
    assert f"Edited {path}  −1 +1 · applied" in shown["terminal"]
    assert json.dumps(f"Edited {path}  −1 +1 · applied", ensure_ascii=False) in shown["chat"]
    [read] = parse(shown["pipe"][shown["pipe"].index("diff --git") :])
    assert (read.path, read.operation, read.old_path) == (path, "modify", None)
    _, ended = json.loads(shown["editor"])
    assert [place["path"] for place in ended["locations"]] == [whole]
    assert [block["path"] for block in ended["content"] if block["type"] == "diff"] == [whole]
    page = json.loads(shown["dashboard"])
    [change] = page["changes"]
    assert (change["path"], change["name"], change["old_path"]) == (whole, path, None)
    assert {platform.name for platform in PLATFORMS} >= {"slack", "discord", "telegram"}
    turn = TurnParts(Setting(workspace=str(bench.workspace)))
    for row in rows([event async for event in bench.log.events()], bench.toolset.by_name):
        turn.add(row)
    for platform in PLATFORMS:
        messages = [one for one in paginate(turn.parts, platform.measure) if isinstance(one, Message)]
        texts = [text for message in messages for kind, text in platform.read(message) if kind == "prose"]
        assert any(f"Edited {path}  −1 +1 · applied" in text for text in texts), platform.name
