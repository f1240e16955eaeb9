"""How long what comes in from outside waits until the loop gets to it.

Timers would tell it worse: those of both loops go by whole milliseconds, as much as what is to be measured.
"""

import asyncio
import os
import struct
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

_POKES = """
import os, struct, time
while True:
    time.sleep(0.001)
    os.write(1, struct.pack("d", time.monotonic()))
"""


@asynccontextmanager
async def poked() -> AsyncIterator[Callable[[], list[float]]]:
    """Gives what tells how many seconds each poke had to wait since the last time that it was asked. A program of its
    own pokes, once a millisecond."""
    loop = asyncio.get_running_loop()
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    program = await asyncio.create_subprocess_exec(sys.executable, "-S", "-E", "-c", _POKES, stdout=writing)
    os.close(writing)
    late: list[float] = []

    def taken() -> list[float]:
        found = late.copy()
        late.clear()
        return found

    def read() -> None:
        poked_at = os.read(reading, 65_536)
        now = time.monotonic()
        late.extend(now - at for (at,) in struct.iter_unpack("d", poked_at))

    loop.add_reader(reading, read)
    try:
        yield taken
    finally:
        loop.remove_reader(reading)
        program.kill()
        await program.wait()
        os.close(reading)


async def at_rest(taken: Callable[[], list[float]], seconds: float) -> list[float]:
    """The same while nothing else goes on. What came before is left out, and the program's own start."""
    await asyncio.sleep(0.1)
    taken()
    await asyncio.sleep(seconds)
    return taken()
