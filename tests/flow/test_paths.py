"""Every way into the store is tried by somebody who may not: it is refused, and the audit shows it (invariant 6).

A way that is added without an attempt of its own makes a test here fail.
"""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

import pytest

from adapters.api.app import create_app
from adapters.mcp.tools import TOOLS
from bridge.audit import Act
from bridge.caller import Caller
from bridge.decision import Verb, Verdict
from bridge.errors import Code, Refused
from bridge.flow.exchange import Exchange
from bridge.flow.gateways import Gateways
from bridge.flow.oversight import Oversight
from bridge.flow.terminals import Terminals
from bridge.grant import Scope
from bridge.message import Origin
from bridge.ports.chat import Pressed
from bridge.views import Send
from tests.flow.stage import ALL, USER, Stage, ident, room, rule, session, stage

FORBIDDEN = frozenset({Code.NOT_PERMITTED, Code.UNKNOWN_SESSION, Code.UNKNOWN_MESSAGE})
STRANGERS = [rule("default/shell", "default/career")]


@dataclass(frozen=True, slots=True)
class Scene:
    """`message` is between two others: neither `agent` nor `program` has to do with it."""

    on: Stage
    message: str
    agent: Caller
    program: Caller

    @property
    def exchange(self) -> Exchange:
        return self.on.exchange

    @property
    def oversight(self) -> Oversight:
        return self.on.exchange.oversight

    @property
    def gateways(self) -> Gateways:
        return self.on.exchange.gateways


Attempt = Callable[[Scene], Awaitable[object]]


async def _permissions(scene: Scene) -> object:
    career = await scene.on.store.session(ident("career"))
    assert career is not None
    return await scene.oversight.permissions(scene.agent, career)


ATTEMPTS: dict[str, Attempt] = {
    "Exchange.send": lambda s: s.exchange.send(s.agent, Send("career", "hello")),
    "Exchange.send by alias": lambda s: s.exchange.send(s.agent, Send("20260801_110135_3a75b0", "hello")),
    "Exchange.send to a mention": lambda s: s.exchange.send(s.agent, Send("@career", "hello")),
    "Exchange.send as a reply": lambda s: s.exchange.send(s.agent, Send("shell", "yes", in_reply_to=s.message)),
    "Exchange.ask": lambda s: s.exchange.ask(s.agent, Send("career", "hello"), 1),
    "Exchange.spawn": lambda s: s.exchange.spawn(s.agent, "fake", "A helper", "hello"),
    "Exchange.answer": lambda s: s.exchange.answer(s.agent, s.message, 0),
    "Exchange.read_answer": lambda s: s.exchange.read_answer(s.agent, s.message),
    "Exchange.cancel": lambda s: s.exchange.cancel(s.agent, s.message),
    "Exchange.reply": lambda s: s.exchange.reply(s.agent, s.message, "yes"),
    "Exchange.defer": lambda s: s.exchange.defer(s.agent, s.message),
    "Exchange.ack": lambda s: s.exchange.ack(s.agent, [s.message]),
    "Exchange.inbox": lambda s: s.exchange.inbox(s.agent, "career", take=True),
    "Exchange.wait_inbox": lambda s: s.exchange.wait_inbox(s.agent, "career", set(), 0),
    "Exchange.caller": lambda s: s.exchange.caller("career", origin=Origin.PEER, bound=None),
    "Exchange.new_session": lambda s: s.exchange.new_session(s.program, "more", None, None, None, None),
    "Exchange.stop": lambda s: s.exchange.stop(s.program, "career", True),
    "Exchange.resume": lambda s: s.exchange.resume(s.program, "career"),
    "Exchange.make_topic": lambda s: s.exchange.make_topic(s.program, "career", None),
    "Exchange.renew": lambda s: s.exchange.renew(s.program, "career"),
    "Exchange.make_token": lambda s: s.exchange.make_token(s.program, "shell", "mine"),
    "Exchange.tokens_of": lambda s: s.exchange.tokens_of(s.agent, "shell"),
    "Exchange.revoke_token": lambda s: s.exchange.revoke_token(s.agent, "shell", "mine"),
    "Exchange.trace": lambda s: s.exchange.trace(s.agent, s.message),
    "Oversight.approvals": lambda s: s.oversight.approvals(s.agent),
    "Oversight.approve": lambda s: s.oversight.approve(s.agent, s.message, Scope.ONCE),
    "Oversight.deny": lambda s: s.oversight.deny(s.program, s.message),
    "Oversight.grants": lambda s: s.oversight.grants(s.agent),
    "Oversight.grant": lambda s: s.oversight.grant(s.agent, "stranger", "career", ALL, Scope.PAIR),
    "Oversight.revoke": lambda s: s.oversight.revoke(s.program, "any"),
    "Oversight.decision": lambda s: s.oversight.decision(s.agent, "stranger", "career", Verb.SEND),
    "Oversight.permissions": _permissions,
    "Oversight.pause": lambda s: s.oversight.pause(s.agent),
    "Oversight.resume": lambda s: s.oversight.resume(s.agent),
    "Oversight.audit": lambda s: s.oversight.audit(s.agent, None, 9),
    "Gateways.every": lambda s: s.gateways.every(s.agent),
    "Gateways.pair": lambda s: s.gateways.pair(s.agent, "hermes"),
    "Gateways.remove": lambda s: s.gateways.remove(s.agent, "hermes"),
}
"""By the method that they try, and where it has several ways the way."""

