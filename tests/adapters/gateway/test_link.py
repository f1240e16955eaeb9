"""A gateway's link with the bridge's own core behind it: what breaks it, what it is cut for, and what it holds up."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import suppress
from functools import partial
from itertools import count
from typing import Any

import pytest

from adapters.gateway import server
from adapters.gateway.frames import MOST_BYTES
from adapters.gateway.hub import Hub
from adapters.gateway.server import GatewayServer
from adapters.mcp import direct
from bridge.turn import Process
from bridge.views import GatewayView, SessionView
from tests.flow.stage import Stage, person, stage

Json = dict[str, Any]
KEY = "topic"
HELLO: Json = {"protocol": 1, "software": "test"}


class Wire:
    """One connection, as the gateway has it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, serving: asyncio.Task[None]) -> None:
        self._reader = reader
        self.writer = writer
        self.serving = serving

    def say(self, kind: str, /, **fields: Any) -> None:
        self.writer.write(json.dumps({"type": kind, **fields}).encode() + b"\n")

    async def hears(self, *kinds: str) -> Json:
        """The next frame of these kinds."""
        async with asyncio.timeout(20):
            while line := await self._reader.readline():
                frame: Json = json.loads(line)
                if frame["type"] in kinds:
                    return frame
        raise AssertionError(f"the link ended before {kinds}")

    async def ended(self, *, stays: bool = False) -> list[Json]:
        """What had still come, once the link has ended. It is closed then, where it does not stay open."""
        async with asyncio.timeout(20):
            came = []
            with suppress(OSError):
                while line := await self._reader.readline():
                    came.append(json.loads(line))
            if not stays:
                self.writer.close()
            await self.serving
        return came

    def end(self) -> None:
        self.writer.close()


class Links:
    """A bridge to which gateways link themselves."""

    def __init__(self, on: Stage, hub: Hub) -> None:
        self.stage = on
        self._server = GatewayServer(
            hub, on.exchange, partial(direct.call, on.exchange), lambda text, now: None, on.clock, "test"
        )
        self._open: list[Wire] = []
        self.token = ""

    async def pair(self) -> str:
        self.token = (await self.stage.exchange.gateways.pair(await person(self.stage), "hermes")).token
        return self.token

    async def connect(self, token: str | None = None) -> Wire:
        ours, theirs = socket.socketpair()
        reader, writer = await asyncio.open_unix_connection(sock=theirs, limit=MOST_BYTES)
        serving = asyncio.create_task(self._serve(reader, writer, token or self.token))
        wire = Wire(*await asyncio.open_unix_connection(sock=ours, limit=2 * MOST_BYTES), serving)
        self._open.append(wire)
        return wire

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, token: str) -> None:
        try:
            await self._server.serve(reader, writer, token)
        finally:
            writer.close()

    async def linked(self, **hello: Any) -> Wire:
        wire = await self.connect()
        wire.say("hello", **(HELLO | hello))
        await wire.hears("welcome")
        wire.say("session", key=KEY, title="Career")
        await wire.hears("registered")
        wire.say("ready")
        return wire

    async def close(self) -> None:
        for wire in self._open:
            wire.serving.cancel()
            with suppress(asyncio.CancelledError):
                await wire.serving

    async def view(self) -> GatewayView:
        (one,) = (await self.stage.exchange.status(await person(self.stage))).gateways
        return one

    async def session(self) -> SessionView:
        every, _ = await self.stage.exchange.sessions(await person(self.stage), active=False)
        return next(one for one in every if one.id == "default/career")


@pytest.fixture
async def on() -> AsyncIterator[Links]:
    hub = Hub(900)
    async with stage(confirm_in_chat=False, gateways=hub) as whole:
        one = Links(whole, hub)
        await one.pair()
        try:
            yield one
        finally:
            await one.close()
            hub.close()


async def running(on: Links, wire: Wire) -> Json:
    """A turn that the gateway has begun, as the work that began it."""
    await on.stage.send("default/career", "Is Initech serious?")
    work = await wire.hears("work")
    wire.say("started", turn=work["turn"], epoch=work["epoch"])
    wire.say("call", id="first", turn=work["turn"], tool="peer_receive")
    assert (await wire.hears("result"))["ok"]
    return work


