"""Everything of one bot that needs the Telegram library."""

from collections.abc import Mapping

from adapters.telegram.config import Patience, TelegramConfig
from adapters.telegram.failures import Failures
from adapters.telegram.glimpses import Glimpses
from adapters.telegram.health import Health
from adapters.telegram.limiter import ChatLimiter
from adapters.telegram.poller import Poller, Source
from adapters.telegram.polling import Polling
from adapters.telegram.sender import Sender
from adapters.telegram.spending import Spending
from adapters.telegram.wire import Wire
from bridge.ports.chat import Intake, MenuLine
from bridge.ports.clock import Clock, Randomness


class Connection:
    """Made without a request being sent; may be made in a thread of its own, for it reads certificates."""

    def __init__(
        self, config: TelegramConfig, clock: Clock, randomness: Randomness, spending: Spending, patience: Patience
    ) -> None:
        self._clock = clock
        self._randomness = randomness
        self._spending = spending
        self._wire = Wire(config, patience)
        self._bot = self._wire.bot(ChatLimiter(spending))
        self.sender = Sender(self._bot, Failures(clock, randomness, patience))
        self.glimpses = Glimpses(self._bot)

    def narrow(self, config: TelegramConfig) -> None:
        self._wire.config = config

    async def poll(self, intake: Intake, health: Health, commands: Mapping[str, MenuLine]) -> None:
        """Until it is cancelled."""
        await Poller(
            self._source(),
            self._wire,
            self._bot,
            self.sender,
            intake,
            self._clock,
            self._randomness,
            health,
            commands,
        ).run()

    def _source(self) -> Source:
        webhook = self._wire.config.webhook
        if webhook is None:
            return Polling(self._wire, self._bot, self._spending, self._clock)
        from adapters.telegram.pushed import Pushed  # noqa: PLC0415 - it loads a server

        return Pushed(webhook, self._bot, look_s=self._wire.patience.poll_s)

    async def aclose(self) -> None:
        await self._bot.shutdown()
