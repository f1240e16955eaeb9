"""What agents must not widen: an operator is asked in a chat, and until then what was accepted holds (DESIGN §4)."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from adapters.memory.store import MemoryStore
from adapters.settings.guarded import Guarded
from adapters.settings.load import load
from adapters.settings.outlook import outlook
from adapters.settings.revisions import Revisions
from bridge.audit import Act, ActKind
from bridge.caller import Caller
from bridge.decision import Verb
from bridge.errors import Code, Refused
from bridge.flow.charter import accepted_copy, selectors_of
from bridge.grant import Scope
from bridge.ids import Place
from bridge.message import Intent, Origin, Outcome, State
from bridge.ports.chat import Pressed
from bridge.ports.runtime import Prompt
from bridge.post import Post
from bridge.views import FileState
from tests.fakes.chat import FakeChat
from tests.fakes.clock import ManualClock
from tests.fakes.runtime import FakeAgent
from tests.flow.stage import OPERATOR, USER, Stage, ident, stage

OFFICE = "room:office"
ASKED = "would let agents do more"
SESSIONS = '[sessions.tool]\nkind = "shell"\n[sessions.career]\nkind = "shell"\n'
AGENT = '[agents.fake]\ncommand = ["fake"]\n'


def rule(effect: str = "allow", verbs: str = "send", sender: str = "tool") -> str:
    return (
        f'[[policy.rules]]\nfrom = "default/{sender}"\nto = "default/career"\nverbs = "{verbs}"\neffect = "{effect}"\n'
    )


class Silent(FakeChat):
    """A chat in which nobody can be asked."""

    def reports(self) -> tuple[Place, ...]:
        return ()


class Office:
    """A home whose bridge starts, reads its file again, and starts once more on the same store and chat."""

    def __init__(self, home: Path, chat: FakeChat) -> None:
        self.home = home
        self.store = MemoryStore()
        self.chat = chat
        self.clock = ManualClock()
        self.revisions: Revisions
        self.on: Stage

    def write(self, text: str) -> None:
        (self.home / "tieline.toml").write_text(SESSIONS + text)

    @asynccontextmanager
    async def runs(self, text: str | None = None) -> AsyncIterator[Stage]:
        """Starts by this text, as the composition root does."""
        if text is not None:
            self.write(text)
        file = load(self.home, {})
        copy = accepted_copy(await self.store.regime())
        accepted = Guarded.from_json(copy) if copy is not None else None
        granted = selectors_of(await self.store.live_grants(self.clock.now()))
        view = outlook(file, accepted, ask=bool(self.chat.reports()), granted=granted)
        sessions = view.settings.sessions
        async with stage(*sessions, store=self.store, chat=self.chat, clock=self.clock) as on:
            on.exchange.charter.govern(view.policy)
            self.on = on
            self.revisions = Revisions(on.exchange, lambda: load(self.home, {}), file, accepted, view)
            await self.revisions.begin()
            yield on

    async def reload(self, text: str) -> None:
        self.write(text)
        await self.revisions.reload()

    async def permitted(self, sender: str = "tool") -> bool:
        try:
            caller = await self.on.shell(sender)
            await self.on.send("career", "hello", caller=caller, wake=False, intent=Intent.INFORM)
        except Refused as refused:
            if refused.code not in (Code.NOT_PERMITTED, Code.UNKNOWN_SESSION):
                raise
            return False
        return True

    def questions(self) -> list[Post]:
        return [post for post in self.chat.posts.values() if ASKED in post.text and post.buttons]

    async def acts(self, kind: ActKind) -> list[Act]:
        return [act for act in reversed(await self.store.recent_acts(None, 100)) if act.act is kind]

    async def holds(self) -> object:
        """The effects of the rules that are accepted by what is stored."""
        copy = accepted_copy(await self.store.regime())
        assert copy is not None
        return [one["effect"] for one in copy["rules"]]


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return Office(tmp_path, FakeChat())


async def test_the_first_start_takes_the_file_as_it_is_and_asks_nobody(office: Office) -> None:
    async with office.runs(rule()):
        assert await office.permitted()
    assert await office.holds() == ["allow"]
    assert office.chat.posts == {}
    assert await office.store.recent_acts(None, 9) == []


async def test_what_is_narrower_holds_without_a_restart_and_a_question(office: Office) -> None:
    async with office.runs(rule()):
        await office.reload(rule("deny"))
        assert not await office.permitted()
    assert await office.holds() == ["deny"]
    assert office.chat.posts == {}
    (reloaded,) = await office.acts(ActKind.RELOADED)
    assert (reloaded.by, reloaded.origin) == ("tieline.toml", Origin.SYSTEM)


async def test_what_is_wider_waits_for_an_operator_and_holds_once_accepted(office: Office) -> None:
    async with office.runs(""):
        await office.reload(rule())
        asked = await office.chat.seen(OFFICE, ASKED)
        assert "+ allow send: default/tool → default/career" in asked.text
        assert not await office.permitted()
        assert await office.on.press("office", "Accept") == "Accepted."
        assert await office.permitted()
        assert await office.holds() == ["allow"]
        decided = await office.chat.seen(OFFICE, "accepted by Olga")
        assert not decided.buttons
    async with office.runs():
        assert await office.permitted()
    assert len(await office.acts(ActKind.PROPOSED)) == 1


async def test_it_is_asked_at_a_start_too_and_can_be_accepted_after_another(office: Office) -> None:
    async with office.runs(""):
        pass
    async with office.runs(rule()):
        await office.chat.seen(OFFICE, ASKED)
        assert not await office.permitted()
    async with office.runs():
        assert not await office.permitted()
        await office.on.press("office", "Accept")
        assert await office.permitted()
    assert len(await office.acts(ActKind.PROPOSED)) == 1


async def test_what_was_refused_does_not_hold_and_is_not_asked_again(office: Office) -> None:
    async with office.runs(""):
        await office.reload(rule())
        assert await office.on.press_when_seen("office", "Refuse", ASKED) == "Refused."
        assert not await office.permitted()
        await office.reload(rule())
        assert not await office.permitted()
    async with office.runs():
        assert not await office.permitted()
        await office.on.quiet()
    assert len(await office.acts(ActKind.PROPOSED)) == 1
    assert office.questions() == []
    assert await office.holds() == []


async def test_what_was_refused_is_asked_again_once_it_had_been_gone(office: Office) -> None:
    async with office.runs(""):
        await office.reload(rule())
        await office.on.press_when_seen("office", "Refuse", ASKED)
    async with office.runs(""):
        await office.reload(rule())
        await office.on.quiet()
        assert len(office.questions()) == 1


async def test_a_newer_difference_takes_the_place_of_an_older_one(office: Office) -> None:
    async with office.runs(""):
        await office.reload(rule())
        await office.chat.seen(OFFICE, ASKED)
        first = office.questions()[0].buttons[0].action
        await office.reload(rule(verbs="wake"))
        await office.chat.seen(OFFICE, "replaced by a newer one")
        await office.on.quiet()
        (left,) = office.questions()
        assert "replaced" in await office.on.exchange.inbound.press(Pressed(left.place, OPERATOR, first))
        assert not await office.permitted()


async def test_a_question_is_withdrawn_once_the_file_wants_it_no_more(office: Office) -> None:
    async with office.runs(""):
        await office.reload(rule())
        await office.chat.seen(OFFICE, ASKED)
        accept = office.questions()[0].buttons[0].action
        await office.reload("")
        await office.chat.seen(OFFICE, "withdrawn")
        assert "withdrawn" in await office.on.exchange.inbound.press(Pressed(Place(OFFICE), OPERATOR, accept))
        await office.reload(rule())
        assert not await office.permitted()


async def test_a_question_is_withdrawn_also_where_the_file_changed_while_no_bridge_ran(office: Office) -> None:
    async with office.runs(""):
        await office.reload(rule())
        await office.chat.seen(OFFICE, ASKED)
    async with office.runs(""):
        await office.chat.seen(OFFICE, "withdrawn")
        assert office.questions() == []


async def test_nobody_but_an_operator_decides(office: Office) -> None:
    async with office.runs(""):
        await office.reload(rule())
        await office.chat.seen(OFFICE, ASKED)
        assert "only an operator" in await office.on.press("office", "Accept", USER)
        assert not await office.permitted()
        assert [act.by for act in await office.acts(ActKind.REFUSED)] == ["room:2"]


async def test_of_one_file_what_is_narrower_holds_while_what_is_wider_waits(office: Office) -> None:
    async with office.runs(rule()):
        await office.reload(rule("deny") + rule(sender="shell"))
        assert not await office.permitted("tool")
        assert not await office.permitted("shell")
        await office.on.press_when_seen("office", "Accept", ASKED)
        assert not await office.permitted("tool")
        assert await office.permitted("shell")


async def test_where_nobody_can_be_asked_it_holds_and_is_recorded(tmp_path: Path) -> None:
    office = Office(tmp_path, Silent())
    async with office.runs(""):
        await office.reload(rule())
        assert await office.permitted()
    async with office.runs(rule() + rule(sender="shell")):
        assert await office.permitted("shell")
    assert await office.holds() == ["allow", "allow"]
    assert [act.detail for act in await office.acts(ActKind.RELOADED)] == [{"unasked": 1}, {"unasked": 1}]


async def test_a_broken_file_changes_nothing_and_is_told_once_until_it_is_mended(office: Office) -> None:
    async with office.runs(rule()):
        await office.reload("[limits]\ndept = 3\n")
        told = await office.chat.seen(OFFICE, "cannot be read")
        assert "tieline.toml:6: unknown setting limits.dept" in told.text
        await office.reload("[limits]\ndept = 3\n")
        assert await office.permitted()
        await office.reload(rule())
        await office.chat.seen(OFFICE, "it can be again")
        await office.on.quiet()
    assert len(office.chat.posts) == 1
    assert len(await office.acts(ActKind.RELOADED)) == 1


async def test_sessions_come_and_go_with_the_file_while_they_are_at_work(office: Office) -> None:
    worker = AGENT + '[sessions.worker]\nagent = "fake"\n'
    rules = rule().replace("career", "worker").replace('"send"', '["send", "ask", "wake"]')
    began, never = asyncio.Event(), asyncio.Event()

    async def working(agent: FakeAgent, prompt: Prompt) -> str:
        began.set()
        await never.wait()
        return "done"

    async with office.runs(worker + rules) as on:
        on.agent("worker", working)
        running = await on.send("worker", "go on", caller=await on.shell("tool"))
        await began.wait()
        await office.reload(AGENT + rules)
        message = await on.message(running.message_id)
        assert message.state is State.SETTLED
        assert message.outcome is not Outcome.ACKED
        assert (await on.refused("worker", caller=await on.shell("tool", Origin.USER))).code is Code.SESSION_CLOSED
        assert not (await on.exchange.directory.view(message.recipient)).live
        await office.reload(worker + rules)
        await on.send("worker", "again", caller=await on.shell("tool"), wake=False)


async def test_a_long_difference_stays_one_post_with_its_buttons(office: Office) -> None:
    many = "".join(rule(sender=f"sender-{number}") for number in range(200))
    async with office.runs(""):
        await office.reload(many)
        asked = await office.chat.seen(OFFICE, ASKED)
        assert len(asked.text) < office.chat.limit
        assert "more: the bridge's log has all of them" in asked.text
        assert asked.buttons
        await office.on.press("office", "Accept")
        holds = await office.holds()
        assert json.dumps(holds).count("allow") == 200


async def test_people_are_told_that_not_all_of_the_file_holds(office: Office) -> None:
    async def state() -> FileState:
        return (await office.on.exchange.status(await office.on.shell())).file

    async def said() -> str:
        shell = await office.on.shell("tool", Origin.USER)
        return (await office.on.exchange.oversight.decision(shell, "tool", "career", Verb.SEND)).reason

    async with office.runs(""):
        assert await state() is FileState.HOLDS
        await office.reload(rule())
        assert await state() is FileState.WAITS
        assert (await said()).endswith("what tieline.toml adds to it waits for an operator's word")
        office.write("[limits]\ndept = 3\n")
        await office.revisions.reload()
        assert await state() is FileState.BROKEN
        await office.reload(rule())
        assert await state() is FileState.WAITS
        await office.on.quiet()
        await office.on.press("office", "Refuse")
        assert await state() is FileState.REFUSED
    async with office.runs():
        assert await state() is FileState.REFUSED
        await office.reload("")
        assert await state() is FileState.HOLDS
        await office.reload(rule())
        await office.on.quiet()
        await office.on.press("office", "Accept")
        assert await state() is FileState.HOLDS
        assert "waits" not in await said()


@pytest.mark.parametrize("restart", [False, True])
async def test_a_session_gives_itself_no_label_that_a_grant_names(office: Office, restart: bool) -> None:
    labelled = SESSIONS.replace('[sessions.tool]\nkind = "shell"', '[sessions.tool]\nkind = "shell"\ntags = ["office"]')
    async with office.runs("") as on:
        operator = Caller(ident("tool"), Origin.USER, place=Place(OFFICE), person=OPERATOR.id, operator=True)
        await on.exchange.oversight.grant(operator, "tag:office", "default/career", [Verb.SEND], Scope.ALWAYS)
        assert not await office.permitted()
        (office.home / "tieline.toml").write_text(labelled)
        if not restart:
            await office.revisions.reload()
            await office.chat.seen(OFFICE, "default/tool: tag:office is new or gone there")
            assert not await office.permitted()
    async with office.runs():
        await office.chat.seen(OFFICE, "default/tool: tag:office is new or gone there")
        assert not await office.permitted()
        await office.on.press("office", "Accept")
        await office.revisions.reload()
        assert await office.permitted()
