"""Hermes' plugin as far as it goes without Hermes."""

import json
import logging
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from adapters.gateway.check import checked
from adapters.hermes import tieline_hermes
from adapters.hermes.tieline_hermes.host import Host, Unsuitable, title_of
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


def test_another_version_of_hermes_is_refused_clearly(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(tieline_hermes, "version", lambda: "0.20.0")
    with caplog.at_level(logging.ERROR):
        tieline_hermes.register(None)
    assert "0.20.0" in caplog.text
    assert "0.19.x" in caplog.text


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
