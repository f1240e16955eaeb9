"""An answer comes back to the session and the place that asked, once, and needs no rule."""

from bridge.briefing import CUT_NOTE
from bridge.decision import Effect
from bridge.errors import Code, Refused
from bridge.limits import Limits
from bridge.message import Intent, Outcome, State
from bridge.ports.runtime import Prompt
from bridge.request import Answer
from tests.fakes.runtime import Behaviour, FakeAgent
from tests.flow.stage import Stage, ident, room, rule, session, stage


def answers(on: Stage, text: str) -> Behaviour:
    """Reads its mail and ends with `text`."""

    async def behaviour(agent: FakeAgent, prompt: Prompt) -> str:
        await on.tools(agent).receive()
        return text

    return behaviour


async def refusal_of(call: object) -> Code:
    try:
        await call  # type: ignore[misc]
    except Refused as refused:
        return refused.code
    raise AssertionError("it was not refused")


async def test_a_reply_answers_at_once_and_the_final_text_answers_nothing_more() -> None:
    async with stage(session("career")) as on:

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            (mail,) = (await on.tools(agent).receive()).messages
            receipt = await on.tools(agent).reply(mail.message_id, "yes")
            assert (receipt.to, receipt.state) == ("default/shell", State.QUEUED)
            return "I answered."

        on.agent("career", career)
        sent = await on.send("career", "is it real?")
        await on.quiet()
        (reply,) = await on.inbox()
        assert (reply.intent, reply.text, reply.in_reply_to) == (Intent.REPLY, "yes", sent.message_id)
        assert (await on.request(sent.message_id)).state is Answer.ANSWERED
        assert (await on.message(sent.message_id)).outcome is Outcome.ACKED


async def test_a_question_back_closes_the_request_and_the_next_one_goes_on_without_a_visit() -> None:
    async with stage(session("career")) as on:

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            (mail,) = (await on.tools(agent).receive()).messages
            if mail.text == "is it real?":
                await on.tools(agent).reply(mail.message_id, "which one?", "question")
                return "I asked back."
            return "It is."

        on.agent("career", career)
        first = await on.send("career", "is it real?")
        await on.quiet()
        assert (await on.request(first.message_id)).state is Answer.INPUT_REQUIRED
        (question,) = await on.inbox()
        assert question.text == "which one?"
        for named in (question.message_id, first.message_id):
            second = await on.send("career", "the first one", in_reply_to=named)
            assert (second.conversation_id, second.depth) == (first.conversation_id, first.depth)
            assert (await on.message(second.message_id)).path == (ident("shell"),)
            await on.quiet()
            assert (await on.request(second.message_id)).state is Answer.ANSWERED


async def test_no_reply_and_an_empty_final_text_close_as_no_reply_and_tell_the_asker() -> None:
    for final in ("NO_REPLY", "  \n", " NO_REPLY\n"):
        async with stage(session("career")) as on:
            on.agent("career", answers(on, final))
            sent = await on.send("career", "fyi?")
            await on.quiet()
            assert (await on.request(sent.message_id)).state is Answer.NO_REPLY
            (told,) = await on.inbox()
            assert (told.origin, told.in_reply_to) == ("system", sent.message_id)
            assert on.chat.texts(room("career")) == ["shell → career: fyi?\n· read; no answer"]


async def test_a_deferred_request_stays_open_over_turns_and_is_answered_by_reply_only() -> None:
    async with stage(session("career")) as on:
        deferred: list[str] = []

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            if prompt.words:
                await on.tools(agent).reply(deferred[0], "now I know")
                return "told them"
            (mail,) = (await on.tools(agent).receive()).messages
            deferred.append(mail.message_id)
            await on.tools(agent).defer(mail.message_id)
            return "later"

        on.agent("career", career)
        sent = await on.send("career", "when?")
        await on.quiet()
        assert (await on.message(sent.message_id)).outcome is Outcome.ACKED
        assert (await on.request(sent.message_id)).open
        await on.say("career", "tell them")
        await on.quiet()
        assert [mail.text for mail in await on.inbox()] == ["now I know"]


