"""The endpoints for the agents in persons' terminals: `tieline mcp` joins there, and their hooks tell what happens."""

import asyncio

from fastapi import APIRouter, Request

from adapters import process
from adapters.api import ancestry
from adapters.api.bodies import EventBody, JoinBody
from adapters.api.exchange import Exchange
from adapters.api.processes import Lineage
from adapters.api.request import CallerOf, ChannelOf, ExchangeOf, while_connected
from adapters.api.shown import ErrorShown, JoinedShown, TerminalShown, ToldShown
from adapters.api.who import Channel, caller, looked_at
from bridge.caller import Descent
from bridge.errors import Code, Refused
from bridge.terminal import MOST_THREAD, Happening, Joining
from bridge.turn import Process

router = APIRouter(prefix="/v1/terminal", responses={"4XX": {"model": ErrorShown}, "503": {"model": ErrorShown}})

_START = "Start the agent in a terminal of yours, and let it start this."
_HOST_AGAIN = "End the agent's background server (`codex app-server daemon stop`), and start it in a terminal of yours."


@router.post("/join")
async def join(exchange: ExchangeOf, channel: ChannelOf, body: JoinBody) -> JoinedShown:
    """Makes the agent that has started the caller a session, until it ends. Who it is, the kernel tells."""
    try:
        lineage = await _lineage(channel)
        joining = await _shared(exchange, channel, lineage, body.client, body.cwd) or await _own(lineage, body)
        # An agent that the bridge runs, or that another one has started, is told so before anything else.
        session, token = await exchange.terminals.join(lineage.pids, joining)
    except Refused as refused:
        await exchange.turned_away(None, channel.wish, refused)
        raise
    return JoinedShown(session=session, token=token)


@router.get("")
async def terminal(exchange: ExchangeOf, by: CallerOf) -> TerminalShown:
    """Who the caller is, where it is an agent in a terminal or comes of one."""
    agent = exchange.terminals.process(by.session) if by.bound else None
    return TerminalShown(session=by.session if agent else None, agent=agent.pid if agent else None)


@router.post("/token")
async def token(exchange: ExchangeOf, by: CallerOf) -> JoinedShown:
    """A further token, for what waits for mail beside an agent. It ends with the agent."""
    return JoinedShown(session=by.session, token=exchange.terminals.token(by))


@router.post("/events")
async def happened(exchange: ExchangeOf, channel: ChannelOf, body: EventBody) -> ToldShown:
    """What a hook of the agent tells; `notice` is for the agent. One that shares its process with others is there from
    the first event of its thread."""
    happening, seats = Happening(body.event), None
    if body.client is not None and channel.thread is not None and channel.token is None:
        lineage = await _lineage(channel)
        joining = await _shared(exchange, channel, lineage, body.client, body.cwd)
        if joining is not None and happening is not Happening.ENDED:
            await exchange.terminals.appears(lineage.pids, joining)
        if joining is not None and happening is Happening.PROMPTED:
            seats = await asyncio.to_thread(ancestry.seats, joining.agent)
    by = await caller(exchange, channel)
    return ToldShown.model_validate(await exchange.terminals.happened(by, happening, seats))


@router.post("/wait")
async def wait(exchange: ExchangeOf, by: CallerOf, request: Request) -> ToldShown:
    """Waits until the agent is idle and mail wakes it, however long. One waits at a time."""
    return ToldShown.model_validate(await while_connected(request, exchange.terminals.wait(by)))


async def _lineage(channel: Channel) -> Lineage:
    """The caller with its ancestors. Raises `Refused` for whatever no person can have started."""
    if channel.token is not None or channel.peer is None:
        raise _no_agent("only an agent that a person has started in a terminal joins as a session")
    lineage, descent = await asyncio.to_thread(looked_at, channel.peer, channel.descent_of)
    if descent is not Descent.FREE:
        raise _no_agent("what an agent has started is no session of its own")
    return lineage


async def _shared(exchange: Exchange, channel: Channel, lineage: Lineage, client: str, cwd: str) -> Joining | None:
    """The agent that has started the caller, or its tool server, where it shares its process with others. Its hooks
    have told the thread that it is; what its tools start is none."""
    found = await asyncio.to_thread(ancestry.host_above, lineage.pids, client)
    if found is None:
        return None
    host, below = found
    if await asyncio.to_thread(ancestry.thread_of, below) is not None:
        raise _no_agent("what an agent has started is no session of its own")
    if not exchange.terminals.hosts(host) and not await asyncio.to_thread(ancestry.in_terminal, lineage.pids[1:]):
        raise _no_agent("the server that has started this program was never seen below a terminal", _HOST_AGAIN)
    if channel.thread is not None:
        return Joining(host, client, cwd, host=host, thread=channel.thread[:MOST_THREAD])
    server = Process(lineage.pids[0], process.birth_of(lineage.pids[0]) or "")
    return Joining(server, client, cwd, host=host)


async def _own(lineage: Lineage, body: JoinBody) -> Joining:
    found = await asyncio.to_thread(ancestry.agent_above, lineage)
    if found is None:
        raise _no_agent("nobody can tell which agent has started this program")
    agent, terminal, cwd = found
    if not terminal:
        raise _no_agent("the agent that has started this program has no terminal")
    return Joining(agent, body.client, cwd or body.cwd, body.session)


def _no_agent(reason: str, remedy: str = _START) -> Refused:
    return Refused(Code.NOT_PERMITTED, reason, remedy=remedy)
