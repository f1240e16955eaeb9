"""Real Claude Code in a tmux window, as an ordinary user, with the plugin that `tieline hook install` gives it."""

import asyncio
import json
import shutil
from collections.abc import AsyncIterator, Iterator
from itertools import count

import pytest

from bridge.notices import MAIL_BESIDE_WORK
from tests.agents.beside import ANSWER, AT_ONCE_S, CANARY, Beside, beside
from tests.agents.messages import Messages
from tests.agents.provider import Calls, Provider, Waits
from tests.agents.window import Person, Window, person

pytestmark = [pytest.mark.timeout(240), pytest.mark.skipif(shutil.which("tmux") is None, reason="it needs tmux")]


@pytest.fixture
def somebody() -> Iterator[Person]:
    with person() as somebody:
        yield somebody


@pytest.fixture
async def there(somebody: Person) -> AsyncIterator[Beside]:
    """Its person has said yes to all that it asks at its first start."""
    async with Provider(Messages()) as provider:
        begun = {
            "hasCompletedOnboarding": True,
            "theme": "dark",
            "customApiKeyResponses": {"approved": [provider.key[-20:]], "rejected": []},
            "projects": {
                str(somebody.folder("work")): {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
            },
        }
        permissions = {"allow": ["mcp__plugin_tieline_tieline", "Bash"]}
        somebody.file(".claude.json", json.dumps(begun))
        somebody.file(".claude/settings.json", json.dumps({"permissions": permissions}))
        variables = {
            "ANTHROPIC_BASE_URL": provider.url,
            "ANTHROPIC_API_KEY": provider.key,
            "ANTHROPIC_MODEL": "stub",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "ENABLE_TOOL_SEARCH": "false",
        }
        async with beside(somebody, provider, "claude-code", variables, "work-claude-code") as there:
            there.answers()
            yield there


async def test_claude_code_hears_of_mail_at_work_is_woken_when_idle_and_answers(there: Beside) -> None:
    come = asyncio.Event()
    there.model.on("please work", Waits(come, Calls("Bash", {"command": "echo worked", "description": "work"})))
    async with there.window("claude --permission-mode default") as window:
        await window.shows("? for shortcuts")
        await there.sees("work-claude-code", lambda one: one["live"])
        await _has_tools(there, window)
        await window.types("please work")
        await there.model.is_asked("please work")
        await there.sends("work-claude-code", f"{CANARY} 1")
        come.set()
        told = await there.model.is_asked(MAIL_BESIDE_WORK)
        assert "worked" in told.last.text
        await window.shows("That is all.")
        await there.idle("work-claude-code")
        assert await there.inbox() == [("default/work-claude-code", "peer", ANSWER)]

        assert await there.wakes("work-claude-code", f"{CANARY} 2") < AT_ONCE_S
        await there.idle("work-claude-code")
        there.never_as_its_persons_words()
    await there.sees("work-claude-code", lambda one: not one["live"])


async def _has_tools(there: Beside, window: Window) -> None:
    """It connects with its tool servers beside its first turns."""
    for number in count(1):
        await window.types(f"hello {number}")
        asked = await there.model.is_asked(f"hello {number}")
        await there.idle("work-claude-code")
        if any(tool.endswith("peer_receive") for tool in asked.tools):
            return
