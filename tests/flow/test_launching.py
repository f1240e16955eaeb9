"""What a session's agent is started with: said when it is made, and refused before it is there (DESIGN §8)."""

from typing import Any

import pytest

from bridge.errors import Code, Refused
from bridge.launching import Definition, Options, Server
from tests.fakes.runtime import FakeRuntime
from tests.flow.stage import Stage, ident, person, room, session, stage

OPTIONS = Options(
    model="opus",
    mode="plan",
    preamble="Answer in English.",
    servers=(Server("files", ("mcp-files", "/srv/my files"), ("FILES_TOKEN",)),),
    files=("docs/plan.md",),
    hooks=True,
    safe=True,
    label="nightly",
    fallback=("other",),
)


def consenting() -> FakeRuntime:
    """Whose agent can be told of a consent to hooks."""
    return FakeRuntime(definitions={"fake": Definition("fake", hooks_env=("ACCEPT_HOOKS",))})


async def make(on: Stage, handle: str = "research", options: Options = OPTIONS, **more: Any) -> str:
    given = {"agent": "fake", "cwd": "/srv", "place": None, "title": None, **more}
    return (await on.exchange.new_session(await person(on), handle, options=options, **given)).id


async def refused(on: Stage, options: Options = OPTIONS, **more: Any) -> Refused:
    with pytest.raises(Refused) as found:
        await make(on, options=options, **more)
    assert await on.store.session(ident("research")) is None, "it is refused before it is there"
    return found.value


async def test_an_agent_is_launched_with_what_its_session_was_made_with() -> None:
    async with stage(runtime=consenting(), confirm_in_chat=False) as on:
        await make(on)
        await on.send("research", "hello")
        await on.quiet()
        launch = on.runtime.launches[0]
        assert (launch.agent, launch.cwd, launch.options) == ("fake", "/srv", OPTIONS)
        assert launch.definition == Definition("fake", hooks_env=("ACCEPT_HOOKS",))


async def test_a_session_of_the_file_is_launched_with_what_that_says() -> None:
    async with stage(session("career", options=OPTIONS), runtime=consenting()) as on:
        await on.say("career", "hello")
        await on.quiet()
        assert on.runtime.launches[0].options == OPTIONS


async def test_what_cannot_be_is_refused_before_the_session_exists() -> None:
    async with stage(confirm_in_chat=False) as on:
        for options, more, told in [
            (Options(model=""), {}, "model"),
            (Options(fallback=("missing",)), {}, "no agent named 'missing'"),
            (Options(hooks=True), {}, "consent to hooks"),
            (Options(files=("/etc/passwd",)), {}, "files"),
            (Options(safe=True), {"cwd": None}, "safe"),
            (Options(mode="plan"), {"agent": None}, "mode is of an agent"),
        ]:
            found = await refused(on, options, **more)
            assert found.code is Code.INVALID_REQUEST
            assert told in found.reason
            assert found.remedy


# The same again


async def test_the_same_key_makes_the_same_session() -> None:
    async with stage(runtime=consenting(), confirm_in_chat=False) as on:
        assert await make(on, key="once") == await make(on, key="once") == ident("research")
        assert [one.id for one in await on.store.sessions()] == [ident("research"), ident("shell")]


@pytest.mark.parametrize(
    "other", [{"handle": "more"}, {"options": Options(model="haiku")}, {"cwd": "/home"}, {"title": "Other"}], ids=str
)
async def test_the_same_key_and_anything_else_is_refused(other: dict[str, Any]) -> None:
    async with stage(runtime=consenting(), confirm_in_chat=False) as on:
        await make(on, key="once")
        with pytest.raises(Refused, match="'once' has made a session with other settings") as found:
            await make(on, **other, key="once")
        assert found.value.code is Code.INVALID_REQUEST
        assert await on.store.session(ident("more")) is None


async def test_another_key_is_another_session_and_no_way_to_the_same_handle() -> None:
    async with stage(runtime=consenting(), confirm_in_chat=False) as on:
        await make(on, key="once")
        with pytest.raises(Refused, match="default/research exists"):
            await make(on, key="twice")
        assert await make(on, "more", key="twice") == ident("more")


# An operator's word


async def test_an_operator_sees_all_that_the_agent_would_be_started_with() -> None:
    async with stage(runtime=consenting()) as on:
        await make(on, key="once")
        asked = await on.chat.seen(room("office"), "a new session, default/research")
        for line in [
            "model: opus",
            "mode: plan",
            "preamble: Answer in English.",
            "label: nightly",
            "MCP server files: 'mcp-files' '/srv/my files', with FILES_TOKEN of the agent's environment",
            "files: docs/plan.md",
            "fallback: other",
            "the hooks that you have set up for its agent run without a question",
            "nothing of your own configuration",
        ]:
            assert f"\n· {line}" in asked.text
        assert await on.store.session(ident("research")) is None
        await on.press("office", "Accept")
        made = await on.store.session(ident("research"))
        assert made is not None
        assert made.options == OPTIONS
        assert await make(on, key="once") == made.id
        assert sum("a new session" in post.text for post in on.chat.posts.values()) == 1


async def test_what_an_operator_cannot_be_shown_whole_is_refused() -> None:
    async with stage(runtime=consenting()) as on:
        found = await refused(on, Options(preamble="x" * 2_000))
        assert "declare the session in tieline.toml" in found.remedy


# Labels


async def listed(on: Stage, every: bool = False) -> list[str]:
    views, _ = await on.exchange.sessions(await person(on), active=False, every=every)
    return [view.id for view in views]


@pytest.mark.parametrize("label", ["oneshot", "tool", "cron"])
async def test_sessions_that_nobody_looks_for_are_in_no_list_for_people_unless_all_are_asked_for(label: str) -> None:
    hidden = session("job", options=Options(label=label))
    async with stage(session("desk"), hidden, session("other", options=Options(label="nightly"))) as on:
        assert await listed(on) == [ident("desk"), ident("other"), ident("shell")]
        assert await listed(on, every=True) == [ident("desk"), ident("job"), ident("other"), ident("shell")]
        await on.say("desk", "/sessions")
        shown = await on.chat.seen(room("desk"), "Other (default/other)")
        assert "default/job" not in shown.text
        await on.say("desk", "/sessions all")
        await on.chat.seen(room("desk"), "Job (default/job)")
        agents, _ = await on.exchange.sessions(await on.shell(), active=False)
        assert ident("job") in [view.id for view in agents], "who may be reached is a matter of rules, not of labels"
        assert (await on.send("job", "hello")).to == ident("job")


async def test_a_label_needs_no_agent() -> None:
    async with stage(confirm_in_chat=False) as on:
        await make(on, options=Options(label="cron"), agent=None)
        assert ident("research") not in await listed(on)
