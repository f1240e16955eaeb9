"""`tieline ask` brings one answer back, says that it lives meanwhile, and never loses the question."""

import json
import signal
from pathlib import Path

import pytest

from bridge.request import Answer
from tests.adapters.api.live import serving
from tests.adapters.api.memory_exchange import MemoryExchange
from tests.adapters.cli.shell import Shell


async def test_the_answer_is_printed_and_then_counts_as_read(shell: Shell, exchange: MemoryExchange) -> None:
    async with shell.started("ask", "career", "how much?") as process:
        await exchange.asked.wait()
        await exchange.close("m1", Answer.ANSWERED, "42 \x1b[0m")
        out, _ = await process.communicate()
    assert (process.returncode, out) == (0, b"42 <U+001B>[0m\n")
    assert exchange.read == ["m1"]
    assert exchange.sends[0].wake


@pytest.mark.parametrize(
    ("answer", "code"),
    [(Answer.NO_REPLY, 0), (Answer.FAILED, 70), (Answer.CANCELLED, 70), (Answer.INPUT_REQUIRED, 75)],
)
async def test_how_it_closed_is_the_exit_code_and_the_reason_is_told(
    shell: Shell, exchange: MemoryExchange, answer: Answer, code: int
) -> None:
    text = "which one?" if answer is Answer.INPUT_REQUIRED else None
    async with shell.started("ask", "career", "how much?", "--json") as process:
        await exchange.asked.wait()
        await exchange.close("m1", answer, text, "the agent stopped")
        out, err = await process.communicate()
    record = json.loads(out)
    assert (process.returncode, record["answer"]) == (code, answer)
    assert (record["reply"] or {}).get("text") == text
    assert b"the agent stopped" in err or b"--reply-to r1" in err


async def test_the_end_of_the_wait_is_not_the_end_of_the_question(shell: Shell, exchange: MemoryExchange) -> None:
    first = await shell.run("ask", "career", "how much?", "--timeout", "0", "--key", "k", "--json")
    assert (first.code, first.records[0]["answer"], first.records[0]["reply"]) == (75, "open", None)
    assert "m1" in first.err
    assert "--key k" in first.err
    assert exchange.read == []
    await exchange.close("m1", Answer.ANSWERED, "42")
    again = await shell.run("ask", "career", "how much?", "--timeout", "0", "--key", "k")
    assert (again.code, again.out) == (0, "42\n")
    assert len(exchange.sends) == 1


async def test_a_wait_goes_on_at_a_bridge_that_has_restarted(tmp_path: Path, exchange: MemoryExchange) -> None:
    async with serving(exchange, tmp_path) as server, Shell(tmp_path).started("ask", "career", "how much?") as process:
        await exchange.asked.wait()
        await server.close()
        exchange.asked.clear()
        async with serving(exchange, tmp_path):
            await exchange.asked.wait()
            await exchange.close("m1", Answer.ANSWERED, "42")
            out, _ = await process.communicate()
    assert (process.returncode, out) == (0, b"42\n")
    assert len(exchange.sends) == 1


async def test_an_interrupted_wait_tells_how_to_get_the_answer(shell: Shell, exchange: MemoryExchange) -> None:
    async with shell.started("ask", "career", "how much?", "--key", "k") as process:
        await exchange.asked.wait()
        process.send_signal(signal.SIGINT)
        out, err = await process.communicate()
    assert (process.returncode, out) == (130, b"")
    assert b"--key k" in err
    assert b"Traceback" not in err


async def test_a_wait_shows_where_the_question_is(shell: Shell, exchange: MemoryExchange) -> None:
    async with shell.started("ask", "career", "how much?") as process:
        assert process.stderr
        assert await process.stderr.readline() == b"waiting for career: queued, position 1\n"
        await exchange.close("m1", Answer.ANSWERED, "42")
        assert await process.wait() == 0


async def test_on_a_terminal_one_line_is_rewritten_and_gone_at_the_end(shell: Shell, exchange: MemoryExchange) -> None:
    async with shell.in_terminal("ask", "career", "how much?") as (process, screen):
        await screen.until(" s)")
        await exchange.close("m1", Answer.NO_REPLY)
        await screen.until("no reply")
        assert await process.wait() == 0
    lines = screen.text.split("\r\x1b[K")
    assert lines[1].startswith("waiting for career: queued, position 1 (")
    assert lines[-1].startswith("m1 was read, and there is no reply")