LINK = (
    "views",
    "seen",
    "admitted",
    "begun",
    "close",
    "hint",
    "paired",
    "register",
    "reset",
    "returned",
    "stopped",
    "turned_away",
)

HARMLESS = {
    "Exchange.start": "the bridge's own",
    "Exchange.begin": "the bridge's own",
    "Exchange.drain": "the bridge's own",
    "Exchange.redeclare": "the operator's file",
    "Exchange.mail_waits": "tells a session whether mail of its own waits",
    "Exchange.receive": "takes no name: it reads the caller's own mail",
    "Exchange.sessions": "shows what the caller may discover",
    "Exchange.status": "counts what the caller may discover",
    "Terminals.restore": "the bridge's own",
    "Exchange.thread_session": "who an agent of a shared process is, of those that have joined by it",
    "Terminals.thread_session": "who an agent of a shared process is, of those that have joined by it",
    "Terminals.appears": "the kernel says who has appeared",
    "Terminals.join": "takes no caller: who it is the kernel says (test_terminals.py here and in tests/acceptance)",
    "Terminals.happened": "takes no name: it tells a session of its own mail",
    "Terminals.wait": "takes no name: it waits for a session's own mail",
    **{f"Gateways.{name}": "the link of a gateway that was admitted by its token" for name in LINK},
    "Exchange.turned_away": "records who was refused before it came to any of these",
}

ROUTES = {
    "GET /v1/status": "Exchange.status",
    "GET /v1/sessions": "Exchange.sessions",
    "POST /v1/sessions": "Exchange.new_session",
    "POST /v1/sessions/{name}/stop": "Exchange.stop",
    "POST /v1/sessions/{name}/resume": "Exchange.resume",
    "POST /v1/sessions/{name}/renew": "Exchange.renew",
    "POST /v1/sessions/{name}/topic": "Exchange.make_topic",
    "POST /v1/sessions/{name}/tokens": "Exchange.make_token",
    "GET /v1/sessions/{name}/tokens": "Exchange.tokens_of",
    "POST /v1/sessions/{name}/tokens/{token}/revoke": "Exchange.revoke_token",
    "POST /v1/send": "Exchange.send",
    "POST /v1/ask": "Exchange.ask",
    "POST /v1/children": "Exchange.spawn",
    "GET /v1/answers/{message_id}": "Exchange.answer",
    "POST /v1/answers/{message_id}/read": "Exchange.read_answer",
    "POST /v1/messages/{message_id}/cancel": "Exchange.cancel",
    "GET /v1/inbox": "Exchange.inbox",
    "POST /v1/inbox/take": "Exchange.inbox",
    "POST /v1/inbox/wait": "Exchange.wait_inbox",
    "POST /v1/ack": "Exchange.ack",
    "GET /v1/traces/{ident}": "Exchange.trace",
    "GET /v1/terminal": "Terminals.happened",
    "POST /v1/terminal/events": "Terminals.happened",
    "POST /v1/terminal/join": "Terminals.join",
    "POST /v1/terminal/token": "Terminals.wait",
    "POST /v1/terminal/wait": "Terminals.wait",
    "GET /v1/approvals": "Oversight.approvals",
    "POST /v1/approvals/{message_id}": "Oversight.approve",
    "GET /v1/grants": "Oversight.grants",
    "POST /v1/grants": "Oversight.grant",
    "POST /v1/grants/{ident}/revoke": "Oversight.revoke",
    "GET /v1/decision": "Oversight.decision",
    "POST /v1/pause": "Oversight.pause",
    "POST /v1/resume": "Oversight.resume",
    "GET /v1/audit": "Oversight.audit",
    "GET /v1/gateways": "Gateways.every",
    "POST /v1/gateways": "Gateways.pair",
    "POST /v1/gateways/{name}/remove": "Gateways.remove",
}

