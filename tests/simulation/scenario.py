"""What a seed says: who is there, who may do what, and what goes wrong."""

import random
from dataclasses import dataclass, replace
from enum import StrEnum

from bridge.decision import Effect, Verb
from bridge.ids import Place, SessionId
from bridge.launching import Options
from bridge.limits import Limits
from bridge.session import Busy, Declared, Habits, Kind, agent_tag
from policy.rules import Rule
from policy.selectors import selector

ALL = (Verb.DISCOVER, Verb.SEND, Verb.ASK, Verb.WAKE)
SCHEME = "room"
HELPER, SECOND = "helper", "second"
"""What children are run by, and what stands in for a session's own agent."""
REPORTS = Place(f"{SCHEME}:office")


class Misfortune(StrEnum):
    CRASH = "a node is killed"
    RESTART = "a node is drained and started again"
    FREEZE = "a node is stopped and goes on later"
    OUTAGE = "the store is out of reach"
    REFUSALS = "the store refuses now and then"
    AMBIGUOUS = "the store tells of an error although it has stored"
    SLOW_STORE = "the store is slow"
    LOST_WAKES = "wake-ups are lost"
    REPEATED_WAKES = "wake-ups are repeated"
    CLOCKS = "clocks jump"
    CHAT = "the chat refuses, is slow, and leaves open what it has shown"
    AGENTS = "agents fail, hang, and do not start"
    KILLS = "agents and their workers are killed"
    RECORDS = "what is on record of a turn is damaged"
    BROKEN_CALLS = "connections break when a call has been carried out"


@dataclass(frozen=True, slots=True)
class Member:
    """A session, and the group by which the rules speak of it."""

    id: SessionId
    group: str
    places: tuple[Place, ...] = ()
    agent: str | None = None
    busy: Busy = Busy.QUEUE
    quiet: tuple[str, ...] = ()
    fallback: tuple[str, ...] = ()

    @property
    def handle(self) -> str:
        return self.id.partition("/")[2]

    def declared(self) -> Declared:
        return Declared(
            self.id,
            self.handle.title(),
            Kind.CHAT if self.agent else Kind.SHELL,
            agent=self.agent,
            tags=(self.group,),
            places=self.places,
            habits=Habits(busy=self.busy, quiet=self.quiet),
            options=Options(fallback=self.fallback),
        )


@dataclass(frozen=True, slots=True)
class Scenario:
    """A commit takes `latency_s` at most where nothing goes wrong."""

    seed: int
    members: tuple[Member, ...]
    misfortunes: frozenset[Misfortune]
    nodes: int
    messages: int
    latency_s: float
    limits: Limits
    unattended: frozenset[Place]

    def chance(self, stream: str) -> random.Random:
        """Randomness of its own for each purpose, the same in every process."""
        return random.Random(f"{self.seed}/{stream}")

    def rules(self) -> list[Rule]:
        """They say what `may` says, in the words of the operator's file."""
        denied = self.members[1].id, self.members[2].id
        return [
            _rule("tag:office", "tag:office"),
            _rule("kind:shell", "tag:office"),
            _rule("tag:annex", "tag:annex"),
            _rule("tag:office", f"tag:{agent_tag(HELPER)}", (Verb.SPAWN,)),
            _rule("tag:office", "tag:annex", (Verb.DISCOVER, Verb.SEND, Verb.ASK)),
            _rule(denied[0], denied[1], ALL, Effect.DENY),
            *(_rule(sender, recipient, ALL, Effect.ASK) for sender, recipient in self._asked_about),
        ]

    def asks(self, sender: SessionId, recipient: SessionId) -> bool:
        """Whether an operator has to approve what one sends the other."""
        return (sender, recipient) in self._asked_about

    @property
    def _asked_about(self) -> list[tuple[SessionId, SessionId]]:
        last, first = self.members[-1].id, self.members[0].id
        return [(last, first), (self.members[3].id, self.members[4].id)]

    def may(self, sender: Member, recipient: Member, verb: Verb) -> bool:
        if (sender.id, recipient.id) == (self.members[1].id, self.members[2].id):
            return False
        match sender.group, recipient.group:
            case ("office" | "shell", "office") | ("annex", "annex"):
                return True
            case "office", "annex":
                return verb is not Verb.WAKE
            case _:
                return False

    def sees(self, one: Member, other: Member) -> bool:
        return any(self.may(one, other, verb) or self.may(other, one, verb) for verb in ALL)


