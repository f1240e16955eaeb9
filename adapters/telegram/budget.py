"""How much may be sent: Telegram's own limits, which all topics of a chat share."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rate:
    """At most `count` requests in any `per_s` seconds."""

    count: int
    per_s: float

    def opens_at(self, spent: Iterable[float], now: float, share: float) -> float:
        """When the next request fits into `share` of the rate; `now` at the earliest."""
        recent = [at for at in spent if now - self.per_s < at <= now]
        allowed = max(1, int(self.count * share))
        return now if len(recent) < allowed else recent[-allowed] + self.per_s


@dataclass(frozen=True, slots=True)
class Rates:
    """The limits that the Bot API's documentation gives: one message a second in a chat, with small bursts,
    20 a minute in a group, and 30 a second in all.

    `yielding` is the share that requests which can wait may use, so that the rest is always there for others.
    """

    chat: Rate = Rate(3, 3)
    group: Rate = Rate(20, 60)
    bot: Rate = Rate(30, 1)
    yielding: float = 0.6


class Budget:
    """What was spent lately. Times are the caller's, in seconds; a halt of one chat leaves the others alone."""

    def __init__(self, rates: Rates | None = None) -> None:
        self._rates = rates or Rates()
        self._spent: dict[int, deque[float]] = {}
        self._spent_in_all: deque[float] = deque(maxlen=self._rates.bot.count)
        self._halted: dict[int, float] = {}

    def take(self, chat: int, now: float, *, yielding: bool) -> float | None:
        """Spends one request and returns None; or spends nothing and returns when to try again."""
        opens = self._opens_at(chat, now, self._rates.yielding if yielding else 1.0)
        if opens > now:
            return opens
        self.spend(chat, now)
        return None

    def spend(self, chat: int, now: float) -> None:
        """Counts a request that must be made whatever is left."""
        longest = max(self._rates.chat.count, self._rates.group.count)
        self._spent.setdefault(chat, deque(maxlen=longest)).append(now)
        self._spent_in_all.append(now)

    def halt(self, chat: int, until: float) -> None:
        """Telegram wants nothing for that chat before `until`."""
        self._halted[chat] = max(until, self._halted.get(chat, until))

    def _opens_at(self, chat: int, now: float, share: float) -> float:
        spent = self._spent.get(chat, ())
        rates = self._rates
        opens = [rates.chat.opens_at(spent, now, share), rates.bot.opens_at(self._spent_in_all, now, share)]
        if chat < 0:  # groups and supergroups; a private chat's id is its user's
            opens.append(rates.group.opens_at(spent, now, share))
        return max(*opens, self._halted.get(chat, now))
