"""All that somebody can do in a chat, one after another, for tests of whom the bot listens to."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Unpack

from tests.fakes.bot_api import origins
from tests.fakes.bot_api.api import BotApi
from tests.fakes.bot_api.media import Item
from tests.fakes.bot_api.people import Said
from tests.fakes.bot_api.world import Json, Sent

Act = tuple[str, Callable[[], Any]]

WORDS = (
    "good morning",
    "/status",
    "/help",
    "/sessions",
    "/handoff career hello",
    "/handoff@tieline_bot career hello",
    "/stop all",
    "/answer yes",
    "/bind desk",
    "/start 123456",
    "@career hello",
    "@session:default/career hello",
    "@tieline_bot hello",
)
FILES = ("photo", "document", "voice", "audio", "video", "video_note", "animation", "sticker")
_OTHER_CONTENT: dict[str, Json] = {
    "a contact": {"contact": {"phone_number": "1", "first_name": "Sven"}},
    "a location": {"location": {"latitude": 1.0, "longitude": 1.0}},
    "a die": {"dice": {"emoji": "🎲", "value": 6}},
    "a story": {"story": {"chat": {"id": 7, "type": "private", "first_name": "Sven"}, "id": 1}},
}
_ORIGINS: dict[str, Json] = {
    "a person": origins.of_user(8),
    "somebody hidden": origins.of_hidden("Olga"),
    "a group": origins.of_chat(-100888, "Elsewhere"),
    "a channel": origins.of_channel(-100777, "News"),
}


def says(api: BotApi, user: int, targets: Sequence[Sent] = (), **said: Unpack[Said]) -> Iterator[Act]:
    """Everything that can be said, however it is `said`; `targets` are messages that can be replied to."""
    for text in WORDS:
        yield text, partial(api.say, text, user=user, **said)
        yield f"{text} as a caption", partial(api.photo, user=user, caption=text, **said)
    for kind in FILES:
        yield f"a {kind}", partial(api.send_file, Item(kind), user=user, **said)
    for what, content in _OTHER_CONTENT.items():
        with_it: Said = {**said, "more": said.get("more", {}) | content}
        yield what, partial(api.say, user=user, **with_it)
    yield "an album", partial(api.album, [Item("photo", caption="/stop all"), Item("document")], user=user, **said)
    yield "a long paste", partial(api.paste, "/handoff career " + "word " * 2000, user=user, **said)
    for name, origin in _ORIGINS.items():
        yield f"a command forwarded of {name}", partial(api.forward, "/stop all", origin, user=user, **said)
    for sent in targets:
        if sent.chat == said.get("chat"):
            replying: Said = {**said, "reply_to": sent.message_id}
            quoting: Said = {**replying, "quote": sent.text[:9]}
            yield "a reply", partial(api.say, "yes", user=user, **replying)
            yield "a quote", partial(api.say, "yes", user=user, **quoting)
    elsewhere: Said = {**said, "external_reply": {"origin": origins.of_user(1)}}
    yield "a reply to elsewhere", partial(api.say, "/status", user=user, **elsewhere)


def edits(api: BotApi, acts: Iterable[Act], chat: int) -> Iterator[Act]:
    """The same, and each message that comes of it is edited to a command."""

    def twice(act: Callable[[], Any]) -> None:
        said = act()
        for number in said if isinstance(said, list) else [said]:
            api.edit(chat, number, "/handoff career changed")

    for what, act in acts:
        yield f"{what}, edited", partial(twice, act)


def touches(api: BotApi, user: int, targets: Sequence[Sent]) -> Iterator[Act]:
    """Every button of the targets, pressed while they are new and once they are old, and reactions to them."""
    for sent in targets:
        for label, action in sent.buttons:
            for old in (False, True):
                yield f"{label} pressed", partial(api.press, sent, action, user, old=old)
        for emoji in ("👍", "👎", None):
            yield f"{emoji} to it", partial(api.react, sent.chat, sent.message_id, emoji, user=user)


def happens(api: BotApi, user: int, chat: int, thread: int | None) -> Iterator[Act]:
    """What Telegram tells of what somebody has done to a group, but for its topics."""
    contents: dict[str, Json] = {
        "left": {"left_chat_member": origins.person(user)},
        "titled": {"new_chat_title": "Mine"},
        "pinned": {"pinned_message": {"message_id": 1, "date": 0, "chat": api.room(chat).chat}},
        "talked": {"video_chat_started": {}},
    }
    for what, content in contents.items():
        yield what, partial(api.service, chat, content, user=user, thread=thread)
    yield "joined", partial(api.joins, chat, user=user, link="https://t.me/+abc")
    yield "asked to join", partial(api.asks_to_join, chat, user=user)
    yield "was let go", partial(api.member, chat, user, "left", by=user)
