"""What an answer allows, and what it does not."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from gateway.parlour import Parlour, Screen, call, events, never, parlour, step, until
from redline.changes.compare import describe
from redline.gateway.permissions import Permissions, options
from redline.sessions.redaction import Redactor
from redline.tools.permission import PermissionRequest

if TYPE_CHECKING:
    from pathlib import Path

    from redline.sessions.events import Event


class Log:
    """Keeps what is appended."""

    def __init__(self) -> None:
        self.redactor = Redactor()
        self.entries: list[tuple[str, dict[str, Any]]] = []

    async def append(self, type_: str, data: dict[str, Any]) -> None:
        await asyncio.sleep(0)
        self.entries.append((type_, data))

    def answers(self) -> list[tuple[str, str]]:
        return [(data["outcome"], data["by"]) for type_, data in self.entries if type_ == "permission/answered"]


def asked_for(path: Path, call_: str = "c", **more: Any) -> PermissionRequest:
    change = describe(str(path), b"a\n", b"b\n")
    values = {"turn": 1, "call": call_, "tool": "edit", "title": "edit", "changes": [change], "paths": [str(path)]}
    return PermissionRequest(**{**values, **more})


def command(text: str) -> PermissionRequest:
    return PermissionRequest(1, "c", "bash", text, (), (), {"command": text})


@pytest.fixture
def log() -> Log:
    return Log()


def made(log: Log, workspace: Path, *screens: Screen, **options: Any) -> Permissions:
    return Permissions(log, workspace, lambda: screens, **options)  # type: ignore[arg-type]


async def test_allowed_once_is_asked_again(log: Log, tmp_path: Path) -> None:
    screen = Screen(answer="allow_once")
    permissions = made(log, tmp_path, screen)
    for _ in range(2):
        assert await permissions(asked_for(tmp_path / "a")) == "allow_once"
    assert len(screen.asked) == 2
    assert [type_ for type_, _ in log.entries] == ["permission/asked", "permission/answered"] * 2


async def test_allowed_for_the_session_holds_for_that_tool_and_that_file_only(log: Log, tmp_path: Path) -> None:
    screen = Screen(answer="allow_session")
    permissions = made(log, tmp_path, screen)
    assert await permissions(asked_for(tmp_path / "a")) == "allow_session"
    screen.answer = "reject"
    assert await permissions(asked_for(tmp_path / "a")) == "allow_once"
    assert await permissions(asked_for(tmp_path / "b")) == "reject"
    assert await permissions(asked_for(tmp_path / "a", tool="delete")) == "reject"
    assert log.answers()[1] == ("allow_once", "session")


async def test_a_link_to_an_allowed_file_is_that_file_and_a_link_elsewhere_is_not(log: Log, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")
    (tmp_path / "b").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    screen = Screen(answer="allow_session")
    permissions = made(log, tmp_path, screen)
    await permissions(asked_for(tmp_path / "a"))
    screen.answer = "reject"
    assert await permissions(asked_for(tmp_path / "link")) == "allow_once"
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to(tmp_path / "b")
    assert await permissions(asked_for(tmp_path / "link")) == "reject"


async def test_a_command_is_allowed_letter_for_letter(log: Log, tmp_path: Path) -> None:
    screen = Screen(answer="allow_session")
    permissions = made(log, tmp_path, screen)
    await permissions(command("make test"))
    screen.answer = "reject"
    assert await permissions(command("make test")) == "allow_once"
    assert await permissions(command("make test; rm -rf x")) == "reject"


async def test_a_secret_in_a_command_is_shown_to_nobody_and_still_bound_to(log: Log, tmp_path: Path) -> None:
    text = "curl -H 'Authorization: Bearer ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8' example.org"
    screen = Screen(answer="allow_session")
    permissions = made(log, tmp_path, screen)
    await permissions(command(text))
    shown = f"{screen.asked[0].title} {screen.asked[0].arguments}"
    assert "ghp_" not in shown
    assert "redacted" in shown
    screen.answer = "reject"
    assert await permissions(command(text)) == "allow_once"
    assert await permissions(command(text.replace("f6G7h8", "f6G7h9"))) == "reject"


async def test_every_file_of_a_call_must_be_allowed(log: Log, tmp_path: Path) -> None:
    screen = Screen(answer="allow_session")
    permissions = made(log, tmp_path, screen)
    await permissions(asked_for(tmp_path / "a"))
    screen.answer = "reject"
    assert await permissions(asked_for(tmp_path / "a", paths=[str(tmp_path / "a"), str(tmp_path / "b")])) == "reject"


async def test_what_must_be_seen_each_time_is_not_covered_by_an_earlier_answer(log: Log, tmp_path: Path) -> None:
    """Public reports: G76."""
    screen = Screen(answer="allow_session")
    permissions = made(log, tmp_path, screen, approval="edits")
    changed = asked_for(tmp_path / "a", note="The file changed since the last answer.", allow_session=False)
    assert await permissions(changed) == "allow_once"
    assert await permissions(changed) == "allow_once"
    assert len(screen.asked) == 2


async def test_without_a_preview_no_plain_allow_is_offered(log: Log, tmp_path: Path) -> None:
    screen = Screen(answer="allow_once")
    await made(log, tmp_path, screen)(asked_for(tmp_path / "a", changes=[], note="too large to compare"))
    [(_, asked), _] = log.entries
    assert [option["name"] for option in asked["options"]] == ["Allow once without a preview", "Reject"]
    assert asked["note"] == "too large to compare"
    assert not screen.asked[0].allow_session
    plain = [option["kind"] for option in options(asked_for(tmp_path / "a"))]
    assert plain == ["allow_once", "allow_always", "reject_once"]


async def test_edits_are_allowed_by_mode_inside_the_workspace_and_commands_are_not(log: Log, tmp_path: Path) -> None:
    workspace = tmp_path / "w"
    (workspace / ".git").mkdir(parents=True)
    permissions = made(log, workspace, Screen(answer="reject"), approval="edits")
    assert await permissions(asked_for(workspace / "a")) == "allow_once"
    for request in (
        asked_for(tmp_path / "outside"),
        asked_for(workspace / ".git" / "config"),
        asked_for(workspace / "a", changes=[]),
        command("ls"),
    ):
        assert await permissions(request) == "reject"
    assert log.answers()[0] == ("allow_once", "approval edits")


async def test_all_asks_for_nothing_and_the_log_says_why(log: Log, tmp_path: Path) -> None:
    permissions = made(log, tmp_path, approval="all")
    assert await permissions(command("ls")) == "allow_once"
    assert log.entries[0][1]["by"] == "approval all"


async def test_requests_of_one_batch_are_put_one_after_the_other(log: Log, tmp_path: Path) -> None:
    at_once = 0

    async def slow(_: PermissionRequest) -> Any:
        nonlocal at_once
        at_once += 1
        assert at_once == 1
        await asyncio.sleep(0.01)
        at_once -= 1
        return "allow_session"

    permissions = made(log, tmp_path, Screen(answer=slow))
    outcomes = await asyncio.gather(*(permissions(asked_for(tmp_path / "a", f"c{n}")) for n in range(3)))
    # The answer to the first covers the two that waited.
    assert outcomes == ["allow_session", "allow_once", "allow_once"]


async def test_withdrawn_requests_are_cancelled_and_so_are_those_that_waited(log: Log, tmp_path: Path) -> None:
    permissions = made(log, tmp_path, Screen(answer=never))
    tasks = [asyncio.create_task(permissions(asked_for(tmp_path / str(n), f"c{n}"))) for n in range(3)]
    await until(lambda: permissions.is_asking)
    assert permissions.withdraw("a new prompt") == 1
    assert await asyncio.gather(*tasks) == ["cancelled"] * 3
    assert not permissions.is_asking


async def test_an_answer_by_a_button_counts_once(log: Log, tmp_path: Path) -> None:
    permissions = made(log, tmp_path, Screen(answer=never))
    task = asyncio.create_task(permissions(asked_for(tmp_path / "a")))
    await until(lambda: log.entries)
    identity = log.entries[0][1]["request"]
    assert permissions.answer(identity, "reject", "slack")
    assert not permissions.answer(identity, "allow_once", "terminal")
    assert await task == "reject"
    assert not permissions.answer("unheard", "allow_once", "terminal")
    assert log.answers() == [("reject", "slack")]


async def test_a_surface_cannot_give_what_was_not_offered(log: Log, tmp_path: Path) -> None:
    permissions = made(log, tmp_path, Screen(answer="allow_session"))
    assert await permissions(asked_for(tmp_path / "a", allow_session=False)) == "allow_once"


async def test_a_surface_that_raises_has_no_answer_and_is_reported(log: Log, tmp_path: Path) -> None:
    faults: list[str] = []

    async def broken(_: PermissionRequest) -> Any:
        raise OSError("no tty")

    permissions = made(log, tmp_path, Screen("t", answer=broken), fault=lambda name, _: faults.append(name))
    assert await permissions(asked_for(tmp_path / "a")) == "unavailable"
    assert faults == ["t"]


async def test_the_end_of_the_turn_closes_an_open_question(log: Log, tmp_path: Path) -> None:
    permissions = made(log, tmp_path, Screen(answer=never))
    task = asyncio.create_task(permissions(asked_for(tmp_path / "a")))
    await until(lambda: log.entries)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert log.answers() == [("cancelled", "the end of the turn")]


async def test_what_was_allowed_for_the_session_is_remembered_after_a_restart(tmp_path: Path) -> None:
    async with parlour(tmp_path) as place:
        await _restart(place)


async def _restart(place: Parlour) -> None:
    run = call("bash", command="echo hi >> {workspace}/out")
    model = place.script([step("", run)], [step("", run)], [step("", call("bash", command="echo ho"))])
    conversation = await place.begin(model)
    screen = Screen(answer="allow_session")
    conversation.attach(screen)
    await conversation.prompt("1", source="terminal")
    await conversation.close()
    conversation.session.close()

    resumed = await place.begin(model, session=conversation.session.log.session)
    again = Screen(answer="reject")
    resumed.attach(again)
    await resumed.prompt("2", source="terminal")
    assert again.asked == []
    assert (place.workspace / "out").read_text() == "hi\nhi\n"
    await resumed.prompt("3", source="terminal")
    assert [request.arguments for request in again.asked] == [{"command": "echo ho"}]
    answers: list[Event] = await events(resumed, "permission/answered")
    assert [event.data["outcome"] for event in answers] == ["allow_session", "allow_once", "reject"]


@pytest.mark.parametrize(
    ("after", "old"),
    [(b"", None), (b"a\n", None), (None, None), (b"a\n", "b")],
    ids=["emptied", "cut", "deleted", "moved"],
)
async def test_no_rule_allows_what_deletes_or_empties_a_file_or_cuts_it(
    log: Log, tmp_path: Path, after: bytes | None, old: str | None
) -> None:
    """Whoever asks, and whether or not it says that a person should answer."""
    screen = Screen(answer="allow_session")
    permissions = made(log, tmp_path, screen, approval="edits")
    cut = asked_for(tmp_path / "a", changes=[describe(str(tmp_path / "a"), b"a\n" * 100, after, old_path=old)])
    assert await permissions(cut) == "allow_once"
    screen.answer = "reject"
    assert await permissions(cut) == "reject"
    assert await permissions(asked_for(tmp_path / "a")) == "allow_once"
