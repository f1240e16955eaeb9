"""What is over is kept for the retention, then goes; what anybody still needs stays."""

from collections.abc import Collection

from bridge.errors import Code
from bridge.ids import MessageId
from bridge.limits import Limits
from bridge.message import Attachment, Intent, Outcome, State
from bridge.ports.chat import Heard
from bridge.ports.files import Stored
from bridge.ports.runtime import Prompt
from bridge.request import Answer
from tests.fakes.clock import ManualClock
from tests.fakes.fragile import FragileStore
from tests.fakes.runtime import FakeAgent
from tests.flow.stage import OPERATOR, Stage, room, session, stage

HOUR = 3_600
DAY = 24 * HOUR
SHORT = Limits(message_life_s=HOUR, retention_s=2 * HOUR, stop_grace_s=0.05)


async def answered(on: Stage, key: str | None = None) -> str:
    async def career(agent: FakeAgent, prompt: Prompt) -> str:
        await on.tools(agent).receive()
        return "yes"

    on.agent("career", career)
    sent = await on.send("career", "may I?", key=key)
    await on.quiet()
    assert (await on.request(sent.message_id)).state is Answer.ANSWERED
    return sent.message_id


async def kept(on: Stage, message_id: str) -> bool:
    return await on.store.message(MessageId(message_id)) is not None


async def pass_by(on: Stage, seconds: float) -> None:
    """Lets the time pass as one long night, of which each task sees the end only."""
    await on.quiet()
    on.clock.jump(seconds - 1)
    await on.clock.advance(1)


async def read_all(on: Stage) -> None:
    mail = await on.exchange.inbox(await on.shell(), None, take=True)
    await on.exchange.ack(await on.shell(), [one.message_id for one in mail])


async def test_a_request_its_answer_and_all_that_tells_of_them_go_after_the_retention() -> None:
    async with stage(session("career"), limits=SHORT) as on:
        asked = await answered(on)
        talk = (await on.message(asked)).conversation
        await read_all(on)
        await pass_by(on, 2 * HOUR - 1)
        assert await kept(on, asked)
        await pass_by(on, HOUR)
        assert not await kept(on, asked)
        assert await on.store.request(MessageId(asked)) is None
        assert await on.store.steps(talk) == []
        assert await on.store.verdicts(talk) == []
        assert await on.store.conversation(talk) is None
        assert await on.store.post(f"handoff:{asked}:to") is None


async def test_an_unread_answer_and_its_question_stay_until_the_answer_has_been_over_as_long() -> None:
    async with stage(session("career"), limits=SHORT) as on:
        asked = await answered(on)
        await pass_by(on, 2 * HOUR - 1)
        (answer,) = await on.inbox()
        await pass_by(on, 2 * HOUR)
        assert (await on.message(answer.message_id)).outcome is Outcome.EXPIRED
        assert await kept(on, asked)
        await pass_by(on, 3 * HOUR)
        assert not await kept(on, asked)
        assert not await kept(on, answer.message_id)


async def test_what_waits_is_kept_for_all_its_life_however_short_the_retention() -> None:
    limits = Limits(message_life_s=DAY, retention_s=HOUR)
    async with stage(session("notes", agent=None), limits=limits) as on:
        sent = await on.send("notes", "read me", wake=False, intent=Intent.INFORM)
        await pass_by(on, DAY - 1)
        assert (await on.message(sent.message_id)).state is State.QUEUED


async def test_a_sender_who_tries_again_after_the_message_is_gone_does_not_run_it_twice() -> None:
    async with stage(session("career"), limits=SHORT) as on:
        asked = await answered(on, key="once")
        await read_all(on)
        await pass_by(on, 4 * HOUR)
        assert not await kept(on, asked)
        refused = await on.refused("career", "may I?", key="once")
        assert (refused.code, refused.remedy) == (Code.EXPIRED, "Use a new key to send it again.")
        assert (await on.refused("career", "may I not?", key="once")).code is Code.INVALID_REQUEST
        assert len(on.runtime.prompts) == 1


async def test_a_store_that_is_out_of_reach_delays_the_removal_and_ends_nothing() -> None:
    store = FragileStore()
    async with stage(session("career"), limits=SHORT, store=store) as on:
        asked = await answered(on)
        await read_all(on)
        store.down = True
        await pass_by(on, 3 * HOUR)
        store.down = False
        assert await kept(on, asked)
        await pass_by(on, HOUR)
        assert not await kept(on, asked)


async def test_more_than_one_batch_goes_in_one_visit() -> None:
    limits = Limits(inbox=1_000, pair_messages=1_000, retention_s=HOUR)
    async with stage(session("notes", agent=None), limits=limits) as on:
        sent = [await on.send("notes", f"{n}", wake=False, intent=Intent.INFORM) for n in range(120)]
        reader = await on.shell("notes")
        await on.exchange.ack(reader, [one.message_id for one in sent])
        await pass_by(on, 2 * HOUR)
        assert not any([await kept(on, one.message_id) for one in sent])


async def test_nothing_is_removed_by_the_clock_with_which_a_machine_begins() -> None:
    async with stage(session("career"), limits=SHORT) as on:
        asked = await answered(on)
        await read_all(on)
    wrong = ManualClock(on.clock.now() + 365 * DAY)
    async with stage(session("career"), limits=SHORT, store=on.store, clock=wrong) as again:
        await again.clock.advance(60)
        again.clock.set_back(365 * DAY)
        await pass_by(again, HOUR)
        assert await kept(again, asked)


class Shelf:
    """Files of which each is as old as the test says."""

    def __init__(self) -> None:
        self.swept: list[tuple[float, set[str]]] = []

    async def found(self, key: str) -> Stored | None:
        return None

    async def keep(self, key: str, name: str, data: bytes) -> Stored:
        return Stored(f"/files/{key}/{name}", len(data))

    async def copy(self, key: str, name: str, source: str) -> Stored:
        return Stored(f"/files/{key}/{name}", 0)

    async def sweep(self, before: float, needed: Collection[str]) -> int:
        self.swept.append((before, set(needed)))
        return 0


async def test_files_are_needed_for_as_long_as_a_message_names_them() -> None:
    shelf = Shelf()
    photo = Attachment("photo.jpg", "image/jpeg", "/files/1/photo.jpg", size=4)
    async with stage(session("career"), limits=SHORT, files=shelf) as on:
        heard = Heard(room("career"), OPERATOR, "look", "k", attachments=(photo,))
        await on.exchange.inbound.hear(heard)
        await pass_by(on, HOUR)
        before, needed = shelf.swept[-1]
        assert needed == {"/files/1/photo.jpg"}
        assert 0 <= on.clock.now() - 2 * HOUR - before < HOUR
        for _ in range(3):
            await pass_by(on, HOUR)
        assert shelf.swept[-1][1] == set()
