"""Quiet hours beside rules and grants: the table of `nights.toml`, row by row, each in an exchange of its own."""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from adapters.memory.store import MemoryStore
from bridge.caller import Caller
from bridge.conversation import Conversation
from bridge.errors import Refused
from bridge.grant import Grant
from bridge.ids import ConversationId, MessageId, SessionId
from bridge.message import Intent, Message, Origin
from bridge.ports.store import Change
from bridge.session import Habits, Kind, Session, Source
from bridge.views import Send
from tests.fakes.clock import ManualClock
from tests.flow.stage import ident, session, stage
from tests.policy.notation import grant, read, rule

TABLE = tomllib.loads(Path(__file__).with_name("nights.toml").read_text(encoding="utf-8"))
TIMES = {name: datetime.fromisoformat(text).timestamp() for name, text in TABLE["times"].items()}
DECLARED = [
    session(
        name,
        agent="fake" if one.get("agent", True) else None,
        quiet=tuple(one.get("quiet", ())),
        timezone=one.get("timezone", "UTC"),
        tags=tuple(one.get("tags", ())),
    )
    for name, one in TABLE["sessions"].items()
    if "/" not in name
]


def _hours(one: dict[str, Any]) -> Habits:
    return Habits(quiet=tuple(one["quiet"]), timezone=one["timezone"])


ABROAD = [
    Session(SessionId(name), name, Kind.CHAT, Source.RUNTIME, 0.0, habits=_hours(one))
    for name, one in TABLE["sessions"].items()
    if "/" in name
]

_ROW = re.compile(
    r"(?P<senders>[\w -]+) -> (?P<recipients>[\w /-]+): (?P<what>(?:(?:inform|request)(?:\+wake)?!? )+)"
    r"(?P<times>[\w -]+?)(?: in=(?P<talk>\S+))? = (?P<outcome>\w+) (?P<decider>[\w-]+)(?: until (?P<until>[\w-]+))?"
)


@dataclass(frozen=True, slots=True)
class Night:
    """`what` is sent at `time`; `outcome` is how, by what, and until when it waits."""

    sender: str
    recipient: str
    what: str
    time: str
    talk: str
    outcome: tuple[str, str, float | None]


def nights(text: str) -> Iterator[Night]:
    one = read(_ROW, text)
    outcome = one["outcome"], one["decider"], TIMES[one["until"]] if one["until"] else None
    every = product(one["senders"].split(), one["recipients"].split(), one["what"].split(), one["times"].split())
    for sender, recipient, what, time in every:
        if sender != recipient:
            yield Night(sender, recipient, what, time, one["talk"], outcome)


def timed(text: str) -> Grant:
    """A grant whose end is one of the times of the table."""
    return grant(re.sub(r"until=(\S+)", lambda found: f"until={TIMES[found[1]]}", text))


async def outcome_of(night: Night, block: dict[str, Any]) -> tuple[str, str, float | None]:
    rules = [rule(number, text) for number, text in enumerate(block["rules"], 1)]
    store, clock = MemoryStore(), ManualClock(TIMES[night.time])
    await store.commit(Change(puts=[*ABROAD, *(timed(text) for text in block.get("grants", ()))]))
    earlier = await _earlier(store, night, clock.now()) if night.talk else None
    async with stage(*DECLARED, rules=rules, store=store, clock=clock) as on:
        caller = Caller(ident(night.sender), Origin.PEER, bound=True)
        if night.what.endswith("!"):
            caller = await on.shell(night.sender, Origin.USER)
        intent, _, wake = night.what.rstrip("!").partition("+")
        send = Send(night.recipient, "is it?", Intent(intent), wake=bool(wake), in_reply_to=earlier)
        try:
            receipt = await on.exchange.send(caller, send)
            state, waits = receipt.state.value, receipt.waits_until
        except Refused:
            state, waits = "refused", None
        (verdict,) = await store.recent_verdicts(None, 9)
        return state, verdict.rule.removeprefix("grant:"), waits


async def _earlier(store: MemoryStore, night: Night, now: float) -> MessageId:
    """A message of the conversation that the row names, which what is sent goes on from."""
    one, other, talk = ident(night.recipient), ident(night.sender), ConversationId(night.talk)
    message = Message(
        MessageId("m-1"), one, other, Intent.INFORM, "x", Origin.PEER, False, talk, now, now, now, now + 9_999
    )
    await store.commit(Change(puts=[message, Conversation(talk, one, None, 24, messages=1)]))
    return message.id


@pytest.mark.parametrize("block", TABLE["block"], ids=lambda block: block["name"])
async def test_quiet_hours_keep_what_rules_and_grants_let_in(block: dict[str, Any]) -> None:
    wrong = [
        f"{night} is {found}"
        for text in block["rows"]
        for night in nights(text)
        if (found := await outcome_of(night, block)) != night.outcome
    ]
    assert not wrong, "\n".join(wrong)
