"""As much of the Agent Client Protocol as an agent needs that is here to be measured: one session, prompts, updates.

It does nothing that costs time, and needs no library, so that what is measured is the other end.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def send(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def update(**fields: Any) -> None:
    send(method="session/update", params={"sessionId": "s", "update": fields})


def serve(prompted: Callable[[Path, str], None]) -> None:
    """Until the client is gone. `prompted` is called with the session's folder and the text of a prompt; its return
    ends the turn."""
    folder = Path()
    for line in sys.stdin:
        message = json.loads(line)
        method, identity, params = message.get("method"), message.get("id"), message.get("params") or {}
        if method == "initialize":
            send(id=identity, result={"protocolVersion": 1, "agentCapabilities": {}})
        elif method == "session/new":
            folder = Path(params["cwd"])
            send(id=identity, result={"sessionId": "s"})
        elif method == "session/prompt":
            prompted(folder, params["prompt"][0]["text"])
            send(id=identity, result={"stopReason": "end_turn"})
