"""Processes that several agents in persons' terminals share, and the tool servers that they start (DESIGN §6).

A host has no terminal, and outlives the one that it was started from. It is trusted from when it was seen below a
terminal until it ends. A tool server is of one of its threads; which, each call of its tools tells.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any

from bridge.ids import SessionId
from bridge.terminal import Joining
from bridge.turn import Process

Gone = Callable[[Process], Awaitable[None]]
"""Returns once a process has ended."""

Start = Callable[[Coroutine[Any, Any, None]], object]
"""Has something done beside."""


@dataclass(slots=True)
class Server:
    """`session` is that of the thread which called last."""

    joining: Joining
    session: SessionId | None = None
    gone: asyncio.Event = field(default_factory=asyncio.Event)


class Hosts:
    def __init__(self, gone: Gone, start: Start) -> None:
        self._gone = gone
        self._start = start
        self._trusted: set[Process] = set()
        self._servers: dict[str, Server] = {}

    def trust(self, host: Process) -> None:
        if host not in self._trusted:
            self._trusted.add(host)
            self._start(self._until_gone(host))

    def trusted(self, process: Process) -> bool:
        return process in self._trusted

    def above(self, pids: Sequence[int]) -> tuple[Process, int] | None:
        """The nearest host above the first of `pids`, and the process right below it that comes next."""
        known = {host.pid: host for host in self._trusted}
        return next(((known[pid], pids[at]) for at, pid in enumerate(pids[1:]) if pid in known), None)

    def serve(self, digest: str, joining: Joining) -> None:
        """From now on the digest of a token stands for a tool server, until that ends."""
        self._servers[digest] = Server(joining)
        self._start(self._served(digest, joining.agent))

    def server(self, digest: str) -> Server | None:
        return self._servers.get(digest)

    def forget(self, session: SessionId) -> None:
        """No server is of a session that its thread has left."""
        for server in self._servers.values():
            if server.session == session:
                server.session = None

    async def _until_gone(self, host: Process) -> None:
        await self._gone(host)
        self._trusted.discard(host)

    async def _served(self, digest: str, process: Process) -> None:
        await self._gone(process)
        self._servers.pop(digest).gone.set()