TOOL_PATHS = {
    "peer_sessions": "Exchange.sessions",
    "peer_send": "Exchange.send",
    "peer_ask": "Exchange.ask",
    "peer_receive": "Exchange.receive",
    "peer_ack": "Exchange.ack",
    "peer_reply": "Exchange.reply",
    "peer_defer": "Exchange.defer",
    "peer_cancel": "Exchange.cancel",
    "peer_spawn": "Exchange.spawn",
}

COMMANDS: Mapping[str, str | None] = {
    "sessions": None,  # what a person of the profile may see
    "status": None,
    "help": None,
    "ask": "/ask career hello",
    "handoff": "/handoff career hello",
    "answer": "/answer yes",
    "stop": "/stop all",
    "resume": "/resume",
    "new": "/new",
    "rename": "/rename Mine",
    "close": "/close",
    "reopen": "/reopen",
    "delete": "/delete",
    "bind": "/bind career",
    "unbind": "/unbind",
    "queue": "/queue clear",
    "inbox": None,
    "trace": None,
    "allow": "/allow career",
    "deny": "/deny career",
    "policy": "/policy pause",
}

BUTTONS = (
    "ok",
    "okc",
    "okp",
    "no",
    "yes",
    "nay",
    "retry",
    "discard",
    "more",
    "answer",
    "stop",
    "clear",
    "keep",
    "delete",
    "stay",
)


async def recorded(on: Stage) -> list[Verdict | Act]:
    """The refusals that the audit shows."""
    person = await on.shell("shell", Origin.USER)
    page, _ = await on.exchange.oversight.audit(person, None, 50)
    return [one for one in page if isinstance(one, Act) or one.code is not None]


async def state_of(on: Stage) -> object:
    store = on.store
    sessions = [(one.id, one.rested, one.paused, one.alias) for one in await store.sessions()]
    return sessions, await store.bindings(), await store.unsettled(), await store.grants(), await store.regime()


@pytest.mark.parametrize("path", ATTEMPTS)
async def test_who_may_not_is_refused_leaves_everything_as_it_was_and_is_in_the_audit(path: str) -> None:
    async with stage(session("career"), session("stranger"), rules=STRANGERS) as on:
        message = (await on.send("career", "between two others", wake=False)).message_id
        agent = Caller(ident("stranger"), Origin.PEER, bound=True)
        before = await state_of(on)
        with pytest.raises(Refused) as refused:
            await ATTEMPTS[path](Scene(on, message, agent, await on.shell()))
        assert refused.value.code in FORBIDDEN
        assert await state_of(on) == before
        (record,) = await recorded(on)
        assert record.at == on.clock.now()


MENTIONS = ("@career hello", "@session:default/career hello", "@Career: hello")


@pytest.mark.parametrize("text", [*MENTIONS, *(text for text in COMMANDS.values() if text is not None)])
async def test_a_command_of_somebody_who_may_not_is_refused_and_recorded(text: str) -> None:
    async with stage(session("career"), session("stranger"), rules=STRANGERS) as on:
        before = await state_of(on)
        await on.say("stranger", text, USER)
        await on.quiet()
        assert await state_of(on) == before
        assert len(await recorded(on)) == 1


@pytest.mark.parametrize("verb", BUTTONS)
async def test_a_press_of_somebody_who_may_not_is_refused_and_recorded(verb: str) -> None:
    async with stage(session("career"), session("stranger"), rules=STRANGERS) as on:
        said = await on.exchange.inbound.press(Pressed(room("career"), USER, f"{verb}:any"))
        assert "only an operator" in said
        assert len(await recorded(on)) == 1


def test_every_method_of_the_core_is_tried_or_said_to_be_harmless() -> None:
    tried = {path.split(" ")[0] for path in ATTEMPTS} | HARMLESS.keys()
    there = {
        f"{kind.__name__}.{name}"
        for kind in (Exchange, Oversight, Gateways, Terminals)
        for name, method in inspect.getmembers(kind, inspect.iscoroutinefunction)
        if not name.startswith("_")
    }
    assert tried == there


def test_every_route_tool_and_command_leads_to_one_that_is_tried() -> None:
    known = {path.split(" ")[0] for path in ATTEMPTS} | HARMLESS.keys()
    paths = create_app(None).openapi()["paths"]  # type: ignore[arg-type]
    routes = {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods}
    assert routes == ROUTES.keys()
    assert {*ROUTES.values(), *TOOL_PATHS.values()} <= known
    assert TOOLS.keys() == TOOL_PATHS.keys()


async def test_every_command_is_tried() -> None:
    async with stage() as on:
        assert on.exchange.menu.keys() == COMMANDS.keys()
