"""Inbound: what people say and press, kept before it is acknowledged, then told apart and passed on."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace

from bridge import wording
from bridge.conversation import Conversation
from bridge.decision import Effect, Verdict
from bridge.errors import Code, Refused
from bridge.flow.buttons import Buttons
from bridge.flow.commands.handing import Handing
from bridge.flow.commands.run import Commands
from bridge.flow.control import hasten
from bridge.flow.dispatch import Dispatch
from bridge.flow.ledger import Ledger
from bridge.flow.mentions import Mentions
from bridge.flow.showing import show
from bridge.flow.whereabouts import Whereabouts
from bridge.flow.work import Work
from bridge.ids import ConversationId, MessageId, Place
from bridge.intake import Note, Update
from bridge.message import Intent, Message, Origin
from bridge.ports.chat import Happening, Heard, Pressed
from bridge.ports.store import Key
from bridge.post import PostKind
from bridge.session import Binding, Session, Source
from bridge.trace import StepKind

INPUT_CHARS = 200_000
"""How much a person may say at once. A chat has smaller limits of its own."""


class Inbound:
    """Implements `bridge.ports.chat.Intake`."""

    def __init__(
        self,
        ledger: Ledger,
        lanes: Dispatch,
        commands: Commands,
        handing: Handing,
        mentions: Mentions,
        buttons: Buttons,
        whereabouts: Whereabouts,
    ) -> None:
        self._ledger = ledger
        self._lanes = lanes
        self._commands = commands
        self._handing = handing
        self._mentions = mentions
        self._buttons = buttons
        self._whereabouts = whereabouts

    # Kept before it is acknowledged

    async def last(self, source: str) -> int | None:
        return await self._ledger.store.last_update(source)

    async def keep(self, source: str, updates: Sequence[tuple[int, str]]) -> None:
        async def body(work: Work) -> None:
            kept = {update.number for update in await work.store.updates(source, [number for number, _ in updates])}
            for number, raw in updates:
                if number not in kept:
                    kept.add(number)
                    work.put(Update(source, number, raw, received_at=work.now))

        await self._ledger.do(body)

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

    async def hear(self, heard: Heard) -> None:
        """A command is carried out, what replies to an agent's form is for that, and what begins with another session's
        name is handed to it; everything else is input for the session that is bound to the place."""
        heard = replace(heard, place=self._ledger.led(heard.place))
        if heard.text.lstrip().startswith("/"):
            await self._commands.run(heard)
            return
        if await self._handing.fills_in(heard):
            await self._commands.run(replace(heard, text=f"/answer {heard.text}"))
            return
        try:
            if (handed := await self._mentions.handoff(heard)) is not None:
                await self._commands.run(handed)
                return
            await self._ledger.do(lambda work: self._say(work, heard))
        except Refused as refused:
            if refused.code is Code.UNAVAILABLE:
                raise
            text = f"Not accepted: {refused.reason}. {refused.remedy}"
            await self._ledger.do(lambda work: show(work, f"reply:{heard.key}", heard.place, PostKind.NOTICE, text))

    async def happened(self, happening: Happening) -> None:
        await self._whereabouts.happened(happening)

    async def press(self, pressed: Pressed) -> str:
        pressed = replace(pressed, place=self._ledger.led(pressed.place))
        try:
            return await self._buttons.press(pressed)
        except Refused as refused:
            if refused.code is Code.UNAVAILABLE:
                raise
            return f"Not done: {refused.reason}. {refused.remedy}"

    async def _say(self, work: Work, heard: Heard) -> None:
        binding = await work.store.binding(heard.place)
        session = await work.session(binding.session) if binding and binding.session else None
        if session is None or session.closed_at is not None:
            if not heard.silent and heard.person.operator:
                await _offer(work, heard, binding)
            return
        if await work.store.key(session.id, heard.key) is not None:
            return
        if len(heard.text) > INPUT_CHARS:
            raise Refused(Code.TOO_LARGE, f"that has {len(heard.text)} characters; the limit is {INPUT_CHARS}")
        if not heard.text.strip():
            return
        if not session.runs:
            raise Refused(
                Code.INVALID_REQUEST,
                f"{session.id} has no agent that could answer here",
                remedy="Give the session an agent in tieline.toml, or bind another one.",
            )
        await hasten(work, session.id)
        message = accept(work, heard, session)
        awake = replace(session, rested=False, last_seen=work.now)
        work.put(awake)
        if session.paused is not None:
            text = f"{session.title} is paused: {session.paused}. Your message waits: set it right, then /resume."
            await show(work, f"paused:{message.id}", heard.place, PostKind.NOTICE, text, session=session.id)
        await self._lanes.hand_over(work, session.id)


def accept(work: Work, heard: Heard, session: Session) -> Message:
    """A person's input begins a conversation of its own."""
    ident = MessageId(work.new_id())
    conversation = ConversationId(work.new_id())
    message = Message(
        id=ident,
        sender=session.id,
        recipient=session.id,
        intent=Intent.INPUT,
        text=heard.text,
        origin=Origin.USER,
        wake=True,
        conversation=conversation,
        accepted_at=work.now,
        queued_at=work.now,
        due_at=work.now,
        expires_at=work.now + work.limits.message_life_s,
        depth=0,
        place=heard.place,
        person=heard.person.id,
    )
    work.put(message)
    work.put(Conversation(conversation, first=session.id, place=heard.place, budget=work.limits.conversation_messages))
    work.key(Key(session.id, heard.key, _digest(heard.text), ident))
    work.verdict(
        Verdict(
            id=work.new_id(),
            at=work.now,
            sender=session.id,
            recipient=session.id,
            origin=Origin.USER,
            verbs=(),
            effect=Effect.ALLOW,
            rule="person",
            reason="a person at the session's own place",
            message=ident,
            conversation=conversation,
            person=heard.person.id,
        )
    )
    work.step(StepKind.ACCEPTED, message, intent=Intent.INPUT.value, origin=Origin.USER.value, person=heard.person.id)
    return message


async def _offer(work: Work, heard: Heard, binding: Binding | None) -> None:
    """Nothing is stored of a message at an unbound place, but that the binding has been offered, once."""
    if binding is not None and binding.session is None:
        return
    if binding is None:
        work.put(Binding(heard.place, None, Source.RUNTIME, work.now))
    await show(work, f"offer:{heard.place}", heard.place, PostKind.NOTICE, wording.unbound_offer(heard.place))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
