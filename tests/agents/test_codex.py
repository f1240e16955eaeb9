"""Real Codex in tmux windows, whose background server runs all of them, with what `tieline hook install` gives it."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from bridge.notices import MAIL_BESIDE_WORK
from tests.agents.beside import ANSWER, AT_ONCE_S, CANARY, Beside, beside, shell
from tests.agents.provider import Asked, Calls, Makes, Provider, Says, Waits
from tests.agents.responses import Responses
from tests.agents.window import Person, Window, person

pytestmark = [pytest.mark.timeout(300), pytest.mark.skipif(shutil.which("tmux") is None, reason="it needs tmux")]

CONFIG = """# Mine.
model = "stub"
model_provider = "stub"
check_for_update_on_startup = false
# Whatever it may do shall ask nobody, for nobody is there to say yes.
sandbox_mode = "danger-full-access"
approval_policy = "never"
[model_providers.stub]
name = "stub"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "STUB_KEY"
[projects."{work}"]
trust_level = "trusted"
"""


@pytest.fixture
def somebody() -> Iterator[Person]:
    with person() as somebody:
        yield somebody


@pytest.fixture
async def there(somebody: Person) -> AsyncIterator[Beside]:
    async with Provider(Responses()) as provider:
        somebody.file(".codex/config.toml", CONFIG.format(url=provider.url, work=somebody.folder("work")))
        variables = {"STUB_KEY": provider.key}
        async with beside(somebody, provider, "codex", variables, "work-codex", "work-codex-2") as there:
            there.answers()
            yield there


@asynccontextmanager
async def trusted(there: Beside) -> AsyncIterator[Window]:
    """Its first window, in which the person says yes to the hooks."""
    async with there.window("codex") as window:
        await window.shows("Hooks need review")
        await window.moves_to("› 2.")
        await window.presses("Enter")
        await window.shows("stub default")
        yield window


async def test_codex_hears_of_mail_at_work_is_woken_when_idle_and_answers(there: Beside) -> None:
    come = asyncio.Event()
    there.model.on("please work", Waits(come, Calls("exec_command", {"cmd": "echo worked"})))
    there.model.on("worked", Makes(_looks), tool="exec_command")
    async with trusted(there) as window:
        await window.types("please work")
        await there.model.is_asked("please work")
        await there.sees("work-codex", lambda one: one["live"] and one["activity"] == "thinking")
        await there.sends("work-codex", f"{CANARY} 1")
        come.set()
        await there.model.is_asked(CANARY)
        await window.shows("That is all.")
        await there.idle("work-codex")
        assert await there.inbox() == [("default/work-codex", "peer", ANSWER)]

        assert await there.wakes("work-codex", f"{CANARY} 2") < AT_ONCE_S
        await there.idle("work-codex")
        there.never_as_its_persons_words()
        assert "allow" not in (await window.screen()).casefold()


async def test_two_terminals_share_a_server_and_are_two_sessions_for_as_long_as_they_are_open(there: Beside) -> None:
    there.model.on("begin", Says("begun"))
    for name, more in (("told", ()), ("lied", ("env", "CODEX_THREAD_ID=another"))):
        command = " ".join((*more, shell("send", "desk", name, "--intent", "inform"), "; echo over"))
        there.model.on(name, Calls("exec_command", {"cmd": command}))
    there.model.on("over", Says("did it"), tool="exec_command")
    async with trusted(there) as first:
        await first.types("begin")
        await there.idle("work-codex")
        async with there.window("codex") as second:
            await second.shows("stub default")
            await second.types("begin")
            await there.idle("work-codex-2")
            for session, text in (("work-codex", "A"), ("work-codex-2", "B"), ("work-codex", "C")):
                assert await there.asks(session, f"{CANARY} {text}") == ANSWER
            assert not [one for one in there.model.asked if _holds(one, f"{CANARY} B") and _holds(one, f"{CANARY} A")]
            there.never_as_its_persons_words()

            # What their tools start is of the thread that it was started for, whatever it says of itself.
            for name in ("told", "lied"):
                await second.types(name)
                await there.model.is_asked("over", 1 if name == "told" else 2)
            told = [(who, text) for who, _, text in await there.inbox() if text != ANSWER]
            assert told == [("default/work-codex-2", "told"), ("default/work-codex-2", "lied")]

            # The server has come from the first terminal, and lives on without it.
            await first.hangs_up()
            await there.sees("work-codex", lambda one: not one["live"] and one["reachable"] == "pull")
            await there.home.kill()
            await there.home.up()
            assert (await there.sees("work-codex", lambda one: True))["live"] is False
            await second.types("begin")
            await there.idle("work-codex-2")
            assert await there.asks("work-codex-2", f"{CANARY} D") == ANSWER
            await there.idle("work-codex-2")
            times = len(there.model.asked)
            await there.sends("work-codex", f"{CANARY} E")
        await there.sees("work-codex-2", lambda one: not one["live"] and one["reachable"] == "pull")
        await there.sends("work-codex-2", f"{CANARY} F")
    await there.alone()
    assert len(there.model.asked) == times
    async with there.window("codex resume --last") as again:
        await again.shows("stub default")
        await again.types("begin")
        await there.sees("work-codex-2", lambda one: one["live"])
        await there.model.is_asked(f"{CANARY} F")
        await there.idle("work-codex-2")
        assert not (await there.sees("work-codex", lambda one: True))["live"]
        there.never_as_its_persons_words()


def _looks(asked: Asked) -> Calls | Says:
    """Whether it was told of mail beside its work, as by no person."""
    told = {line.role for line in asked.lines if MAIL_BESIDE_WORK in line.text}
    return Calls("peer_receive") if told == {"developer"} else Says(f"told by {told}")


def _holds(asked: Asked, text: str) -> bool:
    return any(text in line.text for line in asked.lines)
