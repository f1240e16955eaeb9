"""How a story ends, with a fault in it and without."""

import asyncio
import re
from collections import Counter
from collections.abc import Iterable
from functools import partial

from bridge.limits import Limits
from bridge.message import Message
from bridge.post import Post
from bridge.request import Request
from bridge.turn import Turn
from tests.fakes.clock import ManualClock, ShiftingClock
from tests.faults.failing_store import FailingStore, Fault, as_store
from tests.faults.stories import CUT_OFF, CutOff, Story, rest
from tests.flow.stage import session, stage

Ending = Counter[tuple[object, ...]]

_SECONDS_AND_IDS = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|\d+ s\b")
_COMMAND = "reply:"


async def ending(
    story: Story, fault: Fault | None = None, cut_off: CutOff | None = None, clock: ManualClock | None = None
) -> Ending:
    """What is stored, shown and prompted in the end, without ids and times. Which of its later revisions a post was
    shown in depends on when the chat was free, and counts not."""
    tasks = asyncio.all_tasks()
    store = FailingStore(slow=cut_off is not None)
    CUT_OFF.set(cut_off)
    desk, career, tool = session("desk"), session("career"), session("tool", agent=None)
    limits = Limits(stop_grace_s=0.05, progress_every_s=86_400)
    async with stage(desk, career, tool, store=as_store(store), limits=limits, clock=clock) as on:
        await on.quiet()
        store.fault = fault
        await story(on)
        await rest(on)
        store.fault = None
        assert await on.store.live_turns() == []
        shown = [("shown", post.place, post.kind) for post in on.chat.deliveries if post.receipt is None]
        prompts = [("prompted", session) for session, _ in on.runtime.prompts]
    assert asyncio.all_tasks() == tasks
    return Counter([*map(_essence, store.stored.values()), *shown, *prompts])


async def check(story: Story, kind: str, numbers: Iterable[int]) -> int:
    """Lets the store fail once, at each of the numbered calls as far as the story has them, and expects it to end as
    it does without. Returns at how many it did fail."""
    expected = await ending(story)
    met = 0
    for number in numbers:
        fault = Fault(kind, number)
        ended = await ending(story, fault)
        if not fault.met:
            break
        met += 1
        if kind == "after":
            # A command that is given again, for it seems to have failed, finds nothing left to do, and says so.
            ended, known = _wordless(ended), _wordless(expected)
        else:
            known = expected
        _expect(ended, known, f"call {number}")
    return met


async def check_jump(story: Story, seconds: float, numbers: Iterable[int]) -> int:
    """The clock is set forward, or back, before one commit. Returns at how many it was."""
    expected = await ending(story)
    met = 0
    for number in numbers:
        clock = ShiftingClock()
        fault = Fault("moment", number, happens=partial(clock.shift, seconds))
        ended = await ending(story, fault, clock=clock)
        if not fault.met:
            break
        met += 1
        _expect(ended, expected, f"commit {number}")
    return met


async def check_cut_off(story: Story, steps: Iterable[int]) -> int:
    """Cuts one call of the story off, after each of these numbers of steps as far as it has them; its caller makes it
    again. Expects the ending of the story as it is without. Returns how many calls were cut off."""
    expected = _wordless(await ending(story))
    met = 0
    for number in steps:
        cut_off = CutOff(number)
        ended = _wordless(await ending(story, cut_off=cut_off))
        if not cut_off.met:
            break
        met += 1
        _expect(ended, expected, f"step {number}")
    return met


def _expect(ended: Ending, expected: Ending, where: str) -> None:
    assert ended == expected, f"{where}: too much {dict(ended - expected)}, missing {dict(expected - ended)}"


def _wordless(ended: Ending) -> Ending:
    return Counter(one[:3] if one[0] == _COMMAND else one for one in ended.elements())


def _essence(one: Message | Request | Turn | Post) -> tuple[object, ...]:
    match one:
        case Message():
            return "message", one.sender, one.recipient, one.intent, _plain(one.text), one.state, one.outcome
        case Request():
            return "request", one.asker, one.asked, one.state, one.late is None
        case Turn():
            return "turn", one.session, one.state, one.tools_begun
        case Post():
            name = _COMMAND if one.key.startswith(_COMMAND) else "post"
            return name, one.place, one.state, one.kind, _plain(one.text)


def _plain(text: str) -> str:
    return _SECONDS_AND_IDS.sub("…", text)
