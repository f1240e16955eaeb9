"""Formatted text is read as strictly as Telegram does."""

from typing import Any

import pytest

from tests.fakes.bot_api import BotApi, Entity
from tests.fakes.bot_api.asking import refusal, result

CHAT = 7
Marks = list[dict[str, Any]]


def mark(kind: str, offset: int, length: int, **more: str) -> dict[str, Any]:
    return {"type": kind, "offset": offset, "length": length, **more}


def link(url: str) -> Marks:
    return [mark("text_link", 0, 4, url=url)]


async def shown(text: str, entities: Marks) -> tuple[str, list[tuple[str, str]], list[str]]:
    """The text, its marked pieces, and what was lost."""
    async with BotApi() as api:
        api.private(CHAT)
        await result(api, "sendMessage", chat_id=CHAT, text=text, entities=entities)
        (sent,) = api.sent(CHAT)
        pieces = [(entity.type, sent.marked(entity.type)[0]) for entity in sent.entities]
        return sent.text, pieces, api.losses


async def refused(text: str, entities: Marks) -> str:
    async with BotApi() as api:
        api.private(CHAT)
        return await refusal(api, "sendMessage", chat_id=CHAT, text=text, entities=entities)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "Bad Request: message text is empty"),
        (" \n\t ", "Bad Request: text must be non-empty"),
        ("x" * 4097, "Bad Request: message is too long"),
        ("😀" * 2049, "Bad Request: message is too long"),
    ],
)
async def test_text_is_neither_empty_nor_too_long(text: str, error: str) -> None:
    assert await refused(text, []) == error


async def test_lengths_count_once_the_text_is_trimmed() -> None:
    text, _, losses = await shown(" \n" + "😀" * 2048 + "\n \n", [])
    assert (text, losses) == ("😀" * 2048, [])


@pytest.mark.parametrize(
    ("entity", "error"),
    [
        (mark("bold", 0, 9), "entity beginning at UTF-16 offset 0 ends after the end of the text at UTF-16 offset 9"),
        (mark("bold", 9, 1), "entity beginning at UTF-16 offset 9 ends after the end of the text at UTF-16 offset 10"),
        (mark("bold", 2, 2), "entity begins in a middle of a UTF-16 symbol at byte offset 1"),
        (mark("bold", 0, 2), "entity ends in a middle of a UTF-16 symbol at byte offset 1"),
    ],
)
async def test_an_entity_lies_within_the_text_and_cuts_no_character(entity: dict[str, Any], error: str) -> None:
    assert await refused("a😀b", [entity]) == f"Bad Request: {error}"


async def test_entities_move_with_the_text_that_is_trimmed() -> None:
    text, pieces, losses = await shown("  \n😀 bold\r\n text \n ", [mark("bold", 6, 4), mark("italic", 13, 7)])
    assert text == "😀 bold\n text"
    assert (pieces, losses) == ([("bold", "bold"), ("italic", "text")], [])


@pytest.mark.parametrize(
    "entities",
    [
        [mark("bold", 0, 8), mark("italic", 2, 4), mark("underline", 2, 4)],
        [mark("blockquote", 0, 8), mark("pre", 0, 8, language="python")],
        [mark("blockquote", 0, 8), mark("bold", 0, 3), mark("code", 3, 2)],
        [mark("bold", 0, 4), mark("bold", 4, 4)],
        [mark("bold", 0, 8), mark("text_link", 1, 3, url="https://example.org/a")],
        [mark("mention", 0, 3), mark("bold", 1, 5)],
    ],
)
async def test_entities_may_stand_in_each_other(entities: Marks) -> None:
    _, pieces, losses = await shown("abcdefgh", entities)
    assert losses == []
    assert [kind for kind, _ in pieces] == [each["type"] for each in entities if each["type"] != "mention"]


@pytest.mark.parametrize(
    "entities",
    [
        [mark("bold", 0, 5), mark("italic", 3, 5)],
        [mark("bold", 0, 8), mark("code", 2, 2)],
        [mark("pre", 0, 8), mark("bold", 2, 2)],
        [mark("code", 0, 4), mark("pre", 0, 4)],
        [mark("blockquote", 0, 8), mark("expandable_blockquote", 2, 2)],
        [mark("bold", 0, 1), mark("bold", 1, 0)],
        [mark("bold", 0, 1), mark("bold", 2, -1)],
        [mark("bold", 0, 1), mark("text_link", 2, 2)],
        [mark("text_link", 0, 8, url="https://a.org"), mark("text_link", 2, 2, url="https://b.org")],
    ],
)
async def test_what_may_not_stand_in_each_other_is_lost(entities: Marks) -> None:
    _, pieces, losses = await shown("abcdefgh", entities)
    assert (len(pieces), len(losses)) == (1, 1)


async def test_entities_beyond_a_hundred_are_lost() -> None:
    _, pieces, losses = await shown("x" * 120, [mark("bold", at, 1) for at in range(120)])
    assert (len(pieces), losses) == (100, ["20 entities beyond 100"])


@pytest.mark.parametrize("url", ["https://example.org/a(b)", "http://a.b", "tg://user?id=1", "mailto:a@b.org"])
async def test_links_lead_out(url: str) -> None:
    async with BotApi() as api:
        api.private(CHAT)
        await result(api, "sendMessage", chat_id=CHAT, text="link", entities=link(url))
        assert api.sent(CHAT)[0].entities == (Entity("text_link", 0, 4, url),)
        assert api.losses == []


@pytest.mark.parametrize("url", ["docs/readme", "/etc/passwd", "#top", "README.md", "https://localhost/x"])
async def test_links_that_lead_nowhere_are_lost(url: str) -> None:
    _, _, losses = await shown("link", link(url))
    assert len(losses) == 1


