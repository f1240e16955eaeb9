"""A turn spawns children, which work for it and retire with it (DESIGN §8)."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from bridge.decision import Effect, Verb, Verdict
from bridge.errors import Code, Refused
from bridge.limits import Limits
from bridge.message import Intent, Outcome, State
from bridge.ports.runtime import Prompt, Result
from bridge.request import Answer
from bridge.session import Kind, Session
from bridge.trace import StepKind
from bridge.turn import Failure, FailureKind
from bridge.views import Mail, Receipt
from policy.rules import Rule
from tests.fakes.runtime import Behaviour, FakeAgent
from tests.flow.stage import ALL, OPERATOR, Stage, ident, person, room, rule, session, stage

SPAWN = (Verb.SPAWN,)
SPAWNS = rule("default/desk", "tag:agent:helper", SPAWN)
REACHED = rule("default/shell", "default/desk")


@asynccontextmanager
async def office(*rules: Rule) -> AsyncIterator[Stage]:
    async with stage(session("desk"), session("career"), rules=[*(rules or [SPAWNS]), REACHED]) as on:
        yield on


def says(on: Stage, text: str) -> Behaviour:
    async def behaviour(agent: FakeAgent, prompt: Prompt) -> str:
        (mail,) = (await on.tools(agent).receive()).messages
        return f"{text}: {mail.text}"

    return behaviour


async def hanging(agent: FakeAgent, prompt: Prompt) -> str:
    await asyncio.Event().wait()
    return ""


async def answer_of(on: Stage, agent: FakeAgent) -> Mail:
    """What the parent reads in its turn once the child has answered."""
    while True:
        found = (await on.tools(agent).receive()).messages
        if found:
            return found[0]
        await asyncio.sleep(0)


def spawning(on: Stage, *, waits: bool = True, tasks: Sequence[str] = ("look it up",)) -> list[Receipt]:
    """The desk hands tasks to a child each, and waits for the answers, or not. What it got is in the list."""
    made: list[Receipt] = []

    async def desk(agent: FakeAgent, prompt: Prompt) -> str:
        mails = (await on.tools(agent).receive()).messages
        if made:
            return " and ".join(mail.text for mail in mails)
        made.extend([await on.tools(agent).spawn(task) for task in tasks])
        if not waits:
            return "I have handed it on"
        answers: list[str] = []
        while len(answers) < len(tasks):
            answers += [mail.text for mail in (await on.tools(agent).receive()).messages]
            await asyncio.sleep(0)
        return " and ".join(answers)

    on.agent("desk", desk)
    return made


async def child_of(on: Stage, receipt: Receipt) -> Session:
    child = await on.store.session(receipt.to)
    assert child is not None
    return child


async def decisions(on: Stage, verb: Verb) -> list[Verdict]:
    page, _ = await on.exchange.oversight.audit(await person(on), None, 50)
    return [one for one in page if isinstance(one, Verdict) and verb in one.verbs]


# What it does


async def test_a_child_answers_in_the_turn_that_spawned_it_and_retires_with_that() -> None:
    async with office() as on:
        made = spawning(on)
        on.helper(says(on, "found"))
        sent = await on.send("desk", "is it serious?")
        await on.quiet()
        assert [mail.text for mail in await on.inbox()] == ["found: look it up"]
        assert (await on.request(sent.message_id)).state is Answer.ANSWERED
        child = await child_of(on, made[0])
        assert (child.kind, child.parent, child.agent, child.title) == (Kind.TOOL, ident("desk"), "helper", "A helper")
        assert child.id.startswith("default/helper-")
        assert child.closed_at == on.clock.now()
        assert await on.store.children() == []
        assert [agent.closed for agent in on.runtime.agents if agent.session == child.id] == [True]


async def test_its_task_is_a_request_with_wake_on_behalf_of_what_the_parent_works_on() -> None:
    async with office() as on:
        made = spawning(on)
        on.helper(says(on, "found"))
        sent = await on.send("desk", "is it serious?")
        await on.quiet()
        task = await on.message(made[0].message_id)
        assert (task.sender, task.intent, task.wake, task.depth) == (ident("desk"), Intent.REQUEST, True, 2)
        assert (task.conversation, task.cause) == (sent.conversation_id, sent.message_id)
        assert (await on.request(task.id)).parent == sent.message_id
        (decision,) = await decisions(on, Verb.SPAWN)
        assert (decision.effect, decision.rule, decision.recipient) == (Effect.ALLOW, SPAWNS.name, made[0].to)
        steps = await on.exchange.trace(await person(on), task.id)
        accepted = next(step for step in steps if step.step is StepKind.ACCEPTED)
        assert accepted.detail["spawns"] == "helper"


async def test_several_children_work_side_by_side() -> None:
    async with office() as on:
        made = spawning(on, tasks=("one", "two", "three"))
        on.helper(says(on, "found"))
        await on.send("desk", "all of it")
        await on.quiet()
        ((mail,),) = [await on.inbox()]
        assert sorted(mail.text.split(" and ")) == ["found: one", "found: three", "found: two"]
        assert len({one.to for one in made}) == 3


async def test_a_child_asks_back_and_is_given_its_next_task_without_a_rule() -> None:
    async with office() as on:

        async def desk(agent: FakeAgent, prompt: Prompt) -> str:
            await on.tools(agent).receive()
            made = await on.tools(agent).spawn("look it up")
            question = await answer_of(on, agent)
            again = await on.tools(agent).ask(made.to, f"of {question.text}")
            assert again.reply is not None
            return again.reply.text

        async def helper(agent: FakeAgent, prompt: Prompt) -> str:
            (mail,) = (await on.tools(agent).receive()).messages
            if mail.text == "look it up":
                await on.tools(agent).reply(mail.message_id, "which one?", "question")
                return ""
            return f"found: {mail.text}"

        on.agent("desk", desk)
        on.helper(helper)
        await on.send("desk", "is it serious?")
        await on.quiet()
        assert [mail.text for mail in await on.inbox()] == ["found: of which one?"]


async def test_a_child_of_a_child_retires_with_the_childs_own_turn() -> None:
    rules = [SPAWNS, rule("kind:tool", "tag:agent:scout", SPAWN), rule("default/desk", "tag:agent:scout", SPAWN)]
    async with office(*rules) as on:
        left: list[Receipt] = []

        async def helper(agent: FakeAgent, prompt: Prompt) -> str:
            await on.tools(agent).receive()
            if not left:
                left.append(await on.tools(agent).spawn("look there", agent="scout"))
                return "handed on"
            return "the scout is gone"

        on.helper(helper)
        on.helper(hanging, "scout")
        made = spawning(on)
        await on.send("desk", "is it serious?")
        await on.quiet()
        assert [mail.text for mail in await on.inbox()] == ["the scout is gone"]
        scout = await child_of(on, left[0])
        assert (scout.parent, scout.closed_at) == (made[0].to, on.clock.now())
        assert (await on.request(left[0].message_id)).state is Answer.FAILED
        assert await on.store.live_turns() == []


# When its parent's turn is over


async def test_a_turn_that_ends_before_its_child_has_answered_retires_it_and_its_session_is_told() -> None:
    async with office() as on:
        made = spawning(on, waits=False)
        on.helper(hanging)
        sent = await on.send("desk", "is it serious?")
        await on.quiet()
        request = await on.request(made[0].message_id)
        assert (request.state, (await on.message(request.id)).outcome) == (Answer.FAILED, Outcome.FAILED)
        (mail,) = await on.inbox()
        assert "wait for it in the turn" in mail.text
        assert (await on.request(sent.message_id)).state is Answer.ANSWERED
        assert await on.store.live_turns() == []
        assert all(agent.closed for agent in on.runtime.agents if agent.session == made[0].to)


async def test_a_persons_stop_of_the_parent_stops_its_child_and_wakes_nobody() -> None:
    async with office() as on:
        made = spawning(on)
        on.helper(hanging)
        await on.say("desk", "is it serious?")
        await on.quiet()
        assert len(on.runtime.prompts) == 2
        await on.say("desk", "/stop")
        await on.quiet()
        await on.chat.seen(room("desk"), "The turn is stopped.")
        request = await on.request(made[0].message_id)
        assert (request.state, request.closing) == (Answer.CANCELLED, None)
        assert await on.store.live_turns() == []
        assert (await child_of(on, made[0])).closed_at is not None
        await on.say("desk", "/resume")
        await on.quiet()
        assert len(on.runtime.prompts) == 2
        (notice,) = await on.inbox("desk")
        assert "was stopped" in notice.text


async def test_a_turn_that_fails_takes_its_children_with_it() -> None:
    async with office() as on:
        made: list[Receipt] = []

        async def desk(agent: FakeAgent, prompt: Prompt) -> Result:
            made.append(await on.tools(agent).spawn("look it up"))
            return Result("", "error", Failure(FailureKind.REFUSAL, "no"))

        on.agent("desk", desk)
        on.helper(hanging)
        await on.say("desk", "is it serious?")
        await on.quiet()
        assert (await on.request(made[0].message_id)).state is Answer.CANCELLED
        assert await on.store.children() == []
        assert await on.store.live_turns() == []


async def test_a_person_stops_a_child_alone_and_its_parent_is_told() -> None:
    async with office() as on:
        made = spawning(on)
        on.helper(hanging)
        await on.send("desk", "is it serious?")
        await on.quiet()
        await on.exchange.stop(await person(on), made[0].to, False)
        await on.quiet()
        (mail,) = await on.inbox()
        assert "stopped by a person" in mail.text


async def test_a_session_that_leaves_the_file_takes_its_children_with_it() -> None:
    async with office() as on:
        made = spawning(on)
        on.helper(hanging)
        await on.send("desk", "is it serious?")
        await on.quiet()
        await on.exchange.redeclare([session("career")])
        await on.quiet()
        assert (await child_of(on, made[0])).closed_at is not None
        assert await on.store.live_turns() == []
        with pytest.raises(Refused) as refused:
            await on.exchange.new_session(await person(on), made[0].to.partition("/")[2], None, None, None, None)
        assert "never given to another" in refused.value.reason


async def test_a_child_that_cannot_run_gives_its_task_back_and_its_roots_people_are_told() -> None:
    async with office() as on:
        made = spawning(on)

        async def helper(agent: FakeAgent, prompt: Prompt) -> Result:
            return Result("", "error", Failure(FailureKind.AUTH, "no login"))

        on.helper(helper)
        await on.send("desk", "is it serious?")
        await on.quiet()
        (mail,) = await on.inbox()
        assert "no login" in mail.text
        await on.chat.seen(room("desk"), "no login")
        assert (await on.request(made[0].message_id)).state is Answer.FAILED


# Who may


async def test_without_a_rule_it_is_refused_and_the_turn_goes_on() -> None:
    async with office(rule("default/desk", "default/career")) as on:
        refusals: list[Refused] = []

        async def desk(agent: FakeAgent, prompt: Prompt) -> str:
            await on.tools(agent).receive()
            for name in ("helper", "missing"):
                with pytest.raises(Refused) as refused:
                    await on.tools(agent).spawn("look it up", agent=name)
                refusals.append(refused.value)
            return "alone, then"

        on.agent("desk", desk)
        await on.send("desk", "is it serious?")
        await on.quiet()
        assert [mail.text for mail in await on.inbox()] == ["alone, then"]
        # An agent that is not configured is told from one that is only by who may spawn it.
        assert [one.code for one in refusals] == [Code.NOT_PERMITTED] * 2
        assert 'to = "tag:agent:helper", verbs = ["spawn"] is missing' in refusals[0].reason
        assert [one.code for one in await decisions(on, Verb.SPAWN)] == [Code.NOT_PERMITTED] * 2
        assert [one for one in await on.store.sessions() if one.parent] == []


@pytest.mark.parametrize(
    ("agent", "title", "task"),
    [
        ("helper", "", "x"),
        ("helper", "a\nb", "x"),
        ("helper", "x" * 81, "x"),
        ("Helper!", "A", "x"),
        ("helper", "A", ""),
    ],
)
async def test_what_makes_no_sense_is_refused_and_nothing_is_made(agent: str, title: str, task: str) -> None:
    async with office(rule("*", "*", SPAWN)) as on:

        async def desk(running: FakeAgent, prompt: Prompt) -> str:
            with pytest.raises(Refused) as refused:
                await on.tools(running).spawn(task, agent=agent, title=title)
            return refused.value.code

        on.agent("desk", desk)
        await on.say("desk", "go")
        await on.chat.seen(room("desk"), Code.INVALID_REQUEST)
        assert [one for one in await on.store.sessions() if one.parent] == []


async def test_an_agent_that_is_not_configured_is_refused_before_there_is_a_session() -> None:
    async with office(rule("*", "*", SPAWN)) as on:

        async def desk(agent: FakeAgent, prompt: Prompt) -> str:
            with pytest.raises(Refused) as refused:
                await on.tools(agent).spawn("look it up", agent="missing")
            return f"{refused.value.code}: {refused.value.reason}"

        on.agent("desk", desk)
        await on.say("desk", "go")
        await on.chat.seen(room("desk"), "invalid_request: no agent named 'missing'")
        assert [one for one in await on.store.sessions() if one.parent] == []


async def test_what_a_rule_asks_about_begins_once_an_operator_approves_at_the_parents_place() -> None:
    async with office(rule("default/desk", "kind:tool", SPAWN, Effect.ASK)) as on:
        made = spawning(on)
        on.helper(says(on, "found"))
        await on.send("desk", "is it serious?")
        await on.quiet()
        assert (made[0].state, len(on.runtime.prompts)) == (State.HELD, 1)
        (held,) = await on.exchange.oversight.approvals(await person(on))
        assert held.verbs == SPAWN
        asked = await on.chat.seen(room("desk"), "needs your approval (spawn)")
        assert "look it up" in asked.text
        assert await on.press("desk", "Approve once") == "Approved once."
        await on.quiet()
        assert [mail.text for mail in await on.inbox()] == ["found: look it up"]


async def test_to_approve_a_pair_always_lets_that_session_spawn_that_agent_from_then_on() -> None:
    async with office(rule("default/desk", "kind:tool", SPAWN, Effect.ASK)) as on:
        spawning(on)
        on.helper(says(on, "found"))
        await on.send("desk", "is it serious?")
        await on.quiet()
        await on.press("desk", "Always for this pair")
        await on.quiet()
        (grant,) = await on.store.grants()
        assert (grant.sender, grant.recipient, grant.verbs) == ("default/desk", "tag:agent:helper", SPAWN)
        made = spawning(on)
        await on.send("desk", "and the other?")
        await on.quiet()
        assert made[0].state is State.QUEUED
        assert [mail.text for mail in await on.inbox()] == ["found: look it up"] * 2


@pytest.mark.parametrize("end", ["Deny", "withdrawn", "expired"])
async def test_before_an_operator_has_approved_a_child_nothing_reaches_it_and_without_that_there_is_none(
    end: str,
) -> None:
    limits = Limits(children=1, stop_grace_s=0.05)
    rules = [rule("default/desk", "kind:tool", SPAWN, Effect.ASK), REACHED]
    async with stage(session("desk"), rules=rules, limits=limits) as on:
        said: dict[str, Code] = {}
        decided = asyncio.Event()

        async def desk(agent: FakeAgent, prompt: Prompt) -> str:
            if not prompt.words:
                return "I see"
            made = await on.tools(agent).spawn("look it up")

            async def tried(when: str) -> None:
                with pytest.raises(Refused) as refused:
                    await on.tools(agent).send(made.to, "begin!")
                said[when] = refused.value.code

            await tried("held")
            await on.exchange.redeclare([session("desk")])
            await tried("after a look at the file")
            if end == "withdrawn":
                await on.tools(agent).cancel(made.message_id)
            else:
                await decided.wait()
            await tried(end)
            await on.tools(agent).spawn("and that?")  # There is room again.
            return "done"

        on.agent("desk", desk)
        await on.say("desk", "go")
        if end == "Deny":
            await on.press_when_seen("desk", "Deny", "needs your approval")
        elif end == "expired":
            await on.quiet()
            await on.clock.advance(limits.held_life_s + 1)
            await on.quiet()
        decided.set()
        await on.chat.seen(room("desk"), "done")
        assert said == {"held": Code.PAUSED, "after a look at the file": Code.PAUSED, end: Code.SESSION_CLOSED}
        assert [one for one, _ in on.runtime.prompts if one != ident("desk")] == []


async def test_people_do_not_find_a_child_by_the_title_that_an_agent_has_chosen() -> None:
    async with office() as on:

        async def desk(agent: FakeAgent, prompt: Prompt) -> str:
            await on.tools(agent).spawn("lie in wait", title="Career")
            await asyncio.Event().wait()
            return ""

        on.agent("desk", desk)
        on.helper(hanging)
        await on.say("desk", "go")
        await on.quiet()
        assert (await on.exchange.directory.find("Career")).id == ident("career")


async def test_a_child_that_an_operator_denies_is_none_and_its_parent_is_told() -> None:
    async with office(rule("default/desk", "kind:tool", SPAWN, Effect.ASK)) as on:
        spawning(on)
        await on.send("desk", "is it serious?")
        await on.quiet()
        await on.press("desk", "Deny")
        await on.quiet()
        (mail,) = await on.inbox()
        assert "denied by room:1" in mail.text
        assert await on.inbox("desk") == []
        assert len(on.runtime.prompts) == 1


async def test_where_nobody_attends_what_a_rule_asks_about_is_refused() -> None:
    async with office(rule("default/desk", "kind:tool", SPAWN, Effect.ASK)) as on:
        on.chat.open = False

        async def desk(agent: FakeAgent, prompt: Prompt) -> str:
            with pytest.raises(Refused) as refused:
                await on.tools(agent).spawn("look it up")
            return refused.value.reason

        on.agent("desk", desk)
        await on.say("desk", "go")
        await on.chat.seen(room("desk"), "nobody attends")


async def test_outside_of_a_turn_that_the_bridge_runs_nobody_spawns() -> None:
    async with office(rule("*", "*", [*ALL, Verb.SPAWN])) as on:
        with pytest.raises(Refused) as refused:
            await on.exchange.spawn(await person(on), "helper", "A helper", "look it up")
        assert refused.value.code is Code.NOT_PERMITTED
        assert "a turn that the bridge runs" in refused.value.reason


async def test_people_see_no_children_in_their_list_and_programs_see_whose_they_are() -> None:
    async with office() as on:
        made = spawning(on)
        on.helper(hanging)
        await on.send("desk", "is it serious?")
        await on.quiet()
        views, _ = await on.exchange.sessions(await person(on), False)
        assert [view.parent for view in views if view.id == made[0].to] == [ident("desk")]
        await on.say("career", "/sessions", OPERATOR)
        listed = await on.chat.seen(room("career"), "default/desk")
        assert made[0].to not in listed.text


async def test_no_place_is_bound_to_a_child() -> None:
    async with office() as on:
        made = spawning(on)
        on.helper(hanging)
        await on.send("desk", "is it serious?")
        await on.quiet()
        await on.say("career", f"/bind {made[0].to}")
        await on.chat.seen(room("career"), "has no place of its own")
