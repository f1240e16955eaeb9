"""A Telegram Bot API server on loopback, for tests with a real client.

    async with BotApi() as api:
        api.forum(-1001, topics={42: "Front Desk", 43: "Career"})
        ...                                # start a bot with api.token and api.base_url
        api.say("Please check this.", chat=-1001, thread=42, user=111)
        shown = await api.seen(lambda sent: "Checked" in sent.text)
        assert shown.thread == 42
        callback = api.press(shown, "approve:1", user=111)
        assert await api.answered(callback) == "Approved"

It models forums with General, private chats with topics and groups, thread ids of replies, polling and webhooks,
409, 429, migration, deleted and closed topics, members and their rights, privacy mode, menus, reactions, drafts,
files, limits, and callbacks, with the error texts of the real API. Waiting is by events: `seen`, `answered`,
`acknowledged`, and `until` for anything else.

People `say`, `paste`, `forward`, `edit`, `react` and `press`; they send a `photo`, a `document`, a `voice` message,
an `album` of `Item`s, or any `send_file`. They `create_topic`, `rename_topic`, `close_topic` and so on: with a
`user` the bot hears of it, without one it has been so before. `member` sets somebody's standing, the bot's (`api.bot`)
too. `service` is any other service message, `raw` an update that may be unparsable, `origins` tell where forwards
come from.

Formatted text is read as strictly as Telegram does. What Telegram refuses is refused; what it would drop without a
word (overlapping entities, more than a hundred, links that lead nowhere) is dropped and named in `losses`.

Updates wait until they are acknowledged, across clients and across `restart()`, `down()` and `up()`. `fail()`
makes the next requests of a method go wrong, `flood()` gives 429, `limit()` holds a chat to a rate, `weather()` lets
things go wrong by chance, `repeat()` doubles what waits, and another `token` revokes the one before. `busiest()` says
how many requests a chat got in any window; its clock is that of `BotApi(clock=…)`. A webhook needs https: what stands
behind the public address is told in `api.webhook.fronts`.

Every request that is taken and every answer that is given is checked against aiogram's typed models. Drift from
them makes the context fail at its end. Another method is added to the `table` of its subject in `methods/`.
"""

from tests.fakes.bot_api.api import TOKEN, BotApi
from tests.fakes.bot_api.media import Item
from tests.fakes.bot_api.server import Fault, Request
from tests.fakes.bot_api.traffic import Weather
from tests.fakes.bot_api.world import Draft, Entity, Sent, Upload

__all__ = ["TOKEN", "BotApi", "Draft", "Entity", "Fault", "Item", "Request", "Sent", "Upload", "Weather"]
