"""The last lines of what an agent writes to stderr."""

import codecs
import re
from collections import deque
from collections.abc import Callable, Iterable

from bridge.redaction import Redaction, cleaned

_LINES = 20
_AT_ONCE = 100
_LINE_CHARS = 400
_KEY_LINES = 200
_KEY_BEGINS = re.compile(r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----(?!.*-----END )")
_KEY_ENDS = "-----END "
LONGEST = 64 << 10
"""In characters: a longer line is cut to `CUT` (DESIGN §8)."""
CUT = 4 << 10


class Tail:
    """Takes any amount and keeps a bounded end of it. Each line is also given to `on_line`, whole unless it is very
    long.

    What is `hidden`, or has the shape of a secret, is shown nowhere.
    """

    def __init__(self, on_line: Callable[[str], None] | None = None, *, hidden: Iterable[str] = ()) -> None:
        self.redaction = Redaction(hidden)
        self._on_line = on_line
        self._lines: deque[str] = deque(maxlen=_LINES)
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._partial = ""
        self._of_a_key = 0

    def feed(self, data: bytes) -> None:
        *lines, partial = (self._partial + self._decode(data)).split("\n")
        if len(lines) > _AT_ONCE:
            # Whoever floods it must not hold everybody up.
            lines = [f"[{len(lines) - _AT_ONCE} lines are left out]", *lines[-_AT_ONCE:]]
        for line in lines:
            self._add(line)
        # Of a line without an end only as much is kept as tells that it is too long.
        self._partial = partial[: LONGEST + 1]

    def end(self) -> None:
        self._add(self._partial + self._decode(b"", final=True))
        self._partial = ""

    @property
    def text(self) -> str:
        partial = "" if self._of_a_key else self._shown(self._partial)
        return "\n".join(filter(None, [*self._lines, partial]))

    def _add(self, line: str) -> None:
        if self._of_a_key:
            # The lines of a private key look like nothing by themselves.
            self._of_a_key = 0 if _KEY_ENDS in line else self._of_a_key - 1
            return
        if _KEY_BEGINS.search(line):
            self._of_a_key = _KEY_LINES
        line = self._safe(line) if len(line) <= LONGEST else f"{self._safe(line)[:CUT]} [cut]"
        if line:
            self._lines.append(line[:_LINE_CHARS])
            if self._on_line:
                self._on_line(line)

    def _shown(self, line: str) -> str:
        return self._safe(line)[:_LINE_CHARS]

    def _safe(self, line: str) -> str:
        return self.redaction.redacted(cleaned(line)).rstrip()
