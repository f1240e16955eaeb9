"""What a session may not discover it cannot learn of: not from an error, a list, a page or a trace."""

import asyncio

import pytest

from bridge.caller import Caller
from bridge.decision import Effect, Verb
from bridge.errors import Code, Refused
from bridge.ids import ConversationId, MessageId, SessionId
from bridge.message import Intent, Message, Origin, State
from bridge.ports.runtime import Prompt
from bridge.ports.store import Change
from bridge.trace import Step, StepKind
from tests.fakes.runtime import FakeAgent
from tests.flow.stage import Stage, ident, room, rule, session, stage

PAIR = [rule("default/desk", "default/career")]


def agent_of(handle: str) -> Caller:
    return Caller(ident(handle), Origin.PEER, bound=True)


async def listed(on: Stage, caller: Caller, **more: object) -> list[str]:
    views, _ = await on.exchange.sessions(caller, **{"active": False, **more})  # type: ignore[arg-type]
    return [view.id for view in views]


@pytest.mark.parametrize(
    ("verb", "effect", "seen"),
    [
        *((verb, Effect.ALLOW, True) for verb in Verb),
        (Verb.SEND, Effect.ASK, True),
        (Verb.SEND, Effect.DENY, False),
    ],
)
async def test_any_verb_allowed_or_askable_makes_both_visible_to_each_other(
    verb: Verb, effect: Effect, seen: bool
) -> None:
    rules = [rule("default/desk", "default/career", [verb], effect)]
    async with stage(session("desk"), session("career"), session("finance"), rules=rules) as on:
        one, other = await listed(on, agent_of("desk")), await listed(on, agent_of("career"))
        assert (ident("career") in one, ident("desk") in other) == (seen, seen)
        assert ident("finance") not in [*one, *other]
        assert await listed(on, agent_of("finance")) == [ident("finance")]


async def test_a_session_that_may_be_seen_but_not_asked_says_which_rule_is_missing() -> None:
    async with stage(session("desk"), session("career"), rules=PAIR) as on:
        refused = await on.refused("desk", caller=agent_of("career"))
        assert (refused.code, refused.rule) == (Code.NOT_PERMITTED, "no-rule")


async def test_lists_come_in_pages_that_hold_everything_once() -> None:
    handles = [f"s{number:02}" for number in range(25)]
    async with stage(*(session(handle) for handle in handles)) as on:
        pages: list[list[SessionId]] = []
        cursor = None
        while True:
            views, cursor = await on.exchange.sessions(agent_of("s00"), active=False, limit=10, cursor=cursor)
            pages.append([view.id for view in views])
            if cursor is None:
                break
        assert [len(page) for page in pages] == [10, 10, 6]
        assert [one for page in pages for one in page] == sorted(
            [*(ident(handle) for handle in handles), ident("shell")]
        )
        assert await on.exchange.sessions(agent_of("s00"), active=False, cursor="default/zzz") == ([], None)
        assert len((await on.exchange.sessions(agent_of("s00"), active=False, limit=0))[0]) == 1


async def test_active_sessions_are_those_that_run_or_have_mail() -> None:
    async with stage(session("desk"), session("career"), session("finance")) as on:
        seen: list[str] = []

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            seen.extend(await listed(on, agent_of("career"), active=True))
            return ""

        on.agent("career", career)
        await on.send("finance", "later", wake=False)
        await on.say("career", "go")
        await on.quiet()
        assert seen == [ident("career"), ident("finance")]


async def test_a_session_says_how_it_can_be_reached_and_what_waits_for_it() -> None:
    quiet = session("quiet", accept_wake=False)
    async with stage(session("career"), quiet, session("tool", agent=None)) as on:
        await on.send("career", "later", wake=False)
        await on.send("career", "news", intent=Intent.INFORM, wake=False)
        views, _ = await on.exchange.sessions(await on.shell(), active=False)
        shown = {view.id: (view.reachable, view.unsettled, view.places) for view in views}
        assert shown[ident("career")] == ("wake", 2, (room("career"),))
        assert shown[ident("quiet")][0] == "pull"
        assert shown[ident("tool")] == ("pull", 0, ())


