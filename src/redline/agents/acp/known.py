"""The agents that Redline knows by name: how each is found on this machine, started, and got where it is missing.

Knowing an agent is a convenience, never a condition: any command that speaks the Agent Client Protocol on standard
input and output runs with `--agent-command`. Nothing here is asked of a network.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownAgent:
    name: str
    """What `--agent` takes."""
    title: str
    """For people."""
    commands: Sequence[Sequence[str]]
    """Ways to start it, the best first: a program that is looked for on this machine, and its arguments."""
    install: str
    """One command that gets it, as a person would type it."""
    also: Sequence[str] = ()
    """Other names that mean it."""
    needs: str = ""
    """What it runs on."""
    sign_in: str = ""
    """How it gets at a model; that stays between the user and the agent."""
    environment: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Set for its process unless the user has set them: only what makes it behave as an agent of an editor."""
    asks_in: str = ""
    """The mode (an id of `session/set_mode`) in which it asks before it changes files, where it does not start in
    it. "": it starts in such a mode, or has none."""
    notes: str = ""


class AgentMissing(Exception):  # noqa: N818 - it is what the user reads of
    """An agent that cannot be started by its name. `code` is UNKNOWN_AGENT or NOT_INSTALLED."""

    def __init__(self, code: str, message: str, remedy: str) -> None:
        super().__init__(f"{code}: {message} {remedy}")
        self.code = code
        self.message = message
        self.remedy = remedy


_QUIET = MappingProxyType({"DISABLE_AUTOUPDATER": "1"})

_AGENTS = (
    KnownAgent(
        name="claude",
        title="Claude Code",
        also=("claude-code", "claude-agent-acp", "claude-code-acp"),
        commands=(("claude-agent-acp",), ("claude-code-acp",)),
        install="npm install --global @agentclientprotocol/claude-agent-acp",
        needs="Node 20 or newer",
        sign_in="claude /login, or ANTHROPIC_API_KEY",
        environment=_QUIET,
        asks_in="default",
        notes="Starts in its mode “auto”, which lets a model decide what it may do.",
    ),
    KnownAgent(
        name="codex",
        title="Codex",
        also=("codex-acp",),
        commands=(("codex-acp",),),
        install="npm install --global @agentclientprotocol/codex-acp",
        needs="Node 20 or newer",
        sign_in="codex login, or OPENAI_API_KEY",
        asks_in="read-only",
        notes="Its mode “agent” lets a model decide what it may do; “read-only” asks before every change.",
    ),
    KnownAgent(
        name="gemini",
        title="Gemini CLI",
        also=("gemini-cli",),
        commands=(("gemini", "--acp"),),
        install="npm install --global @google/gemini-cli",
        needs="Node 20 or newer",
        sign_in="gemini (once, in a terminal), or GEMINI_API_KEY",
        environment=MappingProxyType({"GEMINI_CLI_NO_RELAUNCH": "true"}),
    ),
    KnownAgent(
        name="opencode",
        title="OpenCode",
        commands=(("opencode", "acp"),),
        install="npm install --global opencode-ai",
        needs="nothing else",
        sign_in="opencode auth login",
        notes="Asks only where its own configuration says so: permission.edit and permission.bash set to “ask”.",
    ),
    KnownAgent(
        name="qwen",
        title="Qwen Code",
        also=("qwen-code",),
        commands=(("qwen", "--acp"),),
        install="npm install --global @qwen-code/qwen-code",
        needs="Node 22 or newer, by its own word",
        sign_in="qwen (once, in a terminal), or OPENAI_API_KEY with OPENAI_BASE_URL and OPENAI_MODEL",
        asks_in="default",
        notes="Starts in its mode “auto”, which lets a model decide what it may do.",
    ),
    KnownAgent(
        name="copilot",
        title="GitHub Copilot",
        commands=(("copilot", "--acp"),),
        install="npm install --global @github/copilot",
        needs="Node 22 or newer",
        sign_in="copilot (once, in a terminal)",
    ),
    KnownAgent(
        name="kimi",
        title="Kimi Code",
        also=("kimi-code", "kimi-cli"),
        commands=(("kimi", "acp"),),
        install="npm install --global @moonshot-ai/kimi-code",
        needs="Node 22.19 or newer",
        sign_in="kimi (once, in a terminal)",
    ),
    KnownAgent(
        name="vibe",
        title="Mistral Vibe",
        also=("mistral-vibe",),
        commands=(("vibe-acp",),),
        install="pip install mistral-vibe",
        needs="Python 3.12 or newer",
        sign_in="vibe --setup, or MISTRAL_API_KEY",
        asks_in="ask",
    ),
    KnownAgent(
        name="pi",
        title="Pi",
        also=("pi-acp",),
        commands=(("pi-acp",),),
        install="npm install --global pi-acp @earendil-works/pi-coding-agent",
        needs="Node 22.19 or newer",
        sign_in="pi (once, in a terminal)",
        notes="Never asks: it has no permissions.",
    ),
    KnownAgent(
        name="cline",
        title="Cline",
        commands=(("cline", "--acp"),),
        install="npm install --global cline",
        needs="Node 20 or newer",
        sign_in="cline auth",
    ),
    KnownAgent(
        name="kilo",
        title="Kilo Code",
        also=("kilocode",),
        commands=(("kilo", "acp"),),
        install="npm install --global @kilocode/cli",
        needs="nothing else",
        sign_in="kilo auth login",
        notes="Asks only where its own configuration says so: permission.edit and permission.bash set to “ask”.",
    ),
    KnownAgent(
        name="nanocoder",
        title="Nanocoder",
        commands=(("nanocoder", "--acp"),),
        install="npm install --global @nanocollective/nanocoder",
        needs="Node 22 or newer",
        sign_in="agents.config.json in its configuration folder",
    ),
    KnownAgent(
        name="hermes",
        title="Hermes Agent",
        also=("hermes-agent", "hermes-acp"),
        commands=(("hermes-acp",),),
        install="pip install 'hermes-agent[acp]'",
        needs="Python 3.11 or newer",
        sign_in="hermes setup",
    ),
    KnownAgent(
        name="fast-agent",
        title="fast-agent",
        commands=(("fast-agent", "acp", "--shell"),),
        install="pip install fast-agent-acp",
        needs="Python 3.13 or newer",
        sign_in="fastagent.config.yaml, or the provider's key in the environment",
        notes="Never asks unless its configuration says so.",
    ),
    KnownAgent(
        name="openhands",
        title="OpenHands",
        commands=(("openhands", "acp"),),
        install="pip install openhands",
        needs="Python 3.12",
        sign_in="openhands (once, in a terminal)",
    ),
    KnownAgent(
        name="goose",
        title="Goose",
        commands=(("goose", "acp"),),
        install="follow the installation page of the Goose project (it is in neither npm nor PyPI)",
        needs="nothing else",
        sign_in="goose configure",
        notes="Known from its documentation; not among the agents that Redline is tested with.",
    ),
)

