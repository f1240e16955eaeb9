"""How far selectors reach, whatever sessions there are: what surely holds another, and what may meet another.

A pair is the selectors of a rule's two sides. The sides are looked at together, for `*` and labels match only where
both sides are of one profile. What of many rules holds a pair, or may meet it, is found without reading them one by
one: as in `policy.index` a set of rules is an int.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable

from bridge.decision import Effect, Verb
from policy.index import Index, Sides
from policy.rules import Rule
from policy.selectors import Selector

Pair = tuple[Selector, Selector]


class Reaches:
    def __init__(self, rules: Iterable[Rule]) -> None:
        self._index = Index()
        self._effects: dict[Effect, int] = dict.fromkeys(Effect, 0)
        self._senders, self._recipients = _Near(), _Near()
        for rank, rule in enumerate(rules):
            bit = 1 << rank
            self._index.add(bit, rule.senders, rule.recipients, rule.verbs)
            self._effects[rule.effect] |= bit
            self._senders.add(bit, rule.senders)
            self._recipients.add(bit, rule.recipients)

    def hold(self, pair: Pair, verb: Verb, effects: Collection[Effect]) -> bool:
        """Whether a rule of one of these effects matches all that the pair does. False also where that cannot be
        known."""
        return bool(self._index.between(_holding(pair)) & self._of(verb, effects))

    def meet(self, pair: Pair, verb: Verb, effect: Effect) -> bool:
        """Whether a rule of that effect may match what the pair does. True also where that cannot be known."""
        sender, recipient = pair
        near = self._senders.of(sender) & self._recipients.of(recipient)
        return bool(near & self._of(verb, (effect,)))

    def _of(self, verb: Verb, effects: Collection[Effect]) -> int:
        rules = 0
        for effect in effects:
            rules |= self._effects[effect]
        return rules & self._index.of(verb)


class _Near:
    """The rules whose one side may match a session that a selector matches."""

    def __init__(self) -> None:
        self._named: dict[Selector, int] = defaultdict(int)
        self._profiles: dict[str, int] = defaultdict(int)
        self._unnamed = 0
        self._all = 0

    def add(self, bit: int, selectors: Iterable[Selector]) -> None:
        self._all |= bit
        for each in selectors:
            profile = _profile(each)
            if profile is None:
                self._unnamed |= bit
            else:
                self._named[each] |= bit
                self._profiles[profile] |= bit

    def of(self, selector: Selector) -> int:
        profile = _profile(selector)
        if profile is None:
            return self._all
        if selector.endswith("/*"):
            return self._unnamed | self._profiles.get(profile, 0)
        whole = Selector(f"{profile}/*")
        return self._unnamed | self._named.get(selector, 0) | self._named.get(whole, 0)


def _holding(pair: Pair) -> Sides:
    """The selectors that surely match whatever those of the pair do, side by side."""
    profiles = [_profile(each) for each in pair]
    crosses = None not in profiles and profiles[0] != profiles[1]
    sender, recipient = [
        (each, *([Selector(f"{profile}/*")] if profile is not None else ()), *(() if crosses else (Selector("*"),)))
        for each, profile in zip(pair, profiles, strict=True)
    ]
    return sender, recipient


def _profile(selector: Selector) -> str | None:
    """The profile that it names, if it names one. A label may hold a slash too."""
    if selector.startswith(("tag:", "project:")) or "/" not in selector:
        return None
    return selector.partition("/")[0]
