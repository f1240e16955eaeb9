"""`tieline mcp`: a pipe between an agent's stdio and the bridge, where the MCP server runs."""

import contextlib
import os
import socket
import threading

from adapters.cli import exits
from adapters.cli.connection import NoBridge, connect
from adapters.cli.output import note

_CHUNK = 65536


def pipe(path: str, token: str | None) -> int:
    """Copies bytes both ways until either side ends. The token goes over the socket, never into arguments."""
    if not token:
        note("TIELINE_TOKEN is not set: the bridge sets it for the agents that it starts")
        return exits.CONFIG
    if not token.isascii() or any(not sign.isprintable() or sign == " " for sign in token):
        note("TIELINE_TOKEN is no capability token")
        return exits.CONFIG
    try:
        bridge = connect(path)
    except NoBridge as error:
        note(f"{error}; start it with: tieline run")
        return exits.NO_BRIDGE
    client_ended = threading.Event()
    with bridge:
        try:
            bridge.sendall(f"TIELINE-MCP 1 {token}\n".encode())
        except OSError:
            note("the bridge ended the connection")
            return exits.NO_BRIDGE
        threading.Thread(target=_upstream, args=(bridge, client_ended), daemon=True).start()
        _downstream(bridge)
    if client_ended.is_set():
        return exits.OK
    note("the bridge ended the connection")
    return exits.NO_BRIDGE


def _upstream(bridge: socket.socket, client_ended: threading.Event) -> None:
    with contextlib.suppress(OSError):
        while chunk := os.read(0, _CHUNK):
            bridge.sendall(chunk)
    client_ended.set()
    with contextlib.suppress(OSError):
        bridge.shutdown(socket.SHUT_WR)


def _downstream(bridge: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while chunk := bridge.recv(_CHUNK):
            while chunk:
                chunk = chunk[os.write(1, chunk) :]
