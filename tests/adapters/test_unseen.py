"""An agent that asks about what it may not discover is told, by each interface, what it is told about nothing at all.

That is the same answer to the byte, but for the name that it asked about.
"""

import asyncio
import contextlib
import io
import json
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

import pytest
from mcp import Client

from adapters.cli import exits
from adapters.cli.main import main
from adapters.mcp.server import serve
from bridge.errors import Code
from bridge.ports.runtime import Prompt
from bridge.views import Receipt
from tests.adapters.api.live import http, serving
from tests.adapters.api.memory_exchange import MemoryExchange
from tests.adapters.mcp.agent import pipe
from tests.fakes.runtime import FakeAgent
from tests.flow.stage import Stage, rule, session, stage
from tests.flow.test_paths import ROUTES, TOOL_PATHS

MISSING = "01a3185c-0000-7000-8000-000000000000"
NAME = "NAME"

BODIES: dict[str, list[dict[str, object]]] = {
    "POST /v1/sessions": [{"handle": NAME}],
    "POST /v1/sessions/{name}/stop": [{"everything": True}],
    "POST /v1/sessions/{name}/resume": [{}],
    "POST /v1/sessions/{name}/renew": [{}],
    "POST /v1/sessions/{name}/topic": [{}],
    "POST /v1/sessions/{name}/tokens": [{"name": "mine"}],
    "POST /v1/sessions/{name}/tokens/{token}/revoke": [{}],
    "POST /v1/terminal/join": [{"client": "agent", "cwd": "/", "session": NAME}],
    "POST /v1/terminal/events": [{"event": "tool"}],
    "POST /v1/terminal/token": [{}],
    "POST /v1/terminal/wait": [{}],
    "POST /v1/gateways": [{"name": NAME}],
    "POST /v1/gateways/{name}/remove": [{}],
    "POST /v1/send": [
        {"to": NAME, "text": "hello"},
        {"to": NAME, "text": "hello", "wake": True, "key": "once"},
        {"to": NAME, "text": "hello", "from": NAME},
        {"to": "finance", "text": "hello", "in_reply_to": NAME},
    ],
    "POST /v1/ask": [{"to": NAME, "text": "hello", "timeout_s": 0}],
    "POST /v1/children": [{"agent": NAME, "title": "A helper", "task": "hello"}],
    "POST /v1/answers/{message_id}/read": [{}],
    "POST /v1/messages/{message_id}/cancel": [{}],
    "POST /v1/inbox/take": [{"session": NAME}],
    "POST /v1/inbox/wait": [{"session": NAME, "timeout_s": 0}],
    "POST /v1/ack": [{"message_ids": [NAME]}],
    "POST /v1/approvals/{message_id}": [{"verdict": "approve"}, {"verdict": "deny"}],
    "POST /v1/grants": [{"from": "desk", "to": NAME, "verbs": ["send"]}],
    "POST /v1/grants/{ident}/revoke": [{}],
    "POST /v1/pause": [{}],
    "POST /v1/resume": [{}],
}
QUERIES = {"GET /v1/inbox": f"?session={NAME}", "GET /v1/sessions": f"?cursor=default/{NAME}"}

CALLS: dict[str, list[dict[str, object]]] = {
    "peer_sessions": [{"scope": "all", "cursor": f"default/{NAME}"}],
    "peer_send": [{"to": NAME, "text": "hello"}, {"to": "finance", "text": "hello", "in_reply_to": NAME}],
    "peer_ask": [{"to": NAME, "text": "hello", "timeout_s": 0}],
    "peer_receive": [{}],
    "peer_ack": [{"message_ids": [NAME]}],
    "peer_reply": [{"message_id": NAME, "text": "yes"}, {"message_id": NAME, "text": "?", "kind": "question"}],
    "peer_defer": [{"message_id": NAME}],
    "peer_cancel": [{"message_id": NAME}],
    "peer_spawn": [{"agent": NAME, "title": "A helper", "task": "hello"}],
}

