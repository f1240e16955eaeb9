"""Holding: messages that wait for a person's approval, and the one question that asks for it (DESIGN §4).

However many messages of one sender to one recipient are held, one post at the recipient's place asks about them. What a
button decides is what its post showed: the messages up to the one that its action names.
"""

import json
from collections.abc import Sequence
from dataclasses import replace

from bridge import wording
from bridge.admission import verbs_of
from bridge.approval import Approval, ApprovalId, Subject
from bridge.decision import Verb
from bridge.flow.causes import served
from bridge.flow.kin import places_of
from bridge.flow.showing import revise, sent_post, show
from bridge.flow.work import Work
from bridge.ids import Place, SessionId
from bridge.message import Message
from bridge.post import Button, PostKind
from bridge.trace import StepKind

_AT_ONCE = 12
"""How many messages one question shows, and so how many a button decides about: a post holds no more."""


async def hold(work: Work, message: Message) -> None:
    """Asks the operators of the recipient's place about a message that is put as held in this change."""
    work.step(StepKind.HELD, message, until=message.expires_at)
    line = wording.handoff(message, wording.HELD)
    await show(work, sent_post(message.id), message.place, PostKind.HANDOFF, line, message=message.id)
    approval = await open_about(work, message)
    if approval is None:
        place = await attended_place(work, message.recipient)
        approval = Approval(
            id=ApprovalId(work.new_id()),
            subject=Subject.MAIL,
            about=_about(message),
            content=json.dumps({"place": place}),
            by=message.sender,
            opened_at=work.now,
        )
    # Put even where nothing of it changes, so that what the post shows is planned on all that is held.
    work.put(approval)
    await _ask(work, approval, await of_pair(work, message))


async def let_go(work: Work, message: Message, how: str, by: str | None) -> None:
    """A held message has been decided about, or has come to its end. Its question asks about the rest, or says what
    became of it."""
    approval = await open_about(work, message)
    if approval is None:
        return
    rest = await of_pair(work, message)
    if rest:
        work.put(approval)
        await _ask(work, approval, rest)
    else:
        work.put(approval.closed(work.now, how, by))
        told = by is None or by in how
        said = wording.approval_decided(message, work.means.named_in(how if told else f"{how} by {by}"))
        await revise(work, f"approval:{approval.id}", said)


async def wished(work: Work, message: Message, wish: str) -> Place | None:
    """Somebody who may not decide alone would like a decision: the question says so. Returns where it stands."""
    approval, held = await open_about(work, message), await of_pair(work, message)
    if approval is None or not held:
        return None
    content = {**json.loads(approval.content), "wish": wish}
    told = replace(approval, content=json.dumps(content))
    work.put(told)
    await _ask(work, told, held)
    return Place(content["place"]) if content["place"] else None


async def wanted(work: Work, held: Sequence[Message]) -> tuple[Verb, ...]:
    """The verbs that are asked about. Of what a parent sends to its child, only the first task is ever held."""
    verbs: dict[Verb, None] = {}
    for message in held:
        recipient = await work.session(message.recipient)
        spawns = recipient is not None and recipient.parent == message.sender
        verbs |= dict.fromkeys((Verb.SPAWN,) if spawns else verbs_of(message))
    return tuple(verbs)


async def of_pair(work: Work, message: Message) -> list[Message]:
    """What is held of the same sender to the same recipient, by id."""
    return [one for one in await work.held_messages() if _about(one) == _about(message)]


async def open_about(work: Work, message: Message) -> Approval | None:
    return await work.open_approval(Subject.MAIL, _about(message))


async def attended_place(work: Work, session: SessionId) -> Place | None:
    """Where somebody can be asked about what comes to a session: the first of its places with an operator."""
    places = await places_of(work, session)
    for binding in places:
        if binding.gone_at is None and (where := work.means.deciding(binding.place)) is not None:
            return where
    return served(work, places)


async def _ask(work: Work, approval: Approval, held: list[Message]) -> None:
    shown = held[:_AT_ONCE]
    last = shown[-1].id
    buttons = (
        Button("Approve once", f"ok:{last}"),
        Button("This conversation", f"okc:{last}"),
        Button("Always for this pair", f"okp:{last}"),
        Button("Deny", f"no:{last}"),
    )
    content, key = json.loads(approval.content), f"approval:{approval.id}"
    verbs = await wanted(work, shown)
    text = wording.approval_asked(shown, verbs, content.get("wish"), more=len(held) - len(shown))
    session = shown[-1].recipient
    await show(work, key, content["place"], PostKind.QUESTION, text, buttons=buttons, session=session)


def _about(message: Message) -> str:
    return f"{message.sender} {message.recipient}"
