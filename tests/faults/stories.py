"""Whole stories of the core, told in calls that a caller makes again where it hears that the store is unavailable."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from bridge.errors import Code, Refused
from bridge.message import Intent
from bridge.ports.chat import Ambiguous, Heard, Pressed
from bridge.ports.runtime import Prompt, Result, ToolBegun
from bridge.turn import Failure, FailureKind
from bridge.views import Mail, Send
from tests.fakes.runtime import FakeAgent
from tests.flow.stage import OPERATOR, Stage, room

T = TypeVar("T")
BACKOFF_S = 35

Story = Callable[[Stage], Awaitable[None]]


@dataclass(slots=True)
class CutOff:
    """One call is cut off after so many steps of the loop, counted over all calls of a story."""

    steps: int
    met: bool = False

    def strikes(self) -> bool:
        self.steps -= 1
        return self.steps == 0


CUT_OFF: ContextVar[CutOff | None] = ContextVar("CUT_OFF", default=None)


async def again(call: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """What a caller does that was told to try again in a moment, or was cut off."""
    while True:
        try:
            return await _perhaps_cut_off(call())
        except Refused as refused:
            if refused.code is not Code.UNAVAILABLE:
                raise
            await asyncio.sleep(0)
        except _Interrupted:
            pass


class _Interrupted(Exception):
    pass


async def _perhaps_cut_off(call: Coroutine[Any, Any, T]) -> T:
    cut_off = CUT_OFF.get()
    if cut_off is None or cut_off.met:
        return await call
    running = asyncio.create_task(call)
    try:
        while not running.done():
            if cut_off.strikes():
                cut_off.met = True
                running.cancel()
                await asyncio.wait([running])
                raise _Interrupted
            await asyncio.sleep(0)
    finally:
        running.cancel()
    return running.result()


async def rest(on: Stage) -> None:
    """Until nothing more happens, and whatever waits to be tried again has been."""
    await on.clock.advance(BACKOFF_S)


async def mails(on: Stage, agent: FakeAgent) -> list[Mail]:
    return list((await again(lambda: on.tools(agent).receive())).messages)


async def hear(on: Stage, handle: str, text: str, key: str) -> None:
    await again(lambda: on.exchange.inbound.hear(Heard(room(handle), OPERATOR, text, key)))


async def press(on: Stage, label: str) -> None:
    """A person presses a button again, until it says what it did."""
    action = next(one.action for post in on.chat.posts.values() for one in post.buttons if one.label == label)
    await again(lambda: on.exchange.inbound.press(Pressed(room("career"), OPERATOR, action)))


def reader(on: Stage, final: str = "done") -> Callable[[FakeAgent, Prompt], Awaitable[str]]:
    async def behaviour(agent: FakeAgent, prompt: Prompt) -> str:
        await mails(on, agent)
        return final

    return behaviour


async def a_handoff_and_its_answer(on: Stage) -> None:
    on.agent("career", reader(on))
    await again(lambda: on.send("career", "look", key="k"))
    await rest(on)
    (answer,) = await again(on.inbox)
    await again(lambda: _ack(on, answer.message_id))


async def _ack(on: Stage, message_id: str) -> list[str]:
    return await on.exchange.ack(await on.shell(), [message_id])


async def a_question_that_is_waited_for(on: Stage) -> None:
    on.agent("career", reader(on, "yes"))
    caller = await again(on.shell)
    asking = again(lambda: on.exchange.ask(caller, Send("career", "well?", wake=True, key="k"), 0.2))
    view = await _moving(on, asking)
    await rest(on)
    await again(lambda: on.exchange.read_answer(caller, view.message_id))


async def a_desk_that_consults_another(on: Stage) -> None:
    async def desk(agent: FakeAgent, prompt: Prompt) -> str:
        for mail in await mails(on, agent):
            if mail.intent is Intent.REQUEST:
                await again(lambda: on.tools(agent).send("career", "what do you say?", key="consult"))
        return "the desk says so"

    async def career(agent: FakeAgent, prompt: Prompt) -> str:
        for mail in await mails(on, agent):
            await _answered(on, agent, mail.message_id, "I say so")
        return "replied"

    on.agent("desk", desk)
    on.agent("career", career)
    await again(lambda: on.send("desk", "find out", key="k"))


async def _answered(on: Stage, agent: FakeAgent, message_id: str, text: str) -> None:
    """An agent that hears of its own first attempt knows that its answer has arrived."""
    try:
        await again(lambda: on.tools(agent).reply(message_id, text))
    except Refused as refused:
        if refused.code is not Code.ALREADY_ANSWERED:
            raise


async def an_answer_that_is_put_off(on: Stage) -> None:
    asked: list[str] = []

    async def career(agent: FakeAgent, prompt: Prompt) -> str:
        for mail in await mails(on, agent):
            if mail.intent is Intent.REQUEST:
                asked.append(mail.message_id)
                await again(partial(on.tools(agent).defer, mail.message_id))
            else:
                await _answered(on, agent, asked[0], "after all")
        return "so far"

    on.agent("career", career)
    await again(lambda: on.send("career", "take your time", key="k"))
    await rest(on)
    await again(lambda: on.send("career", "now?", intent=Intent.INFORM, key="l"))


async def a_stop(on: Stage) -> None:
    async def career(agent: FakeAgent, prompt: Prompt) -> str:
        await mails(on, agent)
        await asyncio.Event().wait()
        return ""

    on.agent("career", career)
    await again(lambda: on.send("career", "work", key="k"))
    await rest(on)
    await again(lambda: on.send("career", "and this", key="l"))
    await _moving(on, hear(on, "career", "/stop all", "stop"))
    await rest(on)
    await press(on, "Discard")
    await _moving(on, hear(on, "career", "/resume", "resume"))


async def _moving(on: Stage, call: Awaitable[T]) -> T:
    """A call that waits for what the core itself tries again."""
    running = asyncio.ensure_future(call)
    await on.quiet()
    while not running.done():
        await on.clock.advance(1)
    return running.result()


async def a_crash_that_people_decide_about(on: Stage) -> None:
    async def career(agent: FakeAgent, prompt: Prompt) -> str | Result:
        await mails(on, agent)
        if len(on.runtime.prompts) > 1:
            return "done"
        assert agent.listener is not None
        await agent.listener.happened(ToolBegun("1", "Bash", reading=False))
        return Result("", "failed", Failure(FailureKind.CRASH, "the agent ended"))

    on.agent("career", career)
    await again(lambda: on.send("career", "pay the bill", key="k"))
    await rest(on)
    await press(on, "Retry")


async def a_life_that_ends(on: Stage) -> None:
    await again(lambda: on.send("tool", "while it matters", key="k", ttl_s=5.0))
    await rest(on)


async def a_chat_that_is_not_sure(on: Stage) -> None:
    unsure = [Ambiguous("timed out")]
    on.chat.fault = lambda post: unsure.pop() if unsure and post.text == "done" else None
    on.agent("career", reader(on))
    await hear(on, "career", "hello", "one")
    await rest(on)
    await hear(on, "career", "/status", "two")


async def an_update_of_a_chat(on: Stage) -> None:
    inbound = on.exchange.inbound
    on.agent("career", reader(on))
    await again(lambda: inbound.keep("room", [(1, "hello")]))
    for number, raw in await again(lambda: inbound.unhandled("room")):
        await hear(on, "career", raw, f"room:{number}")
        await again(partial(inbound.done, "room", number))


async def a_withdrawal(on: Stage) -> None:
    sent = await again(lambda: on.send("tool", "never mind", key="k"))
    caller = await again(on.shell)
    await again(lambda: on.exchange.cancel(caller, sent.message_id))


STORIES: dict[str, Story] = {
    story.__name__: story
    for story in (
        a_handoff_and_its_answer,
        a_question_that_is_waited_for,
        a_desk_that_consults_another,
        an_answer_that_is_put_off,
        a_stop,
        a_crash_that_people_decide_about,
        a_life_that_ends,
        a_chat_that_is_not_sure,
        an_update_of_a_chat,
        a_withdrawal,
    )
}
