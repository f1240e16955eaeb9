"""The commands that people type at a place (DESIGN §7, Chat)."""

from dataclasses import replace

import pytest

from bridge.decision import Effect, Verb
from bridge.limits import Limits
from bridge.message import Origin, Outcome
from bridge.ports.chat import Heard
from bridge.ports.runtime import Prompt, Result
from bridge.request import Answer
from bridge.turn import Failure, FailureKind
from tests.fakes.runtime import FakeAgent
from tests.flow.stage import OPERATOR, USER, Stage, ident, room, rule, session, stage

DESK = room("desk")


async def answers(agent: FakeAgent, prompt: Prompt) -> str:
    return f"about {prompt.words}: yes"


async def said(on: Stage, text: str) -> str:
    """What the command `text` brings at the desk."""
    before = set(on.chat.posts)
    await on.say("desk", text)
    await on.quiet()
    fresh = [post.text for key, post in on.chat.posts.items() if key not in before and post.place == DESK]
    return "\n".join(fresh)


@pytest.mark.parametrize(
    "command", ["/ask career", "/handoff @career", "/ASK default/career", "/ask\n@session:default/career"]
)
@pytest.mark.parametrize("space", [" ", "\n", "  \n "])
async def test_a_person_hands_work_over_and_the_answer_comes_to_the_place_without_a_turn_there(
    command: str, space: str
) -> None:
    async with stage(session("desk"), session("career"), rules=[rule("default/shell", "default/desk")]) as on:
        on.agent("career", answers)
        await on.say("desk", f"{command}{space}is it real?")
        await on.chat.seen(DESK, "career: about is it real?: yes")
        await on.chat.seen(DESK, "→ career: is it real?\n· answered")
        await on.quiet()
        assert [(who, prompt.words) for who, prompt in on.runtime.prompts] == [(ident("career"), "is it real?")]
        assert await on.inbox("desk") == []


async def test_a_command_heard_twice_is_carried_out_once() -> None:
    async with stage(session("desk"), session("career")) as on:
        on.agent("career", answers)
        for _ in range(2):
            await on.say("desk", "/handoff career go", key="update:1")
            await on.quiet()
        assert len(on.runtime.prompts) == 1
        assert on.chat.texts(DESK).count("career: about go: yes") == 1


async def test_a_command_that_is_heard_again_later_changes_nothing_any_more() -> None:
    async with stage(session("desk")) as on:
        await on.say("desk", "/stop", key="once")
        await on.say("desk", "/resume")
        await on.say("desk", "/stop", key="once")
        desk = await on.store.session(ident("desk"))
        assert desk is not None
        assert not desk.rested


async def test_a_refused_handoff_is_shown_once_with_its_rule() -> None:
    denied = rule("default/desk", "default/career", [Verb.ASK], Effect.DENY)
    async with stage(session("desk"), session("career"), rules=[rule("*", "*"), denied]) as on:
        for _ in range(2):
            await on.say("desk", "/ask career is it real?", key="update:1")
            await on.quiet()
        (shown,) = on.chat.texts(DESK)
        assert shown.startswith("desk → career: is it real?\n· refused: not_permitted")
        assert "default/desk->default/career" in shown
        assert on.runtime.prompts == []


async def test_a_user_who_may_not_talk_there_asks_as_a_peer_only() -> None:
    async with stage(session("desk"), session("career")) as on:
        notices: list[Prompt] = []

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            notices.append(prompt)
            (mail,) = (await on.tools(agent).receive()).messages
            return f"{mail.origin} asked"

        on.agent("career", career)
        await on.say("desk", "/ask career hello", USER)
        await on.chat.seen(DESK, "career: peer asked")
        assert notices[0].words is None
        on.chat.guests.add(USER.id)
        await on.say("desk", "/ask career hello again", USER)
        await on.quiet()
        assert notices[1].words == "hello again"


@pytest.mark.parametrize(
    "text",
    ["/ask career", "/ask nobody hello", "/nonsense", "/bind nobody", "/queue all", "/sessions some", "/trace nothing"],
)
async def test_a_command_that_cannot_be_understood_says_what_it_takes(text: str) -> None:
    async with stage(session("desk"), session("career")) as on:
        shown = await said(on, text)
        assert shown.startswith("Not done: ")
        assert shown.endswith((".", " TEXT"))
        assert on.runtime.prompts == []


@pytest.mark.parametrize("command", ["/stop", "/stop all", "/resume", "/new", "/bind desk"])
async def test_what_changes_a_session_is_for_operators(command: str) -> None:
    async with stage(session("desk")) as on:
        await on.say("desk", command, USER)
        await on.chat.seen(DESK, "is for operators")
        known = await on.store.session(ident("desk"))
        assert known is not None
        assert not known.rested


async def test_help_shows_what_the_asker_may_do() -> None:
    async with stage(session("desk")) as on:
        await on.say("desk", "/help", USER)
        post = await on.chat.seen(DESK, "/ask NAME TEXT")
        assert "/stop" not in post.text
        assert "/stop [all] – end the running turn" in await said(on, "/help")


async def test_sessions_lists_all_or_the_active_ones() -> None:
    async with stage(session("desk"), session("career"), session("finance")) as on:
        await on.send("career", "later", wake=False)
        every = await said(on, "/sessions")
        assert every.splitlines() == [
            "Career (default/career): idle, 1 open message",
            "Desk (default/desk): idle",
            "Finance (default/finance): idle",
            "Shell (default/shell): idle",
        ]
        assert await said(on, "/sessions active") == "Career (default/career): idle, 1 open message"


