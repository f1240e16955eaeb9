"""Who may join as an agent in a person's terminal, as far as the door can tell. The rest is tried in real terminals."""

import sys
from pathlib import Path

import pytest

from adapters.api.ancestry import SHELLS
from bridge.caller import Descent
from tests.adapters.api.live import http, post, serving
from tests.adapters.api.memory_exchange import DESK, MemoryExchange

JOIN = {"client": "claude-code", "cwd": "/srv/work", "session": None}


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nobody can tell")
@pytest.mark.parametrize("descent", [Descent.LEFT, Descent.FOREIGN])
async def test_what_an_agent_has_left_behind_joins_as_nobody(tmp_path: Path, descent: Descent) -> None:
    exchange = MemoryExchange()
    async with serving(exchange, tmp_path, descent_of=lambda pids: descent):
        status, answer = await post(tmp_path, "/v1/terminal/join", JOIN)
    assert (status, answer["error"]["code"]) == (403, "not_permitted")
    assert "no session of its own" in answer["error"]["reason"]
    assert exchange.turned == [(None, "POST /v1/terminal/join")]


async def test_who_has_a_token_is_somebody_already(tmp_path: Path) -> None:
    exchange = MemoryExchange(tokens={"desk-token": DESK})
    async with serving(exchange, tmp_path):
        status, answer = await post(tmp_path, "/v1/terminal/join", JOIN, Authorization="Bearer desk-token")
        assert (status, answer["error"]["code"]) == (403, "not_permitted")
        for name, unwanted in (("client", ""), ("cwd", "x" * 5_000), ("origin", "user")):
            assert (await post(tmp_path, "/v1/terminal/join", {**JOIN, name: unwanted}))[0] == 400
        assert (await post(tmp_path, "/v1/terminal/events", {"event": "anything"}))[0] == 400
        assert (await http(tmp_path, "GET", "/v1/terminal"))[1] == {"session": None, "agent": None}


def test_a_shell_is_no_agent() -> None:
    assert {"bash", "zsh", "tmux"} <= SHELLS
