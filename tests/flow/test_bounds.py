"""A conversation ends: depth, visits, messages and pair rates are bounded, whatever the agents do."""

from collections.abc import Sequence

import pytest

from bridge.errors import Code, Refused
from bridge.limits import Limits
from bridge.message import Intent, Origin
from bridge.ports.chat import Pressed
from bridge.ports.runtime import Prompt
from tests.fakes.runtime import Behaviour, FakeAgent
from tests.flow.stage import OPERATOR, USER, Stage, ident, room, session, stage

LOOSE = {"depth": 1_000, "visits": 1_000, "conversation_messages": 1_000, "pair_messages": 1_000}


def loose(**bounds: int) -> Limits:
    return Limits(**{**LOOSE, **bounds})


def forwards(on: Stage, to: str, refusals: list[Refused], *, intent: Intent = Intent.INFORM) -> Behaviour:
    async def behaviour(agent: FakeAgent, prompt: Prompt) -> str:
        await on.tools(agent).receive()
        try:
            await on.tools(agent).send(to, "your turn", intent=intent)
        except Refused as refused:
            refusals.append(refused)
        return ""

    return behaviour


def in_a_circle(on: Stage, handles: Sequence[str]) -> list[Refused]:
    refusals: list[Refused] = []
    for one, other in zip(handles, [*handles[1:], handles[0]], strict=True):
        on.agent(one, forwards(on, other, refusals))
    return refusals


@pytest.mark.parametrize(
    ("limits", "code", "sends"),
    [
        (loose(depth=6), Code.DEPTH_LIMIT, 6),
        (loose(visits=2), Code.VISIT_LIMIT, 18),
        (loose(conversation_messages=24), Code.CONVERSATION_BUDGET, 24),
        (loose(pair_messages=2), Code.RATE_LIMITED, 18),
    ],
)
async def test_nine_agents_in_a_circle_come_to_an_end_at_each_limit(limits: Limits, code: Code, sends: int) -> None:
    handles = [f"a{number}" for number in range(9)]
    async with stage(*(session(handle) for handle in handles), limits=limits) as on:
        refusals = in_a_circle(on, handles)
        await on.say("a0", "go round")
        await on.quiet()
        await on.quiet()
        assert [refused.code for refused in refusals] == [code]
        assert len(on.runtime.prompts) == 1 + sends
        assert sum("Stopped" in post.text for post in on.chat.deliveries) == 1
        await on.chat.seen(room("a0"), "Stopped")


async def test_two_that_keep_sending_to_each_other_stop_at_the_visits_of_the_first() -> None:
    async with stage(session("a"), session("b")) as on:
        refusals = in_a_circle(on, ["a", "b"])
        await on.say("a", "go")
        await on.quiet()
        assert [refused.code for refused in refusals] == [Code.VISIT_LIMIT]
        assert [name for name, _ in on.runtime.prompts] == [ident(name) for name in ("a", "b", "a", "b", "a")]


async def test_two_that_ask_each_other_for_ever_stop_too() -> None:
    async with stage(session("a"), session("b")) as on:
        refusals: list[Refused] = []
        on.agent("a", forwards(on, "b", refusals, intent=Intent.REQUEST))
        on.agent("b", forwards(on, "a", refusals, intent=Intent.REQUEST))
        await on.say("a", "go")
        await on.quiet()
        await on.quiet()
        assert refusals
        assert len(on.runtime.prompts) < 100
        assert await on.store.queued() == (0, None)


async def test_an_agent_that_asks_anew_on_every_answer_stops_at_the_budget_of_the_conversation() -> None:
    async with stage(session("a"), session("b"), limits=Limits(pair_messages=1_000)) as on:
        refusals: list[Refused] = []
        on.agent("a", forwards(on, "b", refusals, intent=Intent.REQUEST))

        async def b(agent: FakeAgent, prompt: Prompt) -> str:
            await on.tools(agent).receive()
            return "ask me more"

        on.agent("b", b)
        await on.say("a", "go")
        await on.quiet()
        await on.quiet()
        assert [refused.code for refused in refusals] == [Code.CONVERSATION_BUDGET]
        assert sum(name == ident("b") for name, _ in on.runtime.prompts) == 24


