"""What people grant while the bridge runs holds at once, ends by itself, and can be taken back (DESIGN §4)."""

from dataclasses import replace

import pytest

from bridge.audit import ActKind
from bridge.caller import Caller
from bridge.decision import Effect, Verb
from bridge.errors import Code, Refused
from bridge.grant import GrantId, Scope
from bridge.message import Intent, Origin, State
from bridge.ports.runtime import Prompt
from bridge.ports.store import Change
from tests.fakes.runtime import FakeAgent
from tests.flow.stage import ALL, OPERATOR, USER, acts, ident, person, room, rule, session, stage

DESK, CAREER = session("desk"), session("career")
NOTHING = [rule("default/nobody", "default/nobody")]
OFFICE = room("office")


async def test_a_grant_makes_two_sessions_see_each_other_and_send_until_it_is_revoked() -> None:
    async with stage(DESK, CAREER, rules=NOTHING, confirm_in_chat=False) as on:
        assert (await on.refused("career")).code is Code.UNKNOWN_SESSION
        grant = await on.exchange.oversight.grant(await person(on), "shell", "career", ALL, Scope.PAIR)
        assert (await on.send("career", "hello", wake=False)).state is State.QUEUED
        views, _ = await on.exchange.sessions(await on.shell(), False)
        assert ident("career") in [view.id for view in views]
        await on.exchange.oversight.revoke(await person(on), grant.id)
        assert (await on.refused("career")).code is Code.UNKNOWN_SESSION
        assert await acts(on) == [(ActKind.GRANTED, "shell"), (ActKind.REVOKED, "shell")]


async def test_it_is_live_for_a_turn_that_runs() -> None:
    async with stage(DESK, CAREER, rules=NOTHING, confirm_in_chat=False) as on:
        heard: list[str] = []

        async def behaviour(agent: FakeAgent, prompt: Prompt) -> str:
            for grants in (False, True):
                if grants:
                    await on.exchange.oversight.grant(await person(on), "desk", "career", ALL, Scope.PAIR)
                try:
                    heard.append((await on.tools(agent).send("career", "now?", wake=False)).state.value)
                except Refused as refused:
                    heard.append(refused.code.value)
            return "done"

        on.agent("desk", behaviour)
        await on.say("desk", "go")
        await on.chat.seen(room("desk"), "done")
        assert heard == ["unknown_session", "queued"]


async def test_it_ends_by_itself() -> None:
    async with stage(DESK, CAREER, rules=NOTHING, confirm_in_chat=False) as on:
        await on.exchange.oversight.grant(await person(on), "shell", "career", ALL, Scope.PAIR, life_s=60)
        await on.clock.advance(59)
        await on.send("career", "in time", wake=False)
        await on.clock.advance(1)
        assert (await on.refused("career")).code is Code.UNKNOWN_SESSION


@pytest.mark.parametrize("life_s", [0.0, -1.0])
async def test_one_that_would_never_hold_is_refused(life_s: float) -> None:
    async with stage(DESK, CAREER, confirm_in_chat=False) as on:
        with pytest.raises(Refused) as refused:
            await on.exchange.oversight.grant(await person(on), "shell", "career", ALL, Scope.PAIR, life_s=life_s)
        assert refused.value.code is Code.INVALID_REQUEST


async def test_one_that_ends_beyond_all_calendars_can_be_listed_and_taken_back() -> None:
    async with stage(DESK, CAREER) as on:
        await on.say("career", "/allow desk for 1e300d")
        await on.chat.seen(room("career"), "until 9999-01-01 00:00 UTC")
        await on.say("career", "/policy")
        await on.chat.seen(room("career"), "default/desk may")
        (grant,) = await on.exchange.oversight.grants(await person(on))
        await on.say("career", f"/policy revoke {grant.id}")
        await on.chat.seen(room("career"), "Revoked:")


async def test_one_for_once_is_used_up_by_the_message_that_it_admits() -> None:
    async with stage(DESK, CAREER, rules=NOTHING, confirm_in_chat=False) as on:
        await on.exchange.oversight.grant(await person(on), "shell", "career", ALL, Scope.ONCE)
        assert (await on.refused("career", "x" * 9_000)).code is Code.TOO_LARGE
        await on.send("career", "the one", wake=False)
        assert (await on.refused("career")).code is Code.UNKNOWN_SESSION
        assert await on.exchange.oversight.grants(await person(on)) == []


