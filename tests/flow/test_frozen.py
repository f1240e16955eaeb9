"""What a session was made with is kept; a change of the file reaches new sessions, and others afresh (DESIGN §8)."""

from dataclasses import replace
from typing import Any

from adapters.memory.store import MemoryStore
from bridge.launching import Definition, Options, Server
from bridge.ports.runtime import Context, Launch, Result
from bridge.ports.store import Change, Store
from bridge.session import Declared, Session
from bridge.turn import Failure, FailureKind
from bridge.views import SessionView
from tests.fakes.runtime import FakeAgent, FakeRuntime
from tests.flow.stage import Stage, ident, person, room, session, stage

OLD = Definition("fake", ("old",), env=("KEY",))
NEW = Definition("fake", ("new",), env=("KEY", "MORE"))


def defining(*definitions: Definition) -> FakeRuntime:
    return FakeRuntime(definitions={one.agent: one for one in definitions})


def career(model: str | None = None, **more: Any) -> Declared:
    return session("career", options=Options(model=model, **more))


async def kept(store: Store, handle: str = "career") -> Session:
    found = await store.session(ident(handle))
    assert found is not None
    return found


async def talk(on: Stage, handle: str = "career") -> Launch:
    """How its agent was started last, once it has been spoken to."""
    await on.say(handle, "hello")
    await on.quiet()
    return [one for one in on.runtime.launches if one.session == ident(handle)][-1]


async def view(on: Stage, handle: str = "career") -> SessionView:
    views, _ = await on.exchange.sessions(await person(on), active=False)
    return next(one for one in views if one.id == ident(handle))


async def test_a_change_of_the_file_reaches_new_sessions_only() -> None:
    store = MemoryStore()
    async with stage(career("opus"), store=store, runtime=defining(OLD)) as on:
        assert (await talk(on)).definition == OLD
    others = (career("haiku"), session("desk", options=Options(model="haiku")))
    async with stage(*others, store=store, runtime=defining(NEW)) as on:
        old, new = await talk(on), await talk(on, "desk")
        assert (old.options.model, old.definition, old.alias) == ("opus", OLD, "context-1")
        assert (new.options.model, new.definition) == ("haiku", NEW)


async def test_a_change_while_the_bridge_runs_leaves_a_session_as_it_is() -> None:
    async with stage(career("opus")) as on:
        await talk(on)
        await on.exchange.redeclare([career("haiku")])
        await talk(on)
        assert [one.options.model for one in on.runtime.launches] == ["opus"]
        assert (await kept(on.store)).options.model == "opus"


async def test_a_fresh_context_has_the_settings_of_now() -> None:
    store = MemoryStore()
    async with stage(career("opus"), store=store, runtime=defining(OLD)) as on:
        await talk(on)
    async with stage(career("haiku"), store=store, runtime=defining(NEW)) as on:
        assert (await view(on)).outdated
        await on.say("career", "/new")
        await on.chat.seen(room("career"), "starts afresh")
        assert not (await view(on)).outdated
        launch = await talk(on)
        assert (launch.options.model, launch.definition, launch.alias) == ("haiku", NEW, None)


async def test_a_person_elsewhere_gives_it_a_fresh_context_too() -> None:
    async with stage(career("opus"), confirm_in_chat=False) as on:
        await talk(on)
        await on.exchange.redeclare([career("haiku")])
        assert (await on.exchange.renew(await person(on), "career")).failed == 0
        assert (await talk(on)).options.model == "haiku"


async def test_a_terminals_wish_for_a_fresh_context_waits_for_an_operator() -> None:
    async with stage(career("opus")) as on:
        await talk(on)
        await on.exchange.redeclare([career("haiku")])
        done = await on.exchange.renew(await person(on), "career")
        assert done.waits_for == (room("office"),)
        await on.quiet()
        assert (await kept(on.store)).alias == "context-1"
        await on.chat.seen(room("office"), "default/career begins afresh")
        await on.press("office", "Accept")
        await on.quiet()
        assert (await talk(on)).options.model == "haiku"


async def test_people_are_told_which_sessions_run_on_older_settings() -> None:
    store = MemoryStore()
    async with stage(career("opus"), session("desk"), store=store, runtime=defining(OLD)) as on:
        assert (await on.exchange.status(await person(on))).outdated == 0
    async with stage(career("haiku"), session("desk"), store=store, runtime=defining(OLD)) as on:
        assert (await on.exchange.status(await person(on))).outdated == 1
        assert [(await view(on, one)).outdated for one in ("career", "desk")] == [True, False]
        await on.say("career", "/status")
        await on.chat.seen(room("career"), "It runs on older settings: /new")
    async with stage(career("opus"), session("desk"), store=store, runtime=defining(OLD)) as on:
        assert (await on.exchange.status(await person(on))).outdated == 0


async def test_a_session_made_at_run_time_keeps_how_its_agent_was_defined() -> None:
    store = MemoryStore()
    async with stage(store=store, runtime=defining(OLD), confirm_in_chat=False) as on:
        place = room("research")
        await on.exchange.new_session(
            await person(on), "research", "fake", None, place, None, options=Options(model="opus")
        )
        await talk(on, "research")
    async with stage(store=store, runtime=defining(NEW)) as on:
        launch = await talk(on, "research")
        assert (launch.options.model, launch.definition) == ("opus", OLD)
        await on.say("research", "/new")
        await on.chat.seen(room("research"), "starts afresh")
        launch = await talk(on, "research")
        assert (launch.options.model, launch.definition) == ("opus", NEW)


