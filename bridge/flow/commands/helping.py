"""The help: what this person may do at this place."""

from collections.abc import Sequence

from bridge.flow.commands.command import Command, Group
from bridge.session import Session


def helped(commands: Sequence[Command], session: Session | None, *, operator: bool, attended: bool) -> str:
    usable = [one for one in commands if (operator or not one.operators_only) and (session or not one.here)]
    told = []
    for group in Group:
        lines = [f"{one.usage} – {one.help}" for one in usable if one.group is group]
        if lines:
            told.append("\n".join([f"{group}:", *lines]))
    if session is not None:
        told.append(
            f"What you write here goes to {session.title}. @NAME TEXT is the same as /handoff NAME TEXT, and a reply "
            "to what is asked here answers it."
        )
    elif operator:
        told.append("No session is bound to this place: /bind shows those that could be.")
    else:
        told.append("No session is bound to this place: ask an operator to bind one.")
    if not attended:
        told.append("No operator is here: what needs a person's word is refused at once.")
    return "\n\n".join(told)
