"""Frames at the pace of whoever handles them."""

import asyncio
import json
from typing import Any

import pytest

from adapters.acp import frames
from adapters.acp.frames import Frames


class Pipe:
    def __init__(self) -> None:
        self.held: list[bool] = []
        self.written: list[bytes] = []
        self.open = True

    async def write(self, data: bytes) -> None:
        if not self.open:
            raise ConnectionError
        self.written.append(data)

    def hold(self, held: bool) -> None:
        self.held.append(held)


def line(number: int, size: int = 0) -> bytes:
    return json.dumps({"id": number, "result": "x" * size}).encode() + b"\n"


async def numbers(from_: Frames) -> list[Any]:
    found = []
    while (frame := await from_.receive()) is not None:
        found.append(frame["id"])
    return found


async def test_reading_is_held_while_much_waits_to_be_handled() -> None:
    pipe = Pipe()
    received = Frames(pipe.write, pipe.hold)
    for number in range(10):
        received.feed(line(number, 2**20))
    assert pipe.held == [True]
    received.end()
    assert await numbers(received) == list(range(10))
    assert pipe.held == [True, False]


async def test_frames_may_come_in_any_pieces() -> None:
    pipe = Pipe()
    received = Frames(pipe.write, pipe.hold)
    for byte in line(1) + b"\n  \n" + line(2) + b'{"id": 3':
        received.feed(bytes([byte]))
    received.end()
    assert await numbers(received) == [1, 2]


async def test_a_line_without_bounds_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "MAX_FRAME", 1_000)
    pipe = Pipe()
    received = Frames(pipe.write, pipe.hold)
    for _ in range(10):
        received.feed(b"x" * 500)
    received.feed(b"\n" + line(1, 900) + line(2, 1_000) + line(3))
    received.end()
    assert await numbers(received) == [1, 3]


async def test_whoever_prints_without_end_keeps_nobody_waiting() -> None:
    pipe = Pipe()
    received = Frames(pipe.write, pipe.hold)
    received.feed(b"y\n" * 100_000 + line(1))
    received.end()
    receiving = asyncio.create_task(numbers(received))
    turns = 0
    while not receiving.done():
        await asyncio.sleep(0)
        turns += 1
    assert receiving.result() == [1]
    assert turns >= 1_000


async def test_a_request_that_cannot_be_sent_says_so_and_a_late_answer_does_not() -> None:
    pipe = Pipe()
    pipe.open = False
    sent = Frames(pipe.write, pipe.hold)
    await sent.send({"id": 1, "result": {}})
    with pytest.raises(ConnectionError):
        await sent.send({"id": 1, "method": "session/prompt"})
