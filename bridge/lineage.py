"""Children: sessions that the turn of another has spawned, and what their lineage lets them do (DESIGN §8).

A child is of its parent's profile and project and of kind `tool`; its only tag names its agent, so that rules can tell
children apart before there are any. What its parent's tags open stays closed to it.

Parent and child know each other. The parent may hand its child work, and the child may tell its parent something, as
far as no rule denies it. Of all else a child may do, and others may do to it, what rules say, and never more than they
say of its parent: who is refused something gains nothing by spawning somebody.
"""

import re
from collections.abc import Iterator, Sequence

from bridge.admission import storable
from bridge.decision import Circumstances, Decision, Effect, Party, Verb, party
from bridge.errors import Code, Refused
from bridge.ids import SessionId, TurnId, profile_of
from bridge.launching import Frozen, Options
from bridge.limits import Limits
from bridge.ports.policy import Policy
from bridge.session import Caps, Habits, Kind, Session, Source, agent_tag

Line = Sequence[Session]
"""A session and those above it, the nearest first."""

LINEAGE_RULE = "lineage"
"""The rule that lets parent and child talk."""

_TITLE_CHARS = 80
_AGENT = re.compile(r"[a-z0-9][a-z0-9-]{0,62}\Z")
_CHILD = re.compile(r"-[0-9a-f]{12}\Z")
_TO_CHILD = frozenset({Verb.DISCOVER, Verb.SEND, Verb.ASK, Verb.WAKE})
_TO_PARENT = frozenset({Verb.DISCOVER, Verb.SEND})
"""It may not wake its parent: that one is at work for as long as it has the child."""

_RANK = {Effect.DENY: 0, Effect.ASK: 1, Effect.ALLOW: 2}


def caps_of(limits: Limits) -> Caps:
    return Caps(children=limits.children, depth=limits.spawn_depth)


def form(agent: str, title: str) -> Refused | None:
    if not _AGENT.match(agent):
        return Refused(Code.INVALID_REQUEST, "agent is the name of one of the operator's agents")
    if not title.strip() or len(title) > _TITLE_CHARS or not title.isprintable() or not storable(title):
        return Refused(Code.INVALID_REQUEST, f"a title is one line of 1 to {_TITLE_CHARS} characters")
    return None


def child(parent: Session, turn: TurnId, agent: str, title: str, new_id: str, now: float) -> Session:
    """`new_id` makes its handle one that no other session has had, nor will have. What its parent is kept from, it is
    kept from, too; a mode is one of an agent's own, and goes for a child of the same agent only."""
    options = parent.options
    kept = Options(safe=options.safe, mode=options.mode if agent == parent.answers else None)
    handle = f"{agent[:50]}-{new_id[-12:]}"
    return Session(
        id=SessionId(f"{profile_of(parent.id)}/{handle}"),
        title=title.strip(),
        kind=Kind.TOOL,
        source=Source.RUNTIME,
        created_at=now,
        agent=agent,
        cwd=parent.cwd,
        project=parent.project,
        tags=(agent_tag(agent),),
        habits=Habits(peer_tools=parent.habits.peer_tools, peer_mode=parent.habits.peer_mode),
        frozen=Frozen(kept),
        parent=parent.id,
        spawned_in=turn,
    )


def for_child(session: SessionId) -> bool:
    """Whether only a child may be called so: it may have been, and is not kept any more."""
    return _CHILD.search(session) is not None


def over(caps: Caps, depth: int, alive: int) -> Refused | None:
    """Why there may be no further child at that depth, where so many of the same root are alive."""
    if depth > caps.depth:
        return Refused(
            Code.DEPTH_LIMIT,
            f"a child would be {depth} deep; the limit is {caps.depth}",
            rule="limits.spawn_depth",
            remedy="Do this part yourself, or answer with what you have.",
        )
    if alive >= caps.children:
        return Refused(
            Code.BUSY,
            f"there are {alive} children of this work already; the limit is {caps.children} at once",
            rule="limits.children",
            remedy="Give the task to a child that you have, or go on without: they all end with your turn.",
        )
    return None


def kin(one: Session, other: Session) -> bool:
    return other.id == one.parent or one.id == other.parent


def decided(policy: Policy, sender: Line, recipient: Line, verb: Verb, around: Circumstances) -> Decision:
    """What is said of the two at the beginning of their lines."""
    one, other = sender[0], recipient[0]
    if verb in _by_lineage(one, other):
        between = party(one), party(other), verb, around
        known = Decision(Effect.ALLOW, LINEAGE_RULE, "one of them is the other's child")
        return policy.denied(*between) or known
    every = (policy.decide(*pair, verb, around) for pair in _pairs(sender, recipient, verb))
    return min(every, key=lambda decision: _RANK[decision.effect])


def denied(policy: Policy, sender: Line, recipient: Line, verb: Verb, around: Circumstances) -> Decision | None:
    """The explicit deny that matches, of them or of those above them."""
    every = (policy.denied(*pair, verb, around) for pair in _pairs(sender, recipient, verb))
    return next(filter(None, every), None)


def seen(policy: Policy, viewer: Line, others: Sequence[Line], now: float) -> set[SessionId]:
    """Of these, those that the first of the viewer's line sees. What may be spawned is not seen by that alone."""
    # Those that last are asked about without the children among them, which would make the policy think anew each time.
    lasting = [party(line[0]) for line in others if len(line) == 1]
    within = {*policy.visible(party(viewer[0]), lasting, now)}
    around = Circumstances(now, None)

    def sees(other: Line) -> bool:
        if kin(viewer[0], other[0]):
            return True
        if len(other) == 1 and (len(viewer) == 1 or other[0].id not in within):
            return other[0].id in within
        return _meet(policy, viewer, other, around)

    return {line[0].id for line in others if sees(line)}


def _meet(policy: Policy, one: Line, other: Line, around: Circumstances) -> bool:
    return one[0].id != other[0].id and any(
        decided(policy, *pair, verb, around).effect is not Effect.DENY
        for pair in ((one, other), (other, one))
        for verb in Verb
        if verb is not Verb.SPAWN
    )


def _by_lineage(one: Session, other: Session) -> frozenset[Verb]:
    if other.parent == one.id:
        return _TO_CHILD
    return _TO_PARENT if one.parent == other.id else frozenset()


def _pairs(sender: Line, recipient: Line, verb: Verb) -> Iterator[tuple[Party, Party]]:
    """Of whom it must be said: the two, and whoever is above one of them, but for those that have one line."""
    one, other = sender[0], recipient[0]
    if verb is Verb.SPAWN:
        yield from ((party(each), party(other)) for each in sender)
        return
    yield party(one), party(other)
    senders, recipients = ({each.id for each in line} for line in (sender, recipient))
    for high in sender:
        for low in recipient:
            alike = high.id in recipients or low.id in senders
            if not alike and (high.id, low.id) != (one.id, other.id):
                yield party(high), party(low)
