"""Model strings, and the pydantic-ai model that each stands for.

    openai:NAME              the Responses API at OpenAI; Chat Completions at any other base URL
    openai-compatible:NAME   Chat Completions at a base URL (the configuration's `base_url`, or OPENAI_BASE_URL)
    anthropic:NAME, deepseek:NAME, and every other PROVIDER:NAME that pydantic-ai knows
    script:PATH              the scripted model

Keys come from the environment, under each provider's usual name. pydantic-ai is imported only when a model is made: it
takes about two seconds.
"""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from pydantic_ai.models import Model

EXAMPLE = "Name one as PROVIDER:NAME, for example anthropic:claude-sonnet-4-5, openai:gpt-5 or script:FILE."

KEYS = {
    "openai": "OPENAI_API_KEY",
    "openai-chat": "OPENAI_API_KEY",
    "openai-responses": "OPENAI_API_KEY",
    "openai-compatible": "OPENAI_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
    "deepseek": "DEEPSEEK_API_KEY",
    "google": "GOOGLE_API_KEY",
    "groq": "GROQ_API_KEY",
    "mistral": "MISTRAL_API_KEY",
    "openrouter": "OPENROUTER_API_KEY",
    "xai": "XAI_API_KEY",
}
"""The environment variable that holds a provider's key, to name in a remedy."""


class ModelChoiceError(Exception):
    """A model string that gives no model. `code`: NO_MODEL, UNKNOWN_MODEL, NO_KEY, NO_BASE_URL, MODEL_PACKAGE, or a
    script's."""

    def __init__(self, code: str, message: str, remedy: str) -> None:
        super().__init__(f"{code}: {message} {remedy}")
        self.code = code
        self.message = message
        self.remedy = remedy


async def load_model(name: str, *, workspace: Path, base_url: str = "") -> Model:
    """The model for a model string. The import of pydantic-ai runs in a thread, so that surfaces stay awake.

    `base_url` is that of an OpenAI-compatible server and counts for `openai…` models only; empty: OPENAI_BASE_URL, or
    the provider's own. Raises `ModelChoiceError`.
    """
    provider, _, rest = name.partition(":")
    if not name:
        raise ModelChoiceError("NO_MODEL", "No model is set.", EXAMPLE)
    if not rest:
        raise ModelChoiceError("UNKNOWN_MODEL", f"{name!r} names no provider.", EXAMPLE)
    if provider == "script":
        return await asyncio.to_thread(_script, Path(rest), workspace)
    address = base_url or os.environ.get("OPENAI_BASE_URL", "")
    return await asyncio.to_thread(_provided, name, provider, rest, address)


def key_variable(name: str) -> str:
    """The environment variable that holds the key of a model's provider."""
    provider = name.partition(":")[0]
    return KEYS.get(provider, re.sub(r"\W", "_", provider).upper() + "_API_KEY")


def _script(path: Path, workspace: Path) -> Model:
    from redline.agents.builtin.script import ScriptError, scripted_model

    try:
        return scripted_model(path, workspace)
    except ScriptError as error:
        raise ModelChoiceError(error.code, error.message, error.remedy) from error


def _provided(name: str, provider: str, rest: str, address: str) -> Model:
    from pydantic_ai.exceptions import UserError
    from pydantic_ai.models import infer_model

    if provider == "openai-compatible" and not address:
        raise ModelChoiceError(
            "NO_BASE_URL",
            f"{name!r} needs the address of a server.",
            "Set base_url in the configuration, or OPENAI_BASE_URL, to its address, for example http://127.0.0.1:8080/v1.",
        )
    try:
        if address and provider in ("openai", "openai-chat", "openai-compatible", "openai-responses"):
            return _at_address(provider, rest, address)
        return infer_model(name)
    except UserError as error:
        raise _explained(name, str(error)) from error
    except ImportError as error:
        raise ModelChoiceError(
            "MODEL_PACKAGE",
            f"The provider {provider!r} needs a package that is not installed: {error.name or error}.",
            f"Install it beside Redline: pip install 'pydantic-ai-slim[{provider.partition('-')[0]}]'.",
        ) from error


def _at_address(provider: str, rest: str, address: str) -> Model:
    """A model behind the OpenAI protocol. Most servers that speak it know Chat Completions only."""
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    if urlsplit(address).scheme not in ("http", "https"):
        raise ModelChoiceError(
            "NO_BASE_URL",
            f"The base URL {address!r} is not an http or https address.",
            "Set base_url in the configuration, or OPENAI_BASE_URL, to one, for example http://127.0.0.1:8080/v1.",
        )
    server = OpenAIProvider(base_url=address)
    own = urlsplit(address).hostname == "api.openai.com"
    if provider == "openai-responses" or (provider == "openai" and own):
        return OpenAIResponsesModel(rest, provider=server)
    return OpenAIChatModel(rest, provider=server)


def _explained(name: str, message: str) -> ModelChoiceError:
    """pydantic-ai reports an unknown provider and a missing key with one exception; its text tells them apart."""
    variable = re.search(r"`([A-Z][A-Z0-9_]*(?:API_KEY|TOKEN)[A-Z0-9_]*)`", message)
    if variable:
        return ModelChoiceError(
            "NO_KEY",
            f"There is no key for {name!r}.",
            f"Set the environment variable {variable[1]} to your key of that provider, or choose another model.",
        )
    guess = re.search(r"Did you mean '([^']+)'", message)
    if message.startswith("Unknown model"):
        remedy = f"Did you mean {guess[1]}? {EXAMPLE}" if guess else EXAMPLE
        return ModelChoiceError("UNKNOWN_MODEL", f"No provider is known for {name!r}.", remedy)
    return ModelChoiceError("MODEL_SETUP", f"{name!r} cannot be used: {message}", "Set what the message names.")
