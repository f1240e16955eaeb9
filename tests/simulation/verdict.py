"""What must be true once everything has healed: first that nothing stands still, then, when every life is over, that
nothing was lost and that whoever waited has been told."""

from collections import defaultdict
from collections.abc import Iterator

from bridge.conversation import Conversation
from bridge.ids import MessageId, SessionId
from bridge.message import Intent, Message, Origin, Outcome, State
from bridge.post import Post, PostState
from bridge.request import Answer, Request
from bridge.session import Session
from bridge.turn import Turn
from tests.simulation.rooms import unreported, unseen
from tests.simulation.world import World

Finding = tuple[str, str, tuple[str, ...]]


def stands_still(world: World) -> Iterator[Finding]:
    """What should have moved by itself, once nothing fails and agents do what they are asked."""
    archive = world.archive
    sessions = {one.id: one for one in archive.every(Session)}
    for turn in archive.every(Turn):
        if turn.live:
            yield "liveness", f"{turn.id} of {turn.session} is {turn.state}", (turn.id, turn.session)
    for one in archive.every(Message):
        session = sessions[one.recipient]
        if one.state is State.QUEUED and one.wake and session.runs:
            yield "liveness", f"{one.id} waits in {one.recipient}", (one.id, one.recipient)
        if one.state is State.LEASED and not (one.turn or "").startswith("receiver:"):
            yield "liveness", f"{one.id} is leased to {one.turn}", (one.id, str(one.turn))
        if one.state is State.PARKED:
            yield "liveness", f"{one.id} is parked: {one.reason}", (one.id,)
    for post in archive.every(Post):
        if post.state is PostState.PENDING:
            yield "liveness", f"{post.key} is not shown", (post.key,)
    for session in sessions.values():
        within = archive.get(Turn, session.spawned_in) if session.spawned_in is not None else None
        if session.parent is not None and session.closed_at is None and (within is None or not within.live):
            yield "child", f"{session.id} lives, and the turn that has spawned it is over", (session.id,)
    for session_id, processes in world.at_work.items():
        if processes:
            yield "liveness", f"{session_id} is at work in {list(processes)}", (session_id,)


def forgotten(world: World) -> Iterator[Finding]:
    """Requests that are open though nothing is left that would close them but their end."""
    archive = world.archive
    children: dict[MessageId | None, list[Request]] = defaultdict(list)
    for request in archive.every(Request):
        children[request.parent].append(request)
    for request in archive.every(Request):
        message = archive.get(Message, request.id)
        if not world.has_agent(request.asked) or not request.open or request.deferred:
            continue  # A shell may answer at any time.
        if message is None or message.state is not State.SETTLED:
            continue
        if not any(child.open or _unread(world, child) for child in children[request.id]):
            yield "3 told", f"{request.id} is open, and nobody works on it", (request.id,)


def _unread(world: World, child: Request) -> bool:
    closing = world.archive.get(Message, child.closing) if child.closing else None
    return closing is not None and closing.state is not State.SETTLED


def untrue(world: World) -> Iterator[Finding]:
    """Once every life is over."""
    yield from _messages(world)
    yield from _requests(world)
    yield from _bounds(world)
    for key in unseen(world):
        yield "outbox", key, (key.split()[0],)
    for key in unreported(world):
        yield "11 reported", f"{key} was given up, and nobody was told", (key,)


def _messages(world: World) -> Iterator[Finding]:
    archive = world.archive
    notices = {one.in_reply_to for one in archive.every(Message) if one.origin is Origin.SYSTEM}
    posts = {post.key for post in archive.every(Post)}
    for ident in world.accepted:
        if archive.get(Message, ident) is None:
            yield "1 lost", f"{ident} was accepted, and is not there", (ident,)
    for one in archive.every(Message):
        if one.state is not State.SETTLED:
            yield "3 gone", f"{one.id} is {one.state} after the end of its life", (one.id,)
            continue
        if one.outcome is Outcome.ACKED and one.id not in world.seen and _is_to_be_seen(world, one):
            yield "1 lost", f"{one.id} is acknowledged, and its recipient has never seen it", (one.id,)
        if one.outcome in (Outcome.ACKED, Outcome.CANCELLED) or one.intent is Intent.REQUEST:
            continue
        if one.origin is Origin.SYSTEM or one.intent is Intent.REPLY:
            continue
        if one.intent is Intent.INPUT:
            if f"settled:{one.id}" not in posts and one.place is not None:
                yield "3 told", f"{one.id} of a person is {one.outcome}, and nobody was told", (one.id,)
        elif one.id not in notices:
            yield "3 told", f"{one.id} is {one.outcome}, and {one.sender} was not told", (one.id,)


def _is_to_be_seen(world: World, one: Message) -> bool:
    """Shells read by other ways. A notice that closes a request is told by a waiting ask in words of its own, and the
    answer to a person's command waits in no inbox."""
    request = world.archive.get(Request, one.in_reply_to) if one.intent is Intent.REPLY else None
    by_command = request is not None and request.by_command
    return world.has_agent(one.recipient) and one.origin is not Origin.SYSTEM and not by_command


def _requests(world: World) -> Iterator[Finding]:
    archive = world.archive
    for request in archive.every(Request):
        message = archive.get(Message, request.id)
        if request.open:
            yield "3 told", f"{request.id} is open after the end of its life", (request.id,)
        elif request.closing is None:
            if request.state is not Answer.CANCELLED:
                yield "3 told", f"{request.id} is {request.state}, and {request.asker} was not told", (request.id,)
        else:
            closing = archive.get(Message, request.closing)
            if closing is None or closing.recipient != request.asker:
                yield "8 answer", f"the closing of {request.id} did not go to {request.asker}", (request.id,)
        if message is None:
            yield "1 lost", f"{request.id} has no message", (request.id,)


def _bounds(world: World) -> Iterator[Finding]:
    """Conversations and pairs keep within their limits, as far as no person has widened them."""
    limits = world.scenario.limits
    pairs: dict[tuple[SessionId, ...], list[float]] = defaultdict(list)
    members: dict[str, int] = defaultdict(int)
    for one in world.archive.every(Message):
        if one.intent not in (Intent.REQUEST, Intent.INFORM) or one.origin is Origin.SYSTEM:
            continue
        members[one.conversation] += 1
        if one.origin is not Origin.USER:
            pairs[tuple(sorted((one.sender, one.recipient)))].append(one.accepted_at)
    for conversation in world.archive.every(Conversation):
        if members[conversation.id] > conversation.budget:
            yield "9 budget", f"{conversation.id} has {members[conversation.id]} messages", (conversation.id,)
    for pair, times in pairs.items():
        times.sort()
        for first, last in zip(times, times[limits.pair_messages :], strict=False):
            if last - first < limits.pair_window_s:
                yield "9 pair", f"{pair} sent each other too much from {first} to {last}", pair
