"""Agents in persons' terminals that share one process, told apart by their threads."""

import asyncio

import pytest

from bridge.caller import Caller
from bridge.errors import Code, Refused
from bridge.ids import SessionId
from bridge.message import Origin
from bridge.notices import MAIL_BESIDE_WORK, MAIL_IN_TERMINAL
from bridge.session import Kind
from bridge.terminal import Happening, Joining
from bridge.turn import Process
from tests.flow.stage import Stage, session, stage

DESK = session("desk", agent=None)
HOST = Process(500, "birth of 500")
ONE, OTHER = SessionId("default/work-codex"), SessionId("default/work-codex-2")
HOOK = [99, 500, 7]


class Ends:
    """Processes that end when a test says so."""

    def __init__(self) -> None:
        self._ended: dict[Process, asyncio.Event] = {}

    def __getitem__(self, process: Process) -> asyncio.Event:
        return self._ended.setdefault(process, asyncio.Event())

    async def gone(self, process: Process) -> None:
        await self[process].wait()


def seat(pid: int) -> Process:
    return Process(pid, f"birth of {pid}")


def joining(thread: str | None, cwd: str = "/srv/olga/work", server: int = 510) -> Joining:
    return Joining(HOST if thread else seat(server), "codex", cwd, host=HOST, thread=thread)


async def began(on: Stage, thread: str, cwd: str = "/srv/olga/work") -> SessionId:
    return await on.exchange.terminals.appears(HOOK, joining(thread, cwd))


async def typed(on: Stage, thread: str, *seats: Process) -> Caller:
    """Its person has prompted it, from one of these."""
    name = await began(on, thread)
    caller = await on.exchange.caller(None, origin=Origin.PEER, bound=name)
    await on.exchange.terminals.happened(caller, Happening.PROMPTED, seats)
    return caller


async def told(on: Stage, caller: Caller, happening: Happening) -> tuple[str | None, bool]:
    answer = await on.exchange.terminals.happened(caller, happening)
    return answer.notice, answer.ended


async def mail(on: Stage, to: Caller) -> None:
    await on.send(to.session, "hello", caller=await on.shell("desk"))


async def test_a_call_of_a_tool_tells_whose_server_it_is_and_nothing_else_does() -> None:
    async with stage(DESK) as on:
        terminals = on.exchange.terminals
        tokens = []
        for server in (510, 520):
            name, token = await terminals.join([server, 500, 7], joining(None, server=server))
            assert name is None
            assert on.exchange.token_session(token) is None
            assert not on.exchange.token_ended(token).is_set()
            tokens.append(token)
        assert await began(on, "thread-2") == ONE  # whichever server is its own
        assert await on.exchange.thread_session(tokens[0], None) is None
        assert await on.exchange.thread_session(tokens[0], "thread-1") == OTHER
        assert await on.exchange.thread_session(tokens[1], "thread-2") == ONE
        assert [on.exchange.token_session(token) for token in tokens] == [OTHER, ONE]
        assert await began(on, "thread-1") == OTHER
        _, mine = await terminals.join(HOOK, joining("thread-1"))
        assert await on.exchange.thread_session(mine, "thread-2") == OTHER  # no server: it is of its session


async def test_what_is_below_it_is_of_the_thread_it_tells_and_of_nobody_where_that_is_not_known() -> None:
    async with stage(DESK) as on:
        below = [98, 97, 500, 7]
        assert on.exchange.agent_session(below, "thread-1") is None
        assert on.exchange.below_host(below) is None
        await began(on, "thread-1")
        assert on.exchange.agent_session(below) == ONE  # there is no other
        await began(on, "thread-2")
        assert on.exchange.below_host(below) == 97
        assert on.exchange.agent_session(below, "thread-1") == ONE
        assert on.exchange.agent_session(below, "thread-2") == OTHER
        for thread, reason in ((None, "share the process"), ("of a helper", "has not joined")):
            with pytest.raises(Refused, match=reason) as refused:
                on.exchange.agent_session(below, thread)
            assert refused.value.code is Code.NOT_PERMITTED
        with pytest.raises(Refused, match="started by another agent"):
            await on.exchange.terminals.join([31, 30, 97, 500, 7], Joining(seat(30), "claude-code", "/srv/olga/work"))


