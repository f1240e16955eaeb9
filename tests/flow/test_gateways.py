"""Sessions that a gateway brings: who they are, what is shown where, and what becomes of work that it has not begun."""

from collections.abc import Sequence

import pytest

from bridge.caller import Caller
from bridge.decision import Effect
from bridge.errors import Code, Refused
from bridge.gateway import agent_of, gateway_of, handle_from, name_of_gateway
from bridge.ids import Place, SessionId
from bridge.message import Origin, State
from bridge.ports.chat import Pressed
from bridge.ports.runtime import Prompt, Result
from bridge.session import Kind
from bridge.token import digest_of
from bridge.turn import Failure, FailureKind
from tests.fakes.chat import FakeChat
from tests.fakes.runtime import FakeAgent
from tests.flow.stage import OPERATOR, Stage, person, room, rule, session, stage

OFFICE = room("office")


class TheirChat(FakeChat):
    """Of a gateway: it knows no operators."""

    def reports(self) -> Sequence[Place]:
        return ()


async def joined(on: Stage, *titles: str, chat: FakeChat | None = None) -> list[SessionId]:
    chat = chat or TheirChat("hermes")
    chat.open = False
    on.exchange.join(chat)
    return [await on.exchange.gateways.register("hermes", f"key-{title}", title, None) for title in titles]


def test_what_a_title_gives_for_a_handle() -> None:
    assert [handle_from(title) for title in ("Front Desk", "  Büro / 2 ", "日本")] == ["front-desk", "b-ro-2", "topic"]


@pytest.mark.parametrize("name", ["telegram", "web", "Hermes", "her mes", "", "1st"])
def test_a_gateways_name_is_a_scheme_of_its_own(name: str) -> None:
    with pytest.raises(Refused):
        name_of_gateway(name)


def test_the_agent_of_a_gateways_sessions_names_it() -> None:
    assert gateway_of(agent_of("hermes")) == "hermes"
    assert gateway_of("hermes") is None


async def test_a_key_is_one_session_whatever_it_is_called_and_no_handle_is_given_twice() -> None:
    async with stage() as on:
        desk, other = await joined(on, "Desk", "Desk.")
        assert (desk, other) == ("default/desk", "default/desk-2")
        assert await on.exchange.gateways.register("hermes", "key-Desk", "Reception", "context-2") == desk
        stored = await on.store.session(desk)
        assert stored is not None
        assert (stored.kind, stored.title, stored.alias) == (Kind.GATEWAY, "Reception", "context-2")


async def test_a_place_of_another_session_is_not_the_gateways() -> None:
    async with stage(session("desk", places=(Place("hermes:key-Desk"),))) as on:
        with pytest.raises(Refused) as refused:
            await joined(on, "Desk")
        assert refused.value.code is Code.NOT_PERMITTED


async def test_work_that_a_gateway_has_not_begun_waits_again_without_an_attempt() -> None:
    async with stage() as on:
        (career,) = await joined(on, "Career")
        tries = []

        async def later(agent: FakeAgent, prompt: Prompt) -> Result:
            tries.append(prompt)
            if len(tries) == 1:
                return Result("a person was first", "unbegun", unbegun=True)
            await on.tools(agent).receive()
            return Result("done", "end_turn")

        on.runtime.behaviours[career] = later
        sent = await on.send(career, "hello")
        await on.quiet()
        message = await on.message(sent.message_id)
        assert (len(tries), message.state, message.attempts) == (2, State.SETTLED, 0)


async def test_the_gateway_shows_its_own_finals_and_the_bridge_what_comes_of_elsewhere() -> None:
    async with stage() as on:
        theirs = TheirChat("hermes")
        (career,) = await joined(on, "Career", chat=theirs)

        async def answers(agent: FakeAgent, prompt: Prompt) -> str:
            await on.tools(agent).receive()
            return "the final text"

        on.runtime.behaviours[career] = answers
        await on.send(career, "hello")
        await on.quiet()
        (mail,) = await on.inbox()
        assert mail.text == "the final text"
        await theirs.seen("hermes:key-Career", "· answered")
        assert not [text for text in theirs.texts("hermes:key-Career") if "the final text" in text]


