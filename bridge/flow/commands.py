"""The commands that people type at a place (DESIGN §7, Chat). The answer comes back as a post there."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from bridge import wording
from bridge.admission import closed_session
from bridge.caller import Caller
from bridge.decision import Effect
from bridge.duration import seconds
from bridge.errors import Code, Refused
from bridge.flow.admission import Admission
from bridge.flow.asking import form_in
from bridge.flow.attempts import record_attempt
from bridge.flow.charter import Charter
from bridge.flow.control import Control
from bridge.flow.directory import Directory
from bridge.flow.ledger import Ledger
from bridge.flow.oversight import Oversight
from bridge.flow.questions import DECIDED, KEPT, Questions
from bridge.flow.roster import Roster
from bridge.flow.showing import show
from bridge.grant import HANDING_WORK, Scope
from bridge.ids import SHELL, SessionId, scheme_of, session_id
from bridge.message import Intent, Origin
from bridge.ports.chat import Heard
from bridge.post import PostKind
from bridge.proposed import RESUMING
from bridge.session import Session
from bridge.standing import standing
from bridge.views import Send


@dataclass(frozen=True, slots=True)
class _Command:
    usage: str
    help: str
    operators_only: bool
    run: Callable[[Heard, str], Awaitable[str | None]]


class Commands:
    def __init__(
        self,
        ledger: Ledger,
        admission: Admission,
        directory: Directory,
        roster: Roster,
        control: Control,
        oversight: Oversight,
        charter: Charter,
        questions: Questions,
    ) -> None:
        self._questions = questions
        self._charter = charter
        self._oversight = oversight
        self._ledger = ledger
        self._admission = admission
        self._directory = directory
        self._roster = roster
        self._control = control
        self._commands = {
            "sessions": _Command("/sessions [active | all]", "the sessions you can reach", False, self._sessions),
            "ask": _Command("/ask NAME TEXT", "ask a session; its answer comes back here", False, self._send),
            "handoff": _Command("/handoff NAME TEXT", "hand work to a session", False, self._send),
            "answer": _Command("/answer TEXT", "answer what the agent here asks", True, self._answer),
            "stop": _Command("/stop [all]", "end the running turn; all: what is queued too", True, self._stop),
            "resume": _Command("/resume", "take work again after a stop or a pause", True, self._resume),
            "new": _Command("/new", "give this session a fresh context", True, self._new),
            "bind": _Command("/bind NAME", "bind this place to a session", True, self._bind),
            "allow": _Command("/allow NAME [for 8h]", "let a session hand work to the one here", True, self._allow),
            "deny": _Command("/deny NAME [for 8h]", "forbid a session to reach the one here", True, self._deny),
            "policy": _Command(
                "/policy [revoke ID | pause | resume]",
                "what the session here may do, and others to it; pause: no agent reaches another",
                True,
                self._policy,
            ),
            "status": _Command("/status", "what the session here is doing", False, self._status),
            "help": _Command("/help", "this list", False, self._help),
        }

    def menu(self) -> Mapping[str, str]:
        """What people can be shown: each command's name, without the slash, and what it does."""
        return {name: command.help for name, command in self._commands.items()}

    async def run(self, heard: Heard) -> None:
        """Carries out one command, once a `heard.key`; what it has to say is posted at the place."""
        reply = f"reply:{heard.key}"
        if await self._ledger.store.post(reply) is not None:
            return
        name, rest = _word(heard.text)
        command = self._commands.get(name.removeprefix("/").lower())
        if command is None and heard.silent:
            return
        try:
            if command is None:
                raise Refused(Code.INVALID_REQUEST, f"there is no command {name[:40]}", remedy="See /help.")
            if heard.passed_on:
                raise Refused(
                    Code.INVALID_REQUEST,
                    f"a forwarded {name[:40]} is somebody else's, and not carried out",
                    remedy="Type it yourself, if you mean it.",
                )
            if command.operators_only and not heard.person.operator:
                refused = Refused(Code.NOT_PERMITTED, f"{name} is for operators", remedy="Ask one of them.")
                await record_attempt(self._ledger, _caller(heard, await self._speaker(heard)), heard.text, refused)
                raise refused
            said = await command.run(heard, rest)
        except Refused as refused:
            if refused.code is Code.UNAVAILABLE:
                raise
            said = wording.refused_text(refused)
        if said:
            text = said
            # What is done is told, and not done again to be told.
            await self._ledger.surely(lambda work: show(work, reply, heard.place, PostKind.NOTICE, text))

    # Messages

    async def _send(self, heard: Heard, rest: str) -> str | None:
        """What becomes of it is shown by the handoff's own post."""
        session = await self._here(heard)
        if not rest:
            raise Refused(Code.INVALID_REQUEST, "it takes a session and a text", remedy="Like: /ask career TEXT")
        to, text = await self._directory.addressed(rest)
        if not text:
            raise Refused(Code.INVALID_REQUEST, f"it takes a text for {to.id} too", remedy="Like: /ask career TEXT")
        caller = _caller(heard, session.id)
        send = Send(to=to.id, text=text, intent=Intent.REQUEST, wake=True, key=heard.key)
        try:
            await self._admission.send(caller, send)
        except Refused as refused:
            if refused.code in (Code.INVALID_REQUEST, Code.TOO_LARGE, Code.UNAVAILABLE):
                raise
        return None

    # What its agent asks

    async def fills_in(self, heard: Heard) -> bool:
        """Whether it replies to what an agent's form asks for: then it is for that form, and never input."""
        return await self._form(heard) is not None

    async def _answer(self, heard: Heard, rest: str) -> str:
        if not rest:
            raise Refused(Code.INVALID_REQUEST, "it takes a text", remedy="Like: /answer yes")
        said = await self._questions.answer(await self._form(heard) or self._questions.at(heard.place), rest)
        return said if said in (DECIDED, KEPT) else "The agent has your answer."

    async def _form(self, heard: Heard) -> str | None:
        if heard.reply_to is None:
            return None
        post = await self._ledger.store.sent_post(scheme_of(heard.place), heard.reply_to)
        return form_in(post.key) if post is not None and post.place == heard.place else None

    # The session here

    async def _stop(self, heard: Heard, rest: str) -> str:
        session = await self._here(heard)
        everything = rest.lower() == "all"
        stopped, cancelled = await self._control.stop(session.id, everything=everything)
        words = ["The turn is stopped." if stopped else "No turn was running."]
        if everything:
            words.append(f"Cancelled: {wording.counted(cancelled, 'queued message')}.")
        return " ".join([*words, "Peers wait until /resume or your next message."])

    async def _resume(self, heard: Heard, rest: str) -> str:
        session = await self._here(heard)
        resumed = await self._control.resume(session.id)
        return f"{session.title} takes work again." if resumed else f"{session.title} was not stopped."

    async def _new(self, heard: Heard, rest: str) -> str:
        session = await self._here(heard)
        failed = await self._control.renew(session.id)
        also = f" Closed as failed: {wording.counted(failed, 'request')} that it had read." if failed else ""
        return f"{session.title} starts afresh with your next message.{also}"

    async def _status(self, heard: Heard, rest: str) -> str:
        session = await self._here(heard)
        view = await self._directory.view(session.id)
        told = [f"{wording.session_line(view)}."]
        if view.outdated:
            told.append("It runs on older settings: /new gives it a fresh context with those of now.")
        if session.answering is not None:
            told.append(f"{session.answering} answers for {session.agent}.")
        if session.rested:
            told.append("It is stopped: peers wait until /resume or your next message.")
        if session.paused is not None:
            told.append(f"It is paused: {session.paused}. Set it right, then /resume.")
        return " ".join(told)

    async def _bind(self, heard: Heard, rest: str) -> str:
        if not rest:
            raise Refused(Code.INVALID_REQUEST, "it takes a session", remedy="Like: /bind career; see /sessions.")
        session = await self._directory.find(rest)
        if session.closed_at is not None:
            raise closed_session(session.id)
        await self._roster.bind(heard.place, session.id)
        return f"This place is bound to {session.title} ({session.id})."

    # What agents may do

    async def _allow(self, heard: Heard, rest: str) -> str:
        return await self._grant(heard, rest, Effect.ALLOW)

    async def _deny(self, heard: Heard, rest: str) -> str:
        return await self._grant(heard, rest, Effect.DENY)

    async def _grant(self, heard: Heard, rest: str, effect: Effect) -> str:
        """Of another session to the one here; to have it the other way round, say it there."""
        here = await self._here(heard)
        name, _, time = rest.partition(" for ")
        if not name.strip():
            raise Refused(
                Code.INVALID_REQUEST, "it takes a session", remedy=f"Like: /{effect} career, or /{effect} career for 8h"
            )
        other = await self._directory.find(name)
        life_s = seconds(time) if time else None
        view = await self._oversight.grant(
            _caller(heard, here.id), other.id, here.id, HANDING_WORK, Scope.PAIR, effect=effect, life_s=life_s
        )
        return wording.grant_given(view)

    async def _policy(self, heard: Heard, rest: str) -> str:
        word, ident = _word(rest)
        match word:
            case "":
                return await self._policy_here(heard)
            case "revoke" if not ident:
                raise Refused(Code.INVALID_REQUEST, "it takes the id of a grant", remedy="/policy lists them.")
            case "revoke":
                view = await self._oversight.revoke(_caller(heard, await self._speaker(heard)), ident)
                return f"Revoked: {wording.grant_line(view)}"
            case "pause":
                await self._oversight.pause(_caller(heard, await self._speaker(heard)))
                return "No agent reaches another until /policy resume. What comes waits."
            case "resume":
                await self._oversight.resume(_caller(heard, await self._speaker(heard)))
                return f"{RESUMING.capitalize()}."
            case _:
                raise Refused(Code.INVALID_REQUEST, f"there is no /policy {word[:40]}", remedy="See /help.")

    async def _policy_here(self, heard: Heard) -> str:
        here = await self._here(heard)
        caller = _caller(heard, here.id)
        grants = [
            one
            for one in await self._oversight.grants(caller)
            if here.id in (one.sender, one.recipient) or one.scope is Scope.ALWAYS
        ]
        return standing(
            here.title,
            await self._oversight.permissions(caller, here),
            grants,
            paused_by=(await self._ledger.regime()).paused_by,
            file=self._charter.file,
        )

    # Looking around

    async def _sessions(self, heard: Heard, rest: str) -> str:
        caller = Caller(await self._speaker(heard), Origin.USER)
        every = rest.lower() == "all"
        views, more = await self._directory.sessions(
            caller, active=rest.lower() == "active", every=every, children=every
        )
        lines = [wording.session_line(view) for view in views]
        if more:
            lines.append("…")
        return "\n".join(lines) or "No sessions."

    async def _help(self, heard: Heard, rest: str) -> str:
        usable = [one for one in self._commands.values() if heard.person.operator or not one.operators_only]
        lines = [f"{one.usage} – {one.help}" for one in usable]
        return "\n".join([*lines, "@NAME TEXT – the same as /handoff NAME TEXT"])

    async def _speaker(self, heard: Heard) -> SessionId:
        binding = await self._ledger.store.binding(heard.place)
        return binding.session if binding and binding.session else session_id(self._directory.profile, SHELL)

    async def _here(self, heard: Heard) -> Session:
        binding = await self._ledger.store.binding(heard.place)
        session = await self._ledger.store.session(binding.session) if binding and binding.session else None
        if session is None or session.closed_at is not None:
            raise Refused(
                Code.UNKNOWN_SESSION,
                f"no session is bound to this place, {heard.place}",
                remedy="An operator can bind one: /bind NAME (see /sessions).",
            )
        return session


def _caller(heard: Heard, session: SessionId) -> Caller:
    person = heard.person
    return Caller(session, Origin.USER, place=heard.place, person=person.id, operator=person.operator)


def _word(text: str) -> tuple[str, str]:
    """The first word and what follows it, whatever white space is between them."""
    first, *rest = text.split(maxsplit=1) or [""]
    return first, rest[0].strip() if rest else ""