async def test_a_thread_that_comes_back_is_the_session_that_it_was() -> None:
    async with stage(DESK) as on:
        one, other = await typed(on, "thread-1", seat(1)), await typed(on, "thread-2", seat(2))
        for caller in (one, other):
            assert await told(on, caller, Happening.ENDED) == (None, True)
        assert await began(on, "thread-2", cwd="/srv/olga/elsewhere") == OTHER
        assert await began(on, "thread-3") == ONE  # nobody is it
        assert await began(on, "thread-1") == "default/work-codex-3"


async def test_nobody_wakes_a_thread_that_has_ended_and_its_host_ends_them_all() -> None:
    ends = Ends()
    async with stage(DESK, gone=ends.gone) as on:
        one, other = await typed(on, "thread-1", seat(1)), await typed(on, "thread-2", seat(1))
        _, server = await on.exchange.terminals.join([510, 500, 7], joining(None))
        await on.exchange.thread_session(server, "thread-1")
        token = on.exchange.terminals.token(one)
        for caller in (one, other):
            await told(on, caller, Happening.STOPPED)
        waiting = [asyncio.create_task(on.exchange.terminals.wait(caller)) for caller in (one, other)]
        await on.quiet()
        await told(on, one, Happening.ENDED)
        assert (await waiting[0]).ended
        assert on.exchange.token_session(token) is None
        assert on.exchange.token_session(server) is None
        assert (await on.exchange.terminals.wait(one)).ended
        assert await told(on, one, Happening.STOPPED) == (None, True)
        assert not (await on.exchange.directory.view(one.session)).live
        assert not waiting[1].done()

        ends[HOST].set()
        assert (await waiting[1]).ended
        await on.quiet()
        assert not on.exchange.terminals.hosts(HOST)
        assert on.exchange.agent_session(HOOK, "thread-2") is None
        ends[seat(510)].set()
        await on.quiet()
        assert on.exchange.token_ended(server).is_set()


async def test_nobody_wakes_it_once_its_person_sits_at_no_terminal_any_more() -> None:
    ends = Ends()
    async with stage(DESK, gone=ends.gone) as on:
        agent = await typed(on, "thread-1", seat(1), seat(2))
        await told(on, agent, Happening.STOPPED)
        waiting = asyncio.create_task(on.exchange.terminals.wait(agent))
        await on.quiet()
        ends[seat(1)].set()
        await on.quiet()
        assert not waiting.done()
        ends[seat(2)].set()
        assert (await waiting).ended
        await mail(on, agent)
        assert await told(on, agent, Happening.WOKEN) == (None, False)
        assert await told(on, agent, Happening.TOOL) == (MAIL_BESIDE_WORK, False)  # it speaks still, in its last turn
        assert await told(on, agent, Happening.STOPPED) == (None, True)
        assert (await on.exchange.terminals.wait(agent)).ended
        assert not (await on.exchange.directory.view(agent.session)).live

        agent = await typed(on, "thread-1", seat(3))
        assert (await on.exchange.directory.view(agent.session)).live
        assert await told(on, agent, Happening.STOPPED) == (MAIL_IN_TERMINAL, False)
        agent = await typed(on, "thread-1")  # from no terminal at all
        await on.quiet()
        assert (await on.exchange.terminals.wait(agent)).ended


async def test_its_host_is_trusted_and_its_person_is_at_the_terminal_over_a_restart() -> None:
    ends = Ends()
    async with stage(DESK, gone=ends.gone) as on:
        await typed(on, "thread-1", seat(1))
        await told(on, await typed(on, "thread-2", seat(1)), Happening.ENDED)
        store, clock = on.store, on.clock
    async with stage(DESK, store=store, clock=clock, gone=ends.gone) as on:
        assert on.exchange.terminals.hosts(HOST)
        assert on.exchange.agent_session(HOOK, "thread-1") == ONE
        with pytest.raises(Refused, match="has not joined"):
            on.exchange.agent_session(HOOK, "thread-2")
        agent = await on.exchange.caller(None, origin=Origin.PEER, bound=ONE)
        waiting = asyncio.create_task(on.exchange.terminals.wait(agent))
        await on.quiet()
        assert not waiting.done()
        ends[seat(1)].set()
        assert (await waiting).ended
        await told(on, agent, Happening.ENDED)
        store, clock = on.store, on.clock
    async with stage(DESK, store=store, clock=clock, gone=ends.gone) as on:
        assert on.exchange.terminals.hosts(HOST)
        views, _ = await on.exchange.sessions(await on.shell("desk"), active=False, every=True)
        assert not any(one.live for one in views if one.kind is Kind.TERMINAL)
        assert await began(on, "thread-2") == OTHER
