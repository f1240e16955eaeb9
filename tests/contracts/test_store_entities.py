"""Every kind of entity comes back as it was put, and counts its versions."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from bridge.approval import Subject
from bridge.decision import Effect
from bridge.errors import Conflict
from bridge.grant import Scope
from bridge.ids import TurnId
from bridge.intake import Note
from bridge.launching import Creation, Definition, Frozen, Options, Server
from bridge.message import Attachment, Intent, Origin, Outcome, Piece, State
from bridge.ports.store import Change, Entity, Store
from bridge.post import Button, PostKind, PostState
from bridge.regime import Regime
from bridge.request import Answer
from bridge.session import Busy, Caps, Habits, Joined, Kind, PeerTools, Source, Standby
from bridge.token import Token
from bridge.turn import Failure, FailureKind, Process, TurnState, Usage
from tests.contracts.entities import (
    CAREER,
    DESK,
    FINANCE,
    HOME,
    TALK,
    approval,
    binding,
    conversation,
    gateway,
    grant,
    message,
    note,
    pair,
    post,
    request,
    session,
    token,
    turn,
)


async def _regime(store: Store) -> Regime | None:
    regime = await store.regime()
    return regime if regime.version else None


async def _token(store: Store) -> Token | None:
    held = await store.tokens(DESK)
    return held[0] if held else None


async def _note(store: Store) -> Note | None:
    kept = await store.notes("telegram")
    return kept[0] if kept else None


FULL: list[tuple[Entity, Callable[[Store], Awaitable[Entity | None]]]] = [
    (
        session(
            kind=Kind.TERMINAL,
            source=Source.RUNTIME,
            agent="desk",
            cwd="/srv",
            project="tieline",
            tags=("office", "größe"),
            habits=Habits(
                accept_wake=False,
                busy=Busy.COLLECT,
                inbox_limit=3,
                max_chars=200,
                reply_wake=False,
                peer_tools=PeerTools.INHERIT,
                peer_mode="plan",
                hidden=True,
                quiet=("22:00-07:00",),
                timezone="Europe/Berlin",
            ),
            alias="20260801_110135",
            rested=True,
            paused="no login",
            closed_at=7.5,
            last_seen=6.25,
            joined=Joined(
                Process(4700, "12300 boot"),
                "codex",
                host=Process(4700, "12300 boot"),
                thread="01a22d92-3c05",
                seats=(Process(4600, "12200 boot"), Process(4601, "12201 boot")),
                left=True,
            ),
            prompted_at=6.125,
            frozen=Frozen(
                Options(
                    model="opus",
                    mode="plan",
                    preamble="Answer in English – always.\n",
                    servers=(Server("files", ("mcp-files", "."), ("FILES_TOKEN",)),),
                    files=("docs/plan.md",),
                    hooks=True,
                    safe=True,
                    label="cron",
                    fallback=("other",),
                ),
                (
                    Definition("desk", ("hermes-acp",), ("LANG",), ("KEY",), True, ("HOOKS",), ("SAFE",)),
                    Definition("other"),
                ),
            ),
            creation=Creation(DESK, "once", "digest"),
            answering="other",
            standbys=(Standby("desk", "context-1", 60.5), Standby("other")),
            caps=Caps(children=4, depth=2),
        ),
        lambda store: store.session(DESK),
    ),
    (
        session(CAREER, parent=DESK, spawned_in=TurnId("t-1"), kind=Kind.TOOL),
        lambda store: store.session(CAREER),
    ),
    (binding(session=None, source=Source.FILE), lambda store: store.binding(HOME)),
    (
        message(
            attachments=(
                Attachment("größe.png", "image/png", "/files/1/größe.png", size=9),
                Attachment("quoted", "text/plain", text="one\ntwo"),
            ),
            pieces=(Piece("web:1", 3, 1), Piece("web:2", 5, 1)),
            intent=Intent.REPLY,
            text="first line\nsecond \x00 'quoted' 🙂",
            origin=Origin.SYSTEM,
            wake=False,
            state=State.SETTLED,
            outcome=Outcome.DEAD,
            reason="five attempts",
            in_reply_to="m-0",
            cause="m-00",
            depth=3,
            path=(DESK, FINANCE),
            place=HOME,
            person="web:1",
            by_command=True,
            late=True,
            turn="t-1",
            epoch=4,
            attempts=5,
            unread=2,
            woken_at=11.5,
            read_at=12.5,
            settled_at=1_700_000_000.123456,
        ),
        lambda store: store.message(message().id),
    ),
    (
        request(
            state=Answer.INPUT_REQUIRED,
            parent="m-0",
            place=HOME,
            by_command=True,
            deferred=True,
            closing="m-2",
            late="m-3",
            closed_at=30.0,
            reason="a question",
        ),
        lambda store: store.request(message().id),
    ),
    (
        turn(
            inputs=("m-1", "m-2"),
            acts_for="m-1",
            state=TurnState.FAILED,
            place=HOME,
            process=Process(4711, "99887766"),
            prompt_sent=True,
            tools_begun=True,
            peer_read=True,
            ended_at=40.0,
            stop_reason="refusal",
            failure=Failure(FailureKind.RATE_LIMIT, "slow down", retryable=True, resets_at=99.0, provider="house"),
            usage=Usage(10, 3, 0.5, "EUR", "large-2", None, 2),
        ),
        lambda store: store.turn(turn().id),
    ),
    (conversation(place=None, messages=7, told=True), lambda store: store.conversation(TALK)),
    (pair(recent=(1.0, 2.5, 3.0), rest_until=60.0), lambda store: store.pair(CAREER, DESK)),
    (
        post(
            kind=PostKind.HANDOFF,
            buttons=(Button("Approve once", "approve:1"), Button("Deny", "deny:1")),
            message="m-1",
            session=DESK,
            state=PostState.FAILED,
            receipt="99",
            markup="[]",
            whole="all of it",
            file="answer.md",
            reply_to="98",
            attempts=3,
            error="the chat is gone",
        ),
        lambda store: store.post(post().key),
    ),
    (
        grant(
            scope=Scope.CONVERSATION,
            conversation=TALK,
            effect=Effect.DENY,
            expires_at=99.5,
            revoked_at=50.5,
            revoked_by="shell",
        ),
        lambda store: store.grant(grant().id),
    ),
    (gateway(seen_at=20.5, removed_at=30.5), lambda store: store.gateway(gateway().id)),
    (
        approval(subject=Subject.RULES, expires_at=99.5, closed_at=50.5, decided_by="web:1", outcome="accepted"),
        lambda store: store.approval(approval().id),
    ),
    (token(used_at=20.5), _token),
    (note(text='{"spent":[1.5]} 🙂'), _note),
    (Regime(paused_at=1.5, paused_by="telegram:111", accepted="{}"), _regime),
]
NAMES = [type(entity).__name__ for entity, _ in FULL]


@pytest.mark.parametrize(("entity", "read"), FULL, ids=NAMES)
async def test_every_field_comes_back_as_it_was_put(
    store: Store, entity: Entity, read: Callable[[Store], Awaitable[Entity | None]]
) -> None:
    assert await read(store) is None
    await store.commit(Change(puts=[entity]))
    assert await read(store) == replace(entity, version=1)


@pytest.mark.parametrize(("entity", "read"), FULL, ids=NAMES)
async def test_a_put_on_the_stored_version_replaces_it_and_counts_one_more(
    store: Store, entity: Entity, read: Callable[[Store], Awaitable[Entity | None]]
) -> None:
    await store.commit(Change(puts=[entity]))
    stored = await read(store)
    assert stored is not None
    await store.commit(Change(puts=[stored]))
    assert await read(store) == replace(entity, version=2)


@pytest.mark.parametrize(("entity", "read"), FULL, ids=NAMES)
@pytest.mark.parametrize("version", [0, 2, 7])
async def test_a_put_on_any_other_version_is_a_conflict(
    store: Store, entity: Entity, read: Callable[[Store], Awaitable[Entity | None]], version: int
) -> None:
    await store.commit(Change(puts=[entity]))
    with pytest.raises(Conflict):
        await store.commit(Change(puts=[replace(entity, version=version)]))
    assert await read(store) == replace(entity, version=1)


@pytest.mark.parametrize("subject", Subject)
async def test_operators_can_be_asked_about_every_subject(store: Store, subject: Subject) -> None:
    await store.commit(Change(puts=[approval(subject=subject)]))
    assert await store.open_approval(subject, approval().about) == replace(approval(subject=subject), version=1)
