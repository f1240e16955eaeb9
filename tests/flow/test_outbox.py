"""Every place comes to show what it is to show, there and nowhere else (invariants 3, 8 and 11)."""

import asyncio
from collections.abc import Sequence

from adapters.memory.store import MemoryStore
from bridge.flow import showing
from bridge.flow.work import Work
from bridge.ids import Place
from bridge.limits import Limits
from bridge.ports.chat import Ambiguous, Blocked, Later, NotDelivered, TooLong
from bridge.ports.runtime import Prompt, Result, Text
from bridge.post import Button, Post, PostKind, PostState, Urgency
from tests.fakes.runtime import FakeAgent
from tests.flow.stage import Stage, room, session, stage

CAREER = room("career")


async def show(
    on: Stage,
    key: str,
    text: str,
    place: Place = CAREER,
    kind: PostKind = PostKind.NOTICE,
    buttons: Sequence[Button] = (),
) -> None:
    await on.exchange.inbound._ledger.do(lambda work: showing.show(work, key, place, kind, text, buttons=buttons))


def sent(on: Stage) -> list[str]:
    return [post.text for post in on.chat.deliveries]


async def test_of_several_revisions_only_the_newest_is_sent() -> None:
    async with stage(session("career")) as on:
        on.chat.held[CAREER] = gate = asyncio.Event()
        await show(on, "first", "held up")
        await on.quiet()
        for text in ("one", "two", "three"):
            await show(on, "second", text)
        gate.set()
        await on.quiet()
        assert sent(on) == ["held up", "three"]


async def test_what_is_revised_while_it_is_being_sent_is_edited_afterwards() -> None:
    async with stage(session("career")) as on:
        on.chat.held[CAREER] = gate = asyncio.Event()
        await show(on, "key", "old")
        await on.quiet()
        await show(on, "key", "new")
        gate.set()
        await on.quiet()
        assert sent(on) == ["old", "new"]
        assert [post.receipt for post in on.chat.deliveries] == [None, "1"]
        assert on.chat.texts(CAREER) == ["new"]


async def test_a_revision_that_changes_nothing_is_not_sent() -> None:
    async with stage(session("career")) as on:
        for _ in range(3):
            await show(on, "key", "the same")
            await on.quiet()
        assert sent(on) == ["the same"]


async def test_finals_go_first_and_the_rest_in_order_also_past_what_waits_already() -> None:
    async with stage(session("career")) as on:
        on.chat.held[CAREER] = gate = asyncio.Event()
        for number in range(3):
            await show(on, f"notice-{number}", f"notice {number}")
        await on.quiet()
        await show(on, "final-1", "final 1", kind=PostKind.FINAL)
        await show(on, "final-2", "final 2", kind=PostKind.FINAL)
        gate.set()
        await on.quiet()
        assert sent(on) == ["notice 0", "final 1", "final 2", "notice 1", "notice 2"]


async def test_what_is_new_goes_before_revisions_of_what_is_shown() -> None:
    async with stage(session("career")) as on:
        await show(on, "handoff", "handed over", kind=PostKind.HANDOFF)
        await on.quiet()
        on.chat.held[CAREER] = gate = asyncio.Event()
        await show(on, "first", "held up")
        await on.quiet()
        await show(on, "handoff", "answered", kind=PostKind.HANDOFF)
        await show(on, "second", "the answer to a command")
        gate.set()
        await on.quiet()
        assert sent(on) == ["handed over", "held up", "the answer to a command", "answered"]


async def test_an_answer_does_not_stand_above_its_question() -> None:
    async with stage(session("desk"), session("career")) as on:
        on.agent("career", answers)
        gates = {str(room(handle)): asyncio.Event() for handle in ("desk", "career")}
        on.chat.held.update(gates)
        for handle in ("desk", "career"):
            await show(on, handle, "held up", room(handle))
        await on.say("desk", "/ask career is it real?")
        await on.quiet()
        for gate in gates.values():
            gate.set()
        await on.quiet()
        assert on.chat.texts(room("desk")) == ["held up", "desk → career: is it real?\n· answered", "career: yes"]
        assert on.chat.texts(CAREER) == ["held up", "desk → career: is it real?\n· answered", "yes"]