async def test_closed_sessions_leave_the_list() -> None:
    async with stage(session("desk"), session("old")) as on:
        await on.exchange.roster.declare([session("desk")])
        assert ident("old") not in await listed(on, await on.shell(origin=Origin.USER))


async def test_people_find_a_session_by_id_handle_or_title_and_never_by_chance() -> None:
    one, two = session("jobs", agent=None), session("jobs-2", agent=None)
    async with stage(one, two, session("career"), confirm_in_chat=False) as on:
        find = on.exchange.directory.find
        for name in ("career", "@career", "default/career", "@session:default/career", "CAREER", " Career "):
            assert (await find(name)).id == ident("career")
        await on.exchange.new_session(await on.shell(origin=Origin.USER), "more", None, None, None, "Career")
        with pytest.raises(Refused) as refused:
            await find("Career")
        assert refused.value.code is Code.INVALID_REQUEST
        assert "default/career" in refused.value.remedy
        assert "default/more" in refused.value.remedy
        assert (await find("career")).id == ident("career")
        for name in ("caree", "", "nobody", "work/career"):
            with pytest.raises(Refused) as refused:
                await find(name)
            assert refused.value.code is Code.UNKNOWN_SESSION


async def test_a_trace_is_for_those_whose_message_it_is() -> None:
    async with stage(session("a"), session("b"), session("tool", agent=None)) as on:

        async def a(agent: FakeAgent, prompt: Prompt) -> str:
            (mail,) = (await on.tools(agent).receive()).messages
            if mail.intent == Intent.REQUEST:
                await on.tools(agent).send("tool", "for you alone")
            return "done"

        on.agent("a", a)
        sent = await on.send("a", "go")
        await on.quiet()
        (mail,) = await on.inbox("tool")

        async def traced(caller: Caller, of: str) -> set[str | None]:
            return {step.message for step in await on.exchange.trace(caller, of)}

        shell, tool = await on.shell(), await on.shell("tool")
        assert await traced(shell, sent.message_id) == {sent.message_id}
        assert await traced(tool, mail.message_id) == {mail.message_id}
        assert await traced(agent_of("a"), sent.message_id) == {sent.message_id, mail.message_id}
        assert await traced(tool, sent.message_id) == {mail.message_id}
        assert await traced(shell, sent.conversation_id) == {sent.message_id}
        assert await traced(await on.shell(origin=Origin.USER), sent.conversation_id) == {
            sent.message_id,
            mail.message_id,
        }
        for caller, of in (
            (agent_of("b"), sent.message_id),
            (shell, mail.message_id),
            (agent_of("b"), sent.conversation_id),
        ):
            with pytest.raises(Refused) as refused:
                await on.exchange.trace(caller, of)
            assert refused.value.code is Code.UNKNOWN_MESSAGE
            with pytest.raises(Refused) as unknown:
                await on.exchange.trace(caller, "no-such-id")
            assert refused.value.as_json() == unknown.value.as_json()


async def test_a_trace_tells_the_whole_way_of_a_message_in_order() -> None:
    async with stage(session("career")) as on:

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            await on.tools(agent).receive()
            return "done"

        on.agent("career", career)
        sent = await on.send("career", "go")
        await on.quiet()
        steps = await on.exchange.trace(await on.shell(), sent.message_id)
        kinds = [step.step for step in steps if step.step is not StepKind.SENT]
        assert kinds == ["decision", "accepted", "leased", "woken", "read", "turn", "settled", "reply"]


async def test_a_persons_trace_ends_at_the_profile() -> None:
    async with stage(session("desk")) as on:
        abroad = SessionId("work/a"), SessionId("work/b")
        message = Message(
            MessageId("m"), *abroad, Intent.INFORM, "x", Origin.PEER, False, ConversationId("c"), 0.0, 0.0, 0.0, 9e9
        )
        step = Step("s", 0.0, StepKind.ACCEPTED, abroad[0], message.id, message.conversation)
        await on.store.commit(Change(puts=[message], steps=[step]))
        with pytest.raises(Refused) as refused:
            await on.exchange.trace(await on.shell(origin=Origin.USER), "m")
        assert refused.value.code is Code.UNKNOWN_MESSAGE


