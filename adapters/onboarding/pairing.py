"""The one-time code by which a person at the terminal is known in Telegram."""

import hmac
from enum import Enum, auto

from bridge.ports.clock import Clock, Randomness

LIFE_S = 600
TRIES = 5
_LETTERS = "ACDEFGHJKMNPQRTUVWXY34679"
"""None that is taken for another one."""
_LENGTH = 6


class Tried(Enum):
    RIGHT = auto()
    """It is used up by that."""
    WRONG = auto()
    SPENT = auto()
    """That was one wrong code too many: there is a new one."""
    NONE = auto()
    """What was said is no code at all."""


class Pairing:
    """`code` holds for `LIFE_S` and for `TRIES` wrong ones; then it is another one."""

    def __init__(self, clock: Clock, randomness: Randomness) -> None:
        self._clock = clock
        self._randomness = randomness
        self.renew()

    def renew(self) -> None:
        self.code = "".join(self._letter() for _ in range(_LENGTH))
        self._ends_at = self._clock.now() + LIFE_S
        self._wrong = 0

    @property
    def left_s(self) -> float:
        """Not more than 0 where it is over."""
        return self._ends_at - self._clock.now()

    def tried(self, text: str) -> Tried:
        """What somebody has written to the bot: the code alone, or as `/start CODE`, in whatever letters."""
        said = "".join(text.removeprefix("/start").split()).replace("-", "").upper()
        if len(said) != _LENGTH or not set(said) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"):
            return Tried.NONE
        if self.left_s > 0 and hmac.compare_digest(said.encode(), self.code.encode()):
            self.renew()
            return Tried.RIGHT
        self._wrong += 1
        if self._wrong < TRIES:
            return Tried.WRONG
        self.renew()
        return Tried.SPENT

    def _letter(self) -> str:
        while (number := self._randomness.getrandbits(5)) >= len(_LETTERS):
            pass
        return _LETTERS[number]
