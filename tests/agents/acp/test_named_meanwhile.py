"""A file that a call names is that call's, though an earlier one is still being looked after when it is announced."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from agents.acp.puppetry import done, found, puppet, shell, start, tools, touched, turn
from redline.workspace.lookout import Lookout

if TYPE_CHECKING:
    from pathlib import Path

FILES = {".gitignore": "*.log\n", "late.txt": "one\n", "empty.txt": "a\n"}
BEFORE = {name: text.encode() for name, text in FILES.items()}


def naming(call: str, path: str) -> dict[str, Any]:
    return start(call, title=f"Edit {path}", kind="edit", status="in_progress", locations=[{"path": f"{{w}}/{path}"}])


@pytest.fixture(autouse=True)
def long_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a large workspace."""
    sweep = Lookout.sweep

    def slow(lookout: Lookout, *given: Any) -> Any:
        time.sleep(0.4)
        return sweep(lookout, *given)

    monkeypatch.setattr(Lookout, "sweep", slow)


IGNORED = [naming("i", "no.log"), {"write": "no.log", "text": "x\n"}, done("i")]


@pytest.mark.parametrize("between", [[], IGNORED, [naming("o", "other.log")] * 50])
async def test_it_is_that_calls_without_a_pause_of_the_agent(tmp_path: Path, between: list[dict[str, Any]]) -> None:
    steps = [
        shell("c", "truncate"), {"write": "empty.txt", "text": ""}, done("c"), *between,
        naming("e", "late.txt"), {"write": "late.txt", "text": "one\nmore\n"}, done("e"),
    ]  # fmt: skip
    async with puppet(tmp_path, steps, files=FILES) as live:
        await turn(live, None if between is IGNORED else BEFORE)
        assert touched(tools(live)["c"], live) == [("modify", "empty.txt", 0, 1)]
        assert touched(tools(live)["e"], live) == [("modify", "late.txt", 1, 0)]
        assert not found(live)