async def test_an_answer_goes_before_its_question_where_that_cannot_be_shown_yet() -> None:
    async with stage(session("desk"), session("career")) as on:
        on.agent("career", answers)
        later = NotDelivered("not now", retry_at=on.clock.now() + 30)
        on.chat.fault = lambda post: later if post.kind is PostKind.HANDOFF else None
        await on.say("desk", "/ask career is it real?")
        await on.chat.seen(room("desk"), "career: yes")


async def test_a_place_that_hangs_does_not_hold_up_another() -> None:
    async with stage(session("career"), session("finance")) as on:
        on.chat.held[CAREER] = asyncio.Event()
        await show(on, "one", "hangs")
        await on.quiet()
        await show(on, "two", "goes", room("finance"))
        await on.chat.seen(room("finance"), "goes")
        assert sent(on) == ["goes"]


async def test_places_take_turns_where_their_chat_takes_only_so_much_and_finals_go_before_them() -> None:
    async with stage(session("career"), session("finance"), session("desk")) as on:
        opens_at = 0.0

        def one_a_second(post: Post) -> NotDelivered | None:
            nonlocal opens_at
            if on.clock.now() < opens_at:
                return NotDelivered("slow down", retry_at=opens_at)
            opens_at = on.clock.now() + 1
            return None

        on.chat.fault = one_a_second
        for number in range(4):
            await show(on, f"c{number}", f"c{number}")
        for number in range(2):
            await show(on, f"f{number}", f"f{number}", room("finance"))
        await on.quiet()
        await show(on, "final", "final", room("desk"), PostKind.FINAL)
        for _ in range(8):
            await on.clock.advance(1)
        assert sent(on) == ["c0", "final", "f0", "c1", "f1", "c2", "c3"]


async def test_a_chat_that_asks_for_a_pause_gets_it_and_the_order_is_kept() -> None:
    async with stage(session("career"), session("finance")) as on:
        tries: list[float] = []
        until = on.clock.now() + 20

        def flood(post: Post) -> Exception | None:
            if post.place == CAREER:
                tries.append(on.clock.now())
                if on.clock.now() < until:
                    return NotDelivered("too many", retry_at=until)
            return None

        on.chat.fault = flood
        await show(on, "one", "one")
        await show(on, "two", "two")
        await show(on, "other", "other", room("finance"))
        await on.quiet()
        await show(on, "one", "one, revised")
        await on.clock.advance(19)
        assert (sent(on), len(tries)) == (["other"], 1)
        await on.clock.advance(1)
        assert sent(on) == ["other", "one, revised", "two"]


async def test_a_post_that_is_refused_for_good_goes_nowhere_else_and_later_ones_go_on() -> None:
    async with stage(session("career"), session("finance")) as on:
        on.chat.fault = lambda post: NotDelivered("the topic is gone") if post.text == "lost" else None
        await show(on, "one", "lost")
        await show(on, "two", "next")
        await on.chat.seen(CAREER, "next")
        await on.clock.advance(120)
        assert on.chat.texts(CAREER) == ["next"]
        assert not any("lost" in post.text for post in on.chat.deliveries)
        post = await on.store.post("one")
        assert post is not None
        assert (post.state, post.error) == (PostState.FAILED, "the topic is gone")


async def test_operators_are_told_once_of_a_place_that_can_show_nothing_and_never_what() -> None:
    async with stage(session("career")) as on:
        on.chat.fault = lambda post: NotDelivered("the topic was deleted") if post.place == CAREER else None
        await show(on, "one", "a secret")
        await show(on, "two", "another")
        await on.clock.advance(60)
        assert on.chat.texts(CAREER) == []
        assert on.chat.texts(room("office")) == [
            "What was for room:career could not be shown there: the topic was deleted. It was sent nowhere else."
        ]


