"""A token that a person makes for a client stands for one session, until it is revoked or the session ends."""

import pytest

from adapters.memory.store import MemoryStore
from bridge.audit import ActKind
from bridge.caller import Caller
from bridge.errors import Code, Refused
from bridge.flow.tokens import MOST
from bridge.message import Origin
from bridge.session import Declared, Kind
from bridge.token import digest_of
from tests.flow.stage import OPERATOR, Stage, acts, ident, person, room, session, stage

BUILD = session("build", agent=None)
OFFICE = room("office")


async def made(on: Stage, handle: str = "build", name: str = "client") -> str:
    view = await on.exchange.make_token(await person(on), handle, name)
    assert view.token
    return view.token


async def refused(on: Stage, handle: str = "build", name: str = "client") -> Refused:
    with pytest.raises(Refused) as error:
        await made(on, handle, name)
    return error.value


async def by(on: Stage, token: str) -> Caller:
    bound = on.exchange.token_session(token)
    assert bound is not None
    return await on.exchange.caller(None, origin=Origin.PEER, bound=bound)


async def test_whoever_holds_a_token_is_its_session_and_reads_its_mail_alone() -> None:
    async with stage(BUILD, session("other", agent=None), confirm_in_chat=False) as on:
        token = await made(on)
        await on.send("build", "for build", wake=False)
        await on.send("other", "for other", wake=False)
        caller = await by(on, token)
        assert (caller.session, caller.origin, caller.bound) == (ident("build"), Origin.PEER, True)
        assert [one.text for one in (await on.exchange.receive(caller, 9)).messages] == ["for build"]
        with pytest.raises(Refused) as error:
            await on.exchange.inbox(caller, "other", take=False)
        assert error.value.code is Code.NOT_PERMITTED


async def test_nothing_but_its_digest_is_stored_and_no_list_tells_it() -> None:
    async with stage(BUILD, confirm_in_chat=False) as on:
        token = await made(on)
        (kept,) = await on.store.tokens()
        assert (kept.digest, token in repr(kept)) == (digest_of(token), False)
        (listed,) = await on.exchange.tokens_of(await person(on), "build")
        assert (listed.name, listed.used_at, listed.token) == ("client", None, None)


async def test_a_revoked_token_is_dead_at_once_and_its_name_is_free() -> None:
    async with stage(BUILD, confirm_in_chat=False) as on:
        token, other = await made(on), await made(on, name="other")
        over = on.exchange.token_ended(token)
        await on.exchange.revoke_token(await person(on), "build", "client")
        assert over.is_set()
        assert on.exchange.token_session(token) is None
        assert on.exchange.token_ended(token).is_set()
        assert on.exchange.token_session(other) == ident("build")
        assert on.exchange.token_session(await made(on)) == ident("build")
        assert [kind for kind, _ in await acts(on)] == [ActKind.MADE, ActKind.MADE, ActKind.REVOKED, ActKind.MADE]
        with pytest.raises(Refused) as error:
            await on.exchange.revoke_token(await person(on), "build", "no-such")
        assert error.value.code is Code.INVALID_REQUEST


async def test_a_token_holds_over_a_restart_and_a_revoked_one_stays_dead() -> None:
    store = MemoryStore()
    async with stage(BUILD, store=store, confirm_in_chat=False) as on:
        kept, gone = await made(on), await made(on, name="gone")
        await on.exchange.revoke_token(await person(on), "build", "gone")
    async with stage(BUILD, store=store) as on:
        assert on.exchange.token_session(kept) == ident("build")
        assert on.exchange.token_session(gone) is None


async def test_the_last_use_is_noted_but_not_each_one() -> None:
    async with stage(BUILD, confirm_in_chat=False) as on:
        token = await made(on)
        first = on.clock.now()
        on.exchange.token_session(token)
        await on.quiet()
        await on.clock.advance(59)
        on.exchange.token_session(token)
        await on.quiet()
        (kept,) = await on.store.tokens()
        assert kept.used_at == first
        await on.clock.advance(1)
        on.exchange.token_session(token)
        await on.quiet()
        (listed,) = await on.exchange.tokens_of(await person(on), "build")
        assert listed.used_at == on.clock.now()


@pytest.mark.parametrize(
    "later",
    [[], [session("build")], [Declared(ident("build"), "Build", Kind.CHAT, agent="fake")]],
    ids=["closed", "with an agent", "with an agent and no place"],
)
async def test_a_token_ends_with_its_session_and_once_that_has_an_agent(later: list[Declared]) -> None:
    async with stage(BUILD, confirm_in_chat=False) as on:
        token = await made(on)
        over = on.exchange.token_ended(token)
        await on.exchange.redeclare(later)
        assert over.is_set()
        assert on.exchange.token_session(token) is None
        assert await on.store.tokens() == []
        await on.exchange.redeclare([BUILD])
        assert on.exchange.token_session(token) is None


async def test_where_operators_attend_a_token_stands_for_nobody_until_one_of_them_accepts_it() -> None:
    async with stage(BUILD, session("office")) as on:
        view = await on.exchange.make_token(await person(on), "build", "client")
        assert view.token
        assert view.waits_for == (OFFICE,)
        assert on.exchange.token_session(view.token) is None
        await on.chat.seen(OFFICE, "a token named client for default/build")
        assert view.token not in "".join(post.text for post in on.chat.posts.values())
        assert await on.press("office", "Accept") == "Accepted."
        assert on.exchange.token_session(view.token) == ident("build")
        (kept,) = await on.store.tokens()
        assert kept.by == OPERATOR.id


async def test_what_is_refused_by_an_operator_never_stands_for_anybody() -> None:
    async with stage(BUILD, session("office")) as on:
        view = await on.exchange.make_token(await person(on), "build", "client")
        await on.press_when_seen("office", "Refuse", "a token named client")
        assert on.exchange.token_session(view.token or "") is None
        assert await on.store.tokens() == []


async def test_a_session_with_an_agent_takes_no_other_token() -> None:
    gateway = Declared(ident("gate"), "Gate", Kind.GATEWAY)
    async with stage(session("career"), gateway, confirm_in_chat=False) as on:
        assert (await refused(on, "career")).code is Code.INVALID_REQUEST
        assert (await refused(on, "gate")).code is Code.INVALID_REQUEST
        assert (await refused(on, "nobody")).code is Code.UNKNOWN_SESSION


async def test_names_are_told_apart_and_bounded() -> None:
    async with stage(BUILD, confirm_in_chat=False) as on:
        for name in ("", "Big", "a b", "x" * 64, "-x", "a\n"):
            assert (await refused(on, name=name)).code is Code.INVALID_REQUEST
        for number in range(MOST):
            await made(on, name=f"n{number}")
        assert "has a token named 'n3'" in (await refused(on, name="n3")).reason
        assert f"{MOST} tokens already" in (await refused(on, name="more")).reason


async def test_the_token_of_an_agent_ends_with_it() -> None:
    async with stage(session("career"), confirm_in_chat=False) as on:
        await on.say("career", "hello")
        await on.quiet()
        (launch,) = on.runtime.launches
        token = launch.secrets["TIELINE_TOKEN"]
        over = on.exchange.token_ended(token)
        assert not over.is_set()
        await on.say("career", "/new")
        await on.quiet()
        assert over.is_set()
        assert on.exchange.token_session(token) is None
