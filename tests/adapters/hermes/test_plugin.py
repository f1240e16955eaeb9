"""Hermes' plugin as far as it goes without Hermes."""

import asyncio
import json
import logging
import os
import sys
from collections.abc import AsyncIterator
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from adapters.gateway.check import checked
from adapters.hermes import tieline_hermes
from adapters.hermes.tieline_hermes.desk import Desk
from adapters.hermes.tieline_hermes.host import Host, Unsuitable, title_of
from adapters.hermes.tieline_hermes.journal import Journal
from adapters.hermes.tieline_hermes.link import Frame
from adapters.hermes.tieline_hermes.turns import Turn, Turns
from adapters.mcp.tools import TOOLS


async def test_it_keeps_to_the_link_in_all_that_the_check_looks_at() -> None:
    seen: list[dict[str, Any]] = []
    command = (sys.executable, "-m", "tests.adapters.hermes.driven")
    assert await checked(command, os.environ, seen.append), [one for one in seen if not one["ok"]]


def test_its_tools_are_those_of_the_bridge() -> None:
    """They are in a file, for Hermes asks for them before there is any bridge."""
    kept = json.loads((Path(tieline_hermes.__file__).parent / "tools.json").read_text())
    described = [tool.described() for tool in TOOLS.values()]
    assert kept == [
        {"name": one.name, "description": one.description, "parameters": one.input_schema} for one in described
    ]


@pytest.fixture
async def bridge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[asyncio.Queue[Frame]]:
    """What the plugin tells a bridge, in a home of Hermes' that is paired."""
    told: asyncio.Queue[Frame] = asyncio.Queue()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert await reader.readline() == b"TIELINE-GATEWAY 1 the-token\n"
        writer.write(b'{"type":"welcome"}\n')
        while line := await reader.readline():
            told.put_nowait(json.loads(line))
        writer.close()

    for folder in ("run", "hermes/tieline"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "hermes" / "tieline" / "token").write_text("the-token\n")
    monkeypatch.setenv("HERMES_HOME", str(tmp_path / "hermes"))
    monkeypatch.setenv("TIELINE_HOME", str(tmp_path))
    server = await asyncio.start_unix_server(serve, path=str(tmp_path / "run" / "control.sock"))
    yield told
    (tmp_path / "hermes" / "tieline" / "token").unlink()
    server.close()


async def next_of(told: asyncio.Queue[Frame], kind: str) -> Frame:
    async with asyncio.timeout(20):
        while (frame := await told.get())["type"] != kind:
            pass
    return frame


async def test_another_version_of_hermes_is_refused_clearly_and_the_bridge_is_told(
    bridge: asyncio.Queue[Frame], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(tieline_hermes, "version", lambda: "0.20.0")
    monkeypatch.setitem(sys.modules, "gateway.run", ModuleType("gateway.run"))
    with caplog.at_level(logging.ERROR):
        tieline_hermes.register(None)
    told = await next_of(bridge, "hello")
    assert told["unfit"] == "this is Hermes 0.20.0, and the plugin knows 0.19.x"
    assert told["unfit"] in caplog.text


async def test_a_fresh_context_is_told_though_its_session_was_seen_with_it_already(
    bridge: asyncio.Queue[Frame], tmp_path: Path
) -> None:
    entry = SimpleNamespace(
        session_key="key", session_id="old", origin=SimpleNamespace(chat_topic="Career"), resume_pending=False
    )
    desk = Desk(tmp_path / "hermes", tmp_path / "run" / "control.sock", "test")
    desk.host = SimpleNamespace(entries=lambda: [entry])  # type: ignore[assignment]
    desk.link.start()
    assert (await next_of(bridge, "session"))["alias"] == "old"
    entry.session_id = "new"
    assert (await next_of(bridge, "session"))["alias"] == "new"
    desk.hooks.on_session_reset(old_session_id="old")
    assert (await next_of(bridge, "reset"))["key"] == "key"
    desk.link.close()


async def test_a_post_that_is_told_again_while_it_is_being_shown_is_shown_once(
    bridge: asyncio.Queue[Frame], tmp_path: Path
) -> None:
    shown: list[str] = []
    go_on = asyncio.Event()

    async def show(key: str, text: str, receipt: str | None) -> str:
        shown.append(text)
        await go_on.wait()
        return "receipt-1"

    desk = Desk(tmp_path / "hermes", tmp_path / "run" / "control.sock", "test")
    desk.host = SimpleNamespace(entries=list, show=show)  # type: ignore[assignment]
    desk.link.start()
    await next_of(bridge, "ready")
    post = {"type": "post", "id": "1", "key": "key", "text": "hello", "receipt": None}
    showing = [asyncio.create_task(desk._show(post)) for _ in range(2)]
    go_on.set()
    await asyncio.gather(*showing)
    assert [(await next_of(bridge, "posted"))["receipt"] for _ in showing] == ["receipt-1"] * 2
    assert shown == ["hello"]
    desk.link.close()


def test_what_terminals_have_of_the_bridges_tools_is_kept_from_topics(tmp_path: Path) -> None:
    desk = Desk(tmp_path, tmp_path / "control.sock", "test")
    assert desk.hooks.pre_tool_call(tool_name="mcp__tieline__peer_send") is None  # This process is no gateway.
    desk.host = SimpleNamespace()  # type: ignore[assignment]
    told = desk.hooks.pre_tool_call(tool_name="mcp__tieline__peer_send")
    assert told == {"action": "block", "message": "That tool speaks for a terminal. Use mcp_tieline_peer_send."}
    assert desk.hooks.pre_tool_call(tool_name="mcp_tieline_peer_send") is None


def test_without_a_bridge_only_the_last_turns_of_people_are_kept(tmp_path: Path) -> None:
    turns = Turns(Journal(tmp_path / "turns.json"))
    for number in range(150):
        turns.add(Turn("key", f"own-{number}", own=True, state="over"))
    kept = [turn.name for turn in turns.of_people()]
    assert (len(kept), kept[-1]) == (100, "own-149")


def test_a_gateway_without_what_the_plugin_needs_is_refused_by_name() -> None:
    with pytest.raises(Unsuitable, match="_queue_depth"):
        Host(SimpleNamespace(session_store=None, _running_agents={}, _draining=False, _running=True))


@pytest.mark.parametrize(
    ("origin", "title"),
    [
        ({"chat_topic": "Front Desk", "thread_id": "42"}, "Front Desk"),
        ({"chat_topic": None, "thread_id": "42", "chat_name": "Office"}, "Office 42"),
        ({"chat_topic": None, "thread_id": None, "chat_name": "Olga"}, "Olga"),
    ],
)
def test_a_session_is_called_by_its_topic(origin: dict[str, str | None], title: str) -> None:
    assert title_of(SimpleNamespace(origin=SimpleNamespace(**origin), display_name=None)) == title


@pytest.mark.parametrize("loading", [True, False])
def test_a_gateway_that_is_still_being_loaded_is_no_unknown_version(
    monkeypatch: pytest.MonkeyPatch, loading: bool
) -> None:
    module = ModuleType("gateway.run")
    module.__spec__ = ModuleSpec("gateway.run", None)
    module.__spec__._initializing = loading  # type: ignore[attr-defined]  # as the import system marks it
    monkeypatch.setitem(sys.modules, "gateway.run", module)
    if loading:
        assert Host.found() is None
    else:
        with pytest.raises(Unsuitable, match="_gateway_runner_ref"):
            Host.found()
