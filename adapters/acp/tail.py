"""The last lines of what an agent writes to stderr."""

import codecs
import re
import time
from collections import deque
from collections.abc import Callable, Iterable

from bridge.redaction import Redaction, cleaned

_LINES = 20
_A_SECOND = 256 << 10
"""So many characters a second are passed on. Whoever floods it must not hold everybody up."""
_A_LINE = 100
"""What each line counts for beside its own characters."""
_LINE_CHARS = 400
_KEY_LINES = 200
_KEY_BEGINS = re.compile(r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----(?!.*-----END )")
_KEY_ENDS = "-----END "
LONGEST = 64 << 10
"""In characters: a longer line is cut to `CUT` (DESIGN §8)."""
CUT = 4 << 10


class Tail:
    """Takes any amount and keeps a bounded end of it. Each line is also given to `on_line`, whole unless it is very
    long; of a flood some lines are, how many are left out, and its end.

    What is `hidden`, or has the shape of a secret, is shown nowhere. `now` is in seconds.
    """

    def __init__(
        self,
        on_line: Callable[[str], None] | None = None,
        *,
        hidden: Iterable[str] = (),
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.redaction = Redaction(hidden)
        self._on_line = on_line or (lambda _: None)
        self._now = now
        self._lines: deque[str] = deque(maxlen=_LINES)
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._partial = ""
        self._room = _A_SECOND
        self._renewed_at = now()
        self._left_out = 0
        self._of_a_key = 0

    def feed(self, data: bytes) -> None:
        *lines, partial = (self._partial + self._decode(data)).split("\n")
        if self._now() >= self._renewed_at + 1:
            self._room, self._renewed_at = _A_SECOND, self._now()
        for line in lines:
            self._add(line)
        # Of a line without an end only as much is kept as tells that it is too long.
        self._partial = partial[: LONGEST + 1]

    def end(self) -> None:
        self._add(self._partial + self._decode(b"", final=True))
        self._partial = ""
        if self._left_out:
            last = list(self._lines)[-self._left_out :]
            self._tell_left_out(self._left_out - len(last))
            for line in last:
                self._pass_on(line)

    @property
    def text(self) -> str:
        partial = "" if self._of_a_key else self._partial
        shown = [self._safe(line)[:_LINE_CHARS] for line in (*self._lines, partial)]
        return "\n".join(filter(None, shown))

    def _add(self, line: str) -> None:
        if self._of_a_key:
            # The lines of a private key look like nothing by themselves.
            self._of_a_key = 0 if _KEY_ENDS in line else self._of_a_key - 1
            return
        if _KEY_BEGINS.search(line):
            self._of_a_key = _KEY_LINES
        if not line or line.isspace():
            return
        self._lines.append(line[: LONGEST + 1])
        if self._room <= 0:
            self._left_out += 1
            return
        self._tell_left_out(self._left_out)
        self._room -= len(line) + _A_LINE
        self._pass_on(self._lines[-1])

    def _tell_left_out(self, lines: int) -> None:
        self._left_out = 0
        if lines:
            self._on_line(f"[{lines} lines are left out]")

    def _pass_on(self, line: str) -> None:
        line = self._safe(line) if len(line) <= LONGEST else f"{self._safe(line)[:CUT]} [cut]"
        if line:
            self._on_line(line)

    def _safe(self, line: str) -> str:
        return self.redaction.redacted(cleaned(line)).rstrip()
