"""Agents that are driven by a command: what their tables must say, and what is run for them."""

import json

import pytest

from adapters.settings.commands import program_of
from tests.adapters.settings.conftest import Load, Problems

DESK = "[agents.desk]\nmode = 'command'\ncommand = ['cli']\npeer_text = 'embed'\n"


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ("resume = ['cli', '-c']", "tieline.toml:5: agents.desk.resume does not say with which context to go on; "),
        ("resume = ['cli', '{session}']", "tieline.toml:5: agents.desk.resume needs the id of a context; "),
        ("session = 'id: (.*)'", "tieline.toml:5: agents.desk.session is used by nothing; "),
        ("output = 'json'", "tieline.toml:5: agents.desk.output does not say where the text is; "),
        ("output = 'xml'", "tieline.toml:5: agents.desk.output has the unknown form 'xml'; "),
        ("text = 'result'", "tieline.toml:5: agents.desk.text is a path into JSON; "),
        ("output = 'json'\ntext = 'a..b'", "tieline.toml:6: agents.desk.text has 'a..b', which is no path; "),
        ("lost = '('", "tieline.toml:5: agents.desk.lost is no regular expression: "),
        (
            "exit_codes = {75 = 'late'}",
            "tieline.toml:5: agents.desk.exit_codes.75 has the unknown kind of failure 'late'; ",
        ),
        ("exit_codes = {256 = 'auth'}", "tieline.toml:5: agents.desk.exit_codes"),
    ],
)
def test_of_commands(problems: Problems, more: str, expected: str) -> None:
    assert any(line.startswith(expected) for line in problems(DESK + more)), problems(DESK + more)


def test_a_context_that_begins_has_no_id(problems: Problems) -> None:
    (told,) = problems(DESK.replace("['cli']", "['cli', '{session}']"))
    assert told.startswith("tieline.toml:3: agents.desk.command begins a context, which has no id yet; ")


def test_without_tools_it_must_be_said_that_peers_texts_stand_in_its_prompts(problems: Problems, loaded: Load) -> None:
    plain = DESK.replace("peer_text = 'embed'\n", "")
    (told,) = problems(plain)
    assert told.startswith('tieline.toml:1: agents.desk has no tools to read mail with; write peer_text = "embed"')
    assert loaded(plain.replace("['cli']", "['cli', '--mcp={mcp_config}']")).agents["desk"]


def test_what_is_run_says_all_that_the_file_does(loaded: Load) -> None:
    agent = loaded(DESK + "resume = ['cli', '{session}']\nsession = 'id: (.*)'").agents["desk"]
    assert agent.command[1:4] == ("-P", "-m", "adapters.command")
    assert json.loads(agent.command[4]) == {
        "command": ["cli"],
        "resume": ["cli", "{session}"],
        "session": "id: (.*)",
    }
    assert program_of(agent.command) == "cli"
