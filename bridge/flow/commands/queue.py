"""What waits for the session at a place, and its inbox."""

from collections.abc import Sequence

from bridge import phrases, wording
from bridge.activity import elapsed
from bridge.errors import Code, Refused
from bridge.flow.attempts import record_attempt
from bridge.flow.choices import short
from bridge.flow.commands.command import OVER, Command, Group, Here, Reply
from bridge.flow.control import Control
from bridge.flow.ledger import Ledger
from bridge.flow.showing import revise
from bridge.ids import handle_of
from bridge.message import Message, State
from bridge.ports.chat import Heard, Pressed
from bridge.post import Button, Post
from bridge.session import Session

_SHOWN = 20
_CHARS = 80


class Queue:
    def __init__(self, ledger: Ledger, here: Here, control: Control) -> None:
        self._ledger = ledger
        self._here = here
        self._control = control

    @property
    def commands(self) -> Sequence[Command]:
        group = Group.HERE
        return (
            Command(
                "queue",
                "/queue [clear]",
                "what waits for the session here; clear: cancel it (operators)",
                group,
                self._queue,
                here=True,
            ),
            Command(
                "inbox", "/inbox", "the mail of the session here that is not settled", group, self._inbox, here=True
            ),
        )

    async def _queue(self, heard: Heard, rest: str) -> str | Reply:
        session = await self._here.session(heard)
        match rest.lower():
            case "":
                return await self._listed(session)
            case "clear":
                return await self._asked(heard, session)
            case _:
                raise Refused(
                    Code.INVALID_REQUEST, f"there is no /queue {rest[:40]}", remedy="/queue, or /queue clear."
                )

    async def _listed(self, session: Session) -> str:
        waiting = await self._ledger.store.queue(session.id)
        if not waiting:
            return f"Nothing waits for {session.title}."
        now, paused_by = self._ledger.clock.now(), await self._ledger.paused_by()
        lines = [f"{phrases.counted(len(waiting), 'message')} for {session.title}:"]
        for number, message in enumerate(waiting[:_SHOWN], 1):
            obstacle = wording.obstacle(session, message, now, all_paused_by=paused_by)
            waits = "" if message.wake else "; waits to be read"
            why = f"; {obstacle}" if obstacle else f"; tried again: {message.reason}" if message.waits(now) else ""
            lines.append(f"{number}. {_line(message, now)}{waits}{phrases.one_line(why, 200)}")
        return "\n".join([*lines, *_more(waiting)])

    async def _asked(self, heard: Heard, session: Session) -> Reply:
        if not heard.person.operator:
            refused = Refused(Code.NOT_PERMITTED, "/queue clear is for operators", remedy="Ask one of them.")
            await record_attempt(self._ledger, await self._here.caller(heard), heard.text, refused)
            raise refused
        waiting = await self._ledger.store.queue(session.id)
        if not waiting:
            return Reply(f"Nothing waits for {session.title}.")
        which = short(session.id)
        what = phrases.counted(len(waiting), "queued message")
        return Reply(
            f"Cancel what waits for {session.title} ({what})? Answers and notices stay, and what runs goes on.",
            (Button("Cancel them", f"clear:{which}"), Button("Keep them", f"keep:{which}")),
        )

    async def decide(self, post: Post | None, pressed: Pressed) -> str:
        """An operator has pressed one of these two. Returns what to tell that person."""
        verb, _, which = pressed.action.partition(":")
        session = await self._here.found(pressed.place)
        asked = post is not None and any(button.action == pressed.action for button in post.buttons)
        if post is None or not asked or session is None or short(session.id) != which:
            return OVER
        said = "Nothing is cancelled."
        if verb == "clear":
            said = f"Cancelled: {phrases.counted(await self._control.clear(session.id), 'queued message')}."
        await self._ledger.surely(lambda work: revise(work, post.key, said))
        return said

    async def _inbox(self, heard: Heard, rest: str) -> str:
        session = await self._here.session(heard)
        mail = [one for one in await self._ledger.store.inbox(session.id) if one.state is not State.HELD]
        if not mail:
            return f"The inbox of {session.title} is empty."
        now = self._ledger.clock.now()
        lines = [f"The inbox of {session.title}, {phrases.counted(len(mail), 'message')}:"]
        lines += [f"· {_line(message, now)}; {_state(message)}" for message in mail[:_SHOWN]]
        return "\n".join([*lines, *_more(mail)])


def _line(message: Message, now: float) -> str:
    who = "a person" if message.from_person and message.sender == message.recipient else handle_of(message.sender)
    return f"{who}, {elapsed(now - message.accepted_at)} ago: “{phrases.one_line(message.text, _CHARS)}”"


def _state(message: Message) -> str:
    if message.state is State.QUEUED:
        return "queued" if message.wake else "waits to be read"
    return "being worked on" if message.state is State.LEASED else message.state.value


def _more(messages: Sequence[Message]) -> list[str]:
    return [f"… and {len(messages) - _SHOWN} more"] if len(messages) > _SHOWN else []
