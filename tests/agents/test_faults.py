"""Every fault of a model is told with what to do next."""

from __future__ import annotations

import pytest
from pydantic_ai import exceptions as fault

from redline.agents.builtin.faults import stop_for

STATUS = {
    fault.ModelRateLimitError: (429, "RATE_LIMIT"),
    fault.ModelQuotaExceededError: (402, "MODEL_QUOTA"),
    fault.ModelUnavailableError: (503, "MODEL_UNAVAILABLE"),
    fault.ModelOverloadedError: (529, "MODEL_UNAVAILABLE"),
    fault.ModelServerError: (500, "MODEL_ERROR"),
    fault.ModelRequestRejectedError: (422, "MODEL_REJECTED"),
    fault.ModelContextWindowExceededError: (400, "CONTEXT_TOO_LONG"),
    fault.ModelAuthenticationError: (401, "MODEL_KEY"),
    fault.ModelNotFoundError: (404, "UNKNOWN_MODEL"),
}


@pytest.mark.parametrize("category", STATUS)
def test_a_providers_refusal_is_named_with_its_own_words(category: type[fault.ModelAPIError]) -> None:
    status, code = STATUS[category]
    body = {"error": {"message": "so it is"}}
    error = fault.ModelHTTPError.for_category(category, status_code=status, model_name="m", body=body)  # type: ignore[arg-type]
    stop = stop_for(error, "anthropic:m")
    assert (stop.reason, stop.code) == ("failed", code)
    assert f"so it is (HTTP {status})" in stop.message
    assert "anthropic:m" in stop.message
    assert stop.remedy.endswith(".")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (fault.ModelTimeoutError("m", "slow"), "NETWORK"),
        (fault.ModelConnectionError("m", "reset"), "NETWORK"),
        (ConnectionResetError("reset"), "NETWORK"),
        (fault.UnexpectedModelBehavior("odd"), "MODEL_ERROR"),
        (fault.UserError("wrong"), "MODEL_ERROR"),
    ],
)
def test_faults_on_the_way_are_told_too(error: Exception, code: str) -> None:
    stop = stop_for(error, "openai:m")
    assert (stop.reason, stop.code) == ("failed", code)
    assert stop.message
    assert stop.remedy


def test_a_wait_that_the_provider_asks_for_is_said() -> None:
    error = fault.ModelHTTPError.for_category(
        fault.ModelRateLimitError, status_code=429, model_name="m", headers={"retry-after": "12"}
    )
    assert "wait 12 seconds" in stop_for(error, "openai:m").remedy


def test_a_page_of_html_instead_of_an_error_is_cut() -> None:
    error = fault.ModelHTTPError.for_category(
        fault.ModelServerError, status_code=502, model_name="m", body="<html>" + "x" * 10_000
    )
    assert len(stop_for(error, "openai:m").message) < 600
