"""What each method of the Bot API does to the world, and the errors that it gives.

A subject has a class with a `table` of its methods by name; `Methods` is made of them all.
"""

import inspect
from collections.abc import Callable
from typing import Any

from tests.fakes.bot_api.contract import Drift, Method
from tests.fakes.bot_api.methods.callbacks import Callbacks
from tests.fakes.bot_api.methods.chats import Chats
from tests.fakes.bot_api.methods.drafts import Drafts
from tests.fakes.bot_api.methods.files import Files
from tests.fakes.bot_api.methods.menus import Menus
from tests.fakes.bot_api.methods.messages import Messages
from tests.fakes.bot_api.methods.polling import Polling
from tests.fakes.bot_api.methods.reactions import Reactions
from tests.fakes.bot_api.methods.topics import Topics
from tests.fakes.bot_api.updates import Updates
from tests.fakes.bot_api.webhook import Webhook
from tests.fakes.bot_api.world import World

__all__ = ["Methods"]


class Methods:
    def __init__(self, world: World, updates: Updates, webhook: Webhook, callbacks: Callbacks) -> None:
        self.callbacks = callbacks
        self.menus = Menus(world)
        parts = (
            Chats(world),
            Drafts(world),
            Files(world),
            Messages(world),
            Polling(updates, webhook),
            Reactions(world),
            Topics(world, updates),
            self.callbacks,
            self.menus,
        )
        self._table: dict[str, Callable[[Any], Any]] = {
            name: method for part in parts for name, method in part.table.items()
        }

    async def run(self, call: Method) -> Any:
        """Raises `ApiError`, and `Drift` for what is not modelled."""
        name = call.__api_method__
        if name not in self._table:
            raise Drift(f"{name} is not modelled")
        result = self._table[name](call)
        return await result if inspect.isawaitable(result) else result
