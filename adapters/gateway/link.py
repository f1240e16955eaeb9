"""One connection of a gateway: frames out without ever waiting for it, and whether it still lives."""

import asyncio
import logging
from contextlib import suppress
from typing import Any

from adapters.gateway.frames import MOST_BYTES, BadFrame, Frame, read, written
from bridge.ports.clock import Clock
from bridge.turn import Process

log = logging.getLogger(__name__)

BEAT_S = 10.0
SILENT_S = 35.0
_BEHIND_BYTES = 2 * MOST_BYTES
"""So much may wait for a gateway that reads too slowly."""
_FAREWELL_S = 2.0
_TOO_LONG = f"a line is longer than {MOST_BYTES} bytes"


class Link:
    """`process` is who has connected, where the kernel tells."""

    def __init__(
        self,
        name: str,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        clock: Clock,
        process: Process | None = None,
    ) -> None:
        self.name = name
        self.process = process
        self.software: str | None = None
        self.advice: tuple[str, ...] = ()
        self.ready = False
        """Set once the gateway has told of all that it has, so that work may come."""
        self._reader = reader
        self._writer = writer
        self._clock = clock
        self._heard = clock.now()
        self.closed = False
        self.cut = False
        """Whether what the gateway had still to say may be lost, for it was not read to its end."""

    def send(self, kind: str, /, **fields: Any) -> bool:
        """False where the link is gone. What was written may still be lost with it."""
        if self.closed or self._writer.is_closing():
            return False
        self._writer.write(written(kind, **fields))
        if self._writer.transport.get_write_buffer_size() > _BEHIND_BYTES:
            log.warning("the gateway %s reads nothing, and its link is cut", self.name)
            self.close()
            return False
        return True

    async def receive(self) -> Frame | None:
        """The next frame; None once the link is gone. Raises `BadFrame`."""
        try:
            line = await self._reader.readline()
        except ValueError:
            raise BadFrame(_TOO_LONG) from None
        except OSError:
            self.cut = True
            return None
        if not line.endswith(b"\n"):
            return None
        if len(line) > MOST_BYTES:
            raise BadFrame(_TOO_LONG)
        self._heard = self._clock.now()
        return read(line)

    async def watch(self) -> None:
        """Pings the gateway, and cuts the link once nothing has come of it for too long."""
        while not self.closed:
            await self._clock.sleep(BEAT_S)
            silent = self._clock.now() - self._heard
            if silent > SILENT_S:
                log.warning("the gateway %s has been silent for %.0f s, and its link is cut", self.name, silent)
                self.close()
            self.send("ping")

    async def farewell(self) -> None:
        await farewell(self._reader, self._writer)

    def close(self) -> None:
        """Also where it reads nothing any more: nothing of ours waits for it."""
        self.cut = self.cut or not self._reader.at_eof()
        self.closed = True
        self._writer.close()
        if self._writer.transport.get_write_buffer_size():
            self._writer.transport.abort()


async def farewell(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Lets whoever is turned away hear why. What it still sends is passed over for a moment: a connection that is
    closed over it takes along what was said last."""
    with suppress(TimeoutError, OSError, ValueError):
        async with asyncio.timeout(_FAREWELL_S):
            if not writer.is_closing():
                writer.write_eof()
            while await reader.read(65_536):
                pass