async def test_a_deny_holds_against_every_rule_and_for_people_too() -> None:
    async with stage(DESK, CAREER) as on:
        await on.exchange.oversight.grant(
            await person(on), "shell", "career", [Verb.ASK], Scope.PAIR, effect=Effect.DENY
        )
        assert (await on.refused("career")).code is Code.NOT_PERMITTED
        assert (await on.refused("career", caller=await person(on))).code is Code.NOT_PERMITTED
        assert (await on.send("career", "told", wake=False, intent=Intent.INFORM)).state is State.QUEUED


async def test_a_deny_for_once_is_refused_for_nothing_would_use_it_up() -> None:
    async with stage(DESK, CAREER) as on:
        with pytest.raises(Refused) as refused:
            await on.exchange.oversight.grant(await person(on), "shell", "career", ALL, Scope.ONCE, effect=Effect.DENY)
        assert (refused.value.code, "--for 1h" in refused.value.remedy) == (Code.INVALID_REQUEST, True)
        assert await on.exchange.oversight.grants(await person(on)) == []


async def test_a_grant_is_taken_back_by_the_end_of_its_id_where_only_one_ends_so() -> None:
    async with stage(DESK, CAREER) as on:
        await on.say("career", "/allow desk")
        await on.say("desk", "/allow career")
        first, second = await on.store.grants()
        twin = replace(first, id=GrantId(f"f{first.id[1:]}"), version=0)
        await on.store.commit(Change(puts=[twin]))
        end = first.id[-8:]
        for said, answer in (
            (second.id[-7:], f"no grant {second.id[-7:]} holds. See those that hold"),
            (second.id[:13], f"no grant {second.id[:13]} holds"),
            (second.id[-8:].upper(), "Revoked: default/career may"),
            (end, f"the ids of 2 grants end in {end}. Give more of the one that you mean: {first.id}, {twin.id}"),
            (first.id, f"(by Olga; {first.id})"),
            (end, f"(by Olga; {twin.id})"),
        ):
            await on.say("career", f"/policy revoke {said}")
            await on.quiet()
            assert answer in on.chat.texts(room("career"))[-1]
        assert await on.exchange.oversight.grants(await person(on)) == []


async def test_a_terminal_takes_back_what_was_forbidden_once_an_operator_accepts_it_in_a_chat() -> None:
    async with stage(DESK, CAREER) as on:
        await on.say("career", "/deny desk")
        (deny,) = await on.exchange.oversight.grants(await person(on))
        for _ in range(2):  # asked twice, it is one wish
            view = await on.exchange.oversight.revoke(await person(on), deny.id[-8:])
            assert (view.id, view.waits_for) == (deny.id, (OFFICE,))
        assert await on.exchange.oversight.grants(await person(on)) == [deny]
        await on.press_when_seen("office", "Accept", "be taken back: deny default/desk → default/career")
        assert await on.exchange.oversight.grants(await person(on)) == []
        assert [act for act, _ in (await acts(on))[1:]] == [ActKind.PROPOSED, ActKind.APPROVED, ActKind.REVOKED]


async def test_what_was_taken_back_meanwhile_is_not_taken_back_again() -> None:
    async with stage(DESK, CAREER) as on:
        await on.say("career", "/deny desk")
        (deny,) = await on.exchange.oversight.grants(await person(on))
        await on.exchange.oversight.revoke(await person(on), deny.id)
        await on.say("career", f"/policy revoke {deny.id}")
        told = await on.press_when_seen("office", "Accept", "be taken back")
        assert f"no grant {deny.id} holds" in told


async def test_only_a_person_grants_and_what_was_tried_is_in_the_audit() -> None:
    async with stage(DESK, CAREER, rules=NOTHING) as on:
        oversight, program = on.exchange.oversight, await on.shell()
        for attempt in (
            oversight.grant(program, "shell", "career", ALL, Scope.PAIR),
            oversight.revoke(program, "x"),
            oversight.grants(program),
            oversight.approvals(program),
            oversight.pause(program),
            oversight.resume(program),
            oversight.audit(program, None, 9),
        ):
            with pytest.raises(Refused) as refused:
                await attempt
            assert refused.value.code is Code.NOT_PERMITTED
        assert await acts(on) == [(ActKind.REFUSED, "default/shell")] * 7


@pytest.mark.parametrize(("sender", "recipient"), [("nobody", "career"), ("shell", "nobody"), ("tag:a", "career")])
async def test_a_grant_for_a_pair_takes_two_sessions_that_there_are(sender: str, recipient: str) -> None:
    async with stage(DESK, CAREER, confirm_in_chat=False) as on:
        with pytest.raises(Refused) as refused:
            await on.exchange.oversight.grant(await person(on), sender, recipient, ALL, Scope.PAIR)
        assert refused.value.code is Code.INVALID_REQUEST


