"""The command `tieline`. It imports no more than the command at hand needs."""

import argparse
import os
import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code (DESIGN §7)."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    match arguments[:1]:
        case ["run"]:
            from adapters.run import run  # noqa: PLC0415 - the bridge itself: settings, server, store

            return run(arguments[1:])
        case ["demo"]:
            from adapters.demo.play import demo  # noqa: PLC0415

            return demo(arguments[1:])
        case _:
            from adapters.cli.main import main as command  # noqa: PLC0415 - light: answers in a tenth of a second

            looks = {f"policy {look}": _policy for look in ("check", "explain", "simulate")}
            local = {"backup": _backup, "doctor": _doctor, "gateway check": _gateway_check}
            return command(arguments, {**local, **looks})


def _backup(options: argparse.Namespace) -> int:
    from adapters.upkeep.backup import backup  # noqa: PLC0415

    return backup(options, os.environ)


def _doctor(options: argparse.Namespace) -> int:
    from adapters.upkeep.doctor import doctor  # noqa: PLC0415

    return doctor(options, os.environ)


def _gateway_check(options: argparse.Namespace) -> int:
    from adapters.gateway.check import check  # noqa: PLC0415

    return check(options)


def _policy(options: argparse.Namespace) -> int:
    from adapters.rulebook.commands import policy  # noqa: PLC0415

    return policy(options, os.environ)


if __name__ == "__main__":
    sys.exit(main())
