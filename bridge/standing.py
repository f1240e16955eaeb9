"""How permissions stand, in words for the people of a place: `/policy`."""

from collections.abc import Sequence

from bridge.decision import Verb
from bridge.ids import SessionId, handle_of
from bridge.phrases import counted
from bridge.views import FileState, GrantView, PermissionsView, Reach
from bridge.wording import grant_line

FILE = {
    FileState.WAITS: "what it adds waits for an operator's word in a chat",
    FileState.REFUSED: "an operator has refused what it adds",
    FileState.BROKEN: "it cannot be read now, and what it said before holds on",
}
"""Why not all of the operator's file holds."""

_NAMES = 8
"""How many sessions a line names."""


def standing(
    title: str, permissions: PermissionsView, grants: Sequence[GrantView], *, paused_by: str | None, file: FileState
) -> str:
    """What a session may do, and others to it, at a glance; and what of that was granted, to be taken back."""
    told = [f"All traffic between agents is paused by {paused_by}, until /policy resume."] if paused_by else []
    if file is not FileState.HOLDS:
        told.append(f"Not all of tieline.toml holds: {FILE[file]}.")
    told += [f"What {title} may do:", *_reaches("→", permissions.may)]
    told += [f"What others may do to {title}:", *_reaches("←", permissions.others_may)]
    if permissions.more:
        told.append(f"… and {counted(permissions.more, 'more session')}: `tieline policy explain` tells of each")
    if grants:
        told += ["Granted beside the rules of the file:", *map(grant_line, grants)]
    else:
        told.append("Nothing is granted here beside the rules of the file.")
    return "\n".join(told)


def _reaches(arrow: str, reaches: Sequence[Reach]) -> list[str]:
    return [f"{arrow} {_names(one.sessions)}: {_verbs(one)}" for one in reaches] or [f"{arrow} nothing"]


def _names(sessions: Sequence[SessionId]) -> str:
    more = len(sessions) - _NAMES
    return ", ".join(map(handle_of, sessions[:_NAMES])) + (f" and {more} more" if more > 0 else "")


def _verbs(reach: Reach) -> str:
    parts = [", ".join(_telling(reach.allowed, reach))]
    if asked := _telling(reach.asked, reach):
        parts.append(f"once an operator approves: {', '.join(asked)}")
    return "; ".join(filter(None, parts))


def _telling(verbs: Sequence[Verb], reach: Reach) -> list[Verb]:
    """To be seen goes with whatever else is permitted."""
    alone = {*reach.allowed, *reach.asked} == {Verb.DISCOVER}
    return [verb for verb in verbs if alone or verb is not Verb.DISCOVER]