async def test_a_report_that_cannot_be_shown_is_not_reported() -> None:
    async with stage(session("career")) as on:
        on.chat.fault = lambda post: NotDelivered("no")
        await show(on, "one", "lost")
        await on.clock.advance(600)
        assert on.chat.deliveries == []
        assert await on.store.pending_posts("room") == []


async def test_what_may_have_arrived_is_sent_again_and_both_are_traced() -> None:
    async with stage(session("career")) as on:
        faults: list[Exception | None] = [Ambiguous("the line broke")]

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            await on.tools(agent).receive()
            return "done"

        on.agent("career", career)
        on.chat.fault = lambda post: faults.pop() if faults and post.kind is PostKind.HANDOFF else None
        receipt = await on.send("career", "look")
        await on.clock.advance(5)
        every = [one.detail for one in await on.store.steps(receipt.message_id) if one.step == "sent"]
        steps = [detail for detail in every if detail["post"] == "handoff"]
        assert [detail["receipt"] for detail in every if detail["post"] == "final"] == ["1"]
        assert ("may have arrived already" in str(steps[0]["error"]), steps[0]["given_up"]) == (True, False)
        assert steps[1]["receipt"] == "2"


async def test_progress_is_shed_after_three_more_attempts_and_holds_nothing_up_for_ever() -> None:
    async with stage(session("career")) as on:

        def fault(post: Post) -> Exception | None:
            busy = NotDelivered("busy", retry_at=on.clock.now() + 1)
            return busy if post.kind is PostKind.PROGRESS else None

        on.chat.fault = fault
        await show(on, "progress", "working", kind=PostKind.PROGRESS)
        await show(on, "notice", "notice")
        await on.quiet()
        assert sent(on) == ["notice"]
        await on.clock.advance(5)
        post = await on.store.post("progress")
        assert post is not None
        assert post.state is PostState.FAILED


async def test_what_a_chat_does_not_take_yet_costs_nothing_and_comes_to_the_second() -> None:
    async with stage(session("career")) as on:
        opens_at, tries = on.clock.now() + 1_000, 0

        def spent(post: Post) -> Exception | None:
            nonlocal tries
            tries += 1
            return Later("spent", until=opens_at) if on.clock.now() < opens_at else None

        on.chat.fault = spent
        await show(on, "progress", "working", kind=PostKind.PROGRESS)
        await show(on, "notice", "notice")
        before = await on.store.post("notice")
        await on.clock.advance(999.5)
        assert (sent(on), tries) == ([], 1)
        assert await on.store.post("notice") == before
        await on.clock.advance(0.5)
        assert sent(on) == ["notice", "working"]


async def test_a_reply_to_a_command_passes_all_that_waits() -> None:
    async with stage(session("career"), session("finance")) as on:
        opens_at = on.clock.now() + 60
        on.chat.fault = lambda post: None if post.kind is PostKind.REPLY else Later("spent", until=opens_at)
        for number in range(250):
            await show(on, f"c{number}", f"c{number}", kind=PostKind.FINAL)
            await show(on, f"f{number}", f"f{number}", room("finance"))
        await on.say("career", "/status")
        await on.chat.seen(CAREER, "Career")
        assert len(on.chat.deliveries) == 1


async def test_the_buttons_of_what_is_decided_go_before_all_else() -> None:
    async with stage(session("career")) as on:
        ask = [Button("Yes", "yes:1")]
        for key in ("question:1", "handoff:1"):
            kind = PostKind.QUESTION if key.startswith("question") else PostKind.HANDOFF
            await show(on, key, "really?", kind=kind, buttons=ask)
        await on.quiet()
        assert [post.urgency for post in on.chat.deliveries] == [Urgency.QUESTION, Urgency.NEWS]
        on.chat.held[CAREER] = gate = asyncio.Event()
        await show(on, "notice", "held up")
        await on.quiet()
        await show(on, "handoff:1", "answered", kind=PostKind.HANDOFF)
        await show(on, "final", "an answer", kind=PostKind.FINAL)
        await show(on, "question:1", "Yes, by Ada")
        gate.set()
        await on.quiet()
        assert sent(on)[2:] == ["held up", "Yes, by Ada", "an answer", "answered"]


