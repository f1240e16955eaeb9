"""Whatever Telegram does, each message is answered once, in its topic and in order, within the budget."""

import asyncio
import random
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from adapters.telegram.config import Patience
from bridge.session import Busy
from tests.acceptance.storm import OPERATOR, FastClock, Storm, Topic, Verdict, overspent
from tests.fakes.bot_api import BotApi, Fault, Weather

FORUMS, TOPICS_EACH, MESSAGES = (-1001, -1002, -1003, -1004), 10, 2_000
GROUP, MIGRATED = -55, -1055
SCALE = 30
"""A minute lasts two seconds, for the bridge, its agents and the API alike; all 2,000 messages arrive in less. Telegram
takes 20 a minute in each of the groups: the answers take many minutes, and the bridge is at its limits for all of them.
Faster than that, what a request takes of real time would be long beside the minute of the budget, and no bridge would
come near its limits; slower, the test would take minutes itself."""


def topics() -> list[Topic]:
    return [
        Topic(f"t{forum}-{number}", chat, 42 + number, Busy.QUEUE if number == 0 else Busy.COLLECT)
        for forum, chat in enumerate(FORUMS)
        for number in range(TOPICS_EACH)
    ]


@pytest.fixture
async def storm(tmp_path: Path) -> AsyncIterator[Storm]:
    clock = FastClock(SCALE)
    async with BotApi(clock=clock.now) as api:
        places = topics()
        for chat in FORUMS:
            api.forum(chat, topics={one.thread: one.handle for one in places if one.chat == chat and one.thread})
        api.group(GROUP)
        storm = Storm(
            api, clock, [*places, Topic("plain", GROUP, None)], tmp_path / "tieline.db", Patience(answer_s=10, poll_s=1)
        )
        yield storm
        await storm.cut()


@pytest.mark.timeout(180)  # it takes 50 s of a processor, which it may have to share
async def test_a_storm_loses_nothing_and_stays_within_the_budget(storm: Storm) -> None:
    api, chance, verdict = storm.api, random.Random(7), Verdict(storm)
    (*_, plain), doomed = storm.topics, storm.topics[3]
    await storm.start()
    api.weather(Weather(seed=7, flood=0.02, retry_after=(1, 2, 3, 5, 20), silent=0.002, lost=0.048))
    for number in range(MESSAGES):
        storm.say(chance.choice(storm.topics))
        if number % 200 == 100:
            api.repeat(20)
            api.fail("getUpdates", Fault.CUT_AFTER)
        if number == MESSAGES // 2:
            api.raw({"message": {"message_id": "no number"}})
        if number % 20 == 0:
            await asyncio.sleep(0)

    await verdict.shows(0.2)
    await storm.cut()
    await storm.start()
    await verdict.shows(0.35)
    api.delete_topic(doomed.chat, doomed.thread or 0)
    api.migrate(GROUP, MIGRATED, user=OPERATOR)
    anew = await storm.recreated(doomed)
    moved = replace(plain, chat=MIGRATED)
    for _ in range(5):
        storm.say(moved)
    await storm.heard()
    for _ in range(5):
        storm.say(anew)
    await verdict.shows(0.6)
    await storm.cut()
    await storm.start()
    await verdict.complete()

    assert api.unconfirmed
    assert api.traffic.refused
    assert storm.set_aside() == 1
    assert list(verdict.faults()) == []
    assert list(overspent(api, [*FORUMS, GROUP, MIGRATED], {60: 20, 3: 3})) == []
    went = {doomed.handle: {doomed.at, anew.at}, plain.handle: {plain.at, moved.at}}
    for one in storm.topics:
        assert set(verdict.places[one.handle]) == went.get(one.handle, {one.at}), one.handle
