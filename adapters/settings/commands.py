"""Agents without ACP (`mode = "command"`): what is run for their commands."""

import json
import sys
from collections.abc import Mapping
from typing import Any

COMMAND = "command"
OWN_KEYS = ("resume", "output", "text", "session", "lost", "exit_codes")
"""The keys of an agent's table that only these have."""
_DRIVER = (sys.executable, "-P", "-m", "adapters.command")


def driven(said: Mapping[str, Any]) -> tuple[str, ...]:
    """What is run for a command: an agent that speaks ACP for it, and is told of it in one argument. The same for what
    says the same."""
    template = {key: said[key] for key in ("command", *OWN_KEYS) if said.get(key)}
    return (*_DRIVER, json.dumps(template, ensure_ascii=False, sort_keys=True))


def program_of(command: tuple[str, ...]) -> str:
    """What must be installed for it."""
    if command[: len(_DRIVER)] == _DRIVER:
        return str(json.loads(command[len(_DRIVER)])["command"][0])
    return command[0]
