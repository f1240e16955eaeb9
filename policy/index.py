"""Which of many ranked entries match a question, without reading them one by one.

A set of entries is an int: bit n stands for the entry of rank n. The entries that match a question are the
intersection of three sets (those for the verb, for the sender, for the recipient), and the one that comes first is
the lowest bit. A question costs a few look-ups and big-integer operations, however many entries there are.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

from bridge.decision import Party, Verb
from bridge.ids import profile_of
from policy.selectors import Selector, by_name, within_profile

Sides = tuple[tuple[Selector, ...], tuple[Selector, ...]]


def sides(sender: Party, recipient: Party) -> Sides:
    """The selectors that match the sender, and those that match the recipient, as far as the two see each other."""
    if profile_of(sender.id) != profile_of(recipient.id):
        return by_name(sender), by_name(recipient)
    return by_name(sender) + within_profile(sender), by_name(recipient) + within_profile(recipient)


class Index:
    def __init__(self) -> None:
        self._verbs: dict[Verb, int] = dict.fromkeys(Verb, 0)
        self._senders: dict[Selector, int] = defaultdict(int)
        self._recipients: dict[Selector, int] = defaultdict(int)

    def add(self, bit: int, senders: Iterable[Selector], recipients: Iterable[Selector], verbs: Iterable[Verb]) -> None:
        for verb in verbs:
            self._verbs[verb] |= bit
        for each in senders:
            self._senders[each] |= bit
        for each in recipients:
            self._recipients[each] |= bit

    def between(self, pair: Sides) -> int:
        """Those that match the pair, whatever the verb."""
        matching = _union(self._senders, pair[0])
        return matching & _union(self._recipients, pair[1]) if matching else 0

    def of(self, verb: Verb) -> int:
        return self._verbs[verb]

    def by_verb(self) -> Collection[int]:
        return self._verbs.values()


def first(entries: int) -> int:
    """The rank of the one that comes first; there must be one."""
    return (entries & -entries).bit_length() - 1


def ranks(entries: int) -> Iterable[int]:
    """Every rank in the set, the first one first."""
    while entries:
        yield first(entries)
        entries &= entries - 1


def _union(index: Mapping[Selector, int], selectors: Iterable[Selector]) -> int:
    entries = 0
    for each in selectors:
        entries |= index.get(each, 0)
    return entries
