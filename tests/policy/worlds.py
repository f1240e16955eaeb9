"""Small worlds for laws: four ids in two profiles, and every form of selector, so that things meet by chance.

Rules and grants are drawn from pools that are the same each time: to draw each of their parts took most of the time.
"""

from itertools import product
from random import Random
from typing import TypeVar

from hypothesis import strategies as st

from bridge.decision import Circumstances, Effect, Party, Verb
from bridge.grant import Grant, GrantId, Scope
from bridge.ids import ConversationId, SessionId
from bridge.session import Kind
from policy.rules import Rule
from policy.selectors import Selector

_Choice = TypeVar("_Choice")

PROFILES = ("default", "work")
HANDLES = ("a", "b")
IDS = [f"{profile}/{handle}" for profile in PROFILES for handle in HANDLES]
WIDE = ["*", "tag:x", "tag:y", "kind:chat", "kind:shell", "project:p"]
NAMED = [*IDS, *(f"{profile}/*" for profile in PROFILES)]
CONVERSATIONS = [None, ConversationId("c-1"), ConversationId("c-2")]

LABELS = [frozenset(tags) for tags in ((), ("x",), ("y",), ("x", "y"))]
POOL = 2_000

parties = st.sampled_from(
    [
        Party(SessionId(ident), kind, project, tags)
        for ident, kind, project, tags in product(IDS, (Kind.CHAT, Kind.SHELL), (None, "p"), LABELS)
    ]
)
crowds = st.lists(parties, max_size=6, unique_by=lambda each: each.id)
verbs = st.sampled_from(Verb)
times = st.sampled_from([float(time) for time in range(7)])
contexts = st.sampled_from([Circumstances(float(now), within) for now, within in product(range(7), CONVERSATIONS)])


def rules_of(selectors: list[str], effect: Effect | None = None) -> st.SearchStrategy[Rule]:
    return st.sampled_from([_rule(Random(line), selectors, effect, line) for line in range(1, POOL)])


def grants_of(selectors: list[str], effect: Effect | None = None) -> st.SearchStrategy[Grant]:
    """Some have ended, some are used up or revoked."""
    return st.sampled_from([_grant(Random(number), selectors, effect, number) for number in range(1, POOL)])


def _rule(chance: Random, selectors: list[str], effect: Effect | None, line: int) -> Rule:
    senders, recipients = (tuple(map(Selector, _some(chance, selectors, 2))) for _ in range(2))
    of = frozenset(_some(chance, list(Verb), 4))
    return Rule(senders, recipients, of, effect or chance.choice(list(Effect)), f"line {line}", line)


def _grant(chance: Random, selectors: list[str], effect: Effect | None, number: int) -> Grant:
    def moment(share: float) -> float | None:
        return float(chance.randrange(7)) if chance.random() < share else None

    return Grant(
        GrantId(f"g-{number}"),
        chance.choice(selectors),
        chance.choice(selectors),
        tuple(_some(chance, list(Verb), 4)),
        effect or chance.choice([Effect.ALLOW, Effect.DENY]),
        chance.choice(list(Scope)),
        "ada",
        "cli",
        given_at=float(chance.randrange(7)),
        expires_at=moment(0.5),
        conversation=chance.choice(CONVERSATIONS),
        used_at=moment(0.2),
        revoked_at=moment(0.2),
    )


def _some(chance: Random, choices: list[_Choice], most: int) -> list[_Choice]:
    return chance.sample(choices, chance.randint(1, most))


some_rules = st.lists(rules_of(NAMED + WIDE), max_size=6, unique_by=lambda each: each.line)
some_grants = st.lists(grants_of(NAMED + WIDE), max_size=3, unique_by=lambda each: each.id)
