"""`tieline ask`: a question, the wait for its answer, and the signs of life meanwhile."""

import argparse
import contextlib
import os
import sys
import time
from typing import Any

from adapters.cli import exits
from adapters.cli.connection import Connection, Dropped, NoBridge, quoted
from adapters.cli.output import note, record, say
from adapters.cli.plain import one_line, visible
from adapters.cli.reading import where
from adapters.cli.text import text_of
from bridge.errors import Refused

_LOOK_S = 1.0
_LOOK_AGAIN_S = 5.0
_RETRY_S = 0.25


def ask(bridge: Connection, options: argparse.Namespace) -> int:
    key = options.key or os.urandom(16).hex()
    question = _Question(bridge, {"to": options.to, "text": text_of(options.text), "key": key}, options.timeout)
    try:
        view = question.wait()
    except KeyboardInterrupt:
        question.life.end()
        note(_later(question.seen, key))
        raise
    question.life.end()
    if options.json:
        record({name: view[name] for name in ("message_id", "conversation_id", "state", "answer", "reply")})
    elif view["reply"]:
        say(visible(view["reply"]["text"]))
    if view["answer"] == "open":
        note(f"No answer within {options.timeout:g} s. {_later(view, key)}")
    else:
        _explain(view)
        _mark_read(bridge, view)
    return exits.of_answer(view["answer"], late=bool(view["reply"] and view["reply"]["late"]))


class _Question:
    """One question. Its key makes asking again the same as waiting on, also at a bridge that has restarted."""

    def __init__(self, bridge: Connection, body: dict[str, Any], timeout_s: float) -> None:
        self._bridge = bridge
        self._body = body
        self._end = time.monotonic() + timeout_s
        self._reached = False
        self.seen: dict[str, Any] | None = None
        self.life = _Life(body["to"])

    def wait(self) -> dict[str, Any]:
        """Raises `Refused`, and `NoBridge` or `Dropped` where no bridge has ever told how it stands."""
        while True:
            try:
                return self._attempt()
            except (NoBridge, Dropped):
                if not self._reached:
                    raise
                if time.monotonic() >= self._end:
                    if self.seen is None:
                        raise
                    return self.seen
                self.life.show("the bridge went away; it is asked again once it is back")
                time.sleep(_RETRY_S)

    def _attempt(self) -> dict[str, Any]:
        remaining = max(0.0, self._end - time.monotonic())
        pending = self._bridge.begin("POST", "/v1/ask", {**self._body, "timeout_s": remaining})
        self._reached = True
        while not pending.ready(_LOOK_S if self.seen is None or self.life.rewritten else _LOOK_AGAIN_S):
            self._look()
        return pending.result()

    def _look(self) -> None:
        try:
            if self.seen is None:
                self.seen = self._bridge.post("/v1/ask", {**self._body, "timeout_s": 0})
            else:
                self.seen = self._bridge.get(f"/v1/answers/{quoted(self.seen['message_id'])}")
        except (NoBridge, Dropped, Refused):
            return  # the wait itself hears of it
        self.life.show(where(self.seen))


class _Life:
    """Shows that the wait goes on: on a terminal one line that is rewritten, else a line a change."""

    def __init__(self, to: str) -> None:
        self._to = one_line(to)
        self._began = time.monotonic()
        self.rewritten = sys.stderr.isatty()
        self._last = ""

    def show(self, state: str) -> None:
        line = f"waiting for {self._to}: {one_line(state)}"
        if self.rewritten:
            timed = f"{line} ({time.monotonic() - self._began:.0f} s)"
            # What is wider than the screen could not be wiped away again.
            sys.stderr.write(f"\r\x1b[K{timed[: _width() - 1]}")
            sys.stderr.flush()
        elif line != self._last:
            note(line)
        self._last = line

    def end(self) -> None:
        if self.rewritten and self._last:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def _width() -> int:
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    except OSError:
        return 80


def _later(view: dict[str, Any] | None, key: str) -> str:
    which = f"The question {view['message_id']} stays open: {where(view)}." if view else "The question stays open."
    return f"{which}\nIts answer will be in `tieline inbox`; to wait on, repeat the command with --key {key}"


def _explain(view: dict[str, Any]) -> None:
    reason = f": {view['reason']}" if view["reason"] else ""
    if view["answer"] == "no_reply":
        note(f"{view['message_id']} was read, and there is no reply{reason}")
    elif view["answer"] == "input_required" and view["reply"]:
        reply = view["reply"]
        where = f"{reply['from']} TEXT --wake --reply-to {reply['message_id']}"
        note(f"that is a question back; go on with: tieline send {where}")
    elif view["answer"] != "answered":
        note(f"{view['message_id']} {view['answer']}{reason}")


def _mark_read(bridge: Connection, view: dict[str, Any]) -> None:
    # Where this fails, the answer comes as mail once more, which is better than not at all.
    with contextlib.suppress(NoBridge, Dropped, Refused):
        bridge.post(f"/v1/answers/{quoted(view['message_id'])}/read", {})