async def test_a_person_sees_what_is_held_of_another_profile_before_its_recipient_does() -> None:
    async with stage(session("desk")) as on:
        abroad = SessionId("work/a")
        talk = ConversationId("c")
        held = Message(
            MessageId("m"), abroad, ident("desk"), Intent.INFORM, "x", Origin.PEER, False, talk, 0.0, 0.0, 0.0, 9e9,
            state=State.HELD,
        )  # fmt: skip
        step = Step("s", 0.0, StepKind.ACCEPTED, abroad, held.id, talk)
        await on.store.commit(Change(puts=[held], steps=[step]))
        assert await on.exchange.trace(await on.shell(origin=Origin.USER), "m") == [step]
        with pytest.raises(Refused) as refused:
            await on.exchange.trace(agent_of("desk"), "m")
        assert refused.value.code is Code.UNKNOWN_MESSAGE


async def test_a_program_without_a_terminal_speaks_as_a_shell_only_and_a_person_as_any_session() -> None:
    async with stage(session("career"), session("tool", agent=None)) as on:
        assert (await on.shell("tool")).session == ident("tool")
        person = await on.shell("career", Origin.USER)
        assert (person.session, person.operator, person.bound) == (ident("career"), True, False)
        told = []
        for name in ("career", "nobody"):
            with pytest.raises(Refused) as refused:
                await on.shell(name)
            told.append(refused.value.as_json())
        assert told[0]["code"] == Code.NOT_PERMITTED
        assert told[0] == told[1], "a program learns of a session by guessing its name"
        with pytest.raises(Refused, match=Code.UNKNOWN_SESSION):
            await on.shell("nobody", Origin.USER)


async def test_a_token_that_was_never_given_opens_nothing() -> None:
    async with stage(session("career")) as on:
        await on.say("career", "go")
        await on.quiet()
        (agent,) = on.runtime.agents
        assert on.exchange.token_session(agent.token) == ident("career")
        assert on.exchange.token_session(agent.token[:-1]) is None
        assert on.exchange.token_session("") is None
        assert on.exchange.agent_session([agent.process.pid, 1]) == ident("career")
        assert on.exchange.agent_session([1]) is None
        await on.clock.advance(1_000)
        assert on.exchange.token_session(agent.token) is None


async def test_an_agent_learns_of_no_hidden_session_from_the_status() -> None:
    rules = [rule("default/desk", "default/career"), rule("default/shell", "default/*")]
    async with stage(session("desk"), session("career"), session("hidden"), rules=rules) as on:
        seen: list[tuple[object, ...]] = []

        async def desk(agent: FakeAgent, prompt: Prompt) -> str:
            status = await on.exchange.status(await on.tools(agent).caller())
            seen.append((status.sessions, status.turns, status.queued, status.oldest_queued_s))
            return ""

        async def hidden(agent: FakeAgent, prompt: Prompt) -> str:
            await asyncio.Event().wait()
            return ""

        on.agent("desk", desk)
        on.agent("hidden", hidden)
        await on.say("desk", "look")
        await on.quiet()
        await on.send("hidden", "run")
        await on.send("hidden", "for later", wake=False)
        await on.clock.advance(5)
        await on.send("career", "for later", wake=False)
        await on.say("desk", "look again")
        await on.quiet()
        # desk, career, and the shell, which may send to the desk
        assert seen == [(3, 1, 0, None), (3, 1, 1, 0)]


async def test_the_status_counts_what_runs_and_what_waits() -> None:
    async with stage(session("desk"), session("old"), session("tool", agent=None)) as on:
        await on.exchange.roster.declare([session("desk"), session("tool", agent=None)])
        status = await on.exchange.status(await on.shell())
        assert (status.sessions, status.turns, status.queued, status.oldest_queued_s) == (3, 0, 0, None)
        await on.send("tool", "one")
        await on.clock.advance(7)
        await on.send("tool", "two")
        status = await on.exchange.status(await on.shell())
        assert (status.queued, status.oldest_queued_s, status.uptime_s) == (2, 7, 7)
        assert (status.profile, status.store, status.version, status.telegram) == ("default", "memory", "test", None)
