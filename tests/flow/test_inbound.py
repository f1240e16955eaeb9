"""What people say at a place goes to that place's session once, or they are told (invariants 8 and 11)."""

from bridge.flow.saying import INPUT_CHARS
from bridge.ids import Place
from bridge.message import Intent, Origin, State
from bridge.ports.chat import Heard, Person
from bridge.ports.runtime import Prompt
from bridge.wording import unbound_offer
from tests.fakes.runtime import FakeAgent
from tests.flow.stage import OPERATOR, USER, Stage, ident, room, session, stage


async def hear(on: Stage, place: Place, text: str, person: Person = OPERATOR, *, silent: bool = False) -> None:
    await on.exchange.inbound.hear(Heard(place, person, text, f"{place}:{text}", silent=silent))


async def answers(agent: FakeAgent, prompt: Prompt) -> str:
    return f"you said {prompt.words}"


async def test_a_persons_words_are_a_prompt_of_their_own_and_the_answer_comes_to_that_place() -> None:
    async with stage(session("career", places=(room("career"), room("second")))) as on:
        on.agent("career", answers)
        await hear(on, room("second"), "hello", USER)
        await on.chat.seen(room("second"), "you said hello")
        await on.quiet()
        assert on.chat.texts(room("career")) == []
        assert on.runtime.prompts == [(ident("career"), Prompt(words="hello"))]


async def test_the_same_update_heard_twice_is_one_input_and_the_same_text_twice_is_two() -> None:
    async with stage(session("career")) as on:
        for key in ("update:1", "update:1", "update:2"):
            await on.say("career", "hello", key=key)
        await on.quiet()
        assert len(on.runtime.prompts) == 2
        one, other = [await on.store.key(ident("career"), f"update:{number}") for number in (1, 2)]
        assert one is not None
        assert other is not None
        assert one.message != other.message
        message = await on.message(one.message)
        assert (message.intent, message.origin, message.person) == (Intent.INPUT, Origin.USER, OPERATOR.id)


async def test_the_answer_follows_the_person_though_the_place_was_bound_anew_meanwhile() -> None:
    async with stage(session("career"), session("finance")) as on:
        await on.say("side", "/bind career")
        on.agent("career", answers)
        await hear(on, room("side"), "hello")
        await on.say("side", "/bind finance")
        await on.chat.seen(room("side"), "you said hello")
        assert on.chat.texts(room("career")) == []


async def test_an_unbound_place_stores_nothing_and_is_offered_a_binding_once_to_operators_only() -> None:
    async with stage(session("career")) as on:
        await hear(on, room("new"), "hello", USER)
        await on.quiet()
        assert on.chat.texts(room("new")) == []
        for text in ("hello", "anybody?"):
            await hear(on, room("new"), text)
            await on.quiet()
        assert [post.text for post in on.chat.deliveries] == [unbound_offer(room("new"))]
        assert on.runtime.prompts == []
        assert (await on.store.queued())[0] == 0


async def test_a_silent_place_is_never_answered_unless_a_command_is_known() -> None:
    async with stage(session("career")) as on:
        for text in ("hello", "/nonsense"):
            await hear(on, room("general"), text, silent=True)
        await on.quiet()
        assert on.chat.deliveries == []
        await hear(on, room("general"), "/sessions", silent=True)
        await on.chat.seen(room("general"), "Career (default/career)")


async def test_a_place_of_a_closed_session_is_offered_a_new_one_once() -> None:
    async with stage(session("career")) as on:
        await on.say("side", "/bind career")
    async with stage(store=on.store, chat=on.chat, clock=on.clock) as again:
        for text in ("hello", "anybody?"):
            await hear(again, room("side"), text)
            await again.quiet()
        assert again.chat.texts(room("side")).count(unbound_offer(room("side"))) == 1


async def test_too_much_at_once_is_refused_and_said_so() -> None:
    async with stage(session("career")) as on:
        on.agent("career", answers)
        await on.say("career", "x" * (INPUT_CHARS + 1))
        await on.chat.seen(room("career"), f"that has {INPUT_CHARS + 1} characters; the limit is {INPUT_CHARS}")
        assert on.runtime.prompts == []
        await on.say("career", "x" * INPUT_CHARS)
        await on.quiet()
        assert len(on.runtime.prompts) == 1


async def test_blank_words_start_no_turn() -> None:
    async with stage(session("career")) as on:
        await on.say("career", " \n ")
        await on.quiet()
        assert on.runtime.prompts == []


async def test_a_place_whose_session_has_no_agent_says_so() -> None:
    async with stage(session("notes", agent=None, places=(room("notes"),))) as on:
        await on.say("notes", "hello")
        await on.chat.seen(room("notes"), "default/notes has no agent that could answer here")
        assert (await on.store.queued())[0] == 0


async def test_words_to_a_busy_session_wait_and_are_not_mixed_into_its_turn() -> None:
    async with stage(session("career")) as on:
        on.agent("career", answers)
        for number in range(3):
            await on.say("career", f"{number}")
        assert {one.state for one in await on.store.queue(ident("career"))} == {State.QUEUED}
        await on.quiet()
        assert [prompt.words for _, prompt in on.runtime.prompts] == ["0", "1", "2"]
        assert on.runtime.most_at_once == {ident("career"): 1}


async def test_raw_updates_are_kept_once_and_handed_out_until_they_are_done() -> None:
    async with stage() as on:
        intake = on.exchange.inbound
        assert await intake.last("chat") is None
        await intake.keep("chat", [(7, "seven"), (8, "eight"), (7, "again")])
        await intake.keep("chat", [(8, "changed"), (9, "nine")])
        assert await intake.last("chat") == 9
        assert await intake.unhandled("chat") == [(7, "seven"), (8, "eight"), (9, "nine")]
        await intake.done("chat", 7)
        await intake.done("chat", 8, "unreadable")
        await intake.done("chat", 7, "too late")
        assert await intake.unhandled("chat") == [(9, "nine")]
        seven, eight = await on.store.updates("chat", [7, 8])
        assert (seven.error, eight.error) == (None, "unreadable")


async def test_the_place_of_a_sent_post_is_known_by_its_receipt_alone() -> None:
    async with stage(session("career")) as on:
        await on.say("career", "/help")
        await on.chat.seen(room("career"), "/help")
        await on.quiet()
        assert await on.exchange.inbound.sent("room", "1") == room("career")
        assert await on.exchange.inbound.sent("hall", "1") is None


async def test_what_a_chat_remembers_is_there_after_a_restart_and_each_source_has_its_own() -> None:
    async with stage() as on:
        assert await on.exchange.inbound.recall("telegram") == {}
        await on.exchange.inbound.remember("telegram", "budget:1", "one")
        await on.exchange.inbound.remember("telegram", "budget:1", "two")
        await on.exchange.inbound.remember("telegram", "budget:2", "")
        await on.exchange.inbound.remember("web", "budget:1", "another")
    async with stage(store=on.store) as after:
        assert await after.exchange.inbound.recall("telegram") == {"budget:1": "two"}
        assert await after.exchange.inbound.recall("web") == {"budget:1": "another"}
