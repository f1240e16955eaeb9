"""Whoever is not allowed is met with silence, or a member with the refusal, and nothing of it is stored: all that
people, bots and channels can do in every kind of chat, before the real bridge."""

import asyncio
import json
import sqlite3
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from functools import partial
from typing import Any

import pytest

from tests.acceptance.home import PATIENCE_S, Home
from tests.fakes.bot_api import BotApi
from tests.fakes.bot_api.people import Said
from tests.fakes.bot_api.repertoire import Act, edits, happens, says, touches
from tests.fakes.bot_api.world import Sent

OPERATOR, MEMBER, STRANGER, OTHER_BOT = 111, 222, 999, 888
FORUM, GROUP, SUPERGROUP, ELSEWHERE, CHANNEL = -1001, -55, -1002, -1003, -1004
DESK, CAREER, UNBOUND = 42, 43, 44
CLOCKWORK = frozenset({"updates", "notes"})
FORM = {
    "mode": "form",
    "message": "Where do I push it?",
    "requestedSchema": {"properties": {"branch": {"type": "string", "title": "Branch"}}, "required": ["branch"]},
}


def office(home: Home, api: BotApi) -> None:
    api.forum(FORUM, topics={DESK: "Desk", CAREER: "Career", UNBOUND: "Unbound"})
    api.group(GROUP)
    api.supergroup(SUPERGROUP)
    api.forum(ELSEWHERE, topics={DESK: "Desk"})
    api.channel(CHANNEL)
    for user in (STRANGER, OTHER_BOT):
        api.private(user, topics={DESK: "Desk"})
    home.telegram(api, users=[MEMBER], chats=[FORUM, GROUP, SUPERGROUP])
    home.worker("desk", places=[f"telegram:{FORUM}/{DESK}"])
    home.worker("group", places=[f"telegram:{GROUP}"])
    home.worker("supergroup", places=[f"telegram:{SUPERGROUP}"])
    home.worker(
        "career",
        {"on": "prompt", "match": "push", "script": f"elicit {json.dumps(FORM)}"},
        places=[f"telegram:{FORUM}/{CAREER}"],
    )
    home.rule("default/shell", "default/desk", effect="ask")
    home.limits(stop_grace_s=0.1)


async def asked(home: Home, api: BotApi) -> list[Sent]:
    """An approval and a question, which wait for an operator."""
    await home.up()
    await home.tieline("send", "desk", "of the shell")
    approval = await api.seen(lambda sent: sent.thread == DESK and "approval" in sent.text, 20)
    api.say("push it", chat=FORUM, thread=CAREER, user=OPERATOR)
    question = await api.seen(lambda sent: sent.thread == CAREER and "Branch" in sent.text, 20)
    return [approval, question]


def reading(home: Home) -> closing[sqlite3.Connection]:
    return closing(sqlite3.connect(f"{(home.path / 'tieline.db').as_uri()}?mode=ro", uri=True))