async def settled(on: Links, wire: Wire) -> None:
    """The link works on."""
    wire.say("ping")
    await wire.hears("pong")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"no json\n", "no JSON"),
        (b"[1]\n", "no JSON object"),
        (b'{"type": "dance"}\n', "no frame 'dance'"),
        (b'{"type": "session", "key": 7, "title": "x"}\n', "key must be a text"),
        (b'{"type": "started", "turn": "t", "epoch": true}\n', None),
        (b'{"type": "call", "id": "1", "turn": "t", "tool": "x", "arguments": [1]}\n', "arguments"),
        (b'{"type": "call", "id": "1", "tool": "x"}\n', "turn must be a text"),
        (b"x" * (MOST_BYTES + 10) + b"\n", "longer than"),
    ],
)
async def test_what_breaks_the_protocol_ends_the_link_with_its_reason(
    on: Links, line: bytes, reason: str | None
) -> None:
    wire = await on.linked()
    wire.writer.write(line)
    (refused,) = [one for one in await wire.ended() if one["type"] == "refused"]
    assert refused["code"] == "invalid_request"
    assert (reason or "epoch must be a whole number") in refused["reason"]
    view = await on.view()
    assert not view.linked
    assert refused["reason"] == view.trouble
    await on.linked()
    assert (await on.view()).trouble is None


@pytest.mark.parametrize(
    ("hello", "trouble"),
    [
        ({"protocol": 2}, "it speaks the protocol 2, and this bridge 1"),
        (
            {"unfit": "this is Hermes 0.20, and the plugin\nknows 0.19"},
            "this is Hermes 0.20, and the plugin knows 0.19",
        ),
        ({"advice": "set it"}, "it breaks the protocol: hello: advice must be a list of at most 10 texts"),
    ],
)
async def test_a_gateway_that_cannot_be_linked_says_why_and_the_status_tells(
    on: Links, hello: Json, trouble: str
) -> None:
    wire = await on.connect()
    wire.say("hello", **(HELLO | hello))
    assert (await wire.hears("refused"))["reason"] == trouble
    await wire.ended()
    view = await on.view()
    assert (view.linked, view.trouble) == (False, trouble)


async def test_a_gateway_that_is_turned_away_and_stays_is_left(on: Links) -> None:
    wire = await on.connect()
    wire.say("hello", **(HELLO | {"protocol": 2}))
    (refused,) = await wire.ended(stays=True)
    assert refused["type"] == "refused"


async def test_what_a_gateway_advises_is_in_the_status_while_it_is_linked(on: Links) -> None:
    wire = await on.linked(advice=["set busy_input_mode to queue"])
    await settled(on, wire)
    view = await on.view()
    assert (view.linked, view.software, view.advice) == (True, "test", ("set busy_input_mode to queue",))
    wire.end()
    await wire.ended()
    assert (await on.view()).advice == ()


async def test_a_handoff_reaches_a_session_only_while_its_gateway_is_there(on: Links) -> None:
    wire = await on.linked()
    await settled(on, wire)
    assert (await on.session()).reachable == "wake"
    wire.end()
    await wire.ended()
    assert (await on.session()).reachable == "pull"


async def test_a_silent_link_is_cut_after_35_s_and_the_turn_is_asked_about_on_the_next(on: Links) -> None:
    wire = await on.linked()
    work = await running(on, wire)
    await on.stage.clock.advance(30)
    assert (await on.view()).linked
    await on.stage.clock.advance(10)
    came = await wire.ended()
    assert [one["type"] for one in came] == ["ping"] * 3
    again = await on.linked()
    claim = await again.hears("claim")
    assert claim["turn"] == work["turn"]
    again.say("finished", turn=claim["turn"], epoch=claim["epoch"], outcome="completed", text="the answer is yes")
    await again.hears("ack")
    await on.stage.quiet()
    assert [mail.text for mail in await on.stage.inbox()] == ["the answer is yes"]


async def test_a_link_that_says_anything_is_not_cut(on: Links) -> None:
    wire = await on.linked()
    for _ in range(5):
        await on.stage.clock.advance(10)
        await wire.hears("ping")
        wire.say("pong")
        await settled(on, wire)
    assert (await on.view()).linked


async def test_a_second_link_of_the_same_process_takes_the_place_of_the_first(on: Links) -> None:
    first = await on.linked()
    work = await running(on, first)
    second = await on.linked()
    await first.ended()
    claim = await second.hears("claim")
    assert claim["turn"] == work["turn"]
    await settled(on, second)
    assert (await on.view()).linked


