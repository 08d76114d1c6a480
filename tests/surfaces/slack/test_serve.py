"""`redline serve --slack` as a process of its own: a first card, and what a kill in the middle of a turn leaves."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from gateway.parlour import until
from surfaces.chat.office import call, scripted, step
from surfaces.slack.fake_slack import FakeSlack, fake_slack

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


@asynccontextmanager
async def serving(folder: Path, slack: FakeSlack, model: str) -> AsyncIterator[asyncio.subprocess.Process]:
    for name in ("workspace", "data"):
        (folder / name).mkdir(exist_ok=True, mode=0o700)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("REDLINE_")}
    environment = {
        **kept,
        "REDLINE_CONFIG": str(folder / "none.toml"),
        "REDLINE_DATA": str(folder / "data"),
        "REDLINE_MODEL": model,
        "REDLINE_APPROVAL": "all",
        "REDLINE_SLACK_BOT_TOKEN": "xoxb-1",
        "REDLINE_SLACK_APP_TOKEN": "xapp-1",
        "REDLINE_SLACK_BASE_URL": slack.base_url,
        "REDLINE_SLACK_ALLOW": "U1",
        "REDLINE_SLACK_FOLDERS": f'{{"app": "{folder / "workspace"}"}}',
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "redline", "serve", "--slack", "--port", "0", "--no-open",
        env=environment, cwd=folder, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip
    try:
        assert process.stderr is not None
        said = await asyncio.wait_for(process.stderr.readline(), 60)
        assert said == b"Redline listens on Slack.\n"
        yield process
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
            await asyncio.wait_for(process.wait(), 30)


async def _over(slack: FakeSlack, said: str) -> None:
    for _ in range(3):
        try:
            await until(lambda: said in slack.said())
        except AssertionError:
            continue
        return
    raise AssertionError(f"{said!r} never stood there, but:\n{slack.said()}")


async def test_a_first_card_and_a_clean_end(tmp_path: Path) -> None:
    model = scripted(tmp_path, [step("", call("write", path="a.py", content="x = 1\n")), step("Done.")])
    async with fake_slack() as slack:
        async with serving(tmp_path, slack, model) as process:
            await slack.type("make it")
            await _over(slack, "Turn 1 done")
            assert "+x = 1" in slack.said()
        assert process.returncode == 0


async def test_after_a_kill_nothing_is_posted_again_and_the_turn_is_brought_to_its_end(tmp_path: Path) -> None:
    edits = [step(f"Step {n}.", call("write", path=f"{n}.py", content=f"{n}\n")) for n in range(3)]
    model = scripted(tmp_path, [*edits, step("", call("bash", command="sleep 30"))], [step("Well.")])
    async with fake_slack() as slack:
        async with serving(tmp_path, slack, model) as process:
            thread = await slack.type("go")
            await _over(slack, "$ sleep 30 …")
            os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
        before = {key: message["text"] for key, message in slack.messages.items()}
        assert len(before) == 1
        async with serving(tmp_path, slack, model):
            await _over(slack, "Turn 1 interrupted")
            assert list(slack.messages) == list(before), "the same message, and no other"
            assert all(f"Step {n}." in slack.said() for n in range(3))
            assert "$ sleep 30 · interrupted" in slack.said()
            await slack.type("well?", thread=thread)
            await _over(slack, "Turn 2 done")
            assert len(slack.messages) == 2
