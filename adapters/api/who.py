"""Who a caller is: decided by its capability token or by the kernel, never by what it says (DESIGN §7)."""

import asyncio
from dataclasses import dataclass, replace

from adapters.api.exchange import Exchange
from adapters.api.processes import lineage
from bridge.caller import Caller
from bridge.errors import Code, Refused
from bridge.ids import SessionId, address, profile_of
from bridge.message import Origin


@dataclass(frozen=True, slots=True)
class Channel:
    """How a request came in. `pid` is the process that connected, where the kernel tells, and `name` the
    session that the caller would like to speak as."""

    token: str | None
    pid: int | None
    name: str | None


async def caller(exchange: Exchange, channel: Channel) -> Caller:
    """Raises `Refused` for an unknown token, and where the caller may not speak as the session it names.

    An agent is its session, however its command was started; a terminal without an agent above it is a
    person; whatever else (cron, a daemon) is a program.
    """
    if channel.token is not None:
        session = exchange.token_session(channel.token)
        if session is None:
            raise Refused(
                Code.NOT_PERMITTED,
                "the capability token in TIELINE_TOKEN is unknown or was revoked",
                remedy="Start the agent's session again, or unset TIELINE_TOKEN.",
            )
        return await _agent(exchange, channel, session)
    if channel.pid is None:
        return await exchange.caller(channel.name, origin=Origin.PEER, bound=None)
    process = await asyncio.to_thread(lineage, channel.pid)
    if not process.pids:
        raise Refused(
            Code.NOT_PERMITTED,
            "the process that asked has ended, so nobody can tell who it was",
            remedy="Stay until the answer is there.",
        )
    session = exchange.agent_session(process.pids)
    if session is not None:
        return await _agent(exchange, channel, session)
    if process.terminal:
        return replace(await exchange.caller(channel.name, origin=Origin.USER, bound=None), operator=True)
    return await exchange.caller(channel.name, origin=Origin.PEER, bound=None)


async def _agent(exchange: Exchange, channel: Channel, session: SessionId) -> Caller:
    if channel.name and address(channel.name, profile_of(session)) != session:
        raise Refused(
            Code.NOT_PERMITTED,
            f"this caller is {session} and can speak as no other session",
            remedy="Leave out the session to speak as: --from and TIELINE_SESSION.",
        )
    return await exchange.caller(None, origin=Origin.PEER, bound=session)
