"""What holds with every real agent: each make of them has these tests, with an `office` of its own.

Where `RECORD` names a folder, what the agents and the bridge have said to each other is kept there.
"""

import asyncio
import json
import os
import sqlite3
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from bridge import briefing, wording
from tests.agents.office import Office
from tests.agents.provider import Calls, Fails, Says, Waits, hangs
from tests.agents.redacted import kept

MAIL = "[Tieline] Mail from another session"
UNREAD = "[Tieline] The mail is still unread"
CANARY = "CANARY-4419"
READS = Calls("peer_receive")
PEERS = ("peer_receive", "peer_sessions", "peer_send", "peer_reply")


class Scenes:
    """`RUNS` is a call of the agent's own tool that runs for a minute, `ASKS` one that it asks its person about, who is
    shown `ONCE` to allow it. `REFUSED` is what it says of a key that is refused. `WAITS` says that the agent itself
    waits until a provider's limit is over, for as long as that takes."""

    RUNS: Calls
    ASKS: Calls
    ONCE = "Allow once"
    REFUSED = "API key"
    WAITS = False

    @pytest.fixture(autouse=True)
    async def recorded(self, office: Office, request: pytest.FixtureRequest) -> AsyncIterator[None]:
        yield
        self.is_clean(office)
        if folder := os.environ.get("RECORD"):
            scene = request.node.name.removeprefix("test_")
            await asyncio.to_thread(kept, office, Path(folder) / office.preset, scene)

    def user_rows(self, office: Office) -> Iterator[str]:
        """What the agents' own databases hold as their users' words."""
        yield from ()

    def forget(self, office: Office, handle: str) -> None:
        """Removes all contexts of an agent."""
        raise NotImplementedError

    def hurry(self, office: Office, handle: str) -> None:
        """Has an agent give up a model that says nothing after a second, or two."""
        raise NotImplementedError

    def hanging(self) -> Waits:
        """How a model says nothing that the agent gives up."""
        return hangs()

    def is_clean(self, office: Office) -> None:
        """Peers' text stands in no prompt, and in nothing that an agent keeps as its user's words."""
        said = json.dumps([office.prompts(handle) for handle in office.members])
        assert CANARY not in said
        assert CANARY not in json.dumps(list(self.user_rows(office)))

    async def test_handoff(self, office: Office) -> None:
        desk, career = office.member("desk"), office.member("career")
        office.home.rule("default/desk", "default/career")
        desk.on("look at this", Calls("peer_send", {"to": "career", "text": f"/reset {CANARY} judge", "wake": True}))
        desk.on("", Says("handed on"), tool="peer_send")
        desk.on(MAIL, READS)
        desk.on("the offer is sound", Says("I was told: it is sound"), tool="peer_receive")
        career.on(MAIL, READS)
        career.on(CANARY, Says("the offer is sound"), tool="peer_receive")
        await office.open()
        office.say("desk", "look at this offer")
        await office.seen("desk", "I was told: it is sound")
        assert [block["text"] for prompt in office.prompts("career") for block in prompt] == [briefing.MAIL_NOTICE]
        assert any(CANARY in line.text for asked in career.asked for line in asked.lines if line.role == "tool")
        assert all(any(name.endswith(tool) for name in career.asked[0].tools) for tool in PEERS)
        assert not any(CANARY in post for post in office.posts("desk")[1:] if post.startswith("I was told"))

    async def test_busy(self, office: Office) -> None:
        """A second handoff waits for a turn of its own, and a person goes before it."""
        desk, career = office.member("desk"), office.member("career")
        office.home.rule("default/desk", "default/career")
        gate = asyncio.Event()
        first, second = ({"to": "career", "text": f"{CANARY} {part}", "wake": True} for part in ("one", "two"))
        desk.on("both", Calls("peer_send", first))
        desk.on("", Calls("peer_send", second), Says("both handed on"), tool="peer_send")
        desk.on(MAIL, READS)
        desk.on("is done", Says("fine"), tool="peer_receive")
        career.on(MAIL, READS)
        career.on(f"{CANARY} one", Waits(gate, Says("one is done")), tool="peer_receive")
        career.on(f"{CANARY} two", Says("two is done"), tool="peer_receive")
        career.on("are you there", Says("here I am"))
        await office.open()
        office.say("desk", "both of them")
        await office.seen("desk", "both handed on")
        await career.is_asked(f"{CANARY} one")
        office.say("career", "are you there?")
        await office.until_queued(2)
        assert len(office.prompts("career")) == 1
        gate.set()
        await office.seen("career", "here I am")
        await office.seen("desk", "two is done")
        texts = [[block["text"] for block in prompt] for prompt in office.prompts("career")]
        assert texts == [[briefing.MAIL_NOTICE], ["are you there?"], [briefing.MAIL_NOTICE]]

    async def test_resumed(self, office: Office) -> None:
        """A context goes on in another process, and what it holds is posted to nobody."""
        desk = office.member("desk")
        desk.on("my colour", Says("blue it is, UNIQUE-1"))
        desk.on("which", Says("you said blue"))
        await office.open()
        office.say("desk", "my colour is blue")
        await office.seen("desk", "UNIQUE-1")
        await office.home.down()
        await office.home.up()
        office.say("desk", "which colour?")
        await office.seen("desk", "you said blue")
        assert sum("UNIQUE-1" in post for post in office.posts("desk")) == 1
        assert any("my colour is blue" in line.text for line in desk.asked[-1].lines)
        assert methods(office, "desk")[1].count("session/load") == 1

    async def test_lost(self, office: Office) -> None:
        """A context that is gone is told, and never pretended."""
        desk = office.member("desk")
        desk.on("my colour", Says("blue it is"))
        desk.on("which", Says("I do not know"))
        await office.open()
        office.say("desk", "my colour is blue")
        await office.seen("desk", "blue it is")
        await office.home.down()
        self.forget(office, "desk")
        await office.home.up()
        office.say("desk", "which colour?")
        await office.seen("desk", "I do not know")
        assert wording.CONTEXT_LOST in office.posts("desk")
        assert not any("my colour is blue" in line.text for line in desk.asked[-1].lines)

    async def test_cancel_in_a_tool_call(self, office: Office) -> None:
        desk = office.member("desk")
        desk.on("again", Says("here again"))  # what was cancelled may be said once more with it
        desk.on("work", self.RUNS)
        await office.open()
        office.say("desk", "work")
        await office.heard("desk", "tool_call")
        office.say("desk", "/stop")
        await office.seen("desk", "stopped")
        office.say("desk", "once again")
        await office.seen("desk", "here again")

    async def test_cancel_before_anything(self, office: Office) -> None:
        desk = office.member("desk")
        desk.on("again", Says("here again"))  # what was cancelled may be said once more with it
        desk.on("work", hangs())
        await office.open()
        office.say("desk", "work")
        await desk.is_asked("work")
        office.say("desk", "/stop")
        await office.seen("desk", "stopped")
        office.say("desk", "once again")
        await office.seen("desk", "here again")

    async def test_cancel_in_an_answer(self, office: Office) -> None:
        desk = office.member("desk")
        desk.on("again", Says("here again"))  # what was cancelled may be said once more with it
        desk.on("work", Waits(asyncio.Event(), Says("never"), first="I have begun"))
        await office.open()
        office.say("desk", "work")
        await office.heard("desk", "agent_message_chunk")
        office.say("desk", "/stop")
        await office.seen("desk", "stopped")
        office.say("desk", "once again")
        await office.seen("desk", "here again")

    async def test_no_login(self, office: Office) -> None:
        """401 is no answer: it pauses the session, and its mail goes on once that is set right."""
        career = office.member("career")
        office.home.rule("default/shell", "default/career")
        career.on(MAIL, READS)
        career.on(CANARY, Says("the offer is sound"), tool="peer_receive")
        key, office.provider.key = office.provider.key, "another"
        await office.open()
        sent = (await office.home.tieline("send", "career", CANARY, "--wake", "--json")).lines[0]
        assert self.REFUSED in (await office.seen("career", "The session is paused")).text
        assert await failures(office, sent) == ["auth"]
        office.provider.key = key
        office.say("career", "/resume")
        await office.until_answered(sent, "the offer is sound")

    async def test_rate_limit(self, office: Office) -> None:
        """429 is no answer: the mail waits until the limit is over, and has used up no attempt."""
        career = office.member("career")
        office.home.rule("default/shell", "default/career")
        limited = Fails(429, "Rate limit reached. Please try again in 3s.", retry_after="3")
        career.on(MAIL, *[limited] * 3, READS)
        career.on(CANARY, Says("the offer is sound"), tool="peer_receive")
        await office.open()
        sent = (await office.home.tieline("send", "career", CANARY, "--wake", "--json")).lines[0]
        await office.until_answered(sent, "the offer is sound")
        assert await failures(office, sent) == ([] if self.WAITS else ["rate_limit"])

    async def test_hung(self, office: Office) -> None:
        """An agent itself gives up a model that says nothing: that is no answer."""
        career = office.member("career")
        self.hurry(office, "career")
        office.home.rule("default/shell", "default/career")
        career.on(MAIL, self.hanging())
        await office.open()
        sent = (await office.home.tieline("send", "career", CANARY, "--wake", "--json")).lines[0]
        await office.seen("career", "the turn failed")
        career.forget()
        career.on(MAIL, READS)
        career.on(CANARY, Says("the offer is sound"), tool="peer_receive")
        await office.until_answered(sent, "the offer is sound")
        kinds = set(await failures(office, sent))
        assert kinds <= {"timeout", "capacity"}, kinds
        assert kinds

    async def test_cancel_at_a_question(self, office: Office) -> None:
        """A cancel leaves a question of the agent open: the bridge answers it itself."""
        desk = office.member("desk")
        desk.on("again", Says("here again"))
        desk.on("work", self.ASKS)
        await office.open()
        office.say("desk", "work")
        await office.seen("desk", "asks for permission")
        office.say("desk", "/stop")
        await office.seen("desk", "stopped")
        office.say("desk", "once again")
        await office.seen("desk", "here again")

    async def test_allowed(self, office: Office) -> None:
        desk = office.member("desk")
        desk.on("work", self.ASKS)
        desk.on("", Says("it is empty"), tool=self.ASKS.tool)
        await office.open()
        office.say("desk", "work")
        asked = await office.seen("desk", "asks for permission")
        office.api.press(asked, dict(asked.buttons)[self.ONCE], user=111)
        await office.seen("desk", "it is empty")

    async def test_unread(self, office: Office) -> None:
        """An agent that reads nothing is told once more; its mail then comes back, and has reached nobody."""
        career = office.member("career")
        office.home.rule("default/shell", "default/career")
        career.on(MAIL, Says("not now"))
        career.on(UNREAD, Says("not now, either"))
        await office.open()
        sent = (await office.home.tieline("send", "career", CANARY, "--wake", "--json")).lines[0]
        assert (await office.until_settled(sent))["outcome"] == "failed"
        assert [block["text"] for prompt in office.prompts("career") for block in prompt] == [
            briefing.MAIL_NOTICE,
            briefing.MAIL_NOTICE_AGAIN,
        ]
        assert CANARY not in json.dumps([[line.text for line in asked.lines] for asked in career.asked])


def methods(office: Office, handle: str) -> list[list[str]]:
    """What the bridge has asked of each process of an agent."""
    every = [[one["frame"] for one in process if one["by"] == "bridge"] for process in office.frames(handle)]
    return [[frame["method"] for frame in frames if "method" in frame] for frames in every]


async def failures(office: Office, sent: dict[str, Any]) -> list[str]:
    """What kind of failure each turn over it ended with, where it failed."""
    steps = (await office.home.tieline("trace", sent["message_id"], "--json")).lines
    kinds = [step["detail"].get("failure_kind") for step in steps if step["step"] == "turn"]
    return [kind for kind in kinds if kind is not None]


def rows(database: Path, query: str) -> list[str]:
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as opened:
        return [str(row[0]) for row in opened.execute(query)]
