"""What an update means to the bridge. The library's objects end here."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass

from telegram import CallbackQuery, Chat, Message, Update, User
from telegram.constants import ChatType

from adapters.telegram.config import TelegramConfig
from adapters.telegram.happenings import admitted, happening
from adapters.telegram.making import Made
from adapters.telegram.media import Media, key_of, media_of, worded
from adapters.telegram.others import answered, of_others, passed_on, quoted
from adapters.telegram.place import Spot, is_numbered_by_all, person_id, receipt
from adapters.telegram.text import visible
from bridge.ids import Place
from bridge.ports.chat import Happening, Heard, Person

_COMMAND = re.compile(r"(?P<command>/[A-Za-z0-9_]+)@(?P<bot>[A-Za-z0-9_]+)")


@dataclass(frozen=True, slots=True)
class Tapped:
    """A person pressed a button of the message `receipt`. `place` is None where the update does not tell it:
    Telegram says no topic of old messages."""

    query: str
    chat: int
    place: Place | None
    person: Person
    action: str
    receipt: str


@dataclass(frozen=True, slots=True)
class Said:
    """What a person said, before its files are fetched. `at` is Telegram's time, to the second. `plain` is text that
    the person has typed or pasted, and nothing else. What is `edited` was said before, and reads so now. `replied` is
    the file that it replies to."""

    heard: Heard
    at: float
    media: tuple[Media, ...] = ()
    album: str | None = None
    plain: bool = False
    edited: bool = False
    replied: Media | None = None

    @property
    def commands(self) -> bool:
        return self.heard.text.lstrip().startswith("/")


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads updates for the bot of that username and id, by the config that holds at the time. Whoever is not allowed
    is not read at all."""

    config: Callable[[], TelegramConfig]
    username: str
    bot: int

    def read(self, raw: str) -> Said | Tapped | Happening | Made | None:
        """None for what means nothing here: strangers, other bots, most service messages. Raises whatever an update
        makes the parser raise that does not have Telegram's form."""
        update = Update.de_json(json.loads(raw), None)
        if update.callback_query is not None:
            return self._tapped(update.callback_query)
        if update.message is not None:
            if (made := self._made(update.message)) is not None:
                return made
            person = self._person(update.message.from_user, update.message.chat)
            return happening(update.message, self.config(), person, self.username) or self._said(update.message)
        if update.edited_message is not None:
            return self._said(update.edited_message, edited=True)
        if update.my_chat_member is not None:
            return admitted(update.my_chat_member, self.config())
        return None

    def _made(self, message: Message) -> Made | None:
        topic, by = message.forum_topic_created, message.from_user
        if topic is None or by is None or by.id != self.bot:
            return None
        return Made(Spot(message.chat.id, message.message_thread_id), topic.name)

    def _said(self, message: Message, *, edited: bool = False) -> Said | None:
        if message.sender_chat is not None:  # an anonymous administrator or a channel: nobody who can be known
            return None
        person = self._person(message.from_user, message.chat)
        written = message.text or message.caption or worded(message)
        text = self._words(written)
        media = media_of(message)
        if person is None or not (text or media) or (written and not text):
            return None
        others, whose = [], passed_on(message)
        if whose is not None and not text.lstrip().startswith("/"):
            text, others = "", [of_others(whose, text)] if text else []
        if (quote := quoted(message)) is not None:
            others.append(quote)
        spot, replied = _spot(message), answered(message)
        heard = Heard(
            place=spot.place,
            person=person,
            text=text,
            key=self._key(message),
            title=_topic_name(message),
            reply_to=receipt(message.chat.id, replied.message_id) if replied is not None else None,
            silent=spot.general,
            passed_on=whose is not None,
            attachments=tuple(others),
            receipt=receipt(message.chat.id, message.message_id),
            replied=_own_words(message, replied),
        )
        return Said(
            heard,
            message.date.timestamp(),
            (media,) if media is not None else (),
            album=message.media_group_id,
            plain=message.text is not None and whose is None,
            edited=edited,
            replied=media_of(replied) if replied is not None else None,
        )

    def _tapped(self, query: CallbackQuery) -> Tapped | None:
        shown = query.message
        if shown is None or not query.data:
            return None
        person = self._person(query.from_user, shown.chat)
        if person is None:
            return None
        return Tapped(
            query=query.id,
            chat=shown.chat.id,
            place=_spot(shown).place if isinstance(shown, Message) and shown.is_accessible else None,
            person=person,
            action=query.data,
            receipt=receipt(shown.chat.id, shown.message_id),
        )

    def _person(self, user: User | None, chat: Chat) -> Person | None:
        if user is None or user.is_bot or chat.type == ChatType.CHANNEL:
            return None
        config = self.config()
        if not config.may_talk(user.id, chat.id):
            return None
        return Person(person_id(user.id), visible(user.full_name), operator=user.id in config.operators)

    def _key(self, message: Message) -> str:
        """Another bot, which somebody sets up in the place of this one, hears of other messages by the same numbers."""
        known = key_of(message)
        return known if is_numbered_by_all(message.chat.id) else f"{known}@{self.bot}"

    def _words(self, text: str) -> str:
        """The text without our name after its command; nothing where the command is another bot's."""
        found = _COMMAND.match(text)
        if found is None:
            return text
        if found["bot"].lower() != self.username.lower():
            return ""
        return found["command"] + text[found.end() :]


def _topic_name(message: Message) -> str | None:
    """The name that its topic was made with, where the message tells it."""
    replied = message.reply_to_message
    topic = replied.forum_topic_created if replied is not None else None
    return topic.name if topic is not None else None


def _own_words(message: Message, replied: Message | None) -> str | None:
    """What the person has written in the message that this one replies to."""
    if replied is None or passed_on(replied) is not None or replied.from_user is None or message.from_user is None:
        return None
    own = replied.sender_chat is None and replied.from_user.id == message.from_user.id
    return (replied.text or replied.caption) if own else None


def _spot(message: Message) -> Spot:
    """A thread is a topic only where Telegram says so: ordinary replies carry the id of their chain too."""
    if message.is_topic_message and message.message_thread_id is not None:
        return Spot(message.chat.id, message.message_thread_id)
    return Spot(message.chat.id, general=bool(message.chat.is_forum))
