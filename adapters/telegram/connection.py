"""Everything of one bot that needs the Telegram library."""

import asyncio
from collections.abc import Callable, Mapping

from adapters.telegram.config import Patience, TelegramConfig
from adapters.telegram.failures import Failures
from adapters.telegram.fetching import Fetching
from adapters.telegram.gathering import Gathering
from adapters.telegram.glimpses import Glimpses
from adapters.telegram.handling import Handling
from adapters.telegram.health import Health
from adapters.telegram.incoming import Reader
from adapters.telegram.limiter import ChatLimiter
from adapters.telegram.making import Making
from adapters.telegram.marks import Marks
from adapters.telegram.menus import Menus
from adapters.telegram.poller import Poller, Source
from adapters.telegram.polling import Polling
from adapters.telegram.sender import Sender
from adapters.telegram.spending import Spending
from adapters.telegram.topics import Topics
from adapters.telegram.wire import Wire
from bridge.backoff import FullJitter
from bridge.ports.chat import Intake, MenuLine
from bridge.ports.clock import Clock, Randomness
from bridge.ports.files import Files


class Connection:
    """Made without a request being sent; may be made in a thread of its own, for it reads certificates."""

    def __init__(
        self,
        config: TelegramConfig,
        clock: Clock,
        randomness: Randomness,
        spending: Spending,
        making: Making,
        patience: Patience,
        files: Files | None,
        *,
        migrate: Callable[[int, int], None],
    ) -> None:
        """`migrate` is told of a chat that has become another one, before anything of that is read."""
        self._migrate = migrate
        self._clock = clock
        self._randomness = randomness
        self.spending = spending
        self._wire = Wire(config, patience)
        self._bot = self._wire.bot(ChatLimiter(spending))
        failures = Failures(clock, randomness, patience)
        self.sender = Sender(self._bot, failures)
        self.marks = Marks(self._bot, failures)
        self._making = making
        self.topics = Topics(self._bot, self.sender, making, clock)
        self._fetching = Fetching(self._bot, config.token, files, clock, randomness)
        self.glimpses = Glimpses(self._bot)
        self._menus: Menus | None = None

    def narrow(self, config: TelegramConfig) -> None:
        self._wire.config = config
        if self._menus is not None:
            self._menus.changed.set()

    async def poll(self, intake: Intake, health: Health, commands: Mapping[str, MenuLine]) -> None:
        """Until it is cancelled."""
        self._menus = menus = Menus(self._bot, lambda: self._wire.config, commands)

        def handling(reader: Reader, pauses: FullJitter, tasks: asyncio.TaskGroup) -> Handling:
            tasks.create_task(menus.run(intake))
            return Handling(
                reader,
                self.sender,
                self._fetching,
                Gathering(self._clock, commands),
                intake,
                self._clock,
                pauses,
                health,
                tasks,
                migrate=self._migrate,
                made=self._making.told,
                takes_files=[name for name, line in commands.items() if line.files],
            )

        await Poller(
            self._source(),
            self._wire,
            self._bot,
            handling,
            self._clock,
            self._randomness,
            health,
            menus,
        ).run()

    def _source(self) -> Source:
        webhook = self._wire.config.webhook
        if webhook is None:
            return Polling(self._wire, self._bot, self.spending, self._clock)
        from adapters.telegram.pushed import Pushed  # noqa: PLC0415 - it loads a server

        return Pushed(webhook, self._bot, look_s=self._wire.patience.poll_s)

    async def aclose(self) -> None:
        await self._bot.shutdown()
