"""Inbound: what people say and press, kept before it is acknowledged, then told apart and passed on."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace

from bridge.errors import Code, Refused
from bridge.flow.buttons import Buttons
from bridge.flow.commands.handing import Handing
from bridge.flow.commands.run import Commands
from bridge.flow.dispatch import Dispatch
from bridge.flow.editing import edit
from bridge.flow.ledger import Ledger
from bridge.flow.marking import mark
from bridge.flow.mentions import Mentions
from bridge.flow.overtaking import overtaken_by
from bridge.flow.people import People
from bridge.flow.picking import Picking
from bridge.flow.saying import say, tell_missing
from bridge.flow.showing import show
from bridge.flow.whereabouts import Whereabouts
from bridge.flow.work import Work
from bridge.ids import Place
from bridge.intake import Note, Update
from bridge.ports.chat import Happening, Heard, Overtakes, Pressed
from bridge.post import Mark, PostKind


class Inbound:
    """Implements `bridge.ports.chat.Intake`."""

    def __init__(
        self,
        ledger: Ledger,
        lanes: Dispatch,
        commands: Commands,
        handing: Handing,
        mentions: Mentions,
        picking: Picking,
        buttons: Buttons,
        whereabouts: Whereabouts,
        people: People,
    ) -> None:
        self._ledger = ledger
        self._lanes = lanes
        self._commands = commands
        self._handing = handing
        self._mentions = mentions
        self._picking = picking
        self._buttons = buttons
        self._whereabouts = whereabouts
        self._people = people

    # Kept before it is acknowledged

    async def last(self, source: str) -> int | None:
        return await self._ledger.store.last_update(source)

    async def keep(self, source: str, updates: Sequence[tuple[int, str]]) -> Set[int]:
        async def body(work: Work) -> Set[int]:
            kept = {update.number for update in await work.store.updates(source, [number for number, _ in updates])}
            new: dict[int, str] = {}
            for number, raw in updates:
                if number not in kept:
                    new.setdefault(number, raw)
            for number, raw in new.items():
                work.put(Update(source, number, raw, received_at=work.now))
            return new.keys()

        return await self._ledger.do(body)

    async def unhandled(self, source: str) -> list[tuple[int, str]]:
        return [(update.number, update.raw) for update in await self._ledger.store.unhandled(source)]

    async def done(self, source: str, number: int, error: str | None = None) -> None:
        async def body(work: Work) -> None:
            for update in await work.store.updates(source, [number]):
                if update.handled_at is None:
                    work.put(replace(update, handled_at=work.now, error=error))

        await self._ledger.do(body)

    async def recall(self, source: str) -> Mapping[str, str]:
        return {note.key: note.text for note in await self._ledger.store.notes(source) if note.text}

    async def remember(self, source: str, key: str, text: str) -> None:
        async def body(work: Work) -> None:
            known = {note.key: note for note in await work.store.notes(source)}
            note = known.get(key) or Note(source, key, "")
            if note.text != text:
                work.put(replace(note, text=text))

        await self._ledger.do(body)

    async def sent(self, scheme: str, receipt: str) -> Place | None:
        post = await self._ledger.store.sent_post(scheme, receipt)
        return post.place if post is not None else None

    # Acted on

    async def overtakes(self, heard: Heard) -> Overtakes:
        """What people need at once, and what answers an agent that waits for it, or decides what it may do."""
        heard = replace(heard, place=self._ledger.led(heard.place))
        text = heard.text.strip()
        if heard.passed_on:
            return Overtakes.NOTHING
        if text.startswith("/"):
            return overtaken_by(text, operator=heard.person.operator)
        asked = await self._handing.fills_in(heard) or (heard.person.operator and await self._buttons.asked(heard))
        return Overtakes.WHAT_WAITS if asked else Overtakes.NOTHING

    async def hear(self, heard: Heard) -> None:
        """A command is carried out, what replies to an agent's form or to what asks for a text or a decision is for
        that, and what begins with another session's name is handed to it; everything else is input for the session that
        is bound to the place."""
        heard = replace(heard, place=self._ledger.led(heard.place))
        self._people.met(heard.person)
        if heard.text.lstrip().startswith("/"):
            await self._command(heard)
            return
        if await self._handing.fills_in(heard):
            await self._command(replace(heard, text=f"/answer {heard.text}"))
            return
        try:
            if (filled := await self._picking.filled(heard)) is not None:
                command, post = filled
                await self._command(command)
                await self._picking.close(post)
                return
            if await self._decided(heard):
                return
            if (handed := await self._mentions.handoff(heard)) is not None:
                await self._command(handed)
                return
            await self._ledger.do(lambda work: say(work, heard, self._lanes))
        except Refused as refused:
            await self._refuse(heard, f"reply:{heard.key}", refused)

    async def outrank(self, heard: Heard) -> None:
        heard = replace(heard, place=self._ledger.led(heard.place))
        if await self.bound(heard.place):
            await self._ledger.do(lambda work: mark(work, heard, Mark.REFUSED))

    def names(self, place: Place) -> Sequence[Place]:
        now = self._ledger.led(place)
        return [now, *(old for old, new in self._ledger.moves.items() if new == now)]

    async def bound(self, place: Place) -> bool:
        binding = await self._ledger.store.binding(self._ledger.led(place))
        session = await self._ledger.store.session(binding.session) if binding and binding.session else None
        return session is not None and session.closed_at is None

    async def known(self, place: Place) -> bool:
        binding = await self._ledger.store.binding(self._ledger.led(place))
        return binding is not None and (binding.session is not None or binding.gone_at is not None)

    async def _decided(self, heard: Heard) -> bool:
        key = f"reply:{heard.key}"
        if heard.reply_to is None or await self._ledger.store.post(key) is not None:
            return heard.reply_to is not None
        said = await self._buttons.said(heard)
        if said is None:
            return False
        await self._ledger.surely(lambda work: show(work, key, heard.place, PostKind.REPLY, said))
        return True

    async def edit(self, heard: Heard) -> None:
        heard = replace(heard, place=self._ledger.led(heard.place))
        try:
            await self._ledger.do(lambda work: edit(work, heard, self._lanes))
        except Refused as refused:
            await self._refuse(heard, f"edited:{heard.key}", refused)

    async def _command(self, heard: Heard) -> None:
        await self._commands.run(heard)
        if heard.missing:
            await self._ledger.surely(lambda work: tell_missing(work, heard))

    async def _refuse(self, heard: Heard, key: str, refused: Refused) -> None:
        if refused.code is Code.UNAVAILABLE:
            raise refused
        text = f"Not accepted: {refused.reason}. {refused.remedy}"

        async def body(work: Work) -> None:
            await show(work, key, heard.place, PostKind.REPLY, text)
            await mark(work, heard, Mark.REFUSED)

        await self._ledger.do(body)

    async def happened(self, happening: Happening) -> None:
        await self._whereabouts.happened(happening)

    async def press(self, pressed: Pressed) -> str:
        pressed = replace(pressed, place=self._ledger.led(pressed.place))
        try:
            self._people.met(pressed.person)
            return await self._buttons.press(pressed)
        except Refused as refused:
            if refused.code is Code.UNAVAILABLE:
                raise
            return f"Not done: {refused.reason}. {refused.remedy}"
