"""`tieline run`: the bridge as a process."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence

from adapters.api.listener import SocketTaken
from adapters.by_person import by_person, on_terminal
from adapters.compose import bridge
from adapters.logs import logging_to
from adapters.loop import run_loop
from adapters.settings.home import SETTINGS_FILE, home_of
from adapters.settings.load import load
from adapters.settings.model import Settings
from adapters.settings.problems import SettingsError
from adapters.sqlite.lock import HomeLocked
from adapters.sqlite.migrate import NewerSchema
from bridge.errors import Refused

_USAGE = """usage: tieline run [--accept]
Runs the bridge of TIELINE_HOME (default ~/.tieline).

--accept  what tieline.toml lets agents do more holds without an operator's word, where it has no [telegram] to ask in;
          for a person in a terminal
"""

OK, FAILED, NOT_NOW, REFUSED, CONFIG, USAGE = 0, 70, 75, 77, 78, 64


def run(arguments: Sequence[str], environ: Mapping[str, str] = os.environ) -> int:
    """Runs until SIGTERM or SIGINT, then drains. Its first line on stdout says that it accepts (DESIGN §7)."""
    if set(arguments) - {"--json", "--accept"}:
        print(_USAGE, file=sys.stderr)
        return OK if set(arguments) <= {"-h", "--help", "--json", "--accept"} else USAGE
    if "--accept" in arguments and not by_person():
        print("--accept is a person's word: type it in a terminal that no agent has opened", file=sys.stderr)
        return REFUSED
    home = home_of(environ)
    if not (home / SETTINGS_FILE).exists():
        print(
            f"{home} has no {SETTINGS_FILE}, so no session but the shell's: `tieline init` sets one up",
            file=sys.stderr,
        )
    try:
        settings = load(home, environ)
    except SettingsError as error:
        print(error, file=sys.stderr)
        return CONFIG
    try:
        with logging_to(home) as redactor:
            for secret in secrets_of(settings, environ):
                redactor.hide(secret)
            return run_loop(_serve(settings, environ, accept="--accept" in arguments))
    except Exception as error:
        match alone(error):
            case HomeLocked() | SocketTaken() as taken:
                print(taken, file=sys.stderr)
                return NOT_NOW
            case NewerSchema() as newer:
                print(newer, file=sys.stderr)
                return CONFIG
            case Refused() as refused:
                print(f"{refused.reason}. {refused.remedy}", file=sys.stderr)
                return FAILED
            case _:
                raise


def alone(error: Exception) -> BaseException:
    """What a group of one holds: the parts of the bridge run in task groups."""
    found: BaseException = error
    while isinstance(found, BaseExceptionGroup) and len(found.exceptions) == 1:
        found = found.exceptions[0]
    return found


def secrets_of(settings: Settings, environ: Mapping[str, str]) -> Iterator[str]:
    """Everything that must not be in a log, as far as the settings know of it."""
    if settings.telegram is not None:
        yield settings.telegram.token
    for agent in settings.agents.values():
        yield from agent.env.values()
        yield from (environ[name] for name in agent.env_pass if name in environ)


def _tell_person(text: str) -> None:
    if sys.stderr.isatty():
        print(text, file=sys.stderr, flush=True)


async def _serve(settings: Settings, environ: Mapping[str, str], *, accept: bool) -> int:
    stopping, reread = asyncio.Event(), asyncio.Event()
    by_hand = on_terminal()
    starting: asyncio.Task[int] | None = asyncio.current_task()

    def stop() -> None:
        if starting is not None and not stopping.is_set():
            starting.cancel()
        stopping.set()

    def hung_up() -> None:
        """SIGHUP means to read the file again, unless it tells that the terminal of a bridge by hand is gone."""
        if by_hand and not on_terminal():
            stop()
        else:
            reread.set()

    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGHUP, hung_up)
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    try:
        addresses: list[str] = []
        listens = addresses.append
        async with bridge(settings, environ, reread=reread, accept=accept, alone=True, listens=listens):
            starting = None
            socket = str(settings.home / "run" / "control.sock")
            ready = {"event": "ready", "pid": os.getpid(), "socket": socket, "web": next(iter(addresses), None)}
            print(json.dumps(ready), flush=True)
            _tell_person("The bridge runs. `tieline status` tells how it stands; Ctrl-C ends it.")
            await stopping.wait()
            _tell_person(f"It ends; turns that run have {settings.limits.stop_grace_s:g} s to come to their end.")
    except asyncio.CancelledError:
        if not stopping.is_set():
            raise
    return OK
