"""Real agents in the dashboard, played from recordings, changes on disk included: what is drawn is what is on disk."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from browser.house import House, Server
from browser.visitor import TRANSCRIPT
from captures.recorded import Recording, folder, on_disk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from browser.visitor import Visitor

RECORDINGS = [
    "claude/b2_edit_ask",
    "claude/k_reject",
    "codex/l_multifile",
    "opencode/j_sed",
    "gemini/d_overwrite",
    "gemini/k_reject",
    "copilot/f_fail",
    "kimi-cli/c_multi",
    "cline/a2_create_subdir",
    "qwen/i_delete",
    "pi/p_move",
    "deepagents/m_binary",
]


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """Its agent plays the recording that is named beside the folder that it works in."""
    base = tmp_path_factory.mktemp("agents")
    (base / "data").mkdir()
    play = f'exec {sys.executable} {folder() / "replay.py"} "$(cat "$PWD.recording")"'
    made = House(base, Server(base / "data", "--agent-command", f"sh -c {shlex.quote(play)}"))
    made.server.start()
    yield made
    made.close()


def begin(visitor: Visitor, house: House, recording: Recording) -> Path:
    workspace = house.workspace()
    recording.prepare(workspace)
    workspace.with_name(f"{workspace.name}.recording").write_text(str(recording.path))
    answer = visitor.ask("POST", "/api/sessions", {"folder": str(workspace), "prompt": "Do as recorded."})
    assert answer.status == 201, answer.text()
    visitor.page.goto(f"{house.server.origin}/#/s/{answer.json()['session']}")
    return workspace


@pytest.mark.parametrize("name", RECORDINGS)
def test_a_turn_shows_exactly_what_changed_on_disk_live_and_reloaded(
    visit: Callable[..., Visitor], house: House, name: str
) -> None:
    recording = Recording.of(name)
    visitor = visit()
    page = visitor.page
    workspace = begin(visitor, house, recording)
    for allowed in recording.answers():
        question = page.locator("[data-part=permission][data-outcome=open]")
        kind = "allow" if allowed else "reject"
        question.locator(f"[data-option^={kind}]").first.click()
    page.locator("[data-reason]").wait_for()

    expect(page.locator("[data-reason]")).to_have_attribute("data-reason", "completed")
    after = on_disk(workspace)
    before = recording.before
    changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}

    def net() -> set[str]:
        chips = page.locator("[data-part=net-chip]")
        paths = chips.evaluate_all("all => all.map(one => [one.dataset.path, one.dataset.operation])")
        shown = {path.removeprefix(f"{workspace}/") for path, _ in paths}
        gone = {path for path in before if path not in after}
        return shown | (gone if any(operation == "move" for _, operation in paths) else set())

    assert net() == changed
    applied = page.locator(f"{TRANSCRIPT} [data-file][data-standing=applied]")
    assert applied.count() >= min(1, len(changed))
    if not changed:
        assert applied.count() == 0
    seen = page.locator(f"{TRANSCRIPT} [data-row]").evaluate_all(
        "rows => rows.map(row => [row.dataset.row, row.dataset.status, row.querySelector('.tool-words')?.textContent])"
    )
    page.reload()
    page.locator("[data-reason]").wait_for()
    assert net() == changed
    again = page.locator(f"{TRANSCRIPT} [data-row]").evaluate_all(
        "rows => rows.map(row => [row.dataset.row, row.dataset.status, row.querySelector('.tool-words')?.textContent])"
    )
    assert again == seen


def test_a_rejected_change_of_another_agent_stays_readable(visit: Callable[..., Visitor], house: House) -> None:
    """D49, Q173."""
    recording = Recording.of("claude/k_reject")
    visitor = visit()
    page = visitor.page
    workspace = begin(visitor, house, recording)
    question = page.locator("[data-part=permission][data-outcome=open]")
    expect(question.locator("diffs-container")).to_be_visible()
    question.locator("[data-option^=reject]").first.click()
    page.locator("[data-reason]").wait_for()
    expect(page.locator("[data-part=permission]").first).to_have_attribute("data-outcome", "reject")
    rejected = page.locator(f"{TRANSCRIPT} [data-card][data-standing=rejected]")
    expect(rejected.locator("diffs-container").first).to_be_visible()
    expect(page.locator("[data-part=net]")).to_have_count(0)
    assert on_disk(workspace) == recording.before
