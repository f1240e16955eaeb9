"""The scripted agent without manners, for tests only.

| directive | what it does |
| --- | --- |
| `ask-many N` | asks for permission N times at once, then says how often each answer came |
| `chunks N CHARS` | says N chunks of so many characters |
| `calls N` | makes N tool calls |
| `ask-late TITLE` | asks once the result has been sent |
"""

import json
import threading
from collections import Counter

from adapters.scripted.__main__ import main
from adapters.scripted.turn import Turn, chunk
from adapters.scripted.wire import Frame


class _Wild(Turn):
    def do_ask_many(self, text: str) -> None:
        idents = [f"many-{number}" for number in range(int(text))]
        for ident in idents:
            self._wire.send(self._question(ident))
        answers = self._wire._answers
        self._wire.wait(lambda: self._stopped() or all(ident in answers for ident in idents))
        said = Counter(_said(answers[ident]) for ident in idents if ident in answers)
        self.do_say(json.dumps(dict(sorted(said.items()))))

    def do_chunks(self, text: str) -> None:
        number, chars = map(int, text.split())
        for _ in range(number):
            self.send_update(chunk("agent_message_chunk", "x" * chars))

    def do_calls(self, text: str) -> None:
        for _ in range(int(text)):
            self.do_tool("Bash")

    def do_ask_late(self, title: str) -> None:
        threading.Timer(0.1, self._wire.send, (self._question(title),)).start()

    def _question(self, ident: str) -> Frame:
        options = [{"optionId": kind, "name": kind, "kind": kind} for kind in self.context.offer]
        call = {"toolCallId": ident, "title": ident, "status": "pending"}
        params: Frame = {"sessionId": self.context.session, "toolCall": call, "options": options}
        return {"id": ident, "method": "session/request_permission", "params": params}


def _said(answer: Frame) -> str:
    result = answer.get("result")
    outcome = result.get("outcome") if isinstance(result, dict) else None
    return str(outcome.get("optionId", outcome["outcome"])) if isinstance(outcome, dict) else "error"


if __name__ == "__main__":
    for name in ("do_ask_many", "do_chunks", "do_calls", "do_ask_late", "_question"):
        setattr(Turn, name, getattr(_Wild, name))
    main()
