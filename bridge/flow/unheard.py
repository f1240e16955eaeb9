"""What is stored as read although nobody may have seen it: the call that read it failed or was cut off.

A store that fails may have stored a change all the same. So a reader is shown such mail again, and a turn that ends
without asking again has not read it.

What an agent read under an earlier bridge is only in doubt: it is shown again to whoever asks, and counts as read
unless that fails.
"""

from collections.abc import Set

from bridge.ids import MessageId, TurnId


class Unheard:
    """Kept in memory only: with the bridge the turn is lost, and receivers outside of turns lose their lease."""

    def __init__(self) -> None:
        self._by_reader: dict[TurnId, Set[MessageId]] = {}
        self._in_doubt: dict[TurnId, Set[MessageId]] = {}

    def by(self, reader: TurnId) -> Set[MessageId]:
        return self._by_reader.get(reader, frozenset())

    def shown_again(self, reader: TurnId) -> Set[MessageId]:
        return self.by(reader) | self._in_doubt.get(reader, frozenset())

    def doubt(self, reader: TurnId, messages: Set[MessageId]) -> None:
        self._in_doubt[reader] = messages

    def add(self, reader: TurnId, messages: Set[MessageId]) -> None:
        self._keep(reader, self.by(reader) | messages)

    def heard(self, reader: TurnId, messages: Set[MessageId]) -> None:
        self._keep(reader, self.by(reader) - messages)
        if reader in self._in_doubt:
            self._in_doubt[reader] -= messages

    def forget(self, reader: TurnId) -> None:
        self._by_reader.pop(reader, None)
        self._in_doubt.pop(reader, None)

    def _keep(self, reader: TurnId, messages: Set[MessageId]) -> None:
        if messages:
            self._by_reader[reader] = messages
        else:
            self._by_reader.pop(reader, None)
