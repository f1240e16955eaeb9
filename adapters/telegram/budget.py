"""How much may be sent: Telegram's own limits, which all topics of a chat share."""

from bisect import insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bridge.post import Urgency

_SHARES: Mapping[Urgency, float] = {
    Urgency.REPLY: 1.0,
    Urgency.PROGRESS: 0.6,
    Urgency.MARK: 0.45,
    Urgency.TYPING: 0.3,
    Urgency.REVISION: 0.75,
}
_SHARE = 0.85
"""What is not named above leaves a little for replies to people's commands, which are to come at once."""


@dataclass(frozen=True, slots=True)
class Rate:
    """At most `count` requests in any `per_s` seconds."""

    count: int
    per_s: float

    def opens_at(self, spent: Sequence[float], now: float, share: float) -> float:
        """When the next request fits into `share` of the rate; `now` at the earliest. `spent` is in order; times that
        are well ahead are of before the clock was set back."""
        recent = [at for at in spent if now - self.per_s < at <= now + self.per_s]
        allowed = max(1, int(self.count * share))
        return now if len(recent) < allowed else recent[-allowed] + self.per_s


@dataclass(frozen=True, slots=True)
class Rates:
    """The limits that the Bot API's documentation gives: one message a second in a chat, with small bursts,
    20 a minute in a group, and 30 a second in all."""

    chat: Rate = Rate(3, 3)
    group: Rate = Rate(20, 60)
    bot: Rate = Rate(30, 1)

    def of(self, chat: int) -> Sequence[Rate]:
        """A private chat's id is its user's; those of groups and supergroups are negative."""
        return (self.chat, self.group) if chat < 0 else (self.chat,)


@dataclass(slots=True, eq=False)
class Request:
    """One that is on its way. When it gets there is known only once it has been answered: until then, and for that
    long at most, it counts as being just there."""

    chat: int
    at: float


@dataclass(slots=True)
class _Account:
    spent: list[float] = field(default_factory=list)
    open: list[Request] = field(default_factory=list)


class Budget:
    """What was spent lately, in each chat and in all. Times are the caller's, in seconds."""

    def __init__(self, rates: Rates | None = None) -> None:
        self._rates = rates or Rates()
        self._accounts: dict[int, _Account] = {}
        self._in_all = _Account()

    def take(self, chat: int, now: float, urgency: Urgency) -> Request | float:
        """Spends one request; or spends nothing and returns when to try again."""
        opens = self.opens_at(chat, now, urgency)
        return self.spend(chat, now) if opens <= now else opens

    def opens_at(self, chat: int, now: float, urgency: Urgency) -> float:
        """When such a request may be made; `now` at the earliest."""
        share = _SHARES.get(urgency, _SHARE)
        opens = self._rates.bot.opens_at(_times(self._in_all, now), now, share)
        account = self._accounts.get(chat)
        if account is not None:
            times = _times(account, now)
            opens = max(opens, *(rate.opens_at(times, now, share) for rate in self._rates.of(chat)))
        return opens

    def spend(self, chat: int, now: float) -> Request:
        """Counts a request that must be made whatever is left."""
        request = Request(chat, now)
        for account in (self._accounts.setdefault(chat, _Account()), self._in_all):
            account.open.append(request)
        return request

    def answered(self, request: Request, now: float) -> None:
        """It got there by now at the latest."""
        for account, rates in ((self._accounts[request.chat], self._rates.of(request.chat)), self._all):
            account.open.remove(request)
            insort(account.spent, now)
            longest = max(rate.per_s for rate in rates)
            account.spent = [at for at in account.spent if now - longest < at <= now + longest]

    def withdrawn(self, request: Request) -> None:
        """It never left."""
        for account in (self._accounts[request.chat], self._in_all):
            account.open.remove(request)

    def spent(self, chat: int, on_its_way_s: float) -> list[float]:
        """The times to keep for the next start. A request that is on its way may get there so much later."""
        account = self._accounts.get(chat, _Account())
        return [*account.spent, *(request.at + on_its_way_s for request in account.open)]

    def restore(self, chat: int, spent: Sequence[float], now: float) -> None:
        """What an earlier bridge had spent: nothing of that gets there any more."""
        for account in (self._accounts.setdefault(chat, _Account()), self._in_all):
            account.spent = sorted([*account.spent, *(min(at, now) for at in spent)])

    @property
    def _all(self) -> tuple[_Account, Sequence[Rate]]:
        return self._in_all, (self._rates.bot,)


def _times(account: _Account, now: float) -> list[float]:
    return [*account.spent, *(now for _ in account.open)]