async def test_another_agent_answers_with_a_fresh_context() -> None:
    store = MemoryStore()
    async with stage(session("career", agent="fake"), store=store) as on:
        await talk(on)
    async with stage(session("career", agent="other"), store=store) as on:
        assert (await talk(on)).agent == "fake"
        await on.say("career", "/new")
        await on.chat.seen(room("career"), "starts afresh")
        assert (await talk(on)).agent == "other"


async def test_a_session_of_before_gets_the_settings_of_now() -> None:
    store = MemoryStore()
    async with stage(career(), store=store, runtime=defining(OLD)) as on:
        await talk(on)
    await store.commit(Change(puts=[replace(await kept(store), frozen=None)]))
    async with stage(career("haiku"), store=store, runtime=defining(NEW)) as on:
        launch = await talk(on)
        assert (launch.options.model, launch.definition, launch.alias) == ("haiku", NEW, "context-1")
        assert not (await view(on)).outdated


# What is live


async def test_what_the_file_takes_away_is_gone_at_the_next_turn() -> None:
    servers = (Server("files", ("a",)), Server("web", ("b",)))
    async with stage(career(servers=servers, hooks=True, fallback=("other",))) as on:
        first = await talk(on)
        assert first.options.hooks
        later = (Server("web", ("another",)), Server("more", ("c",)))
        await on.exchange.redeclare([career(servers=later)])
        launch = await talk(on)
        assert launch.options == Options(servers=(servers[1],))
        assert launch.alias == "context-1"
        assert (await view(on)).outdated


async def test_an_agent_that_has_left_the_file_answers_nobody_any_more() -> None:
    async with stage(career()) as on:
        await talk(on)
        await on.exchange.redeclare([career()], agents=["other"])
        await on.say("career", "hello again")
        await on.chat.seen(room("career"), "no agent named 'fake' is configured")
        await on.chat.seen(room("career"), "from the bridge's next start")
        assert on.runtime.agents[0].closed
        assert len(on.runtime.prompts) == 1
        await on.exchange.redeclare([career()], agents=["fake", "other"])
        await on.quiet()
        assert len(on.runtime.prompts) == 2


async def test_habits_and_the_directory_are_of_now() -> None:
    store = MemoryStore()
    async with stage(career(), store=store) as on:
        await talk(on)
    changed = session("career", cwd="/new", accept_wake=False, tags=("office",))
    async with stage(changed, store=store) as on:
        now = await kept(store)
        assert (now.cwd, now.habits.accept_wake, now.tags) == ("/new", False, ("office",))
        assert not (await view(on)).outdated


async def test_a_label_is_of_now_and_makes_nothing_older() -> None:
    async with stage(career()) as on:
        await on.exchange.redeclare([career(label="cron")])
        assert (await kept(on.store)).options.label == "cron"
        assert (await on.exchange.status(await person(on))).outdated == 0


async def test_what_could_not_run_is_set_right_at_once_and_keeps_its_context() -> None:
    async with stage(career("opus"), session("desk")) as on:
        await talk(on)

        async def unknown(agent: FakeAgent, prompt: object) -> Result:
            return Result("", "error", Failure(FailureKind.CONFIG, "no model opus"))

        on.agent("career", unknown)
        await on.say("career", "go on")
        await on.chat.seen(room("career"), "no model opus")
        on.runtime.behaviours.pop(ident("career"))
        await on.exchange.redeclare([career("haiku"), session("desk")])
        await on.quiet()
        launch = on.runtime.launches[-1]
        assert (launch.session, launch.options.model, launch.alias) == (ident("career"), "haiku", "context-1")
        assert on.runtime.agents[-1].context is Context.RESUMED


async def test_a_session_without_an_agent_gets_one_at_once() -> None:
    store = MemoryStore()
    async with stage(session("career", agent=None, places=(room("career"),)), store=store) as on:
        pass
    async with stage(career("opus"), store=store, runtime=defining(OLD)) as on:
        launch = await talk(on)
        assert (launch.options.model, launch.definition) == ("opus", OLD)


async def test_an_agent_that_had_to_be_accepted_first_is_frozen_once_it_is() -> None:
    store = MemoryStore()
    first = session("career", agent="missing")
    async with stage(first, store=store) as on:
        await on.say("career", "hello")
        await on.chat.seen(room("career"), "no agent named 'missing'")
        frozen = (await kept(store)).frozen
        assert frozen is not None
        assert frozen.definitions == ()


async def test_text_of_peers_is_embedded_only_where_it_was_and_is() -> None:
    for then, now in ((False, True), (True, False), (True, True)):
        store = MemoryStore()
        async with stage(career(), store=store, runtime=FakeRuntime(embedding={"fake"} if then else set())) as on:
            await talk(on)
        async with stage(career(), store=store, runtime=FakeRuntime(embedding={"fake"} if now else set())) as on:
            await on.send("career", "hello")
            await on.quiet()
            assert bool(on.runtime.prompts[0][1].embedded) == (then and now)