def scenario(seed: int, *, sessions: int, messages: int, nodes: int) -> Scenario:
    """Each seed leaves some misfortunes out, so that what one of them hides is seen without it."""
    chance = random.Random(f"{seed}/scenario")
    members = tuple(_member(number, sessions, chance) for number in range(sessions))
    share = chance.choice((0.0, 0.2, 0.4, 0.7))
    attended = chance.random() < 0.8
    return Scenario(
        seed=seed,
        members=_stood_in_for(_quiet(_busy(members, seed), seed), seed),
        misfortunes=frozenset(one for one in Misfortune if chance.random() < share),
        nodes=chance.randint(1, nodes),
        messages=messages,
        latency_s=chance.choice((0.004, 0.004, 0.2)),
        limits=Limits(
            max_chars=400,
            inbox=chance.choice((5, 50)),
            open_requests=chance.choice((5, 50)),
            depth=chance.choice((3, 6)),
            conversation_messages=chance.choice((8, 24)),
            pair_messages=chance.choice((5, 20)),
            message_life_s=3_600,
            held_life_s=60,
            retention_s=5_400,
            idle_close_s=chance.choice((20, 90)),
            stop_grace_s=5,
            worker_grace_s=chance.choice((3, 10)),
            cause_memory_s=120,
            question_timeout_s=20,
            progress_every_s=15,
        ),
        unattended=frozenset(place for one in members for place in one.places if not attended or chance.random() < 0.1),
    )


def _member(number: int, of: int, chance: random.Random) -> Member:
    """Shells come last, before them the annex, which the shells cannot see."""
    handle = f"s{number:02}"
    ident = SessionId(f"default/{handle}")
    if number >= of - 3:
        return Member(ident, "shell")
    group = "annex" if number >= of - 7 else "office"
    places = [Place(f"{SCHEME}:{handle}")]
    if chance.random() < 0.15:
        places.append(Place(f"{SCHEME}:{handle}-too"))
    if chance.random() < 0.4:
        places.clear()
    return Member(ident, group, tuple(places), agent="embedding" if chance.random() < 0.15 else "pulling")


def _busy(members: tuple[Member, ...], seed: int) -> tuple[Member, ...]:
    """In every third seed or so some collect what comes in a row, some are told of it, and some take nothing while they
    are at work."""
    chance = random.Random(f"{seed}/busy")
    if chance.random() < 0.65:
        return members
    ways = (Busy.QUEUE, Busy.COLLECT, Busy.COLLECT, Busy.REJECT, Busy.STEER)
    return tuple(replace(one, busy=chance.choice(ways)) if one.agent else one for one in members)


def _quiet(members: tuple[Member, ...], seed: int) -> tuple[Member, ...]:
    """In every third seed or so some have quiet hours of a few minutes: the world begins at eight."""
    chance = random.Random(f"{seed}/quiet")
    if chance.random() < 0.65:
        return members
    hours = ((), ("08:00-08:02",), ("08:01-08:03", "08:02-08:04"), ("08:05-08:06",))
    return tuple(replace(one, quiet=chance.choice(hours)) for one in members)


def _stood_in_for(members: tuple[Member, ...], seed: int) -> tuple[Member, ...]:
    """In every third seed or so others stand in for some of the agents."""
    chance = random.Random(f"{seed}/fallback")
    if chance.random() < 0.65:
        return members
    ways = ((), (SECOND,), (SECOND, "third"))
    return tuple(replace(one, fallback=chance.choice(ways)) if one.agent else one for one in members)


def _rule(sender: str, recipient: str, verbs: tuple[Verb, ...] = ALL, effect: Effect = Effect.ALLOW) -> Rule:
    name = f"{sender}->{recipient}"
    return Rule((selector(sender),), (selector(recipient),), frozenset(verbs), effect, name, None)
