"""The last lines of what an agent writes to stderr."""

import codecs
import re
from collections import deque
from collections.abc import Callable, Iterable

_LINES = 20
_AT_ONCE = 100
_LINE_CHARS = 400
_SECRET_CHARS = 6
_CONTROL = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def cleaned(text: str) -> str:
    """Without terminal sequences and control characters other than tabs and line ends."""
    return _CONTROL.sub("", text)


class Tail:
    """Takes any amount and keeps a bounded end of it; each line, cut to size, is also given to `on_line`.

    What is `hidden` is shown nowhere, unless it is too short to be a secret.
    """

    def __init__(self, on_line: Callable[[str], None] | None = None, *, hidden: Iterable[str] = ()) -> None:
        self._hidden = [secret for secret in hidden if len(secret) >= _SECRET_CHARS]
        self._on_line = on_line
        self._lines: deque[str] = deque(maxlen=_LINES)
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._partial = ""

    def feed(self, data: bytes) -> None:
        *lines, partial = (self._partial + self._decode(data)).split("\n")
        if len(lines) > _AT_ONCE:
            # Whoever floods it must not hold everybody up.
            lines = [f"[{len(lines) - _AT_ONCE} lines are left out]", *lines[-_AT_ONCE:]]
        for line in lines:
            self._add(line)
        # Of a line without an end only as much is kept as will ever be shown.
        self._partial = partial[: 2 * _LINE_CHARS]

    def end(self) -> None:
        self._add(self._partial + self._decode(b"", final=True))
        self._partial = ""

    @property
    def text(self) -> str:
        return "\n".join(filter(None, [*self._lines, self._shown(self._partial)]))

    def _add(self, line: str) -> None:
        line = self._shown(line)
        if line:
            self._lines.append(line)
            if self._on_line:
                self._on_line(line)

    def _shown(self, line: str) -> str:
        line = cleaned(line)
        for secret in self._hidden:
            line = line.replace(secret, "[hidden]")
        return line.rstrip()[:_LINE_CHARS]
