"""What people need at once does not wait for what waits at its place, and a stop keeps its order."""

import asyncio

import pytest

from tests.adapters.telegram.stage import (
    DESK,
    DESK_PLACE,
    FORUM,
    OPERATOR,
    USER,
    FlyingClock,
    RememberingIntake,
    chat_for,
    connected,
    public,
    running,
)
from tests.fakes.bot_api import BotApi


@pytest.fixture(autouse=True, params=["polled", "pushed"])
def way(request: pytest.FixtureRequest, api: BotApi) -> None:
    if request.param == "pushed":
        public(api)


def say(api: BotApi, *texts: str, user: int = OPERATOR) -> None:
    for text in texts:
        api.say(text, chat=FORUM, thread=DESK, user=user)


class Stalling(RememberingIntake):
    """The first thing that is said takes until `go`."""

    def __init__(self) -> None:
        super().__init__()
        self.go = asyncio.Event()
        self.begun = asyncio.Event()

    async def hear(self, heard: object) -> None:
        if not self.begun.is_set():
            self.begun.set()
            await self.go.wait()
        await super().hear(heard)  # type: ignore[arg-type]

    @property
    def texts(self) -> list[str]:
        return [heard.text for heard in self.heard]


async def test_a_status_and_help_pass_what_waits(api: BotApi, clock: FlyingClock) -> None:
    intake = Stalling()
    async with running(chat_for(api, clock), intake):
        await connected(api)
        say(api, "one", *(f"waiting {number}" for number in range(50)))
        say(api, "/status", "/help", "/queue", user=USER)
        await intake.until(lambda: len(intake.heard) == 3)
        assert sorted(intake.texts) == ["/help", "/queue", "/status"]
        assert DESK_PLACE in {heard.place for heard in intake.heard}
        intake.go.set()
        await intake.until(lambda: len(intake.heard) == 54)
        assert intake.texts[3:] == ["one", *(f"waiting {number}" for number in range(50))]


async def test_a_stop_passes_what_waits_and_what_is_said_after_it_waits_for_it(api: BotApi, clock: FlyingClock) -> None:
    intake = Stalling()
    stopping = asyncio.Event()
    hear = intake.hear

    async def slow_stop(heard: object) -> None:
        if heard.text == "/stop":  # type: ignore[attr-defined]
            await stopping.wait()
        await hear(heard)

    intake.hear = slow_stop  # type: ignore[method-assign]
    async with running(chat_for(api, clock), intake):
        await connected(api)
        say(api, "one", "two")
        await intake.begun.wait()
        say(api, "/stop", "do this instead", "/status")
        await intake.until(lambda: intake.texts == ["/status"])
        intake.go.set()
        await intake.until(lambda: intake.texts == ["/status", "one", "two"])
        stopping.set()
        await intake.until(lambda: intake.texts == ["/status", "one", "two", "/stop", "do this instead"])


async def test_what_was_said_before_a_stop_of_everything_is_not_acted_on_any_more(
    api: BotApi, clock: FlyingClock
) -> None:
    intake = Stalling()
    async with running(chat_for(api, clock), intake):
        await connected(api)
        say(api, "one", "two", "/bind career", "three")
        api.say("elsewhere", user=OPERATOR)
        await intake.until(lambda: intake.texts == ["elsewhere"])
        say(api, "/stop all", "four")
        await intake.until(lambda: "/stop all" in intake.texts)
        await intake.until(lambda: len([error for error in intake.finished.values() if error]) == 2)
        intake.go.set()
        await intake.until(lambda: intake.texts == ["elsewhere", "/stop all", "one", "/bind career", "four"])


@pytest.mark.parametrize("text", ["/stop", "/stop all", "/stopp", "/new", "stop"])
async def test_who_may_not_stop_passes_nothing_and_neither_does_anything_else(
    api: BotApi, clock: FlyingClock, text: str
) -> None:
    intake = Stalling()
    async with running(chat_for(api, clock), intake):
        await connected(api)
        say(api, "one", "two")
        say(api, text, user=USER)
        say(api, "three")
        await intake.until(lambda: len(intake.kept) == 4)
        assert intake.texts == []
        intake.go.set()
        await intake.until(lambda: intake.texts == ["one", "two", text, "three"])
