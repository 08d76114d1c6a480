"""The example on the page about the scripted model is a script that plays."""

from __future__ import annotations

import re
from pathlib import Path

from redline.agents.builtin.script import load_script

PAGE = Path(__file__).parents[2] / "docs" / "scripted-model.md"


def test_the_example_of_the_page_can_be_played(tmp_path: Path) -> None:
    [example] = re.findall(r"```toml\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    path = tmp_path / "greet.toml"
    path.write_text(example, "utf-8")
    script = load_script(path)
    assert [len(turn.step) for turn in script.turn] == [2, 1]
    assert script.turn[0].step[0].call[0].tool == "write"
