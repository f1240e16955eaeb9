"""How much the bot asks of each chat, and how the server holds it back."""

import math
import random
from collections import defaultdict, deque
from collections.abc import Callable, Collection
from dataclasses import dataclass

from tests.fakes.bot_api.world import ApiError

COUNTED = frozenset(
    {
        "sendMessage",
        "sendPhoto",
        "sendDocument",
        "sendMessageDraft",
        "sendChatAction",
        "setMessageReaction",
        "editMessageText",
        "editMessageCaption",
        "editMessageReplyMarkup",
        "deleteMessage",
        "createForumTopic",
        "editForumTopic",
        "closeForumTopic",
        "reopenForumTopic",
        "deleteForumTopic",
    }
)
SENDS = frozenset({"sendMessage", "sendPhoto", "sendDocument"})


@dataclass(frozen=True, slots=True)
class Weather:
    """Chances, between 0 and 1, that a request that counts gets 429 with one of `retry_after`, that a send is done
    and its answer never comes (`silent`), or not before its connection breaks (`lost`), or that its connection is cut
    before or after it is done."""

    seed: int = 0
    flood: float = 0
    retry_after: tuple[int, ...] = (1, 2, 3)
    silent: float = 0
    lost: float = 0
    cut_before: float = 0
    cut_after: float = 0


class Traffic:
    """Times are of the API's clock, in seconds. What was refused counts too: it has been asked."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._asked: dict[int, list[tuple[float, str]]] = defaultdict(list)
        self._floods: dict[int, deque[int]] = defaultdict(deque)
        self._limits: dict[int, tuple[int, float]] = {}
        self._taken: dict[int, deque[float]] = defaultdict(deque)
        self._chance = random.Random(0)
        self.weather = Weather()
        self.refused = 0

    def flood(self, chat: int, retry_after: int, times: int) -> None:
        self._floods[chat].extend([retry_after] * times)

    def limit(self, chat: int, count: int, per_s: float) -> None:
        self._limits[chat] = (count, per_s)

    def turn(self, weather: Weather) -> None:
        self.weather = weather
        self._chance.seed(weather.seed)

    def falls(self, chance: float) -> bool:
        return chance > 0 and self._chance.random() < chance

    def take(self, method: str, chat: int) -> None:
        """Counts a request. Raises `ApiError` where there are too many."""
        now = self._clock()
        counts = method in COUNTED
        if counts:
            self._asked[chat].append((now, method))
        wait_s = self._wait_s(chat, now, counts=counts)
        if wait_s:
            self.refused += 1
            raise ApiError(429, f"Too Many Requests: retry after {wait_s}", {"retry_after": wait_s})

    def times(self, chat: int, methods: Collection[str] = COUNTED) -> list[float]:
        """When the bot asked something of that chat."""
        return [at for at, method in self._asked[chat] if method in methods]

    def busiest(self, chat: int, per_s: float, methods: Collection[str] = COUNTED) -> int:
        """The greatest number in any window of that length that does not hold its end."""
        window: deque[float] = deque()
        most = 0
        for at in self.times(chat, methods):
            window.append(at)
            while window[0] <= at - per_s:
                window.popleft()
            most = max(most, len(window))
        return most

    def _wait_s(self, chat: int, now: float, *, counts: bool) -> int:
        if floods := self._floods[chat]:
            return floods.popleft()
        if not counts:
            return 0
        if self.falls(self.weather.flood):
            return self._chance.choice(self.weather.retry_after)
        if chat not in self._limits:
            return 0
        count, per_s = self._limits[chat]
        taken = self._taken[chat]
        while taken and taken[0] <= now - per_s:
            taken.popleft()
        if len(taken) >= count:
            return max(1, math.ceil(taken[0] + per_s - now))
        taken.append(now)
        return 0
