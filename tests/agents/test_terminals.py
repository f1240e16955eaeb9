"""Agents that a person has started in a terminal (tmux), against providers on loopback."""

import json
from collections.abc import Iterator

import pytest

from tests.agents.installed import path
from tests.agents.messages import Messages
from tests.agents.provider import Provider, Says
from tests.agents.responses import Responses
from tests.agents.window import Person, Window, person


@pytest.fixture
def somebody() -> Iterator[Person]:
    with person() as somebody:
        yield somebody


def claude(somebody: Person, provider: Provider) -> Window:
    work = somebody.folder("work")
    known = {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "customApiKeyResponses": {"approved": [provider.key[-20:]], "rejected": []},
        "projects": {str(work): {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}},
    }
    somebody.file(".claude.json", json.dumps(known))
    env = {
        "PATH": path(),
        "ANTHROPIC_BASE_URL": provider.url,
        "ANTHROPIC_API_KEY": provider.key,
        "ANTHROPIC_MODEL": "stub",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }
    return Window(somebody, "claude", cwd=work, env=env)


def codex(somebody: Person, provider: Provider) -> Window:
    work = somebody.folder("work")
    somebody.file(
        ".codex/config.toml",
        f"""model = "stub"
model_provider = "stub"
check_for_update_on_startup = false
[model_providers.stub]
name = "stub"
base_url = "{provider.url}/v1"
wire_api = "responses"
env_key = "STUB_KEY"
[projects."{work}"]
trust_level = "trusted"
""",
    )
    return Window(somebody, "codex", cwd=work, env={"PATH": path(), "STUB_KEY": provider.key})


async def test_claude(somebody: Person) -> None:
    async with Provider(Messages()) as provider, claude(somebody, provider) as window:
        provider.model("stub").on("hello there", Says("hello yourself"))
        await window.shows("? for shortcuts")
        await window.types("hello there")
        await window.shows("hello yourself")


async def test_codex(somebody: Person) -> None:
    async with Provider(Responses()) as provider, codex(somebody, provider) as window:
        provider.model("stub").on("hello there", Says("hello yourself"))
        await window.shows("stub default")
        await window.types("hello there")
        await window.shows("hello yourself")
