"""HTTP over the control socket: one request a connection."""

import contextlib
import json
import os
import select
import socket
from collections.abc import Mapping
from typing import Any

from adapters.sockets import address
from bridge.errors import Code, Refused

MAX_BODY = 4 * 1024 * 1024
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


class NoBridge(Exception):
    """Nobody listens at the control socket."""


class Dropped(Exception):
    """The connection ended before the answer came; the request may or may not have been carried out."""


def socket_path(environ: Mapping[str, str]) -> str:
    home = environ.get("TIELINE_HOME") or os.path.join(os.path.expanduser("~"), ".tieline")
    return os.path.join(os.path.abspath(os.path.expanduser(home)), "run", "control.sock")


def connect(path: str) -> socket.socket:
    """Raises `NoBridge`."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with address(path) as name:
            connection.connect(name)
    except OSError as error:
        connection.close()
        raise NoBridge(f"no bridge answers at {path} ({error.strerror or error})") from None
    return connection


def quoted(text: str) -> str:
    """`text` as one segment of a path, or as a value of a query."""
    return "".join(chr(byte) if byte in _UNRESERVED else f"%{byte:02X}" for byte in utf8(text))


def utf8(text: str) -> bytes:
    """Raises `Refused(invalid_request)` for what came from bytes that are no UTF-8."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise Refused(Code.INVALID_REQUEST, "an argument or the environment is not valid UTF-8") from None


class Pending:
    """A request whose answer is awaited. Closing the connection is how the bridge learns that nobody waits."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    def ready(self, seconds: float) -> bool:
        """Waits for up to `seconds` until something has come."""
        return bool(select.select([self._connection], [], [], seconds)[0])

    def result(self) -> dict[str, Any]:
        """Raises `Refused` or `Dropped`."""
        with self._connection:
            head, separator, body = self._read().partition(b"\r\n\r\n")
        status, length = _head(head)
        if not separator or len(body) < length:
            raise Dropped("the bridge ended the connection before it answered")
        try:
            answer = json.loads(body)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise Refused(Code.UNAVAILABLE, f"the bridge answered with HTTP {status} and no JSON object")
        if "error" in answer:
            raise _refusal(answer["error"])
        return answer

    def _read(self) -> bytes:
        received = []
        with contextlib.suppress(OSError):
            while chunk := self._connection.recv(65536):
                received.append(chunk)
        return b"".join(received)


class Connection:
    """Speaks to the bridge as `session`, where that is given, and with the capability token, if there is one. `thread`
    tells agents that share one process apart."""

    def __init__(self, path: str, token: str | None, session: str | None, thread: str | None = None) -> None:
        self._thread = thread
        self._path = path
        self._token = token
        self._session = session

    def get(self, path: str) -> dict[str, Any]:
        return self.begin("GET", path).result()

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        return self.begin("POST", path, body).result()

    def begin(self, method: str, path: str, body: dict[str, Any] | None = None) -> Pending:
        """Sends a request. Raises `NoBridge`, or `Refused` for what cannot be sent."""
        content = b"" if body is None else json.dumps(body).encode()
        if len(content) > MAX_BODY:
            raise Refused(Code.TOO_LARGE, f"the request is over {MAX_BODY} bytes")
        head = [f"{method} {path} HTTP/1.1".encode(), b"Host: tieline", b"Connection: close"]
        if self._token:
            head.append(b"Authorization: Bearer " + _header(self._token))
        if self._session:
            head.append(b"X-Tieline-Session: " + _header(self._session))
        if self._thread:
            head.append(b"X-Tieline-Thread: " + _header(self._thread))
        if body is not None:
            head += [b"Content-Type: application/json", b"Content-Length: %d" % len(content)]
        connection = connect(self._path)
        # A bridge that refuses a request before it has read all of it has said why: result() reads that.
        with contextlib.suppress(OSError):
            connection.sendall(b"\r\n".join([*head, b"", content]))
        return Pending(connection)


def _header(value: str) -> bytes:
    encoded = utf8(value)
    if any(byte < 0x20 or byte == 0x7F for byte in encoded):
        raise Refused(Code.INVALID_REQUEST, "a session name or token holds a control character")
    return encoded


def _head(head: bytes) -> tuple[int, int]:
    lines = head.split(b"\r\n")
    try:
        status = int(lines[0].split()[1])
        fields = dict(line.lower().split(b":", 1) for line in lines[1:])
        return status, int(fields.get(b"content-length", b"0"))
    except (IndexError, ValueError):
        raise Dropped("the bridge ended the connection before it answered") from None


def _refusal(error: Any) -> Refused:
    try:
        return Refused(Code(error["code"]), error["reason"], rule=error["rule"], remedy=error["remedy"])
    except (KeyError, TypeError, ValueError):
        return Refused(Code.UNAVAILABLE, f"the bridge answered with an error that is unknown here: {error}")
