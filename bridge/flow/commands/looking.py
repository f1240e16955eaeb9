"""What people look up at a place."""

from collections.abc import Mapping, Sequence

from bridge import phrases, wording
from bridge.activity import elapsed
from bridge.caller import Caller
from bridge.errors import Code, Refused
from bridge.flow.commands.command import Command, Group, Here
from bridge.flow.directory import Directory
from bridge.flow.insight import Insight
from bridge.flow.ledger import Ledger
from bridge.ids import SessionId, handle_of, scheme_of
from bridge.message import Origin
from bridge.ports.chat import Heard
from bridge.trace import Step

_STEPS = 40
_PAGE, _PAGES = 200, 5
"""So many decisions are looked through for the newest conversation of a place."""
_DETAIL_CHARS = 120
_UNSAID = frozenset(
    {"epoch", "message_id", "place", "post", "receipt", "reply", "text", "title", "turn", "until", "usage"}
)
"""Details of steps that tell a person nothing, or are shown in a post of their own."""
_PLAIN = frozenset({"agent", "intent", "origin", "name", "outcome", "reason", "state"})
"""Those whose values say by themselves what they are."""


class Looking:
    def __init__(self, ledger: Ledger, here: Here, directory: Directory, insight: Insight) -> None:
        self._ledger = ledger
        self._here = here
        self._directory = directory
        self._insight = insight

    @property
    def commands(self) -> Sequence[Command]:
        group = Group.LOOK
        return (
            Command("sessions", "/sessions [active | all]", "the sessions you can reach", group, self._sessions),
            Command(
                "trace",
                "/trace [ID]",
                "what happened to a message, step by step; in reply to a post: to that; else to the newest here",
                group,
                self._trace,
            ),
        )

    async def _sessions(self, heard: Heard, rest: str) -> str:
        if rest.lower() not in ("", "active", "all"):
            raise Refused(
                Code.INVALID_REQUEST, f"there is no /sessions {rest[:40]}", remedy="/sessions active, or all."
            )
        caller = Caller((await self._here.caller(heard)).session, Origin.USER)
        every = rest.lower() == "all"
        views, more = await self._directory.sessions(
            caller, active=rest.lower() == "active", every=every, children=every
        )
        lines = [wording.session_line(view) for view in views]
        if more:
            lines.append("…")
        return "\n".join(lines) or "No sessions."

    async def _trace(self, heard: Heard, rest: str) -> str:
        ident = rest or await self._replied_to(heard) or await self._newest((await self._here.session(heard)).id)
        if ident is None:
            raise Refused(
                Code.UNKNOWN_MESSAGE,
                "no conversation is known here",
                remedy="Name one: /trace ID, as tieline tells it.",
            )
        return traced(ident, await self._insight.trace(await self._here.caller(heard), ident))

    async def _replied_to(self, heard: Heard) -> str | None:
        if heard.reply_to is None:
            return None
        post = await self._ledger.store.sent_post(scheme_of(heard.place), heard.reply_to)
        return post.message if post is not None and post.place == heard.place else None

    async def _newest(self, session: SessionId) -> str | None:
        before = None
        for _ in range(_PAGES):
            page = await self._ledger.store.recent_verdicts(before, _PAGE)
            for verdict in page:
                if session in (verdict.sender, verdict.recipient) and verdict.conversation is not None:
                    return verdict.conversation
            if len(page) < _PAGE:
                return None
            before = page[-1].id
        return None


def traced(ident: str, steps: Sequence[Step]) -> str:
    """A trace as people read it: the time since its first step, whose step it is, and what it says."""
    began = steps[0].at
    shown = steps if len(steps) <= _STEPS else [*steps[: _STEPS // 2], *steps[-_STEPS // 2 :]]
    lines = [
        f"+{elapsed(step.at - began)} {handle_of(step.session)}: {step.step}{_detail(step.detail)}" for step in shown
    ]
    if len(shown) < len(steps):
        lines.insert(_STEPS // 2, f"… {len(steps) - len(shown)} more: tieline trace {ident}")
    return "\n".join([f"Trace of {ident}:", *lines])


def _detail(detail: Mapping[str, object]) -> str:
    told = [
        _told(name, value)
        for name, value in detail.items()
        if name not in _UNSAID and value not in (None, False, "", [], {})
    ]
    return f" ({', '.join(told)})" if told else ""


def _told(name: str, value: object) -> str:
    what = name.replace("_", " ")
    if value is True:
        return what
    said = " and ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return f"{'' if name in _PLAIN else f'{what} '}{phrases.one_line(said, _DETAIL_CHARS)}"
