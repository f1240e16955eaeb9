"""Where places are: those that move, and those whose topics are deleted (invariant 11: nothing goes elsewhere)."""

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from bridge import wording
from bridge.flow.leaving import leaving
from bridge.flow.ledger import Ledger
from bridge.flow.showing import show
from bridge.flow.work import Work
from bridge.ids import Place, scheme_of
from bridge.move import Move, Why, followed
from bridge.ports.chat import Admitted, Blocked, Chat, Happening, Migrated, NotDelivered, Renamed, Reopened
from bridge.post import PostKind
from bridge.session import Session, Source, Topic

log = logging.getLogger(__name__)

_AGAIN_S = 600
"""After what time it is tried again whether a topic can be made by now."""


class Whereabouts:
    """`look` is told that a title may have changed."""

    def __init__(self, ledger: Ledger, look: Callable[[], None]) -> None:
        self._ledger = ledger
        self._look = look

    async def load(self) -> None:
        self._ledger.moves = followed(await self._ledger.store.moves())

    async def happened(self, happening: Happening) -> None:
        match happening:
            case Migrated(old=old, new=new):
                if self._ledger.led(old) != new:
                    await self.moved(old, new)
            case Reopened(place=place):
                await self._ledger.do(lambda work: _try_at_once(work, place, lambda at: at == self._ledger.led(place)))
            case Admitted(place=place):
                await self._ledger.do(lambda work: _try_at_once(work, place, lambda at: True))
            case Renamed():
                await self._ledger.do(lambda work: _renamed(work, happening))
                self._look()

    async def moved(self, old: Place, new: Place) -> None:
        """Takes all that is kept at `old` along to `new`, or to where it has gone already."""
        await self._ledger.surely(lambda work: self._take_along(work, old, new, Why.MIGRATED))

    async def recreated(self, chat: Chat, place: Place, reason: str) -> str | None:
        """The topic of that place was deleted. Where a session is bound there another one is made in its stead, once,
        and all goes on there. Returns None then, else why it does not. Raises `NotDelivered` where it may go later, and
        `Blocked` where people must do something first."""
        plan = await self._ledger.surely(lambda work: self._plan(work, place))
        if isinstance(plan, str):
            return f"{reason}; {plan}"
        if plan.new is None:
            try:
                made = await chat.open_topic(place, plan.name)
            except NotDelivered as refused:
                if refused.retry_at is not None:
                    raise
                await self._ledger.surely(lambda work: _mark_gone(work, place))
                why = f"{reason}, and no other can be made: {refused.reason}"
                raise Blocked(why, retry_at=self._ledger.clock.now() + _AGAIN_S) from refused
            log.warning("%s was deleted, and goes on as %s", place, made)
            kept = await self._ledger.surely(lambda work: self._replace(work, place, made))
            if kept != made:
                await _take_back(chat, made)
        else:
            found = plan.new
            await self._ledger.surely(lambda work: self._take_along(work, place, found, Why.RECREATED))
        return None

    async def _plan(self, work: Work, place: Place) -> "_Plan | str":
        moves = await work.store.moves()
        if (found := followed(moves).get(place)) is not None:
            return _Plan("", found)
        binding = await work.store.binding(place)
        session = await work.session(binding.session) if binding is not None and binding.session else None
        if place in map(work.means.led, await leaving(work.store)):
            return "its people have deleted it, so no other was made"
        if binding is None or session is None or session.closed_at is not None:
            return "no session is bound there, so no other was made"
        if any(move.new == place and move.why is Why.RECREATED for move in moves):
            await _mark_gone(work, place)
            return f"it had been made in the stead of another, and is not made again: bind {session.id} elsewhere"
        return _Plan(binding.topic.name if binding.topic is not None else session.title)

    async def _replace(self, work: Work, place: Place, made: Place) -> Place:
        new = await self._take_along(work, place, made, Why.RECREATED)
        if new == made:
            await show(work, f"recreated:{made}", made, PostKind.NOTICE, wording.RECREATED)
        return new

    async def _take_along(self, work: Work, old: Place, new: Place, why: Why) -> Place:
        """Returns where it is then."""
        new = followed(await work.store.moves()).get(old, new)
        if old == new:
            return new
        work.move(Move(old, new, work.now, why))
        for approval in await work.store.open_approvals():
            content = json.dumps(_led(json.loads(approval.content), old, new))
            if content != approval.content:
                work.put(replace(approval, content=content))
        then = {**{at: new if to == old else to for at, to in self._ledger.moves.items() if at != new}, old: new}
        work.then(lambda: setattr(self._ledger, "moves", then))
        work.then(work.wake.outbox)
        work.then(work.wake.sessions)
        return new


@dataclass(frozen=True, slots=True)
class _Plan:
    """What the topic is called that is to be made, or where that is already."""

    name: str
    new: Place | None = None


async def _mark_gone(work: Work, place: Place) -> None:
    binding = await work.store.binding(place)
    if binding is not None and binding.gone_at is None:
        work.put(replace(binding, gone_at=work.now))


async def _take_back(chat: Chat, place: Place) -> None:
    try:
        await chat.delete_topic(place)
    except NotDelivered as refused:
        log.warning("%s was made in vain, and could not be deleted: %s", place, refused.reason)


async def _try_at_once(work: Work, place: Place, there: Callable[[Place], bool]) -> None:
    """What was put off there is tried at once."""
    for post in await work.store.pending_posts(scheme_of(place)):
        if there(post.place) and post.waits(work.now):
            work.put(replace(post, due_at=post.created_at))
            work.then(work.wake.outbox)


async def _renamed(work: Work, renamed: Renamed) -> None:
    """The name is theirs, and becomes the title of a session that is not the file's, where an operator gave it."""
    binding = await work.store.binding(work.means.led(renamed.place))
    if binding is None or not renamed.name.strip():
        return
    if binding.topic is None or (binding.topic.name, binding.topic.ours) != (renamed.name, False):
        work.put(replace(binding, topic=Topic(renamed.name)))
    session = await work.session(binding.session) if binding.session is not None else None
    if session is not None and renamed.person is not None and renamed.person.operator:
        retitle(work, session, renamed.name)


def retitle(work: Work, session: Session, title: str) -> bool:
    """False where the operator's file has the title."""
    if session.source is Source.FILE:
        return False
    if session.title != title:
        work.put(replace(session, title=title))
    return True


def _led(value: Any, old: Place, new: Place) -> Any:
    """JSON in which each mention of a place that has moved is its new one."""
    match value:
        case dict():
            return {key: _led(each, old, new) for key, each in value.items()}
        case list():
            return [_led(each, old, new) for each in value]
        case _:
            return new if value == old else value
