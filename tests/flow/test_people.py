"""A person speaks as a person only where that person may talk, and an answer comes to the place of the command."""

import asyncio

from bridge.admission import PERSON_RULE
from bridge.caller import Caller
from bridge.decision import Effect, Verb
from bridge.errors import Code
from bridge.ids import SessionId
from bridge.message import Origin, Outcome, State
from bridge.ports.chat import Heard
from bridge.ports.runtime import Prompt
from bridge.ports.store import Change
from bridge.request import Answer
from bridge.session import Kind, Session, Source
from tests.fakes.runtime import FakeAgent
from tests.flow.stage import OPERATOR, USER, Stage, ident, room, rule, session, stage

NO_RULES = [rule("default/other", "default/other")]
"""A set of rules that allows nothing that these tests do."""


def person_at(handle: str, *, operator: bool = False) -> Caller:
    who = OPERATOR if operator else USER
    return Caller(ident(handle), Origin.USER, place=room(handle), person=who.id, operator=operator)


async def rule_of(on: Stage, conversation: str) -> str:
    verdict = (await on.store.verdicts(conversation))[0]  # type: ignore[arg-type]
    return verdict.rule


async def test_an_operator_needs_no_rule_anywhere_in_the_profile() -> None:
    async with stage(session("desk"), session("career"), rules=NO_RULES) as on:
        sent = await on.send("career", "hello", caller=person_at("desk", operator=True), wake=False)
        assert (await on.message(sent.message_id)).origin is Origin.USER
        assert await rule_of(on, sent.conversation_id) == PERSON_RULE


async def test_a_user_who_may_talk_at_the_recipients_place_needs_no_rule() -> None:
    async with stage(session("desk"), session("career"), rules=NO_RULES) as on:
        on.chat.guests.add(USER.id)
        sent = await on.send("career", "hello", caller=person_at("desk"), wake=False)
        message = await on.message(sent.message_id)
        assert (message.origin, message.person) == (Origin.USER, USER.id)


async def test_a_user_who_may_not_talk_there_speaks_as_the_session_by_its_rules() -> None:
    rules = [rule("default/desk", "default/career")]
    async with stage(session("desk"), session("career"), session("finance"), rules=rules) as on:
        sent = await on.send("career", "hello", caller=person_at("desk"), wake=False)
        message = await on.message(sent.message_id)
        assert (message.origin, message.person) == (Origin.PEER, USER.id)
        assert await rule_of(on, sent.conversation_id) == "default/desk->default/career"


async def test_a_person_sees_every_session_of_the_profile_and_hears_which_rule_is_missing() -> None:
    async with stage(session("desk"), session("finance"), rules=NO_RULES) as on:
        refused = await on.refused("finance", caller=person_at("desk"), wake=False)
        assert (refused.code, refused.rule) == (Code.NOT_PERMITTED, "no-rule")
        assert (await on.refused("nobody", caller=person_at("desk"))).code is Code.UNKNOWN_SESSION


async def test_an_explicit_deny_holds_for_people_too() -> None:
    deny = rule("*", "default/career", [Verb.WAKE], Effect.DENY)
    async with stage(session("desk"), session("career"), rules=[deny]) as on:
        refused = await on.refused("career", caller=person_at("desk", operator=True))
        assert (refused.code, refused.rule) == (Code.WAKE_NOT_PERMITTED, "*->default/career")
        await on.send("career", "hello", caller=person_at("desk", operator=True), wake=False)


async def test_an_operator_of_one_profile_is_nobody_in_another() -> None:
    async with stage(session("desk")) as on:
        other = Session(SessionId("work/career"), "Career", Kind.CHAT, Source.FILE, created_at=0.0, agent="fake")
        await on.store.commit(Change(puts=[other]))
        operator = person_at("desk", operator=True)
        assert (await on.refused("work/career", caller=operator)).code is Code.UNKNOWN_SESSION
        views, _ = await on.exchange.sessions(operator, active=False)
        assert "work/career" not in [view.id for view in views]


async def test_between_profiles_a_rule_that_names_both_lets_a_person_speak_as_a_peer() -> None:
    async with stage(session("desk"), rules=[rule("default/desk", "work/career")]) as on:
        other = Session(SessionId("work/career"), "Career", Kind.CHAT, Source.FILE, created_at=0.0, agent="fake")
        await on.store.commit(Change(puts=[other]))
        sent = await on.send("work/career", "hello", caller=person_at("desk", operator=True), wake=False)
        assert (await on.message(sent.message_id)).origin is Origin.PEER


