"""Units of work over the store: read, plan with plain code, commit as a whole, then wake whom it concerns."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import TypeVar
from weakref import WeakValueDictionary

from tenacity import AsyncRetrying, retry_if_exception

from bridge.approval import Approval, ApprovalId, Subject
from bridge.audit import Act, ActKind
from bridge.backoff import FullJitter
from bridge.caller import Caller
from bridge.conversation import Conversation, Pair
from bridge.decision import Verdict
from bridge.errors import Code, Conflict, Refused
from bridge.grant import Grant
from bridge.ids import ConversationId, Ids, MessageId, NodeId, Place, PostId, SessionId, TurnId, scheme_of
from bridge.limits import Limits
from bridge.message import Intent, Message, State, in_line
from bridge.ports.chat import Chat
from bridge.ports.clock import Clock, Randomness
from bridge.ports.store import Change, Check, Entity, Key, Store
from bridge.ports.wake import Wake
from bridge.post import Button, Post, PostKind
from bridge.regime import Regime
from bridge.request import Request
from bridge.session import Session
from bridge.trace import Step, StepKind
from bridge.turn import Turn

T = TypeVar("T")


class Ledger:
    """The store, the time, the ids and the wake-ups, as every part of the flow needs them. `node` is the name under
    which this bridge holds leases: its own after a restart, and no other's."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        randomness: Randomness,
        wake: Wake,
        limits: Limits,
        chats: Mapping[str, Chat],
        node: NodeId,
    ) -> None:
        self.node = node
        self.store = store
        self.clock = clock
        self.randomness = randomness
        self.ids = Ids(clock, randomness)
        self.wake = wake
        self.limits = limits
        self.chats = chats
        self._retrying = AsyncRetrying(
            retry=retry_if_exception(_unavailable),
            wait=FullJitter(randomness, cap_s=5),
            sleep=clock.sleep,
        )
        self._regime: Regime | None = None
        self._acting: WeakValueDictionary[SessionId, asyncio.Lock] = WeakValueDictionary()

    def chat_of(self, where: Place | None) -> Chat | None:
        return self.chats.get(scheme_of(where)) if where is not None else None

    def attended(self, where: Place | None) -> bool:
        chat = self.chat_of(where)
        return chat is not None and where is not None and chat.attended(where)

    def backoff(self, attempts: int, *, cap_s: float) -> float:
        """Seconds to wait after so many failed attempts: exponential, with full jitter."""
        return FullJitter(self.randomness, cap_s=cap_s).after(attempts)

    async def regime(self) -> Regime:
        """As this bridge last saw it. What must not miss a change of it is planned on it (`Work.regime`)."""
        if self._regime is None:
            self._regime = await self.store.regime()
        return self._regime

    def forget_regime(self) -> None:
        """It has changed."""
        self._regime = None

    async def surely(self, body: "Callable[[Work], Awaitable[T]]") -> T:
        """Like `do`, for what must be stored whatever it takes: goes on while the store is unavailable."""
        try:
            return await self.do(body)
        except Refused as refused:
            if refused.code is not Code.UNAVAILABLE:
                raise
        return await self._retrying(self.do, body)

    async def do_as(self, caller: Caller, body: "Callable[[Work], Awaitable[T]]") -> T:
        """Like `do`, one after the other for one session: of many calls at once all but one would conflict each time.

        Raises `stale_epoch` where the turn that calls is over, or another node has taken it over.
        """

        async def fenced(work: Work) -> T:
            if caller.turn is not None:
                turn = await work.held(caller.turn, caller.epoch)
                if turn is None:
                    raise Refused(Code.STALE_EPOCH, "the turn that calls is over")
                # Put even where nothing changes, so that its end is planned on all that was done in it.
                work.put(turn)
            return await body(work)

        async with self._acting.setdefault(caller.session, asyncio.Lock()):
            return await self.do(fenced)

    async def do(self, body: "Callable[[Work], Awaitable[T]]") -> T:
        """Runs `body` until its change is committed on the state that it was planned on. Nothing is committed where it
        changes nothing.

        `body` must be free of effects but on its `Work`. What it raises ends it, and stores nothing.
        """
        while True:
            work = Work(self)
            with work.over:
                result = await body(work)
                change = work.change()
                if not change.empty:
                    try:
                        await self.store.commit(change)
                    except Conflict:
                        self._regime = None
                        continue
                for wake in work.wakes:
                    wake()
                return result


