"""The real agents that Redline is tested with: which release, and how each is pointed at the scripted endpoint."""

from __future__ import annotations

import json
import platform
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from interop.agents import HERE, InstallFailed, LiveAgent

_Started = tuple[Sequence[str], Mapping[str, str]]


def _node(folder: Path, script: str) -> list[str]:
    node = shutil.which("node")
    if node is None:
        raise InstallFailed("Node 20 or newer is needed. Install it, then: make interop")
    return [node, str(folder / "node_modules" / script)]


def _claude(folder: Path, home: Path, port: int) -> _Started:
    return _node(folder, "@agentclientprotocol/claude-agent-acp/dist/index.js"), {
        "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}",
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CONFIG_DIR": str(home / ".claude"),
        "DISABLE_TELEMETRY": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "IS_SANDBOX": "1",
    }


def _codex(folder: Path, home: Path, port: int) -> _Started:
    config = home / ".codex" / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    # An unknown model would be given no tool that patches; its name alone decides that, no such model is asked.
    config.write_text(
        f"""
model = "gpt-5.5"
model_provider = "lab"
approval_policy = "on-request"
check_for_update_on_startup = false

[model_providers.lab]
name = "lab"
base_url = "http://127.0.0.1:{port}/v1"
wire_api = "responses"
env_key = "LAB_KEY"

[analytics]
enabled = false
"""
    )
    return _node(folder, "@agentclientprotocol/codex-acp/dist/index.js"), {
        "CODEX_HOME": str(config.parent),
        "LAB_KEY": "none",
    }


def _opencode(folder: Path, home: Path, port: int) -> _Started:
    config = home / ".config" / "opencode" / "opencode.json"
    config.parent.mkdir(parents=True, exist_ok=True)
    model = {"name": "scripted", "tool_call": True, "limit": {"context": 200_000, "output": 8_000}}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "lab",
        "options": {"baseURL": f"http://127.0.0.1:{port}/v1", "apiKey": "none"},
        "models": {"scripted": model},
    }
    config.write_text(
        json.dumps(
            {
                "provider": {"lab": provider},
                "model": "lab/scripted",
                "small_model": "lab/scripted",
                "permission": {"edit": "ask", "bash": "ask"},
                "share": "disabled",
                "autoupdate": False,
            }
        )
    )
    # The package's own program only picks one of these.
    programs = [p for p in folder.glob("node_modules/opencode-*/bin/opencode") if "baseline" not in str(p)]
    if not programs:
        raise InstallFailed(f"opencode has no program for this machine in {folder}.")
    off = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "SHARE")
    return [str(programs[0]), "acp"], {f"OPENCODE_DISABLE_{name}": "1" for name in off}


def _gemini(folder: Path, home: Path, port: int) -> _Started:
    settings = home / ".gemini" / "settings.json"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(
        json.dumps(
            {
                "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
                "privacy": {"usageStatisticsEnabled": False},
                "telemetry": {"enabled": False},
                "general": {"enableAutoUpdate": False, "disableUpdateNag": True},
            }
        )
    )
    manifest = json.loads((folder / "node_modules/@google/gemini-cli/package.json").read_text())
    command = _node(folder, f"@google/gemini-cli/{manifest['bin']['gemini']}")
    return [*command, "--acp", "--model", "gemini-2.5-pro"], {
        "GEMINI_API_KEY": "none",
        "GOOGLE_GEMINI_BASE_URL": f"http://127.0.0.1:{port}",
        "GEMINI_CLI_NO_RELAUNCH": "true",
    }


def _qwen(folder: Path, home: Path, port: int) -> _Started:
    settings = home / ".qwen" / "settings.json"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(
        json.dumps(
            {
                "privacy": {"usageStatisticsEnabled": False},
                "telemetry": {"enabled": False},
                "general": {"enableAutoUpdate": False, "disableAutoUpdate": True},
            }
        )
    )
    manifest = json.loads((folder / "node_modules/@qwen-code/qwen-code/package.json").read_text())
    command = _node(folder, f"@qwen-code/qwen-code/{manifest['bin']['qwen']}")
    return [*command, "--acp", "--auth-type", "openai", "--model", "scripted-model"], {
        "OPENAI_API_KEY": "none",
        "OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1",
        "OPENAI_MODEL": "scripted-model",
        "QWEN_CODE_NO_RELAUNCH": "true",
    }


