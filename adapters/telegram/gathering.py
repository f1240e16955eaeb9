"""Gathers what belongs together before it is acted on. Nothing of it counts as handled until all of it is."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from adapters.telegram.incoming import Said
from adapters.telegram.joining import follows, wait_s
from bridge.ids import Place
from bridge.ports.chat import MenuLine
from bridge.ports.clock import Clock


@dataclass(slots=True, eq=False)
class Batch:
    """What is one thing said, and the numbers of all updates that brought it. It grows until it is taken."""

    parts: list[Said]
    numbers: list[int]
    grown_at: float
    waiting: list["Batch"] = field(repr=False)


class Gathering:
    """`commands` are those that people type: none of them is ever taken for the rest of a long text."""

    def __init__(self, clock: Clock, commands: Mapping[str, MenuLine]) -> None:
        self._clock = clock
        self._commands = commands
        self._waiting: dict[Place, list[Batch]] = {}

    def add(self, number: int, said: Said) -> Batch | None:
        """None where it has become part of an earlier batch, which waits still."""
        waiting = self._waiting.setdefault(said.heard.place, [])
        if said.edited and self._replaced(waiting, number, said):
            return None
        if not said.edited:
            for batch in reversed(waiting):
                if follows(said, batch.parts[-1], self._commands):
                    batch.parts.append(said)
                    batch.numbers.append(number)
                    batch.grown_at = self._clock.now()
                    return None
                if said.album is None and batch.parts[-1].heard.person.id == said.heard.person.id:
                    break  # The rest of a text comes at once, before anything else by the same person.
        batch = Batch([said], [number], self._clock.now(), waiting)
        waiting.append(batch)
        return batch

    async def taken(self, batch: Batch) -> list[Said]:
        """Its parts, once no further one is to be expected."""
        while (pause_s := wait_s(batch.parts[-1], self._commands)) and self._is_last(batch):
            rest_s = batch.grown_at + pause_s - self._clock.now()
            if not 0 < rest_s <= pause_s:  # over, or the clock was set back
                break
            await self._clock.sleep(rest_s)
        if batch in batch.waiting:
            batch.waiting.remove(batch)
        place = batch.parts[0].heard.place
        if not self._waiting.get(place, True):
            del self._waiting[place]
        return batch.parts

    def _is_last(self, batch: Batch) -> bool:
        """Whether the same person has said nothing else since: a further part would have come before that, but for an
        album, whose parts name it."""
        if batch.parts[-1].album is not None:
            return True
        whose = batch.parts[0].heard.person.id
        mine = [one for one in batch.waiting if one.parts[0].heard.person.id == whose and not one.parts[0].edited]
        return mine[-1:] == [batch]

    def _replaced(self, waiting: list[Batch], number: int, said: Said) -> bool:
        """Of what nobody has looked at yet only the newest version counts; but no command is made or unmade so."""
        for batch in waiting:
            for index, part in enumerate(batch.parts):
                if part.heard.key == said.heard.key and not part.edited:
                    if part.commands or said.commands:
                        return False
                    batch.parts[index] = replace(said, edited=False)
                    batch.numbers.append(number)
                    return True
        return False
