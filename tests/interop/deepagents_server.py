"""The Deep Agents library embedded as its documentation shows, with sessions that outlive the process.

Run by the Python of its own installation: `deepagents_server.py SESSIONS.sqlite`.
"""

from __future__ import annotations

import asyncio
import sys

import aiosqlite
from acp import run_agent
from deepagents import create_deep_agent
from deepagents.backends import LocalShellBackend
from deepagents_acp.server import AgentServerACP, AgentSessionContext
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver


async def main() -> None:
    async with aiosqlite.connect(sys.argv[1]) as connection:
        saver = AsyncSqliteSaver(connection)
        await saver.setup()

        def agent(context: AgentSessionContext):  # type: ignore[no-untyped-def]  # of the library's own graph type
            return create_deep_agent(
                model=ChatOpenAI(model="scripted-model"),
                backend=LocalShellBackend(root_dir=context.cwd, virtual_mode=False, inherit_env=True),
                interrupt_on=dict.fromkeys(("write_file", "edit_file", "delete", "execute"), True),
                checkpointer=saver,
            )

        await run_agent(AgentServerACP(agent, load_sessions=True))


asyncio.run(main())
