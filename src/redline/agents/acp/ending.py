"""The ending of a turn, as the agent's answer to the prompt tells it: why it stopped, and what was used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from redline.agents.agent import Stop

if TYPE_CHECKING:
    from redline.agents.acp.normalise import Usage


def stop_of(answer: Mapping[str, Any], *, withdrawn: bool) -> Stop:
    """`withdrawn`: a user withdrew a question of the agent's in this turn."""
    match answer.get("stopReason"):
        case "cancelled":
            code = "CANCELLED" if withdrawn else "AGENT_ENDED"
            return Stop("cancelled", code, "The agent ended the turn by itself.", "Say what to do instead.")
        case "refusal":
            return Stop("failed", "REFUSAL", "The agent refused to go on.", "Say it differently.")
        case "max_tokens" | "max_turn_requests" as reason:
            return Stop("limit", reason.upper(), "The agent came to a limit of its own.", "Say “continue”.")
    return Stop("completed")


def tokens_of(usage: object) -> dict[str, Any]:
    """Of the turn, as its answer has them; 0 where it does not say."""
    held = usage if isinstance(usage, Mapping) else {}

    def number(*names: str) -> int:
        value = next((held[name] for name in names if isinstance(held.get(name), int)), 0)
        return max(int(value), 0)

    return {
        "input_tokens": number("inputTokens", "input_tokens"),
        "output_tokens": number("outputTokens", "output_tokens"),
        "cached_tokens": number("cachedReadTokens", "cached_read_tokens"),
    }


def cost_of_turn(so_far: Usage | None, before: float) -> float | None:
    """US dollars. Costs are told of the whole session, so that of the turn is what was added; None: nobody told one.
    `before`: of the session, at the last turn's end."""
    if so_far is None or so_far.cost is None:
        return None
    return so_far.cost - (before if before <= so_far.cost else 0.0)  # it may count anew
