"""The command `tieline`. It imports no more than the command at hand needs."""

import argparse
import os
import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code (DESIGN §7)."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    match arguments[:2]:
        case ["run", *_]:
            from adapters.run import run  # noqa: PLC0415 - the bridge itself: settings, server, store

            return run(arguments[1:])
        case ["demo", *_]:
            from adapters.demo.play import demo  # noqa: PLC0415

            return demo(arguments[1:])
        case ["hook", event] if event not in ("install", "remove", "status", "-h", "--help", "--json"):
            return _hook(arguments[1:])
        case _:
            from adapters.cli.main import main as command  # noqa: PLC0415 - light: answers in a tenth of a second

            looks = {f"policy {look}": _policy for look in ("check", "explain", "simulate")}
            local = {"backup": _backup, "doctor": _doctor, "gateway check": _gateway_check, "init": _init}
            hooks = {f"hook {action}": _hooks for action in ("install", "remove", "status")}
            return command(arguments, {**local, **looks, **hooks})


def _hook(arguments: Sequence[str]) -> int:
    """What agents run at each tool call."""
    from adapters.cli.connection import Connection, Dropped, NoBridge, socket_path  # noqa: PLC0415
    from adapters.hooks.event import hook  # noqa: PLC0415
    from adapters.hooks.formats import Format  # noqa: PLC0415

    path = socket_path(os.environ)

    def wait(form: Format, thread: str, token: str | None) -> int:
        from adapters.hooks.waiter import wait as waited  # noqa: PLC0415

        bridge = Connection(path, token, None)
        return waited(form, thread, lambda *request: bridge.begin(*request).result(), (NoBridge, Dropped))

    token = os.environ.get("TIELINE_TOKEN") or None
    return hook(arguments, lambda thread: Connection(path, token, None, thread).post, wait)


def _hooks(options: argparse.Namespace) -> int:
    from adapters.hooks.command import hooks  # noqa: PLC0415

    return hooks(options, os.environ)


def _backup(options: argparse.Namespace) -> int:
    from adapters.upkeep.backup import backup  # noqa: PLC0415

    return backup(options, os.environ)


def _doctor(options: argparse.Namespace) -> int:
    from adapters.upkeep.doctor import doctor  # noqa: PLC0415

    return doctor(options, os.environ)


def _init(options: argparse.Namespace) -> int:
    from adapters.onboarding.command import init  # noqa: PLC0415

    return init(options, os.environ)


def _gateway_check(options: argparse.Namespace) -> int:
    from adapters.gateway.check import check  # noqa: PLC0415

    return check(options)


def _policy(options: argparse.Namespace) -> int:
    from adapters.rulebook.commands import policy  # noqa: PLC0415

    return policy(options, os.environ)


if __name__ == "__main__":
    sys.exit(main())
