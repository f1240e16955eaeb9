"""JSON-RPC over lines, and the one condition on which everything waits."""

import json
import threading
from collections.abc import Callable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

Frame = dict[str, object]


class Wire:
    """Writes whole frames from any thread.

    `changed` is notified of whatever a thread may wait for: an answer, a cancel, a tool's result.
    """

    def __init__(self, out: "BinaryIO", record: str | None) -> None:
        self.changed = threading.Condition()
        self._out = out
        self._lock = threading.Lock()
        self._record = open(record, "ab", buffering=0) if record else None  # noqa: SIM115
        self._asked = 0
        self._answers: dict[object, Frame] = {}

    def send(self, frame: Frame) -> None:
        self.write(json.dumps({"jsonrpc": "2.0", **frame}).encode() + b"\n")

    def write(self, data: bytes) -> None:
        with self._lock:
            self._out.write(data)
            self._out.flush()

    def received(self, line: bytes) -> Frame:
        """The frame in `line`. An answer is kept for the thread that asked."""
        if self._record:
            self._record.write(line)
        frame: Frame = json.loads(line)
        if "method" not in frame:
            with self.changed:
                self._answers[frame.get("id")] = frame
                self.changed.notify_all()
        return frame

    def ask(self, method: str, params: Frame) -> Frame:
        """The result of a request to the client; empty where it was answered with an error."""
        self._asked += 1
        asked = f"scripted-{self._asked}"
        self.send({"id": asked, "method": method, "params": params})
        self.wait(lambda: asked in self._answers)
        result = self._answers.pop(asked).get("result")
        return result if isinstance(result, dict) else {}

    def wait(self, until: Callable[[], bool], timeout: float | None = None) -> bool:
        with self.changed:
            return self.changed.wait_for(until, timeout)

    def notify(self) -> None:
        with self.changed:
            self.changed.notify_all()