async def test_what_a_second_link_shows_is_not_lost_with_the_first(on: Links) -> None:
    first = await on.linked()
    second = await on.linked()
    first.end()
    second.say("turn_begun", key=KEY, turn="own-1", person="7")
    await settled(on, second)
    await first.ended()
    second.say("call", id="1", turn="own-1", tool="peer_receive")
    assert (await second.hears("result"))["ok"]


async def test_a_second_process_with_the_token_is_refused_while_the_first_lives(
    on: Links, monkeypatch: pytest.MonkeyPatch
) -> None:
    pids = count(1)
    monkeypatch.setattr(server, "_process", lambda writer: Process(next(pids), "a birth"))
    monkeypatch.setattr(server, "birth_of", lambda pid: "a birth" if pid == 1 else None)
    first = await on.linked()
    second = await on.connect()
    second.say("hello", **HELLO)
    assert (await second.hears("refused"))["code"] == "busy"
    await settled(on, first)
    assert ((await on.view()).linked, (await on.view()).trouble) == (True, None)


async def test_a_session_that_is_gone_gives_its_mail_back_and_may_come_again(on: Links) -> None:
    wire = await on.linked()
    wire.say("turn_begun", key=KEY, turn="own-1", person="7")  # Its mail waits meanwhile.
    await settled(on, wire)
    await on.stage.send("default/career", "for later", wake=False)
    wire.say("gone", key=KEY)
    assert (await wire.hears("cancel"))["turn"] == "own-1"
    wire.say("turn_ended", key=KEY, turn="own-1", outcome="interrupted")
    await wire.hears("ack")
    await on.stage.quiet()
    (told,) = await on.stage.inbox()
    assert "session_closed" in told.text
    wire.say("session", key=KEY, title="Career")
    assert (await wire.hears("registered"))["session"] == "default/career"
    assert (await on.session()).reachable == "wake"


async def test_a_fresh_context_fails_what_was_read_before(on: Links) -> None:
    wire = await on.linked()
    work = await running(on, wire)
    wire.say("reset", key=KEY)
    cancel = await wire.hears("cancel")
    assert cancel["turn"] == work["turn"]
    wire.say("finished", turn=work["turn"], epoch=work["epoch"], outcome="interrupted", stopped=False)
    await wire.hears("ack")
    await on.stage.quiet()
    *_, told = await on.stage.inbox()
    assert told.text.endswith("the session's context was reset.")


async def test_turns_that_the_bridge_does_not_know_change_nothing(on: Links) -> None:
    wire = await on.linked()
    work = await running(on, wire)
    end = {"outcome": "completed", "text": "not mine"}
    wire.say("finished", turn="nobody's", epoch=1, **end)
    assert (await wire.hears("ack"))["turn"] == "nobody's"
    wire.say("finished", turn=work["turn"], epoch=work["epoch"] - 1, **end)
    wire.say("started", turn="nobody's", epoch=1)
    assert (await wire.hears("cancel"))["turn"] == "nobody's"
    for kind in ("withdrawn", "unknown", "accepted"):
        wire.say(kind, turn="nobody's", epoch=1)
    wire.say("tool", turn="nobody's", epoch=1, id="1", name="x")
    wire.say("posted", id="nobody's", receipt="1")
    wire.say("turn_ended", key=KEY, turn="nobody's", outcome="completed", text="x")
    wire.say("gone", key="nobody's")
    wire.say("call", id="2", turn="nobody's", tool="peer_receive")
    assert (await wire.hears("result"))["value"]["error"]["code"] == "stale_epoch"
    await settled(on, wire)
    assert (await on.session()).activity == "thinking"
    assert await on.stage.inbox() == []


@pytest.mark.parametrize(
    "end",
    [
        {"outcome": "completed", "text": "long " * 200_000},
        {"outcome": "completed", "text": None},
        {"outcome": "failed", "kind": "no such kind", "detail": "long " * 200_000},
        {"outcome": "lost", "detail": 7},
        {"outcome": "danced"},
    ],
)
async def test_an_end_is_taken_however_it_is_put(on: Links, end: Json) -> None:
    """It is told again until it is taken: what would cut the link would cut it for good."""
    wire = await on.linked()
    work = await running(on, wire)
    wire.say("finished", turn=work["turn"], epoch=work["epoch"], **end)
    assert (await wire.hears("ack"))["turn"] == work["turn"]
    await settled(on, wire)


