"""`redline acp`: an agent for editors, on standard input and output."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from redline.protocol.connection import INTERNAL_ERROR, RpcError
from redline.surfaces.editor.door import Door
from redline.surfaces.editor.stdio import streams

if TYPE_CHECKING:
    from collections.abc import Mapping

    from redline.files.seam import Files
    from redline.gateway.archive import OpenSession
    from redline.surfaces.editor.backing import Backing


def acp(flags: Mapping[str, Any]) -> int:
    """Serve one editor until it goes; the exit code."""
    if sys.stdin.isatty():
        print("redline acp speaks the Agent Client Protocol; an editor starts it. Ctrl-C ends it.", file=sys.stderr)
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="redline: %(message)s")

    async def open_backing() -> Backing:
        from redline.cli.failure import Failure
        from redline.cli.house import said

        try:
            with said():
                return await asyncio.to_thread(_builtin, flags)
        except Failure as failure:
            told = f"{failure.message} {failure.remedy}".strip()
            raise RpcError(INTERNAL_ERROR, told, {"code": failure.code}) from failure

    with suppress(asyncio.CancelledError):
        asyncio.run(_serve(Door(open_backing)))
    return 0


async def _serve(door: Door) -> None:
    task = asyncio.current_task()
    assert task is not None
    for number in (signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    await door.serve(*await streams())


def _builtin(flags: Mapping[str, Any]) -> Backing:
    from redline.agents.builtin.agent import NAME, BuiltinFactory, BuiltinOptions
    from redline.cli.config import load
    from redline.gateway.archive import Archive
    from redline.surfaces.editor.backing import Backing
    from redline.tools.builtin import builtin_toolset

    config = load(flags).config
    toolset = builtin_toolset()
    options = BuiltinOptions(
        model=config.model, base_url=config.base_url, prompt=config.prompt, step_limit=config.max_steps
    )

    def factory(session: OpenSession, files: Files) -> BuiltinFactory:
        return BuiltinFactory(options, files, session.store, session.redactor, toolset)

    return Backing(
        archive=Archive.open(config.data.expanduser(), file_limit=config.file_limit, cap=config.store_limit),
        agent=NAME,
        model=config.model,
        approval=config.approval,
        present=toolset.by_name,
        factory=factory,
    )
