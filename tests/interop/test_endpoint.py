"""The scripted endpoint: one script, said in four services' words with each agent's own tools."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from interop.endpoint import Endpoint
from interop.operations import Call, Create, Delete, Edit, EditAll, Look, NoSuchTool, Say, Shell, Tool, calls_for
from interop.wires import AnthropicMessages, GeminiGenerate, OpenAIChat, OpenAIResponses, Reply

HERE = Path("/workspace")
PATCH = Tool("apply_patch", freeform=True)


def _tool(name: str, *properties: str, required: tuple[str, ...] = (), **kinds: str) -> dict[str, Tool]:
    declared = {one: {"type": kinds.get(one, "string")} for one in (*properties, *kinds)}
    return {name: Tool(name, declared, required)}


def test_an_operation_takes_the_names_that_the_agent_declares() -> None:
    ours = _tool("replace", "file_path", "instruction", "old_string", "new_string", required=("instruction",))
    [call] = calls_for([Edit("f.py", "a", "b")], ours, HERE)
    assert call.name == "replace"
    assert call.arguments == {
        "file_path": "/workspace/f.py", "old_string": "a", "new_string": "b", "instruction": "part of a scripted turn",
    }  # fmt: skip
    theirs = _tool("edit", "filePath", "oldString", "newString", replaceAll="boolean")
    [call] = calls_for([EditAll("f.py", "a", "b", "a a")], theirs, HERE)
    assert call.arguments == {"filePath": "/workspace/f.py", "oldString": "a", "newString": "b", "replaceAll": True}


def test_a_patch_tool_is_given_an_envelope_with_each_place() -> None:
    [call] = calls_for([EditAll("f.py", "old", "new", "x\nold 1\ny\nold 2\n")], {"apply_patch": PATCH}, HERE)
    assert call == Call(
        "apply_patch",
        "*** Begin Patch\n*** Update File: f.py\n@@\n-old 1\n+new 1\n@@\n-old 2\n+new 2\n*** End Patch\n",
    )


def test_a_delete_falls_back_to_the_shell() -> None:
    [call] = calls_for([Delete("f.py", "")], _tool("shell", command="array"), HERE)
    assert call.arguments == {"command": ["bash", "-lc", "rm f.py"]}


def test_a_sandboxed_shell_is_asked_to_run_outside_it() -> None:
    [call] = calls_for([Shell("ls")], _tool("exec_command", "cmd", "sandbox_permissions", "justification"), HERE)
    assert isinstance(call.arguments, Mapping)
    assert call.arguments["sandbox_permissions"] == "require_escalated"


def test_what_no_tool_can_do_is_an_error_except_reading() -> None:
    assert calls_for([Look("f.py")], {}, HERE) == []
    with pytest.raises(NoSuchTool, match="declared are: ls"):
        calls_for([Create("f.py", "")], _tool("ls", "path"), HERE)


def _post(endpoint: Endpoint, path: str, body: Mapping[str, Any]) -> str:
    address = f"http://127.0.0.1:{endpoint.port}{path}"
    request = urllib.request.Request(address, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=10) as answer:
        return str(answer.read().decode())


def _events(text: str) -> list[dict[str, Any]]:
    found = [line[6:] for line in text.splitlines() if line.startswith("data: ")]
    return [json.loads(data) for data in found if data != "[DONE]"]


SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
STEPS = [[Say("First.")], [Say("I list."), Shell("ls")], [Shell("pwd")]]


def test_anthropic_is_played_step_by_step_and_then_done(endpoint: Endpoint) -> None:
    marker = endpoint.play("one", STEPS, HERE)
    body: dict[str, Any] = {"model": "m", "stream": True, "tools": [{"name": "Bash", "input_schema": SCHEMA}]}
    messages: list[dict[str, Any]] = [{"role": "user", "content": f"go {marker}"}]
    for command in ("ls", "pwd", None):
        events = _events(_post(endpoint, "/v1/messages?beta=true", {**body, "messages": messages}))
        assert [event["type"] for event in events][0 :: len(events) - 1] == ["message_start", "message_stop"]
        calls = [e["content_block"] for e in events if e.get("content_block", {}).get("type") == "tool_use"]
        if command is None:
            assert calls == []
            break
        given = "".join(e["delta"].get("partial_json", "") for e in events if e["type"] == "content_block_delta")
        assert json.loads(given) == {"command": command}
        messages += [
            {"role": "assistant", "content": [{**calls[0], "input": json.loads(given)}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": calls[0]["id"], "content": "ok"}]},
        ]


def test_a_side_call_gets_plain_text(endpoint: Endpoint) -> None:
    marker = endpoint.play("one", STEPS, HERE)
    body = {"model": "m", "messages": [{"role": "user", "content": f"a title for: go {marker}"}]}
    assert json.loads(_post(endpoint, "/v1/messages", body))["content"] == [{"type": "text", "text": "A scripted turn"}]
    assert json.loads(_post(endpoint, "/v1/messages/count_tokens", body)) == {"input_tokens": 100}


def test_a_second_script_in_the_same_history_starts_at_its_beginning(endpoint: Endpoint) -> None:
    first, second = endpoint.play("one", STEPS, HERE), endpoint.play("two", [[Shell("date")]], HERE)
    called = {"role": "assistant", "tool_calls": [{"id": "call_one1_0", "function": {"name": "bash"}}]}
    messages = [{"role": "user", "content": first}, called, {"role": "user", "content": second}]
    tools = [{"type": "function", "function": {"name": "bash", "parameters": SCHEMA}}]
    answer = json.loads(_post(endpoint, "/v1/chat/completions", {"model": "m", "messages": messages, "tools": tools}))
    [call] = answer["choices"][0]["message"]["tool_calls"]
    assert json.loads(call["function"]["arguments"]) == {"command": "date"}


TWO = Reply("I do two things.", [Call("bash", {"command": "a"}), Call("bash", {"command": "b"})], "key")


def test_chat_streams_parallel_calls_apart() -> None:
    given: dict[int, str] = {}
    for event in _events(b"".join(OpenAIChat().stream("m", TWO)).decode()):
        for choice in event["choices"]:
            for call in choice["delta"].get("tool_calls", []):
                given[call["index"]] = given.get(call["index"], "") + call["function"]["arguments"]
    assert [json.loads(text)["command"] for text in given.values()] == ["a", "b"]


def test_parallel_calls_that_come_back_one_by_one_are_one_reply() -> None:
    [*_, last] = _events(b"".join(OpenAIResponses().stream("m", TWO)).decode())
    assert last["type"] == "response.completed"
    calls = [item for item in last["response"]["output"] if item["type"] == "function_call"]
    history = [{"role": "user", "content": [{"type": "input_text", "text": "[scripted turn x]"}]}]
    for call in calls:
        history += [call, {"type": "function_call_output", "call_id": call["call_id"], "output": "ok"}]
    assert OpenAIResponses().read({"input": history}, False).done == 1


def test_gemini_streams_text_and_whole_calls() -> None:
    events = _events(b"".join(GeminiGenerate().stream("m", TWO)).decode())
    parts = [part for event in events for part in event["candidates"][0]["content"]["parts"]]
    assert [part["functionCall"]["args"]["command"] for part in parts if "functionCall" in part] == ["a", "b"]
    assert events[-1]["candidates"][0]["finishReason"] == "STOP"


def test_anthropic_answers_whole_where_no_stream_is_wanted() -> None:
    answer = AnthropicMessages().whole("m", TWO)
    assert [block["type"] for block in answer["content"]] == ["text", "tool_use", "tool_use"]
    assert answer["stop_reason"] == "tool_use"
