"""What a person sees who starts the bridge by hand."""

import asyncio
import os
import signal

from tests.acceptance.home import PATIENCE_S, TIELINE, Home


async def test_a_home_without_settings_is_told_at_the_start(home: Home) -> None:
    process = await asyncio.create_subprocess_exec(
        *TIELINE, "run", env=home.environ, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    assert process.stdout
    async with asyncio.timeout(PATIENCE_S):
        assert b'"ready"' in await process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        _, err = await process.communicate()
    assert process.returncode == 0
    assert err.decode().startswith(f"{home.path} has no tieline.toml")


async def shown_on(terminal: int, text: bytes) -> None:
    """Waits until a terminal has shown the text: what is written in one go may come in several."""
    shown = b""
    while text not in shown:
        shown += await asyncio.to_thread(os.read, terminal, 4096)


async def test_on_a_terminal_it_says_how_to_end_it_and_that_it_ends(home: Home) -> None:
    home.worker("career")
    await home.up()
    await home.down()
    master, slave = os.openpty()
    process = await asyncio.create_subprocess_exec(
        *TIELINE, "run", env=home.environ, stdout=asyncio.subprocess.PIPE, stderr=slave
    )
    os.close(slave)
    assert process.stdout
    async with asyncio.timeout(PATIENCE_S):
        assert b'"ready"' in await process.stdout.readline()
        await shown_on(master, b"Ctrl-C ends it")
        process.send_signal(signal.SIGINT)
        await shown_on(master, b"It ends; turns that run have 10 s")
        assert await process.wait() == 0
    os.close(master)
    assert home.stderr.read_bytes() == b""
