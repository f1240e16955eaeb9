"""What the bridge itself says to people."""

import re
from collections.abc import Sequence

from bridge.decision import Effect, Verb
from bridge.errors import Refused
from bridge.grant import Scope
from bridge.ids import Place, SessionId, handle_of
from bridge.message import Message, Outcome
from bridge.phrases import counted, one_line, ordinal, set_in, short, with_attachments
from bridge.quiet import clock, kept_until
from bridge.request import Answer
from bridge.session import NewSession, Session
from bridge.views import GrantView, SessionView, minute

EDITED_LATE = (
    "Your edit comes too late: what you said has been taken up as it was. Send the new version as a message of its "
    "own; /stop ends what runs."
)
EDITED_COMMAND = "Nothing is done for an edited command. Send it as a new message, if it is meant."
UNUSED_FILES = "What you have attached went nowhere: only /ask, /handoff and @NAME take files along."
_APART = "\n\n"
_BLOCK = re.compile(r"[#>|\s]|[-+*]\s|[0-9]+[.)]\s|```|~~~|---|\*\*\*\s")


def handoff_line(sender: SessionId, recipient: SessionId | str, text: str, status: str) -> str:
    """A handoff as both of its places see it."""
    name = one_line(handle_of(SessionId(recipient)), 200)  # as it was written, where nobody has that name
    return f"{handle_of(sender)} → {name}: {set_in(text)}\n· {status}"


def handoff(message: Message, status: str) -> str:
    return handoff_line(message.sender, message.recipient, shown(message), status)


def shown(message: Message) -> str:
    """Its text as people see it, with the names of what is attached."""
    names = ", ".join(one_line(one.name, 60) for one in message.attachments)
    return f"{message.text}\n📎 {names}".strip() if names else message.text


def obstacle(session: Session, message: Message, now: float, *, all_paused_by: str | None = None) -> str | None:
    """What keeps a session from beginning a turn for a message, whatever is in line before it."""
    if session.paused is not None:
        return "paused until its people set it right"
    if all_paused_by is not None and not message.from_person:
        return all_paused(all_paused_by)
    if session.rested and not message.from_person:
        return "stopped until its people resume it"
    if (until := kept_until(session, message, now)) is not None:
        return f"quiet hours until {clock(session, until)}"
    return None


def all_paused(by: str) -> str:
    return f"all traffic between agents is paused by {by}"


WOKEN = "woken"
WORKING = "working"


def queued_status(position: int, *, wake: bool, busy: bool, obstacle: str | None) -> str:
    """Whoever is first in line of an idle session is as good as woken: that is said once, not twice in a moment."""
    if not wake:
        return "in its inbox; it waits to be read"
    if position == 1 and not busy and obstacle is None:
        return WOKEN
    return f"queued, {ordinal(position)} in line" + (f"; {obstacle}" if obstacle else "")


HELD = "waits until an operator approves it"
_ASKED_CHARS = 1_200


