"""What went wrong with a model, told to a person: each fault's code, message and remedy."""

from __future__ import annotations

import ssl
from typing import Any

from redline.agents.agent import Stop
from redline.agents.builtin.model import key_variable
from redline.agents.builtin.script import ScriptError

_DETAIL_LIMIT = 400


def stop_for(error: Exception, model: str) -> Stop:
    """The end of a turn whose model request failed. `model` is the model string."""
    if isinstance(error, ScriptError):
        return Stop("failed", error.code, error.message, error.remedy)
    for kind, code, message, remedy in _table(model):
        if isinstance(error, kind):
            return Stop("failed", code, _with_detail(message, error), _with_wait(remedy, error))
    return Stop(
        "failed",
        "MODEL_ERROR",
        _with_detail(f"The request to {model} failed", error),
        "Try again; if it stays, choose another model.",
    )


def cut_off(model: str) -> Stop:
    """The stream ended without the word that the answer is complete."""
    return Stop(
        "failed",
        "MODEL_STREAM_CUT",
        f"The answer of {model} broke off before it was complete. No call of it was run.",
        "Send the prompt again, or say “continue”.",
    )


def too_long_answer(model: str) -> Stop:
    return Stop(
        "limit",
        "OUTPUT_LIMIT",
        f"{model} reached its output limit before the answer was complete. Unfinished calls were not run.",
        "Say “continue”, or ask for smaller steps.",
    )


def filtered(model: str) -> Stop:
    return Stop(
        "failed",
        "CONTENT_FILTER",
        f"The provider's content filter ended the answer of {model}.",
        "Word the prompt differently, or choose another model.",
    )


def out_of_steps(limit: int) -> Stop:
    return Stop(
        "limit",
        "STEP_LIMIT",
        f"The turn was stopped after {limit} model requests.",
        "Say “continue” to let it go on, or raise max_steps in the configuration.",
    )


def _table(model: str) -> list[tuple[type[Exception], str, str, str]]:
    """From the most special fault to the most general; the first that fits is told."""
    from pydantic_ai import exceptions as fault

    key = key_variable(model)
    return [
        (
            fault.ModelAuthenticationError,
            "MODEL_KEY",
            f"The provider of {model} refused the key",
            f"Check the key in the environment variable {key}, and that it may use this model.",
        ),
        (
            fault.ModelNotFoundError,
            "UNKNOWN_MODEL",
            f"The provider does not know {model}",
            "Check the model's name, and the base URL if you set one.",
        ),
        (
            fault.ModelContextWindowExceededError,
            "CONTEXT_TOO_LONG",
            f"The session has grown longer than {model} can read",
            "Start a new session, or choose a model with a larger context.",
        ),
        (
            fault.ModelQuotaExceededError,
            "MODEL_QUOTA",
            f"The account's quota or credit for {model} is used up",
            "Add credit at the provider, or choose another model.",
        ),
        (
            fault.ModelRateLimitError,
            "RATE_LIMIT",
            f"The provider of {model} limits the rate of requests",
            "Wait a little and send the prompt again.",
        ),
        (
            fault.ModelRequestRejectedError,
            "MODEL_REJECTED",
            f"The provider of {model} rejected the request",
            "Look at what it says; another model may accept it.",
        ),
        (
            fault.ModelTimeoutError,
            "NETWORK",
            f"{model} did not answer in time",
            "Check the network, and send the prompt again.",
        ),
        (
            fault.ModelConnectionError,
            "NETWORK",
            f"The connection to {model} failed or broke off. No unfinished call was run",
            "Check the network and the base URL, and send the prompt again.",
        ),
        (
            fault.ModelUnavailableError,
            "MODEL_UNAVAILABLE",
            f"{model} is not available at the moment",
            "Wait a little and send the prompt again, or choose another model.",
        ),
        (
            fault.ModelAPIError,
            "MODEL_ERROR",
            f"The provider of {model} failed",
            "Send the prompt again; if it stays, choose another model.",
        ),
        (
            ssl.SSLError,
            "NETWORK",
            f"No secure connection to {model}",
            "Check the base URL and the system's certificates.",
        ),
        (OSError, "NETWORK", f"The connection to {model} failed", "Check the network, and send the prompt again."),
    ]


def _with_detail(message: str, error: Exception) -> str:
    detail = " ".join(_detail(error).split())
    if len(detail) > _DETAIL_LIMIT:
        detail = detail[:_DETAIL_LIMIT] + " …"
    return f"{message}: {detail}" if detail else f"{message}."


def _detail(error: Exception) -> str:
    """The provider's own sentence where it sent one, else the exception's."""
    status = getattr(error, "status_code", None)
    said = _sentence(getattr(error, "body", None))
    if said or status is not None:
        return f"{said or 'no reason given'} (HTTP {status})" if status is not None else said
    return str(error) or type(error).__name__


def _sentence(body: Any) -> str:
    if isinstance(body, dict):
        inner = body.get("error", body)
        if isinstance(inner, dict):
            inner = inner.get("message", "")
        return inner if isinstance(inner, str) else ""
    return body if isinstance(body, str) else ""


def _with_wait(remedy: str, error: Exception) -> str:
    seconds = getattr(error, "retry_after", None)
    return f"{remedy} It asks to wait {seconds:g} seconds." if isinstance(seconds, (int, float)) else remedy