async def test_of_two_places_the_one_with_what_is_more_urgent_asks_first_also_where_that_stands_below_another() -> None:
    class Slow(MemoryStore):
        async def post(self, key: str) -> Post | None:
            await asyncio.sleep(0.01)
            return await super().post(key)

    async def both(work: Work) -> None:
        await showing.show(work, "notice", room("finance"), PostKind.NOTICE, "notice")
        await showing.show(work, "final", CAREER, PostKind.FINAL, "final", answers="question")

    async with stage(session("career"), session("finance"), store=Slow()) as on:
        await on.exchange.inbound._ledger.do(both)
        await asyncio.gather(on.chat.seen(CAREER, "final"), on.chat.seen(room("finance"), "notice"))
        assert sent(on) == ["final", "notice"]


async def test_questions_come_before_other_notices() -> None:
    async with stage(session("career")) as on:
        on.chat.held[CAREER] = gate = asyncio.Event()
        await show(on, "first", "held up")
        await on.quiet()
        await show(on, "notice", "notice")
        await show(on, "asked", "really?", kind=PostKind.QUESTION)
        gate.set()
        await on.quiet()
        assert sent(on) == ["held up", "really?", "notice"]


async def test_the_parts_of_a_final_wait_for_each_other_and_let_no_other_final_between_them() -> None:
    async with stage(session("career")) as on:
        on.chat.limit = 3
        faults = [Ambiguous("the line broke")] * 3
        on.chat.fault = lambda post: faults.pop() if faults and post.text == "one" else None
        await asyncio.gather(
            show(on, "final:1", "onetwo", kind=PostKind.FINAL), show(on, "final:2", "sixten", kind=PostKind.FINAL)
        )
        await on.clock.advance(60)
        assert sent(on) == ["one", "two", "six", "ten"]


async def test_a_place_that_takes_nothing_is_told_once_and_what_is_for_it_comes_when_it_works_again() -> None:
    async with stage(session("career")) as on:

        def kicked(post: Post) -> Exception | None:
            return Blocked("the bot was kicked", retry_at=on.clock.now() + 60) if post.place == CAREER else None

        on.chat.fault = kicked
        for text in ("one", "two"):
            await show(on, text, text, kind=PostKind.FINAL)
        await show(on, "progress", "working", kind=PostKind.PROGRESS)
        await on.clock.advance(300)
        waits = (
            "What is for room:career waits, for it cannot be shown there: the bot was kicked. It is sent nowhere else."
        )
        assert on.chat.texts(room("office")) == [waits]
        assert len(on.chat.deliveries) == 1
        on.chat.fault = lambda post: None
        await on.clock.advance(60)
        assert on.chat.texts(CAREER) == ["one", "two", "working"]
        assert on.chat.texts(room("office")) == ["What is for room:career is shown there again."]


async def test_what_nobody_makes_room_for_is_given_up_in_the_end() -> None:
    async with stage(session("career"), limits=Limits(message_life_s=3_600)) as on:
        on.chat.fault = lambda post: Blocked("kicked", retry_at=on.clock.now() + 900) if post.place == CAREER else None
        await show(on, "one", "one", kind=PostKind.FINAL)
        await on.clock.advance(3_000)
        assert [post.key for post in await on.store.pending_posts("room")] == ["one"]
        await on.clock.advance(900)
        assert await on.store.pending_posts("room") == []


