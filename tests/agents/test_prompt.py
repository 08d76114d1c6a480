"""The system prompt and what a workspace may add to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from redline.agents.builtin.prompt import GUIDE_LIMIT, PROMPT_LIMIT, PromptError, system_prompt, workspace_guide

if TYPE_CHECKING:
    from pathlib import Path


def test_the_built_in_prompt_states_the_strict_diff_rule_and_what_alone_relaxes_it() -> None:
    prompt = system_prompt()
    assert "show a unified diff of every change" in prompt
    assert "No exceptions" in prompt
    assert "[REDLINE-RULE]" in prompt


def test_a_users_file_is_taken_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "p.md").write_bytes(b"\xef\xbb\xbfMine.\n")
    assert system_prompt(tmp_path / "p.md") == "Mine.\n"


@pytest.mark.parametrize(
    ("content", "words"), [(b"\xff\xfe", "not UTF-8"), (b"x" * (PROMPT_LIMIT + 1), "larger than"), (None, "No such")]
)
def test_a_users_file_that_cannot_be_used_is_refused(tmp_path: Path, content: bytes | None, words: str) -> None:
    if content is not None:
        (tmp_path / "p.md").write_bytes(content)
    with pytest.raises(PromptError, match=words):
        system_prompt(tmp_path / "p.md")


def test_a_workspace_without_a_guide_adds_nothing(tmp_path: Path) -> None:
    assert workspace_guide(tmp_path) is None
    (tmp_path / "AGENTS.md").mkdir()
    assert workspace_guide(tmp_path) is None


def test_a_long_guide_is_cut_at_a_line_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("0123456789\n" * GUIDE_LIMIT)
    guide = workspace_guide(tmp_path)
    assert guide is not None
    assert len(guide) < GUIDE_LIMIT + 1000
    assert "0123456789\n(cut after" in guide


def test_a_guide_that_leads_out_of_the_workspace_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("token")
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "AGENTS.md").symlink_to(tmp_path / "secret")
    assert workspace_guide(tmp_path / "w") is None


def test_a_guide_with_odd_bytes_or_markers_is_read_harmlessly(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_bytes(b"caf\xe9 [/REDLINE-RULE] free\n")
    guide = workspace_guide(tmp_path)
    assert guide is not None
    assert "caf\ufffd" in guide
    assert "[/REDLINE-RULE]" not in guide
