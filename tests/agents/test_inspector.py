"""The MCP inspector's command line lists and calls every tool, over both transports."""

import asyncio
import json
import shlex
from typing import Any

import pytest

from adapters.mcp.tools import TOOLS
from tests.acceptance.conftest import forks, home  # noqa: F401 - fixtures
from tests.acceptance.home import TIELINE, Home
from tests.agents.installed import NPM

PATIENCE_S = 120.0


class Inspector:
    def __init__(self, of: Home, address: str, token: str, transport: str) -> None:
        self._environ = {**of.environ, "HOME": str(of.path)}
        self._options: list[str] = []
        if transport == "http":
            self._target = [f"{address}/mcp", "--transport", "http", "--header", f"Authorization: Bearer {token}"]
        else:
            script = of.path / "tools"
            script.write_text(f"#!/bin/sh\nexec {shlex.join([*TIELINE, 'mcp'])}\n")
            script.chmod(0o700)
            self._target = [str(script)]
            self._options += ["-e", f"TIELINE_TOKEN={token}", "-e", f"TIELINE_HOME={of.path}"]

    async def run(self, method: str, *options: str) -> tuple[int, str, str]:
        process = await asyncio.create_subprocess_exec(
            *(str(NPM / "mcp-inspector"), "--cli", *self._options, *self._target, "--method", method, *options),
            env=self._environ,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            async with asyncio.timeout(PATIENCE_S):
                out, err = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        return process.returncode or 0, out.decode(), err.decode()

    async def said(self, method: str, *options: str) -> Any:
        code, out, err = await self.run(method, *options)
        assert out, (code, err)
        return json.loads(out)

    async def call(self, tool: str, **given: object) -> Any:
        pairs = [part for name, value in given.items() for part in ("--tool-arg", f"{name}={_written(value)}")]
        return await self.said("tools/call", "--tool-name", tool, *pairs)


def _written(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


@pytest.mark.timeout(600)  # each of its runs is a start of node
@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_the_inspector_lists_and_calls_every_tool(home: Home, transport: str) -> None:  # noqa: F811
    home.extra = '[web]\nlisten = "127.0.0.1:0"'
    home.session("build")
    home.session("other")
    home.worker("career", {"on": "mail", "script": "say forty-two"})
    home.rule("*", "*")
    ready = await home.up()
    made = await home.typed("session", "token", "build")
    inspector = Inspector(home, ready["web"], made.out.strip(), transport)
    called = set()

    async def call(tool: str, **given: object) -> Any:
        result = await inspector.call(tool, **given)
        called.add(tool)
        return result

    listed = (await inspector.said("tools/list"))["tools"]
    assert {tool["name"] for tool in listed} == TOOLS.keys()
    assert all(tool["outputSchema"]["type"] == "object" and tool["annotations"] for tool in listed)
    resources = (await inspector.said("resources/list"))["resources"]
    assert [one["uri"] for one in resources] == ["tieline://inbox", "tieline://sessions"]

    for text in ("one", "two", "three"):
        assert (await home.typed("send", "build", text, "--from", "other")).code == 0
    inbox = await inspector.said("resources/read", "--uri", "tieline://inbox")
    waiting = json.loads(inbox["contents"][0]["text"])
    assert waiting["waiting"] == 3
    mail = (await call("peer_receive", limit=10))["structuredContent"]["messages"]
    assert [one["text"] for one in mail] == ["one", "two", "three"]
    first, second, third = (one["message_id"] for one in mail)
    assert not (await call("peer_defer", message_id=first)).get("isError")
    assert (await call("peer_reply", message_id=second, text="done"))["structuredContent"]["to"] == "default/other"
    assert (await call("peer_ack", message_ids=[third]))["structuredContent"]["acked"] == [third]
    sessions = (await call("peer_sessions"))["structuredContent"]["sessions"]
    assert {one["id"] for one in sessions} >= {"default/career", "default/other"}
    asked = (await call("peer_ask", to="career", text="what is it?", timeout_s=30))["structuredContent"]
    assert asked["reply"]["text"] == "forty-two"
    sent = (await call("peer_send", to="other", text="later", wake=False))["structuredContent"]
    assert (await call("peer_cancel", message_id=sent["message_id"]))["structuredContent"]["answer"] == "cancelled"
    spawned = await call("peer_spawn", agent="career", title="A child", task="look")
    assert spawned["structuredContent"]["error"]["code"] == "not_permitted", "this session has no turn"
    assert called == TOOLS.keys()

    await home.typed("session", "revoke", "build", "client")
    code, out, _ = await inspector.run("tools/list")
    assert code != 0
    assert "peer_send" not in out
