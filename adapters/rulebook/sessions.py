"""The sessions that a settings file declares, as the rules know them."""

from collections.abc import Mapping
from difflib import get_close_matches

from adapters.settings.model import Settings
from bridge.decision import Party
from bridge.errors import Code, Refused
from bridge.ids import SHELL, SessionId, address, handle_of, profile_of, session_id
from bridge.session import Kind


def parties(settings: Settings) -> dict[SessionId, Party]:
    """Those that the file declares, and the shell's. Those made at run time are in no file."""
    shell = session_id(settings.profile, SHELL)
    declared = {one.id: Party(one.id, one.kind, one.project, frozenset(one.tags)) for one in settings.sessions}
    return {shell: Party(shell, Kind.SHELL), **declared}


def named(text: str, profile: str, known: Mapping[SessionId, Party]) -> Party:
    """The session of that id or handle. Of one of another profile nothing but its id counts, for nothing else is
    matched from there. Raises `Refused`."""
    ident = address(text, profile)
    if ident is not None and ident in known:
        return known[ident]
    if ident is not None and profile_of(ident) != profile:
        return Party(ident, Kind.CHAT)
    close = get_close_matches(text, [name for one in known for name in (one, handle_of(one))], n=1)
    remedy = f"Did you mean {close[0]}?" if close else f"It has {', '.join(sorted(map(handle_of, known)))}."
    raise Refused(Code.UNKNOWN_SESSION, f"the file declares no session {text!r}", remedy=remedy)
