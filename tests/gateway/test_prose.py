"""What a model only says is never done: no file is written, and no change is shown, from prose."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gateway.parlour import Parlour, Screen, events, parlour, step
from redline.transcript.rows import AgentRow, TurnEndRow

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

README = "# Shop\n\nKeep me.\n"
ANSWERS = {
    "a file with fences inside": "README.md:\n\n```markdown README.md\n# Shop\n\n```sh\nmake\n```\n\nMore.\n```\n",
    "a diff": "```diff\n--- a/README.md\n+++ b/README.md\n@@ -3 +0,0 @@\n-Keep me.\n```\n",
    "a patch": "*** Begin Patch\n*** Delete File: README.md\n*** Add File: new.md\n+new\n*** End Patch\n",
    "a block of edits": "README.md\n```\n<<<<<<< SEARCH\nKeep me.\n=======\n>>>>>>> REPLACE\n```\n",
    "a call in words": '<tool_call>{"name": "write", "arguments": {"path": "README.md", "content": ""}}</tool_call>',
}


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Parlour]:
    async with parlour(tmp_path) as made:
        yield made


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS.keys())
async def test_what_an_answer_looks_like_writes_nothing_and_makes_no_card(place: Parlour, answer: str) -> None:
    """Public reports: G81."""
    (place.workspace / "README.md").write_text(README)
    conversation = await place.begin(place.script([step(answer)]))
    screen = Screen(answer="allow_once")
    conversation.attach(screen)
    await conversation.prompt("Improve the README.", source="terminal")
    assert {path.name: path.read_text() for path in place.workspace.iterdir()} == {"README.md": README}
    assert screen.kinds() == ["user", "agent", "turn_end"]
    assert screen.asked == []
    said, end = (row for row in screen.rows.values() if isinstance(row, AgentRow | TurnEndRow))
    assert isinstance(said, AgentRow)
    assert said.text == answer
    assert isinstance(end, TurnEndRow)
    assert list(end.net) == []
    assert await events(conversation, "tool/call", "tool/result", "workspace/changed", "file/intent") == []
