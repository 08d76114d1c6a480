"""`glob`: which files there are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field

from redline.tools.counting import counted
from redline.tools.parameters import Parameters, Path, logged_number
from redline.tools.search import (
    SECONDS,
    folder_of,
    in_thread,
    path_matcher,
    search_card,
    search_title,
    shown_name,
)
from redline.tools.tool import Tool, ToolContext, ToolOutput, ToolResult, text_block
from redline.tools.walk import Deadline, Found, walk
from redline.views import GenericResult, ToolCallView, ToolResultView

PATHS = 200


class GlobArguments(Parameters):
    pattern: str = Field(
        min_length=1,
        max_length=1000,
        description=(
            "As in a .gitignore: '*.py' at any depth, 'src/**/*.ts' or '/setup.py' from the folder. {a,b} works."
        ),
    )
    path: Path = Field(".", description="The folder to look in; the workspace if not given.")
    include_ignored: bool = Field(False, description="Also files that git ignores.")


class Glob(Tool[GlobArguments]):
    name = "glob"
    description = (
        f"Find files by a pattern of their paths: the newest {PATHS}, newest first. Hidden files are included, files "
        f"that git ignores are not, links are not followed. Ends after {SECONDS:.0f} s with what it has."
    )
    kind = "search"
    parameters = GlobArguments

    async def execute(self, arguments: GlobArguments, context: ToolContext) -> ToolOutput:
        folder, prefix = await folder_of(arguments.path, context)
        matches = path_matcher(arguments.pattern, folder)
        deadline = Deadline(SECONDS)
        found: list[Found] = []

        def search() -> bool:
            files = walk(folder, deadline, ignored=arguments.include_ignored)
            # One by one: what was found until a stop stays found.
            found.extend(file for file in files if matches(file.name))
            return True

        complete = await in_thread(search, deadline)
        newest = sorted(found, key=lambda file: (-file.modified, file.name))[:PATHS]
        lines = [shown_name(prefix + file.name) for file in newest] or [f"[No file matches {arguments.pattern}.]"]
        if len(newest) < len(found):
            lines.append(f"[The newest {PATHS} of {len(found)}; narrow the pattern to see the others.]")
        if not complete:
            lines.append(f"[Stopped after {SECONDS:.0f} s; there may be more.]")
        return ToolOutput(
            [text_block("\n".join(lines))], meta={"paths": len(newest), "truncated": len(newest) < len(found)}
        )

    def present_call(self, arguments: Mapping[str, Any], _proposed: Sequence[Any]) -> ToolCallView:
        return search_card("Find", arguments)

    def present_result(self, arguments: Mapping[str, Any], result: ToolResult) -> ToolResultView | None:
        paths = logged_number(result.meta, "paths")
        if result.is_error or paths is None:
            return None
        return GenericResult(f"{search_title('Find', arguments)}: {counted(paths, 'file')}", result.content)
