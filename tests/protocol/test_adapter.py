"""What we send has the form that the SDK's models give it; what we get is judged and never replaced."""

from __future__ import annotations

from redline.protocol import adapter


def test_what_a_client_says_of_itself() -> None:
    sent = adapter.initialize("redline", "1", files=True, terminals=False)
    assert sent["protocolVersion"] == 1
    assert sent["clientCapabilities"]["fs"] == {"readTextFile": True, "writeTextFile": True}
    assert sent["clientCapabilities"]["terminal"] is False
    assert adapter.problem("InitializeRequest", sent) is None


def test_sessions_options_and_answers_are_well_formed() -> None:
    assert adapter.new_session("/w") == {"cwd": "/w", "mcpServers": []}
    assert adapter.problem("LoadSessionRequest", adapter.load_session("s", "/w")) is None
    assert adapter.problem("PromptRequest", adapter.prompt("s", [{"type": "text", "text": "x"}])) is None
    assert adapter.problem("SetSessionModeRequest", adapter.set_mode("s", "ask")) is None
    assert adapter.set_option("s", "web", True) == {
        "sessionId": "s", "configId": "web", "value": True, "type": "boolean",
    }  # fmt: skip
    assert adapter.problem("RequestPermissionResponse", adapter.permission_answer("yes")) is None
    assert adapter.problem("RequestPermissionResponse", adapter.permission_answer(None)) is None


def test_a_fault_is_named_with_its_place() -> None:
    assert "sessionId" in (adapter.problem("NewSessionResponse", {}) or "")
