"""`bash`: one command, in the foreground, in the workspace.

There is no sandbox, so every call asks. What a command changes in files is not known to this tool: the runner finds it
on the disk afterwards.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pydantic import Field

from redline.tools.excerpt import decoded
from redline.tools.parameters import Parameters, logged_number, logged_text
from redline.tools.process import Ended, run
from redline.tools.tool import Tool, ToolContext, ToolError, ToolOutput, ToolResult, text_block
from redline.views import TerminalCall, TerminalResult, ToolCallView, ToolResultView

DEFAULT_SECONDS = 120
MAX_SECONDS = 600

PROVIDER_KEYS = frozenset(
    f"{provider}_API_KEY"
    for provider in (
        "ANTHROPIC", "AZURE_OPENAI", "CEREBRAS", "CO", "DEEPSEEK", "FIREWORKS", "GEMINI", "GOOGLE", "GROQ", "MISTRAL",
        "MOONSHOTAI", "OPENAI", "OPENROUTER", "REDLINE", "TOGETHER", "XAI",
    )
)  # fmt: skip
"""What Redline itself may hold to reach a model: a command that prints its environment does not get them."""


class BashArguments(Parameters):
    command: str = Field(min_length=1, max_length=100_000, pattern=r"^[^\x00]+$", description="Run by bash -c.")
    description: str | None = Field(None, max_length=200, description="What it does, in a few words, for the user.")
    timeout: int = Field(DEFAULT_SECONDS, ge=1, le=MAX_SECONDS, description="Seconds until the command is ended.")


class Bash(Tool[BashArguments]):
    name = "bash"
    description = (
        "Run a shell command in the workspace and wait for it. Each call starts anew in the workspace folder; there is "
        "no input and no terminal. stdout and stderr come back as one text; of a long one, head and tail. Ended after "
        f"timeout seconds ({DEFAULT_SECONDS} if not given, {MAX_SECONDS} at most); processes left in the background "
        "end with the call. The user is asked first. To change files use edit and write instead: they show the change "
        "before it is made. Model providers' API keys are not in its environment."
    )
    kind = "execute"
    parameters = BashArguments
    asks = True
    touches_workspace = True

    def __init__(self, withheld: Collection[str] = PROVIDER_KEYS) -> None:
        self.withheld = frozenset(withheld)
        """Names of environment variables that a command does not get."""

    async def execute(self, arguments: BashArguments, context: ToolContext) -> ToolOutput:
        environment = {name: value for name, value in os.environ.items() if name not in self.withheld}
        shell = shutil.which("bash") or "/bin/sh"
        try:
            ended = await run(
                [shell, "-c", arguments.command],
                cwd=context.workspace,
                environment=environment,
                seconds=arguments.timeout,
                progress=context.progress,
            )
        except (OSError, ValueError) as error:
            raise ToolError("IO", f"The command could not be started: {error}.", "Check the command.") from error
        return ToolOutput(
            [text_block(_output(ended)), text_block(_status(ended, arguments.timeout))], meta=_meta(ended)
        )

    def present_call(self, arguments: Mapping[str, Any], _proposed: Sequence[Any]) -> ToolCallView:
        return TerminalCall(logged_text(arguments, "command") or "bash", logged_text(arguments, "description"))

    def present_result(self, arguments: Mapping[str, Any], result: ToolResult) -> ToolResultView | None:
        if result.is_error:
            return None
        first = result.content[0] if result.content else {}
        output = first.get("text") if isinstance(first, Mapping) else None
        return TerminalResult(
            output=output if isinstance(output, str) else "",
            exit_code=logged_number(result.meta, "exit_code"),
            signal=logged_text(result.meta, "signal") if isinstance(result.meta, Mapping) else None,
            time_limit=_time_limit(arguments, result.meta),
        )


def _time_limit(arguments: Mapping[str, Any], meta: Any) -> int | None:
    """The limit that ended a logged call."""
    if not isinstance(meta, Mapping) or meta.get("timed_out") is not True:
        return None
    return logged_number(arguments, "timeout") or DEFAULT_SECONDS


def _output(ended: Ended) -> str:
    head, tail = decoded(ended.head), decoded(ended.tail)
    if not ended.omitted:
        return head + tail
    return f"{head}\n[… {ended.omitted} of {ended.total} bytes left out …]\n{tail}"


def _status(ended: Ended, seconds: int) -> str:
    if ended.timed_out:
        said = f"Ended after its time limit of {seconds} s; what it printed until then stands above."
    elif ended.signal is not None:
        said = f"Ended by {ended.signal}."
    else:
        said = f"Exit code {ended.exit_code}."
    if ended.left_behind:
        said += " Processes that it had left in the background were ended with it."
    if ended.escaped:
        said += " A process that left its group still holds the output open, and may still run."
    return f"[{said}]"


def _meta(ended: Ended) -> dict[str, Any]:
    how = {"signal": ended.signal} if ended.signal is not None else {"exit_code": ended.exit_code}
    return {**how, "timed_out": ended.timed_out, "truncated": ended.omitted > 0, "bytes": ended.total}
