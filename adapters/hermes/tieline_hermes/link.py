"""The link to the bridge, in a thread of its own (deploy/gateway-link.md). It holds up nobody who sends."""

import json
import logging
import os
import socket
import threading
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

Frame = dict[str, Any]

log = logging.getLogger(__name__)

PROTOCOL = 1
ANSWER_S = 5.0
_SEND_S = 2.0
_SILENT_S = 35.0
_BEAT_S = 10.0
_AGAIN_S = 0.5
_REFUSED_S = 30.0


class Link:
    """`hello` is how the gateway introduces itself. `heard` gets each frame of the bridge, `opened` sends what there is
    to tell once a link is there, and `ended` is called once it is gone. All in the link's thread."""

    def __init__(
        self,
        path: Path,
        token: Callable[[], str | None],
        hello: Callable[[], Frame],
        *,
        opened: Callable[[], None],
        heard: Callable[[Frame], None],
        ended: Callable[[], None],
        idle: Callable[[], None],
    ) -> None:
        self._path = path
        self._token = token
        self._hello = hello
        self._opened, self._heard, self._ended, self._idle = opened, heard, ended, idle
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._answers: dict[str, tuple[threading.Event, list[Frame]]] = {}
        self._numbers = count(1)
        self._run = os.urandom(4).hex()
        self._told: str | None = None
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="tieline-link", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._closing.set()
        self._cut()

    def send(self, kind: str, **fields: Any) -> bool:
        """False where the bridge cannot have heard it. What was sent may still be lost with the bridge."""
        line = json.dumps({"type": kind, **fields}).encode() + b"\n"
        with self._lock:
            if self._socket is None:
                return False
            try:
                self._socket.sendall(line)
            except OSError:
                self._socket = None
                return False
        return True

    def call(self, turn: str, tool: str, arguments: Frame) -> Frame | None:
        """A tool of the bridge, called in a turn. None where no answer has come in time."""
        ident = f"{self._run}-{next(self._numbers)}"
        come = threading.Event()
        answer: list[Frame] = []
        self._answers[ident] = come, answer
        end = time.monotonic() + ANSWER_S
        try:
            while (left := end - time.monotonic()) > 0:
                # The same call, told again to a bridge that may have lost it, is carried out once.
                if self.send("call", id=ident, turn=turn, tool=tool, arguments=arguments):
                    come.wait(min(left, ANSWER_S))
                else:
                    come.wait(min(left, 0.2))
                if answer:
                    return answer[0]
                come.clear()
            return None
        finally:
            del self._answers[ident]

    def _keep(self) -> None:
        while not self._closing.is_set():
            wait_s = _AGAIN_S
            try:
                wait_s = self._once()
            except OSError:
                pass
            except Exception:
                log.exception("tieline: the link failed")
                wait_s = _REFUSED_S
            finally:
                self._cut()
                self._ended()
                for come, _ in list(self._answers.values()):
                    come.set()
            self._idle()
            self._closing.wait(wait_s)

    def _once(self) -> float:
        """One link, until it ends. Returns how long to wait for the next."""
        token = self._token()
        if token is None:
            return _AGAIN_S  # The gateway is about to start, and what it goes on with wants the link at once.
        with socket.socket(socket.AF_UNIX) as connection:
            return self._linked(connection, token)

    def _linked(self, connection: socket.socket, token: str) -> float:
        connection.settimeout(_SEND_S)
        connection.connect(str(self._path))
        connection.sendall(f"TIELINE-GATEWAY 1 {token}\n".encode())
        hello = {"type": "hello", "protocol": PROTOCOL, **self._hello()}
        connection.sendall(json.dumps(hello).encode() + b"\n")
        buffer, beaten, heard = b"", time.monotonic(), time.monotonic()
        welcome = False
        connection.settimeout(0.5)
        while not self._closing.is_set():
            try:
                data = connection.recv(65536)
            except TimeoutError:
                data = None
            now = time.monotonic()
            if data == b"" or now - heard > _SILENT_S:
                return _AGAIN_S
            if data:
                heard = now
                *lines, buffer = (buffer + data).split(b"\n")
                for line in lines:
                    frame = json.loads(line)
                    if frame["type"] == "refused":
                        self._refused(str(frame.get("reason")))
                        return _REFUSED_S
                    if frame["type"] == "welcome":
                        welcome, self._told = True, None
                        with self._lock:
                            self._socket = connection
                        self._opened()
                    else:
                        self._took(frame)
            if welcome:
                self._idle()
                if now - beaten > _BEAT_S:
                    beaten = now
                    self.send("ping")
                if self._socket is None:
                    return _AGAIN_S
        return 0

    def _refused(self, reason: str) -> None:
        """It is tried again and again, and said once."""
        if reason != self._told:
            log.warning("tieline: the bridge refuses this gateway: %s", reason)
            self._told = reason

    def _took(self, frame: Frame) -> None:
        if frame["type"] == "ping":
            self.send("pong")
        elif frame["type"] == "result":
            known = self._answers.get(frame["id"])
            if known is not None:
                known[1].append(frame)
                known[0].set()
        elif frame["type"] != "pong":
            self._heard(frame)

    def _cut(self) -> None:
        with self._lock:
            self._socket = None
