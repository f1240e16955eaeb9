"""A topic that an operator deletes, once that was confirmed. Its session is closed before, so that nothing makes the
topic anew, whenever the bridge dies."""

from collections.abc import Sequence

from bridge import phrases
from bridge.errors import Code, Refused
from bridge.flow.commands.command import OVER, Command, Group, Reply
from bridge.flow.ending import Ending
from bridge.flow.ledger import Ledger
from bridge.flow.showing import revise
from bridge.ids import Place
from bridge.ports.chat import Heard, Pressed
from bridge.post import Button, Post
from bridge.session import Session, Source

_DELETE, _STAY = Button("Delete it", "delete:topic"), Button("Leave it", "stay:topic")


class Deleting:
    def __init__(self, ledger: Ledger, ending: Ending) -> None:
        self._ledger = ledger
        self._ending = ending

    @property
    def commands(self) -> Sequence[Command]:
        text = "delete this topic with all that stands in it, and close its session"
        return (Command("delete", "/delete", text, Group.PLACES, self._ask, operators_only=True, here=True),)

    async def _ask(self, heard: Heard, rest: str) -> Reply:
        goes = await self._what_goes(await self._session(heard.place), heard.place)
        question = f"Delete this topic, with all that stands in it, for everybody? {goes}"
        return Reply(question, (_DELETE, _STAY))

    async def decide(self, post: Post | None, pressed: Pressed) -> str:
        """An operator has pressed one of these two. Returns what to tell that person. Raises `Refused`."""
        if post is None or all(button.action != pressed.action for button in post.buttons):
            return OVER
        if pressed.action == _STAY.action:
            said = "The topic stays."
            await self._ledger.surely(lambda work: revise(work, post.key, said))
            return said
        session = await self._session(pressed.place)
        if not await self._elsewhere(session, pressed.place):
            await self._ending.close(session.id)
        said = "This topic is being deleted."
        await self._ending.delete_topic(pressed.place, post.key, said)
        return said

    async def _session(self, place: Place) -> Session:
        """The session of the topic, which may be closed by now. Raises `Refused` where the topic is not to go."""
        chat = self._ledger.chat_of(place)
        if chat is None or not chat.has_topic(place):
            raise Refused(Code.INVALID_REQUEST, "this is no topic of its own", remedy="Say it in a topic.")
        binding = await self._ledger.store.binding(place)
        session = await self._ledger.store.session(binding.session) if binding and binding.session else None
        if session is None:
            reason = "no session is bound to this topic"
            raise Refused(Code.UNKNOWN_SESSION, reason, remedy="Delete it in Telegram: nothing leads to it.")
        if session.source is Source.FILE and session.closed_at is None:
            reason = f"{session.id} is one of tieline.toml"
            raise Refused(Code.INVALID_REQUEST, reason, remedy="Remove it there first: then the topic can go.")
        return session

    async def _what_goes(self, session: Session, place: Place) -> str:
        name = f"{session.title} ({session.id})"
        if session.closed_at is not None:
            return f"{name} is closed already."
        held = sum(one.recipient == session.id for one in await self._ledger.store.held())
        asked = f"{phrases.counted(held, 'message')} not approved yet"
        if elsewhere := await self._elsewhere(session, place):
            still = f" Here it has {asked}: decide that first, or in a shell." if held else ""
            return f"{name} goes on at {', '.join(elsewhere)}.{still}"
        waiting = len(await self._ledger.store.queue(session.id))
        counts = [f"{phrases.counted(waiting, 'message')} in line"] * bool(waiting) + [asked] * bool(held)
        mail = f" ({', '.join(counts)})" if counts else ""
        works = " It is at work, and is stopped." if await self._ledger.store.live_turn(session.id) is not None else ""
        return f"{name} is closed, and its mail{mail} is returned.{works}"

    async def _elsewhere(self, session: Session, place: Place) -> list[Place]:
        """The other places of the session, where it goes on."""
        bound = await self._ledger.store.places(session.id)
        return [one.place for one in bound if one.place != place and one.gone_at is None]
