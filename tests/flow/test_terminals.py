"""Agents in persons' terminals: who may join as what, what their hooks are told, and what becomes of their mail."""

import asyncio
from contextlib import suppress

import pytest

from bridge.caller import Caller
from bridge.errors import Code, Refused
from bridge.ids import SessionId
from bridge.message import Intent, Origin, Outcome, State
from bridge.notices import MAIL_BESIDE_WORK, MAIL_IN_TERMINAL, ours
from bridge.request import Answer
from bridge.session import Declared, Kind
from bridge.terminal import Happening, Joining
from bridge.turn import Process
from bridge.views import Send
from tests.fakes.runtime import FakeAgent
from tests.flow.stage import Stage, ident, rule, session, stage

LAPTOP = Declared(ident("laptop"), "Laptop", Kind.TERMINAL, cwd="/srv/olga/laptop")
DESK, HELPER = session("desk", agent=None), session("helper", agent=None)


def joining(pid: int = 4711, cwd: str = "/srv/olga/work", wish: str | None = None) -> Joining:
    return Joining(Process(pid, f"birth of {pid}"), "claude-code", cwd, wish)


async def joined(on: Stage, pid: int = 4711, **more: str) -> Caller:
    name = await on.exchange.terminals.appears([pid + 1, pid, 7], joining(pid, **more))
    return await on.exchange.caller(None, origin=Origin.PEER, bound=name)


async def told(on: Stage, caller: Caller, happening: Happening) -> str | None:
    return (await on.exchange.terminals.happened(caller, happening)).notice


async def mail(on: Stage, to: str, text: str = "hello", **more: object) -> str:
    return (await on.send(to, text, caller=await on.shell("desk"), **more)).message_id  # type: ignore[arg-type]


async def test_it_is_named_by_its_wish_its_directory_in_the_file_or_directory_and_client() -> None:
    async with stage(LAPTOP, DESK) as on:
        assert (await joined(on, 10, cwd="/srv/olga/laptop")).session == "default/laptop"
        assert (await joined(on, 20)).session == "default/work-claude-code"
        assert (await joined(on, 30)).session == "default/work-claude-code-2"
        assert (await joined(on, 40, cwd="/srv/olga/laptop")).session == "default/laptop-claude-code"
        assert (await joined(on, 50, wish="special")).session == "default/special"
        assert (await joined(on, 60, cwd="/srv/work")).session == "default/work-claude-code-3"  # of another directory
        assert (await joined(on, 70, wish="desk")).session == "default/desk-2"  # a shell's session is no terminal's
        assert (await joined(on, 20)).session == "default/work-claude-code"  # its server was started again


@pytest.mark.parametrize("wish", ["other/work", "../../work", "Work", "..", "default/"])
async def test_what_its_environment_names_is_a_session_of_this_profile_or_refused(wish: str) -> None:
    async with stage(DESK) as on:
        with pytest.raises(Refused, match="TIELINE_SESSION is"):
            await joined(on, wish=wish)
        assert (await joined(on, wish="default/work")).session == "default/work"


async def test_what_a_bridges_agent_starts_or_a_terminals_agent_starts_joins_as_nobody() -> None:
    started = asyncio.Event()

    async def works(agent: FakeAgent, _: object) -> str:
        started.set()
        await asyncio.Event().wait()
        return ""

    async with stage(session("career"), DESK) as on:
        on.agent("career", works)
        await on.send("career", "work")
        await started.wait()
        pid = 100_001
        assert on.exchange.agent_session([pid]) == ident("career")
        for pids in ([5, 4, pid], [5, pid]):
            with pytest.raises(Refused) as refused:
                await on.exchange.terminals.join(pids, joining(4))
            assert refused.value.code is Code.NOT_PERMITTED
        outer = await joined(on, 20)
        with pytest.raises(Refused, match="started by default/work-claude-code"):
            await on.exchange.terminals.join([31, 30, 25, 20], joining(30))
        assert on.exchange.agent_session([99, 30, 20]) == outer.session
        await on.exchange.stop(await on.shell(origin=Origin.USER), "career", everything=False)


