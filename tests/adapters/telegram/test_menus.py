"""Each person sees the commands that are for that person."""

from adapters.telegram.config import TelegramConfig
from tests.adapters.telegram.stage import (
    FORUM,
    OPERATOR,
    STRANGER,
    USER,
    FlyingClock,
    RememberingIntake,
    chat_for,
    running,
)
from tests.fakes.bot_api import BotApi, Fault


async def test_operators_see_more_than_others_and_only_where_they_are(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    api.private(OPERATOR)
    api.private(USER)
    async with running(chat_for(api, clock), intake):
        await api.until(lambda: list(api.menu(FORUM, OPERATOR)) == ["ask", "stop"])
        assert list(api.menu(OPERATOR, OPERATOR)) == ["ask", "stop"]
        assert api.menu(FORUM, USER) == api.menu(USER, USER) == {"ask": "Ask a session"}
        assert list(api.menu(FORUM, STRANGER)) == ["ask"]


async def test_what_was_set_before_is_not_set_again(api: BotApi, clock: FlyingClock, intake: RememberingIntake) -> None:
    api.private(OPERATOR)
    for _ in range(2):
        async with running(chat_for(api, clock), intake):
            await api.until(lambda: list(api.menu(FORUM, OPERATOR)) == ["ask", "stop"])
            api.say("hello", chat=FORUM, thread=42, user=USER)
            await intake.until(lambda: any(heard.text == "hello" for heard in intake.heard))
    assert len(api.calls("setMyCommands")) == 4


async def test_a_menu_that_is_refused_keeps_nobody_from_anything(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    """Nobody has written to the bot in the operator's private chat, and a request is lost."""
    api.fail("setMyCommands", Fault.CUT_BEFORE)
    async with running(chat_for(api, clock), intake):
        api.say("hello", chat=FORUM, thread=42, user=USER)
        await intake.hears("hello")
        await api.until(lambda: list(api.menu(FORUM, OPERATOR)) == ["ask", "stop"])
    assert "all_private_chats" not in {scope for scope, _ in api.menus}
    api.private(OPERATOR)
    async with running(chat_for(api, clock), intake):
        await api.until(lambda: list(api.menu(OPERATOR, OPERATOR)) == ["ask", "stop"])
    assert "all_private_chats" in {scope for scope, _ in api.menus}


async def test_who_is_no_operator_any_more_loses_the_menu(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    api.private(OPERATOR)
    chat = chat_for(api, clock)
    async with running(chat, intake):
        await api.until(lambda: list(api.menu(FORUM, OPERATOR)) == ["ask", "stop"])
        chat.narrow(TelegramConfig(api.token, operators=frozenset(), users=frozenset({USER}), chats=frozenset({FORUM})))
        await api.until(lambda: list(api.menu(FORUM, OPERATOR)) == ["ask"])
        await api.until(lambda: list(api.menu(OPERATOR, OPERATOR)) == ["ask"])