class Work:
    """One change in the making. Reads see what the change has put already. `over` is left once its end is known, and
    also where it never will be: when the store fails, or the caller is cut off."""

    def __init__(self, ledger: Ledger) -> None:
        self.over = ExitStack()
        self.store = ledger.store
        self.limits = ledger.limits
        self.now = ledger.clock.now()
        self.wakes: list[Callable[[], None]] = []
        self.ledger = ledger
        self._puts: dict[object, Entity] = {}
        self._keys: list[Key] = []
        self._checks: list[Check] = []
        self._verdicts: list[Verdict] = []
        self._steps: list[Step] = []
        self._acts: list[Act] = []
        self._unbound: list[Place] = []
        self._guards: dict[object, Entity] = {}

    def new_id(self) -> str:
        return self.ledger.ids.new()

    @property
    def wake(self) -> Wake:
        return self.ledger.wake

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

    async def show(
        self,
        key: str,
        place: Place | None,
        kind: PostKind,
        text: str,
        *,
        buttons: Sequence[Button] = (),
        message: MessageId | None = None,
        session: SessionId | None = None,
    ) -> None:
        """Wants `text` to be seen at `place`: a new post, or a new revision of the post with this key."""
        chat = self.ledger.chat_of(place)
        if chat is None or place is None:
            return
        parts = chat.split(text)
        for number, part in enumerate(parts, 1):
            part_key = key if number == 1 else f"{key}#{number}"
            part_buttons = tuple(buttons) if number == len(parts) else ()
            if not await self.revise(part_key, part, buttons=part_buttons):
                self.put(
                    Post(
                        id=PostId(self.new_id()),
                        key=part_key,
                        place=place,
                        kind=kind,
                        text=part,
                        created_at=self.now,
                        due_at=self.now,
                        buttons=part_buttons,
                        message=message,
                        session=session,
                    )
                )
        self.then(self.wake.outbox)

    async def revise(self, key: str, text: str, *, buttons: Sequence[Button] = ()) -> bool:
        """Gives the post with this key another text. False where there is no such post."""
        earlier = await self.post(key)
        if earlier is None:
            return False
        revised = earlier.revised(text, tuple(buttons), now=self.now)
        if revised is not earlier:
            self.put(revised)
            self.then(self.wake.outbox)
        return True

    # What it reads

    async def session(self, session: SessionId) -> Session | None:
        staged = self._puts.get(("session", session))
        return staged if isinstance(staged, Session) else await self.store.session(session)

    async def message(self, message: MessageId) -> Message | None:
        staged = self._puts.get(("message", message))
        return staged if isinstance(staged, Message) else await self.store.message(message)

    async def mail(self, message: str, session: SessionId) -> Message | None:
        """What the session has sent to or received from another. It takes no longer than what is not there."""
        found = await self.store.mail(MessageId(message), session)
        return self._staged(found) if found is not None and found.intent is not Intent.INPUT else None

    async def request(self, message: MessageId) -> Request | None:
        staged = self._puts.get(("request", message))
        return staged if isinstance(staged, Request) else await self.store.request(message)

    async def requests_for(self, parent: MessageId) -> list[Request]:
        stored = {request.id: request for request in await self.store.requests_for(parent)}
        for entity in self._puts.values():
            if isinstance(entity, Request) and entity.parent == parent:
                stored[entity.id] = entity
        return list(stored.values())

    async def post(self, key: str) -> Post | None:
        staged = self._puts.get(("post", key))
        return staged if isinstance(staged, Post) else await self.store.post(key)

    async def turn(self, turn: TurnId) -> Turn | None:
        staged = self._puts.get(("turn", turn))
        return staged if isinstance(staged, Turn) else await self.store.turn(turn)

    async def held(self, turn: TurnId, epoch: int) -> Turn | None:
        """A live turn that this node leases under that epoch; None where it is over or was taken over. The change is
        stored only while that is so: whatever is written on behalf of a turn has to ask first."""
        current = await self.turn(turn)
        if current is None or not current.live or (current.node, current.epoch) != (self.ledger.node, epoch):
            return None
        self.guard(current)
        return current

    async def taken(self, turn: TurnId) -> list[Message]:
        return [self._staged(message) for message in await self.store.taken(turn)]

    async def queue(self, session: SessionId) -> list[Message]:
        stored = {message.id: message for message in await self.store.queue(session)}
        put = {one.id: one for one in self._puts.values() if isinstance(one, Message) and one.recipient == session}
        queued = [message for message in (stored | put).values() if message.state is State.QUEUED]
        return sorted(queued, key=in_line)

    async def regime(self) -> Regime:
        """The change is stored only while that holds: nothing is admitted by what was revoked meanwhile."""
        staged = self._puts.get(_key(Regime()))
        regime = staged if isinstance(staged, Regime) else await self.ledger.regime()
        self.guard(regime)
        return regime

    def put_regime(self, regime: Regime) -> None:
        """What was granted or revoked in this change holds from its commit on."""
        self.put(regime)
        self.then(self.ledger.forget_regime)

    async def open_approval(self, subject: Subject, about: str) -> Approval | None:
        for entity in self._puts.values():
            if isinstance(entity, Approval) and (entity.subject, entity.about) == (subject, about):
                return entity if entity.open else None
        return await self.store.open_approval(subject, about)

    async def approval(self, approval: ApprovalId) -> Approval | None:
        staged = self._puts.get(("approval", approval))
        return staged if isinstance(staged, Approval) else await self.store.approval(approval)

    async def held_messages(self) -> list[Message]:
        """All that wait for approval, by id."""
        stored = {message.id: message for message in await self.store.held()}
        put = {one.id: one for one in self._puts.values() if isinstance(one, Message)}
        return sorted((one for one in (stored | put).values() if one.state is State.HELD), key=lambda one: one.id)

    async def conversation(self, conversation: ConversationId) -> Conversation | None:
        staged = self._puts.get(("conversation", conversation))
        return staged if isinstance(staged, Conversation) else await self.store.conversation(conversation)

    def _staged(self, message: Message) -> Message:
        staged = self._puts.get(("message", message.id))
        return staged if isinstance(staged, Message) else message


def _unavailable(error: BaseException) -> bool:
    return isinstance(error, Refused) and error.code is Code.UNAVAILABLE


def _key(entity: Entity) -> object:
    match entity:
        case Session(id=ident):
            return "session", ident
        case Message(id=ident):
            return "message", ident
        case Request(id=ident):
            return "request", ident
        case Turn(id=ident):
            return "turn", ident
        case Conversation(id=ident):
            return "conversation", ident
        case Pair(a=a, b=b):
            return "pair", a, b
        case Post(key=key):
            return "post", key
        case Grant(id=ident):
            return "grant", ident
        case Approval(id=ident):
            return "approval", ident
        case Regime(id=ident):
            return "regime", ident
        case _:
            return entity