async def test_a_final_that_is_too_long_for_its_chat_comes_as_a_document_and_anything_else_is_reported() -> None:
    async with stage(session("career")) as on:
        on.chat.fault = lambda post: TooLong("too long") if post.file is None and post.text == "long" else None
        await show(on, "final", "long", kind=PostKind.FINAL)
        await show(on, "notice", "long")
        await on.quiet()
        (post,) = (one for one in on.chat.deliveries if one.place == CAREER)
        assert (post.key, post.file, post.text, post.markup) == ("final", "answer.md", "long", None)
        on.chat.fault = lambda post: TooLong("too long") if post.place == CAREER else None
        await show(on, "other", "long", kind=PostKind.FINAL)
        await on.quiet()
        assert {key: one.state for key in ("final", "notice", "other") if (one := await on.store.post(key))} == {
            "final": PostState.SENT,
            "notice": PostState.FAILED,
            "other": PostState.FAILED,
        }


async def test_a_final_is_never_shed() -> None:
    async with stage(session("career")) as on:
        on.chat.fault = lambda post: NotDelivered("busy", retry_at=on.clock.now() + 30)
        await show(on, "final", "the answer", kind=PostKind.FINAL)
        await on.clock.advance(3_000)
        on.chat.fault = lambda post: None
        await on.clock.advance(30)
        assert sent(on) == ["the answer"]


async def test_a_defect_of_a_chat_ends_neither_the_outbox_nor_the_bridge() -> None:
    async with stage(session("career"), session("finance")) as on:
        on.chat.fault = lambda post: KeyError("a defect") if post.text == "bad" else None
        await show(on, "one", "bad")
        await show(on, "two", "behind it")
        await show(on, "three", "elsewhere", room("finance"))
        await on.chat.seen(room("finance"), "elsewhere")
        for _ in range(5):
            await on.clock.advance(60)
        assert (on.chat.texts(room("finance")), on.chat.texts(CAREER)) == (["elsewhere"], ["behind it"])
        post = await on.store.post("one")
        assert post is not None
        assert (post.state, post.error) == (PostState.FAILED, "an internal error: KeyError")


async def test_a_long_final_is_split_into_parts_that_keep_their_order() -> None:
    async with stage(session("career")) as on:
        on.chat.limit = 10

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            return "0123456789abcdefghijKLMNO"

        on.agent("career", career)
        await on.say("career", "recite")
        await on.chat.seen(CAREER, "KLMNO")
        assert on.chat.texts(CAREER) == ["0123456789", "abcdefghij", "KLMNO"]


async def test_nothing_is_posted_where_no_chat_is() -> None:
    async with stage(session("career", places=(Place("cli:build"),))) as on:

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            await on.tools(agent).receive()
            return "done"

        on.agent("career", career)
        receipt = await on.send("career", "look")
        await on.quiet()
        assert (await on.request(receipt.message_id)).state == "answered"
        assert on.chat.deliveries == []


async def test_progress_appears_in_time_shows_what_is_done_and_that_it_lives_and_ends() -> None:
    async with stage(session("career")) as on:
        go = asyncio.Event()

        async def career(agent: FakeAgent, prompt: Prompt) -> str | Result:
            assert agent.listener is not None
            await agent.listener.happened(Text("Let me look."))
            await go.wait()
            return "here it is"

        on.agent("career", career)
        await on.say("career", "search")
        await on.clock.advance(2.9)
        assert on.chat.texts(CAREER) == []
        await on.clock.advance(0.1)
        assert on.chat.texts(CAREER) == ["Working · 0:03\nLet me look."]
        await on.clock.advance(14)
        assert len(on.chat.deliveries) == 1
        await on.clock.advance(1)
        assert on.chat.texts(CAREER) == ["Working · 0:18\nLet me look."]
        go.set()
        await on.quiet()
        assert sorted(on.chat.texts(CAREER)) == ["Done after 0:18", "here it is"]
        await on.clock.advance(60)
        assert len(on.chat.deliveries) == 4


async def test_a_short_turn_shows_no_progress() -> None:
    async with stage(session("career")) as on:
        on.agent("career", _prompt)
        await on.say("career", "hello")
        await on.clock.advance(10)
        assert on.chat.texts(CAREER) == ["hi"]


async def _prompt(agent: FakeAgent, prompt: Prompt) -> str:
    return "hi"


async def answers(agent: FakeAgent, prompt: Prompt) -> str:
    return "yes"
