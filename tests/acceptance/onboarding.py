"""The steps of `tieline init` as a person goes through them, where all is well."""

import os
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from tests.acceptance.seat import Seat
from tests.fakes.bot_api import TOKEN, BotApi

ADA, EVE, OFFICE = 111, 666, -1001
CODE_LINE = "in your private chat with it:  "

Init = Callable[..., Coroutine[Any, Any, Seat]]


def environ(tmp_path: Path, api: BotApi) -> dict[str, str]:
    (tmp_path / "bin").mkdir(exist_ok=True)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TIELINE_")}
    places = {"TIELINE_HOME": str(tmp_path / "home"), "XDG_RUNTIME_DIR": str(tmp_path), "HOME": str(tmp_path)}
    return kept | places | {"PATH": str(tmp_path / "bin"), "TIELINE_TELEGRAM__BASE_URL": api.base_url}


def files(tmp_path: Path) -> set[str]:
    home = tmp_path / "home"
    return {path.name for path in home.iterdir()} if home.exists() else set()


async def code_of(seat: Seat) -> str:
    await seat.shows(CODE_LINE)
    await seat.shows("\n")
    return seat.screen.rpartition(CODE_LINE)[2].split()[0]


async def with_token(seat: Seat) -> None:
    await seat.answers("Its token", TOKEN)


async def with_operator(seat: Seat, api: BotApi) -> None:
    code = await code_of(seat)
    await seat.shows("waiting for the code")
    api.say(code, user=ADA)
    await seat.answers("Is that you? (y/n)", "y")
    await seat.shows("is the operator")


async def with_group(seat: Seat, api: BotApi) -> None:
    await seat.shows("startgroup=tieline&admin=manage_topics+delete_messages", "waiting for the group")
    api.forum(OFFICE)
    api.member(OFFICE, api.bot, "administrator", by=ADA)
    await seat.answers("Take the group “Office”? (Y/n)", "")
    await seat.shows("Topics can be made")


async def with_topics(seat: Seat) -> None:
    await seat.answers("Name of the first topic [Front Desk]", "")
    await seat.answers("Name of the second topic [Career]", "")


def install(tmp_path: Path, command: str, *options: str) -> None:
    """An agent of that command, which is a script."""
    (tmp_path / "bin").mkdir(exist_ok=True)
    program = tmp_path / "bin" / command
    line = " ".join([sys.executable, "-P", "-m", "adapters.scripted", *options])
    program.write_text(f"#!/bin/sh\nexec {line}\n")
    program.chmod(0o755)