async def test_deferring_what_is_closed_is_refused() -> None:
    async with stage(session("tool", agent=None)) as on:
        sent = await on.send("tool", "when?")
        tool = await on.shell("tool")
        await on.exchange.reply(tool, sent.message_id, "now")
        assert await refusal_of(on.exchange.defer(tool, sent.message_id)) is Code.ALREADY_ANSWERED


async def test_one_late_answer_is_kept_and_marked_and_the_next_is_refused() -> None:
    async with stage(session("tool", agent=None)) as on:
        sent = await on.send("tool", "when?", ttl_s=60.0)
        await on.clock.advance(61)
        assert (await on.request(sent.message_id)).state is Answer.EXPIRED
        tool = await on.shell("tool")
        await on.exchange.reply(tool, sent.message_id, "at noon")
        told, late = await on.inbox()
        assert (told.origin, told.late) == ("system", False)
        assert (late.text, late.late, late.intent) == ("at noon", True, Intent.REPLY)
        view = await on.exchange.answer(await on.shell(), sent.message_id, 0)
        assert view.answer is Answer.EXPIRED
        assert view.reply is not None
        assert view.reply.late
        assert await refusal_of(on.exchange.reply(tool, sent.message_id, "at one")) is Code.ALREADY_ANSWERED


async def test_a_question_back_that_a_late_answer_has_overtaken_is_not_read_with_it() -> None:
    async with stage(session("tool", agent=None)) as on:
        sent = await on.send("tool", "when?")
        tool, asker = await on.shell("tool"), await on.shell()
        await on.exchange.reply(tool, sent.message_id, "which day?", "question")
        await on.exchange.reply(tool, sent.message_id, "at noon")
        view = await on.exchange.answer(asker, sent.message_id, 0)
        assert view.reply is not None
        assert view.reply.text == "at noon"
        await on.exchange.read_answer(asker, sent.message_id)
        assert [mail.text for mail in await on.inbox()] == ["which day?"]


async def test_a_late_no_reply_says_nothing_and_leaves_room_for_a_late_answer() -> None:
    async with stage(session("tool", agent=None)) as on:
        sent = await on.send("tool", "when?", ttl_s=60.0)
        await on.clock.advance(61)
        tool = await on.shell("tool")
        receipt = await on.exchange.reply(tool, sent.message_id, "NO_REPLY")
        assert receipt.state is State.SETTLED
        await on.exchange.reply(tool, sent.message_id, "at noon")
        assert [mail.text for mail in await on.inbox()][1:] == ["at noon"]


async def test_an_answer_to_an_answered_request_is_refused_and_so_is_a_late_question() -> None:
    async with stage(session("tool", agent=None)) as on:
        sent = await on.send("tool", "when?")
        tool = await on.shell("tool")
        await on.exchange.reply(tool, sent.message_id, "now")
        assert await refusal_of(on.exchange.reply(tool, sent.message_id, "then")) is Code.ALREADY_ANSWERED
        other = await on.send("tool", "where?")
        await on.exchange.cancel(await on.shell(), other.message_id)
        call = on.exchange.reply(tool, other.message_id, "which?", "question")
        assert await refusal_of(call) is Code.ALREADY_ANSWERED


async def test_a_withdrawn_request_still_takes_the_late_final_text_of_its_turn() -> None:
    async with stage(session("career")) as on:

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            (mail,) = (await on.tools(agent).receive()).messages
            view = await on.exchange.cancel(await on.shell(), mail.message_id)
            assert view.answer is Answer.CANCELLED
            return "It is real."

        on.agent("career", career)
        sent = await on.send("career", "is it real?")
        await on.quiet()
        assert (await on.request(sent.message_id)).state is Answer.CANCELLED
        assert [(mail.text, mail.late) for mail in await on.inbox()] == [("It is real.", True)]