KNOWN: Mapping[str, KnownAgent] = MappingProxyType({agent.name: agent for agent in _AGENTS})
"""By name, those that are tested most first."""

_BY_ANY_NAME: Mapping[str, KnownAgent] = MappingProxyType(
    {name: agent for agent in _AGENTS for name in (agent.name, *agent.also)}
)

_ANY_COMMAND = 'Any other agent that speaks the protocol runs with --agent-command "COMMAND ARGUMENTS".'


def named(name: str) -> KnownAgent:
    """The agent that a name, in any case, means. Raises `AgentMissing` UNKNOWN_AGENT."""
    agent = _BY_ANY_NAME.get(name.strip().lower())
    if agent is None:
        raise AgentMissing(
            "UNKNOWN_AGENT", f"No agent is known as {name!r}.", f"Known are {', '.join(KNOWN)}. {_ANY_COMMAND}"
        )
    return agent


def installed(agent: KnownAgent, environment: Mapping[str, str] | None = None) -> list[str] | None:
    """The command that starts it here, its program as an absolute path; None: it is not on this machine."""
    places = _places(os.environ if environment is None else environment)
    for program, *arguments in agent.commands:
        found = shutil.which(program, path=places)
        if found is not None:
            return [found, *arguments]
    return None


def find(name: str, environment: Mapping[str, str] | None = None) -> list[str]:
    """The command that starts the agent of that name, its program as an absolute path.

    Raises `AgentMissing`: UNKNOWN_AGENT with the names that are known, or NOT_INSTALLED with how to get it.
    """
    agent = named(name)
    command = installed(agent, environment)
    if command is None:
        programs = " or ".join(dict.fromkeys(program for program, *_ in agent.commands))
        needs = f" (needs: {agent.needs})" if agent.needs else ""
        raise AgentMissing(
            "NOT_INSTALLED",
            f"{agent.title} is not on this machine: {programs} was not found.",
            f"Get it: {agent.install}{needs}. It signs in by itself: {agent.sign_in}.",
        )
    return command


def _places(environment: Mapping[str, str]) -> str:
    """Where programs are looked for: PATH, and the folders that npm, pip and installers put theirs into for one user.

    Relative entries are left out: they would mean the workspace, and nothing in a workspace is run for its name alone.
    """
    home = Path(environment.get("HOME") or Path.home())
    own = [home / ".local/bin", home / ".npm-global/bin", home / ".opencode/bin", home / ".bun/bin"]
    listed = [entry for entry in environment.get("PATH", os.defpath).split(os.pathsep) if Path(entry).is_absolute()]
    return os.pathsep.join([*listed, *map(str, own)])
