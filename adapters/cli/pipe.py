"""`tieline mcp`: a pipe between an agent's stdio and the bridge, where the MCP server runs.

A bridge that is replaced is connected to again: an agent that is adopted in the middle of a turn keeps its tools. What
was asked and not answered is asked again where that changes nothing; else the agent is told that nobody knows.

An agent that the bridge has started has a token. One that a person has started in a terminal has none: it joins first,
as the session that the bridge takes it for.
"""

import contextlib
import json
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from math import inf
from typing import Any

from adapters.cli import exits
from adapters.cli.connection import Connection, Dropped, NoBridge, connect
from adapters.cli.output import note
from bridge.errors import Refused

AGAIN_S = 60.0
"""For so long another bridge is waited for. An agent that nobody adopts has ended before; one that a person has started
lives on without."""
_LOOK_S = 0.1
_CHUNK = 65536
_CHANGE_NOTHING = frozenset({"peer_receive", "peer_sessions", "peer_ack"})
_NOT_ADMITTED = -32001
_UNKNOWN = {
    "code": "unavailable",
    "reason": "the bridge was restarted while this call was under way, and nobody knows whether it was carried out",
    "rule": None,
    "remedy": "Call peer_receive: an answer that came meanwhile is there. Calls with a key may be repeated.",
}


Admission = Callable[[], str]
"""Gives the capability token for a connection. Raises `Refused`, `NoBridge` or `Dropped`."""


def pipe(path: str, token: str | None, client: str | None = None, wish: str | None = None) -> int:
    """Copies until the client ends, or no bridge is to be had. The token goes over the socket, never into arguments.
    Without one, `client` is what the agent is called and `wish` the session that it would be."""
    if not token:
        return _joined(path, client, wish)
    if not token.isascii() or any(not sign.isprintable() or sign == " " for sign in token):
        note("TIELINE_TOKEN is no capability token")
        return exits.CONFIG
    try:
        bridge = connect(path)
    except NoBridge as error:
        note(f"{error}; start it with: tieline run")
        return exits.NO_BRIDGE
    return _copied(_Pipe(path, lambda: token, _lines(partial(os.read, 0, _CHUNK))), bridge, token)


def _joined(path: str, client: str | None, wish: str | None) -> int:
    """What keeps the agent from joining is told to its client as the answer to its first request."""
    lines = _lines(partial(os.read, 0, _CHUNK))
    first = next(lines, b"")
    if not first:
        return exits.OK
    body = {"client": client or _client(first), "cwd": _directory(), "session": wish}

    def admitted() -> str:
        return str(Connection(path, None, None).post("/v1/terminal/join", body)["token"])

    try:
        token, bridge = admitted(), connect(path)
    except NoBridge as error:
        return _not_joined(first, f"{error}; start it with: tieline run", exits.NO_BRIDGE)
    except Dropped as error:
        return _not_joined(first, str(error), exits.NO_BRIDGE)
    except Refused as refused:
        return _not_joined(first, f"{refused.code}: {refused.reason}. {refused.remedy}", exits.of_refusal(refused.code))
    return _copied(_Pipe(path, admitted, chain([first], lines), again_s=inf), bridge, token)


def _directory() -> str:
    """Its name may be no text, and it may be gone."""
    try:
        return os.fsencode(os.getcwd()).decode("utf-8", "replace")
    except OSError:
        return ""


def _client(line: bytes) -> str:
    params = _frame(line).get("params")
    info = params.get("clientInfo") if isinstance(params, dict) else None
    name = info.get("name") if isinstance(info, dict) else None
    return name[:200] if isinstance(name, str) and name.strip() else "agent"


def _not_joined(line: bytes, reason: str, code: int) -> int:
    note(reason)
    if "id" in (frame := _frame(line)):
        error = {"code": _NOT_ADMITTED, "message": f"tieline: {reason}"}
        _out(json.dumps({"jsonrpc": "2.0", "id": frame["id"], "error": error}).encode() + b"\n")
    return code


def _copied(running: "_Pipe", bridge: socket.socket, token: str) -> int:
    threading.Thread(target=running.upstream, daemon=True).start()
    if running.downstream(bridge, token):
        return exits.OK
    note("the bridge ended the connection")
    return exits.NO_BRIDGE


class _Asked:
    """A request without an answer yet. It may be made `again`, or was never `sent`."""

    def __init__(self, line: bytes, *, again: bool) -> None:
        self.line = line
        self.again = again
        self.sent = False


