"""`tieline init`: asks a person, step by step, for all that a first home needs."""

import argparse
import asyncio
import io
import os
import signal
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from adapters.by_person import by_person
from adapters.cli import exits
from adapters.cli.output import note, record, say
from adapters.logs import logging_to
from adapters.onboarding.agents import bound
from adapters.onboarding.bot import chosen
from adapters.onboarding.console import Console, Ended
from adapters.onboarding.file import Desk, Office, handles, write
from adapters.onboarding.first import TEXT, FirstHandoff
from adapters.onboarding.ground import captured
from adapters.onboarding.operator import paired
from adapters.onboarding.progress import Notebook, Progress, of_settings
from adapters.onboarding.topics import opened
from adapters.onboarding.visit import Means, Visit
from adapters.settings.home import LOCK, SETTINGS_FILE, home_of
from adapters.settings.load import checked, load
from adapters.settings.problems import SettingsError
from adapters.sqlite.lock import holder_of
from adapters.system import SystemClock, system_randomness
from adapters.telegram.config import BASE_URL
from bridge.errors import Code, Refused

_BASE_URL = "TIELINE_TELEGRAM__BASE_URL"
_STEPS = 6


def init(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """Returns 0, 70 where the first handoff was not answered, or 130 where it was broken off. Raises `Refused`."""
    if not by_person() or environ.get("TIELINE_TOKEN"):
        remedy = "Type it there; or write tieline.toml yourself: README.md tells how."
        raise Refused(Code.NOT_PERMITTED, "init is for a person in a terminal that no agent has opened", remedy=remedy)
    home = _usable(home_of(environ))
    try:
        return asyncio.run(_run(options, home, environ))
    except (KeyboardInterrupt, asyncio.CancelledError, Ended):
        return _broken_off("Broken off. Nothing is half written; `tieline init` goes on where it was.")


def _broken_off(text: str) -> int:
    with suppress(OSError):  # the terminal itself may be gone
        note(f"\n{text}")
    return exits.INTERRUPTED


def _usable(home: Path) -> Path:
    """Raises `Refused` for a home that could not be written to, or whose bridge runs."""
    if (home.exists() and not (home.is_dir() and os.access(home, os.W_OK | os.X_OK))) or (
        home.is_symlink() and not home.exists()
    ):
        raise Refused(Code.UNAVAILABLE, f"{home} cannot be used as a home", remedy="Set TIELINE_HOME to another.")
    if (holder := holder_of(home / LOCK)) is not None:
        raise Refused(Code.BUSY, f"{holder} runs a bridge on {home}", remedy="Stop it first, or set TIELINE_HOME.")
    return home


async def _run(options: argparse.Namespace, home: Path, environ: Mapping[str, str]) -> int:
    ending, loop = asyncio.current_task(), asyncio.get_running_loop()
    assert ending is not None
    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, ending.cancel)
    clock = SystemClock()
    try:
        console = Console.opened(clock, plain=environ.get("TERM", "dumb") == "dumb")
    except OSError as error:
        raise Refused(Code.UNAVAILABLE, f"the terminal cannot be opened: {error.strerror}") from None
    console.say(
        "This sets up Tieline with a Telegram bot of yours: a token, you, a group, two topics, two agents, and a"
    )
    console.say(f"first handoff between them. It writes into {home}, and only at the end. Ctrl-C breaks it off.")
    if (home / SETTINGS_FILE).exists():
        console.say(f"{home / SETTINGS_FILE} is there already. At the end a new one takes its place, and what it says")
        console.say("beside (other sessions, people, rules) is in the copy that is kept of it.")
        if not await console.yes("Go on?", default=False):
            console.say("Left as it is. `tieline doctor` tells what is wrong with it.")
            return exits.OK
    notebook = Notebook(home)
    means = Means(
        console, clock, system_randomness(), home, environ, notebook, notebook.read() or _earlier(home, environ)
    )
    base_url = _base_url(options.base_url or environ.get(_BASE_URL) or await _noted(means))
    async with chosen(_titled(means, 1, "The bot"), base_url, options.token_file) as visit:
        office = await _furnished(visit, base_url)
        backup = _written(visit, office)
    console.say(f"✓ {home / SETTINGS_FILE} is written." + (f" The earlier one is {backup.name}." if backup else ""))
    _title(console, 6, "The first handoff")
    try:
        result = await _handed(visit, office)
        _farewell(console, office, result)
    except (asyncio.CancelledError, Ended):
        return _broken_off("Broken off, and all is written. Start the bridge: tieline run")
    if options.json:
        record(_as_json(home, visit, office, backup, result))
    else:
        say(str(home / SETTINGS_FILE))
    return exits.OK if result.done or result.waits else exits.FAILED


