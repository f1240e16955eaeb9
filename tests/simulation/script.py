"""What agents do with a prompt: short scripts, made up from the seed."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from bridge.errors import Code, Refused
from bridge.ids import MessageId
from bridge.message import Intent
from bridge.ports.runtime import Prompt, Result, Text, ToolBegun, ToolEnded
from bridge.question import Option, Question
from bridge.request import NO_REPLY_TEXT
from bridge.turn import FailureKind
from bridge.views import AnswerView, Mail, Send
from tests.simulation.scenario import HELPER, Misfortune
from tests.simulation.world import Disconnected

if TYPE_CHECKING:
    from tests.simulation.agents import AgentProcess


class Script:
    def __init__(self, process: "AgentProcess", prompt: Prompt) -> None:
        self._process = process
        self._world = process.world
        self._chance = process.chance
        self._prompt = prompt
        self._mail: list[Mail] = []
        self._sent: list[str] = []
        self._children: list[str] = []

    async def play(self) -> Result:
        chance, world = self._chance, self._world
        announced = self._prompt.words is None and not self._prompt.embedded
        await self._think()
        if announced and (world.healing or chance.random() < 0.93):
            await self._receive()
        if not world.healing:
            for _ in range(chance.choice((0, 0, 1, 1, 2, 3))):
                await self._step()
                await self._think()
            if world.suffers(Misfortune.AGENTS) and chance.random() < 0.12:
                return await self._fail()
        return Result(self._final(), "end_turn")

    async def _step(self) -> None:
        steps: list[tuple[int, Callable[[], Awaitable[None]]]] = [(3, self._work), (2, self._say)]
        if not self._prompt.embedded:
            steps += [
                (4, self._send),
                (3, self._ask),
                (2, self._reply),
                (1, self._defer),
                (1, self._ack),
                (1, self._cancel),
                (1, self._spawn),
                (2, self._receive),
                (1, self._permission),
            ]
        weights = [weight for weight, _ in steps]
        await self._chance.choices([step for _, step in steps], weights)[0]()

    async def _think(self) -> None:
        await asyncio.sleep(self._chance.choice((0.0, 0.1, 1.0, 5.0)) * self._chance.random())

    # Without the bridge

    async def _work(self) -> None:
        name = self._announce("shell", reading=False)
        self._process.act()
        if self._world.suffers(Misfortune.KILLS) and self._chance.random() < 0.03:
            self._process.lose_worker()  # which may not have heard of the tool
        await self._think()
        self._process.tell(ToolEnded(name, ok=True, title=name))

    async def _say(self) -> None:
        self._process.tell(Text("thinking aloud"))

    async def _permission(self) -> None:
        options = (Option("yes", "Yes", allows=True, lasting=False), Option("no", "No", allows=False, lasting=False))
        await self._process.ask(Question("may I", options))

    async def _fail(self) -> Result:
        draw = self._chance.random()
        if draw < 0.15:
            # It hangs until somebody stops it, or the weather clears up.
            await self._world.heals.wait()
        elif draw < 0.3:
            self._process.crash("it crashed")
        kind = self._chance.choice(list(FailureKind))
        return Result("half of an", "failed", self._world.failure(kind, 20 * self._chance.random()))

    # With the bridge's tools

    async def _receive(self) -> None:
        async def read() -> None:
            limit = self._chance.choice((1, 5, 50))
            given = await self._process.tool(
                lambda exchange, caller: exchange.receive(caller, limit), reads=True, again=True
            )
            self._process.read(given.messages)
            self._mail += given.messages

        await self._surely(read, "peer_receive", reading=True)

    async def _send(self) -> None:
        if self._world.left <= 0:
            return
        intent = self._chance.choice((Intent.REQUEST, Intent.REQUEST, Intent.INFORM))
        in_reply_to = self._one_of([mail.message_id for mail in self._mail], chance=0.3)
        send = Send(
            to=self._somebody(),
            text=self._text(in_reply_to),
            intent=intent,
            wake=self._chance.random() < 0.8,
            in_reply_to=in_reply_to,
            key=self._text() if self._chance.random() < 0.5 else None,
            ttl_s=self._chance.choice((None, None, None, 30.0)),
        )

        async def sent() -> None:
            receipt = await self._process.tool(lambda exchange, caller: exchange.send(caller, send))
            self._world.told_of(receipt.message_id, self._process.session)
            self._sent.append(receipt.message_id)

        await self._surely(sent, "peer_send", reading=False, times=3 if send.key else 1)

    async def _ask(self) -> None:
        if self._world.left <= 0:
            return
        send, timeout_s = Send(to=self._somebody(), text=self._text()), self._chance.choice((2.0, 10.0, 45.0))

        async def asked() -> None:
            view = await self._process.tool(lambda exchange, caller: exchange.ask(caller, send, timeout_s), reads=True)
            self._world.told_of(view.message_id, self._process.session)
            self._sent.append(view.message_id)
            self._given(view)

        await self._surely(asked, "peer_ask", reading=False, times=1)

    async def _spawn(self) -> None:
        if self._world.left <= 0:
            return
        task, title = self._text(), self._chance.choice(("A helper", "Another one"))

        async def spawned() -> None:
            receipt = await self._process.tool(lambda exchange, caller: exchange.spawn(caller, HELPER, title, task))
            self._world.told_of(receipt.message_id, self._process.session)
            self._world.counted["children"] += 1
            self._sent.append(receipt.message_id)
            self._children.append(receipt.to)

        await self._surely(spawned, "peer_spawn", reading=False, times=1)
        if self._chance.random() < 0.7:
            await self._world.loop.sleep(10 * self._chance.random())
            await self._receive()

    async def _reply(self) -> None:
        question = self._one_of([mail.message_id for mail in self._mail if mail.intent is Intent.REQUEST])
        if question is None:
            return
        kind = self._chance.choice(("answer", "answer", "question"))
        text = self._chance.choice((self._answer(question), self._answer(question), NO_REPLY_TEXT))

        async def replied() -> None:
            await self._process.tool(lambda exchange, caller: exchange.reply(caller, question, text, kind))

        await self._surely(replied, "peer_reply", reading=False)

    async def _defer(self) -> None:
        question = self._one_of([mail.message_id for mail in self._mail if mail.intent is Intent.REQUEST])
        if question is None:
            return
        deferred = question
        await self._surely(
            lambda: self._process.tool(lambda exchange, caller: exchange.defer(caller, deferred)),
            "peer_defer",
            reading=False,
        )

    async def _ack(self) -> None:
        mail = self._one_of([mail.message_id for mail in self._mail])
        if mail is not None:
            await self._surely(
                lambda: self._process.tool(lambda exchange, caller: exchange.ack(caller, [mail])),
                "peer_ack",
                reading=False,
            )

    async def _cancel(self) -> None:
        mine = self._one_of(self._sent)
        if mine is None:
            return
        withdrawn = mine

        async def cancelled() -> None:
            self._given(
                await self._process.tool(lambda exchange, caller: exchange.cancel(caller, withdrawn), reads=True)
            )

        await self._surely(cancelled, "peer_cancel", reading=False)

    def _given(self, view: AnswerView) -> None:
        if view.reply is not None:
            self._world.seen.add(view.reply.message_id)
            self._world.check_answer(view.message_id, view.reply.text, self._process.session)

    async def _surely(self, call: Callable[[], Awaitable[object]], tool: str, *, reading: bool, times: int = 3) -> None:
        """Calls again what failed by no fault of its own, as agents do; what is refused is left. What nobody has told
        the outcome of is looked for in the mail, as the agent is told to."""
        name = self._announce(f"mcp__tieline__{tool}", reading=reading)
        if not reading:
            self._process.act()
        lost = well = False
        for _ in range(times):
            try:
                await call()
            except Refused as refused:
                if refused.code is not Code.UNAVAILABLE:
                    self._world.refused(self._process.session, refused)
                    break
            except Disconnected:
                lost = True
            else:
                well = True
                break
            await asyncio.sleep(1)
        self._process.tell(ToolEnded(name, well, f"mcp__tieline__{tool}", title=name))
        if lost and not reading:
            await self._receive()

    def _announce(self, tool: str, *, reading: bool) -> str:
        self._process.calls += 1
        name = f"{self._process.process.pid}-{self._process.calls}"
        self._process.tell(ToolBegun(name, tool, reading, title=name))
        return name

    # Words

    def _final(self) -> str:
        run = self._process.run
        about = run.acting if run is not None else None
        draw = 1.0 if self._world.healing else self._chance.random()
        if draw < 0.1:
            return NO_REPLY_TEXT
        return "" if draw < 0.15 else self._answer(about)

    def _answer(self, about: str | None) -> str:
        return f"for={about} by={self._process.session} {self._text()}"

    def _text(self, in_reply_to: str | None = None) -> str:
        """Of several inputs it is about the one that it goes on from."""
        text = f"peer said {self._process.process.pid}.{self._chance.getrandbits(40):x}"
        run = self._process.run
        about = run.acting if run is not None else None
        if run is not None and about is None and len(run.inputs) > 1 and in_reply_to in run.inputs:
            about = MessageId(in_reply_to or "")
        self._world.meant[text] = about
        return text

    def _somebody(self) -> str:
        if self._children and self._chance.random() < 0.5:
            return self._chance.choice(self._children)
        return self._chance.choice(self._world.scenario.members).id

    def _one_of(self, some: list[str], chance: float = 1.0) -> str | None:
        return self._chance.choice(some) if some and self._chance.random() < chance else None
