"""Who a caller is: decided by its capability token or by the kernel, never by what it says (DESIGN §7)."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from adapters.api.ancestry import thread_of
from adapters.api.exchange import Exchange
from adapters.api.processes import Lineage, Peer, lineage
from bridge.caller import Caller, Descent
from bridge.errors import Code, Refused
from bridge.ids import SessionId, address, profile_of
from bridge.message import Origin

DescentOf = Callable[[Sequence[int]], Descent]
"""Of a process that is given with its ancestors. It may block for a moment."""


def of_none(pids: Sequence[int]) -> Descent:
    """Where there are no agents that could leave any behind."""
    return Descent.FREE


@dataclass(frozen=True, slots=True)
class Channel:
    """How a request came in. `peer` is the process that connected, where the kernel tells, `name` the session that the
    caller would like to speak as, and `wish` what it would like to do. `thread` is what it says it
    is of, among agents that share one process."""

    token: str | None
    peer: Peer | None
    name: str | None
    descent_of: DescentOf = of_none
    wish: str = ""
    thread: str | None = None


async def caller(exchange: Exchange, channel: Channel) -> Caller:
    """Raises `Refused` for an unknown token, and where the caller may not speak as the session it names. That somebody
    has tried is in the audit.

    An agent is its session, however its command was started. What an agent has left behind is nobody: its session has
    ended with it, and neither a person's terminal nor the rules of the shell are its to use. A terminal without an
    agent is a person; whatever else (cron, a daemon) is a program.
    """
    if channel.token is not None:
        session = exchange.token_session(channel.token)
        if session is None:
            refused = Refused(
                Code.NOT_PERMITTED,
                "the capability token in TIELINE_TOKEN is unknown or was revoked",
                remedy="Start the agent's session again, or unset TIELINE_TOKEN.",
            )
            raise await _turned_away(exchange, channel, None, refused)
        return await _agent(exchange, channel, session)
    if channel.peer is None:
        return await exchange.caller(channel.name, origin=Origin.PEER, bound=None)
    process, descent = await asyncio.to_thread(looked_at, channel.peer, channel.descent_of)
    if not process.pids:
        refused = Refused(
            Code.NOT_PERMITTED,
            "the process that asked has ended, so nobody can tell who it was",
            remedy="Stay until the answer is there.",
        )
        raise await _turned_away(exchange, channel, None, refused)
    below = exchange.below_host(process.pids)
    told = await asyncio.to_thread(thread_of, below) if below is not None else None
    try:
        session = exchange.agent_session(process.pids, told or channel.thread)
    except Refused as ambiguous:
        raise await _turned_away(exchange, channel, None, ambiguous) from None
    if session is not None:
        return await _agent(exchange, channel, session)
    if descent is Descent.LEFT:
        refused = Refused(
            Code.NOT_PERMITTED,
            "the agent that started this process has ended, or has let it go: it speaks for nobody",
            remedy="Run the command from an agent that works, or type it in a terminal that no agent has opened.",
        )
        raise await _turned_away(exchange, channel, None, refused)
    if process.terminal and descent is Descent.FREE:
        return replace(await exchange.caller(channel.name, origin=Origin.USER, bound=None), operator=True)
    return await exchange.caller(channel.name, origin=Origin.PEER, bound=None)


def looked_at(peer: Peer, descent_of: DescentOf) -> tuple[Lineage, Descent]:
    process = lineage(peer)
    return process, descent_of(process.pids) if process.pids else Descent.LEFT


async def _agent(exchange: Exchange, channel: Channel, session: SessionId) -> Caller:
    if channel.name and address(channel.name, profile_of(session)) != session:
        refused = Refused(
            Code.NOT_PERMITTED,
            f"this caller is {session} and can speak as no other session",
            remedy="Leave out the session to speak as: --from and TIELINE_SESSION.",
        )
        raise await _turned_away(exchange, channel, session, refused)
    return await exchange.caller(None, origin=Origin.PEER, bound=session)


async def _turned_away(exchange: Exchange, channel: Channel, session: SessionId | None, refused: Refused) -> Refused:
    """The refusal, once it is in the audit."""
    process = f" (process {channel.peer.pid})" if channel.peer is not None else ""
    name = f" as {channel.name}" if channel.name else ""
    await exchange.turned_away(session, f"{channel.wish}{name}{process}", refused)
    return refused
