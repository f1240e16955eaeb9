"""Topics as operators make, name, close and open them at a place."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from bridge import wording
from bridge.errors import Code, Refused
from bridge.flow import choices
from bridge.flow.agents import Agents
from bridge.flow.commands.command import Command, Group, Here, Reply, word
from bridge.flow.ending import Ending
from bridge.flow.ledger import Ledger
from bridge.flow.naming import Naming
from bridge.flow.roster import Roster
from bridge.flow.showing import show
from bridge.flow.topics import Topics, checked_name
from bridge.flow.whereabouts import retitle
from bridge.flow.work import Work
from bridge.gateway import handle_from
from bridge.ids import Place
from bridge.ports.chat import Chat, Heard, NotDelivered
from bridge.post import PostKind
from bridge.session import NewSession, Source, Topic

_QUOTES = {'"': '"', "“": "”", "«": "»", "'": "'", "„": "“"}


class OfTopics:
    """`fresh` gives the session at a place a fresh context, which is what `/new` alone is for."""

    def __init__(
        self,
        ledger: Ledger,
        here: Here,
        topics: Topics,
        roster: Roster,
        agents: Agents,
        naming: Naming,
        ending: Ending,
        fresh: Callable[[Heard, str], Awaitable[str | Reply | None]],
    ) -> None:
        self._ledger = ledger
        self._here = here
        self._topics = topics
        self._roster = roster
        self._agents = agents
        self._naming = naming
        self._ending = ending
        self._fresh = fresh

    @property
    def commands(self) -> Sequence[Command]:
        group = Group.PLACES
        return (
            Command(
                "new",
                "/new [NAME [AGENT]]",
                "give this session a fresh context; with a name: make a topic and a session of its own",
                group,
                self._new,
                operators_only=True,
            ),
            Command(
                "rename",
                "/rename NAME",
                "give this topic and its session another name",
                group,
                self._rename,
                operators_only=True,
                here=True,
            ),
            Command(
                "close",
                "/close",
                "close the session here, and its topic",
                group,
                self._close,
                operators_only=True,
                here=True,
            ),
            Command(
                "reopen",
                "/reopen",
                "open the session here and its topic again",
                group,
                self._reopen,
                operators_only=True,
            ),
        )

    async def _new(self, heard: Heard, rest: str) -> str | Reply | None:
        """What has been made is told by the change that binds it, so that it is not made twice to be told."""
        if not rest:
            return await self._fresh(heard, rest)
        wanted = await self._wanted(heard, rest)
        if isinstance(wanted, Reply):
            return wanted
        name, agent, cwd = wanted
        ident = await self._ledger.do(lambda work: self._roster.free(work, handle_from(name)))
        new = NewSession(ident, name, agent, cwd)

        async def told(work: Work, made: Place) -> None:
            chat = work.means.chat_of(made)
            there, back = (chat.topic_link(made), chat.topic_link(heard.place)) if chat is not None else (None, None)
            said = wording.topic_made(name, new, there)
            await show(work, f"reply:{heard.key}", heard.place, PostKind.REPLY, said, session=ident)
            await show(work, f"topic:{made}", made, PostKind.NOTICE, wording.topic_begun(new, back), session=ident)

        await self._topics.make(new, heard.place, name, told)
        return None

    async def _wanted(self, heard: Heard, rest: str) -> tuple[str, str, str | None] | Reply:
        """The name, the agent and its directory; or the question which agent. The last word is an agent where there is
        one of that name."""
        here, known = await self._here.found(heard.place), self._agents.names()
        name, agent = _quoted(rest) or _ended(rest, known)
        name = checked_name(name)
        if agent is None and here is not None and here.agent in known:
            return name, str(here.agent), here.cwd
        if agent is None and len(known) == 1:
            return name, known[0], None
        if agent is not None and agent in known:
            same = here is not None and here.agent == agent
            return name, agent, here.cwd if here is not None and same else None
        if agent is None and known:
            return choices.agents(heard, name, known)
        what = "it takes an agent" if agent is None else f"there is no agent {agent[:40]}"
        each = " or ".join(f'/new "{name}" {one}' for one in known) or "none is configured in tieline.toml"
        raise Refused(Code.INVALID_REQUEST, what, remedy=f"Like: {each}.")

    async def _rename(self, heard: Heard, rest: str) -> str:
        session, name = await self._here.session(heard), checked_name(rest)
        why_not = await self._tried(heard.place, lambda chat: chat.rename_topic(heard.place, name))
        retitled = session.source is not Source.FILE
        if why_not is not None and not retitled:
            reason = f"the title of {session.id} is that of tieline.toml, and no topic was renamed: {why_not}"
            raise Refused(Code.INVALID_REQUEST, reason, remedy="Change the title in tieline.toml.")

        async def body(work: Work) -> None:
            now = await work.session(session.id)
            if now is not None:
                retitle(work, now, name)
            binding = await work.store.binding(heard.place)
            if binding is not None and why_not is None:
                work.put(replace(binding, topic=Topic(name)))

        await self._ledger.surely(body)
        self._naming.look()
        return wording.renamed(name, session.id, title=retitled, topic_kept=why_not)

    async def _close(self, heard: Heard, rest: str) -> str:
        session = await self._here.session(heard)
        if session.source is Source.FILE:
            raise Refused(
                Code.INVALID_REQUEST,
                f"{session.id} is one of tieline.toml",
                remedy="Remove it there, or close the topic in Telegram: its session stays, and what is for it waits.",
            )
        await self._ending.close(session.id)
        self._ending.close_topic(heard.place, f"reply:{heard.key}")
        return f"{session.title} ({session.id}) is closed, and its mail was returned. /reopen here opens it again."

    async def _reopen(self, heard: Heard, rest: str) -> str:
        binding = await self._ledger.store.binding(heard.place)
        session = await self._ledger.store.session(binding.session) if binding and binding.session else None
        if binding is None or session is None:
            raise Refused(
                Code.UNKNOWN_SESSION, f"no session was ever bound to this place, {heard.place}", remedy="See /bind."
            )
        opened = await self._ending.reopen(session.id)
        await self._tried(heard.place, lambda chat: chat.reopen_topic(heard.place))
        return f"{session.title} is open again." if opened else f"{session.title} was not closed."

    async def _tried(self, place: Place, deed: Callable[[Chat], Awaitable[None]]) -> str | None:
        """Why it could not be done with the topic, if it could not."""
        chat = self._ledger.chat_of(place)
        if chat is None:
            return "no chat serves it"
        try:
            await deed(chat)
        except NotDelivered as refused:
            return refused.reason
        return None


def _quoted(text: str) -> tuple[str, str | None] | None:
    """A name in quotes, and the word that follows it."""
    closing = _QUOTES.get(text[:1])
    if closing is None or closing not in text[1:]:
        return None
    name, _, agent = text[1:].partition(closing)
    return name, word(agent)[0] or None


def _ended(text: str, known: Sequence[str]) -> tuple[str, str | None]:
    name, _, last = text.rpartition(" ")
    return (name, last) if name.strip() and last in known else (text, None)
