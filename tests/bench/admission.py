"""What a user gets: the whole way of a message, with 1,000 rules, the decision's record and the trace, through the core
and through the control socket. Beside it a mailbox of files, as one would write it with mkstemp, fsync and rename."""

import asyncio
import os
import tempfile
import time
from pathlib import Path

from adapters.api.server import ControlServer
from adapters.cli.connection import Connection
from adapters.sqlite.store import open_store
from bridge.caller import Caller
from bridge.decision import Effect, Verb
from bridge.flow.exchange import Exchange
from bridge.ids import SessionId
from bridge.message import Intent, Origin
from bridge.session import Declared, Kind
from bridge.views import Send
from policy.decide import Rules
from policy.rules import Rule
from policy.selectors import selector
from tests.bench.home import exchange_over
from tests.bench.mail import TEXT, recipient_of
from tests.bench.result import Result, micros, p50, rate

RULES = 1_000
SENDERS = 64


async def admission(folder: Path, *, rounds: int) -> list[Result]:
    store = await open_store(folder / "admission.db")
    users = _Users(folder)
    try:
        async with exchange_over(store, _policy()) as exchange:
            server = ControlServer(exchange, folder / "run" / "control.sock")
            serving = asyncio.create_task(server.serve())
            await exchange.start(_declared())
            await exchange.begin()
            await server.accepting.wait()
            for _ in range(rounds):
                await users.round(exchange)
            await server.close()
            await serving
    finally:
        await store.close()
    return users.results()


class _Users:
    """The least p50, or the greatest rate, of all rounds."""

    def __init__(self, folder: Path) -> None:
        self._socket = Connection(str(folder / "run" / "control.sock"), None, str(_sender(0)))
        self._files = folder / "files"
        self._files.mkdir()
        self._sent = 0
        self._file = self._core = self._shell = float("inf")
        self._many = 0.0

    async def round(self, exchange: Exchange) -> None:
        self._file = min(self._file, p50([_delivered(self._files) for _ in range(40)]))
        self._core = min(self._core, p50([await self._send(exchange, 0) for _ in range(40)]))
        self._shell = min(self._shell, p50(await asyncio.to_thread(self._through_the_socket, 20)))

        async def caller(number: int) -> None:
            for _ in range(8):
                await self._send(exchange, number)

        began = time.perf_counter()
        await asyncio.gather(*(caller(number) for number in range(SENDERS)))
        self._many = max(self._many, SENDERS * 8 / (time.perf_counter() - began))

    def results(self) -> list[Result]:
        beside = f"a file mailbox {micros(self._file)}"
        return [
            Result("admission p50, one caller", micros(self._core), beside, self._core / self._file),
            Result("admission, 64 callers", rate(self._many), f"files {rate(1 / self._file)}", self._many * self._file),
            Result("through the control socket p50", micros(self._shell), beside, self._shell / self._file),
        ]

    async def _send(self, exchange: Exchange, sender: int) -> float:
        send = Send(self._next(), TEXT, Intent.INFORM)
        began = time.perf_counter()
        await exchange.send(Caller(_sender(sender), Origin.PEER, bound=True), send)
        return time.perf_counter() - began

    def _through_the_socket(self, count: int) -> list[float]:
        taken = []
        for _ in range(count):
            began = time.perf_counter()
            self._socket.post("/v1/send", {"to": self._next(), "text": TEXT, "intent": "inform"})
            taken.append(time.perf_counter() - began)
        return taken

    def _next(self) -> str:
        self._sent += 1
        return recipient_of(self._sent % RULES)


def _delivered(folder: Path) -> float:
    began = time.perf_counter()
    file, name = tempfile.mkstemp(dir=folder)
    os.write(file, TEXT.encode())
    os.fsync(file)
    os.close(file)
    os.rename(name, f"{name}.mail")
    return time.perf_counter() - began


def _sender(number: int) -> SessionId:
    return SessionId(f"default/sender-{number}")


def _declared() -> list[Declared]:
    every = [*(recipient_of(number) for number in range(RULES)), *(_sender(number) for number in range(SENDERS))]
    return [Declared(one, "A program", Kind.SHELL, tags=("office",)) for one in every]


def _policy() -> Rules:
    verbs = frozenset({Verb.DISCOVER, Verb.SEND, Verb.ASK, Verb.WAKE})
    return Rules(
        Rule(
            (selector("tag:office"),), (selector(recipient_of(number)),), verbs, Effect.ALLOW, f"policy.rules[{number}]"
        )
        for number in range(RULES)
    )