def approval_asked(held: Sequence[Message], verbs: Sequence[Verb], wish: str | None = None, *, more: int = 0) -> str:
    """Who wants what of whom: the messages in their order, and of each that is not the first of its conversation how
    far on it is. `more` wait behind them."""
    first = held[0]
    wants = ", ".join(sorted(verbs))
    head = f"{handle_of(first.sender)} → {handle_of(first.recipient)} needs your approval ({wants})"
    room = max(100, _ASKED_CHARS // len(held))
    several = len(held) > 1
    told = [
        f"{f'{number}. ' if several else ''}“{set_in(with_attachments(message.text, message.attachments), room)}”"
        f"{_handed_on(message)}"
        for number, message in enumerate(held, 1)
    ]
    behind = [f"· {counted(more, 'more message')} of the same pair come after these"] if more else []
    return "\n".join([head, *told, *behind, *([f"· {wish}"] if wish else [])])


def _handed_on(message: Message) -> str:
    return "" if message.depth < 2 else f"\n· {ordinal(message.depth)} step of a chain of handoffs"


def grant_line(grant: GrantView) -> str:
    """A grant as a list for people shows it."""
    scope = "" if grant.scope in (Scope.PAIR, Scope.ALWAYS) else f", {grant.scope}"
    until = f", until {minute(grant.expires_at)}" if grant.expires_at is not None else ""
    says = "may" if grant.effect is Effect.ALLOW else "may not"
    what = f"{grant.sender} {says} {', '.join(grant.verbs)} → {grant.recipient}"
    return f"{what}{scope}{until} (by {grant.by_name or grant.by}; {grant.id})"


def grant_given(grant: GrantView) -> str:
    by = ", ".join(grant.denied_by)
    still = f"\nBut {', '.join(grant.denied)} is still denied by {by}: a grant undoes no deny." if by else ""
    if grant.waits_for:
        return f"This waits for an operator's word at {grant.waits_for[0]}.{still}"
    return f"From now on: {grant_line(grant)}{still}"


def file_broken(problems: str) -> str:
    return f"tieline.toml cannot be read, so what it said before holds on:\n{short(problems, 2_500)}"


FILE_MENDED = "tieline.toml could not be read; it can be again, and holds."
APPROVED = {
    Scope.ONCE: "Approved once.",
    Scope.CONVERSATION: "Approved for this conversation.",
    Scope.PAIR: "Approved, and always for this pair.",
}


def approval_decided(message: Message, how: str) -> str:
    pair = f"{handle_of(message.sender)} → {handle_of(message.recipient)}"
    return f"{pair}: {how}\n{quoted(message)}"


def refused_status(refused: Refused) -> str:
    return f"refused: {refused.code} – {refused.reason}{_by_rule(refused)}"


def _by_rule(refused: Refused) -> str:
    """The rule, where the reason does not name it and it is one: a limit's name or a line of the operator's file."""
    named = refused.rule if refused.rule != "no-rule" and refused.rule not in (None, refused.code) else None
    return f" (rule: {named})" if named and named not in refused.reason else ""


def refused_text(refused: Refused) -> str:
    """A refusal as it is told to the person who asked for something."""
    return f"Not done: {refused.reason}{_by_rule(refused)}. {refused.remedy}"


def answer_status(state: Answer, reason: str | None) -> str:
    words = {
        Answer.OPEN: "open",
        Answer.ANSWERED: "answered",
        Answer.NO_REPLY: "read; no answer",
        Answer.INPUT_REQUIRED: "asks back",
        Answer.FAILED: "failed",
        Answer.EXPIRED: "expired",
        Answer.CANCELLED: "cancelled",
    }[state]
    return f"{words}: {reason}" if reason else words


def answer_post(asked: SessionId, text: str, *, late: bool = False, question: bool = False) -> str:
    """Markdown: a heading, a list, a table or code has to begin its line."""
    label = " (late)" if late else " asks" if question else ""
    return f"{handle_of(asked)}{label}:{_APART if _BLOCK.match(text) else ' '}{text}"


def undelivered_post(place: Place, reason: str) -> str:
    return f"What was for {place} could not be shown there: {one_line(reason)}. It was sent nowhere else."


def topic_made(name: str, new: NewSession, link: str | None) -> str:
    return f"Made: {name}, with the session {new.id} and the agent {new.agent}." + (f"\n{link}" if link else "")


def topic_kept(reason: str) -> str:
    return f"This topic could not be deleted: {one_line(reason).rstrip('.')}. Set that right and say /delete again."


def topic_begun(new: NewSession, link: str | None) -> str:
    where = f", in {new.cwd}" if new.cwd else ""
    text = f"This is {new.title} ({new.id}), run by {new.agent}{where}. What you write here is for it."
    return text + (f"\nMade in {link}" if link else "")


def topic_given(name: str, session: SessionId) -> str:
    return f"This is {one_line(name)} ({session}). What you write here is for it."


def no_topic_given(session: SessionId, refused: Refused) -> str:
    return f"{session} has no topic: {one_line(refused.reason)}. {one_line(refused.remedy)}"


def renamed(name: str, session: SessionId, *, title: bool, topic_kept: str | None) -> str:
    if topic_kept is not None:
        return f"{session} is called {name} now; no topic was renamed: {one_line(topic_kept)}."
    kept = "" if title else f" {session} keeps its title, which is that of tieline.toml."
    return f"This topic is called {name} now.{kept}"


def waiting_post(place: Place, reason: str) -> str:
    return f"What is for {place} waits, for it cannot be shown there: {one_line(reason)}. It is sent nowhere else."


def shown_again(place: Place) -> str:
    return f"What is for {place} is shown there again."


def limit_notice(
    refused: Refused, sender: SessionId, recipient: str, picture: Sequence[tuple[SessionId, SessionId, int]]
) -> str:
    lines = [
        f"Stopped: {handle_of(sender)} → {one_line(recipient.rpartition('/')[2])} was refused ({refused.code}: "
        f"{one_line(refused.reason)}). This conversation between your agents goes no further by itself."
    ]
    lines += [f"· {handle_of(one)} → {handle_of(other)}: {counted(sent, 'message')}" for one, other, sent in picture]
    return "\n".join(lines)


def turn_failed(session: SessionId, detail: str, after: str) -> str:
    return f"{handle_of(session)}: the turn failed: {one_line(detail, 400).rstrip('.')}. {after}"


def paused(who: str, reason: str, what: str) -> str:
    return f"{who} is paused: {one_line(reason).rstrip('.')}. {what} it right, then /resume."


def stands_in(session: SessionId, agent: str, why: str, other: str, until: str) -> str:
    what = f"{agent} cannot answer now ({one_line(why, 300).rstrip('.')})"
    return f"{handle_of(session)}: {what}. {other} answers instead; {agent} rests until {until}."


def answers_again(session: SessionId, agent: str) -> str:
    return f"{handle_of(session)}: {agent} answers again."


def none_answers(detail: str) -> str:
    return f"{detail.rstrip('.')}; and no other agent of the session can answer now"


def given_up(message: Message, attempts: int, reason: str) -> str:
    who = f"the message of {handle_of(message.sender)}"
    return f"{handle_of(message.recipient)}: {who} is given up after {attempts} attempts: {one_line(reason)}."


def parked_text(session: SessionId, message: Message, reason: str) -> str:
    who = "your message" if message.from_person else f"the message of {handle_of(message.sender)}"
    question = f"{handle_of(session)}: {one_line(reason)}; {who} may have been acted on already. Run it again?"
    return f"{question}\n{quoted(message)}"


def parked_decided(message: Message, what: str) -> str:
    return f"{one_line(what)}: {quoted(message)}"


def input_ended(message: Message, outcome: Outcome, reason: str | None) -> str:
    return f"Not done: {one_line(reason or str(outcome))}\n{quoted(message)}"


def quoted(message: Message) -> str:
    return f"“{set_in(shown(message), 200)}”"


def permission_asked(session: SessionId, title: str, *, denied: bool = False) -> str:
    """What an agent asks leave for is in its own words, and those may be what another agent told it to say."""
    return f"{handle_of(session)} {'asked' if denied else 'asks'} for permission: {set_in(title, 300)}"


def form_asked(session: SessionId, title: str, url: str | None, field: str) -> str:
    link = f"\n  The link is the agent's; nobody has opened it: {url}" if url else ""
    what = f"\n  {set_in(field, 300)}" if field else ""
    return f"{handle_of(session)} asks: {set_in(title, 600)}{link}{what}"


REPLY_HERE = "reply to this message with it, or type /answer and what it is"
_ACTIVITIES = {"thinking": "at work", "tool_running": "at work with a tool", "errored": "cannot work"}


def session_line(view: SessionView) -> str:
    """A session as a list for people shows it."""
    mail = f", {counted(view.unsettled, 'open message')}" if view.unsettled else ""
    return f"{view.title} ({view.id}): {_ACTIVITIES.get(view.activity, view.activity)}{mail}"


def unbound_offer(place: Place) -> str:
    return f"No session is bound to this place ({place}). An operator can bind one: /bind NAME (see /sessions)."


SHORT_OF_ROOM = (
    "The disk is full: nothing new is accepted until there is room, and what you write waits. "
    "What was accepted before goes on."
)
ROOM_AGAIN = "The disk was full; there is room again, and new work is accepted."
RECREATED = "This topic stands in for one that was deleted. The same session goes on here."
CONTEXT_LOST = "The agent no longer has its earlier context, and starts afresh."
