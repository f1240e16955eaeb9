"""Entry of the shell commands but `run` and `demo`."""

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence

from adapters.cli import exits, output
from adapters.cli.ask import ask
from adapters.cli.commands import ack, cancel, send, session, sessions, status, trace
from adapters.cli.connection import Connection, Dropped, NoBridge, socket_path
from adapters.cli.gateway import gateway
from adapters.cli.inbox import inbox
from adapters.cli.oversight import approvals, audit, policy
from adapters.cli.parser import UsageError, build
from bridge.errors import Code, Refused

_COMMANDS: dict[str, Callable[[Connection, argparse.Namespace], int]] = {
    "ack": ack,
    "approvals": approvals,
    "ask": ask,
    "audit": audit,
    "cancel": cancel,
    "gateway": gateway,
    "inbox": inbox,
    "policy": policy,
    "send": send,
    "session": session,
    "sessions": sessions,
    "status": status,
    "trace": trace,
}


Local = Mapping[str, Callable[[argparse.Namespace], int]]
"""Commands that need no running bridge, by their words."""


def main(argv: Sequence[str] | None = None, local: Local | None = None) -> int:
    """Runs one command, and returns its exit code (DESIGN §7). Never raises but for a defect.

    `run` and `demo` are listed by `--help` and started by whoever calls this, not here.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    as_json = "--json" in arguments[: arguments.index("--") if "--" in arguments else None]
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        return _run(arguments, local or {})
    except UsageError as error:
        refusal = Refused(Code.INVALID_REQUEST, error.reason, remedy=f"See: {error.program} --help")
        output.refused(refusal, as_json=as_json)
        return exits.USAGE
    except Refused as refusal:
        output.refused(refusal, as_json=as_json)
        return exits.of_refusal(refusal.code)
    except NoBridge as error:
        output.refused(Refused(Code.UNAVAILABLE, str(error), remedy="Start the bridge: tieline run"), as_json=as_json)
        return exits.NO_BRIDGE
    except Dropped as error:
        remedy = "See whether it runs: tieline status; start it with: tieline run"
        output.refused(Refused(Code.UNAVAILABLE, str(error), remedy=remedy), as_json=as_json)
        return exits.NO_BRIDGE
    except KeyboardInterrupt:
        return exits.INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has gone; the interpreter must not complain about it at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return exits.BROKEN_PIPE


def _run(arguments: Sequence[str], local: Local) -> int:
    parser = build()
    if not arguments:
        parser.print_help(sys.stderr)
        return exits.USAGE
    try:
        options = parser.parse_args(arguments)
    except SystemExit as ended:  # --help, --version
        return int(ended.code or 0)
    words = " ".join(filter(None, (options.command, getattr(options, "action", None))))
    if words in local:
        return local[words](options)
    path = socket_path(os.environ)
    token = os.environ.get("TIELINE_TOKEN") or None
    if options.command == "mcp":
        from adapters.cli.pipe import pipe  # noqa: PLC0415 - no other command needs its threads

        return pipe(path, token, options.agent, os.environ.get("TIELINE_SESSION") or None)
    command = _COMMANDS.get(options.command)
    if command is None:
        raise UsageError(f"{options.command} is not a command of a running bridge", parser.prog)
    speaker = getattr(options, "session", None) or os.environ.get("TIELINE_SESSION") or None
    return command(Connection(path, token, speaker, os.environ.get("CODEX_THREAD_ID")), options)
