"""The agent's side of ACP, for a command."""

import errno
import json
import os
import re
import shutil
import tempfile
import threading
import uuid
from collections.abc import Iterable

from adapters.command.output import Output
from adapters.command.template import Template
from adapters.command.turn import Run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, BinaryIO

_METHOD_NOT_FOUND, _INVALID_PARAMS, _INTERNAL_ERROR, _NOT_FOUND = -32601, -32602, -32603, -32002
_CANNOT_BE_RUN = (126, 127)
_SCARCE = (errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOSPC, errno.EDQUOT)
_NEW = "new-"
_ATTACHED = "tieline:attachment/"
_FORGOTTEN = "(It did not know the earlier context any more, and has begun a new one.)\n\n"
_HERE = {"tieline": {"command": True}}
"""Says that a context was found: an empty answer means that it was not."""


class Failed(Exception):
    def __init__(self, code: int, message: str, kind: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.kind = kind

    def as_json(self) -> "dict[str, Any]":
        error: dict[str, Any] = {"code": self.code, "message": str(self)}
        return error | ({"data": {"tieline": {"kind": self.kind}}} if self.kind else {})


class CommandAgent:
    """One context. It has the id `new-…` until the command has told its own."""

    def __init__(self, template: Template, out: "BinaryIO") -> None:
        self._template = template
        self._out = out
        self._lock = threading.Lock()
        self._id = ""
        self._session: str | None = None
        self._cwd = ""
        self._servers: list[dict[str, Any]] = []
        self._run: Run | None = None
        self._prompting: threading.Thread | None = None

    def serve(self, lines: Iterable[bytes]) -> None:
        """Until its client is gone, which ends what runs."""
        for line in lines:
            frame = json.loads(line)
            if frame.get("method") == "session/cancel":
                if self._run is not None:
                    self._run.cancel()
            elif "method" in frame and "id" in frame:
                self._answer(frame["id"], frame["method"], frame.get("params") or {})
        if self._run is not None:
            self._run.cancel()
        if self._prompting is not None:
            self._prompting.join()

    def _answer(self, request: object, method: str, params: "dict[str, Any]") -> None:
        try:
            if method == "session/prompt":
                if self._run is not None:
                    raise Failed(_INTERNAL_ERROR, "a prompt is running already")
                self._run = Run()
                self._prompting = threading.Thread(target=self._prompt, args=(request, self._run, params), daemon=True)
                self._prompting.start()
                return
            self._send({"id": request, "result": self._result(method, params)})
        except Failed as failed:
            self._send({"id": request, "error": failed.as_json()})

    def _result(self, method: str, params: "dict[str, Any]") -> "dict[str, Any]":
        if method == "initialize":
            takes = {"embeddedContext": True}
            return {
                "protocolVersion": 1,
                "agentCapabilities": {"loadSession": True, "promptCapabilities": takes},
                "agentInfo": {"name": os.path.basename(self._template.command[0]), "version": "1"},
                "authMethods": [],
            }
        if method == "session/new":
            self._open(f"{_NEW}{uuid.uuid4().hex}", params)
            return {"sessionId": self._id}
        if method == "session/load":
            ident = str(params["sessionId"])
            if self._template.resume and ident.startswith(_NEW):
                raise Failed(_NOT_FOUND, "it never told the id of that context")
            self._open(ident, params)
            self._session = ident if self._template.resume else None
            return {"_meta": _HERE}
        raise Failed(_METHOD_NOT_FOUND, f"Method not found: {method}")

    def _open(self, ident: str, params: "dict[str, Any]") -> None:
        self._id, self._cwd, self._servers = ident, params["cwd"], params.get("mcpServers") or []

    def _prompt(self, request: object, run: Run, params: "dict[str, Any]") -> None:
        leaves = False
        try:
            if params["sessionId"] != self._id:
                raise Failed(_INVALID_PARAMS, f"there is no context {params['sessionId']}")
            self._turn(run, "\n\n".join(_texts(params["prompt"])))
            # Whoever asks next is told that this context is gone, and not answered from another.
            leaves = bool(self._template.resume) and self._session is None and not run.cancelled
            frame = {"id": request, "result": {"stopReason": "cancelled" if run.cancelled else "end_turn"}}
        except Failed as failed:
            cancelled = {"id": request, "result": {"stopReason": "cancelled"}}
            frame = cancelled if run.cancelled else {"id": request, "error": failed.as_json()}
        self._run = None
        self._send(frame)
        if leaves:
            os._exit(0)

    def _turn(self, run: Run, prompt: str) -> None:
        """Nobody sees what the command's agent does with its tools: a run of it counts as a tool that has begun."""
        call = uuid.uuid4().hex
        title = f"runs {os.path.basename(self._template.command[0])}"
        self._update({"sessionUpdate": "tool_call", "toolCallId": call, "title": title, "status": "in_progress"})
        resumed = self._session
        output, code = self._ran(run, prompt, call)
        if code and resumed is not None and self._lost(run, output) and not run.cancelled:
            self._session = None
            self._say(_FORGOTTEN)
            output, code = self._ran(run, prompt, call)
        if run.cancelled:
            return
        if code:
            raise self._failed(code, run.last_words or output.last)
        if self._template.output == "json" and not output.said:
            what = f"its output has nothing under {self._template.text!r}"
            raise Failed(_INTERNAL_ERROR, f"{what}: set `text` to where its final text is", "config")

    def _ran(self, run: Run, prompt: str, call: str) -> "tuple[Output, int]":
        output = Output(self._template, self._say, self._think)
        try:
            # What the command has left running may still write there.
            with tempfile.TemporaryDirectory(prefix="tieline-command-", ignore_cleanup_errors=True) as folder:
                command, given = self._template.filled(
                    prompt=prompt, session=self._session, mcp_config=self._mcp_config(folder)
                )
                code = run.run(command, given, self._cwd, output)
        except OSError as error:
            raise _not_run(self._template.command[0], self._cwd, error) from None
        except ValueError:
            raise Failed(_INTERNAL_ERROR, "a prompt with a NUL cannot be an argument: leave {prompt} out") from None
        status = "failed" if code else "completed"
        self._update({"sessionUpdate": "tool_call_update", "toolCallId": call, "status": status})
        if not code:
            output.end()
        if output.session is not None and self._template.resume and output.session != self._session:
            self._session = output.session
            self._update({"sessionUpdate": "session_info_update", "_meta": {"tieline": {"alias": output.session}}})
        return output, code

    def _mcp_config(self, folder: str) -> str:
        """Its token is in a file that only this user reads, never in an argument."""
        if not self._template.takes_tools:
            return ""
        servers = {
            one["name"]: {
                "command": one["command"],
                "args": one.get("args", []),
                "env": {each["name"]: each["value"] for each in one.get("env", [])},
            }
            for one in self._servers
        }
        path = os.path.join(folder, "mcp.json")
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            json.dump({"mcpServers": servers}, file)
        return path

    def _lost(self, run: Run, output: Output) -> bool:
        told = f"{run.last_words}\n{output.last}"
        return bool(self._template.lost) and re.search(self._template.lost, told) is not None

    def _failed(self, code: int, words: str) -> Failed:
        how = f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"
        kind = self._template.exit_codes.get(str(code)) or ("config" if code in _CANNOT_BE_RUN else None)
        return Failed(_INTERNAL_ERROR, f"the command {how}" + (f": {words}" if words else ""), kind)

    def _say(self, text: str) -> None:
        self._update({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}})

    def _think(self, text: str) -> None:
        self._update({"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": text}})

    def _update(self, update: "dict[str, Any]") -> None:
        self._send({"method": "session/update", "params": {"sessionId": self._id, "update": update}})

    def _send(self, frame: "dict[str, Any]") -> None:
        with self._lock:
            self._out.write(json.dumps({"jsonrpc": "2.0", **frame}).encode() + b"\n")
            self._out.flush()


def found(command: str) -> bool:
    """A path with a slash is looked for in the working directory, when the command is run."""
    return "/" in command or shutil.which(command) is not None


def _texts(blocks: "list[dict[str, Any]]") -> "list[str]":
    return [_set_off(block["resource"]) if block["type"] == "resource" else block["text"] for block in blocks]


def _set_off(resource: "dict[str, Any]") -> str:
    """What came along with a person's words is in one text with them here: no line of it can pass for one of theirs."""
    if not str(resource["uri"]).startswith(_ATTACHED):
        return str(resource["text"])
    return "\n".join(f"> {line}" for line in str(resource["text"]).splitlines())


def _not_run(command: str, cwd: str, error: OSError) -> Failed:
    if error.errno == errno.E2BIG:
        return Failed(_INTERNAL_ERROR, "the prompt is too long for an argument: without {prompt} it goes to stdin")
    if error.filename == cwd:
        return Failed(_INTERNAL_ERROR, f"the working directory {cwd} cannot be entered: {error.strerror}", "config")
    kind = "capacity" if error.errno in _SCARCE else "config"
    return Failed(_INTERNAL_ERROR, f"the command {command!r} cannot be run: {error.strerror}", kind)
