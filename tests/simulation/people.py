"""People in their rooms, and programs at shells. What fails by no fault of theirs they try again with the same key."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from typing import TypeVar

from bridge.errors import Code, Refused
from bridge.flow.exchange import Exchange
from bridge.ids import MessageId, Place, SessionId
from bridge.message import Intent, Message, Origin, State
from bridge.ports.chat import Heard, Person, Pressed
from bridge.post import Post
from bridge.request import NO_REPLY_TEXT
from bridge.views import Send
from tests.simulation.node import Node
from tests.simulation.scenario import Member
from tests.simulation.world import Disconnected, World

T = TypeVar("T")

OPERATOR = Person("room:1", "Olga", operator=True)
GUEST = Person("room:2", "Ugo", operator=False)
_TRIES = 400


class People:
    def __init__(self, world: World, nodes: list[Node]) -> None:
        self._world = world
        self._nodes = nodes
        self._chance = world.scenario.chance("people")
        self._said = itertools.count(1)
        self._at_home = [one for one in world.scenario.members if one.places]
        self._shells = [one for one in world.scenario.members if not one.agent]
        self._asked: dict[SessionId, list[MessageId]] = {}

    async def crowd(self, over_s: float, over: asyncio.Event) -> None:
        """Somebody does something every now and then, until nothing is left to be said or the time is over. Whoever
        has begun by then comes to an end."""
        loop, pace_s = self._world.loop, over_s / self._world.scenario.messages
        async with asyncio.TaskGroup() as group:
            while self._world.left > 0 and loop.time() < 2 * over_s:
                await asyncio.sleep(self._chance.expovariate(1 / pace_s))
                group.create_task(self._something())
            over.set()

    async def _something(self) -> None:
        person, shell = self._chance.choice(self._at_home), self._chance.choice(self._shells)
        deeds: list[tuple[float, Callable[[], Awaitable[object]]]] = [
            (9, lambda: self._say(person)),
            (5, lambda: self._command(person)),
            (1, lambda: self.stop(person, everything=False)),
            (0.5, lambda: self.stop(person, everything=True)),
            (2, lambda: self._hear(person, "/resume")),
            (0.5, lambda: self._hear(person, "/new")),
            (2, self._press),
            (8, lambda: self._send(shell)),
            (5, lambda: self._ask(shell)),
            (2, lambda: self._take(shell)),
            (1, lambda: self._cancel(shell)),
        ]
        await self._chance.choices([deed for _, deed in deeds], [weight for weight, _ in deeds])[0]()

    # In a room

    async def _say(self, member: Member) -> None:
        text = f"person said {next(self._said)}"
        key = await self._hear(member, text, self._chance.choice((OPERATOR, GUEST)))
        kept = await self._world.store.key(member.id, key)
        if kept is not None:
            self._world.told_of(kept.message, member.id)
        elif member.agent:
            self._world.broke("1 lost", f"{text!r} to {member.id} was heard, and is not kept", member.id)

    async def _command(self, member: Member) -> None:
        to = self._chance.choice(self._world.scenario.members).handle
        await self._hear(member, f"/{self._chance.choice(('ask', 'handoff'))} {to} person said {next(self._said)}")

    async def stop(self, member: Member, *, everything: bool) -> None:
        before = self._world.archive.changes
        await self._hear(member, "/stop all" if everything else "/stop")
        self._world.has_stopped(member.id, before)

    async def _hear(self, member: Member, text: str, person: Person = OPERATOR) -> str:
        key = f"heard:{next(self._said)}"
        heard = Heard(self._chance.choice(member.places), person, text, key)
        lifts = text.startswith(("/resume", "/new")) or not text.startswith("/")
        with self._world.lifting(member.id) if lifts else nullcontext():
            for _ in range(2 if self._chance.random() < 0.1 else 1):
                await self._surely(lambda exchange: exchange.inbound.hear(heard))
        return key

    async def _press(self) -> None:
        """Presses a button somewhere, as anybody may try."""
        buttons = [(post.place, button.action) for post in self._world.archive.every(Post) for button in post.buttons]
        if buttons:
            place, action = self._chance.choice(buttons)
            await self._pressed(place, action, self._chance.choice((OPERATOR, OPERATOR, GUEST)))

    async def decide(self, parked: Message) -> None:
        """An operator decides about what is parked, wherever it is shown."""
        verb = self._chance.choice(("retry", "discard"))
        await self._pressed(parked.place or Place("room:somewhere"), f"{verb}:{parked.id}:{parked.epoch}", OPERATOR)

    async def _pressed(self, place: Place, action: str, person: Person) -> None:
        verb, _, which = action.partition(":")
        ident, _, epoch = which.partition(":")
        parked = self._world.archive.get(Message, ident) if verb == "retry" and person.operator else None
        if person.operator:
            self._world.approves(action)
        if parked is not None and f"{parked.epoch}" == epoch:
            self._world.acted_on.discard(parked.id)
        with self._world.lifting(parked.recipient) if parked is not None else nullcontext():
            await self._surely(lambda exchange: exchange.inbound.press(Pressed(place, person, action)))

    async def set_right(self, member: Member) -> None:
        """What a person does who wants the session to go on."""

        async def resume(exchange: Exchange) -> None:
            caller = await exchange.caller("default/shell", origin=Origin.USER, bound=None)
            await exchange.resume(caller, member.id)

        with self._world.lifting(member.id):
            await self._surely(resume)

    # At a shell

    async def _send(self, shell: Member) -> None:
        send = Send(
            to=self._chance.choice(self._world.scenario.members).id,
            text=self._text(shell),
            intent=self._chance.choice((Intent.REQUEST, Intent.INFORM)),
            wake=self._chance.random() < 0.8,
            key=f"key-{next(self._said)}",
            ttl_s=self._chance.choice((None, None, 20.0)),
        )

        async def sent(exchange: Exchange) -> None:
            caller = await exchange.caller(shell.id, origin=Origin.PEER, bound=None)
            receipt = await exchange.send(caller, send)
            self._world.told_of(receipt.message_id, shell.id)

        await self._surely(sent, shell.id)

    async def _ask(self, shell: Member) -> None:
        to, text = self._chance.choice(self._world.scenario.members).id, self._text(shell)
        send, timeout_s = Send(to, text, key=f"key-{next(self._said)}"), self._chance.choice((1.0, 30.0, 60.0))

        async def asked(exchange: Exchange) -> None:
            caller = await exchange.caller(shell.id, origin=Origin.PEER, bound=None)
            view = await exchange.ask(caller, send, timeout_s)
            self._world.told_of(view.message_id, shell.id)
            self._asked.setdefault(shell.id, []).append(view.message_id)
            if view.reply is not None:
                self._world.check_answer(view.message_id, view.reply.text, shell.id)
                await exchange.read_answer(caller, view.message_id)

        await self._surely(asked, shell.id)

    async def _take(self, shell: Member) -> None:
        """Reads what waits, acknowledges some of it, and answers some of what is asked."""

        async def taken(exchange: Exchange) -> None:
            caller = await exchange.caller(shell.id, origin=Origin.PEER, bound=None)
            mail = await exchange.inbox(caller, None, take=True)
            for one in mail:
                draw = self._chance.random()
                if one.intent is Intent.REQUEST and draw < 0.5:
                    text = self._chance.choice((f"for={one.message_id} by={shell.id} x", NO_REPLY_TEXT))
                    await exchange.send(caller, Send(one.sender, text, in_reply_to=one.message_id))
                elif draw < 0.8:
                    await exchange.ack(caller, [one.message_id])

        await self._surely(taken, shell.id)

    async def _cancel(self, shell: Member) -> None:
        mine = self._asked.get(shell.id)
        if not mine:
            return
        withdrawn = self._chance.choice(mine)

        async def cancelled(exchange: Exchange) -> None:
            caller = await exchange.caller(shell.id, origin=Origin.PEER, bound=None)
            await exchange.cancel(caller, withdrawn)

        await self._surely(cancelled, shell.id)

    def _text(self, member: Member) -> str:
        return f"peer said {member.handle}.{next(self._said)}"

    async def _surely(self, do: Callable[[Exchange], Awaitable[T]], who: SessionId | None = None) -> None:
        for _ in range(_TRIES):
            lives = [node.life for node in self._nodes if node.life is not None and not node.life.owner.frozen]
            if lives:
                try:
                    await self._chance.choice(lives).call(do)
                except Refused as refused:
                    if refused.code is not Code.UNAVAILABLE:
                        if who is not None:
                            self._world.refused(who, refused)
                        return
                except Disconnected:
                    pass
                else:
                    return
            await asyncio.sleep(2)
        self._world.broke("liveness", f"{who or 'a person'} was not served in {_TRIES} tries")


def parked(world: World) -> list[Message]:
    return [one for one in world.archive.every(Message) if one.state is State.PARKED]
