"""The README tells of what there is, and of all of it."""

import argparse
import re
from pathlib import Path

from adapters.cli.parser import build
from tests.flow.stage import stage

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def commands_of(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    (choice,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    return dict(choice.choices)


def test_every_command_of_the_shell_and_each_of_its_options_is_named() -> None:
    commands = commands_of(build())
    commands |= commands_of(commands.pop("session")) | commands_of(commands.pop("policy"))
    shell = README.partition("## The shell")[2].partition("## Layout")[0]
    for name, parser in commands.items():
        options = {option for action in parser._actions for option in action.option_strings if option[:2] == "--"}
        missing = [option for option in (name, *options - {"--help", "--session"}) if option not in shell]
        assert not missing, f"{name}: {missing}"


async def test_every_command_of_a_topic_is_named() -> None:
    async with stage() as on:
        assert [name for name in on.exchange.menu if f"/{name}" not in README] == []


def test_every_file_and_folder_that_is_named_exists() -> None:
    named = set(re.findall(r"`((?:bridge|policy|adapters|tests|deploy)/[\w./-]*)`", README))
    assert named
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []
