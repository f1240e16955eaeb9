"""Starts the scripted agent; its language and options are described in the package's docstring."""

import os
import signal
import sys

from adapters.scripted.agent import ScriptedAgent
from adapters.scripted.history import Histories
from adapters.scripted.persona import Persona
from adapters.scripted.turn import asleep_forever
from adapters.scripted.wire import Wire

_OPTIONS = ("persona", "state", "unknown", "load", "replay", "models", "choice", "record", "stubborn")


def options(arguments: list[str]) -> dict[str, str]:
    """Without `argparse`, whose import would take a tenth of the start."""
    chosen = {name: os.environ.get(f"SCRIPTED_{name.upper()}", "") for name in _OPTIONS}
    for flag, value in zip(arguments[::2], arguments[1::2], strict=True):
        if flag[2:] not in _OPTIONS:
            raise SystemExit(f"there is no option {flag}; there are --{', --'.join(_OPTIONS)}, each with a value")
        chosen[flag[2:]] = value
    return chosen


def main() -> None:
    chosen = options(sys.argv[1:])
    if chosen["stubborn"]:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    agent = ScriptedAgent(
        Wire(sys.stdout.buffer, chosen["record"] or None),
        Histories(chosen["state"] or None, ended_only=chosen["replay"] == "ended"),
        Persona(chosen["persona"] or None),
        empty_unknown=chosen["unknown"] == "empty",
        loads=chosen["load"] != "no",
        replay=chosen["replay"],
        models=chosen["models"],
        choice=chosen["choice"],
    )
    agent.serve(sys.stdin.buffer)
    if chosen["stubborn"]:
        asleep_forever()
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
