"""What people need at once does not wait for what waits at its place, and a stop keeps its order."""

import asyncio

import pytest

from bridge.ports.chat import Heard, Overtakes
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
        say(api, "one")
        await intake.begun.wait()
        say(api, "/stop", "do this instead", "/status")
        await intake.until(lambda: intake.texts == ["/status"])
        intake.go.set()
        await intake.until(lambda: intake.texts == ["/status", "one"])
        stopping.set()
        await intake.until(lambda: intake.texts == ["/status", "one", "/stop", "do this instead"])


@pytest.mark.parametrize("stop", ["/stop", "/stop all"])
async def test_what_was_said_before_a_stop_is_not_acted_on_any_more_and_marked_so(
    api: BotApi, clock: FlyingClock, stop: str
) -> None:
    intake = Stalling()
    async with running(chat_for(api, clock), intake):
        await connected(api)
        say(api, "one", "two", "/bind career", "three")
        api.say("elsewhere", user=OPERATOR)
        await intake.until(lambda: intake.texts == ["elsewhere"])
        say(api, stop, "four")
        await intake.until(lambda: stop in intake.texts)
        await intake.until(lambda: len([error for error in intake.finished.values() if error]) == 2)
        intake.go.set()
        await intake.until(lambda: intake.texts == ["elsewhere", stop, "one", "/bind career", "four"])
        assert {heard.text for heard in intake.outranked} == {"two", "three"}
        assert {heard.text: heard.outranks for heard in intake.heard if heard.outranks} == {stop: 2}


async def test_a_stop_comes_after_what_is_just_being_heard(api: BotApi, clock: FlyingClock) -> None:
    intake = Stalling()
    overtakes = intake.overtakes

    async def and_go_soon(heard: Heard) -> Overtakes:
        if heard.text == "/stop all":
            asyncio.get_running_loop().call_later(0.05, intake.go.set)
        return await overtakes(heard)

    intake.overtakes = and_go_soon  # type: ignore[method-assign]
    async with running(chat_for(api, clock), intake):
        await connected(api)
        say(api, "one", "two")
        await intake.begun.wait()
        say(api, "/stop all")
        await intake.hears("one", "/stop all")
        await intake.until(lambda: len(intake.finished) == 3)
        assert [heard.text for heard in intake.outranked] == ["two"]


async def test_a_stop_that_was_carried_out_before_a_crash_still_comes_before_what_was_said(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    done = intake.done

    async def hangs(source: str, number: int, error: str | None = None) -> None:
        await asyncio.Event().wait()

    intake.done = hangs  # type: ignore[method-assign]
    intake.slow[DESK_PLACE] = asyncio.Event()
    async with running(chat_for(api, clock), intake):
        await connected(api)
        say(api, "one", "two")
        await intake.until(lambda: len(intake.held_up) == 1)
        del intake.slow[DESK_PLACE]
        say(api, "/stop")
        await intake.hears("/stop")
    intake.done = done  # type: ignore[method-assign]
    async with running(chat_for(api, clock), intake):
        await intake.until(lambda: len(intake.finished) == 3)
        assert [heard.text for heard in intake.heard] == ["/stop"]


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
