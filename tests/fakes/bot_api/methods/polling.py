"""How the bot gets its updates."""

from aiogram.methods import DeleteWebhook, GetUpdates, GetWebhookInfo, SetWebhook

from tests.fakes.bot_api.contract import Table
from tests.fakes.bot_api.updates import Updates
from tests.fakes.bot_api.webhook import Webhook
from tests.fakes.bot_api.world import ApiError, Json

_WEBHOOK_IS_SET = "can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"


class Polling:
    def __init__(self, updates: Updates, webhook: Webhook) -> None:
        self._updates = updates
        self._webhook = webhook
        self.table: Table = {
            "getUpdates": self._get_updates,
            "setWebhook": self._set,
            "deleteWebhook": self._delete,
            "getWebhookInfo": self._info,
        }

    async def _get_updates(self, call: GetUpdates) -> list[Json]:
        if self._webhook.url:
            raise ApiError(409, f"Conflict: {_WEBHOOK_IS_SET}")
        return await self._updates.poll(call.offset, call.limit, call.timeout or 0, call.allowed_updates)

    async def _set(self, call: SetWebhook) -> bool:
        if call.drop_pending_updates:
            self._updates.drop()
        if call.allowed_updates is not None:
            self._updates.allowed = call.allowed_updates
        await self._webhook.set(call.url, call.secret_token, call.max_connections or 40)
        if call.url:
            self._updates.end_poll()
        return True

    async def _delete(self, call: DeleteWebhook) -> bool:
        if call.drop_pending_updates:
            self._updates.drop()
        await self._webhook.set("", None, 40)
        return True

    def _info(self, _: GetWebhookInfo) -> Json:
        return self._webhook.info()
