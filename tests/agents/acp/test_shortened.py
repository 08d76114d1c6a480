"""Where a text is too long to be kept whole, no part of a secret is left at the place where it was cut."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from agents.acp.puppetry import puppet, shell, start, turn, update, words
from redline.agents.acp.terminals import Terminals

if TYPE_CHECKING:
    from pathlib import Path

    from agents.acp.puppetry import Steps

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
CALL = start("c", title="Look", kind="other", status="pending")
K = 1024


def text(before: int, after: int, *, cut: int = 20) -> str:
    """The token, of which `cut` characters stand before the place at `before`; `after` characters come after it."""
    head, tail = before - cut, after - (len(TOKEN) - cut)
    return (
        "word\n" * (head // 5)
        + "-" * (head % 5 - 1)
        + " " * (head % 5 > 0)
        + TOKEN
        + "\n"
        + "-" * 5
        + "\nwor" * (tail // 4)
    )


def printed(data: str, **more: Any) -> dict[str, Any]:
    return update("c", _meta={"terminal_output": {"terminal_id": "t", "data": data}, **more})


CUT: dict[str, Steps] = {
    "the middle of what a call says": [CALL, update("c", status="completed", content=[words(text(16 * K, 40 * K))])],
    "its other end": [CALL, update("c", status="completed", content=[words(text(40 * K, 16 * K))])],
    "what a running call says": [
        CALL,
        update("c", status="in_progress", content=[words(text(9 * K, 4 * K))]),
    ],
    "why it failed": [CALL, update("c", status="failed", content=[words(text(600, 400))])],
    "what its command printed": [shell("c", "make"), *(printed(part) for part in ("word\n", text(9 * K, 64 * K)))],
}


@pytest.mark.parametrize("place", CUT)
async def test_no_part_of_a_secret_is_left_where_a_text_was_cut(tmp_path: Path, place: str) -> None:
    async with puppet(tmp_path, CUT[place]) as live:
        await turn(live)
        await live.conversation.close()
        data = [str(event.data) async for event in live.session.log.events()]
        assert not [one for one in data if TOKEN[:14] in one or TOKEN[-14:] in one]
        assert any(len(one) > 500 for one in data)


async def test_of_a_terminal_whose_beginning_is_gone_whole_lines_are_shown(tmp_path: Path) -> None:
    terminals = Terminals(tmp_path)
    made = await terminals.create({"command": f"echo {TOKEN}; echo done", "outputByteLimit": 30})
    await terminals.wait_for_exit(made)
    assert await terminals.output(made) == {
        "output": f"{TOKEN[-24:]}\ndone\n",
        "truncated": True,
        "exitStatus": {"exitCode": 0, "signal": None},
    }
    assert terminals.known(made["terminalId"]) == ("done\n", {"exit_code": 0, "signal": None})
    await terminals.close()
    assert terminals.known(made["terminalId"]) == ("done\n", {"exit_code": 0, "signal": None})
