"""The end of a turn as `session/prompt` is answered, and the faults of an agent in the protocol's words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from redline.protocol.connection import AUTH_REQUIRED, INTERNAL_ERROR, RpcError
from redline.transcript.rows import TurnEndRow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from redline.agents.acp.link import LinkError
    from redline.agents.agent import Stop
    from redline.transcript.rows import AnyRow


def answer(stop: Stop, rows: Sequence[AnyRow]) -> dict[str, Any]:
    """The result, with what the turn used. Raises `RpcError` for a turn that failed."""
    if stop.reason == "failed" and stop.code != "REFUSAL":
        raise failure(stop)
    usage = _usage(rows)
    return {"stopReason": stop_reason(stop), **({"usage": usage} if usage else {})}


def stop_reason(stop: Stop) -> str:
    if stop.reason == "cancelled":
        return "cancelled"
    if stop.code == "REFUSAL":
        return "refusal"
    if stop.reason == "limit":
        return "max_tokens" if "TOKEN" in stop.code else "max_turn_requests"
    return "end_turn"


def failure(stop: Stop) -> RpcError:
    told = " ".join(part for part in (stop.message, stop.remedy) if part)
    return RpcError(INTERNAL_ERROR, told, {"code": stop.code, "message": stop.message, "remedy": stop.remedy})


def error_of(problem: LinkError) -> RpcError:
    """A fault of the agent, as the editor is told: in the agent's own words, where it has given any."""
    if isinstance(problem.__cause__, RpcError):
        return problem.__cause__
    code = AUTH_REQUIRED if problem.code == "AUTH_REQUIRED" else INTERNAL_ERROR
    return RpcError(code, f"{problem.message} {problem.remedy}".strip(), {"code": problem.code})


def _usage(rows: Sequence[AnyRow]) -> dict[str, Any]:
    last = next((row for row in reversed(rows) if isinstance(row, TurnEndRow)), None)
    if last is None or not (last.input_tokens or last.output_tokens):
        return {}
    usage = {"inputTokens": last.input_tokens, "outputTokens": last.output_tokens}
    return {"totalTokens": last.input_tokens + last.output_tokens, **usage}