async def test_what_a_shell_would_grant_waits_for_an_operators_word_where_there_is_a_chat() -> None:
    async with stage(DESK, CAREER, rules=NOTHING) as on:
        for _ in range(2):  # asked twice, it is one wish
            view = await on.exchange.oversight.grant(await person(on), "shell", "career", ALL, Scope.PAIR)
            assert view.waits_for == (OFFICE,)
        asked = await on.chat.seen(OFFICE, "default/shell → default/career")
        assert [button.label for button in asked.buttons] == ["Accept", "Refuse"]
        assert (await on.refused("career")).code is Code.UNKNOWN_SESSION
        assert "only an operator" in await on.press("office", "Accept", USER)
        assert await on.press("office", "Accept") == "Accepted."
        await on.send("career", "hello", wake=False)
        (grant,) = await on.exchange.oversight.grants(await person(on))
        assert grant.by == OPERATOR.id


async def test_a_wish_that_is_refused_or_too_old_grants_nothing() -> None:
    async with stage(DESK, CAREER, rules=NOTHING) as on:
        for told in ("refused by Olga", "expired"):
            await on.exchange.oversight.grant(await person(on), "shell", "career", ALL, Scope.PAIR)
            await on.chat.seen(OFFICE, "asks for a grant")
            if told == "expired":
                await on.clock.advance(1_800)
            else:
                await on.press("office", "Refuse")
            gone = await on.chat.seen(OFFICE, told)
            assert not gone.buttons
            assert (await on.refused("career")).code is Code.UNKNOWN_SESSION
        assert await on.exchange.oversight.grants(await person(on)) == []


async def test_a_wish_that_is_too_old_is_not_accepted_though_nobody_has_looked_at_the_clock_yet() -> None:
    """As where the machine has slept since. The same wish again is another one."""
    async with stage(DESK, CAREER, rules=NOTHING) as on:
        oversight = on.exchange.oversight
        for wish in (1, 2):
            old = await oversight.grant(await person(on), "shell", "career", ALL, Scope.PAIR)
            await on.chat.seen(OFFICE, "asks for a grant")
            on.clock.jump(1_800)
            if wish == 1:
                assert await on.press("office", "Accept") == "This has expired: nobody had decided in time."
        again = await oversight.grant(await person(on), "shell", "career", ALL, Scope.PAIR)
        assert again.id != old.id
        assert await oversight.grants(await person(on)) == []


async def test_what_a_shell_forbids_holds_at_once_and_only_a_chat_allows_it_again() -> None:
    async with stage(DESK, CAREER) as on:
        view = await on.exchange.oversight.grant(
            await person(on), "shell", "career", ALL, Scope.PAIR, effect=Effect.DENY
        )
        assert (await on.refused("career")).code is Code.NOT_PERMITTED
        assert (await on.exchange.oversight.revoke(await person(on), view.id)).waits_for
        assert (await on.refused("career")).code is Code.NOT_PERMITTED
        await on.say("career", f"/policy revoke {view.id}")
        await on.chat.seen(room("career"), "Revoked: default/shell may not")
        await on.send("career", "again", wake=False)


# In a topic


async def test_an_operator_allows_and_forbids_in_a_topic() -> None:
    async with stage(DESK, CAREER, rules=NOTHING) as on:
        await on.say("career", "/allow desk for 8h")
        told = await on.chat.seen(room("career"), "From now on: default/desk may discover, send, ask, wake")
        assert "until 20" in told.text
        desk = Caller(ident("desk"), Origin.PEER, bound=True)
        assert (await on.send("career", "hello", caller=desk, wake=False)).state is State.QUEUED
        await on.say("career", "/deny desk")
        await on.chat.seen(room("career"), "default/desk may not")
        assert (await on.refused("career", caller=desk)).code is Code.UNKNOWN_SESSION
        await on.say("career", "/policy")
        listed = await on.chat.seen(room("career"), "(by Olga; ")
        assert "default/career" in listed.text


