"""Every tool, called by the official client on the real core: what comes back is what its schema says."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from mcp import Client

from adapters.mcp.server import serve
from adapters.mcp.tools import TOOLS
from bridge.decision import Verb
from bridge.message import Intent
from bridge.ports.runtime import Prompt
from bridge.views import Send
from tests.adapters.api.live import serving
from tests.adapters.mcp.agent import pipe
from tests.adapters.mcp.web import client, listening
from tests.fakes.runtime import FakeAgent, FakeRuntime
from tests.flow.stage import Stage, rule, session, stage

Connect = Callable[[str], Any]
READS = {"peer_sessions", "peer_receive"}
ENDS = {"peer_cancel"}


@asynccontextmanager
async def connecting(on: Stage, home: Path, transport: str, mode: str) -> AsyncIterator[Connect]:
    """What connects a client by its token."""
    exchange: Any = on.exchange
    if transport == "http":
        async with listening(exchange) as address:
            yield partial(client, address, mode=mode)
    else:
        async with serving(exchange, home, partial(serve, exchange=exchange, version="0.1.0")):
            yield lambda token: Client(pipe(home, token), mode=mode)


class Caller:
    """Calls tools, and looks at what comes back."""

    def __init__(self, of: Client, schemas: dict[str, Any], called: set[str]) -> None:
        self._of = of
        self._schemas = schemas
        self._called = called

    async def __call__(self, name: str, **given: Any) -> Any:
        result: Any = await self._of.call_tool(name, given)
        assert not result.is_error, result
        jsonschema.validate(result.structured_content, self._schemas[name])
        self._called.add(name)
        return result.structured_content


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_every_tool_gives_what_its_schema_says(tmp_path: Path, transport: str, mode: str) -> None:
    called: set[str] = set()
    over = asyncio.Event()
    hints: dict[str, Any] = {}
    rules = [rule("*", "*"), rule("*", "*", [Verb.SPAWN])]
    desk, career, sleeper = session("desk"), session("career"), session("sleeper", agent=None)
    async with (
        stage(desk, career, sleeper, rules=rules, runtime=FakeRuntime()) as on,
        connecting(on, tmp_path, transport, mode) as connect,
    ):

        async def answers(agent: FakeAgent, prompt: Prompt) -> str:
            await on.tools(agent).receive()
            return "42"

        async def work(agent: FakeAgent, prompt: Prompt) -> str:
            async with connect(agent.token) as one:
                tools = (await one.list_tools()).tools
                hints.update({tool.name: tool.annotations for tool in tools})
                await _use_all(Caller(one, {tool.name: tool.output_schema for tool in tools}, called))
            over.set()
            return "not the answer"

        on.agent("career", answers)
        on.agent("desk", work)
        on.helper(answers)
        await on.send("desk", "some news", wake=False, intent=Intent.INFORM)
        asked = await on.exchange.ask(await on.shell(), Send("desk", "do it", wake=True), 60)
        await over.wait()
    assert asked.reply is not None
    assert asked.reply.text == "done"
    assert called == TOOLS.keys() == hints.keys()
    assert {name for name, hint in hints.items() if hint.read_only_hint} == READS
    assert {name for name, hint in hints.items() if hint.destructive_hint} == ENDS
    assert not any(hint.open_world_hint for hint in hints.values())


async def _use_all(call: Callable[..., Awaitable[Any]]) -> None:
    read = await call("peer_receive", limit=50)
    request, news = read["messages"]
    assert [request["text"], news["text"]] == ["do it", "some news"]
    assert (await call("peer_ack", message_ids=[news["message_id"]]))["acked"] == [news["message_id"]]
    ids = {one["id"] for one in (await call("peer_sessions"))["sessions"]}
    assert {"default/career", "default/sleeper"} <= ids
    assert (await call("peer_ask", to="career", text="?", timeout_s=60))["reply"]["text"] == "42"
    sent = await call("peer_send", to="sleeper", text="later", wake=False)
    assert (await call("peer_cancel", message_id=sent["message_id"]))["answer"] == "cancelled"
    child = await call("peer_spawn", agent="helper", title="A helper", task="look it up")
    assert child["session"].startswith("default/")
    await call("peer_defer", message_id=request["message_id"])
    await call("peer_reply", message_id=request["message_id"], text="done")
