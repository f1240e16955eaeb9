"""How far selectors reach, whatever sessions there are: what surely holds another, and what may meet another.

A pair is the selectors of a rule's two sides. The sides are looked at together, for `*` and labels match only where
both sides are of one profile.
"""

from policy.selectors import Selector

Pair = tuple[Selector, Selector]


def covers(wide: Pair, narrow: Pair) -> bool:
    """Whether all that `narrow` matches is matched by `wide` too. False also where that cannot be known."""
    crosses = _crosses(narrow)
    return all(_covers(one, other, crosses) for one, other in zip(wide, narrow, strict=True))


def meets(one: Pair, other: Pair) -> bool:
    """Whether there may be sessions that both match. True also where that cannot be known."""
    return all(map(_meets, one, other))


def _crosses(pair: Pair) -> bool:
    sender, recipient = map(_profile, pair)
    return sender is not None and recipient is not None and sender != recipient


def _covers(wide: Selector, narrow: Selector, crosses: bool) -> bool:
    return wide in (narrow, f"{_profile(narrow)}/*") or (wide == "*" and not crosses)


def _meets(one: Selector, other: Selector) -> bool:
    profiles = {_profile(one), _profile(other)} - {None}
    if len(profiles) > 1:
        return False
    named = [each for each in (one, other) if _profile(each) is not None]
    return one == other or len(named) < 2 or any(each.endswith("/*") for each in named)


def _profile(selector: Selector) -> str | None:
    """The profile that it names, if it names one. A label may hold a slash too."""
    if selector.startswith(("tag:", "project:")) or "/" not in selector:
        return None
    return selector.partition("/")[0]
