"""A Telegram Bot API server on loopback, for tests with a real client.

    async with BotApi() as api:
        api.forum(-1001, topics={42: "Front Desk", 43: "Career"})
        ...                                # start a bot with api.token and api.base_url
        api.say("Please check this.", chat=-1001, thread=42, user=111)
        shown = await api.seen(lambda sent: "Checked" in sent.text)
        assert shown.thread == 42
        callback = api.press(shown, "approve:1", user=111)
        assert await api.answered(callback) == "Approved"

It models forums with General, private chats and groups, thread ids of replies, long polling with
acknowledgement by offset, 409, 429, migration, deleted and closed topics, limits, and callbacks, with the
error texts of the real API. Waiting is by events: `seen`, `answered`, `acknowledged`, and `until` for anything else.

Updates wait until they are acknowledged, across clients and across `restart()`, `down()` and `up()`. `fail()`
makes the next requests of a method go wrong, `flood()` gives 429, `raw()` adds an update that may be unparsable,
`repeat()` doubles what waits, and another `token` revokes the one before.

Every request that is taken and every answer that is given is checked against aiogram's typed models. Drift from
them makes the context fail at its end.
"""

from tests.fakes.bot_api.api import TOKEN, BotApi
from tests.fakes.bot_api.server import Fault, Request
from tests.fakes.bot_api.world import Sent

__all__ = ["TOKEN", "BotApi", "Fault", "Request", "Sent"]
