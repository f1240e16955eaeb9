"""Who is told that a resource has changed: clients of the older protocol by a subscription that lasts as long as their
connection, those of the newer one by a stream of their own."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager
from typing import Any

import mcp_types
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated
from mcp.shared.exceptions import MCPError

from adapters.mcp.exchange import Exchange
from adapters.mcp.resources import RESOURCES
from bridge.caller import Caller
from bridge.errors import Refused

log = logging.getLogger(__name__)

_STREAMS = 16
_AGAIN_S = 5.0

Context = ServerRequestContext[Any]
Tell = Callable[[str], Awaitable[None]]


class Subscriptions:
    """Those of one token, until it has `ended`. Nothing runs but for whoever has subscribed."""

    def __init__(self, exchange: Exchange, caller: Callable[[str], Awaitable[Caller]], ended: asyncio.Event) -> None:
        self._exchange = exchange
        self._caller = caller
        self._ended = ended
        self._streams = 0

    async def begin(self, context: Context, uri: str) -> None:
        """Tells the client of this connection of what changes from now on; once, however often it subscribes."""
        watches = self._of_connection(context)
        if uri not in watches:
            begun = asyncio.Event()
            watches[uri] = asyncio.create_task(self._watch(uri, context.session.send_resource_updated, begun))
            await begun.wait()

    def end(self, context: Context, uri: str) -> None:
        watch = self._of_connection(context).pop(uri, None)
        if watch is not None:
            watch.cancel()

    async def listen(
        self, context: Context, wanted: mcp_types.SubscriptionsListenRequestParams
    ) -> mcp_types.SubscriptionsListenResult:
        """One stream, which lasts until its client goes or the token ends."""
        await self._caller("listen")
        if self._streams >= _STREAMS:
            raise MCPError(mcp_types.INTERNAL_ERROR, f"{_STREAMS} streams are open by this token already")
        self._streams += 1
        bus = InMemorySubscriptionBus()
        stream = ListenHandler(bus)
        uris = RESOURCES.keys() & {*(wanted.notifications.resource_subscriptions or ())}

        listens = asyncio.Event()

        async def tell(uri: str) -> None:
            await listens.wait()
            await bus.publish(ResourceUpdated(uri))

        try:
            async with self._watching(uris, tell, stream.close):
                # Whoever waits for it goes on once the stream, which begins here, has come to its first wait.
                listens.set()
                return await stream(context, wanted)
        finally:
            self._streams -= 1

    @asynccontextmanager
    async def _watching(self, uris: Collection[str], tell: Tell, close: Callable[[], None]) -> AsyncIterator[None]:
        async def closing() -> None:
            await self._ended.wait()
            close()

        begun = {uri: asyncio.Event() for uri in uris}
        tasks = [asyncio.create_task(self._watch(uri, tell, begun[uri])) for uri in uris]
        tasks.append(asyncio.create_task(closing()))
        try:
            for one in begun.values():
                await one.wait()
            yield
        finally:
            for task in tasks:
                task.cancel()

    async def _watch(self, uri: str, tell: Tell, begun: asyncio.Event) -> None:
        ending = asyncio.ensure_future(self._ended.wait())
        watching = asyncio.ensure_future(self._tell_changes(uri, tell, begun))
        try:
            await asyncio.wait({ending, watching}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            begun.set()
            ending.cancel()
            watching.cancel()

    async def _tell_changes(self, uri: str, tell: Tell, begun: asyncio.Event) -> None:
        while True:
            try:
                async for _ in RESOURCES[uri].changes(self._exchange, await self._caller(f"watch {uri}")):
                    if begun.is_set():
                        await tell(uri)
                    begun.set()
            except Refused as refused:
                # Where the store is out of reach it comes back; where the token has ended, this ends with it.
                log.info("%s is looked at again later: %s", uri, refused.reason)
                begun.set()
                await asyncio.sleep(_AGAIN_S)
            except Exception:
                # A task of its own: its client hears nothing more, and the log says why.
                log.exception("%s: changes cannot be told any more", uri)
                return

    def _of_connection(self, context: Context) -> dict[str, asyncio.Task[None]]:
        # The package gives handlers no other way to the connection, with which these have to end.
        connection = context.session._connection
        watches: dict[str, asyncio.Task[None]] | None = connection.state.get("watches")
        if watches is None:
            watches = connection.state["watches"] = {}
            connection.exit_stack.callback(_cancel, watches)
        return watches


def _cancel(watches: dict[str, asyncio.Task[None]]) -> None:
    for watch in watches.values():
        watch.cancel()
