"""`tieline init`, driven in a terminal: from nothing to the first handoff."""

import asyncio
import json
import os
import stat
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.home import TIELINE
from tests.acceptance.seat import Seat
from tests.fakes.bot_api import TOKEN, BotApi, Fault

ADA, EVE, OFFICE = 111, 666, -1001
CODE_LINE = "in your private chat with it:  "

Init = Callable[..., Coroutine[Any, Any, Seat]]


@pytest.fixture
async def init(tmp_path: Path, api: BotApi) -> AsyncIterator[Init]:
    """Starts the command on a home that is not there yet, where no agent is installed."""
    seats: list[Seat] = []

    async def started(*options: str, through: tuple[str, ...] = (), **more: str) -> Seat:
        seat = await Seat.taken(environ(tmp_path, api) | more, ("init", *options), through)
        seats.append(seat)
        return seat

    yield started
    for seat in seats:
        await seat.close()


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
    await seat.shows("takes topics")


async def with_topics(seat: Seat) -> None:
    await seat.answers("Name of the first topic [Front Desk]", "")
    await seat.answers("Name of the second topic [Career]", "")


async def test_from_nothing_to_the_first_handoff(init: Init, api: BotApi, tmp_path: Path) -> None:
    seat = await init("--json")
    await with_token(seat)
    await with_operator(seat, api)
    await with_group(seat, api)
    await with_topics(seat)
    await seat.shows("A script answers for now")
    await seat.shows("tieline.toml is written", "✓ Career has answered: ", "tieline run")
    code, out, err = await seat.ended()
    assert (code, err) == (0, "")
    told = json.loads(out)
    assert told["operator"] == {"id": ADA, "name": "User 111"}
    assert told["handoff"]["answer"] == "answered"
    home = tmp_path / "home"
    desk, career = (int(one["place"].rpartition("/")[2]) for one in told["sessions"])
    assert [topic.name for topic in api.room(OFFICE).topics.values()] == ["Front Desk", "Career"]
    assert any("Career" in shown.text or "career" in shown.text for shown in api.sent(OFFICE, desk))
    assert api.sent(OFFICE, career)
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    for name in ("tieline.toml", "telegram.token"):
        assert stat.S_IMODE((home / name).stat().st_mode) == 0o600
    assert (home / "telegram.token").read_text() == f"{TOKEN}\n"
    assert TOKEN not in (home / "tieline.toml").read_text()
    assert TOKEN not in (home / "logs" / "bridge.log").read_text()
    assert TOKEN not in seat.screen
    assert not {"init.json"} & files(tmp_path)
