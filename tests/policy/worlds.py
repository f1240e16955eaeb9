"""Small worlds for laws: four ids in two profiles, and every form of selector, so that things meet by chance.

Rules and grants are drawn from pools that are the same each time: to draw each of their parts took most of the time.
"""

from collections.abc import Sequence
from itertools import combinations, permutations, product
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


def _parties(ident: str) -> list[Party]:
    every = product((Kind.CHAT, Kind.SHELL), (None, "p"), LABELS)
    return [Party(SessionId(ident), kind, project, tags) for kind, project, tags in every]


Question = tuple[Party, Party, Verb, Circumstances]
Questions = Sequence[Question]

parties = st.sampled_from([party for ident in IDS for party in _parties(ident)])
crowds = st.lists(parties, max_size=6, unique_by=lambda each: each.id)
times = st.sampled_from([float(time) for time in range(7)])
verbs = st.sampled_from(Verb)
contexts = st.sampled_from([Circumstances(float(now), within) for now, within in product(range(7), CONVERSATIONS)])


def _questions(everybody: Sequence[Party], of: Sequence[Verb], context: Circumstances) -> Questions:
    return [(a, b, verb, context) for a, b in permutations(everybody, 2) for verb in of]


every_party = st.tuples(*(st.sampled_from(_parties(ident)) for ident in IDS))
"""One of each id."""

every_question = st.builds(
    _questions,
    every_party,
    st.sampled_from(list(combinations(Verb, 2))),
    contexts,
)
"""All that one party of each id may ask of another by two verbs. One question alone meets few rules."""


def rules_of(
    selectors: list[str], effect: Effect | None = None, of: Sequence[Verb] = tuple(Verb)
) -> st.SearchStrategy[Rule]:
    return st.sampled_from([_rule(Random(line), selectors, effect, of, line) for line in range(1, POOL)])


def grants_of(
    selectors: list[str], effect: Effect | None = None, of: Sequence[Verb] = tuple(Verb)
) -> st.SearchStrategy[Grant]:
    """Some have ended, some are used up or revoked."""
    return st.sampled_from([_grant(Random(number), selectors, effect, of, number) for number in range(1, POOL)])


def _rule(chance: Random, selectors: list[str], effect: Effect | None, of: Sequence[Verb], line: int) -> Rule:
    senders, recipients = (tuple(map(Selector, _some(chance, selectors, 2))) for _ in range(2))
    verbs = frozenset(_some(chance, of, 4))
    return Rule(senders, recipients, verbs, effect or chance.choice(list(Effect)), f"line {line}", line)


def _grant(chance: Random, selectors: list[str], effect: Effect | None, of: Sequence[Verb], number: int) -> Grant:
    def moment(share: float) -> float | None:
        return float(chance.randrange(7)) if chance.random() < share else None

    return Grant(
        GrantId(f"g-{number}"),
        chance.choice(selectors),
        chance.choice(selectors),
        tuple(_some(chance, of, 4)),
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


def _some(chance: Random, choices: Sequence[_Choice], most: int) -> list[_Choice]:
    return chance.sample(choices, chance.randint(1, min(most, len(choices))))


some_rules = st.lists(rules_of(NAMED + WIDE), max_size=6, unique_by=lambda each: each.line)
some_grants = st.lists(grants_of(NAMED + WIDE), max_size=3, unique_by=lambda each: each.id)

_NEAR, _FEW = ["default/a", "default/b", "*"], (Verb.SEND, Verb.ASK)
close_rules = st.lists(rules_of(_NEAR, of=_FEW), max_size=4, unique_by=lambda each: each.line)
close_grants = st.lists(grants_of(_NEAR, of=_FEW), max_size=3, unique_by=lambda each: each.id)
"""About so little that what allows and what denies often meet, and nothing else stands beside them."""
