"""Rows that nothing can be made of: what needs them says so and waits, and the rest goes on."""

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from adapters.sqlite.store import open_store
from bridge.errors import Code, Refused
from bridge.limits import Limits
from bridge.message import State
from bridge.ports.runtime import Prompt
from bridge.request import Answer
from tests.fakes.runtime import FakeAgent
from tests.flow.stage import Stage, session, stage


@asynccontextmanager
async def bridge(path: Path) -> AsyncIterator[Stage]:
    store = await open_store(path)
    try:
        async with stage(session("career"), session("finance"), store=store, limits=Limits(stop_grace_s=0.05)) as on:
            yield on
    finally:
        await store.close()


def spoil(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute(statement)


async def until_answered(on: Stage, message_id: str) -> None:
    """The store has a thread of its own, so that it takes more than steps of the loop."""
    async with asyncio.timeout(20):
        while (await on.request(message_id)).state is not Answer.ANSWERED:
            await on.clock.advance(1)


async def test_a_session_whose_live_turn_is_unreadable_waits_until_it_is_repaired_and_says_so_and_no_other_does(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "tieline.db"
    async with bridge(path) as on:
        read = asyncio.Event()

        async def hanging(agent: FakeAgent, prompt: Prompt) -> str:
            await on.tools(agent).receive()
            read.set()
            await asyncio.Event().wait()
            return ""

        on.agent("career", hanging)
        await on.send("career", "hang on")
        await read.wait()
        behind = await on.send("career", "and this")
    spoil(path, "UPDATE turns SET inputs = 'no list'")
    with caplog.at_level(logging.ERROR, "adapters.sqlite.reader"):
        async with bridge(path) as on:

            async def working(agent: FakeAgent, prompt: Prompt) -> str:
                await on.tools(agent).receive()
                return "done"

            on.agent("career", working)
            on.agent("finance", working)
            refused = await on.refused("career")
            assert (refused.code, "turn" in refused.reason) == (Code.UNAVAILABLE, True)
            other = await on.send("finance", "and this")
            await until_answered(on, other.message_id)
            assert (await on.message(behind.message_id)).state is State.QUEUED
            spoil(path, "UPDATE turns SET inputs = '[]', state = 'lost', ended_at = 0 WHERE inputs = 'no list'")
            await until_answered(on, behind.message_id)
    assert len([one for one in caplog.records if "turn" in one.getMessage()]) == 1


async def test_a_declared_session_that_is_unreadable_stops_the_start_and_the_row_is_named(tmp_path: Path) -> None:
    path = tmp_path / "tieline.db"
    async with bridge(path):
        pass
    spoil(path, "UPDATE sessions SET kind = 'ghost' WHERE id = 'default/career'")
    with pytest.raises(ExceptionGroup) as ended:
        async with bridge(path):
            pass
    assert ended.group_contains(Refused, match="session of .*default/career.* is unreadable")