async def _furnished(visit: Visit, base_url: str) -> Office:
    console = visit.console
    _title(console, 2, "You")
    operator = await paired(visit)
    _title(console, 3, "The chat")
    ground = await captured(visit, operator)
    _title(console, 4, "Two topics")
    topics = await opened(visit, ground, operator)
    titles = [topic.title for topic in topics]
    _title(console, 5, "Two agents")
    agents = await bound(visit, titles)
    desks = tuple(map(Desk, handles(titles), topics, agents))
    await visit.ear.acknowledge()
    return Office(operator, ground, desks, base_url)


def _written(visit: Visit, office: Office) -> Path | None:
    means = visit.means
    try:
        backup = write(means.home, office, visit.progress.token, means.environ)
    except SettingsError as error:
        remedy = "Nothing was written. What the environment says (TIELINE_…) may be at odds with it."
        raise Refused(Code.INVALID_REQUEST, str(error), remedy=remedy) from None
    except OSError as error:
        reason = f"{means.home} cannot be written to ({error.strerror})"
        raise Refused(Code.UNAVAILABLE, reason, remedy="Set that right, and start again: it goes on here.") from None
    return backup


async def _handed(visit: Visit, office: Office) -> FirstHandoff:
    # The bridge itself: it takes a second.
    from adapters.onboarding.handoff import first  # noqa: PLC0415
    from adapters.run import secrets_of  # noqa: PLC0415

    means = visit.means
    asker, asked = (desk.topic.title for desk in office.desks[:2])
    means.console.say(f"The bridge starts, and hands “{TEXT}” from {asker} to {asked}.")
    settings = load(means.home, means.environ)
    with logging_to(means.home, stderr=io.StringIO()) as redactor:
        for secret in secrets_of(settings, means.environ):
            redactor.hide(secret)
        return await first(visit, settings, office)


def _farewell(console: Console, office: Office, result: FirstHandoff) -> None:
    asker, asked = (desk.topic.title for desk in office.desks[:2])
    if result.waits:
        console.say("This home had operators before. What is new waits for the word of one of them, in their chat.")
        console.say("Start the bridge, and they are asked: tieline run")
        return
    if result.done:
        console.say(f"✓ {asked} has answered: {result.text}")
        console.say(f"It is in “{asker}” in Telegram, too." if result.shown else "Telegram shows it a little later.")
    else:
        console.say(f"{asked} has not answered ({result.answer}){f': {result.text}' if result.text else ''}.")
        console.say("`tieline doctor --agents` tells what its agent lacks. All else is set up.")
    console.say("")
    console.say(
        "From now on:  tieline run         runs the bridge (deploy/tieline.service: from the machine's start on)"
    )
    console.say("              tieline doctor      tells whether all is well")
    console.say(f"Write in “{asker}”, and its agent answers; /help there tells what else you can do.")


def _earlier(home: Path, environ: Mapping[str, str]) -> Progress:
    if not (home / SETTINGS_FILE).exists():
        return Progress()
    try:
        return of_settings(checked(home, environ)) or Progress()
    except SettingsError:
        return Progress()


async def _noted(means: Means) -> str:
    """The server of the last time. Whoever could write that down would get the token, so a person must know it."""
    noted = means.known.base_url
    if noted in ("", BASE_URL):
        return BASE_URL
    means.console.say(f"The last time, the bot was asked at {noted}, which is not Telegram's own server.")
    return noted if await means.console.yes("Is that a server of yours? It gets the bot's token") else BASE_URL


def _base_url(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        remedy = f"Write one like {BASE_URL}"
        raise Refused(Code.INVALID_REQUEST, f"{text[:80]!r} is no URL of a Bot API", remedy=remedy)
    return text


def _titled(means: Means, number: int, text: str) -> Means:
    _title(means.console, number, text)
    return means


def _title(console: Console, number: int, text: str) -> None:
    console.say(f"\n{number} of {_STEPS}: {text}")


def _as_json(home: Path, visit: Visit, office: Office, backup: Path | None, result: FirstHandoff) -> dict[str, Any]:
    return {
        "settings": str(home / SETTINGS_FILE),
        "backup": str(backup) if backup else None,
        "bot": {"id": visit.bot.id, "username": visit.bot.username},
        "operator": {"id": office.operator.id, "name": office.operator.name},
        "chat": office.ground.id,
        "sessions": [
            {
                "id": f"default/{desk.handle}",
                "title": desk.topic.title,
                "place": desk.place(office.ground),
                "agent": desk.agent,
            }
            for desk in office.desks
        ],
        "handoff": result.as_json(),
    }
