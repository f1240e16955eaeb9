"""What a client may look at, and hear of when it changes: views that change nothing.

The texts of mail are in none of them. Whoever reads a text may act on it, so it is leased, settled and counted among
the causes of what comes of it: that is `peer_receive`.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

import mcp_types

from adapters.mcp import results
from adapters.mcp.exchange import Exchange
from bridge.caller import Caller

_LISTED = 200
_LONG_S = 7 * 86_400.0
_SETTLE_S = 1.0
"""Changes of sessions come in bursts, and are told together."""


@dataclass(frozen=True, slots=True)
class Resource:
    """`shown` is what it holds. `changes` comes back once it knows that, and from then on each time that whoever asks
    would be shown something else."""

    uri: str
    name: str
    description: str
    shown: Callable[[Exchange, Caller], Awaitable[results.Result]]
    changes: Callable[[Exchange, Caller], AsyncIterator[None]]

    def described(self) -> mcp_types.Resource:
        return mcp_types.Resource(
            uri=self.uri, name=self.name, description=self.description, mime_type="application/json"
        )


async def _inbox(exchange: Exchange, caller: Caller) -> results.Result:
    mail = await exchange.inbox(caller, None, take=False)
    return results.InboxResult(messages=[results.WaitingResult.of(one) for one in mail[:_LISTED]], waiting=len(mail))


async def _mail(exchange: Exchange, caller: Caller) -> AsyncIterator[None]:
    known = {one.message_id for one in await exchange.inbox(caller, None, take=False)}
    yield
    while True:
        if fresh := await exchange.wait_inbox(caller, None, {*known}, _LONG_S):
            # What has left the inbox meanwhile does not come back as something new.
            known = {one.message_id for one in (*await exchange.inbox(caller, None, take=False), *fresh)}
            yield


async def _sessions(exchange: Exchange, caller: Caller) -> results.Result:
    page, following = await exchange.sessions(caller, False, _LISTED)
    return results.SessionsResult(
        sessions=[results.SessionResult.model_validate(one) for one in page], next_cursor=following
    )


async def _movement(exchange: Exchange, caller: Caller) -> AsyncIterator[None]:
    """What the caller may not discover changes nothing that it is shown, so it hears nothing of that."""
    with exchange.changes() as changed:
        shown = await _sessions(exchange, caller)
        yield
        while True:
            await changed.wait()
            await asyncio.sleep(_SETTLE_S)
            changed.clear()
            now = await _sessions(exchange, caller)
            if now != shown:
                shown = now
                yield


RESOURCES = {
    one.uri: one
    for one in (
        Resource(
            "tieline://inbox",
            "Inbox",
            "What waits for you: from whom, since when, how many. peer_receive reads the texts.",
            _inbox,
            _mail,
        ),
        Resource(
            "tieline://sessions",
            "Sessions",
            "The other agents' sessions that you can reach, and what they are doing.",
            _sessions,
            _movement,
        ),
    )
}
