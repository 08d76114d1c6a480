"""An agent of the protocol that does what a script says, on standard input and output; standard library only.

The script is a JSON object: `initialize` and `new` are merged into those answers, `silent` names methods that are never
answered, `heard` a file for what it is sent, `noise` is written before anything else, `stderr` to there; `during` gives
steps that are done before a method of another kind is answered; `refused` is how a turn ends whose question was not
allowed; `prompts` is a list of turns, each of steps:

    {"send": update}             a session/update
    {"raw": text}                a line as it is
    {"write": path, "text": t}   a file, behind the client's back; {"append": …}, {"delete": path}, {"chmod": path}
    {"run": command}             a command of the shell, in the workspace
    {"ask": toolCall}            a permission request; `options` if not the usual; the rest only where it is allowed
    {"call": method, "params"}   any request to the client; its answer is sent as a message of the agent
    {"sleep": seconds}, {"hang": true}, {"exit": code}
    {"end": reason, "usage": u}  the answer to the prompt; what follows is done after the turn's end
    {"flood": n, "update": u}    an update n times, its {n} replaced by the number
    {"wait_cancel": true}        until session/cancel comes; then the turn ends as cancelled
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

OPTIONS = [
    {"optionId": "always", "name": "Always", "kind": "allow_always"},
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]


class Puppet:
    def __init__(self, script: dict[str, Any]) -> None:
        self.script = script
        self.turns = list(script.get("prompts", []))
        self.workspace = ""
        self.count = 0
        self.backlog: list[dict[str, Any]] = []

    def send(self, **message: Any) -> None:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()

    def update(self, value: Any) -> None:
        self.send(method="session/update", params={"sessionId": "puppet", "update": value})

    def receive(self) -> dict[str, Any]:
        if self.backlog:
            return self.backlog.pop(0)
        line = sys.stdin.readline()
        if not line:
            sys.exit(0)
        if "heard" in self.script:
            with Path(self.script["heard"]).open("a") as file:
                file.write(line)
        return json.loads(line)

    def call(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self.count += 1
        identity = f"p{self.count}"
        self.send(id=identity, method=method, params={"sessionId": "puppet", **params})
        held = []
        while (answer := self.receive()).get("id") != identity or "method" in answer:
            held.append(answer)
        self.backlog = held + self.backlog
        return answer

    def serve(self) -> None:
        if "stderr" in self.script:
            print(self.script["stderr"], file=sys.stderr, flush=True)
        if "noise" in self.script:
            print(self.script["noise"], flush=True)
        while True:
            message = self.receive()
            method, identity = message.get("method"), message.get("id")
            if method in self.script.get("silent", ()):
                continue
            if method in self.script.get("refuse", {}):
                self.send(id=identity, error=self.script["refuse"][method])
            elif method == "initialize":
                answer = {
                    "protocolVersion": 1,
                    "agentCapabilities": {},
                    "agentInfo": {"name": "puppet", "version": "1"},
                }
                self.send(id=identity, result={**answer, **self.script.get("initialize", {})})
            elif method in ("session/new", "session/load", "session/resume"):
                self.workspace = message["params"]["cwd"]
                if method == "session/load":
                    for update in self.script.get("replay", []):
                        self.update(self.filled(update))
                self.send(id=identity, result={"sessionId": "puppet", **self.script.get("new", {})})
            elif method == "session/prompt":
                self.prompt(identity, self.turns.pop(0) if self.turns else [])
            elif identity is not None and method:
                for step in self.script.get("during", {}).get(method, ()):
                    self.step(step)
                self.send(id=identity, result={})

    def filled(self, value: Any) -> Any:
        text = json.dumps(value).replace("{w}", json.dumps(self.workspace)[1:-1])
        return json.loads(text.replace("{w-}", json.dumps(self.workspace.lstrip("/"))[1:-1]))

    def prompt(self, identity: Any, steps: list[dict[str, Any]]) -> None:
        reason: str | None = "end_turn"
        for step in map(self.filled, steps):
            if "end" in step:
                used = {"usage": step["usage"]} if "usage" in step else {}
                self.send(id=identity, result={"stopReason": step["end"], **used})
                reason = None
            elif not self.step(step):
                reason = "cancelled" if "wait_cancel" in step else self.script.get("refused", reason)
                break
        if reason is not None:
            self.send(id=identity, result={"stopReason": reason})

    def step(self, step: dict[str, Any]) -> bool:
        if "send" in step:
            self.update(step["send"])
        elif "raw" in step:
            sys.stdout.write(step["raw"] + "\n")
            sys.stdout.flush()
        elif "write" in step:
            self.path(step["write"]).parent.mkdir(parents=True, exist_ok=True)
            self.path(step["write"]).write_bytes(step["text"].encode("utf-8", "surrogateescape"))
        elif "append" in step:
            with self.path(step["append"]).open("ab") as file:
                file.write(step["text"].encode())
        elif "delete" in step:
            self.path(step["delete"]).unlink()
        elif "move" in step:
            self.path(step["move"]).rename(self.path(step["to"]))
        elif "run" in step:
            subprocess.run(step["run"], shell=True, cwd=self.workspace, check=True, stdin=subprocess.DEVNULL,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
        elif "chmod" in step:
            self.path(step["chmod"]).chmod(0o755)
        elif "ask" in step:
            params = {"toolCall": step["ask"], "options": step.get("options", OPTIONS)}
            outcome = self.call("session/request_permission", params)["result"]["outcome"]
            self.update(
                {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": json.dumps(outcome)}}
            )
            return outcome.get("optionId") in ("yes", "always")
        elif "call" in step:
            answer = self.call(step["call"], step["params"])
            text = json.dumps({name: value for name, value in answer.items() if name in ("result", "error")})
            self.update({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}})
        elif "sleep" in step:
            time.sleep(step["sleep"])
        elif "hang" in step:
            time.sleep(600)
        elif "exit" in step:
            os._exit(step["exit"])
        elif "flood" in step:
            text = json.dumps({"jsonrpc": "2.0", "method": "session/update",
                               "params": {"sessionId": "puppet", "update": step["update"]}})  # fmt: skip
            for number in range(step["flood"]):
                sys.stdout.write(text.replace("{n}", str(number)) + "\n")
            sys.stdout.flush()
        elif "wait_cancel" in step:
            while self.receive().get("method") != "session/cancel":
                pass
            return False
        return True

    def path(self, name: str) -> Path:
        return Path(self.workspace, name)


if __name__ == "__main__":
    Puppet(json.loads(Path(sys.argv[1]).read_text())).serve()
