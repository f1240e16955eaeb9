"""What a person says to the session of a place: its input."""

import hashlib
from dataclasses import replace

from bridge import wording
from bridge.conversation import Conversation
from bridge.decision import Effect, Verdict
from bridge.errors import Code, Refused
from bridge.flow.control import hasten
from bridge.flow.dispatch import Dispatch
from bridge.flow.marking import mark
from bridge.flow.showing import show
from bridge.flow.work import Work
from bridge.ids import ConversationId, MessageId
from bridge.message import Attachment, Intent, Message, Origin, Piece
from bridge.move import followed
from bridge.ports.chat import Heard
from bridge.ports.store import Key
from bridge.post import Mark, PostKind
from bridge.session import Binding, Session, Source, Topic
from bridge.trace import StepKind

INPUT_CHARS = 200_000
"""How much a person may say at once, with what others wrote. A chat has smaller limits of its own."""


async def say(work: Work, heard: Heard, lanes: Dispatch) -> None:
    """Makes it the input of the session that is bound to the place. Raises `Refused`."""
    binding = await work.store.binding(heard.place)
    if binding is None and (new := followed(await work.store.moves()).get(heard.place)) is not None:
        # It has moved since this was led there, or another bridge has seen to that.
        heard = replace(heard, place=new)
        binding = await work.store.binding(new)
    session = await work.session(binding.session) if binding and binding.session else None
    if session is None or session.closed_at is not None:
        if not heard.silent and heard.person.operator:
            await _offer(work, heard, binding)
        return
    if binding is not None:
        _note_topic(work, heard, binding)
    heard = await _what_is_new(work, heard, session)
    if not heard.pieces:
        return
    await tell_missing(work, heard)
    if not heard.text.strip() and not heard.attachments:
        return
    check_size(heard)
    if not session.runs:
        raise Refused(
            Code.INVALID_REQUEST,
            f"{session.id} has no agent that could answer here",
            remedy="Give the session an agent in tieline.toml, or bind another one.",
        )
    await hasten(work, session.id)
    message = accept(work, heard, session)
    await mark(work, heard, Mark.ACCEPTED, message.id)
    awake = replace(session, rested=False, last_seen=work.now)
    work.put(awake)
    if session.paused is not None:
        text = wording.paused(session.title, session.paused, "Your message waits: set")
        await show(work, f"paused:{message.id}", heard.place, PostKind.NOTICE, text, session=session.id)
    await lanes.hand_over(work, session.id)


def accept(work: Work, heard: Heard, session: Session) -> Message:
    """A person's input begins a conversation of its own."""
    pieces = _pieces_of(heard)
    conversation = ConversationId(work.new_id())
    message = Message(
        id=MessageId(work.new_id()),
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
        attachments=heard.attachments,
        pieces=pieces,
    )
    work.put(Conversation(conversation, first=session.id, place=heard.place, budget=work.limits.conversation_messages))
    for piece in pieces:
        work.key(Key(session.id, piece.key, digest(heard.text), message.id))
    put_input(work, message)
    return message


def put_input(work: Work, message: Message) -> None:
    """Stores an input with its decision."""
    work.put(message)
    work.verdict(
        Verdict(
            id=work.new_id(),
            at=work.now,
            sender=message.sender,
            recipient=message.recipient,
            origin=Origin.USER,
            verbs=(),
            effect=Effect.ALLOW,
            rule="person",
            reason="a person at the session's own place",
            message=message.id,
            conversation=message.conversation,
            person=message.person,
        )
    )
    work.step(StepKind.ACCEPTED, message, intent=Intent.INPUT.value, origin=Origin.USER.value, person=message.person)


def check_size(heard: Heard) -> None:
    """Raises `too_large`."""
    chars = len(heard.text) + sum(len(one.text or "") for one in heard.attachments)
    if chars > INPUT_CHARS:
        raise Refused(Code.TOO_LARGE, f"that has {chars} characters; the limit is {INPUT_CHARS}")


async def tell_missing(work: Work, heard: Heard) -> None:
    """What came along and could not be had is told, so that nobody waits for an answer about it."""
    if heard.missing:
        await show(work, f"missing:{heard.key}", heard.place, PostKind.NOTICE, "\n".join(heard.missing))


def digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


async def _what_is_new(work: Work, heard: Heard, session: Session) -> Heard:
    """Without the pieces that are input already: a crash may have parted them, or brought them again."""
    text: list[str] = []
    attachments: list[Attachment] = []
    pieces: list[Piece] = []
    chars = files = 0
    for piece in _pieces_of(heard):
        if await work.store.key(session.id, piece.key) is None:
            pieces.append(piece)
            text.append(heard.text[chars : chars + piece.chars])
            attachments.extend(heard.attachments[files : files + piece.attachments])
        chars, files = chars + piece.chars, files + piece.attachments
    return replace(heard, text="".join(text), attachments=tuple(attachments), pieces=tuple(pieces))


def _pieces_of(heard: Heard) -> tuple[Piece, ...]:
    return heard.pieces or (Piece(heard.key, len(heard.text), len(heard.attachments)),)


def _note_topic(work: Work, heard: Heard, binding: Binding) -> None:
    """Whatever was thought of a place, it is there where somebody speaks; and a topic tells what it is called."""
    topic = binding.topic or (Topic(heard.title) if heard.title else None)
    if (topic, None) != (binding.topic, binding.gone_at):
        work.put(replace(binding, topic=topic, gone_at=None))


async def _offer(work: Work, heard: Heard, binding: Binding | None) -> None:
    """Nothing is stored of a message at an unbound place, but that the binding has been offered, once."""
    if binding is not None and binding.session is None:
        return
    if binding is None:
        work.put(Binding(heard.place, None, Source.RUNTIME, work.now))
    await show(work, f"offer:{heard.place}", heard.place, PostKind.NOTICE, wording.unbound_offer(heard.place))
