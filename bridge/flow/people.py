"""How people are called where other people read of them. Records keep their ids, and ids alone decide."""

from contextlib import suppress
from dataclasses import replace

from bridge.errors import Refused
from bridge.flow.errands import Errands
from bridge.flow.ledger import Ledger
from bridge.flow.work import Work
from bridge.intake import Note
from bridge.phrases import one_line
from bridge.ports.chat import Person

_SOURCE = "people"
_CHARS = 60


class People:
    def __init__(self, ledger: Ledger, errands: Errands) -> None:
        self._ledger = ledger
        self._errands = errands

    async def load(self) -> None:
        notes = await self._ledger.store.notes(_SOURCE)
        self._ledger.people = {note.key: note.text for note in notes if note.text}

    def met(self, person: Person) -> None:
        """Whoever has just said or pressed something is called so from now on. Nobody waits for that to be stored: what
        a crash takes is told anew by the next word."""
        name = one_line(person.name, _CHARS)
        if self._ledger.people.get(person.id, "") != name:
            self._ledger.people = {**self._ledger.people, person.id: name}
            self._errands.begin(self._keep(person.id))

    async def _keep(self, person: str) -> None:
        async def body(work: Work) -> None:
            known = {note.key: note for note in await work.store.notes(_SOURCE)}
            note = known.get(person) or Note(_SOURCE, person, "")
            work.put(replace(note, text=self._ledger.people[person]))  # the newest by now

        with suppress(Refused):
            await self._ledger.do(body)
