"""From what the log keeps of a call to its views, by the presenters of its tool.

A presenter is somebody's code: one that raises, or returns what is no view, costs its own card, which becomes the
generic one. The fault is logged once for each tool.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, get_args

from redline.transcript.fields import block_text
from redline.views import (
    DiffCall,
    DiffResult,
    GenericCall,
    GenericResult,
    Kind,
    Location,
    TerminalCall,
    TerminalResult,
    ToolCallView,
    ToolResultView,
)

if TYPE_CHECKING:
    from redline.changes.record import FileChange
    from redline.tools.tool import ToolResult

_log = logging.getLogger(__name__)
_CALL_VIEWS = get_args(ToolCallView)
_RESULT_VIEWS = get_args(ToolResultView)


class Presenter(Protocol):
    """The two pure methods of a tool that say how it wants to be shown."""

    def present_call(self, arguments: Mapping[str, Any], proposed: Sequence[FileChange]) -> ToolCallView | None: ...

    def present_result(self, arguments: Mapping[str, Any], result: ToolResult) -> ToolResultView | None: ...


Presenters = Mapping[str, Presenter]
"""By tool name; a toolset's `by_name` is one."""


class Views:
    """Computes views, and remembers whose presenter was already reported."""

    def __init__(self, presenters: Presenters) -> None:
        self._presenters = presenters
        self._reported: set[tuple[str, str]] = set()

    def call(
        self,
        name: str,
        arguments: Any,
        proposed: Sequence[FileChange],
        *,
        kind: Kind,
        content: Sequence[Mapping[str, Any]] = (),
        locations: Sequence[Location] = (),
    ) -> ToolCallView:
        given = arguments if isinstance(arguments, Mapping) else None
        generic = GenericCall(
            title=name or kind, kind=kind, raw_input=given, content=tuple(content), locations=tuple(locations)
        )
        presenter = self._presenters.get(name)
        if presenter is None:
            return DiffCall(generic.title, tuple(proposed), tuple(locations)) if proposed else _command(generic)
        if given is None:
            return generic
        try:
            view = presenter.present_call(given, tuple(proposed))
        except Exception as fault:  # whatever a tool's author got wrong stays inside its card
            self._report(name, "present_call", fault)
            return generic
        if view is not None and not isinstance(view, _CALL_VIEWS):
            self._report(name, "present_call", TypeError(f"{type(view).__name__} is no view of a call"))
            return generic
        return generic if view is None else view

    def result(self, name: str, arguments: Any, result: ToolResult, *, kind: Kind = "other") -> ToolResultView:
        generic = GenericResult(content=tuple(result.content))
        presenter = self._presenters.get(name)
        if presenter is None:
            if kind == "execute":
                return _output(result)
            if name:  # a tool of somebody else's that the built-in agent used: what it says counts, too
                return generic
            return DiffResult(changes=tuple(result.changes)) if result.changes else generic
        try:
            view = presenter.present_result(arguments if isinstance(arguments, Mapping) else {}, result)
        except Exception as fault:
            self._report(name, "present_result", fault)
            return generic
        if view is not None and not isinstance(view, _RESULT_VIEWS):
            self._report(name, "present_result", TypeError(f"{type(view).__name__} is no view of a result"))
            return generic
        return generic if view is None else view

    def _report(self, name: str, method: str, fault: Exception) -> None:
        if (name, method) in self._reported:
            return
        self._reported.add((name, method))
        _log.warning("The tool %r has a fault in %s; its cards are shown plainly: %r", name, method, fault)


def _command(call: GenericCall) -> ToolCallView:
    """A call that runs something, of a tool that nobody here presents: a foreign agent's."""
    given = call.raw_input or {}
    command = given.get("command")
    if call.kind != "execute" or not isinstance(command, str) or not command:
        return call
    cwd = given.get("cwd")
    description = given.get("description")
    return TerminalCall(
        command,
        description=description if isinstance(description, str) else None,
        cwd=cwd if isinstance(cwd, str) else None,
    )


def _output(result: ToolResult) -> TerminalResult:
    ending = result.meta.get("exit") if isinstance(result.meta, Mapping) else None
    ending = ending if isinstance(ending, Mapping) else {}
    code, signal = ending.get("exit_code"), ending.get("signal")
    return TerminalResult(
        output=block_text(result.content),
        exit_code=code if isinstance(code, int) and not isinstance(code, bool) else None,
        signal=signal if isinstance(signal, str) else None,
    )