async def test_two_sessions_may_exchange_ten_messages_in_one_conversation() -> None:
    async with stage(session("a"), session("tool", agent=None)) as on:
        conversations: set[str] = set()

        async def a(agent: FakeAgent, prompt: Prompt) -> str:
            (mail,) = (await on.tools(agent).receive()).messages
            return f"re: {mail.text}"

        on.agent("a", a)
        tool, last = await on.shell("tool"), None
        for number in range(5):
            sent = await on.send("a", f"{number}", caller=tool, in_reply_to=last)
            conversations.add(sent.conversation_id)
            await on.quiet()
            reply = (await on.inbox("tool"))[-1]
            assert (reply.text, sent.depth) == (f"re: {number}", 1)
            last = reply.message_id
        assert len(conversations) == 1


async def test_people_are_told_once_however_often_the_agents_try() -> None:
    async with stage(session("a"), session("b"), session("c"), limits=loose(depth=1)) as on:
        refusals: list[Refused] = []

        async def b(agent: FakeAgent, prompt: Prompt) -> str:
            await on.tools(agent).receive()
            for to in ("c", "a"):
                try:
                    await on.tools(agent).send(to, "your turn")
                except Refused as refused:
                    refusals.append(refused)
            return ""

        on.agent("a", forwards(on, "b", refusals))
        on.agent("b", b)
        await on.say("a", "go")
        await on.quiet()
        assert [refused.code for refused in refusals] == [Code.DEPTH_LIMIT] * 2
        assert [post.text[:23] for post in on.chat.deliveries if "Stopped" in post.text] == ["Stopped: b → c was refu"]


async def test_only_an_operator_lets_a_conversation_go_on_and_it_is_told_once_more_at_the_next_limit() -> None:
    async with stage(session("a"), session("b"), limits=loose(conversation_messages=2)) as on:
        refusals = in_a_circle(on, ["a", "b"])
        await on.say("a", "go")
        await on.chat.seen(room("a"), "Stopped")
        said = await on.press("a", "Go on (+2)", USER)
        assert "operator" in said
        assert not any("may have" in text for text in on.chat.texts(room("a")))
        posts = [post for post in on.chat.posts.values() if post.buttons]
        (action,) = [button.action for post in posts for button in post.buttons]
        assert await on.press("a", "Go on (+2)") == "2 more messages."
        await on.chat.seen(room("a"), "may have 2 more messages")
        again = await on.exchange.inbound.press(Pressed(room("a"), OPERATOR, action))
        assert again == "This has been decided already."
        agent = await on.exchange.caller(None, origin=Origin.PEER, bound=ident("a"))
        for _ in range(2):
            await on.send("b", "on", caller=agent, wake=False)
        assert (await on.refused("b", caller=agent, wake=False)).code is Code.CONVERSATION_BUDGET
        await on.quiet()
        assert sum("Stopped" in text for text in on.chat.texts(room("a"))) == 1
        assert len(refusals) == 1


async def test_a_refusal_is_found_by_its_conversation_and_by_what_caused_it() -> None:
    async with stage(session("a"), session("b"), limits=loose(depth=1)) as on:
        in_a_circle(on, ["a", "b"])
        sent = await on.send("a", "go")
        await on.quiet()
        for of in (sent.message_id, sent.conversation_id):
            refused = [step for step in await on.store.steps(of) if step.detail.get("code")]
            assert [(step.session, step.message, step.cause) for step in refused] == [
                (ident("a"), None, sent.message_id)
            ]
            assert refused[0].detail["code"] == Code.DEPTH_LIMIT
            assert refused[0].detail["rule"] == "limits.depth"
        (verdict,) = [one for one in await on.store.verdicts(sent.conversation_id) if one.code]
        assert (verdict.code, verdict.cause, verdict.message) == (Code.DEPTH_LIMIT, sent.message_id, None)