async def test_sessions_says_when_there_are_more() -> None:
    async with stage(session("desk"), *[session(f"w-{number}") for number in range(60)]) as on:
        assert (await said(on, "/sessions")).endswith("\n…")


async def test_status_tells_of_rest_and_pause() -> None:
    async with stage(session("desk")) as on:
        assert (await said(on, "/status")).splitlines() == [
            "Desk (default/desk): idle.",
            "Agent: fake.",
            "Places: room:desk.",
        ]
        await said(on, "/stop")
        assert (await said(on, "/status")).splitlines()[0] == (
            "Desk (default/desk): idle. It is stopped: other sessions wait until /resume or your next message."
        )


async def test_status_tells_why_a_session_is_paused() -> None:
    async def desk(agent: FakeAgent, prompt: Prompt) -> Result:
        return Result("", "failed", Failure(FailureKind.AUTH, "log in again"))

    async with stage(session("desk")) as on:
        on.agent("desk", desk)
        await on.say("desk", "go")
        await on.quiet()
        assert (await said(on, "/status")).splitlines()[0] == (
            "Desk (default/desk): cannot work. It is paused: log in again. Set it right, then /resume."
        )


async def test_bind_moves_a_place_but_not_one_of_the_file() -> None:
    async with stage(session("desk"), session("career"), limits=Limits()) as on:
        assert (await said(on, "/bind career")).startswith("Not done: room:desk is bound to default/desk")
        assert await said(on, "/bind desk") == "This place is bound to Desk (default/desk)."
        for handle in ("desk", "career"):
            await on.say("side", f"/bind {handle}")
            binding = await on.store.binding(room("side"))
            assert binding is not None
            assert binding.session == ident(handle)


async def test_a_closed_session_cannot_be_bound() -> None:
    async with stage(session("career")) as on:
        await on.quiet()
    async with stage(session("desk"), store=on.store, clock=on.clock) as on:
        assert (await said(on, "/bind career")).startswith("Not done: ")


async def test_commands_at_an_unbound_place_say_that_nobody_is_there() -> None:
    async with stage(session("desk")) as on:
        for command in ("/stop", "/resume", "/new", "/status", "/ask desk hello"):
            await on.say("nowhere", command)
            await on.quiet()
        shown = on.chat.texts(room("nowhere"))
        assert len(shown) == 5
        assert all("no session is bound to this place, room:nowhere." in text for text in shown)


@pytest.mark.parametrize("name", ["Front Desk", "front  desk", "@Front Desk", "front-desk"])
async def test_a_session_may_be_named_by_a_title_of_several_words(name: str) -> None:
    titled = replace(session("front-desk"), title="Front Desk")
    async with stage(session("desk"), session("desk-front"), titled) as on:
        on.agent("front-desk", answers)
        await on.say("desk", f"/ask {name} is it real?")
        await on.chat.seen(DESK, "front-desk: about is it real?: yes")
        assert "it takes a text for default/front-desk too" in await said(on, f"/ask {name}")
        await on.say("side", f"/bind {name}")
        await on.chat.seen(room("side"), "This place is bound to Front Desk (default/front-desk).")


async def test_people_tell_the_agents_that_met_a_limit_to_go_on() -> None:
    async with stage(session("desk"), session("notes", agent=None), limits=Limits(conversation_messages=2)) as on:
        tried: list[str] = []

        async def desk(agent: FakeAgent, prompt: Prompt) -> str:
            for number in range(3):
                try:
                    await on.tools(agent).send("notes", f"{prompt.words} {number}")
                except Exception as refused:  # noqa: BLE001
                    tried.append(str(refused))
            return "done"

        on.agent("desk", desk)
        await on.say("desk", "go")
        await on.chat.seen(DESK, "This conversation between your agents goes no further by itself.")
        assert len(tried) == 1
        assert await on.press("desk", "Go on (+2)", OPERATOR) == "2 more messages."
        await on.chat.seen(DESK, "This conversation may have 2 more messages.")


async def test_the_origin_of_a_persons_handoff_is_recorded_with_the_person() -> None:
    async with stage(session("desk"), session("career")) as on:
        on.agent("career", answers)
        await on.say("desk", "/handoff career go", key="update:1")
        key = await on.store.key(ident("desk"), "update:1")
        assert key is not None
        message = await on.message(key.message)
        assert (message.origin, message.person, message.place) == (Origin.USER, OPERATOR.id, DESK)
        (verdict,) = await on.store.verdicts(message.conversation)
        assert (verdict.rule, verdict.person) == ("person", OPERATOR.id)
        await on.quiet()
        assert (await on.message(key.message)).outcome is Outcome.ACKED
        assert (await on.request(key.message)).state is Answer.ANSWERED


@pytest.mark.parametrize("text", ["/stop all", "/allow desk", "/policy pause", "/handoff desk hello", "/sessions"])
async def test_a_command_that_somebody_else_has_written_is_not_carried_out(text: str) -> None:
    async with stage(session("desk"), session("career")) as on:
        await on.exchange.inbound.hear(Heard(room("career"), OPERATOR, text, "room:career:1", passed_on=True))
        told = await on.chat.seen(room("career"), "is somebody else's, and not carried out")
        assert "Type it yourself" in told.text
        assert [post.text for post in on.chat.posts.values()] == [told.text]
        assert not (await on.store.regime()).paused


async def test_words_that_somebody_else_has_written_are_still_read() -> None:
    async with stage(session("career")) as on:
        await on.exchange.inbound.hear(Heard(room("career"), OPERATOR, "see this", "room:career:1", passed_on=True))
        await on.quiet()
        assert on.runtime.prompts
