"""`tieline doctor`: looks at everything that a home stands on, and says in a line each how it is and what to do."""

import argparse
import asyncio
import os
import sqlite3
import time
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path

from adapters.cli.output import columns, record
from adapters.settings.home import DATABASE, LOCK, SETTINGS_FILE, home_of
from adapters.settings.load import checked
from adapters.settings.model import Settings
from adapters.settings.problems import SettingsError
from adapters.settings.secret_files import secret_paths
from adapters.settings.sources import read
from adapters.sqlite.inspection import bound, moved
from adapters.sqlite.lock import holder_of
from adapters.upkeep.agents import examined
from adapters.upkeep.configured import agents, settings
from adapters.upkeep.database import database
from adapters.upkeep.files import permissions, room
from adapters.upkeep.finding import Finding, fail
from adapters.upkeep.running import bridge
from bridge.limits import Limits


def doctor(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """Changes nothing. Returns 0 where nothing fails, 78 for what keeps a bridge from starting, else 70."""
    home = home_of(environ)
    findings = _agents(home, environ) if options.agents else list(_examined(home, environ))
    if options.json:
        for finding in findings:
            shown = {"check": finding.check, "level": finding.level, "text": finding.text, "remedy": finding.remedy}
            record({**shown, **({"agent": finding.agent} if finding.agent else {})})
    else:
        columns([[one.level, one.check, f"{one.text}. {one.remedy}" if one.remedy else one.text] for one in findings])
    return max(finding.exit for finding in findings)


def _agents(home: Path, environ: Mapping[str, str]) -> list[Finding]:
    """Those of the presets alone where there are no settings yet."""
    loaded = _loaded(home, environ) if (home / SETTINGS_FILE).is_file() else None
    if isinstance(loaded, SettingsError):
        return list(settings(loaded))
    limits = loaded.limits if loaded is not None else Limits()

    async def gathered() -> list[Finding]:
        return [finding async for finding in examined(loaded, environ, start_s=limits.start_timeout_s)]

    return asyncio.run(gathered())


def _examined(home: Path, environ: Mapping[str, str]) -> Iterator[Finding]:
    if not home.is_dir():
        yield fail("home", f"there is no {home}", "Begin with: tieline init; or set TIELINE_HOME.")
        return
    if not os.access(home, os.R_OK | os.X_OK):
        yield fail("home", f"{home} is another user's", "Ask as that user; or set TIELINE_HOME.")
        return
    loaded = _loaded(home, environ)
    limits = loaded.limits if isinstance(loaded, Settings) else Limits()
    yield from settings(loaded)
    yield from permissions(home, _secrets(home, environ))
    yield from room(home)
    yield from database(home / DATABASE, now=time.time(), retention_s=limits.retention_s)
    yield from bridge(home, environ, version=version("tieline"))
    if isinstance(loaded, Settings):
        yield from agents(loaded, environ)
        if loaded.telegram is not None:
            from adapters.upkeep.telegram import telegram  # noqa: PLC0415 - the library takes its time

            runs = holder_of(home / LOCK) is not None
            places, moves = _places(home / DATABASE)
            yield from telegram(loaded, environ, runs=runs, bound=places, moved=moves)


def _places(database: Path) -> tuple[Mapping[str, str], Mapping[str, str]]:
    try:
        return bound(database), moved(database)
    except sqlite3.Error:
        return {}, {}  # what is wrong with it was told


def _loaded(home: Path, environ: Mapping[str, str]) -> Settings | SettingsError:
    try:
        return checked(home, environ)
    except SettingsError as error:
        return error


def _secrets(home: Path, environ: Mapping[str, str]) -> list[Path]:
    try:
        return secret_paths(read(home, environ), home, environ)
    except SettingsError:
        return []
