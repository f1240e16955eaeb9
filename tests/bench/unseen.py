"""Whether the time that an answer takes tells what may not be discovered from what does not exist.

Each way is gone with something hidden and, twice, with something that is not there, all in turn. How far the two that
are not there lie apart is the noise of the measure; the ratio is how much further apart what is hidden lies. The steps
of a long conversation have to be looked at to know that none of them concerns who asks.
"""

import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from statistics import median

from adapters.sqlite.store import open_store
from bridge.caller import Caller
from bridge.decision import Effect, Verb
from bridge.errors import Refused
from bridge.flow.exchange import Exchange
from bridge.ids import SessionId
from bridge.message import Intent, Origin
from bridge.session import Busy, Declared, Habits, Kind
from bridge.views import Send
from policy.decide import Rules
from policy.rules import Rule
from policy.selectors import selector
from tests.bench.home import exchange_over
from tests.bench.mail import TEXT
from tests.bench.result import Result, micros

DESK = Caller(SessionId("default/desk"), Origin.PEER, bound=True)
OTHER = Caller(SessionId("default/shell"), Origin.PEER)
MISSING = ("01a3185c-0000-7000-8000-000000000000", "01a3185c-0000-7000-8000-000000000001")
MAIL = 18

Way = Callable[[str], Awaitable[object]]


async def unseen(folder: Path, *, rounds: int) -> list[Result]:
    store = await open_store(folder / "unseen.db")
    try:
        async with exchange_over(store, _policy()) as exchange:
            tags, rejects = ("office", "people"), Habits(busy=Busy.REJECT)
            secret = Declared(SessionId("default/secret"), "Secret", Kind.SHELL, habits=rejects, tags=tags)
            await exchange.start([secret, replace(secret, id=DESK.session, tags=())])
            talk = await _talk(exchange)
            ways: dict[str, tuple[Way, tuple[str, str, str], float]] = {
                "a session": (
                    lambda name: exchange.send(DESK, Send(name, TEXT, wake=True)),
                    ("secret", "absent", "nobody"),
                    1.1,
                ),
                "a message": (lambda which: exchange.reply(DESK, which, TEXT), (talk[0], *MISSING), 1.1),
                "a conversation": (lambda which: exchange.trace(DESK, which), (talk[1], *MISSING), 1.25),
            }
            return [await _compared(f"asking for {what} of others", *way, rounds) for what, way in ways.items()]
    finally:
        await store.close()


async def _talk(exchange: Exchange) -> tuple[str, str]:
    """A message and its conversation, in which there are many."""
    first = await exchange.send(OTHER, Send("secret", TEXT, Intent.REQUEST))
    for _ in range(MAIL):
        await exchange.send(OTHER, Send("secret", TEXT, Intent.INFORM, in_reply_to=first.message_id))
    return first.message_id, first.conversation_id


async def _compared(what: str, way: Way, names: tuple[str, str, str], must: float, rounds: int) -> Result:
    taken: tuple[list[float], ...] = ([], [], [])
    for number in range(rounds):
        for turn in range(3):
            which = (number + turn) % 3
            taken[which].append(await _timed(way, names[which]))
    hidden, absent, another = map(median, taken)
    apart, noise = _apart(hidden, absent), _apart(absent, another)
    return Result(
        f"{what}, hidden over absent",
        f"{micros(hidden)}, {apart:.3f}",
        f"absent {micros(absent)}, noise {noise:.3f}",
        apart / noise,
        must,
        less_is_better=True,
    )


def _apart(one: float, other: float) -> float:
    return max(one, other) / min(one, other)


async def _timed(way: Way, name: str) -> float:
    began = time.perf_counter()
    try:
        await way(name)
    except Refused:
        return time.perf_counter() - began
    raise AssertionError(f"{name} was found")


def _policy() -> Rules:
    verbs = frozenset({Verb.SEND, Verb.ASK})
    return Rules(
        [Rule((selector("default/shell"),), (selector("default/secret"),), verbs, Effect.ALLOW, "the only", 1)]
    )