def _deepagents(folder: Path, home: Path, port: int) -> _Started:
    return [str(folder / "bin" / "python"), str(HERE / "deepagents_server.py"), str(home / "sessions.sqlite")], {
        "OPENAI_API_KEY": "none",
        "OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1",
        "LANGSMITH_TRACING": "false",
    }


def _kimi_code(folder: Path, home: Path, port: int) -> _Started:
    node = str(folder / "node_modules" / _NODE_22.partition("@")[0] / "bin" / "node")
    manifest = json.loads((folder / "node_modules/@moonshot-ai/kimi-code/package.json").read_text())
    script = folder / "node_modules/@moonshot-ai/kimi-code" / manifest["bin"]["kimi"]
    return [node, str(script), "acp"], {
        "KIMI_CODE_HOME": str(home / ".kimi-code"),
        "KIMI_MODEL_NAME": "scripted-model",
        "KIMI_MODEL_API_KEY": "none",
        "KIMI_MODEL_BASE_URL": f"http://127.0.0.1:{port}/v1",
        "KIMI_MODEL_PROVIDER_TYPE": "openai",
        "KIMI_MODEL_MAX_CONTEXT_SIZE": "200000",
        "KIMI_CODE_NO_AUTO_UPDATE": "1",
    }


def _hermes(folder: Path, home: Path, port: int) -> _Started:
    config = home / ".hermes" / "config.yaml"
    config.parent.mkdir(parents=True, exist_ok=True)
    model = {"default": "scripted-model", "provider": "custom", "base_url": f"http://127.0.0.1:{port}/v1"}
    config.write_text(json.dumps({"model": {**model, "api_key": "none"}}))  # JSON is YAML, too
    return [str(folder / "bin" / "hermes-acp")], {"HERMES_HOME": str(config.parent)}


_NODE_22 = f"node-{sys.platform}-{'arm64' if platform.machine() in ('arm64', 'aarch64') else 'x64'}@22.23.5"
"""For an agent that needs a newer Node than others: the program alone, from npm."""

AGENTS: Mapping[str, LiveAgent] = {
    agent.name: agent
    for agent in (
        LiveAgent(
            "claude-agent-acp",
            "Claude Code",
            "0.101.0",
            "npm",
            ("@agentclientprotocol/claude-agent-acp@0.101.0",),
            _claude,
            mode="default",
        ),
        LiveAgent(
            "codex-acp",
            "Codex",
            "2.6.0",
            "npm",
            ("@agentclientprotocol/codex-acp@2.6.0",),
            _codex,
            mode="read-only",
        ),
        LiveAgent("opencode", "OpenCode", "1.18.33", "npm", ("opencode-ai@1.18.33",), _opencode),
        LiveAgent("gemini-cli", "Gemini CLI", "0.61.0", "npm", ("@google/gemini-cli@0.61.0",), _gemini, settles=62.0),
        LiveAgent("qwen-code", "Qwen Code", "0.24.4", "npm", ("@qwen-code/qwen-code@0.24.4",), _qwen, mode="default"),
        LiveAgent(
            "deepagents-acp",
            "Deep Agents",
            "0.0.13",
            "pip",
            (
                "deepagents-acp==0.0.13",
                "deepagents==0.7.32",
                "agent-client-protocol==0.12.1",
                "langchain-openai==1.7.4",
                "langgraph==1.2.24",
                "langgraph-checkpoint-sqlite==3.1.2",
                "aiosqlite==0.22.1",
            ),
            _deepagents,
        ),
        LiveAgent(
            "kimi-code",
            "Kimi Code",
            "2.1.0",
            "npm",
            ("@moonshot-ai/kimi-code@2.1.0", _NODE_22),
            _kimi_code,
        ),
        LiveAgent(
            "hermes-agent",
            "Hermes Agent",
            "0.19.0",
            "pip",
            ("hermes-agent[acp]==0.19.0",),
            _hermes,
            unasked=("delete", "shell"),
        ),
    )
}


def main(arguments: Sequence[str]) -> int:
    """`python tests/interop/roster.py [NAME…]`: install agents, all if none is named."""
    for name in arguments or AGENTS:
        print(f"{name}: {AGENTS[name].install()}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