async def test_its_hooks_tell_of_each_message_once_and_it_stops_once_that_is_read() -> None:
    async with stage(DESK, LAPTOP) as on:
        agent = await joined(on)
        assert await told(on, agent, Happening.PROMPTED) is None
        quiet = await mail(on, agent.session, "quiet", wake=False, intent=Intent.INFORM)
        assert await told(on, agent, Happening.TOOL) == MAIL_BESIDE_WORK
        assert await told(on, agent, Happening.TOOL) is None
        assert await told(on, agent, Happening.STOPPED) is None  # without `wake` it waits
        loud = await mail(on, agent.session, "loud")
        assert await told(on, agent, Happening.PROMPTED) == MAIL_BESIDE_WORK
        assert await told(on, agent, Happening.STOPPED) == MAIL_IN_TERMINAL
        later = await mail(on, agent.session, "later")
        assert await told(on, agent, Happening.STOPPED_AGAIN) is None  # never twice in a row
        assert await told(on, agent, Happening.STOPPED) == MAIL_IN_TERMINAL  # for the later one
        assert await told(on, agent, Happening.STOPPED) is None
        await on.exchange.receive(agent, 50)
        assert (await on.message(quiet)).state is State.LEASED
        await on.clock.advance(3_600)  # it works on, and what it has read stays its own
        assert (await on.message(quiet)).state is State.LEASED
        assert await told(on, agent, Happening.STOPPED) is None
        assert [(await on.message(one)).outcome for one in (quiet, loud, later)] == [Outcome.ACKED] * 3
        assert (await on.request(loud)).state is Answer.NO_REPLY


async def test_a_request_stays_open_at_its_stop_where_it_was_deferred_or_another_is_asked_for_it() -> None:
    async with stage(DESK, HELPER) as on:
        agent = await joined(on)
        deferred, passed_on = await mail(on, agent.session, "one"), await mail(on, agent.session, "two")
        await on.exchange.receive(agent, 50)
        await on.exchange.defer(agent, deferred)
        asked = await on.exchange.send(agent, Send("helper", "help", wake=True, in_reply_to=passed_on))
        await told(on, agent, Happening.STOPPED)
        assert [(await on.request(one)).state for one in (deferred, passed_on)] == [Answer.OPEN] * 2
        assert (await on.request(asked.message_id)).parent == passed_on

        helper = await on.shell("helper")
        waiting = asyncio.create_task(on.exchange.terminals.wait(agent))
        await on.quiet()
        await on.exchange.reply(helper, asked.message_id, "so it is")
        assert (await waiting).notice == MAIL_IN_TERMINAL  # an answer wakes its asker
        assert [one.text for one in (await on.exchange.receive(agent, 50)).messages] == ["so it is"]
        await on.exchange.reply(agent, passed_on, "it is so")
        await told(on, agent, Happening.STOPPED)
        assert (await on.request(passed_on)).state is Answer.ANSWERED
        assert (await on.request(deferred)).state is Answer.OPEN


async def test_one_waits_and_wakes_an_idle_agent_only_and_is_shown_to_be_there() -> None:
    async with stage(DESK) as on:
        agent = await joined(on)
        await told(on, agent, Happening.PROMPTED)
        waiting = asyncio.create_task(on.exchange.terminals.wait(agent))
        await on.quiet()
        with pytest.raises(Refused) as second:
            await on.exchange.terminals.wait(agent)
        assert second.value.code is Code.BUSY
        assert (await on.exchange.directory.view(agent.session)).reachable == "wake"
        await mail(on, agent.session, "no hurry", wake=False)
        await mail(on, agent.session)
        await on.quiet()
        assert not waiting.done()  # it is at work
        assert (await on.exchange.directory.view(agent.session)).activity == "thinking"
        await told(on, agent, Happening.IDLE)
        assert (await waiting).notice == MAIL_IN_TERMINAL
        assert (await on.exchange.directory.view(agent.session)).reachable == "pull"
        assert (await on.exchange.directory.view(agent.session)).activity == "thinking"
        # Its person has interrupted it, and nothing tells so: after a time it is idle again.
        waiting = asyncio.create_task(on.exchange.terminals.wait(agent))
        await mail(on, agent.session, "once more")
        await on.quiet()
        assert not waiting.done()
        await on.clock.advance(700)
        assert (await waiting).notice == MAIL_IN_TERMINAL
        # Nobody is woken by the same mail again.
        await told(on, agent, Happening.IDLE)
        waiting = asyncio.create_task(on.exchange.terminals.wait(agent))
        await on.quiet()
        assert not waiting.done()
        await told(on, agent, Happening.ENDED)
        assert (await waiting).ended