async def test_what_is_parked_at_a_gateway_is_decided_in_the_operators_chat() -> None:
    async with stage() as on:
        (career,) = await joined(on, "Career")
        lost = Failure(FailureKind.CRASH, "the gateway had ended")

        async def vanishes(agent: FakeAgent, prompt: Prompt) -> Result:
            return Result("", "lost", lost, unsure=True)

        on.runtime.behaviours[career] = vanishes
        sent = await on.send(career, "hello")
        await on.chat.seen(OFFICE, "Run it again?")
        assert (await on.message(sent.message_id)).state is State.PARKED


async def test_what_a_rule_asks_about_for_a_gateways_session_is_asked_in_the_operators_chat() -> None:
    async with stage(rules=[rule("*", "*", effect=Effect.ASK)]) as on:
        (career,) = await joined(on, "Career")
        sent = await on.send(career, "hello", wake=False)
        assert (await on.message(sent.message_id)).state is State.HELD
        post = await on.chat.seen(OFFICE, "hello")
        action = next(one.action for one in post.buttons if one.label == "Approve once")
        await on.exchange.inbound.press(Pressed(OFFICE, OPERATOR, action))
        assert (await on.message(sent.message_id)).state is State.QUEUED


async def test_a_stop_in_the_gateway_rests_the_session_and_a_persons_turn_wakes_it() -> None:
    async with stage() as on:
        (career,) = await joined(on, "Career")
        await on.exchange.gateways.stopped(career)
        stored = await on.store.session(career)
        assert stored is not None
        assert stored.rested

        async def says(agent: FakeAgent, prompt: Prompt) -> str:
            return "said"

        on.runtime.behaviours[career] = says
        place = Place("hermes:key-Career")
        begun = await on.exchange.gateways.begun(career, place, "own-1", None)
        await on.quiet()
        again = await on.exchange.gateways.begun(career, place, "own-1", None)
        assert begun is not None
        assert again is not None
        assert (again.input, again.over) == (begun.input, True)
        stored = await on.store.session(career)
        assert stored is not None
        assert not stored.rested


async def test_a_pairing_waits_for_an_operators_word_in_a_chat_and_its_token_is_kept_nowhere() -> None:
    async with stage() as on:
        paired = await on.exchange.gateways.pair(await person(on), "hermes")
        assert paired.waits_for == (OFFICE,)
        assert await on.exchange.gateways.admitted(paired.token) is None
        post = await on.chat.seen(OFFICE, "pair the gateway hermes")
        action = next(one.action for one in post.buttons if one.label == "Accept")
        await on.exchange.inbound.press(Pressed(OFFICE, OPERATOR, action))
        assert await on.exchange.gateways.admitted(paired.token) == "hermes"
        stored = await on.store.gateway("hermes")
        assert stored is not None
        assert stored.digest == digest_of(paired.token)


async def test_nobody_but_an_operator_decides_about_gateways() -> None:
    async with stage() as on:
        for caller in (await on.shell(), Caller(SessionId("default/shell"), Origin.USER)):
            with pytest.raises(Refused):
                await on.exchange.gateways.pair(caller, "hermes")


async def test_a_session_that_the_file_declares_at_a_gateways_place_is_the_one_of_that_key() -> None:
    declared = session("career", agent=agent_of("hermes"), places=(Place("hermes:key-Jobs"),), tags=("office",))
    async with stage(declared) as on:
        (career,) = await joined(on, "Jobs")
        stored = await on.store.session(career)
        assert stored is not None
        assert (stored.id, stored.title, stored.tags) == ("default/career", "Career", ("office",))
