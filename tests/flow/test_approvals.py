"""A message that a rule asks about is held until an operator decides, once, from whichever surface (DESIGN §4)."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator

import pytest

from adapters.memory.store import MemoryStore
from bridge.audit import ActKind
from bridge.decision import Effect, Verdict
from bridge.errors import Code, Refused
from bridge.grant import Scope
from bridge.limits import Limits
from bridge.message import Intent, Message, Outcome, State
from bridge.ports.chat import Person, Pressed
from bridge.ports.runtime import Prompt
from bridge.request import Answer
from tests.fakes.chat import FakeChat
from tests.fakes.clock import ManualClock
from tests.fakes.runtime import FakeAgent
from tests.flow.stage import ALL, USER, Stage, acts, person, room, rule, session, stage

ASKS = [rule("default/shell", "default/career", ALL, Effect.ASK), rule("default/tool", "default/career")]
CAREER, TOOL = session("career"), session("tool", agent=None)
PLACE = room("career")


async def answering(agent: FakeAgent, prompt: Prompt) -> str:
    return "It is done."


def reading(on: Stage) -> None:
    async def behaviour(agent: FakeAgent, prompt: Prompt) -> str:
        (mail,) = (await on.tools(agent).receive()).messages
        return f"read: {mail.text}"

    on.agent("career", behaviour)


async def test_what_is_held_does_not_count_as_mail_of_its_recipient() -> None:
    async with stage(CAREER, TOOL, rules=ASKS) as on:
        await on.send("career", "move house?", wake=False)
        await on.send("career", "for information", caller=await on.shell("tool"), wake=False, intent=Intent.INFORM)
        views, _ = await on.exchange.sessions(await person(on), False)
        assert [view.unsettled for view in views if view.id == "default/career"] == [1]
        await on.press_when_seen("career", "Approve once", "move house?")
        views, _ = await on.exchange.sessions(await person(on), False)
        assert [view.unsettled for view in views if view.id == "default/career"] == [2]


async def test_it_is_held_shown_and_delivered_once_an_operator_approves() -> None:
    async with stage(CAREER, rules=ASKS) as on:
        reading(on)
        receipt = await on.send("career", "move house?")
        assert (receipt.state, receipt.position) == (State.HELD, 0)
        asked = await on.chat.seen(PLACE, "shell → career needs your approval (ask, wake)")
        assert "move house?" in asked.text
        assert "·" not in asked.text
        assert [button.label for button in asked.buttons] == [
            "Approve once",
            "This conversation",
            "Always for this pair",
            "Deny",
        ]
        await on.quiet()
        assert on.runtime.prompts == []
        assert await on.press("career", "Approve once") == "Approved once."
        await on.chat.seen(PLACE, "read: move house?")
        assert (await on.request(receipt.message_id)).state is Answer.ANSWERED
        shown = await on.chat.seen(PLACE, "Approved once by Olga")
        assert not shown.buttons
        assert await acts(on) == [(ActKind.APPROVED, "room:1")]
        second, first = await _of(on, receipt.message_id)
        assert (first.effect, second.effect, second.rule) == (
            Effect.ASK,
            Effect.ALLOW,
            f"approval:{receipt.message_id}",
        )


async def _of(on: Stage, message_id: str) -> list[Verdict]:
    return [one for one in await on.store.recent_verdicts(None, 9) if one.message == message_id]


@pytest.mark.parametrize("denied", [False, True])
async def test_what_is_held_is_in_nobodys_inbox_and_is_unknown_to_its_recipient(denied: bool) -> None:
    asked = session("tool", agent=None, places=(room("tool"),))
    async with stage(asked, rules=[rule("default/shell", "default/tool", ALL, Effect.ASK)]) as on:
        held = (await on.send("tool", "let me in", wake=False)).message_id
        if denied:
            await on.exchange.oversight.deny(await person(on), held)
        tool = await on.shell("tool")
        assert await on.exchange.inbox(tool, None, take=False) == []
        assert await on.inbox("tool") == []
        for attempt in (
            on.exchange.reply(tool, held, "come in"),
            on.exchange.defer(tool, held),
            on.exchange.ack(tool, [held]),
            on.exchange.trace(tool, held),
            on.send("shell", "come in", caller=tool, in_reply_to=held),
        ):
            with pytest.raises(Refused) as refused:
                await attempt
            assert refused.value.code is Code.UNKNOWN_MESSAGE
        assert await on.exchange.trace(await on.shell(), held)


async def test_the_next_of_the_pair_is_asked_about_again_after_an_approval_for_once() -> None:
    async with stage(CAREER, rules=ASKS) as on:
        on.agent("career", answering)
        await on.send("career", "one")
        await on.press_when_seen("career", "Approve once", "needs your approval")
        assert (await on.send("career", "two")).state is State.HELD


async def test_a_pair_once_approved_for_always_is_not_asked_about_until_that_is_taken_back() -> None:
    async with stage(CAREER, rules=ASKS) as on:
        await on.send("career", "one", wake=False)
        await on.press_when_seen("career", "Always for this pair", "needs your approval")
        assert (await on.send("career", "two", wake=False)).state is State.QUEUED
        assert (await on.send("career", "three")).state is State.HELD  # the grant is for what was asked about
        (grant,) = await on.exchange.oversight.grants(await person(on))
        assert (grant.scope, grant.by, grant.expires_at) == (Scope.PAIR, "room:1", None)
        await on.exchange.oversight.revoke(await person(on), grant.id)
        assert (await on.send("career", "four", wake=False)).state is State.HELD
        assert [act for act, _ in await acts(on)] == [ActKind.GRANTED, ActKind.APPROVED, ActKind.REVOKED]


async def test_an_approval_for_a_conversation_reaches_no_other() -> None:
    async with stage(CAREER, rules=ASKS) as on:
        first = await on.send("career", "one", wake=False)
        await on.press_when_seen("career", "This conversation", "needs your approval")
        goes_on = await on.send("career", "two", wake=False, in_reply_to=first.message_id)
        assert (goes_on.conversation_id, goes_on.state) == (first.conversation_id, State.QUEUED)
        assert (await on.send("career", "three", wake=False)).state is State.HELD


async def test_what_is_denied_is_refused_and_whoever_asked_is_told() -> None:
    async with stage(CAREER, rules=ASKS) as on:
        receipt = await on.send("career", "delete everything")
        await on.press_when_seen("career", "Deny", "needs your approval")
        message = await on.message(receipt.message_id)
        assert (message.outcome, message.reason) == (Outcome.REFUSED, "denied by room:1")
        assert (await on.request(receipt.message_id)).state is Answer.FAILED
        (notice,) = await on.inbox()
        assert "denied by room:1" in notice.text
        assert on.runtime.prompts == []
        assert await acts(on) == [(ActKind.DENIED, "room:1")]


async def test_a_burst_of_one_pair_is_one_question_and_a_button_decides_what_it_showed() -> None:
    async with stage(CAREER, rules=ASKS) as on:
        sent = [await on.send("career", f"number {n}", wake=False) for n in range(3)]
        asked = await on.chat.seen(PLACE, "3. “number 2”")
        shown_late = asked.buttons[0].action
        last = await on.send("career", "number 3", wake=False)
        await on.chat.seen(PLACE, "4. “number 3”")
        assert len([one for one in on.chat.posts.values() if "needs your approval" in one.text]) == 1
        await on.exchange.inbound.press(Pressed(PLACE, Person("room:1", "Olga", operator=True), shown_late))
        states = [(await on.message(one.message_id)).state for one in [*sent, last]]
        assert states == [State.QUEUED] * 3 + [State.HELD]
        rest = await on.chat.seen(PLACE, "needs your approval (ask)\n“number 3”")
        assert rest.buttons


async def test_of_many_a_question_shows_a_dozen_and_its_buttons_decide_about_no_more() -> None:
    async with stage(CAREER, rules=ASKS) as on:
        sent = [await on.send("career", f"number {n} {'x' * 500}", wake=False) for n in range(15)]
        asked = await on.chat.seen(PLACE, "3 more messages of the same pair")
        assert ("12. “number 11" in asked.text, "number 12" in asked.text) == (True, False)
        assert len(asked.text) < 3_000
        await on.press("career", "Approve once")
        states = [(await on.message(one.message_id)).state for one in sent]
        assert states == [State.QUEUED] * 12 + [State.HELD] * 3
        await on.chat.seen(PLACE, "1. “number 12")


async def test_it_is_decided_once_from_whichever_surface() -> None:
    async with stage(CAREER, rules=ASKS, confirm_in_chat=False) as on:
        receipt = await on.send("career", "now?", wake=False)
        await on.chat.seen(PLACE, "needs your approval")
        oversight, by = on.exchange.oversight, await person(on)
        said = await asyncio.gather(
            on.press("career", "Approve once"),
            on.press("career", "Deny"),
            oversight.approve(by, receipt.message_id, Scope.ONCE),
            oversight.deny(by, receipt.message_id),
        )
        assert len([act for act, _ in await acts(on)]) == 1, said
        message = await on.message(receipt.message_id)
        assert (message.state is State.QUEUED) is ((await acts(on))[0][0] is ActKind.APPROVED)
        assert "already" in await on.exchange.inbound.press(
            Pressed(PLACE, Person("room:1", "Olga", operator=True), f"ok:{receipt.message_id}")
        )


async def test_nobody_but_an_operator_decides_and_the_audit_knows_who_tried() -> None:
    async with stage(CAREER, rules=ASKS) as on:
        receipt = await on.send("career", "please")
        await on.chat.seen(PLACE, "needs your approval")
        assert "only an operator" in await on.press("career", "Approve once", USER)
        with pytest.raises(Refused) as refused:
            await on.exchange.oversight.approve(await on.shell(), receipt.message_id, Scope.ONCE)
        assert refused.value.code is Code.NOT_PERMITTED
        assert (await on.message(receipt.message_id)).state is State.HELD
        assert await acts(on) == [(ActKind.REFUSED, "room:2"), (ActKind.REFUSED, "default/shell")]


async def test_a_restart_changes_nothing_about_what_is_held() -> None:
    store, chat, clock = MemoryStore(), FakeChat(), ManualClock()
    async with stage(CAREER, rules=ASKS, store=store, chat=chat, clock=clock) as on:
        receipt = await on.send("career", "move house?")
        await on.chat.seen(PLACE, "needs your approval")
    async with stage(CAREER, rules=ASKS, store=store, chat=chat, clock=clock) as on:
        reading(on)
        await on.press("career", "Approve once")
        await on.chat.seen(PLACE, "read: move house?")
        assert len(on.runtime.prompts) == 1
        assert (await on.request(receipt.message_id)).state is Answer.ANSWERED


async def test_what_nobody_decides_in_time_expires_with_a_notice_and_cannot_be_approved_any_more() -> None:
    async with stage(CAREER, rules=ASKS, limits=Limits(held_life_s=60)) as on:
        receipt = await on.send("career", "quick?")
        asked = await on.chat.seen(PLACE, "needs your approval")
        await on.clock.advance(60)
        message = await on.message(receipt.message_id)
        assert (message.outcome, message.reason) == (Outcome.EXPIRED, "nobody approved it in time")
        gone = await on.chat.seen(PLACE, "nobody approved it in time")
        assert not gone.buttons
        (notice,) = await on.inbox()
        assert "expired" in notice.text
        pressed = Pressed(PLACE, Person("room:1", "Olga", operator=True), asked.buttons[0].action)
        assert "expired" in await on.exchange.inbound.press(pressed)
        assert on.runtime.prompts == []


async def test_what_has_outlived_its_hold_is_not_approved_though_nobody_has_looked_at_the_clock_yet() -> None:
    """As where the machine has slept since. Of one pair what was held later can be approved still."""
    async with stage(CAREER, rules=ASKS, limits=Limits(held_life_s=60)) as on:
        first = await on.send("career", "quick?", wake=False)
        pressed = (await on.chat.seen(PLACE, "needs your approval")).buttons[0].action
        on.clock.jump(30)
        second = await on.send("career", "and this?", wake=False)
        on.clock.jump(30)
        listed = await on.exchange.oversight.approvals(await person(on))
        assert [one.message_id for one in listed] == [second.message_id]
        said = await on.exchange.inbound.press(Pressed(PLACE, Person("room:1", "Olga", operator=True), pressed))
        assert said == "This has expired: nobody had decided in time."
        assert (await on.message(first.message_id)).outcome is Outcome.EXPIRED
        rest = await on.chat.seen(PLACE, "needs your approval (ask)\n“and this?”")
        assert rest.buttons
        assert await on.press("career", "Approve once") == "Approved once."
        assert (await on.message(second.message_id)).state is State.QUEUED
        assert await acts(on) == [(ActKind.APPROVED, "room:1")]


async def test_where_nobody_attends_it_is_refused_at_once() -> None:
    chat = FakeChat()
    chat.open = False
    async with stage(CAREER, rules=ASKS, chat=chat) as on:
        refused = await on.refused("career")
        assert (refused.code, "nobody attends" in refused.reason) == (Code.NOT_PERMITTED, True)
        assert await on.store.held() == []


async def test_what_is_held_takes_no_room_and_counts_in_every_budget() -> None:
    async with stage(CAREER, rules=ASKS, limits=Limits(inbox=1, pair_messages=3)) as on:
        for number in range(3):
            assert (await on.send("career", f"number {number}", wake=False)).state is State.HELD
        assert (await on.refused("career", "one more")).code is Code.RATE_LIMITED


async def test_an_approval_that_finds_no_room_leaves_it_held() -> None:
    async with stage(CAREER, rules=ASKS, limits=Limits(inbox=1)) as on:
        receipt = await on.send("career", "held", wake=False)
        await on.chat.seen(PLACE, "needs your approval")
        await on.send("career", "in the way", wake=False, caller=await person(on))
        assert "wait there already" in await on.press("career", "Approve once")
        assert (await on.message(receipt.message_id)).state is State.HELD


async def test_it_is_decided_by_the_rules_of_then() -> None:
    async with stage(CAREER, rules=ASKS, confirm_in_chat=False) as on:
        receipt = await on.send("career", "still?", wake=False)
        await on.chat.seen(PLACE, "needs your approval")
        await on.exchange.oversight.grant(await person(on), "shell", "career", ALL, Scope.PAIR, effect=Effect.DENY)
        assert "Not delivered" in await on.press("career", "Approve once")
        message = await on.message(receipt.message_id)
        assert message.outcome is Outcome.REFUSED
        assert message.reason is not None
        assert "grant:" in message.reason


async def test_its_sender_can_withdraw_it() -> None:
    async with stage(CAREER, rules=ASKS) as on:
        receipt = await on.send("career", "never mind")
        await on.chat.seen(PLACE, "needs your approval")
        await on.exchange.cancel(await on.shell(), receipt.message_id)
        gone = await on.chat.seen(PLACE, "withdrawn by its sender")
        assert not gone.buttons
        assert "withdrawn" in await on.exchange.inbound.press(
            Pressed(PLACE, Person("room:1", "Olga", operator=True), f"ok:{receipt.message_id}")
        )


async def test_where_there_is_a_chat_a_shell_asks_the_operator_there() -> None:
    async with stage(CAREER, rules=ASKS) as on:
        receipt = await on.send("career", "please", wake=False)
        await on.chat.seen(PLACE, "needs your approval")
        view = await on.exchange.oversight.approve(await person(on), receipt.message_id, Scope.PAIR)
        assert (view.state, view.waits_for) == (State.HELD, (PLACE,))
        asked = await on.chat.seen(PLACE, "a terminal asks to approve it (pair)")
        assert asked.buttons
        await on.press("career", "Approve once")
        assert (await on.message(receipt.message_id)).state is State.QUEUED
        late = await on.exchange.oversight.approve(await person(on), receipt.message_id, Scope.PAIR)
        assert (late.said, late.waits_for) == ("This has been approved already, by Olga.", ())
        assert [act for act, _ in await acts(on)] == [ActKind.PROPOSED, ActKind.APPROVED]


class Meanwhile(MemoryStore):
    """Something happens between the first and the second look at what is held."""

    def __init__(self) -> None:
        super().__init__()
        self.looks: Iterator[Callable[[], Awaitable[object]] | None] = iter(())

    async def held(self) -> list[Message]:
        if (happens := next(self.looks, None)) is not None:
            await happens()
        return await super().held()


@pytest.mark.parametrize("label", ["Deny", "Approve once", "Always for this pair"])
@pytest.mark.parametrize("approved", [True, False])
async def test_who_comes_second_in_the_same_instant_is_told_what_was_decided(label: str, approved: bool) -> None:
    store = Meanwhile()
    async with stage(CAREER, rules=ASKS, confirm_in_chat=False, store=store) as on:
        receipt = await on.send("career", "please", wake=False)
        await on.chat.seen(PLACE, "needs your approval")
        oversight, by = on.exchange.oversight, await person(on)

        async def decides() -> None:
            if approved:
                await oversight.approve(by, receipt.message_id, Scope.ONCE)
            else:
                await oversight.deny(by, receipt.message_id)

        store.looks = iter((None, decides))
        said = await on.press("career", label)
        assert said == f"This has been {'approved already,' if approved else 'decided already: denied'} by shell."
        assert (await on.message(receipt.message_id)).state is (State.QUEUED if approved else State.SETTLED)
        assert [act for act, _ in await acts(on)] == [ActKind.APPROVED if approved else ActKind.DENIED]


async def test_what_was_never_held_cannot_be_decided_about() -> None:
    async with stage(CAREER, TOOL, rules=ASKS, confirm_in_chat=False) as on:
        receipt = await on.send("career", "allowed", caller=await on.shell("tool"), wake=False)
        oversight, by = on.exchange.oversight, await person(on)
        for attempt in (oversight.approve(by, receipt.message_id, Scope.ONCE), oversight.deny(by, receipt.message_id)):
            with pytest.raises(Refused, match="never held"):
                await attempt


async def test_a_person_lists_what_is_held_and_an_agent_does_not() -> None:
    async with stage(CAREER, rules=ASKS) as on:
        receipt = await on.send("career", "please", intent=Intent.INFORM)
        (held,) = await on.exchange.oversight.approvals(await person(on))
        assert (held.message_id, held.text, [*held.verbs]) == (receipt.message_id, "please", ["send", "wake"])
        with pytest.raises(Refused):
            await on.exchange.oversight.approvals(await on.shell())


@pytest.mark.parametrize(("narrow", "limits"), [(2, Limits()), (None, Limits(inbox=2))])
async def test_an_inbox_takes_no_more_of_what_is_approved_at_once_than_it_has_room_for(
    narrow: int | None, limits: Limits
) -> None:
    async with stage(session("career", inbox_limit=narrow), rules=ASKS, limits=limits) as on:
        for number in range(3):
            await on.send("career", f"{number}", wake=False)
        await on.chat.seen(PLACE, "3. ")
        assert "2 messages wait there already" in await on.press("career", "Approve once")
        assert len(await on.store.held()) == 3