async def test_a_withdrawal_before_it_is_read_settles_the_message_and_sends_no_notice() -> None:
    async with stage(session("career")) as on:
        sent = await on.send("career", "never mind", wake=False)
        view = await on.exchange.cancel(await on.shell(), sent.message_id)
        assert (view.state, view.answer) == (State.SETTLED, Answer.CANCELLED)
        assert (await on.message(sent.message_id)).outcome is Outcome.CANCELLED
        assert await on.inbox() == []
        again = await on.exchange.cancel(await on.shell(), sent.message_id)
        assert again.answer is Answer.CANCELLED


async def test_who_withdraws_news_is_sent_no_notice_of_it() -> None:
    async with stage(session("career")) as on:
        sent = await on.send("career", "never mind", intent=Intent.INFORM, wake=False)
        await on.exchange.cancel(await on.shell(), sent.message_id)
        assert (await on.message(sent.message_id)).outcome is Outcome.CANCELLED
        assert await on.inbox() == []


async def test_only_the_session_that_was_asked_can_reply_and_only_the_asker_can_look() -> None:
    async with stage(session("tool", agent=None), session("other", agent=None)) as on:
        sent = await on.send("tool", "when?")
        stranger = await on.shell("other")
        for call in (
            on.exchange.reply(stranger, sent.message_id, "now"),
            on.exchange.reply(await on.shell(), sent.message_id, "now"),
            on.exchange.reply(stranger, "no-such-id", "now"),
            on.exchange.defer(stranger, sent.message_id),
            on.exchange.cancel(stranger, sent.message_id),
            on.exchange.answer(stranger, sent.message_id, 0),
            on.exchange.read_answer(stranger, sent.message_id),
        ):
            assert await refusal_of(call) is Code.UNKNOWN_MESSAGE
        assert (await on.request(sent.message_id)).open


async def test_an_inform_and_a_reply_have_no_return_path() -> None:
    async with stage(session("tool", agent=None)) as on:
        tool, shell = await on.shell("tool"), await on.shell()
        news = await on.send("tool", "by the way", intent=Intent.INFORM)
        assert await refusal_of(on.exchange.reply(tool, news.message_id, "thanks")) is Code.NO_RETURN_PATH
        sent = await on.send("tool", "when?")
        reply = await on.exchange.reply(tool, sent.message_id, "now")
        assert await refusal_of(on.exchange.reply(shell, reply.message_id, "thanks")) is Code.NO_RETURN_PATH


async def test_a_reply_of_a_wrong_kind_or_without_text_is_refused() -> None:
    async with stage(session("tool", agent=None)) as on:
        sent = await on.send("tool", "when?")
        tool = await on.shell("tool")
        for text, kind in (("now", "remark"), (" ", "answer"), ("\x00", "answer"), ("\ud800", "answer")):
            assert await refusal_of(on.exchange.reply(tool, sent.message_id, text, kind)) is Code.INVALID_REQUEST
        assert (await on.request(sent.message_id)).open


async def test_a_reply_over_the_limit_is_refused_to_whoever_can_shorten_it() -> None:
    async with stage(session("tool", agent=None), limits=Limits(max_chars=5)) as on:
        sent = await on.send("tool", "when?")
        tool = await on.shell("tool")
        assert await refusal_of(on.exchange.reply(tool, sent.message_id, "sooner")) is Code.TOO_LARGE
        assert (await on.request(sent.message_id)).open
        await on.exchange.reply(tool, sent.message_id, "today")
        assert [mail.text for mail in await on.inbox()] == ["today"]


async def test_a_reply_that_is_no_reply_goes_nowhere_also_as_a_question() -> None:
    async with stage(session("tool", agent=None)) as on:
        sent = await on.send("tool", "when?")
        await on.exchange.reply(await on.shell("tool"), sent.message_id, " NO_REPLY ", "question")
        assert (await on.request(sent.message_id)).state is Answer.NO_REPLY
        assert [mail.intent for mail in await on.inbox()] == [Intent.INFORM]


