"""The text of a message, from an argument or from stdin."""

import sys

from adapters.cli.connection import MAX_BODY, utf8
from adapters.cli.output import note
from bridge.errors import Code, Refused


def text_of(argument: str | None) -> str:
    """The argument; stdin, as it is, for `-` and for none. Raises `Refused` unless it is UTF-8 of sensible size."""
    if argument is not None and argument != "-":
        utf8(argument)
        return argument
    if sys.stdin.isatty():
        note("reading the text from the terminal; end it with Ctrl-D")
    raw = sys.stdin.buffer.read(MAX_BODY + 1)
    if len(raw) > MAX_BODY:
        raise Refused(Code.TOO_LARGE, f"stdin holds more than {MAX_BODY} bytes")
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise Refused(Code.INVALID_REQUEST, f"stdin is not UTF-8: byte {error.start} cannot be read") from None
