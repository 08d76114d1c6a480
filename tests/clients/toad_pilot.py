"""toad without a screen: runs its command, presses keys, and says what its widgets held.

Run by the Python that toad is installed for: `toad_pilot.py SITE STEPS ARGUMENTS…`. SITE is the folder with toad, STEPS
is JSON: a list of names of what `Hands` can do, each with its arguments. The last line of the output is JSON: `asked`
(the questions in turn), `calls`, `said`, `failed` (what it says of a failing agent) and `agents` (ids of the processes
of redline).
"""

from __future__ import annotations

import functools
import html
import json
import re
import site
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

site.addsitedir(sys.argv[1])  # not in PYTHONPATH: the agent, which has another Python, would inherit it

import psutil
from textual_diff_view import DiffView
from toad.app import ToadApp
from toad.cli import main
from toad.screens.permissions import PermissionsScreen
from toad.screens.session_resume_modal import SessionResumeModal
from toad.widgets.agent_response import AgentResponse
from toad.widgets.conversation import Conversation
from toad.widgets.question import Question
from toad.widgets.tool_call import ToolCall

FOUND: dict[str, Any] = {"asked": []}


class Hands:
    """What somebody at the keyboard does; each waits for what it needs to see."""

    def __init__(self, pilot: Any) -> None:
        self.pilot = pilot
        self.app = pilot.app
        self.conversation: Any = None
        self.prompts = 0

    async def until(self, happened: Any) -> Any:
        for _ in range(1500):
            await self.pilot.pause(0.02)
            if seen := happened():
                return seen
        raise AssertionError("it did not happen within thirty seconds\n" + "\n".join(rows(self.app)))

    async def connect(self) -> None:
        """Wait for the agent."""
        [self.conversation] = await self.until(lambda: list(self.app.screen.query(Conversation)))
        await self.until(lambda: self.conversation.agent is not None and self.conversation.agent_ready)

    async def resume(self) -> None:
        """Choose the last session in its list."""
        await self.pilot.press("ctrl+r")
        await self.until(lambda: isinstance(self.app.screen, SessionResumeModal))
        await self.until(lambda: self.app.screen.session_table.row_count)
        self.app.screen.session_table.focus()
        await self.pilot.press("enter")
        await self.connect()

    async def prompt(self, text: str) -> None:
        await self.pilot.press(*text, "enter")
        self.prompts += 1

    async def answer(self, key: str) -> None:
        [question] = await self.until(self.questions)
        diffs: list[Any] = []
        if isinstance(self.app.screen, PermissionsScreen):
            await self.until(lambda: self.app.screen.query(DiffView))
            diffs = changes(self.app.screen)
        options = [option.text for option in question.options]
        FOUND["asked"].append({"title": question.title, "options": options, "diffs": diffs})
        await self.pilot.press(key)
        await self.until(lambda: question.selected)

    def questions(self) -> list[Any]:
        return [one for one in self.app.screen.query(Question) if one.options and not one.selected and one.has_focus]

    async def running(self) -> None:
        await self.until(lambda: any(call["status"] == "in_progress" for call in calls(self.app)))

    async def cancel(self) -> None:
        """It asks for the key twice."""
        await self.pilot.press("escape", "escape")

    async def see(self, text: str) -> None:
        await self.until(lambda: any(text in row for row in rows(self.app)))

    async def idle(self) -> None:
        await self.until(lambda: self.conversation._turn_count == self.prompts)


async def steps(pilot: Any) -> None:
    hands = Hands(pilot)
    for name, *arguments in json.loads(sys.argv[2]):
        await getattr(hands, name)(*arguments)
    FOUND["agents"] = list(agents())
    FOUND["calls"] = calls(pilot.app)
    FOUND["said"] = [response.source for response in pilot.app.screen.query(AgentResponse)]
    FOUND["failed"] = [str(note.render()) for note in pilot.app.screen.query("Note.-error")]
    await pilot.press("ctrl+q")


def agents() -> Iterator[int]:
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # one that has ended meanwhile
            if "redline" in process.cmdline():
                yield process.pid


def calls(app: Any) -> list[dict[str, Any]]:
    return [
        {"title": call.tool_call["title"], "status": call.tool_call.get("status"), "diffs": changes(call)}
        for call in app.screen.query(ToolCall)
    ]


def changes(widget: Any) -> list[tuple[str, str, str]]:
    return [(one.path_original, one.code_original, one.code_modified) for one in widget.query(DiffView)]


def rows(app: Any) -> list[str]:
    """What is drawn, line by line, taken from the picture that it makes of itself."""
    drawn: dict[str, str] = {}
    for place, text in re.findall(r'<text[^>]* y="([\d.]+)"[^>]*>(.*?)</text>', app.export_screenshot()):
        drawn[place] = drawn.get(place, "") + html.unescape(text).replace("\xa0", " ")
    return list(drawn.values())


ToadApp.run = functools.partialmethod(ToadApp.run, headless=True, size=(240, 60), auto_pilot=steps)
main(sys.argv[3:], standalone_mode=False)
print(json.dumps(FOUND))
