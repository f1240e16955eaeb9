"""`tieline hook wait --agent A`: waits until mail wakes an idle agent, and wakes it by that agent's own way.

It is one long request. A bridge that is replaced is asked again, for as long as the agent lives. The bridge lets one
wait for each session, so that agents may start one at each stop.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from adapters.hooks.formats import Format, filled
from bridge.errors import Code, Refused

_LOOK_S = 1.0
_WAKING_S = 60

Ask = Callable[[str, str, dict[str, Any] | None], Mapping[str, Any]]
"""Asks the bridge: method, path and body."""


def wait(form: Format, thread: str, ask: Ask, away: tuple[type[Exception], ...]) -> int:
    """`away` are the errors that tell that no bridge is there. Returns the exit code."""
    if form.command and not thread:
        return 0
    try:
        agent = ask("GET", "/v1/terminal", None)["agent"]
    except away:
        return 0
    except Refused:
        return 0
    notice = _waited(agent, ask, away) if agent is not None else None
    return _woken(form, thread, notice) if notice else 0


def _waited(agent: int, ask: Ask, away: tuple[type[Exception], ...]) -> str | None:
    """The notice, or None where the agent has ended, or somebody else waits."""
    while _lives(agent):
        try:
            told = ask("POST", "/v1/terminal/wait", {})
        except away:
            time.sleep(_LOOK_S)
            continue
        except Refused as refused:
            if refused.code is not Code.UNAVAILABLE:
                return None
            time.sleep(_LOOK_S)
            continue
        return None if told["ended"] else told["notice"]
    return None


def _lives(pid: int) -> bool:
    with suppress(PermissionError):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
    return True


def _woken(form: Format, thread: str, notice: str) -> int:
    if form.command:
        with suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(
                filled(form.command, thread=thread, notice=notice),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_WAKING_S,
                check=False,
            )
    elif form.exit_code:
        print(notice, file=sys.stderr, flush=True)
    elif "wait" in form.answers:
        import json  # noqa: PLC0415 - for few agents

        print(json.dumps(filled(form.answers["wait"], notice=notice)), flush=True)
    return form.exit_code
