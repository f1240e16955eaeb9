"""A client of a person's own, over the loopback and over `tieline mcp`, by a token that the person has made."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from tests.acceptance.home import TIELINE, Home, exist
from tests.acceptance.terminal import Ran
from tests.adapters.mcp.web import client

TRANSPORTS = pytest.mark.parametrize("transport", ["stdio", "http"])


async def up(home: Home) -> str:
    """Returns where the bridge listens."""
    home.extra = '[web]\nlisten = "127.0.0.1:0"'
    home.session("build")
    home.session("other")
    gate = home.path / "gate"
    home.worker("career", {"on": "mail", "script": f"touch {home.path}/asked ; wait-for {gate} ; say forty-two"})
    home.rule("*", "*")
    address: str = (await home.up())["web"]
    assert address.startswith("http://127.0.0.1:")
    return address


async def token(home: Home, handle: str = "build", *options: str) -> str:
    made = await home.typed("session", "token", handle, *options)
    assert made.code == 0, made.err
    return made.out.strip()


async def bound(home: Home, secret: str, *arguments: str) -> Ran:
    """A command with the token in its environment."""
    home.variables = {"TIELINE_TOKEN": secret}
    try:
        return await home.tieline(*arguments)
    finally:
        home.variables = {}


@asynccontextmanager
async def connected(home: Home, address: str, secret: str, transport: str) -> AsyncIterator[Client]:
    if transport == "http":
        async with client(address, secret) as one:
            yield one
        return
    environ = {**home.environ, "TIELINE_TOKEN": secret}
    pipe = StdioServerParameters(command=TIELINE[0], args=[*TIELINE[1:], "mcp"], env=environ)
    async with Client(pipe) as one:
        yield one


@TRANSPORTS
async def test_a_token_of_one_session_asks_and_cannot_read_the_mail_of_another(home: Home, transport: str) -> None:
    address = await up(home)
    (home.path / "gate").touch()
    mine, others = await token(home), await token(home, "other")
    await home.typed("send", "other", "for other alone")
    async with connected(home, address, mine, transport) as one:
        asked: Any = await one.call_tool("peer_ask", {"to": "career", "text": "what is it?", "timeout_s": 30})
        mail: Any = await one.call_tool("peer_receive", {})
        read: Any = await one.read_resource("tieline://inbox")
    async with connected(home, address, others, transport) as one:
        theirs: Any = await one.call_tool("peer_receive", {})
    assert asked.structured_content["reply"]["text"] == "forty-two"
    assert mail.structured_content["messages"] == []
    assert json.loads(read.contents[0].text)["waiting"] == 0
    assert [message["text"] for message in theirs.structured_content["messages"]] == ["for other alone"]
    peeped = await bound(home, mine, "inbox", "--session", "other")
    assert peeped.code == 77


@TRANSPORTS
async def test_a_revoked_token_is_dead_at_once_also_in_the_middle_of_a_question(home: Home, transport: str) -> None:
    address = await up(home)
    secret = await token(home)
    async with connected(home, address, secret, transport) as one:
        call = one.call_tool("peer_ask", {"to": "career", "text": "what is it?", "timeout_s": 300})
        asking = asyncio.create_task(call)
        await exist(home.path / "asked")
        done = await home.typed("session", "revoke", "build", "client")
        assert done.code == 0
        result: Any = await asking
        assert result.structured_content["error"]["code"] == "not_permitted"
        with pytest.raises(Exception):  # noqa: B017, PT011 - each transport tells it in a way of its own
            (await one.call_tool("peer_receive", {})).structured_content["messages"]
    (home.path / "gate").touch()
    assert (await bound(home, secret, "inbox")).code == 77


async def test_tokens_are_listed_without_what_they_are_and_hold_over_a_restart(home: Home) -> None:
    await up(home)
    secret = await token(home, "build", "--name", "editor")
    again = await home.typed("session", "token", "build", "--name", "editor", "--json")
    assert again.json["error"]["code"] == "invalid_request"
    await home.down()
    await home.up()
    assert (await bound(home, secret, "inbox")).code == 0
    (listed,) = (await home.typed("session", "tokens", "build", "--json")).lines
    assert set(listed) == {"session", "name", "made_at", "used_at"}
    assert (listed["session"], listed["name"]) == ("default/build", "editor")
    assert secret not in home.stderr.read_text()
    stored = b"".join(path.read_bytes() for path in home.path.glob("tieline.db*"))
    assert secret.encode() not in stored


async def test_an_agent_or_a_program_makes_no_token(home: Home) -> None:
    await up(home)
    secret = await token(home)
    for command in (["token", "build", "--name", "more"], ["tokens", "build"], ["revoke", "build", "client"]):
        assert (await bound(home, secret, "session", *command)).code == 77


async def test_a_port_that_is_taken_is_told_at_the_start(home: Home) -> None:
    address = await up(home)
    port = address.rpartition(":")[2]
    other = home.path / "other"
    other.mkdir(mode=0o700)
    (other / "tieline.toml").write_text(f'[web]\nlisten = "127.0.0.1:{port}"\n')
    process = await asyncio.create_subprocess_exec(
        *TIELINE,
        "run",
        env={**os.environ, "TIELINE_HOME": str(other)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    assert (process.returncode, out) == (70, b"")
    assert f"127.0.0.1:{port} cannot be listened at" in err.decode()
