"""The chats of `redline serve`: what is configured, what is missing, and a first card."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from cli.command_line import CommandLine
from gateway.parlour import until
from redline.cli.chats import chats, rules, wanted
from redline.cli.config import Config, load
from redline.cli.failure import Failure
from redline.gateway.roster import GatewayError
from surfaces.chat.office import call, house, scripted, step
from surfaces.slack.fake_slack import fake_slack
from surfaces.telegram.fake_telegram import TOKEN, fake_telegram

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def redline(tmp_path: Path) -> CommandLine:
    (tmp_path / "data").mkdir(mode=0o700)
    return CommandLine(tmp_path, tmp_path / "data")


def test_tokens_and_lists_come_from_the_environment_and_tokens_are_never_shown(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "config.toml"
    file.write_text('[slack]\nallow = ["U9"]\nchanges = "summary"\n[slack.folders]\napp = "~/src/app"\n')
    monkeypatch.setenv("REDLINE_CONFIG", str(file))
    monkeypatch.setenv("REDLINE_SLACK_BOT_TOKEN", "xoxb-secret")
    monkeypatch.setenv("REDLINE_TELEGRAM_ALLOW", "7, 8")
    monkeypatch.setenv("REDLINE_TELEGRAM_FOLDERS", '{"lib": "/src/lib"}')
    found = load()
    assert found.config.slack.bot_token.get_secret_value() == "xoxb-secret"
    assert found.config.telegram.allow == ["7", "8"]
    shown = {setting.name: setting for setting in found.settings}
    assert shown["slack.bot_token"].source == "REDLINE_SLACK_BOT_TOKEN"
    assert "secret" not in str(shown["slack.bot_token"].value)
    assert shown["slack.changes"].source == str(file)
    made = rules(found.config.slack)
    assert (made.allow, made.folders, made.setting.shown) == (frozenset({"U9"}), {"app": "~/src/app"}, "summary")
    assert rules(found.config.discord).allow == frozenset()


@pytest.mark.parametrize("wrong", ["[slack]\nalow = 1", '[slack]\nchanges = "some"', "slack = 3", "[slack]\nallow = 3"])
def test_a_wrong_setting_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, wrong: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(wrong + "\n")
    monkeypatch.setenv("REDLINE_CONFIG", str(file))
    with pytest.raises(Failure, match="slack") as refused:
        load()
    assert str(file) in refused.value.message


@pytest.mark.parametrize("platform", ["slack", "discord", "telegram"])
def test_a_missing_token_says_where_to_put_it(redline: CommandLine, platform: str) -> None:
    done = redline("serve", f"--{platform}", "--port", "0", "--no-open")
    assert done.returncode == 2
    assert f"REDLINE_{platform.upper()}_BOT_TOKEN" in done.stderr
    assert f"docs/{platform}.md" in done.stderr


@pytest.mark.parametrize("platform", ["slack", "discord", "telegram"])
def test_an_agent_that_nobody_knows_is_said_at_the_start(platform: str) -> None:
    tokens = {"bot_token": TOKEN, **({"app_token": "xapp-1"} if platform == "slack" else {})}
    config = Config.model_validate({platform: {**tokens, "agent": "foo"}})
    with pytest.raises(Failure, match=rf"agent under \[{platform}\].*foo"):
        wanted(config, [platform])
    assert wanted(Config.model_validate({platform: {**tokens, "agent": "builtin"}}), [platform]) == [platform]


def test_what_is_enabled_need_not_be_named() -> None:
    config = Config.model_validate({"telegram": {"enabled": True, "bot_token": TOKEN}})
    assert wanted(config, []) == ["telegram"]
    assert wanted(Config(), []) == []


@pytest.mark.parametrize("folder", ["/nowhere/at/all", "src/app"])
def test_a_wrong_folder_is_said_at_the_start(redline: CommandLine, folder: str) -> None:
    done = redline(
        "serve", "--telegram", "--port", "0", "--no-open",
        REDLINE_TELEGRAM_BOT_TOKEN=TOKEN, REDLINE_TELEGRAM_FOLDERS=json.dumps({"app": folder}),
    )  # fmt: skip
    assert done.returncode == 2
    assert "app under [telegram.folders] cannot be used" in done.stderr
    assert folder in done.stderr


def test_an_id_without_quotes_is_said_to_need_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("[telegram]\nallow = [12]\n")
    monkeypatch.setenv("REDLINE_CONFIG", str(file))
    with pytest.raises(Failure, match="quotes") as refused:
        load()
    assert '["12"]' in refused.value.message


async def test_two_platforms_at_once_and_a_dead_one_delays_neither(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = scripted(tmp_path, [step("", call("write", path="a.py", content="x = 1\n")), step("Done.")])
    async with fake_slack() as slack, fake_telegram() as telegram, house(tmp_path, model) as at:
        folders = {"app": str(at.workspace)}
        given = {
            "data": tmp_path / "data",
            "slack": {
                "bot_token": "xoxb-1", "app_token": "xapp-1", "base_url": slack.base_url, "allow": ["U1"],
                "folders": folders,
            },
            "telegram": {"bot_token": TOKEN, "base_url": telegram.base_url, "allow": ["7"], "folders": folders},
            "discord": {"bot_token": "x", "base_url": "http://127.0.0.1:9/api/v10"},
        }  # fmt: skip
        config = Config.model_validate(given)
        async with chats(config, at.gateway, ["slack", "telegram", "discord"]):
            await slack.type("make it")
            telegram.type("make it")
            await until(lambda: "Turn 1 done" in slack.said() and "Turn 1 done" in telegram.said())
        said = capsys.readouterr().err
        assert "Redline listens on Slack." in said
        assert "Discord cannot be reached" in said


async def test_a_token_that_is_not_taken_ends_the_command_with_a_remedy(tmp_path: Path) -> None:
    async with fake_telegram() as telegram, house(tmp_path, "") as at:
        given = {"data": tmp_path / "data", "telegram": {"bot_token": "1:wrong", "base_url": telegram.base_url}}
        with pytest.raises(GatewayError, match="TELEGRAM"):
            async with chats(Config.model_validate(given), at.gateway, ["telegram"]):
                pass


def test_a_new_configuration_file_has_the_tables(redline: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "new" / "config.toml"
    assert redline("config", "--init", REDLINE_CONFIG=str(file)).returncode == 0
    text = file.read_text()
    assert "# [slack]" in text
    begin = text.index("# [slack]")
    tables = [line.removeprefix("# ") for line in text[begin:].split("\n") if " = " in line or line.startswith("# [")]
    file.write_text("\n".join(line for line in tables if not line.startswith("Where")))
    shown = redline("config", "--json", REDLINE_CONFIG=str(file))
    assert shown.returncode == 0, shown.stderr
    values = {row["name"]: row for row in json.loads(shown.stdout)["settings"]}
    assert (values["slack.turn_limit"]["value"], values["slack.turn_limit"]["source"]) == (12000, str(file))