async def test_a_final_text_over_the_limit_is_cut_in_the_mail_while_place_and_trace_keep_it() -> None:
    async with stage(session("desk"), session("career"), limits=Limits(max_chars=300)) as on:
        long = "word " * 100
        on.agent("career", answers(on, long))
        sent = await on.send("career", "tell me")
        await on.quiet()
        (reply,) = await on.inbox()
        assert len(reply.text) == 300
        assert reply.text.endswith(CUT_NOTE)
        assert long.strip() in on.chat.texts(room("career"))
        steps = await on.exchange.trace(await on.shell(), sent.message_id)
        assert [step.detail["text"] for step in steps if step.step == "reply"] == [long.strip()]


async def test_a_reply_needs_no_rule_back_and_its_decision_names_the_grant() -> None:
    async with stage(session("career"), rules=[rule("default/shell", "default/career")]) as on:
        on.agent("career", answers(on, "yes"))
        sent = await on.send("career", "may I?")
        await on.quiet()
        assert [mail.text for mail in await on.inbox()] == ["yes"]
        grants = [
            (verdict.sender, verdict.effect, verdict.rule)
            for verdict in await on.store.verdicts(sent.conversation_id)
            if verdict.recipient == "default/shell"
        ]
        assert grants == [("default/career", Effect.ALLOW, f"reply:{sent.message_id}")]


async def test_replies_count_in_no_budget_and_find_room_in_a_full_inbox() -> None:
    limits = Limits(inbox=1, pair_messages=2, conversation_messages=1)
    async with stage(session("tool", agent=None), session("other", agent=None), limits=limits) as on:
        await on.send("shell", "news", caller=await on.shell("other"), wake=False)
        assert (await on.refused("shell", caller=await on.shell("other"), wake=False)).code is Code.INBOX_FULL
        tool = await on.shell("tool")
        sent = await on.send("tool", "one?")
        await on.exchange.reply(tool, sent.message_id, "one")
        second = await on.send("tool", "two?")
        await on.exchange.reply(tool, second.message_id, "two")
        assert [mail.text for mail in await on.inbox()] == ["news", "one", "two"]
        conversation = await on.store.conversation(sent.conversation_id)
        assert conversation is not None
        assert conversation.messages == 1


async def test_a_reply_settles_a_request_that_its_people_stopped() -> None:
    async with stage(session("career")) as on:
        waiting: list[str] = []

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            if prompt.words:
                await on.tools(agent).reply(waiting[0], "done after all")
                return "ok"
            (mail,) = (await on.tools(agent).receive()).messages
            waiting.append(mail.message_id)
            await on.say("career", "/stop", key="stop")
            raise AssertionError("it goes on after a stop")

        on.agent("career", career)
        sent = await on.send("career", "do it")
        await on.chat.seen(room("career"), "Run it again?")
        assert (await on.message(sent.message_id)).state is State.PARKED
        await on.say("career", "answer them")
        await on.quiet()
        assert (await on.message(sent.message_id)).outcome is Outcome.ACKED
        assert "done after all" in [mail.text for mail in await on.inbox()]
        assert (await on.chat.seen(room("career"), "answered meanwhile")).buttons == ()


async def test_a_shell_answers_by_sending_in_reply_to_the_askers_request() -> None:
    rules = [rule("default/career", "default/tool")]
    async with stage(session("career"), session("tool", agent=None), rules=rules) as on:

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            if prompt.words:
                await on.tools(agent).send("tool", "which branch?")
                return "asked"
            (mail,) = (await on.tools(agent).receive()).messages
            return f"told: {mail.text}"

        on.agent("career", career)
        await on.say("career", "release it")
        await on.quiet()
        (question,) = await on.inbox("tool")
        answered = await on.send(
            "career", "main", caller=await on.shell("tool"), in_reply_to=question.message_id, wake=False
        )
        await on.chat.seen(room("career"), "told: main")
        assert (await on.request(question.message_id)).closing == answered.message_id
        again = await on.refused("career", "dev", caller=await on.shell("tool"), in_reply_to=question.message_id)
        assert again.code is Code.ALREADY_ANSWERED
