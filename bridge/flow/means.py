"""What every part of the flow works with."""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass

from bridge.backoff import FullJitter
from bridge.ids import SHELL, Ids, NodeId, Place, scheme_of
from bridge.limits import Limits
from bridge.ports.chat import Chat
from bridge.ports.clock import Clock, Randomness
from bridge.ports.store import Store
from bridge.ports.wake import Wake
from bridge.regime import Regime

_ID = re.compile(r"\b[a-z]+:[0-9]+\b")
_MISLEADS = re.compile(r"[@:/\\()\[\]<>]|\.\w")
_TAKEN = frozenset(["", SHELL])
"""What the name of a person must not be alone: nothing to be read, or what a terminal is called."""


@dataclass(eq=False)
class Means:
    """The store, the time, the ids, the wake-ups and the chats. `node` is the name under which this bridge holds
    leases: its own after a restart, and no other's. `moves` leads from places that have moved to where they are, and
    `people` from a person's id to what their chat calls them."""

    store: Store
    clock: Clock
    randomness: Randomness
    wake: Wake
    limits: Limits
    chats: Mapping[str, Chat]
    node: NodeId

    def __post_init__(self) -> None:
        self.ids = Ids(self.clock, self.randomness)
        self._regime: Regime | None = None
        self.moves: Mapping[Place, Place] = {}
        self.people: Mapping[str, str] = {}

    def led(self, where: Place) -> Place:
        """Where that place is now, as this bridge last saw it."""
        return self.moves.get(where, where)

    def named(self, who: str) -> str:
        """What people read instead of a person's id: the name, and the id beside it where another could be meant. A
        name that could be taken for an id, a mention or an address is not used. Whatever else it is stays as it is."""
        name = self.people.get(who)
        if not name or _MISLEADS.search(name):
            return who
        letters = _letters(name)
        alike = sum(letters == _letters(other) for other in self.people.values())
        return name if alike == 1 and letters not in _TAKEN else f"{name} ({who})"

    def named_in(self, text: str) -> str:
        """A text of the bridge's own in which people's ids stand, as people read it."""
        return _ID.sub(lambda found: self.named(found[0]), text)

    def chat_of(self, where: Place | None) -> Chat | None:
        return self.chats.get(scheme_of(where)) if where is not None else None

    def attended(self, where: Place | None) -> bool:
        chat = self.chat_of(where)
        return chat is not None and where is not None and chat.attended(where)

    def deciding(self, where: Place | None) -> Place | None:
        """Where people can decide about what concerns a place: there or, where its chat knows no operators, as a
        gateway's, in the first chat of operators'. None where nobody could."""
        if self.attended(where):
            return where
        chat = self.chat_of(where)
        if chat is None or chat.reports():
            return None
        return next((place for other in self.chats.values() for place in other.reports()), None)

    def backoff(self, attempts: int, *, cap_s: float) -> float:
        """Seconds to wait after so many failed attempts: exponential, with full jitter."""
        return FullJitter(self.randomness, cap_s=cap_s).after(attempts)

    async def regime(self) -> Regime:
        """As this bridge last saw it. What must not miss a change of it is planned on it (`Work.regime`)."""
        if self._regime is None:
            self._regime = await self.store.regime()
        return self._regime

    async def paused_by(self) -> str | None:
        """Who has paused all traffic between agents, as people read it."""
        by = (await self.regime()).paused_by
        return self.named(by) if by else None

    def forget_regime(self) -> None:
        """It has changed."""
        self._regime = None


def _letters(name: str) -> str:
    """Two names are alike where these are: what else there is in them is hardly seen."""
    return "".join(char for char in unicodedata.normalize("NFKC", name).casefold() if char.isalnum())
