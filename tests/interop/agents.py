"""Real agents, as released: how each is installed, and how it is run against the scripted endpoint.

Each is installed once into a folder of its own outside the repository (`REDLINE_INTEROP_CACHE`, by default
`~/.cache/redline-interop`), in the exact release named here, by npm or pip. Each run gets an empty home of its own, a
configuration that names only 127.0.0.1, and no telemetry and no updates.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent

_FAILED: dict[str, str] = {}


class InstallFailed(Exception):  # noqa: N818 - it is what the user reads of
    """An agent could not be installed; the message names the command to run."""


@dataclass(frozen=True)
class Prepared:
    """What one run of an agent needs."""

    command: Sequence[str]
    environment: Mapping[str, str]
    """The whole environment, nothing is inherited."""

    @property
    def isolated(self) -> list[str]:
        """A command that runs it in that environment alone, whoever starts it."""
        return ["/usr/bin/env", "-i", *(f"{name}={value}" for name, value in self.environment.items()), *self.command]


@dataclass(frozen=True)
class LiveAgent:
    name: str
    title: str
    version: str
    manager: str
    """npm or pip."""
    packages: Sequence[str]
    start: Callable[[Path, Path, int], tuple[Sequence[str], Mapping[str, str]]]
    """(installation, home, port) -> command and environment; writes the configuration into the home."""
    mode: str = ""
    """The mode to set, so that it asks before it changes files; "": it asks as it starts."""
    settles: float = 0.0
    """Seconds until a session of it can be loaded by another process; an earlier try destroys the session."""

    @property
    def folder(self) -> Path:
        return cache() / f"{self.name}-{self.version}"

    def install(self) -> Path:
        """Install it unless it stands already; its folder. Raises `InstallFailed`."""
        done = self.folder / ".installed"
        wanted = " ".join(self.packages)
        if done.exists() and done.read_text() == wanted:
            return self.folder
        if self.name in _FAILED:
            raise InstallFailed(_FAILED[self.name])  # not tried again for every test
        try:
            self._install(done, wanted)
        except InstallFailed as failed:
            _FAILED[self.name] = str(failed)
            raise
        return self.folder

    def _install(self, done: Path, wanted: str) -> None:
        cache().mkdir(parents=True, exist_ok=True)
        # One at a time on a machine: several test processes may want the same one.
        with (cache() / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if done.exists() and done.read_text() == wanted:
                return
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.mkdir()
            for command in self._commands():
                self._run(command)
            done.write_text(wanted)

    def _commands(self) -> Iterable[Sequence[str]]:
        """What fills the empty folder; each is run before the next one is asked for."""
        if self.manager == "pip":
            python = str(self.folder / "bin" / "python")
            return [
                [sys.executable, "-m", "venv", str(self.folder)],
                [python, "-m", "pip", "install", "--quiet", *self.packages],
            ]
        npm = shutil.which("npm")
        if npm is None:
            raise InstallFailed(f"{self.title} needs Node 20 or newer with npm. Install it, then: make interop")
        quiet = ["--no-audit", "--no-fund", "--no-progress", "--ignore-scripts", "--fetch-retry-mintimeout=2000"]
        return [[npm, "install", "--prefix", str(self.folder), *quiet, *self.packages]]

    def _run(self, command: Sequence[str]) -> None:
        first = f"python tests/interop/agents.py {self.name}, then " if self.name in AGENTS else ""
        again = f"When it can be: {first}the tests again."
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
        except subprocess.TimeoutExpired:
            raise InstallFailed(f"Installing {self.title} took over ten minutes. {again}") from None
        if done.returncode:
            said = (done.stderr or done.stdout).strip()[-1000:]
            raise InstallFailed(f"{self.title} could not be installed: {' '.join(command)}\n{said}\n{again}")

    def prepare(self, home: Path, port: int) -> Prepared:
        """Install it if need be, write its configuration into `home`, which is its own and empty."""
        folder = self.install()
        home.mkdir(parents=True, exist_ok=True)
        temporary = home.parent / f"{home.name}-tmp"  # not a parent of the home: codex refuses that
        temporary.mkdir(exist_ok=True)
        command, own = self.start(folder, home, port)
        environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(home),
            "TMPDIR": str(temporary),
            "XDG_CONFIG_HOME": str(home / ".config"),
            "XDG_DATA_HOME": str(home / ".local/share"),
            "XDG_STATE_HOME": str(home / ".local/state"),
            "XDG_CACHE_HOME": str(home / ".cache"),
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "SHELL": "/bin/bash",
            "NO_PROXY": "127.0.0.1,localhost",
            "no_proxy": "127.0.0.1,localhost",
            "DO_NOT_TRACK": "1",
            **own,
        }
        return Prepared(command, environment)


def cache() -> Path:
    return Path(os.environ.get("REDLINE_INTEROP_CACHE") or Path.home() / ".cache" / "redline-interop").absolute()


def _node(folder: Path, script: str) -> list[str]:
    node = shutil.which("node")
    if node is None:
        raise InstallFailed("Node 20 or newer is needed. Install it, then: make interop")
    return [node, str(folder / "node_modules" / script)]


def _claude(folder: Path, home: Path, port: int) -> tuple[Sequence[str], Mapping[str, str]]:
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


def _codex(folder: Path, home: Path, port: int) -> tuple[Sequence[str], Mapping[str, str]]:
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


def _opencode(folder: Path, home: Path, port: int) -> tuple[Sequence[str], Mapping[str, str]]:
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


def _gemini(folder: Path, home: Path, port: int) -> tuple[Sequence[str], Mapping[str, str]]:
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


def _qwen(folder: Path, home: Path, port: int) -> tuple[Sequence[str], Mapping[str, str]]:
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


def _deepagents(folder: Path, home: Path, port: int) -> tuple[Sequence[str], Mapping[str, str]]:
    return [str(folder / "bin" / "python"), str(HERE / "deepagents_server.py"), str(home / "sessions.sqlite")], {
        "OPENAI_API_KEY": "none",
        "OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1",
        "LANGSMITH_TRACING": "false",
    }


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
    )
}


def main(arguments: Sequence[str]) -> int:
    """`python tests/interop/agents.py [NAME…]`: install agents, all if none is named."""
    for name in arguments or AGENTS:
        print(f"{name}: {AGENTS[name].install()}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
