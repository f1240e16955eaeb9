"""Telegram as a chat of the bridge."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

from adapters.telegram.budget import Budget, Rates
from adapters.telegram.composing import composed
from adapters.telegram.config import Patience, TelegramConfig
from adapters.telegram.health import Health
from adapters.telegram.making import Making
from adapters.telegram.place import SCHEME, Spot, chats_of, link, spot, topic_link, user_of
from adapters.telegram.sole import Claim, PolledElsewhere
from adapters.telegram.spending import Spending
from bridge.errors import Refused
from bridge.ids import Place
from bridge.move import Move
from bridge.ports.chat import Intake, MenuLine, Moved, NotDelivered
from bridge.ports.clock import Clock, Randomness
from bridge.ports.files import Files
from bridge.post import Part, Post, PostKind

if TYPE_CHECKING:
    from adapters.telegram.connection import Connection

_CONNECTING_S = 1
_SLACK_S = 30


class TelegramChat:
    """Implements `bridge.ports.chat.Chat`. All but `deliver` answers at once and before `run`."""

    def __init__(
        self,
        config: TelegramConfig,
        clock: Clock,
        randomness: Randomness,
        *,
        claim: Claim = nullcontext,
        rates: Rates | None = None,
        patience: Patience | None = None,
        files: Files | None = None,
        moves: Sequence[Move] = (),
    ) -> None:
        """`moves` are those that the store remembers: whatever the config allows in a chat, it allows where that is
        now. Without `files` none is fetched."""
        self._files = files
        self._migrated = {old: new for old, new in (chats_of(move.old, move.new) for move in moves) if old != new}
        self._config = config.migrated(self._migrated)
        self._claim = claim
        self._clock = clock
        self._randomness = randomness
        self._rates = rates or Rates()
        self._patience = patience or Patience()
        self._health = Health(self._patience.poll_s + _SLACK_S)
        self._connection: Connection | None = None

    @property
    def scheme(self) -> str:
        return SCHEME

    def compose(self, text: str, *, rich: bool = False) -> Sequence[Part]:
        return composed(text, rich=rich)

    def may_talk(self, person: str, place: Place) -> bool:
        user, where = user_of(person), spot(place)
        return user is not None and where is not None and self._config.may_talk(user, where.chat)

    def attended(self, place: Place) -> bool:
        where = spot(place)
        return where is not None and self._config.attended(where.chat)

    def reports(self) -> Sequence[Place]:
        """The operators' own chats with the bot, which take something once they have written to it there."""
        return [Spot(operator).place for operator in sorted(self._config.operators)]

    def narrow(self, config: TelegramConfig) -> None:
        """Whoever is not in this one too is nobody from now on, and no chat that is not is one."""
        self._config = self._config.narrowed(config.migrated(self._migrated))
        if self._connection is not None:
            self._connection.narrow(self._config)

    def _migrate(self, old: int, new: int) -> None:
        """Telegram has said that an allowed chat is another one now."""
        self._migrated[old] = new
        self._config = self._config.migrated(self._migrated)
        if self._connection is not None:
            self._connection.narrow(self._config)

    def health(self) -> dict[str, object]:
        """`ok`, `last_poll_age_s` and `error`: what is wrong and what to do about it, or None."""
        return self._health.report(self._clock.now())

    def link(self, receipt: str) -> str | None:
        return link(receipt)

    async def glimpse(self, place: Place, about: str, text: str) -> bool:
        where = spot(place)
        if where is None or self._connection is None or not self._config.may_show(where.chat):
            return False
        return await self._connection.glimpses.show(where, about, text)

    async def deliver(self, post: Post) -> str:
        where = self._shown(post.place)
        connection = self._connected_now()
        connection.spending.expect_room(where.chat, post.urgency)  # before a request is made up: most wait in vain
        if post.kind is PostKind.MARK:
            return await connection.marks.deliver(post, where)
        try:
            return await connection.topics.deliver(post, where)
        except Moved as moved:
            new = spot(moved.new)
            if new is None:
                raise
            self._migrate(where.chat, new.chat)
            # A topic goes on as that topic, or is found to be gone: never as the chat as a whole.
            raise Moved(moved.reason, replace(where, chat=new.chat).place) from moved

    def topic_link(self, place: Place) -> str | None:
        where = spot(place)
        return topic_link(where) if where is not None else None

    def has_topic(self, place: Place) -> bool:
        where = spot(place)
        return where is not None and where.thread is not None

    async def forums(self) -> Sequence[Place]:
        topics = self._connected_now().topics
        chats = sorted(self._config.chats - self._migrated.keys())
        return [Spot(chat).place for chat in chats if await topics.is_forum(chat)]

    async def open_topic(self, near: Place, name: str) -> Place:
        return (await self._connected_now().topics.open(self._shown(near).chat, name)).place

    async def rename_topic(self, place: Place, name: str) -> None:
        await self._connected_now().topics.rename(self._shown(place), name)

    async def close_topic(self, place: Place) -> None:
        await self._connected_now().topics.close(self._shown(place))

    async def reopen_topic(self, place: Place) -> None:
        await self._connected_now().topics.reopen(self._shown(place))

    async def delete_topic(self, place: Place) -> None:
        await self._connected_now().topics.delete(self._shown(place))

    def _shown(self, place: Place) -> Spot:
        """Raises `NotDelivered` where nothing may be shown."""
        where = spot(place)
        if where is None:
            raise NotDelivered(f"{place} is no place of Telegram")
        if not self._config.may_show(where.chat):
            raise NotDelivered(f"the chat {where.chat} is not in telegram.chats")
        return where

    def _connected_now(self) -> "Connection":
        if self._connection is None:
            wait_s = _CONNECTING_S if self._health.error is None else self._patience.hopeless_s
            raise NotDelivered("Telegram is not connected yet", retry_at=self._clock.now() + wait_s)
        return self._connection

    async def run(self, intake: Intake, commands: Mapping[str, MenuLine] | None = None) -> None:
        """Connects and polls until it is cancelled; never fails for anything that Telegram does. Where somebody else
        polls this bot it says so, and begins once that has ended.

        `commands` is the menu that people see: names without a slash.
        Only one may run at a time; it may be run again after it was cancelled.
        """
        with ExitStack() as right:
            await self._claimed(right)
            self._connection = connection = await self._connected(*await self._remembered(intake))
            try:
                await connection.poll(intake, self._health, commands or {})
            finally:
                self._connection = None
                await connection.aclose()

    async def _claimed(self, right: ExitStack) -> None:
        while True:
            try:
                right.enter_context(self._claim())
            except PolledElsewhere as other:
                self._health.fails(str(other))
            else:
                return
            await self._clock.sleep(self._patience.hopeless_s)

    async def _remembered(self, intake: Intake) -> tuple[Spending, Making]:
        """Nothing is sent before it is known what was sent lately, and what was being made."""
        patience = self._patience
        on_its_way_s = patience.connect_s + patience.answer_s
        spending = Spending(Budget(self._rates), intake, self._clock, on_its_way_s=on_its_way_s)
        making = Making(intake, self._clock)
        while True:
            try:
                await spending.restore()
                await making.restore()
            except Refused as refused:
                self._health.fails(f"what was sent lately cannot be read: {refused.reason}")
            else:
                return spending, making
            await self._clock.sleep(patience.backoff_s)

    async def _connected(self, spending: Spending, making: Making) -> "Connection":
        while True:
            try:
                return await asyncio.to_thread(self._connect, spending, making)
            except Exception as error:  # noqa: BLE001 - certificates and proxies may be anything: the rest goes on
                self._health.fails(f"Telegram cannot be reached from here: {error}")
            await self._clock.sleep(self._patience.hopeless_s)

    def _connect(self, spending: Spending, making: Making) -> "Connection":
        from adapters.telegram.connection import Connection  # noqa: PLC0415 - slow to load, so not before run

        composed("*loaded*", rich=True)  # what renders Markdown too is loaded here, in a thread, if it is not by now
        return Connection(
            self._config,
            self._clock,
            self._randomness,
            spending,
            making,
            self._patience,
            self._files,
            migrate=self._migrate,
        )