async def test_the_answer_to_a_command_comes_to_its_place_and_wakes_no_agent_there() -> None:
    async with stage(session("desk"), session("career")) as on:

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            assert prompt.words == "is it real?"
            return "It is real."

        on.agent("career", career)
        await on.say("desk", "/ask career is it real?")
        await on.chat.seen(room("desk"), "career: It is real.")
        await on.quiet()
        assert [name for name, _ in on.runtime.prompts] == [ident("career")]
        assert await on.inbox("desk") == []


async def test_a_command_that_closes_without_an_answer_says_so_at_its_place() -> None:
    async with stage(session("desk"), session("career")) as on:

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            return "NO_REPLY"

        on.agent("career", career)
        await on.say("desk", "/handoff career do it")
        await on.chat.seen(room("desk"), "gave no answer")
        await on.quiet()
        assert [name for name, _ in on.runtime.prompts] == [ident("career")]


async def test_a_late_answer_to_a_command_is_marked_at_its_place_and_wakes_nobody() -> None:
    async with stage(session("desk"), session("tool", agent=None)) as on:
        await on.say("desk", "/ask tool when?")
        (mail,) = await on.inbox("tool")
        await on.exchange.cancel(person_at("desk", operator=True), mail.message_id)
        await on.exchange.reply(await on.shell("tool"), mail.message_id, "now")
        await on.chat.seen(room("desk"), "tool (late): now")
        await on.quiet()
        late = (await on.request(mail.message_id)).late
        assert late is not None
        message = await on.message(late)
        assert (message.state, message.outcome, message.wake) == (State.SETTLED, Outcome.ACKED, False)
        assert on.runtime.prompts == []


async def test_of_several_places_of_the_asker_only_the_one_that_asked_shows_the_answer() -> None:
    both = (room("desk"), room("hall"))
    async with stage(session("desk", places=both), session("career")) as on:

        async def desk(agent: FakeAgent, prompt: Prompt) -> str:
            if prompt.words:
                await on.tools(agent).send("career", "is it real?")
                return "asked"
            (mail,) = (await on.tools(agent).receive()).messages
            return f"Career: {mail.text}"

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            await on.tools(agent).receive()
            return "yes"

        on.agent("desk", desk)
        on.agent("career", career)
        await on.exchange.inbound.hear(Heard(room("hall"), OPERATOR, "look", "hall:1"))
        await on.chat.seen(room("hall"), "Career: yes")
        assert {"career: yes", "Career: yes", "asked"} <= set(on.chat.texts(room("hall")))
        assert on.chat.texts(room("desk")) == []


async def test_an_ask_of_a_person_at_a_shell_returns_the_answer_once() -> None:
    async with stage(session("tool", agent=None)) as on:
        person = await on.shell(origin=Origin.USER)
        sent = await on.send("tool", "when?", caller=person)
        waiting = asyncio.ensure_future(on.exchange.answer(person, sent.message_id, 5))
        await on.exchange.reply(await on.shell("tool"), sent.message_id, "now")
        view = await waiting
        assert (view.answer, view.reply and view.reply.text) == (Answer.ANSWERED, "now")
        assert [mail.text for mail in await on.inbox()] == ["now"]
        await on.exchange.read_answer(person, sent.message_id)
        assert await on.inbox() == []


async def test_what_a_person_asks_from_a_shell_in_the_name_of_an_agents_session_wakes_no_agent_there() -> None:
    async with stage(session("desk"), session("tool", agent=None)) as on:
        person = await on.shell("desk", Origin.USER)
        sent = await on.send("tool", "when?", caller=person)
        await on.exchange.reply(await on.shell("tool"), sent.message_id, "now")
        await on.quiet()
        assert [mail.text for mail in await on.inbox("desk")] == ["now"]
        assert on.runtime.prompts == []


async def test_a_persons_message_without_wake_waits_for_the_next_turn() -> None:
    async with stage(session("desk"), session("career")) as on:
        reads: list[str] = []

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            reads.extend(mail.text for mail in (await on.tools(agent).receive()).messages)
            return "done"

        on.agent("career", career)
        await on.send("career", "for later", caller=person_at("desk", operator=True), wake=False)
        await on.clock.advance(120)
        assert on.runtime.prompts == []
        await on.say("career", "go")
        await on.quiet()
        assert reads == ["for later"]


async def test_a_persons_words_never_come_as_mail() -> None:
    async with stage(session("career")) as on:
        reads: list[list[str]] = []
        both = asyncio.Event()

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            await both.wait()
            reads.append([mail.text for mail in (await on.tools(agent).receive()).messages])
            return f"heard {prompt.words}"

        on.agent("career", career)
        await on.say("career", "first")
        await on.quiet()
        await on.say("career", "second")
        both.set()
        await on.chat.seen(room("career"), "heard second")
        assert reads == [[], []]