@pytest.mark.parametrize(
    ("button", "error"),
    [
        ({"text": "x", "callback_data": "y" * 65}, "BUTTON_DATA_INVALID"),
        ({"text": "x", "callback_data": "é" * 33}, "BUTTON_DATA_INVALID"),
        ({"text": " ", "callback_data": "y"}, "inline keyboard button text must be non-empty"),
        ({"text": "x", "url": "nowhere"}, "inline keyboard button URL 'nowhere' is invalid: Wrong HTTP URL"),
        ({"text": "x"}, "can't parse inline keyboard button: text buttons are unallowed in the inline keyboard"),
    ],
)
async def test_buttons_do_one_thing(button: dict[str, str], error: str) -> None:
    async with BotApi() as api:
        api.private(CHAT)
        keyboard = {"inline_keyboard": [[button]]}
        refused = await refusal(api, "sendMessage", chat_id=CHAT, text="x", reply_markup=keyboard)
        assert refused == f"Bad Request: {error}"


async def test_a_message_has_at_most_a_hundred_buttons() -> None:
    async with BotApi() as api:
        api.private(CHAT)
        keyboard = {"inline_keyboard": [[{"text": "x", "callback_data": "y"}]] * 101}
        refused = await refusal(api, "sendMessage", chat_id=CHAT, text="x", reply_markup=keyboard)
        assert refused == "Bad Request: reply markup is too long"


async def test_what_is_edited_changes_and_is_the_bots_own() -> None:
    async with BotApi() as api:
        api.private(CHAT)
        asked = api.say("mine", user=CHAT)
        own = (await result(api, "sendMessage", chat_id=CHAT, text="x"))["message_id"]
        edit: dict[str, Any] = {"method": "editMessageText", "chat_id": CHAT}
        assert "is not modified" in await refusal(api, **edit, message_id=own, text=" x ")
        assert await refusal(api, **edit, message_id=asked, text="y") == "Bad Request: message can't be edited"
        assert await refusal(api, **edit, message_id=5, text="y") == "Bad Request: message to edit not found"
        await result(api, **edit, message_id=own, text="y", entities=[mark("bold", 0, 1)])
        assert [(sent.text, sent.edited, sent.marked("bold")) for sent in api.sent(CHAT)] == [("y", True, ["y"])]
        assert await refusal(api, "deleteMessage", chat_id=CHAT, message_id=5) == (
            "Bad Request: message to delete not found"
        )
        await result(api, "deleteMessage", chat_id=CHAT, message_id=own)
        assert api.sent(CHAT) == []


async def test_a_reply_needs_its_message_unless_it_may_do_without() -> None:
    async with BotApi() as api:
        api.forum(-1001, topics={42: "Desk", 43: "Career"})
        there = api.say("x", user=CHAT, chat=-1001, thread=43)
        for number in (9, there):
            strict: dict[str, Any] = {"message_id": number}
            send: dict[str, Any] = {"method": "sendMessage", "chat_id": -1001, "message_thread_id": 42, "text": "x"}
            refused = await refusal(api, **send, reply_parameters=strict)
            assert refused == "Bad Request: message to be replied not found"
            lenient = strict | {"allow_sending_without_reply": True}
            assert "reply_to_message" in await result(api, **send, reply_parameters=lenient)
            assert api.sent(-1001, 42)[-1].reply_to is None


async def test_a_reaction_is_one_of_telegrams_own() -> None:
    async with BotApi() as api:
        api.private(CHAT)
        said = api.say("x", user=CHAT)
        react: dict[str, Any] = {"method": "setMessageReaction", "chat_id": CHAT}

        def emoji(*each: str) -> Marks:
            return [{"type": "emoji", "emoji": one} for one in each]

        for one in ("👀", "👌", "👎"):
            await result(api, **react, message_id=said, reaction=emoji(one))
            assert api.reactions(CHAT, said) == (one,)
        for wrong in ("✅", "⛔", "x"):
            assert (
                await refusal(api, **react, message_id=said, reaction=emoji(wrong)) == "Bad Request: REACTION_INVALID"
            )
        assert "TOO_MANY" in await refusal(api, **react, message_id=said, reaction=emoji("👀", "👌"))
        assert "not found" in await refusal(api, **react, message_id=5, reaction=emoji("👀"))
        api.allow_reactions(CHAT, {"👍"})
        assert await refusal(api, **react, message_id=said, reaction=emoji("👀")) == "Bad Request: REACTION_INVALID"
        await result(api, **react, message_id=said, reaction=[])
        assert api.reactions(CHAT, said) == ()


async def test_a_draft_is_shown_in_private_chats_and_fades() -> None:
    now = 0.0
    async with BotApi(clock=lambda: now) as api:
        api.private(CHAT)
        api.forum(-1001)
        await result(api, "sendMessageDraft", chat_id=CHAT, draft_id=3, text="I am wri")
        drawn = api.draft(CHAT)
        assert drawn is not None
        assert drawn.text == "I am wri"
        now = 29
        assert api.draft(CHAT) == drawn
        now = 30
        assert api.draft(CHAT) is None
        await result(api, "sendMessageDraft", chat_id=CHAT, draft_id=3, text="I am writing")
        await result(api, "sendMessage", chat_id=CHAT, text="I have written")
        assert api.draft(CHAT) is None
        refused = await refusal(api, "sendMessageDraft", chat_id=-1001, draft_id=3, text="x")
        assert refused == "Bad Request: TEXTDRAFT_PEER_INVALID"
