"""Topics for sessions: made with a new one, or for one that there is.

Nothing but the chat itself knows that a topic was made before the store does. A bridge that dies in between hears the
same again, and asks for a topic once more: the chat gives it that one.
"""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace

from bridge import wording
from bridge.errors import Code, Refused
from bridge.flow.errands import Errands
from bridge.flow.ledger import Ledger
from bridge.flow.naming import NAME_CHARS, topic_name
from bridge.flow.roster import Roster
from bridge.flow.showing import show
from bridge.flow.work import Work
from bridge.ids import Place, SessionId
from bridge.ids import place as parse_place
from bridge.ports.chat import Chat, NotDelivered
from bridge.post import PostKind
from bridge.session import Binding, NewSession, Source, Topic

log = logging.getLogger(__name__)

_JOINS = "\u200d"
"""Makes one emoji of several."""

Told = Callable[[Work, Place], Awaitable[None]]
"""Tells people of a topic, in the change that binds it."""


class Topics:
    def __init__(self, ledger: Ledger, roster: Roster, errands: Errands) -> None:
        self._ledger = ledger
        self._roster = roster
        self._errands = errands

    async def make(self, new: NewSession, near: Place, name: str, told: Told | None = None) -> Place:
        """A session with a topic of its own in the chat of `near`. Raises `Refused` as `Roster.check` does, and where
        no topic can be made; then there is neither."""
        await self._ledger.do(lambda work: self._roster.check(work, new))

        async def bind(work: Work, made: Place) -> None:
            await self._roster.make(work, new)
            await _bind(work, made, new.id, name)
            if told is not None:
                await told(work, made)
            else:
                await show(work, f"topic:{made}", made, PostKind.NOTICE, wording.topic_begun(new, None))

        return await self._bound(near, name, bind)

    async def give(self, session: SessionId, near: Place) -> Place:
        """A topic for a session that there is, beside its other places. Raises `Refused`."""
        known = await self._ledger.store.session(session)
        name = topic_name(known.title if known is not None else session)

        async def bind(work: Work, made: Place) -> None:
            await _bind(work, made, session, name)
            await show(work, f"topic:{made}", made, PostKind.NOTICE, wording.topic_given(name, session))

        return await self._bound(near, name, bind)

    def begin(self, session: SessionId, near: Place) -> None:
        """The same, for whoever waits for no end of it: what comes in between is told to the operators."""

        async def giving() -> None:
            try:
                await self.give(session, near)
            except Refused as refused:
                text = wording.no_topic_given(session, refused)
                log.warning("%s", text)
                await self._ledger.surely(lambda work: self._report(work, session, near, text))

        self._errands.begin(giving())

    async def forum(self, wanted: str | None) -> Place:
        """The chat that is meant, by a place in it, or where nothing is said the only one with topics. Raises
        `Refused`."""
        if wanted:
            place = parse_place(wanted)
            if self._ledger.chat_of(place) is None:
                raise Refused(Code.INVALID_REQUEST, f"no chat serves {place}", remedy="Set it up in tieline.toml.")
            return place
        found = [place for chat in self._ledger.chats.values() for place in await _forums(chat)]
        if len(found) == 1:
            return found[0]
        which = f"{', '.join(found)} have topics" if found else "no chat that the bridge may speak in has topics"
        remedy = (
            "Name one of them." if found else "Switch topics on in a group, allow it in telegram.chats, and name it."
        )
        raise Refused(Code.INVALID_REQUEST, which, remedy=remedy)

    def link(self, place: Place) -> str | None:
        chat = self._ledger.chat_of(place)
        return chat.topic_link(place) if chat is not None else None

    async def _bound(self, near: Place, name: str, bind: Told) -> Place:
        chat = self._ledger.chat_of(near)
        if chat is None:
            raise Refused(Code.INVALID_REQUEST, f"no chat serves {near}", remedy="Set it up in tieline.toml.")
        try:
            made = await chat.open_topic(near, name)
        except NotDelivered as refused:
            raise no_topic(refused) from refused
        try:
            await self._ledger.surely(lambda work: bind(work, made))
        except Refused:
            try:
                await chat.delete_topic(made)
            except NotDelivered as kept:
                log.warning("%s was made in vain, and could not be deleted: %s", made, kept.reason)
            raise
        return made

    async def _report(self, work: Work, session: SessionId, near: Place, text: str) -> None:
        chat = work.means.chat_of(near)
        for where in chat.reports() if chat is not None else ():
            await show(work, f"topicless:{session}:{where}:{work.now}", where, PostKind.NOTICE, text)


async def _bind(work: Work, made: Place, session: SessionId, name: str) -> None:
    known = await work.session(session)
    if known is None or known.closed_at is not None:
        raise Refused(Code.SESSION_CLOSED, f"{session} was closed meanwhile")
    base = await work.store.binding(made) or Binding(made, None, Source.RUNTIME, work.now)
    topic = Topic(name, ours=True, named_at=work.now)
    work.put(replace(base, session=session, bound_at=work.now, topic=topic, gone_at=None))


async def _forums(chat: Chat) -> list[Place]:
    try:
        return [*await chat.forums()]
    except NotDelivered as refused:
        raise no_topic(refused) from refused


def no_topic(refused: NotDelivered) -> Refused:
    if refused.retry_at is not None:
        return Refused(
            Code.RATE_LIMITED, f"no topic can be made now: {refused.reason}", remedy="Try again in a moment."
        )
    return Refused(
        Code.INVALID_REQUEST,
        f"no topic was made: {refused.reason}",
        remedy="Set that right, or make a topic yourself and say /bind NAME in it.",
    )


def checked_name(name: str) -> str:
    """Raises `Refused` for what no topic can be called."""
    one_line = " ".join(name.split())
    shown = one_line.replace(_JOINS, "")
    if not shown or len(one_line) > NAME_CHARS or not shown.isprintable():
        raise Refused(
            Code.INVALID_REQUEST,
            f"the name has {len(one_line)} characters" if shown.isprintable() else "the name cannot be shown",
            remedy=f"A topic is called by one line of 1 to {NAME_CHARS} characters.",
        )
    return one_line