COMMANDS = {
    "secret": [
        ("send", NAME, "hello"),
        ("send", NAME, "hello", "--json"),
        ("send", "finance", "hello", "--from", NAME),
        ("ask", NAME, "hello", "--timeout", "0"),
        ("inbox", "--session", NAME),
        ("inbox", "--session", NAME, "--take"),
        ("session", "stop", NAME),
        ("session", "resume", NAME),
        ("session", "renew", NAME),
        ("session", "new", NAME),
        ("policy", "allow", "desk", NAME),
    ],
    "message": [
        ("send", "finance", "hello", "--reply-to", NAME),
        ("ack", NAME),
        ("cancel", NAME),
        ("trace", NAME),
        ("trace", NAME, "--json"),
        ("approvals", "approve", NAME),
        ("approvals", "deny", NAME),
        ("policy", "revoke", NAME),
    ],
}


class Scene:
    """The token of the agent in a turn of `desk`, and a message of others."""

    def __init__(self, home: Path, token: str, message: Receipt) -> None:
        self.home = home
        self.token = token
        self.message = message.message_id
        self.pairs = {
            "secret": "sealed",
            "default/secret": "default/sealed",
            message.message_id: MISSING,
            message.conversation_id: MISSING,
        }


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    rules = [rule("default/desk", "default/finance"), rule("default/shell", "default/secret")]
    async with stage(session("desk"), session("finance"), session("secret"), rules=rules) as on:
        exchange = cast(MemoryExchange, on.exchange)
        async with serving(exchange, tmp_path, partial(serve, exchange=exchange, version="test")):
            token = await _at_work(on)
            yield Scene(tmp_path, token, await on.send("secret", "of others", wake=False))


async def _at_work(on: Stage) -> str:
    calling: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def desk(agent: FakeAgent, prompt: Prompt) -> str:
        calling.set_result(agent.token)
        await asyncio.Event().wait()
        return ""

    on.agent("desk", desk)
    await on.say("desk", "look around")
    return await calling


def named(template: object, name: str) -> Any:
    return json.loads(json.dumps(template).replace(NAME, name))


async def test_by_the_control_api(scene: Scene) -> None:
    async def told(route: str, body: dict[str, object] | None, name: str) -> str:
        method, _, path = route.partition(" ")
        for part in ("{name}", "{message_id}", "{ident}"):
            path = path.replace(part, quote(name, safe=""))
        given = json.dumps(named(body, name)).encode() if body is not None else None
        target = path + QUERIES.get(route, "").replace(NAME, quote(name, safe=""))
        answer = await http(scene.home, method, target, given, {"Authorization": f"Bearer {scene.token}"})
        return json.dumps(answer).replace(name, NAME)

    assert {route for route in ROUTES if route.startswith("POST")} == BODIES.keys()
    for route in ROUTES:
        for body in BODIES.get(route, [None]):
            for hidden, missing in scene.pairs.items():
                assert await told(route, body, hidden) == await told(route, body, missing), (route, body)


async def test_by_the_tools(scene: Scene) -> None:
    async with Client(pipe(scene.home, scene.token)) as client:

        async def told(tool: str, given: dict[str, object], name: str) -> str:
            result = await client.call_tool(tool, named(given, name))
            return result.model_dump_json().replace(name, NAME)

        assert CALLS.keys() == TOOL_PATHS.keys()
        for tool, every in CALLS.items():
            for given in every:
                for hidden, missing in scene.pairs.items():
                    assert await told(tool, given, hidden) == await told(tool, given, missing), (tool, given)


async def test_by_the_shell(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIELINE_HOME", str(scene.home))
    monkeypatch.setenv("TIELINE_TOKEN", scene.token)

    def ran(arguments: tuple[str, ...]) -> tuple[int, str, str]:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(arguments)
        assert code == exits.of_refusal(Code.UNKNOWN_SESSION), out.getvalue()
        return code, out.getvalue(), err.getvalue()

    async def told(command: tuple[str, ...], name: str) -> str:
        return repr(await asyncio.to_thread(ran, tuple(named(command, name)))).replace(name, NAME)

    for of, commands in COMMANDS.items():
        hidden = scene.message if of == "message" else of
        for command in commands:
            assert await told(command, hidden) == await told(command, scene.pairs[hidden]), command
