"""A change in the making: what it puts, and what it reads with that in it."""

from collections.abc import Callable
from contextlib import ExitStack
from typing import TypeVar

from bridge.approval import Approval, ApprovalId, Subject
from bridge.audit import Act, ActKind
from bridge.caller import Caller
from bridge.conversation import Conversation, Pair
from bridge.decision import Verdict
from bridge.flow.means import Means
from bridge.gateway import Gateway
from bridge.grant import Grant
from bridge.ids import ConversationId, MessageId, Place, SessionId, TurnId
from bridge.message import Intent, Message, State, in_line
from bridge.move import Move
from bridge.ports.store import Change, Check, Entity, Key
from bridge.ports.wake import Wake
from bridge.post import Post
from bridge.regime import Regime
from bridge.request import Request
from bridge.session import Session
from bridge.token import Token
from bridge.trace import Step, StepKind
from bridge.turn import Turn

E = TypeVar("E")


class Work:
    """One change in the making. Reads see what the change has put already. `over` is left once its end is known, and
    also where it never will be: when the store fails, or the caller is cut off."""

    def __init__(self, means: Means) -> None:
        self.over = ExitStack()
        self.store = means.store
        self.limits = means.limits
        self.now = means.clock.now()
        self.wakes: list[Callable[[], None]] = []
        self.means = means
        self._puts: dict[object, Entity] = {}
        self._keys: list[Key] = []
        self._checks: list[Check] = []
        self._verdicts: list[Verdict] = []
        self._steps: list[Step] = []
        self._acts: list[Act] = []
        self._unbound: list[Place] = []
        self._moved: list[Move] = []
        self._guards: dict[object, Entity] = {}

    def new_id(self) -> str:
        return self.means.ids.new()

    @property
    def wake(self) -> Wake:
        return self.means.wake

    def then(self, wake: Callable[[], None]) -> None:
        """Calls `wake` once the change is stored."""
        self.wakes.append(wake)

    def change(self) -> Change:
        return Change(
            puts=tuple(self._puts.values()),
            unchanged=tuple(guard for key, guard in self._guards.items() if key not in self._puts),
            keys=tuple(self._keys),
            checks=tuple(self._checks),
            verdicts=tuple(self._verdicts),
            steps=tuple(self._steps),
            acts=tuple(self._acts),
            unbound=tuple(self._unbound),
            moved=tuple(self._moved),
        )

    # What the change holds

    def put(self, entity: Entity) -> None:
        self._puts[_key(entity)] = entity

    def guard(self, entity: Entity) -> None:
        """The change is stored only while the entity is as it was read."""
        self._guards[_key(entity)] = entity

    def key(self, key: Key) -> None:
        self._keys.append(key)

    def check(self, check: Check) -> None:
        self._checks.append(check)

    def verdict(self, verdict: Verdict) -> None:
        self._verdicts.append(verdict)

    def act(self, kind: ActKind, caller: Caller, subject: str, **detail: object) -> None:
        """Records what somebody did to what agents may do; details that are None are left out."""
        self._acts.append(
            Act(
                id=self.new_id(),
                at=self.now,
                act=kind,
                by=caller.name,
                origin=caller.origin,
                via=caller.place or caller.session,
                subject=subject,
                detail={name: value for name, value in detail.items() if value is not None},
            )
        )

    def unbind(self, place: Place) -> None:
        self._unbound.append(place)

    def move(self, move: Move) -> None:
        self._moved.append(move)

    def step(self, kind: StepKind, message: Message, session: SessionId | None = None, **detail: object) -> None:
        """Traces a step of a message; details that are None are left out."""
        self._steps.append(
            Step(
                id=self.new_id(),
                at=self.now,
                step=kind,
                session=session or message.recipient,
                message=message.id,
                conversation=message.conversation,
                cause=message.cause,
                detail={name: value for name, value in detail.items() if value is not None},
            )
        )

    def refused_step(
        self, session: SessionId, conversation: ConversationId | None, cause: MessageId | None, **detail: object
    ) -> None:
        """A refused request has no message: it is traced by its conversation and by its cause."""
        step = Step(self.new_id(), self.now, StepKind.DECISION, session, None, conversation, cause, detail)
        self._steps.append(step)

    # What it reads

    async def session(self, session: SessionId) -> Session | None:
        return self._staged(Session, session) or await self.store.session(session)

    async def message(self, message: MessageId) -> Message | None:
        return self._staged(Message, message) or await self.store.message(message)

    async def request(self, message: MessageId) -> Request | None:
        return self._staged(Request, message) or await self.store.request(message)

    async def requests_for(self, parent: MessageId) -> list[Request]:
        stored = {request.id: request for request in await self.store.requests_for(parent)}
        for entity in self._puts.values():
            if isinstance(entity, Request) and entity.parent == parent:
                stored[entity.id] = entity
        return list(stored.values())

    async def post(self, key: str) -> Post | None:
        return self._staged(Post, key) or await self.store.post(key)

    async def mail(self, message: str, session: SessionId) -> Message | None:
        """What the session has sent to another, or has got from one. It takes no longer than what is not there."""
        found = await self.store.mail(MessageId(message), session)
        if found is None or found.intent is Intent.INPUT:
            return None
        return self._staged(Message, found.id) or found

    async def turn(self, turn: TurnId) -> Turn | None:
        return self._staged(Turn, turn) or await self.store.turn(turn)

    async def held(self, turn: TurnId, epoch: int) -> Turn | None:
        """A live turn that this node leases under that epoch; None where it is over or was taken over. The change is
        stored only while that is so: whatever is written on behalf of a turn has to ask first."""
        current = await self.turn(turn)
        if current is None or not current.live or (current.node, current.epoch) != (self.means.node, epoch):
            return None
        self.guard(current)
        return current

    async def taken(self, turn: TurnId) -> list[Message]:
        return [self._staged(Message, one.id) or one for one in await self.store.taken(turn)]

    async def queue(self, session: SessionId) -> list[Message]:
        stored = {message.id: message for message in await self.store.queue(session)}
        put = {one.id: one for one in self._puts.values() if isinstance(one, Message) and one.recipient == session}
        queued = [message for message in (stored | put).values() if message.state is State.QUEUED]
        return sorted(queued, key=in_line)

    async def regime(self) -> Regime:
        """The change is stored only while that holds: nothing is admitted by what was revoked meanwhile."""
        regime = self._staged(Regime, Regime().id) or await self.means.regime()
        self.guard(regime)
        return regime

    def put_regime(self, regime: Regime) -> None:
        """What was granted or revoked in this change holds from its commit on."""
        self.put(regime)
        self.then(self.means.forget_regime)

    async def open_approval(self, subject: Subject, about: str) -> Approval | None:
        for entity in self._puts.values():
            if isinstance(entity, Approval) and (entity.subject, entity.about) == (subject, about):
                return entity if entity.open else None
        return await self.store.open_approval(subject, about)

    async def gateway(self, name: str) -> Gateway | None:
        return self._staged(Gateway, name) or await self.store.gateway(name)

    async def approval(self, approval: ApprovalId) -> Approval | None:
        return self._staged(Approval, approval) or await self.store.approval(approval)

    async def held_messages(self) -> list[Message]:
        """All that wait for approval, by id."""
        stored = {message.id: message for message in await self.store.held()}
        put = {one.id: one for one in self._puts.values() if isinstance(one, Message)}
        return sorted((one for one in (stored | put).values() if one.state is State.HELD), key=lambda one: one.id)

    async def conversation(self, conversation: ConversationId) -> Conversation | None:
        return self._staged(Conversation, conversation) or await self.store.conversation(conversation)

    def _staged(self, kind: type[E], key: object) -> E | None:
        entity = self._puts.get((kind, key))
        return entity if isinstance(entity, kind) else None


def _key(entity: Entity) -> object:
    match entity:
        case Pair(a=a, b=b):
            return Pair, a, b
        case Post(key=key):
            return Post, key
        case Session() | Message() | Request() | Turn() | Conversation() | Grant() | Approval() | Regime():
            return type(entity), entity.id
        case Gateway() | Token():
            return type(entity), entity.id
        case _:
            return entity
