"""Telegram: the bot, the chats and topics of the file, and its people, as far as the Bot API tells."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from adapters.cli import exits
from adapters.cli.plain import one_line
from adapters.settings.model import Settings, TelegramSettings
from adapters.telegram.asking import Asking, Unanswered, Why
from adapters.telegram.config import Patience, TelegramConfig
from adapters.telegram.place import spot
from adapters.upkeep.finding import Finding, fail, ok, warn
from adapters.upkeep.updates import updates
from bridge.phrases import counted

_CHECK = "telegram"
_PATIENCE = Patience(connect_s=4, answer_s=8)
_IN_ALL_S = 45.0
_TOPICS = 12
"""So many are looked at in a chat: each costs of what the bot may send there in a minute."""
_EDIT = "Press the group's name, Edit"


def telegram(
    loaded: Settings,
    environ: Mapping[str, str],
    *,
    runs: bool,
    bound: Mapping[str, str] | None = None,
    moved: Mapping[str, str] | None = None,
) -> list[Finding]:
    """`runs`: a bridge runs on this home, which is then the one that polls. `bound` are the places beside those of the
    file, with their sessions, `moved` those that go on elsewhere. Nothing is changed, and no update taken."""
    if loaded.telegram is None:
        return []
    led = moved or {}
    places = {led.get(place, place): session.id for session in loaded.sessions for place in session.places}
    topics = _Topics({**(bound or {}), **places})

    async def gathered() -> list[Finding]:
        found: list[Finding] = []
        try:
            async with asyncio.timeout(_IN_ALL_S):
                async for finding in _examined(topics, loaded_telegram, environ, runs=runs):
                    found.append(finding)
        except TimeoutError:
            found.append(
                warn(_CHECK, f"it was not done within {_IN_ALL_S:.0f} s", "Ask again when Telegram is faster.")
            )
        except Unanswered as error:
            found.append(warn(_CHECK, f"the rest was not looked at: {error.reason}", "Ask again later."))
        return found

    loaded_telegram = loaded.telegram
    return asyncio.run(gathered())


async def _examined(
    topics: "_Topics", people: TelegramSettings, environ: Mapping[str, str], *, runs: bool
) -> AsyncIterator[Finding]:
    config = TelegramConfig(people.token, people.base_url, people.operators, people.users, people.chats)
    for finding in _file(people):
        yield finding
    async with Asking(config, _PATIENCE) as asking:
        try:
            me = await asking.ask("getMe")
            bot = f"@{me['username']}"
        except Unanswered as error:
            yield _unreached(error, people)
            return
        except (KeyError, TypeError):
            yield _unreached(Unanswered(Why.NO_API, f"what answers at {people.base_url} is no Bot API"), people)
            return
        yield ok(_CHECK, f"{bot} answers")
        webhook = people.webhook.url if people.webhook is not None else None
        async for finding in updates(asking, config, environ, webhook=webhook, runs=runs):
            yield finding
        async for finding in _menu(asking, bot, runs=runs):
            yield finding
        for chat in sorted(people.chats):
            async for finding in _chat(asking, chat, me, topics.of(chat)):
                yield finding
        async for finding in _people(asking, people, bot, topics):
            yield finding


def _file(people: TelegramSettings) -> Iterator[Finding]:
    if not people.operators:
        remedy = "Add your id to telegram.operators, or let `tieline init` find it."
        yield warn(_CHECK, "there are no operators: nobody may approve, stop or bind", remedy)
    if not people.chats and not people.operators and not people.users:
        yield warn(_CHECK, "nobody is answered: no chats, operators or users", "Run `tieline init`, or fill them in.")


def _unreached(error: Unanswered, people: TelegramSettings) -> Finding:
    match error.why:
        case Why.TOKEN:
            remedy = "@BotFather, /mybots, the bot, API Token; put that into the file of telegram.token_file."
            return fail(_CHECK, "Telegram refuses the bot's token", remedy)
        case Why.NO_API:
            return fail(_CHECK, error.reason, "Correct telegram.base_url, or leave it out.", code=exits.CONFIG)
        case _:
            remedy = "Look at the network, and at telegram.base_url; the rest of Telegram was not looked at."
            return warn(_CHECK, error.reason, remedy)


async def _menu(asking: Asking, bot: str, *, runs: bool) -> AsyncIterator[Finding]:
    if runs and not await asking.ask("getMyCommands", scope={"type": "all_private_chats"}):
        yield warn(
            _CHECK,
            f"{bot} shows no menu of commands",
            "Restart the bridge: it sets it as it starts, or its log says why not.",
        )


@dataclass(frozen=True, slots=True)
class _Topics:
    """The places that have a session, and its id."""

    places: Mapping[str, str]

    def of(self, chat: int) -> dict[int, str]:
        """The topics of that chat."""
        found = ((spot(place), session) for place, session in self.places.items())
        return {where.thread: ident for where, ident in found if where and where.chat == chat and where.thread}


async def _chat(asking: Asking, chat: int, me: Mapping[str, Any], threads: Mapping[int, str]) -> AsyncIterator[Finding]:
    bot = f"@{me['username']}"
    try:
        told = await asking.ask("getChat", chat_id=chat)
        member = await asking.ask("getChatMember", chat_id=chat, user_id=me["id"])
    except Unanswered as error:
        if error.why is Why.MIGRATED:
            remedy = f"Write {error.chat} in its place: in telegram.chats, and in places."
            yield fail(_CHECK, f"{chat}: {error.reason}", remedy)
        elif error.why is Why.REFUSED:
            yield _not_there(chat, bot, error.reason)
        else:
            raise
        return
    name = f"{chat} ({one_line(str(told.get('title') or ''))})"
    status = member.get("status")
    if status in ("left", "kicked"):
        yield _not_there(chat, bot, f"its status is {status}")
        return
    found = list(_rights(name, bot, told, member, me, threads))
    for finding in found or [ok(_CHECK, f"{name}: {bot} may do all that is needed")]:
        yield finding
    async for finding in _topics(asking, chat, name, threads):
        yield finding


def _not_there(chat: int, bot: str, reason: str) -> Finding:
    remedy = f"Add {bot} to the group, as an administrator; or take {chat} out of telegram.chats."
    return fail(_CHECK, f"{chat}: {bot} is not in that chat ({one_line(reason)})", remedy)


def _rights(
    name: str,
    bot: str,
    told: Mapping[str, Any],
    member: Mapping[str, Any],
    me: Mapping[str, Any],
    threads: Mapping[int, str],
) -> Iterator[Finding]:
    administrator = member.get("status") in ("administrator", "creator")
    if not administrator and not me.get("can_read_all_group_messages"):
        remedy = (
            f"{_EDIT}, Administrators, Add Administrator, {bot}; or @BotFather, /setprivacy, {bot}, Disable, then "
            "remove the bot from the group and add it again."
        )
        yield fail(_CHECK, f"{name}: privacy mode keeps {bot} from hearing what people write", remedy)
    if threads and not told.get("is_forum"):
        yield fail(
            _CHECK, f"{name}: topics are off, and {', '.join(threads.values())} would be in one", f"{_EDIT}, Topics."
        )
    if told.get("is_forum") and not administrator:
        remedy = f"{_EDIT}, Administrators, Add Administrator, {bot}, with Manage Topics on."
        yield warn(_CHECK, f"{name}: {bot} is no administrator, so it can make no topic, and mend none", remedy)
        return
    for right, press, loses in (
        ("can_manage_topics", "Manage Topics", "make no topic, and mend none"),
        ("can_delete_messages", "Delete Messages", "not delete a topic"),
    ):
        if told.get("is_forum") and member.get("status") == "administrator" and not member.get(right):
            yield warn(_CHECK, f"{name}: {bot} can {loses}", f"{_EDIT}, Administrators, {bot}, switch on {press}.")


async def _topics(asking: Asking, chat: int, name: str, threads: Mapping[int, str]) -> AsyncIterator[Finding]:
    looked = 0
    for thread, session in list(threads.items())[:_TOPICS]:
        try:
            await asking.ask("sendChatAction", chat_id=chat, message_thread_id=thread, action="typing")
        except Unanswered as error:
            if error.why is Why.FLOOD:
                break
            if error.why is not Why.REFUSED:
                raise
            if "closed" in error.reason.lower():
                yield warn(_CHECK, f"{name}: the topic of {session} is closed", "Open it again: its name, Reopen.")
            else:
                remedy = "Make a topic, write in it, and bind it: /bind there, or in places."
                yield fail(
                    _CHECK, f"{name}: the topic {thread} of {session} is gone ({one_line(error.reason)})", remedy
                )
        looked += 1
    if looked < len(threads):
        yield ok(
            _CHECK,
            f"{name}: {looked} of {counted(len(threads), 'topic')} looked at, for the bot's budget there is small",
        )


async def _people(asking: Asking, people: TelegramSettings, bot: str, topics: _Topics) -> AsyncIterator[Finding]:
    """To whom the bot can write on its own."""
    for who, ids in (("operator", people.operators), ("user", people.users)):
        for person in sorted(ids)[:_TOPICS]:
            try:
                chat = await asking.ask("getChat", chat_id=person)
            except Unanswered as error:
                if error.why is not Why.REFUSED:
                    raise
                text = (
                    f"{who} {person} has never written to {bot}, which so cannot write there ({one_line(error.reason)})"
                )
                yield warn(_CHECK, text, f"That person opens https://t.me/{bot[1:]} and presses Start.")
                continue
            yield ok(_CHECK, f"{who} {person} is {one_line(str(chat.get('first_name') or '?'))}")
            async for finding in _topics(asking, person, f"private chat {person}", topics.of(person)):
                yield finding
