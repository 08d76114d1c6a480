"""What a model's answer used: tokens as the provider counts them, and what they cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse

_KNOWN_BY_ADDRESS = frozenset({"openai", "anthropic", "deepseek"})
"""Providers whose own addresses the price list knows: a model of the same name behind another address may have another
price, so there it is unknown."""


def usage_of(response: ModelResponse, model: str) -> dict[str, Any]:
    """The data of a `usage/updated` event, without its turn.

    `input_tokens` include `cached_tokens`, as providers count them. `cost` is in US dollars by the price list of
    genai-prices, and None for a model or a server that is not on it; `context` is left out for such a one.
    """
    usage = response.usage
    return {
        "model": response.model_name or model,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cached_tokens": usage.cache_read_tokens,
        "cost": _cost(response),
        **_context(response),
    }


def _context(response: ModelResponse) -> dict[str, Any]:
    """How much of the model's context was full at the end, where its size is known."""
    from genai_prices.data_snapshot import get_snapshot

    if response.model_name is None or response.provider_name is None:
        return {}
    try:
        _, info = get_snapshot().find_provider_model(response.model_name, None, response.provider_name, None)
    except LookupError:
        return {}
    used = response.usage.input_tokens + response.usage.output_tokens
    return {"context": {"used": used, "size": info.context_window}} if info.context_window else {}


def _cost(response: ModelResponse) -> float | None:
    from genai_prices import calc_price

    name, provider = response.model_name, response.provider_name
    if name is None or provider is None or response.usage.unmeasured_requests:
        return None  # no provider: the scripted model, and a price of the same name would be somebody else's
    try:
        if provider in _KNOWN_BY_ADDRESS:
            price = calc_price(response.usage, name, provider_api_url=response.provider_url or "")
        else:
            price = response.cost()
        return float(price.total_price)
    except (LookupError, ValueError, TypeError):
        return None