async def test_a_gateway_that_floods_holds_up_nobody(on: Links) -> None:
    wire = await on.linked()
    work = await running(on, wire)
    wire.writer.write(b'{"type":"ping"}\n' * 20_000)
    wire.writer.write(b'{"type":"tool","turn":"%s","epoch":1,"id":"1","name":"x"}\n' % work["turn"].encode() * 2_000)
    rounds = 0
    reading = asyncio.create_task(wire.hears("result"))
    wire.say("call", id="last", turn=work["turn"], tool="peer_receive")
    while not reading.done():
        rounds += 1
        await asyncio.sleep(0)
    assert (await reading)["id"] == "last"
    assert rounds > 20_000  # Everybody else had a turn between any two frames.


async def test_more_calls_at_once_than_the_bridge_takes_are_refused_and_the_others_answered(on: Links) -> None:
    wire = await on.linked()
    work = await running(on, wire)
    wire.say("turn_begun", key=KEY, turn="own-1")
    for number in range(65):
        wire.say("call", id=str(number), turn="own-1", tool="peer_receive")
    busy = await wire.hears("result")
    assert (busy["id"], busy["value"]["error"]["code"]) == ("64", "busy")
    wire.say("finished", turn=work["turn"], epoch=work["epoch"], outcome="completed", text="yes")
    for _ in range(64):
        assert (await wire.hears("result"))["ok"]


async def test_a_gateway_has_so_many_sessions_and_turns_of_people_at_once(
    on: Links, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "_SESSIONS_MOST", 2)
    wire = await on.linked()
    wire.say("session", key="second", title="Second")
    wire.say("session", key="third", title="Third")
    assert (await wire.hears("unregistered"))["code"] == "too_large"
    wire.say("session", key=KEY, title="Another title")
    await wire.hears("registered")
    for number in range(40):
        wire.say("turn_begun", key=KEY, turn=f"own-{number}")
    assert "one turn at a time" in (await wire.hears("refused"))["reason"]


async def test_a_gateway_that_reads_nothing_is_cut_and_holds_up_nobody(on: Links) -> None:
    wire = await on.linked()
    await settled(on, wire)
    line = b'{"type":"call","id":"%s","turn":"t","tool":"x"}\n' % (b"i" * 390)
    with suppress(ConnectionError):
        while not wire.serving.done():
            wire.writer.write(line * 100)
            await wire.writer.drain()
    await wire.serving
    assert not (await on.view()).linked


async def test_a_pairing_that_is_removed_while_a_turn_runs_ends_the_turn_and_its_end_is_not_heard(on: Links) -> None:
    wire = await on.linked()
    work = await running(on, wire)
    removing = asyncio.create_task(on.stage.exchange.gateways.remove(await person(on.stage), "hermes"))
    assert (await wire.hears("refused"))["code"] == "not_permitted"
    wire.say("finished", turn=work["turn"], epoch=work["epoch"], outcome="completed", text="too late")
    await wire.ended()
    await on.stage.clock.advance(60)
    await removing
    told = [mail.text for mail in await on.stage.inbox()]
    assert any("session_closed" in text for text in told)
    assert not any("too late" in text for text in told)
    refused = await on.connect()
    assert (await refused.hears("refused"))["code"] == "not_permitted"


async def test_one_that_says_no_hello_is_told_what_a_link_begins_with(on: Links) -> None:
    wire = await on.connect()
    wire.say("ready")
    assert "begins with hello" in (await wire.hears("refused"))["reason"]


@pytest.mark.parametrize("paired", [True, False])
async def test_whoever_is_turned_away_hears_why_also_where_it_had_much_to_say(on: Links, paired: bool) -> None:
    wire = await on.connect(None if paired else "0" * 64)
    wire.say("hello", protocol=1, software="test", unfit="another version")
    for _ in range(64):
        wire.say("session", key=KEY, title="x" * 100_000)
    await wire.writer.drain()
    assert (await wire.hears("refused"))["code"] == ("invalid_request" if paired else "not_permitted")
    wire.end()
    await wire.serving
