"""What every single change must keep to, told from the change itself and from what was there before."""

import re
from dataclasses import fields
from operator import attrgetter

from bridge.decision import Verb
from bridge.ids import MessageId, Place, SessionId
from bridge.message import DELIVERY, Intent, Message, Origin, State
from bridge.ports.store import Change
from bridge.post import Post, PostKind
from bridge.quiet import kept_until
from bridge.request import Request
from bridge.session import Session
from bridge.trace import Step, StepKind
from bridge.turn import Turn
from tests.simulation.archive import Before
from tests.simulation.scenario import Misfortune
from tests.simulation.world import World

_PROMPT_S = 5.0
_ON_ITS_WAY_S = 30.0
_said = attrgetter(*(one.name for one in fields(Message) if one.name not in DELIVERY | {"version"}))
"""What of a message never changes."""
_ANSWER = re.compile(r"for=(\S+) by=(\S+) ")


class Judge:
    def __init__(self, world: World) -> None:
        self._world = world
        self._queued_at: dict[MessageId, float] = {}
        self._tools: set[tuple[object, ...]] = set()
        self._free_since: dict[SessionId, float] = {}
        world.store.watch(self)

    def __call__(self, change: Change, before: Before) -> None:
        for one in change.puts:
            match one:
                case Message():
                    self._message(one, before[Message, one.id], change)
                case Turn() if before[Turn, one.id] is None:
                    self._begins(one, before)
                case Turn() | Session():
                    self._free_since[one.session if isinstance(one, Turn) else one.id] = self._world.loop.time()
                case Request():
                    self._request(one, before[Request, one.id])
                case Post():
                    self._post(one)
                case _:
                    pass
        for step in change.steps:
            if step.step is StepKind.TOOL:
                self._tool(step)

    def _tool(self, step: Step) -> None:
        """Whatever is told again after a death, or after a change of which nobody knew whether it was stored."""
        told = step.message, *step.detail.values()
        if told in self._tools:
            self._world.broke("told once", f"{told} is on record twice", str(step.message))
        self._tools.add(told)

    def _message(self, one: Message, was: Message | None, change: Change) -> None:
        came = was is None or was.state is State.HELD or (one.state is State.QUEUED and was.state is not State.QUEUED)
        if came:
            self._queued_at[one.id] = self._world.loop.time()
        if one.state not in (State.HELD, State.SETTLED) and (was is None or was.state is State.HELD):
            self._let_go(one)
        if was is None:
            self._admitted(one, change)
        elif _said(was) != _said(one):
            self._world.broke("1 kept", f"{one.id} says something else than it did", one.id)
        elif was.state is not one.state:
            # Several moves may be made in one change; only what is settled goes nowhere.
            if was.state is State.SETTLED:
                self._world.broke("2 settled once", f"{one.id} was {was.outcome}, and is {one.state}", one.id)
        elif was.state is State.SETTLED and (was.outcome, was.settled_at) != (one.outcome, one.settled_at):
            self._world.broke("2 settled once", f"{one.id} was settled again", one.id)
        elif was.state is State.LEASED and was.turn != one.turn:
            self._world.broke("4 lease", f"{one.id} went from {was.turn} to {one.turn} without a lease", one.id)

    def _let_go(self, one: Message) -> None:
        """What an operator has to approve goes nowhere before."""
        mail = one.intent in (Intent.REQUEST, Intent.INFORM) and one.origin is Origin.PEER
        if mail and self._world.scenario.asks(one.sender, one.recipient) and not self._world.approved(one):
            self._world.broke("6 approval", f"{one.id} is {one.state}, and no operator has approved it", one.id)

    def _admitted(self, one: Message, change: Change) -> None:
        """A verdict, the rules, the limits, and the stamp of the channel."""
        world = self._world
        limits = world.scenario.limits
        if one.origin is Origin.SYSTEM:
            return
        about = one.in_reply_to if one.intent is Intent.REPLY else one.id
        if not any(about in (verdict.message, verdict.cause) and verdict.code is None for verdict in change.verdicts):
            world.broke("6 decision", f"{one.id} was stored without a decision", one.id)
        if one.intent is Intent.REPLY:
            self._reply(one)
            return
        if one.intent is Intent.INPUT:
            return
        if one.depth > limits.depth and not one.by_command:
            world.broke("9 depth", f"{one.id} has depth {one.depth}", one.id)
        if one.path.count(one.sender) > limits.visits and not one.by_command:
            world.broke("9 visits", f"{one.id} has path {one.path}", one.id)
        sender, recipient = world.member(one.sender), world.members.get(one.recipient)
        if sender is None or recipient is None or one.origin is Origin.USER:
            return
        if world.is_child(one.sender) and recipient is sender:
            return  # A child may tell its parent.
        verbs = [Verb.ASK if one.intent is Intent.REQUEST else Verb.SEND, *([Verb.WAKE] if one.wake else [])]
        if not all(world.scenario.may(sender, recipient, verb) for verb in verbs):
            world.broke("6 decision", f"{one.sender} may not {verbs} {one.recipient}", one.id)

    def _reply(self, one: Message) -> None:
        world = self._world
        request = world.archive.get(Request, one.in_reply_to)
        if request is None or (request.asked, request.asker) != (one.sender, one.recipient):
            world.broke("8 answer", f"{one.id} of {one.sender} went to {one.recipient}", one.id, str(one.in_reply_to))
        elif (told := _ANSWER.search(one.text)) is None or told.groups() != (one.in_reply_to, one.sender):
            text = f"{one.text!r} became the answer of {one.sender} to {one.in_reply_to}"
            world.broke("8 answer", text, one.id, str(one.in_reply_to))

    def _begins(self, turn: Turn, before: Before) -> None:
        world = self._world
        session = world.archive.get(Session, turn.session)
        slow = any(world.suffers(one) for one in (Misfortune.SLOW_STORE, Misfortune.FREEZE, Misfortune.OUTAGE))
        # What was slow on its way when everything healed comes still.
        slow = slow or world.loop.time() < world.healed_at + _ON_ITS_WAY_S
        plan = world.loop.time() - (200 if slow else 1)
        for ident in turn.inputs:
            mine = world.archive.get(Message, ident)
            if mine is None or session is None:
                continue
            if turn.session in world.stopped and not mine.from_person:
                world.broke("10 stop", f"{ident} of a peer runs in {turn.session}, which stands", ident, turn.session)
            if kept_until(session, mine, turn.started_at) is not None:
                world.broke("quiet", f"{ident} of a peer runs in the quiet hours of {turn.session}", ident)
            self._prompt(mine)
            rank = (not mine.from_person, mine.queued_at, mine.id)
            for one in world.archive.queued(turn.session):
                runs = one.wake and (one.from_person or not session.rested) and one.expires_at > turn.started_at
                runs = runs and kept_until(session, one, turn.started_at) is None
                # What came while the turn was being stored could not be known.
                if runs and self._queued_at[one.id] < plan and (not one.from_person, one.queued_at, one.id) < rank:
                    world.broke("4 order", f"{ident} runs before {one.id}", ident, one.id)

    def _prompt(self, message: Message) -> None:
        """Where nothing goes wrong, nobody waits for the scan that backs up the wake-ups."""
        world = self._world
        if world.scenario.misfortunes or message.due_at > message.queued_at:
            return
        waited_s = world.loop.time() - max(self._queued_at[message.id], self._free_since.get(message.recipient, 0.0))
        if waited_s > _PROMPT_S:
            world.broke("prompt", f"{message.id} waited {waited_s:.0f} s for nothing", message.id, message.recipient)

    def _request(self, request: Request, was: Request | None) -> None:
        if was is None:
            # As it was meant when it was said: meanwhile its agent may be dead.
            question = self._world.archive.get(Message, request.id)
            self._world.acting_for[request.id] = self._world.meant.get(question.text) if question is not None else None
        elif not was.open and (was.state, was.closing) != (request.state, request.closing):
            self._world.broke("2 answered once", f"{request.id} was closed again", request.id)

    def _post(self, post: Post) -> None:
        told = _ANSWER.search(post.text) if post.kind is PostKind.FINAL else None
        if told is not None and post.place not in self._places_of(told[1]):
            self._world.broke("8 place", f"{post.key} shows the answer to {told[1]} at {post.place}", post.key, told[1])

    def _places_of(self, about: str) -> set[Place | None]:
        """Where what is said about a message may be seen."""
        message = self._world.archive.get(Message, about)
        if message is None:
            return {post.place for post in self._world.archive.every(Post)} if about == "None" else set()
        asked = self._world.members.get(message.recipient)
        own = set(asked.places) if asked is not None and message.intent is not Intent.INPUT else set()
        request = self._world.archive.get(Request, about)
        return {message.place, *own, *([request.place] if request else [])}
