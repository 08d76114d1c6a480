"""Files that no look at the workspace sees, outside of it or ignored by git, which an agent names as it writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from agents.acp.puppetry import done, puppet, start, tools, turn
from drawn import draw
from redline.surfaces.terminal.pipe import plain_row

if TYPE_CHECKING:
    from pathlib import Path

PLACES = ["no.log", "../outside.txt"]


def naming(place: str) -> dict[str, Any]:
    return start("c", title="Write", kind="edit", status="in_progress", locations=[{"path": f"{{w}}/{place}"}])


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("was_there", [True, False])
async def test_written_as_it_is_named_nobody_knows_whether_it_was_there(
    tmp_path: Path, place: str, was_there: bool
) -> None:
    files = {".gitignore": "*.log\n", **({place: "old\n"} if was_there else {})}
    async with puppet(tmp_path, [naming(place), {"write": place, "text": "new\n"}, done("c")], files=files) as live:
        await turn(live)
        row = tools(live)["c"]
        assert row.status == "applied"
        [change] = row.changes
        if not change.may_be_new:  # the look at its name was faster than the agent
            assert change.operation == ("modify" if was_there else "add")
            return
        printed = "\n".join(plain_row(row, workspace=str(live.workspace)))
        assert "# add or modify " in printed
        assert "whether it was there before is not known" in printed
        assert "Created or edited" in draw([row], 200)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("was_there", [True, False])
async def test_named_before_it_is_written_it_is_known(tmp_path: Path, place: str, was_there: bool) -> None:
    files = {".gitignore": "*.log\n", **({place: "old\n"} if was_there else {})}
    steps = [naming(place), {"sleep": 0.6}, {"write": place, "text": "new\n"}, done("c")]
    async with puppet(tmp_path, steps, files=files) as live:
        await turn(live)
        [change] = tools(live)["c"].changes
        assert (change.operation, change.may_be_new) == ("modify" if was_there else "add", False)
