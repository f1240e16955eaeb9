"""The doctor starts the agents that are there, and says what each can do and lacks: real processes in place of them."""

import json
import os
import sys
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adapters.acp.presets import PRESETS
from adapters.upkeep.doctor import doctor

Doctor = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    (tmp_path / "bin").mkdir()
    home.mkdir(mode=0o700)
    return home


@pytest.fixture
def examine(home: Path, capsys: pytest.CaptureFixture[str]) -> Doctor:
    def run(settings: str = "", **variables: str) -> list[dict[str, Any]]:
        if settings:
            (home / "tieline.toml").write_text(settings)
        path = str(home.parent / "bin")
        environ = {"TIELINE_HOME": str(home), "PATH": path, "HOME": str(home), **variables}
        assert doctor(Namespace(json=True, agents=True), environ) == 0
        return [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    return run


def stand_in(home: Path, program: str, *rules: dict[str, str], before: str = "") -> None:
    persona = home.parent / f"{program}.json"
    persona.write_text(json.dumps({"rules": list(rules)}))
    file = home.parent / "bin" / program
    options = f'--persona "{persona}" --state "{home.parent}/state"'
    file.write_text(f'#!/bin/sh\n{before}\nexec "{sys.executable}" -P -m adapters.scripted {options}\n')
    file.chmod(0o755)


def about(found: list[dict[str, Any]], label: str) -> list[dict[str, Any]]:
    return [one for one in found if one["text"].startswith(f"{label}: ")]


def test_what_an_agent_can_do_without_a_login_is_no_warning(home: Path, examine: Doctor) -> None:
    stand_in(home, "opencode")
    found = about(examine(), "preset opencode")
    assert [one["level"] for one in found] == ["ok", "ok"]
    assert "without a login it uses the free models" in found[1]["text"]


def test_models_that_are_offered_in_the_older_way_are_told_of_too(home: Path, examine: Doctor) -> None:
    stand_in(home, "hermes-acp", before="export SCRIPTED_MODELS=a,b SCRIPTED_CHOICE=models")
    assert about(examine(), "preset hermes")[0]["agent"]["can"]["models"] == ["a", "b"]


def test_an_agent_that_has_a_key_and_wants_to_be_told_to_use_it_is_told(home: Path, examine: Doctor) -> None:
    stand_in(home, "codex-acp", before="export SCRIPTED_LOGIN=api-key")
    assert "it wants a login (Authentication required)" in about(examine(), "preset codex")[0]["text"]
    assert "is ready" in about(examine(OPENAI_API_KEY="k"), "preset codex")[0]["text"]


def test_an_agent_that_is_there_is_started_and_says_what_it_can_do(home: Path, examine: Doctor) -> None:
    stand_in(home, "hermes-acp", before=f"echo $$ > {home.parent}/pid")
    (home / ".hermes").mkdir()
    (home / ".hermes" / "config.yaml").touch()
    (found,) = about(examine(), "preset hermes")
    assert (found["level"], found["remedy"]) == ("ok", "")
    assert found["agent"]["command"] == ["hermes-acp"]
    assert found["agent"]["can"]["load"] is True
    assert found["agent"]["can"]["mcp"][0] == "stdio"
    assert found["agent"]["can"]["modes"]
    with pytest.raises(ProcessLookupError):
        os.kill(int((home.parent / "pid").read_text()), 0)


def test_an_agent_without_a_login_is_told_where_it_was_looked_for(home: Path, examine: Doctor) -> None:
    stand_in(home, "claude-agent-acp")
    stand_in(home, "codex-acp", {"on": "session/new", "script": "fail -32000 Authentication required"})
    found = examine()
    _, claude, *_ = about(found, "preset claude-code")
    assert claude["level"] == "warn"
    assert f"{home}/.claude/.credentials.json" in claude["text"]
    assert "ANTHROPIC_API_KEY" in claude["remedy"]
    (codex,) = about(found, "preset codex")
    assert codex["level"] == "warn"
    assert "wants a login" in codex["text"]
    assert "codex login" in codex["remedy"]
    stand_in(home, "hermes-acp", {"on": "session/new", "script": "fail No LLM provider configured."})
    found = examine(ANTHROPIC_API_KEY="k")
    (hermes,) = about(found, "preset hermes")
    assert "wants a login (No LLM provider" in hermes["text"]
    assert "hermes setup" in hermes["remedy"]
    assert not any("no login" in one["text"] for one in about(found, "preset claude-code"))


def test_root_is_told_what_an_agent_makes_of_it(home: Path, examine: Doctor, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(home, "claude-agent-acp")
    for user, told in ((0, True), (1_000, False)):
        monkeypatch.setattr(os, "geteuid", lambda user=user: user)
        assert any("you are root" in one["text"] for one in about(examine(), "preset claude-code")) == told


def test_an_agent_that_does_not_start_is_told_with_its_last_words_and_how_to_install_it(
    home: Path, examine: Doctor
) -> None:
    stand_in(home, "hermes-acp", before="echo 'No module named acp' >&2 ; exit 1")
    (found,) = about(examine(), "preset hermes")
    assert found["level"] == "warn"
    assert "No module named acp" in found["text"]
    assert "hermes-agent[acp,mcp]" in found["remedy"]


def test_presets_that_are_not_installed_are_listed_and_agents_of_the_settings_missed(
    home: Path, examine: Doctor
) -> None:
    found = examine('[agents.desk]\npreset = "gemini"\n[agents.own]\ncommand = ["my-agent"]\n')
    (goose,) = about(found, "preset goose")
    assert goose["level"] == "ok"
    assert "not installed" in goose["text"]
    assert about(found, "preset gemini") == []
    (desk,) = about(found, "desk")
    assert (desk["level"], "gemini-cli" in desk["remedy"]) == ("warn", True)
    (own,) = about(found, "own")
    assert (own["level"], own["text"]) == ("warn", "own: there is no my-agent")


def test_a_command_that_is_run_once_a_turn_is_not_started(home: Path, examine: Doctor) -> None:
    file = home.parent / "bin" / "say"
    file.write_text(f"#!/bin/sh\ntouch {home.parent}/ran\n")
    file.chmod(0o755)
    (found,) = about(examine('[agents.own]\nmode = "command"\npeer_text = "embed"\ncommand = ["say"]\n'), "own")
    assert (found["level"], found["text"]) == ("ok", f"own: {file} is run once a turn")
    assert not (home.parent / "ran").exists()


def test_what_env_pass_names_in_vain_is_told(home: Path, examine: Doctor) -> None:
    stand_in(home, "my-agent")
    settings = '[agents.own]\ncommand = ["my-agent"]\nenv_pass = ["HOUSE_KEY", "OTHER"]\n'
    _, unset = about(examine(settings, OTHER="here"), "own")
    assert unset["text"] == "own: env_pass names HOUSE_KEY, which is not set here"


def test_every_preset_says_how_it_is_installed_and_logged_in() -> None:
    for name, preset in PRESETS.items():
        assert preset.install
        assert preset.login is not None or name == "scripted"