async def test_the_rest_of_a_pair_holds_both_ways_and_not_for_others_nor_for_people() -> None:
    limits = Limits(pair_messages=2)
    async with stage(session("x", agent=None), session("y", agent=None), limits=limits) as on:
        x, y = await on.shell("x"), await on.shell("y")
        person = await on.exchange.caller("default/x", origin=Origin.USER, bound=None)
        await on.send("y", "of a person, which counts for nothing", caller=person, wake=False)
        await on.send("y", "1", caller=x, wake=False)
        await on.send("x", "2", caller=y, wake=False)
        for caller, to in ((x, "y"), (y, "x")):
            refused = await on.refused(to, caller=caller, wake=False)
            assert (refused.code, refused.rule) == (Code.RATE_LIMITED, "limits.pair_messages")
        await on.send("y", "of another", wake=False)
        await on.send("y", "of a person", caller=person, wake=False)


async def test_a_persons_words_begin_a_new_conversation() -> None:
    async with stage(session("a"), session("tool", agent=None), limits=loose(conversation_messages=1)) as on:
        refusals: list[Refused] = []
        on.agent("a", forwards(on, "tool", refusals))
        for text in ("one", "two", "three"):
            await on.say("a", text)
            await on.quiet()
        assert refusals == []
        mails = await on.inbox("tool")
        assert [mail.depth for mail in mails] == [1, 1, 1]
        assert len({mail.conversation_id for mail in mails}) == 3


async def test_an_agent_that_the_bridge_does_not_run_goes_on_from_what_it_read_for_ten_minutes() -> None:
    async with stage(session("terminal", agent=None), session("tool", agent=None)) as on:
        terminal = await on.exchange.caller(None, origin=Origin.PEER, bound=ident("terminal"))
        asked = await on.send("terminal", "work")
        await on.exchange.receive(terminal, 10)
        while_reading = await on.send("tool", "1", caller=terminal)
        assert (while_reading.depth, while_reading.conversation_id) == (2, asked.conversation_id)
        assert (await on.message(while_reading.message_id)).path == (ident("shell"), ident("terminal"))
        await on.exchange.ack(terminal, [asked.message_id])
        await on.clock.advance(600)
        assert (await on.send("tool", "2", caller=terminal)).depth == 2
        await on.clock.advance(1)
        later = await on.send("tool", "3", caller=terminal)
        assert (later.depth, later.conversation_id == asked.conversation_id) == (1, False)


async def test_what_was_read_before_the_last_words_of_its_person_is_no_cause_of_what_an_agent_sends_later() -> None:
    async with stage(session("career"), session("tool", agent=None)) as on:

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            await on.tools(agent).receive()
            return "done"

        on.agent("career", career)
        await on.send("career", "work")
        await on.quiet()
        (agent,) = on.runtime.agents
        assert (await on.tools(agent).send("tool", "about the work")).depth == 2
        await on.clock.advance(1)
        said = await on.say("career", "something else")
        await on.quiet()
        sent = await on.tools(agent).send("tool", "about something else")
        assert (sent.depth, sent.conversation_id) == (1, (await on.message(said)).conversation)


async def test_a_single_send_of_a_shell_has_only_what_it_replies_to_as_its_cause() -> None:
    async with stage(session("tool", agent=None), session("other", agent=None)) as on:
        tool = await on.shell("tool")
        asked = await on.send("tool", "work")
        await on.exchange.receive(tool, 10)
        assert (await on.send("other", "anew", caller=tool)).depth == 1
        named = await on.send("other", "on", caller=tool, in_reply_to=asked.message_id)
        assert (named.depth, named.conversation_id) == (2, asked.conversation_id)


async def test_the_sessions_of_a_profile_send_so_many_messages_a_day_and_people_are_not_counted() -> None:
    async with stage(session("a"), session("b"), limits=loose(profile_messages_day=2)) as on:
        person = await on.shell("shell", Origin.USER)
        await on.send("a", "of a person", caller=person, wake=False)
        for to in ("a", "b"):
            await on.send(to, "of a program", wake=False)
        refused = await on.refused("a", "one more", wake=False)
        assert (refused.code, refused.rule) == (Code.RATE_LIMITED, "limits.profile_messages_day")
        await on.send("a", "of a person again", caller=person, wake=False)
        on.clock.jump(86_400)
        await on.send("a", "on the next day", wake=False)
