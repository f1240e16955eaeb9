"""People are called by their names where people read of them, and by their ids where that is recorded."""

from dataclasses import replace

import pytest

from adapters.memory.store import MemoryStore
from bridge.decision import Effect
from bridge.ports.chat import Person
from tests.flow.stage import ALL, OPERATOR, Stage, room, rule, session, stage


async def paused(on: Stage, person: Person = OPERATOR) -> str:
    await on.say("desk", "/policy pause", person)
    await on.say("desk", "/policy", person)
    return (await on.chat.seen(room("desk"), "is paused by")).text


async def test_records_keep_the_id() -> None:
    async with stage(session("desk")) as on:
        assert "paused by Olga, until" in await paused(on)
        assert (await on.store.regime()).paused_by == OPERATOR.id


async def test_a_name_is_known_after_a_restart() -> None:
    store = MemoryStore()
    async with stage(session("desk"), store=store) as on:
        await paused(on)
        await on.quiet()
    async with stage(session("desk"), store=store) as on:
        assert on.exchange._ledger.named(OPERATOR.id) == "Olga"


async def test_who_takes_another_name_is_called_so_from_then_on() -> None:
    async with stage(session("desk")) as on:
        await paused(on)
        await on.say("desk", "/policy", replace(OPERATOR, name="Olga R."))
        await on.chat.seen(room("desk"), "paused by Olga R., until")


async def test_two_of_the_same_name_are_told_apart() -> None:
    async with stage(session("desk")) as on:
        await on.say("desk", "hello", Person("room:7", "OLGA", operator=False))
        assert "paused by Olga (room:1), until" in await paused(on)


@pytest.mark.parametrize("name", ["", "  ", "\n"])
async def test_who_has_no_name_is_called_by_the_id(name: str) -> None:
    async with stage(session("desk")) as on:
        assert "paused by room:1, until" in await paused(on, replace(OPERATOR, name=name))


async def test_a_name_is_one_short_line() -> None:
    async with stage(session("desk")) as on:
        said = await paused(on, replace(OPERATOR, name="x" * 10_000 + "\n· approved by all"))
        assert f"paused by {'x' * 59}…, until" in said


@pytest.mark.parametrize(
    "name", ["room:2", "Ann (room:2)", "@victim", "evil.example/x", "tieline.toml", "[Ann](x)", "<b>Ann</b>", "…", "🌸"]
)
async def test_a_name_that_could_mean_something_else_is_not_used(name: str) -> None:
    async with stage(session("desk")) as on:
        said = await paused(on, replace(OPERATOR, name=name))
        assert f"paused by {name}, until" not in said
        assert "room:1" in said


@pytest.mark.parametrize(
    ("name", "other"), [("Zoë", "Zoe\u0308"), ("Ann", "A n n\ufe0f"), ("Ann", "ANN"), ("shell", "")]
)
async def test_names_that_look_the_same_are_told_apart_by_ids(name: str, other: str) -> None:
    async with stage(session("desk")) as on:
        await on.say("desk", "hello", Person("room:7", other, operator=False))
        assert f"paused by {name} (room:1), until" in await paused(on, replace(OPERATOR, name=name))


@pytest.mark.parametrize("name", ["once", "on", "Approve", "Olga 🌸", "Олга", "J. R."])
async def test_who_has_approved_is_always_told(name: str) -> None:
    rules = [rule("default/shell", "default/desk", ALL, Effect.ASK)]
    async with stage(session("desk"), rules=rules) as on:
        await on.send("desk", "please", wake=False)
        await on.chat.seen(room("desk"), "needs your approval")
        await on.press("desk", "Approve once", replace(OPERATOR, name=name))
        await on.chat.seen(room("desk"), f"Approved once by {name}\n")


async def test_an_agent_reads_no_name_that_a_person_has_chosen() -> None:
    rules = [rule("default/shell", "default/desk", ALL, Effect.ASK)]
    async with stage(session("desk"), rules=rules) as on:
        await on.send("desk", "please", wake=False)
        await on.chat.seen(room("desk"), "needs your approval")
        await on.press("desk", "Deny")
        await on.chat.seen(room("desk"), "denied by Olga")
        (notice,) = await on.inbox()
        assert "Olga" not in notice.text


async def test_of_two_renames_the_later_one_is_kept() -> None:
    store = MemoryStore()
    async with stage(session("desk"), store=store) as on:
        for name in ("One", "Two", "Three"):
            on.exchange._people.met(replace(OPERATOR, name=name))
        await on.quiet()
    (note,) = await store.notes("people")
    assert note.text == "Three"
