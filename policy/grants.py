"""Grants, made ready for decisions: which of them hold at a time and in a conversation."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator

from bridge.decision import Circumstances, Effect, Verb
from bridge.grant import Grant, Scope
from bridge.ids import ConversationId
from policy.index import Index, Sides, first
from policy.selectors import Selector


def order(grant: Grant) -> tuple[object, ...]:
    """Denies first; then what lasts, so that what holds once is kept for when nothing else allows it."""
    return grant.effect is not Effect.DENY, grant.scope is Scope.ONCE, grant.given_at, grant.id


class Granted:
    """Compiled grants. An era is the time between two ends of grants: within it, the same ones hold."""

    def __init__(self, grants: Iterable[Grant]) -> None:
        self.ranked = sorted((one for one in grants if one.used_at is None and one.revoked_at is None), key=order)
        self.denies = 0
        self._index = Index()
        self._anywhere = 0
        self._within: dict[ConversationId, int] = defaultdict(int)
        self._ends = sorted({one.expires_at for one in self.ranked if one.expires_at is not None})
        self._live = [0] * (len(self._ends) + 1)
        for rank, grant in enumerate(self.ranked):
            self._add(grant, 1 << rank)

    def _add(self, grant: Grant, bit: int) -> None:
        self._index.add(bit, (Selector(grant.sender),), (Selector(grant.recipient),), grant.verbs)
        if grant.effect is Effect.DENY:
            self.denies |= bit
        if grant.conversation is not None:
            self._within[grant.conversation] |= bit
        elif grant.scope is not Scope.CONVERSATION:
            self._anywhere |= bit
        last = len(self._ends) if grant.expires_at is None else bisect_right(self._ends, grant.expires_at) - 1
        for era in range(last + 1):
            self._live[era] |= bit

    def __bool__(self) -> bool:
        return bool(self.ranked)

    def era(self, now: float) -> int:
        return bisect_right(self._ends, now)

    def matching(self, pair: Sides, verb: Verb, context: Circumstances) -> int:
        grants = self._index.between(pair) & self._index.of(verb)
        if grants:
            grants &= self._live[self.era(context.now)] & self._in(context.conversation)
        return grants

    def by_verb(self, pair: Sides, era: int) -> list[int]:
        """Those that match the pair in whatever conversation, for each of the verbs."""
        grants = self._index.between(pair) & self._live[era]
        return [grants & those for those in self._index.by_verb()]

    def by_conversation(self, grants: int) -> Iterator[int]:
        """Which of these hold in a conversation that no grant names, and then in each that one of them does."""
        yield grants & self._anywhere
        for conversation, those in self._within.items():
            if grants & those:
                yield grants & self._in(conversation)

    def first(self, grants: int) -> Grant:
        return self.ranked[first(grants)]

    def _in(self, conversation: ConversationId | None) -> int:
        return self._anywhere | (self._within.get(conversation, 0) if conversation is not None else 0)
