"""What every route needs of its request: the exchange, the caller, and whether somebody still waits."""

import asyncio
from collections.abc import Coroutine
from typing import Annotated, Any, TypeVar, cast

from fastapi import Depends, Request

from adapters.api.exchange import Exchange
from adapters.api.refusals import ClientGone
from adapters.api.who import Channel, caller
from bridge.caller import Caller
from bridge.errors import Code, Refused

T = TypeVar("T")


def _exchange(request: Request) -> Exchange:
    return cast(Exchange, request.app.state.exchange)


def _channel(request: Request) -> Channel:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme and (scheme.lower() != "bearer" or not token.strip()):
        raise Refused(Code.INVALID_REQUEST, "the header Authorization must be: Bearer, a space, and a token")
    try:
        # HTTP hands on bytes, and names are UTF-8.
        name = request.headers.get("x-tieline-session", "").encode("latin-1").decode() or None
    except UnicodeDecodeError:
        raise Refused(Code.INVALID_REQUEST, "the header X-Tieline-Session is not UTF-8") from None
    thread = request.headers.get("x-tieline-thread") or None
    state, wish = request.app.state, f"{request.method} {request.url.path}"
    return Channel(token.strip() or None, getattr(request.state, "peer", None), name, state.descent_of, wish, thread)


ExchangeOf = Annotated[Exchange, Depends(_exchange)]
ChannelOf = Annotated[Channel, Depends(_channel)]


async def _caller(exchange: ExchangeOf, channel: ChannelOf) -> Caller:
    return await caller(exchange, channel)


CallerOf = Annotated[Caller, Depends(_caller)]


async def while_connected(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """The result of `work`, which is cancelled as soon as the client is gone; raises `ClientGone` then."""
    working = asyncio.create_task(work)
    gone = False

    async def watch() -> None:
        nonlocal gone
        while (await request.receive())["type"] != "http.disconnect":
            pass
        gone = True
        working.cancel()

    watching = asyncio.create_task(watch())
    try:
        return await working
    except asyncio.CancelledError:
        if gone:
            raise ClientGone from None
        raise
    finally:
        working.cancel()
        watching.cancel()
