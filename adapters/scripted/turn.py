"""Runs directives: what the agent does while it answers one request of its client."""

import json
import os
import sys
import time

from adapters.scripted.history import Histories, Update
from adapters.scripted.script import Directive, Unreadable, filled, filled_data, read
from adapters.scripted.wire import Frame, Wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from adapters.scripted.tools import ToolServer

INTERNAL_ERROR = -32603
INVALID_PARAMS = -32602
_STUBBORN_CHILD = (
    "import signal,time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(9e5)"
)
_LABELS = {
    "allow_once": "Allow",
    "allow_always": "Always allow",
    "reject_once": "Reject",
    "reject_always": "Always reject",
}
_MAIL = {"id": "message_id", "conversation": "conversation_id", "from": "from", "text": "text", "intent": "intent"}


class Over(Exception):
    """The prompt ends here, with this result."""

    def __init__(self, result: Frame) -> None:
        super().__init__()
        self.result = result


class Failed(Exception):
    """The request ends here, with a JSON-RPC error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Context:
    """One session: what lasts from prompt to prompt."""

    def __init__(self, session: str, cwd: str) -> None:
        self.session = session
        self.servers: list[ToolServer] = []
        self.offer = ["allow_once", "allow_always", "reject_once"]
        self.values: dict[str, object] = {
            "session": session,
            "cwd": cwd,
            "turn": 0,
            "last": None,
            "pid": os.getpid(),
            "env": dict(os.environ),
        }


class Turn:
    """One run of scripts within a context. Every directive is a method, `do_` and its name."""

    def __init__(self, context: Context, wire: Wire, histories: Histories) -> None:
        self.context = context
        self.values = context.values
        self.cancelled = False
        self.exits = False
        self.said: list[str] = []
        self.afterwards: list[str] = []
        self._wire = wire
        self._histories = histories
        self._on_cancel = "cancelled"
        self._calls = 0
        self._running = ""
        self._line_open = False

    def cancel(self) -> None:
        self.cancelled = True
        self._wire.notify()

    def run(self, script: str) -> None:
        """Raises `Over` or `Failed` where the script ends the request."""
        try:
            directives = read(script)
        except Unreadable as error:
            raise Failed(INVALID_PARAMS, str(error)) from None
        for directive in directives:
            self._end_if_cancelled()
            do = getattr(self, "do_" + directive.verb.replace("-", "_"), None)
            if do is None:
                raise Failed(INVALID_PARAMS, f"there is no directive {directive.verb!r}")
            try:
                do(filled(directive.text, self.values) if directive.verb != "call" else directive)
            except (ValueError, OSError) as error:
                raise Failed(INVALID_PARAMS, f"{directive.verb}: {error}") from None
        self._end_if_cancelled()

    def receive(self) -> list[dict[str, object]]:
        """Calls `peer_receive` and takes its first message at hand."""
        self.do_call(Directive("call", "peer_receive", {}))
        return self._messages()

    def take(self, message: dict[str, object]) -> None:
        """Puts a message at hand, as `$id`, `$from`, `$text`, `$intent` and `$conversation`."""
        self.values.update({name: message.get(key, "") for name, key in _MAIL.items()})

    def _messages(self) -> list[dict[str, object]]:
        last = self.values["last"]
        messages = last.get("messages") if isinstance(last, dict) else None
        return [message for message in messages if isinstance(message, dict)] if isinstance(messages, list) else []

    def _stopped(self) -> bool:
        return self.cancelled and self._on_cancel != "ignore"

    def _end_if_cancelled(self) -> None:
        if not self._stopped():
            return
        if self._on_cancel == "error":
            raise Failed(INTERNAL_ERROR, "Internal error")
        raise Over({"stopReason": "end_turn" if self._on_cancel == "end" else "cancelled"})

    def _update(self, update: Update) -> None:
        if not self.context.session:
            raise Failed(INVALID_PARAMS, "there is no session to speak in yet")
        self._histories.add(self.context.session, update)
        self.send_update(update)

    def send_update(self, update: Update) -> None:
        params: Frame = {"sessionId": self.context.session, "update": update}
        self._wire.send({"method": "session/update", "params": params})

    # What it shows
    def do_say(self, text: str) -> None:
        self._update(chunk("agent_message_chunk", f"\n{text}" if self._line_open else text))
        self.said.append(text)
        self._line_open = True

    def do_think(self, text: str) -> None:
        self._update(chunk("agent_thought_chunk", text))

    def do_big(self, text: str) -> None:
        self.do_say("x" * int(text))

    def do_echo(self, _: str) -> None:
        self.do_say(str(self.values["prompt"]))

    def do_late(self, text: str) -> None:
        self.afterwards.append(text)

    # Tools
    def do_call(self, call: Directive) -> None:
        server = next((server for server in self.context.servers if server.has(call.text, self._stopped)), None)
        arguments = filled_data(call.data, self.values)
        self._begin(f"mcp__{server.name if server else 'unknown'}__{call.text}", arguments)
        result, ok = (
            server.call(call.text, arguments, self._stopped) if server else (f"there is no tool {call.text}", False)
        )
        self.values["last"] = result
        self._finish(result, ok)
        if call.text == "peer_receive" and self._messages():
            self.take(self._messages()[0])

    def do_tool(self, name: str) -> None:
        self._begin(name, {})
        self._finish("done", True)

    def do_begin(self, name: str) -> None:
        self._begin(name, {})

    def do_end(self, _: str) -> None:
        self._finish("done", True)

    def _begin(self, name: str, arguments: object) -> None:
        self._calls += 1
        self._line_open = False
        self._running = f"{self.values['turn']}-{self._calls}"
        self._update(
            {
                "sessionUpdate": "tool_call",
                "toolCallId": self._running,
                "title": name,
                "kind": "other",
                "status": "in_progress",
                "rawInput": arguments,
            }
        )

    def _finish(self, result: object, ok: bool) -> None:
        self._update(
            {
                "sessionUpdate": "tool_call_update",
                "toolCallId": self._running,
                "status": "completed" if ok else "failed",
                "rawOutput": result,
            }
        )

    def do_offer(self, text: str) -> None:
        self.context.offer = [kind.strip() for kind in text.split(",")]

    def do_ask_permission(self, title: str) -> None:
        self._calls += 1
        options = [{"optionId": kind, "name": _LABELS[kind], "kind": kind} for kind in self.context.offer]
        call = {"toolCallId": f"{self.values['turn']}-{self._calls}", "title": title, "status": "pending"}
        params: Frame = {"sessionId": self.context.session, "toolCall": call, "options": options}
        outcome = self._wire.ask("session/request_permission", params).get("outcome")
        choice = outcome.get("optionId", outcome["outcome"]) if isinstance(outcome, dict) else "error"
        self.do_say(f"permission: {choice}")

    def do_elicit(self, text: str) -> None:
        answer = self._wire.ask("elicitation/create", {"sessionId": self.context.session, **_object(text)})
        self.values["last"] = answer
        self.do_say(f"elicited: {json.dumps(answer or 'error', ensure_ascii=False)}")

    def do_update(self, text: str) -> None:
        self._update(_object(text))

    # Time and files
    def do_wait(self, seconds: str) -> None:
        self._wire.wait(self._stopped, float(seconds))

    def do_wait_for(self, path: str) -> None:
        while not self._stopped() and not os.path.exists(path):
            self._wire.wait(self._stopped, 0.02)

    def do_hang(self, _: str) -> None:
        self._wire.wait(self._stopped)

    def do_touch(self, path: str) -> None:
        with open(path, "a", encoding="utf-8"):
            pass

    def do_let(self, text: str) -> None:
        name, _, value = text.partition(" ")
        self.values[name] = value

    # How it ends
    def do_on_cancel(self, how: str) -> None:
        self._on_cancel = how

    def do_ignore_cancel(self, _: str) -> None:
        self._on_cancel = "ignore"

    def do_stop(self, reason: str) -> None:
        raise Over({"stopReason": reason})

    def do_result(self, text: str) -> None:
        raise Over(_object(text))

    def do_refuse(self, _: str) -> None:
        raise Over({"stopReason": "refusal"})

    def do_fail(self, text: str) -> None:
        code, _, message = text.partition(" ")
        if code.lstrip("-").isdigit():
            raise Failed(int(code), message)
        raise Failed(INTERNAL_ERROR, text)

    def do_fail_as_text(self, text: str) -> None:
        self.do_say(text)
        raise Over({"stopReason": "end_turn"})

    def do_crash(self, code: str) -> None:
        os._exit(int(code or "1"))

    def do_exit(self, _: str) -> None:
        self.exits = True

    def do_orphan(self, _: str) -> None:
        self._spawn(apart=False)

    def do_detach(self, _: str) -> None:
        self._spawn(apart=True)

    def _spawn(self, apart: bool) -> None:
        import subprocess  # noqa: PLC0415 - few need it, and it would slow every start

        command = [sys.executable, "-c", _STUBBORN_CHILD]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=apart)
        assert child.stdout
        child.stdout.readline()
        self.values["last"] = child.pid

    def do_compress(self, _: str) -> None:
        alias = self._histories.copy(self.context.session)
        about = {"currentHermesSessionId": alias, "reason": "compression"}
        meta = {"hermes": {"sessionProvenance": about}}
        self.send_update({"sessionUpdate": "session_info_update", "_meta": meta})
        self.values["last"] = alias

    def do_stderr(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def do_raw(self, text: str) -> None:
        self._wire.write(text.encode() + b"\n")

    def do_bytes(self, text: str) -> None:
        self._wire.write(bytes.fromhex(text))


def _object(text: str) -> dict[str, object]:
    """Raises `ValueError`."""
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError("it takes a JSON object")
    return value


def chunk(kind: str, text: str) -> Update:
    return {"sessionUpdate": kind, "content": {"type": "text", "text": text}}


def asleep_forever() -> None:
    while True:
        time.sleep(3600)