class _Pipe:
    def __init__(self, path: str, admitted: Admission, lines: Iterator[bytes], *, again_s: float = AGAIN_S) -> None:
        self._path = path
        self._admitted = admitted
        self._lines = lines
        self._again_s = again_s
        self._opening: list[bytes] = []
        self._asked: dict[str, _Asked] = {}
        self._connected = threading.Condition()
        self._sending = threading.Lock()
        self._bridge: socket.socket | None = None
        self._repeated: str | None = None
        self._ended = threading.Event()

    def upstream(self) -> None:
        """What the client says, line by line, until it ends."""
        for line in self._lines:
            asked = self._noted(line)
            with self._connected:
                self._connected.wait_for(lambda: self._bridge is not None)
            self._send(line, asked)
        self._ended.set()
        with contextlib.suppress(OSError), self._connected:
            if self._bridge is not None:
                self._bridge.shutdown(socket.SHUT_WR)

    def downstream(self, bridge: socket.socket | None, token: str) -> bool:
        """What bridges say, until the client has ended. False where a bridge ends it, or none comes back."""
        again = False
        while bridge is not None:
            with bridge:
                if not self._greets(bridge, token, again=again):
                    return False
                for line in _lines(partial(bridge.recv, _CHUNK)):
                    if not self._tells(line):
                        return False
                with self._connected:
                    self._bridge = None
            if self._ended.is_set():
                return True
            if not self._opening:
                return False
            (bridge, token), again = self._another(), True
        return self._ended.is_set()

    def _greets(self, bridge: socket.socket, token: str, *, again: bool) -> bool:
        """Begins a connection, and brings a further one to where the last one was."""
        with self._sending:
            lost = [(ident, asked) for ident, asked in self._asked.items() if again and asked.sent]
            opening = self._opening if again else []
            self._repeated = _ident(opening[0]) if opening else None
            try:
                bridge.sendall(f"TIELINE-MCP 1 {token}\n".encode() + b"".join(opening))
                for ident, asked in lost:
                    if asked.again:
                        bridge.sendall(asked.line)
                    else:
                        del self._asked[ident]
                        _out(_unknown(ident))
            except OSError:
                return again
        with self._connected:
            self._bridge = bridge
            self._connected.notify_all()
        return True

    def _send(self, line: bytes, asked: _Asked | None) -> None:
        """A line that does not arrive is among what is asked again."""
        with self._sending, contextlib.suppress(OSError):
            bridge = self._bridge
            if asked is not None:
                asked.sent = True
            if bridge is not None:
                bridge.sendall(line)

    def _noted(self, line: bytes) -> _Asked | None:
        frame = _frame(line)
        method = frame.get("method")
        if method in ("initialize", "notifications/initialized"):
            self._opening.append(line)
        if method is None or "id" not in frame:
            return None
        asked = self._asked[json.dumps(frame["id"])] = _Asked(line, again=_changes_nothing(frame))
        return asked

    def _tells(self, line: bytes) -> bool:
        """Passes a line on. False where the next bridge does not admit this agent."""
        frame = _frame(line)
        ident = json.dumps(frame["id"]) if "id" in frame and "method" not in frame else None
        if ident is not None and ident == self._repeated:
            self._repeated = None
            if ident not in self._asked:
                return "error" not in frame
        if ident is not None:
            self._asked.pop(ident, None)
        _out(line)
        return True

    def _another(self) -> tuple[socket.socket | None, str]:
        until = time.monotonic() + self._again_s
        while time.monotonic() < until and not self._ended.wait(_LOOK_S):
            with contextlib.suppress(NoBridge, Dropped):
                try:
                    token = self._admitted()
                except Refused as refused:
                    note(f"{refused.code}: {refused.reason}. {refused.remedy}")
                    break
                return connect(self._path), token
        return None, ""


def _changes_nothing(frame: dict[str, Any]) -> bool:
    """Whether a request may be made twice."""
    if frame["method"] != "tools/call":
        return True
    params = frame.get("params")
    arguments = params.get("arguments") if isinstance(params, dict) else None
    keyed = isinstance(arguments, dict) and bool(arguments.get("key"))
    return keyed or (isinstance(params, dict) and params.get("name") in _CHANGE_NOTHING)


def _unknown(ident: str) -> bytes:
    text = f"unavailable: {_UNKNOWN['reason']}. {_UNKNOWN['remedy']}"
    result = {"content": [{"type": "text", "text": text}], "structuredContent": {"error": _UNKNOWN}, "isError": True}
    return json.dumps({"jsonrpc": "2.0", "id": json.loads(ident), "result": result}).encode() + b"\n"


def _lines(read: Callable[[], bytes]) -> Iterator[bytes]:
    """Whole lines; an end that was cut off is none."""
    parts: list[bytes] = []
    with contextlib.suppress(OSError):
        while chunk := read():
            *whole, rest = chunk.split(b"\n")
            for line in whole:
                yield b"".join([*parts, line, b"\n"])
                parts.clear()
            if rest:
                parts.append(rest)


def _frame(line: bytes) -> dict[str, Any]:
    try:
        frame = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return frame if isinstance(frame, dict) else {}


def _ident(line: bytes) -> str:
    return json.dumps(_frame(line).get("id"))


def _out(data: bytes) -> None:
    try:
        while data:
            data = data[os.write(1, data) :]
    except OSError:
        sys.exit(exits.OK)
