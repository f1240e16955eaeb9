"""Where another bridge asks for the worker of a turn (DESIGN §8)."""

import asyncio
import logging
import os
import socket
from collections.abc import Awaitable, Callable

from adapters.process import ancestors
from adapters.worker.codec import Malformed, as_json, read
from adapters.worker.link import Link
from adapters.worker.proof import own_hello, peer_pid
from adapters.worker.terms import Claim

log = logging.getLogger(__name__)

_CLAIM_S = 5.0
_TOP = 1_000


def stranger(connection: socket.socket) -> bool:
    """Whether nothing that this worker or its agent has started is at the other end: that adopts nobody."""
    pid = peer_pid(connection)
    return pid is not None and all(one.pid != os.getpid() for one in ancestors(pid, _TOP))


class Door:
    """`admits` tells who may ask at all, and `adopts` takes a link for good where the claim is right."""

    def __init__(
        self, admits: Callable[[socket.socket], bool], adopts: Callable[[Claim, Link], Awaitable[bool]]
    ) -> None:
        self._admits = admits
        self._adopts = adopts

    async def visit(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        link = Link(reader, writer)
        adopted = False
        try:
            if not self._admits(writer.get_extra_info("socket")):
                return
            await link.send({"hello": as_json(own_hello())})
            async with asyncio.timeout(_CLAIM_S):
                frame = await link.receive()
            adopted = frame is not None and await self._adopts(read(Claim, frame.get("adopt")), link)
        except (Malformed, TimeoutError) as error:
            log.warning("somebody wanted to adopt this worker: %s", error)
        finally:
            if not adopted:
                link.close()
