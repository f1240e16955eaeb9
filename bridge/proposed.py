"""What an operator is asked to accept in a chat, in words that show all that is decided (DESIGN §4, §7)."""

from collections.abc import Iterator, Sequence

from bridge.errors import Refused
from bridge.grant import Grant, Scope
from bridge.ids import Place, SessionId
from bridge.launching import Options
from bridge.phrases import one_line, short
from bridge.session import NewSession
from bridge.wording import refused_text

_WIDENING_CHARS = 2_500
RESUMING = "agents reach each other again"
WIDENING = "tieline.toml would let agents do more"


def grant_proposed(
    sender: str, recipient: str, verbs: Sequence[str], scope: Scope, life_s: float | None, by: str
) -> str:
    until = f", for {life_s:g} s" if life_s is not None else ""
    return (
        f"A terminal ({by}) asks for a grant: {sender} → {recipient}: {', '.join(verbs)} ({scope}{until}).\n"
        "It holds once you accept it here."
    )


def revoke_proposed(grant: Grant, by: str, *, given_by: str) -> tuple[str, str]:
    """What it is about, and as operators are asked for it."""
    denied = f"deny {grant.sender} → {grant.recipient}: {', '.join(grant.verbs)} (by {one_line(given_by)})"
    text = f"A terminal ({by}) asks that this be taken back: {denied}.\nIt is done once you accept it here."
    return f"take back: {denied}", text


def resume_proposed(by: str, paused_by: str) -> str:
    return (
        f"A terminal ({by}) asks for the end of the pause (by {one_line(paused_by)}): {RESUMING}.\n"
        "It is done once you accept it here."
    )


def gateway_proposed(name: str, by: str) -> tuple[str, str]:
    """What it is about, and as operators are asked for it."""
    about = f"pair the gateway {name}"
    text = (
        f"A terminal ({by}) asks to pair the gateway {name}: whoever has the token brings sessions of its own, reports "
        f"what they do, and is told of their mail. A token that {name} had before is dead then.\n"
        "It is done once you accept it here."
    )
    return about, text


def session_new(new: NewSession, taken_from: SessionId | None) -> str:
    """All of a session that is to be made, each on a line of its own whatever it holds."""
    told = [f"a new session, {new.id}", f"agent: {_plain(new.agent or 'none, its mail waits to be read')}"]
    if new.agent is not None or new.cwd is not None:
        told.append(f"directory: {_plain(new.cwd or 'your home')}")
    if new.place is not None:
        told.append(f"place: {_plain(new.place)}" + (f", which is {taken_from}'s so far" if taken_from else ""))
    if new.near is not None:
        told.append(f"topic: a new one in the chat of {_plain(new.near)}")
    return "\n· ".join([*told, f"title: {_plain(new.title)}", *_options(new.options)])


def topic_wanted(session: SessionId, near: Place) -> str:
    return f"a topic for {session} in the chat of {_plain(near)}"


def _options(options: Options) -> Iterator[str]:
    for name in ("model", "mode", "label", "preamble"):
        if (value := getattr(options, name)) is not None:
            yield f"{name}: {_plain(value)}"
    for server in options.servers:
        passed = f", with {', '.join(server.env_pass)} of the agent's environment" if server.env_pass else ""
        yield f"MCP server {server.name}: {_plain(' '.join(map(repr, server.command)))}{passed}"
    for name in ("files", "fallback"):
        if values := getattr(options, name):
            yield f"{name}: {_plain(', '.join(values))}"
    if options.hooks:
        yield "the hooks that you have set up for its agent run without a question"
    if options.safe:
        yield "nothing of your own configuration"


def session_resumed(session: SessionId) -> str:
    return f"{session} takes work again"


def session_renewed(session: SessionId) -> str:
    return f"{session} begins afresh, with the settings of now: what its agent knows is gone"


def session_entrusted(session: SessionId, name: str) -> str:
    return f"a token named {name} for {session}: whoever holds it reads its mail, and writes in its name"


def session_proposed(what: str, by: SessionId, because: str | None = None) -> str:
    """What a shell asks for, as operators are asked for it."""
    now = f"\n· now {one_line(because)}" if because else ""
    return f"A terminal ({by}) asks for this: {what}{now}\nIt is done once you accept it here."


def widening_proposed(lines: Sequence[str]) -> str:
    """In one post, for its buttons stand below all that they decide about."""
    shown: list[str] = []
    for line in lines:
        bullet = f"+ {short(line, 800)}"
        if sum(map(len, shown)) + len(bullet) > _WIDENING_CHARS:
            break
        shown.append(bullet)
    more = len(lines) - len(shown)
    cut = f"\n… and {more} more: the bridge's log has all of them" if more else ""
    waits = "It waits for your word; what only forbids more holds already. If nobody of you has written it, refuse."
    later = "Once you accept, rules hold at once; the rest from the next start of the bridge."
    return f"{WIDENING}:\n" + "\n".join(shown) + f"{cut}\n\n{waits} {later}"


def kept(about: str, refused: Refused) -> str:
    return f"{about}\n· {refused_text(refused)}\nAccept it again once that is set right, or refuse it."


def _plain(text: str) -> str:
    """As it is, or with signs for what cannot be seen or would begin another line."""
    return text if text.isprintable() else repr(text)
