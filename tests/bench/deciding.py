"""What one decision of the policy costs: over 1,000 rules of every form, with 1,000 grants beside them, and whether
that depends on how many sessions there are."""

import time
from collections import defaultdict
from random import Random

from bridge.decision import Circumstances, Effect, Party, Verb
from bridge.grant import Grant, GrantId, Scope
from bridge.ids import ConversationId
from bridge.session import Kind
from policy.decide import Rules
from policy.rules import Rule
from policy.selectors import Selector, selector
from tests.bench.mail import recipient_of
from tests.bench.result import Result, p50

RULES = GRANTS = 1_000
FEW, MANY = 10, 10_000
QUESTIONS = 5_000
NOW = 1_800_000_000.0

Question = tuple[Party, Party, Verb, Circumstances]


def deciding(*, rounds: int) -> list[Result]:
    few, many = (_taken(sessions, rounds) for sessions in (FEW, MANY))
    kind, worst = max(many.items(), key=lambda each: each[1])
    each = ", ".join(f"{name} {micros:.1f}" for name, micros in many.items())
    return [
        Result(
            f"a decision over {RULES:,} rules, in µs", f"{kind} {worst:.1f}", each, worst, 50, 25, less_is_better=True
        ),
        Result(
            f"the same with {MANY:,} sessions, over {FEW}",
            f"{worst:.1f} µs",
            f"{few[kind]:.1f} µs",
            worst / few[kind],
            1.5,
            less_is_better=True,
        ),
    ]


def _taken(sessions: int, rounds: int) -> dict[str, float]:
    """Microseconds of each kind of decision: the least median of all rounds."""
    chance = Random(7)
    parties = [_party(number) for number in range(sessions)]
    policy = Rules(_rules(chance)).granted(_grants(chance, sessions))
    kinds: dict[str, list[Question]] = defaultdict(list)
    for _ in range(QUESTIONS):
        a, b = chance.sample(parties, 2)
        question = a, b, chance.choice(list(Verb)), Circumstances(NOW, ConversationId("c-1"))
        decision = policy.decide(*question)
        kinds["by grant" if decision.grant else _SAID[decision.effect]].append(question)
    assert kinds.keys() == {"by grant", *_SAID.values()}, kinds.keys()
    return {kind: min(_median(policy, those[:400]) for _ in range(rounds)) for kind, those in sorted(kinds.items())}


_SAID = {Effect.ALLOW: "allowed", Effect.ASK: "asked", Effect.DENY: "refused"}


def _median(policy: Rules, questions: list[Question]) -> float:
    taken = []
    for question in questions:
        began = time.perf_counter()
        policy.decide(*question)
        taken.append(time.perf_counter() - began)
    return p50(taken) * 1e6


def _party(number: int) -> Party:
    kind = (Kind.CHAT, Kind.TERMINAL, Kind.SHELL)[number % 3]
    tags = frozenset(f"t-{(number + step) % 50}" for step in (0, 7, 19))
    return Party(recipient_of(number), kind, f"p-{number % 20}", tags)


def _rules(chance: Random) -> list[Rule]:
    """Half of them name sessions, the others what sessions have in common; most allow."""
    return [
        Rule(
            (_side(chance),),
            (_side(chance),),
            frozenset(chance.sample(list(Verb), 2)),
            chance.choices(list(Effect), (90, 8, 2))[0],
            f"policy.rules[{line}]",
            line,
        )
        for line in range(1, RULES + 1)
    ]


def _side(chance: Random) -> Selector:
    common = ("kind:chat", "kind:shell", f"tag:t-{chance.randrange(50)}", f"project:p-{chance.randrange(20)}")
    wide = ("*", "default/*") if chance.random() < 0.05 else common
    return selector(recipient_of(chance.randrange(FEW)) if chance.random() < 0.5 else chance.choice(wide))


def _grants(chance: Random, sessions: int) -> list[Grant]:
    """Two thirds name a pair of sessions, the others what sessions have in common."""
    return [_grant(chance, number, sessions) for number in range(GRANTS)]


def _grant(chance: Random, number: int, sessions: int) -> Grant:
    pair = number % 3 > 0
    sender, recipient = (
        recipient_of(chance.randrange(sessions)) if pair else f"tag:t-{chance.randrange(50)}" for _ in range(2)
    )
    return Grant(
        GrantId(f"g-{number}"),
        sender,
        recipient,
        tuple(chance.sample(list(Verb), 2)),
        Effect.ALLOW,
        Scope.PAIR if pair else Scope.ALWAYS,
        "ada",
        "cli",
        given_at=NOW,
        expires_at=NOW + chance.randrange(1, 9_999) if number % 2 else None,
    )