async def test_a_topic_is_told_what_its_session_may_and_what_others_may_to_it() -> None:
    rules = [
        rule("default/career", "default/desk"),
        rule("default/career", "default/build", effect=Effect.ASK, verbs=[Verb.ASK, Verb.WAKE]),
        rule("default/career", "default/build", verbs=[Verb.SEND]),
        rule("default/shell", "default/career", verbs=[Verb.DISCOVER]),
        rule("default/build", "default/career", effect=Effect.DENY),
    ]
    async with stage(DESK, CAREER, session("build"), rules=rules) as on:
        await on.say("career", "/policy")
        told = await on.chat.seen(room("career"), "What Career may do")
        assert told.text.splitlines() == [
            "What Career may do:",
            "→ build: send; once an operator approves: ask, wake",
            "→ desk: send, ask, wake",
            "What others may do to Career:",
            "← shell: discover",
            "Nothing is granted here beside the rules of the file.",
        ]
        await on.say("career", "/allow desk for 8h")
        given = await on.chat.seen(room("career"), "From now on: ")
        await on.say("career", "/policy pause")
        await on.say("career", "/policy")
        told = await on.chat.seen(room("career"), "← desk: send, ask, wake")
        assert told.text.startswith("All traffic between agents is paused by Olga, until /policy resume.\n")
        assert told.text.endswith(f"Granted beside the rules of the file:\n{given.text.removeprefix('From now on: ')}")
        await on.say("desk", "/policy")
        assert "→ career: send, ask, wake" in (await on.chat.seen(room("desk"), "What Desk may do")).text


async def test_many_alike_are_one_line_in_a_topic() -> None:
    many = [session(f"s{number}") for number in range(250)]
    async with stage(CAREER, *many, rules=[rule("default/career", "default/*", verbs=[Verb.SEND])]) as on:
        await on.say("career", "/policy")
        told = await on.chat.seen(room("career"), "What Career may do")
        assert "→ s0, s1, s10, s100, s101, s102, s103, s104 and 192 more: send\n" in told.text
        assert "← nothing\n" in told.text
        assert "… and 51 more sessions: " in told.text


async def test_who_grants_what_a_rule_denies_is_told_that_it_stays_denied() -> None:
    rules = [rule("default/desk", "default/career", effect=Effect.DENY, verbs=[Verb.WAKE])]
    async with stage(DESK, CAREER, rules=rules) as on:
        await on.say("career", "/allow desk")
        told = await on.chat.seen(room("career"), "From now on: ")
        assert told.text.endswith("\nBut wake is still denied by default/desk->default/career: a grant undoes no deny.")
        view = await on.exchange.oversight.grant(await person(on), "desk", "career", [Verb.SEND], Scope.PAIR)
        assert view.denied_by == ()


async def test_what_a_decision_is_now_is_told_to_people() -> None:
    async with stage(DESK, CAREER, rules=[rule("default/desk", "default/career", effect=Effect.ASK)]) as on:
        view = await on.exchange.oversight.decision(await person(on), "desk", "career", Verb.ASK)
        assert (view.effect, view.rule, view.attended) == (Effect.ASK, "default/desk->default/career", True)
        view = await on.exchange.oversight.decision(await person(on), "career", "shell", Verb.ASK)
        assert (view.effect, view.rule, view.attended) == (Effect.DENY, "no-rule", False)


@pytest.mark.parametrize(
    "said",
    [
        "/allow nobody",
        "/allow career",
        "/allow desk for ever",
        "/policy dance",
        "/policy revoke",
        "/policy revoke x",
    ],
)
async def test_what_makes_no_sense_is_told_and_grants_nothing(said: str) -> None:
    async with stage(DESK, CAREER) as on:
        await on.say("career", said)
        await on.chat.seen(room("career"), "Not done")
        assert await on.exchange.oversight.grants(await person(on)) == []


@pytest.mark.parametrize("said", ["/allow desk", "/deny desk", "/policy pause", "/policy"])
async def test_others_than_operators_may_not(said: str) -> None:
    async with stage(DESK, CAREER) as on:
        await on.say("career", said, USER)
        await on.chat.seen(room("career"), "is for operators")


# The audit


async def test_the_audit_is_read_a_page_at_a_time_and_holds_refusals_too() -> None:
    async with stage(DESK, CAREER, rules=NOTHING, confirm_in_chat=False) as on:
        await on.refused("career")
        await on.exchange.oversight.grant(await person(on), "shell", "career", ALL, Scope.PAIR)
        await on.send("career", "hello", wake=False)
        kinds: list[str] = []
        before: str | None = None
        while True:
            page, before = await on.exchange.oversight.audit(await person(on), before, 1)
            kinds += [type(one).__name__ for one in page]
            if before is None:
                break
        assert kinds == ["Verdict", "Act", "Verdict"]