def kept(home: Home) -> dict[str, Counter[Any]]:
    """All rows of the store but those that say what has been heard, and how far the turn is that asks."""
    with reading(home) as store:
        names = [name for (name,) in store.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        where = {"posts": "WHERE kind <> 'progress'"}
        return {
            name: Counter(store.execute(f"SELECT * FROM {name} {where.get(name, '')}"))
            for name in names
            if name not in CLOCKWORK
        }


def handled(home: Home) -> list[tuple[int, str | None]]:
    """The number of each update, and what was wrong with it. Raises while one waits, or something to be shown."""
    with reading(home) as store:
        rows = store.execute("SELECT number, handled_at, error FROM updates").fetchall()
        shown = "SELECT count(*) FROM posts WHERE state = 'pending' AND kind <> 'progress'"
        (waiting,) = store.execute(shown).fetchone()
    if waiting or not all(at for _, at, _ in rows):
        raise LookupError
    return [(number, error) for number, _, error in rows]


def shown(api: BotApi) -> list[Sent]:
    """All that the bot has shown, but how far the turn is that asks, which makes no sound."""
    return [sent for sent in api.history if not (sent.thread == CAREER and sent.silent)]


def new(before: dict[str, Counter[Any]], after: dict[str, Counter[Any]]) -> dict[str, list[Any]]:
    return {name: list(rows - before[name]) for name, rows in after.items() if rows != before[name]}


async def done(home: Home, api: BotApi, acts: Iterable[Act]) -> None:
    """Each is done, and the bridge is through with all that comes of it."""
    for what, act in acts:
        waiting = len(api.updates.pending)
        act()
        assert len(api.updates.pending) >= waiting, what
    last = max((update["update_id"] for update in api.updates.pending), default=0)
    await api.acknowledged(last, PATIENCE_S)
    async with asyncio.timeout(PATIENCE_S):
        while True:
            try:
                numbers = handled(home)
            except LookupError:
                await asyncio.sleep(0.02)  # the store tells nobody outside that it has changed
            else:
                assert [error for _, error in numbers if error] == []
                assert max(number for number, _ in numbers) >= last
                return


def uninvited(api: BotApi, targets: list[Sent]) -> Iterable[Act]:
    for chat, thread in (
        (FORUM, DESK),
        (FORUM, CAREER),
        (FORUM, UNBOUND),
        (FORUM, None),
        (GROUP, None),
        (SUPERGROUP, None),
    ):
        where = partial(says, api, chat=chat, thread=thread)
        yield from where(STRANGER, targets)
        yield from edits(api, where(STRANGER), chat)
        yield from where(OTHER_BOT, targets, bot=True)
        yield from where(OPERATOR, targets, anonymous=True)
        yield from where(OPERATOR, targets, as_channel=CHANNEL)
        yield from where(STRANGER, via_bot=True)
        yield from happens(api, STRANGER, chat, thread)
    for user in (STRANGER, OTHER_BOT):
        for thread in (None, DESK):
            alone: Said = {"chat": user, "thread": thread, "bot": user == OTHER_BOT}
            yield from says(api, user, **alone)
            yield from edits(api, says(api, user, **alone), user)
    for someone in (OPERATOR, MEMBER, STRANGER):
        for thread in (None, DESK):
            yield from says(api, someone, chat=ELSEWHERE, thread=thread)
        yield from happens(api, someone, ELSEWHERE, None)
    for group in (FORUM, GROUP, ELSEWHERE):
        for text in ("news", "/stop all", "@career hello"):
            yield "posted", partial(api.post, text, chat=CHANNEL, linked=group)
    yield from touches(api, STRANGER, targets)


@pytest.mark.timeout(60)
async def test_of_whoever_is_not_allowed_nothing_is_stored_and_nothing_said(home: Home, api: BotApi) -> None:
    office(home, api)
    targets = await asked(home, api)
    await done(home, api, ())
    before, said, tried = kept(home), shown(api), len(api.calls("setMessageReaction"))
    await done(home, api, uninvited(api, targets))
    assert new(before, kept(home)) == {}
    assert shown(api) == said
    assert api.answers == {}
    assert api.calls("setMessageReaction")[tried:] == []
    assert api.updates.acknowledged > 2000


async def test_a_member_is_refused_what_is_for_operators_and_it_is_in_the_audit(home: Home, api: BotApi) -> None:
    office(home, api)
    targets = await asked(home, api)
    await done(home, api, ())
    before = kept(home)
    _, question = targets
    topic: Said = {"chat": FORUM, "thread": DESK}
    commands = ["/bind career", "/allow shell desk send", "/deny shell desk send", "/answer main"]
    await done(home, api, [(text, partial(api.say, text, user=MEMBER, **topic)) for text in commands])
    reply: Said = {"chat": FORUM, "thread": CAREER, "reply_to": question.message_id}
    await done(home, api, [("a reply", partial(api.say, "main", user=MEMBER, **reply))])
    buttons = [(sent, action, old) for sent in targets for _, action in sent.buttons for old in (False, True)]
    pressed = [api.press(sent, action, MEMBER, old=old) for sent, action, old in buttons]
    await done(home, api, ())
    for query in pressed:
        assert "only an operator may decide this" in str(await api.answered(query, 20))
    assert [emoji for emoji in api.calls("setMessageReaction") if "👌" in emoji.fields["reaction"]] == []

    grown = new(before, kept(home))
    assert set(grown) == {"acts", "posts"}
    acts = grown["acts"]
    assert len(acts) == len(commands) + 1 + len(buttons)
    assert all("refused" in act and f"telegram:{MEMBER}" in act for act in acts)
    assert len(grown["posts"]) == len(commands) + 1
    assert all("is for operators" in sent.text for sent in shown(api)[-len(grown["posts"]) :])


async def test_a_button_of_what_was_decided_does_nothing_more(home: Home, api: BotApi) -> None:
    office(home, api)
    approval, _ = await asked(home, api)
    deny = dict(approval.buttons)["Deny"]
    await api.answered(api.press(approval, deny, OPERATOR), 20)
    await done(home, api, ())
    before, stood = kept(home), [(sent.text, sent.buttons) for sent in api.sent(FORUM, DESK)]
    old = [api.press(approval, action, OPERATOR, old=True) for _, action in approval.buttons]
    await done(home, api, ())
    assert ["decided" in str(await api.answered(query, 20)) for query in old] == [True] * len(old)
    assert set(new(before, kept(home))) <= {"posts"}  # what happened is shown again
    assert [(sent.text, sent.buttons) for sent in api.sent(FORUM, DESK)] == stood
