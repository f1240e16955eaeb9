"""Real agents are large and slow: their tests are collected for `make agents` alone."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.acceptance.home import Home
from tests.agents.provider import Provider
from tests.fakes.bot_api import BotApi

if "REAL_AGENTS" not in os.environ:
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture
async def api() -> AsyncIterator[BotApi]:
    async with BotApi() as api:
        yield api


@pytest.fixture
async def provider() -> AsyncIterator[Provider]:
    async with Provider() as provider:
        yield provider


@pytest.fixture
async def home(tmp_path: Path, api: BotApi, provider: Provider) -> AsyncIterator[Home]:
    """Its bridge is a real command, and ends before what it talks to."""
    home = Home(tmp_path)
    yield home
    await home.close()
