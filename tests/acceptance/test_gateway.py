"""A gateway with topics of its own, linked with a real bridge."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.acceptance.forks import Forks
from tests.acceptance.home import Home
from tests.adapters.gateway.reference import Frame, Gateway, Kept, Stopped, Turn, answers

DESK, CAREER = "agent:main:telegram:group:-1001:1", "agent:main:telegram:group:-1001:2"
TOPICS = {DESK: "Front Desk", CAREER: "Career"}


@pytest.fixture
async def home(tmp_path: Path, forks: Forks) -> AsyncIterator[Home]:
    home = Home(tmp_path, forks)
    home.rule("default/front-desk", "default/career")
    home.rule("default/shell", "kind:gateway")
    home.limits(stop_grace_s=0.1)
    await home.up()
    try:
        yield home
    finally:
        await home.close()


async def paired(home: Home, name: str = "hermes") -> str:
    done = await home.typed("gateway", "pair", name, "--json")
    assert done.code == 0, done
    token: str = json.loads(done.out)["token"]
    return token


@asynccontextmanager
async def gateway(
    home: Home, kept: Kept | None = None, token: str | None = None, hello: Frame | None = None
) -> AsyncIterator[Gateway]:
    one = Gateway(home.path, token or await paired(home), TOPICS, kept, hello)
    one.models = {DESK: answers, CAREER: answers}
    await one.linked()
    try:
        yield one
    finally:
        await one.die()


async def shown(one: Gateway, part: str) -> Frame:
    await one.saw(lambda: any(part in post["text"] for post in one.posts))
    return next(post for post in one.posts if part in post["text"])


async def hands_over(one: Gateway, turn: Turn) -> str:
    sent = await one.call(turn, "peer_send", to="career", text="Is Initech serious?", intent="request", wake=True)
    assert sent["ok"], sent
    return "handed over"


async def test_a_topic_hands_work_to_another_and_has_its_answer_back(home: Home) -> None:
    async with gateway(home) as one:
        assert one.sessions == {DESK: "default/front-desk", CAREER: "default/career"}
        one.person(DESK, hands_over)
        await one.saw(lambda: len(one.started) == 2)
        await one.got("ack", 3)
        answer = await shown(one, "the answer to: Is Initech serious?")
        assert answer["key"] == DESK
        work = [frame for frame in one.heard if frame["type"] == "work"]
        assert [frame["key"] for frame in work] == [CAREER, DESK]
        assert all("Initech" not in frame["notice"] for frame in work)
        assert not one.kept.turns


async def test_a_person_at_the_topic_is_first_and_the_handoff_waits_queued(home: Home) -> None:
    async with gateway(home) as one:
        done = asyncio.Event()

        async def talks(_: Gateway, turn: Turn) -> str:
            await done.wait()
            return "done talking"

        one.person(CAREER, talks)
        asking = asyncio.create_task(home.ask("career", "And now?"))
        await shown(one, "And now?")
        assert not one.started
        done.set()
        assert json.loads((await asking).out)["reply"]["text"] == "the answer to: And now?"
        assert len(one.started) == 1


async def test_work_that_waits_at_the_gateway_makes_way_for_a_person_who_was_faster(home: Home) -> None:
    async with gateway(home) as one:
        one.busy[CAREER] = asyncio.Event()
        asking = asyncio.create_task(home.ask("career", "And now?"))
        work = await one.got("work")
        assert not one.started
        turn = one.person(CAREER, answers)
        await one.got("withdraw")
        await one.saw(lambda: turn.end is not None)
        one.busy[CAREER].set()
        assert json.loads((await asking).out)["reply"]["text"] == "the answer to: And now?"
        again = await one.got("work", 2)
        assert again["turn"] != work["turn"]
        assert one.started == [again["turn"]]


async def test_a_gateway_that_goes_away_before_it_has_begun_leaves_the_work_queued_without_an_attempt(
    home: Home,
) -> None:
    token = await paired(home)
    async with gateway(home, token=token) as one:
        one.busy[CAREER] = asyncio.Event()
        sent = await home.tieline("send", "career", "And now?", "--wake", "--json")
        ident = json.loads(sent.out)["message_id"]
        await one.got("work")
        await one.unlink()
    await home.traced(ident, "requeued")
    (mail,) = (await home.typed("inbox", "--session", "career", "--json")).lines
    assert (mail["message_id"], mail["state"]) == (ident, "queued")
    async with gateway(home, token=token) as one:
        await one.got("ack")
        assert len(one.started) == 1


@pytest.mark.parametrize("ends", ["down", "kill"])
async def test_a_bridge_that_is_replaced_in_the_middle_loses_nothing_and_repeats_nothing(home: Home, ends: str) -> None:
    token = await paired(home)
    async with gateway(home, token=token) as one:
        go_on = asyncio.Event()

        async def slowly(gateway: Gateway, turn: Turn) -> str:
            mail = await gateway.mail(turn)
            await go_on.wait()
            return f"slowly: {mail[0]['text']}"

        one.models[CAREER] = slowly
        sent = await home.tieline("send", "career", "And now?", "--wake", "--json")
        await one.saw(lambda: any(frame["type"] == "result" for frame in one.heard))
        await getattr(home, ends)()
        go_on.set()
        await one.unlink()
        await home.up()
        await one.linked()
        await one.got("ack")
        assert len(one.started) == 1
        (answer,) = await home.inbox()
        assert answer["text"] == "slowly: And now?"
        assert answer["in_reply_to"] == json.loads(sent.out)["message_id"]


async def test_a_persons_turn_goes_on_over_a_restart_of_the_bridge_and_keeps_its_cause(home: Home) -> None:
    token = await paired(home)
    async with gateway(home, token=token) as one:
        go_on = asyncio.Event()

        async def later(gateway: Gateway, turn: Turn) -> str:
            assert await gateway.mail(turn) == []
            await go_on.wait()
            return await hands_over(gateway, turn)

        turn = one.person(DESK, later)
        await one.got("result")
        await home.kill()
        await one.unlink()
        await home.up()
        await one.linked()
        go_on.set()
        await one.saw(lambda: turn.end is not None)
        assert turn.end is not None
        assert turn.end["outcome"] == "completed"
        await shown(one, "the answer to: Is Initech serious?")


async def test_a_gateway_that_dies_in_the_middle_tells_when_it_is_back_that_the_turn_is_lost(home: Home) -> None:
    token, kept = await paired(home), Kept()
    async with gateway(home, kept, token) as one:

        async def never(_: Gateway, turn: Turn) -> str:
            await asyncio.Event().wait()
            return ""

        one.models[CAREER] = never
        await home.tieline("send", "career", "And now?", "--wake", "--json")
        await one.saw(lambda: one.started)
        (turn,) = kept.turns.values()
    turn.end = turn.told("finished", outcome="lost")
    async with gateway(home, kept, token) as one:
        await one.got("ack")
        assert not one.started
        (told,) = await home.inbox()
        assert "nobody attends who could decide" in told["text"]


async def test_a_stop_by_a_person_rests_the_topic_for_its_peers(home: Home) -> None:
    async with gateway(home) as one:

        async def stops(_: Gateway, turn: Turn) -> str:
            raise Stopped

        one.models[CAREER] = stops
        await home.tieline("send", "career", "And now?", "--wake", "--json")
        await one.got("ack")
        assert len(one.started) == 1


async def test_a_removed_gateway_is_dead_at_once_and_its_sessions_return_when_it_is_paired_again(home: Home) -> None:
    async with gateway(home) as one:
        sent = await home.tieline("send", "career", "For later", "--json")
        assert sent.code == 0, sent
        assert (await home.typed("gateway", "remove", "hermes", "--json")).code == 0
        assert (await one.got("refused"))["code"] == "not_permitted"
        (told,) = await home.inbox()
        assert "session_closed" in told["text"]
        await one.link()
        await one.got("refused", 2)
    assert (await home.typed("gateway", "list", "--json")).lines == []
    async with gateway(home) as one:
        assert one.sessions[CAREER] == "default/career"


async def test_the_doctor_tells_how_the_link_is_and_what_it_lacks(home: Home) -> None:
    async def told() -> list[tuple[str, str, str]]:
        found = (await home.tieline("doctor", "--json")).lines
        return [(one["level"], one["text"], one["remedy"]) for one in found if one["check"] == "gateway"]

    assert await told() == []
    token = await paired(home)
    ((level, text, remedy),) = await told()
    assert (level, text) == ("warn", "hermes is paired, and was never here")
    assert "gateway-link.md" in remedy
    async with gateway(home, token=token, hello={"advice": ["Set it to queue."]}) as one:
        await one.saw(lambda: one.sessions)
        linked, advised = await told()
        assert linked[:2] == ("ok", "hermes is linked (reference), 2 sessions")
        assert advised == ("warn", "hermes has something to be set right", "Set it to queue.")
        assert "hermes is linked" in (await home.tieline("status")).out
    ((level, text, _),) = await told()
    assert (level, text.startswith("hermes was here last ")) == ("warn", True)
    unfit = Gateway(home.path, token, TOPICS, hello={"unfit": "this is Hermes 0.20, and the plugin knows 0.19.x"})
    await unfit.link()
    await unfit.got("refused")
    await unfit.unlink()
    ((level, text, _),) = await told()
    assert (level, text) == ("warn", "hermes cannot be linked: this is Hermes 0.20, and the plugin knows 0.19.x")


async def test_a_session_of_a_gateway_that_is_away_is_not_said_to_be_woken_by_a_handoff(home: Home) -> None:
    async def reachable() -> str:
        every = {one["id"]: one for one in (await home.tieline("sessions", "--json")).lines}
        return str(every["default/career"]["reachable"])

    async with gateway(home):
        assert await reachable() == "wake"
    assert await reachable() == "pull"
    await home.kill()
    await home.up()
    assert await reachable() == "pull"


async def test_only_a_person_pairs_a_gateway_and_its_name_is_no_other_chats(home: Home) -> None:
    for words in (("pair", "hermes"), ("list",), ("remove", "hermes")):
        assert (await home.tieline("gateway", *words, "--json")).code == 77
    assert (await home.typed("gateway", "pair", "telegram", "--json")).code == 64
    assert (await home.typed("gateway", "remove", "nobody", "--json")).code == 64
