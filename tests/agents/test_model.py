"""Model strings, what each stands for, and what it costs."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.usage import RequestUsage

from redline.agents.builtin.cost import usage_of
from redline.agents.builtin.model import ModelChoiceError, key_variable, load_model

if TYPE_CHECKING:
    from pathlib import Path

SERVER = "http://127.0.0.1:8080/v1"


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "DEEPSEEK_API_KEY"):
        monkeypatch.setenv(name, "test")


@pytest.mark.parametrize(
    ("name", "base_url", "kind", "address"),
    [
        ("openai:gpt-5", "", OpenAIResponsesModel, "https://api.openai.com/v1/"),
        ("openai:gpt-5", "https://api.openai.com/v1", OpenAIResponsesModel, "https://api.openai.com/v1/"),
        ("openai:qwen", SERVER, OpenAIChatModel, SERVER + "/"),
        ("openai-chat:qwen", SERVER, OpenAIChatModel, SERVER + "/"),
        ("openai-compatible:qwen", SERVER, OpenAIChatModel, SERVER + "/"),
        ("openai-responses:qwen", SERVER, OpenAIResponsesModel, SERVER + "/"),
        ("deepseek:deepseek-chat", SERVER, OpenAIChatModel, "https://api.deepseek.com"),
        ("anthropic:claude-sonnet-4-5", SERVER, AnthropicModel, "https://api.anthropic.com"),
    ],
)
async def test_a_model_string_names_a_protocol_and_a_server(
    tmp_path: Path, name: str, base_url: str, kind: type, address: str
) -> None:
    model = await load_model(name, workspace=tmp_path, base_url=base_url)
    assert type(model) is kind
    assert str(model.base_url).rstrip("/") == address.rstrip("/")  # type: ignore[attr-defined]
    assert model.model_name == name.partition(":")[2]


async def test_the_address_may_come_from_the_environment_and_needs_no_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.setenv("OPENAI_BASE_URL", SERVER)
    model = await load_model("openai-compatible:qwen", workspace=tmp_path)
    assert str(model.base_url).startswith(SERVER)  # type: ignore[attr-defined]


async def test_an_address_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelChoiceError, match="not an http or https address") as caught:
        await load_model("openai:qwen", workspace=tmp_path, base_url="localhost:8080")
    assert caught.value.code == "NO_BASE_URL"


async def test_a_mistyped_model_without_its_provider_gets_an_example(tmp_path: Path) -> None:
    with pytest.raises(ModelChoiceError) as caught:
        await load_model("claude-sonnet-4-5", workspace=tmp_path)
    assert "anthropic:" in caught.value.remedy


def test_the_variable_of_a_key_is_known_for_every_provider() -> None:
    assert key_variable("anthropic:x") == "ANTHROPIC_API_KEY"
    assert key_variable("some-other:x") == "SOME_OTHER_API_KEY"


def response(model: str, provider: str | None, url: str) -> ModelResponse:
    usage = RequestUsage(input_tokens=1_000_000, output_tokens=0)
    return ModelResponse([TextPart("x")], model_name=model, provider_name=provider, provider_url=url, usage=usage)


def test_what_the_price_list_knows_is_priced() -> None:
    cost = usage_of(response("gpt-4o", "openai", "https://api.openai.com/v1/"), "openai:gpt-4o")["cost"]
    assert cost == pytest.approx(2.5)


@pytest.mark.parametrize(
    ("model", "provider", "url"),
    [
        ("gpt-4o", "openai", SERVER),
        ("no-such-model", "openai", "https://api.openai.com/v1/"),
        ("gpt-4o", None, ""),
    ],
)
def test_what_nobody_can_price_is_unknown(model: str, provider: str | None, url: str) -> None:
    assert usage_of(response(model, provider, url), "m")["cost"] is None


def test_the_agent_is_imported_without_the_model_library() -> None:
    program = (
        "import redline.agents.builtin.agent, redline.gateway.conversation, sys; print('pydantic_ai' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