async def test_its_causes_are_what_it_has_read_since_its_person_spoke_last() -> None:
    async with stage(DESK, HELPER) as on:
        agent = await joined(on)
        await told(on, agent, Happening.PROMPTED)
        await told(on, agent, Happening.STOPPED)
        await mail(on, agent.session)
        await on.exchange.receive(agent, 50)
        assert (await on.exchange.send(agent, Send("helper", "because of it"))).depth == 2
        await told(on, agent, Happening.WOKEN)
        assert (await on.exchange.send(agent, Send("helper", "still"))).depth == 2
        await on.clock.advance(1)
        await told(on, agent, Happening.STOPPED)
        await told(on, agent, Happening.PROMPTED)
        assert (await on.exchange.send(agent, Send("helper", "as its person says"))).depth == 1
        await mail(on, agent.session, "more")
        await on.exchange.receive(agent, 50)
        await on.clock.advance(1)
        await told(on, agent, Happening.PROMPTED)  # in the middle of its work
        assert (await on.exchange.send(agent, Send("helper", "of both"))).depth == 2


async def test_rules_by_kind_are_for_those_that_the_file_declares() -> None:
    rules = [rule("kind:terminal", "default/desk"), rule("default/desk", "kind:terminal")]
    async with stage(DESK, LAPTOP, rules=rules) as on:
        laptop, unknown = await joined(on, 10, cwd=LAPTOP.cwd or ""), await joined(on, 20)
        await on.exchange.send(laptop, Send("desk", "hello"))
        with pytest.raises(Refused) as refused:
            await on.exchange.send(unknown, Send("desk", "hello"))
        assert refused.value.code is Code.UNKNOWN_SESSION
        with suppress(Refused):
            await mail(on, unknown.session)
            raise AssertionError("nothing allows it")


async def test_what_it_had_read_waits_for_the_next_one_once_its_process_is_gone() -> None:
    gone = asyncio.Event()

    async def ended(process: Process) -> None:
        await (gone if process.pid == 4711 else asyncio.Event()).wait()

    async with stage(DESK, gone=ended) as on:
        agent = await joined(on)
        name, token = await on.exchange.terminals.join([4712, 4711], joining())
        read = await mail(on, agent.session)
        await on.exchange.receive(agent, 50)
        assert on.exchange.token_session(token) == name
        waiting = asyncio.create_task(on.exchange.terminals.wait(agent))
        await on.quiet()
        gone.set()
        assert (await waiting).ended
        await on.quiet()
        assert on.exchange.token_session(token) is None
        assert on.exchange.token_ended(token).is_set()
        assert on.exchange.agent_session([4711]) is None
        assert (await on.message(read)).state is State.QUEUED
        again = await joined(on, 5000)
        assert again.session == agent.session
        (shown,) = (await on.exchange.receive(again, 50)).messages
        assert (shown.message_id, shown.redelivered) == (read, True)


async def test_who_it_is_outlives_the_bridge_and_what_it_had_read_does_too() -> None:
    async with stage(DESK) as on:
        agent = await joined(on)
        read = await mail(on, agent.session)
        await on.exchange.receive(agent, 50)
        store, clock = on.store, on.clock
    async with stage(DESK, store=store, clock=clock) as on:
        assert on.exchange.agent_session([99, 4711]) == agent.session
        assert (await on.message(read)).state is State.LEASED
        assert (await joined(on)).session == agent.session
        assert (await told(on, agent, Happening.STOPPED)) is None
        assert (await on.message(read)).outcome is Outcome.ACKED


async def test_a_person_or_a_shell_is_told_nothing() -> None:
    async with stage(DESK) as on:
        agent = await joined(on)
        for caller in (
            await on.exchange.caller(agent.session, origin=Origin.USER, bound=None),
            await on.shell("desk"),
        ):
            assert (await on.exchange.terminals.happened(caller, Happening.STOPPED)).ended
            assert (await on.exchange.terminals.wait(caller)).ended


@pytest.mark.parametrize(
    ("cwd", "client", "handle"),
    [
        ("/srv/olga/My Work (2)", "gemini-cli-mcp-client", "my-work-2-gemini"),
        ("/", "Claude Code", "claude-code"),
        ("/ü", "…", "terminal"),
    ],
)
async def test_any_directory_and_client_make_a_handle(cwd: str, client: str, handle: str) -> None:
    async with stage() as on:
        name, _ = await on.exchange.terminals.join([2, 1], Joining(Process(1, "b"), client, cwd))
        assert name == SessionId(f"default/{handle}")


def test_its_own_notices_are_no_persons_words() -> None:
    assert ours(MAIL_IN_TERMINAL)
    assert ours(f"\n{MAIL_BESIDE_WORK}\n")
    assert not ours("[Tieline] Mail from another session")
