"""Selectors: how a rule names sessions (DESIGN §4).

    default/career   that session          tag:office      sessions with that tag
    default/*        a whole profile       kind:chat       sessions of that kind
    *                every session         project:tieline sessions of that project

The two of the left column that hold a `/` name their profile. The others match a session only where both
sides are of one profile.
"""

import re
from typing import NewType

from bridge.decision import Party, Verb
from bridge.ids import profile_of
from bridge.session import AGENT_TAG, Kind

Selector = NewType("Selector", str)

_NAME = r"[a-z0-9][a-z0-9-]{0,62}"
_NAMED = re.compile(rf"{_NAME}/(?:{_NAME}|\*)\Z")
_LABEL = re.compile(r"(?:tag|project):[^\s\x00-\x1f\x7f][^\x00-\x1f\x7f]{0,199}\Z")
_KINDS = frozenset(f"kind:{kind}" for kind in Kind)

FORMS = "an id like default/career, default/*, tag:NAME, kind:NAME, project:NAME or *"


class BadSelector(ValueError):
    """A text that names no sessions. Its message says what is wrong with it, and `remedy` what to write."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy


def selector(text: str) -> Selector:
    """Raises `BadSelector`."""
    if text == "*" or _NAMED.match(text) or _LABEL.match(text) or text in _KINDS:
        return Selector(text)
    if text.startswith("kind:"):
        raise BadSelector(f"{text!r} names no kind of session", f"use one of {', '.join(sorted(_KINDS))}")
    if re.match(rf"{_NAME}\Z", text):
        raise BadSelector(f"{text!r} names no profile", f"write PROFILE/{text}, or for all of a profile {text}/*")
    raise BadSelector(f"{text!r} is no selector", f"write {FORMS}")


def named(recipient: Party, verb: Verb) -> Selector:
    """How a rule for that verb names the recipient: by its id, but for a child that is to be spawned, which has none
    before."""
    agents = (tag for tag in sorted(recipient.tags) if tag.startswith(AGENT_TAG))
    tag = next(agents, None) if verb is Verb.SPAWN else None
    return Selector(recipient.id if tag is None else f"tag:{tag}")


def by_name(party: Party) -> tuple[Selector, ...]:
    """The selectors that match the session and name its profile."""
    return Selector(party.id), Selector(f"{profile_of(party.id)}/*")


def within_profile(party: Party) -> tuple[Selector, ...]:
    """The selectors that match the session as seen from its own profile only."""
    labels = [f"tag:{tag}" for tag in party.tags]
    if party.project is not None:
        labels.append(f"project:{party.project}")
    if party.kind is not None:
        labels.append(f"kind:{party.kind}")
    return Selector("*"), *map(Selector, labels)
