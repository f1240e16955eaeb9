"""Which sessions a rule is about, for all of them at once.

Sessions that no rule tells apart are one group, and a set of groups is an int: bit n stands for the group n. So what
is true of each pair of ten thousand sessions is found without looking at each pair.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bridge.decision import Party
from bridge.ids import profile_of
from policy.index import ranks
from policy.rules import Rule
from policy.selectors import Selector, by_name, within_profile


@dataclass(frozen=True, slots=True)
class Reach:
    """The groups on both sides of a rule: all of them, and those that are named together with their profile, which
    alone it matches from profile to profile."""

    senders: int
    recipients: int
    named_senders: int
    named_recipients: int


class Roster:
    def __init__(self, rules: Iterable[Rule], sessions: Iterable[Party]) -> None:
        used = {each for rule in rules for each in (*rule.senders, *rule.recipients)}
        members: dict[tuple[str, frozenset[Selector]], set[str]] = defaultdict(set)
        for party in sessions:
            matching = used.intersection((*by_name(party), *within_profile(party)))
            members[profile_of(party.id), frozenset(matching)].add(party.id)
        self._groups: dict[Selector, int] = defaultdict(int)
        self._profiles: dict[str, int] = defaultdict(int)
        self._alone = 0
        self._own: list[str] = []
        for number, ((profile, matching_all), those) in enumerate(members.items()):
            for selector in matching_all:
                self._groups[selector] |= 1 << number
            self._profiles[profile] |= 1 << number
            self._own.append(profile)
            if len(those) == 1:
                self._alone |= 1 << number

    @property
    def size(self) -> int:
        """The number of groups."""
        return len(self._own)

    def groups(self, selectors: Iterable[Selector]) -> int:
        """The groups that any of these match."""
        groups = 0
        for each in selectors:
            groups |= self._groups.get(each, 0)
        return groups

    def reach(self, senders: Sequence[Selector], recipients: Sequence[Selector]) -> Reach:
        return Reach(
            self.groups(senders),
            self.groups(recipients),
            self.groups(each for each in senders if _names_profile(each)),
            self.groups(each for each in recipients if _names_profile(each)),
        )

    def recipients(self, reach: Reach, sender: int) -> int:
        """To which groups it lets a session of this group send; its own among them if that has another session."""
        bit = 1 << sender
        own = self._profiles[self._own[sender]]
        groups = reach.recipients & own if reach.senders & bit else 0
        if reach.named_senders & bit:
            groups |= reach.named_recipients & ~own
        return groups & ~(bit & self._alone)

    def meets(self, reach: Reach) -> bool:
        """Whether any two sessions are matched."""
        return any(self.recipients(reach, sender) for sender in ranks(reach.senders))

    def meets_across(self, reach: Reach) -> bool:
        """Whether any two sessions would be, if everything went from profile to profile."""
        return any(reach.recipients & ~(1 << sender & self._alone) for sender in ranks(reach.senders))


def _names_profile(selector: Selector) -> bool:
    return selector.partition(":")[2] == "" and "/" in selector
