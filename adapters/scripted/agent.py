"""The agent's side of ACP: what it answers to each method."""

import threading
from collections.abc import Iterable

from adapters.scripted.history import Histories
from adapters.scripted.persona import Persona
from adapters.scripted.script import script_in
from adapters.scripted.turn import INTERNAL_ERROR, INVALID_PARAMS, Context, Failed, Over, Turn, chunk
from adapters.scripted.wire import Frame, Wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_AUTH_REQUIRED = -32000
_METHOD_NOT_FOUND = -32601
_NOT_FOUND = -32002
_NOTICE = "[Tieline]"
_ATTACHMENT = "tieline:attachment/"
_READ = "peer_receive"
_TAKES = {"embeddedContext": True, "image": True, "audio": True}
_MODES = {
    "currentModeId": "default",
    "availableModes": [{"id": "default", "name": "Default"}, {"id": "read-only", "name": "Read only"}],
}
_ANSWERS = {"reply": "say $from answered: $text", "inform": "say noted: $text"}


class ScriptedAgent:
    def __init__(
        self,
        wire: Wire,
        histories: Histories,
        persona: Persona,
        *,
        empty_unknown: bool,
        loads: bool,
        replay: str,
        models: str = "",
        choice: str = "",
        login: str = "",
    ) -> None:
        self._wire = wire
        self._histories = histories
        self._persona = persona
        self._empty_unknown = empty_unknown
        self._loads = loads
        self._replay = replay
        self._models = [model for model in models.split(",") if model]
        self._model = self._models[0] if self._models else ""
        self._older = choice == "models"
        self._login = login
        self._contexts: dict[str, Context] = {}
        self._turns: dict[str, Turn] = {}

    def serve(self, lines: "Iterable[bytes]") -> None:
        self._event("start")
        for line in lines:
            frame: dict[str, Any] = self._wire.received(line)
            if frame.get("method") == "session/cancel":
                turn = self._turns.get(frame["params"]["sessionId"])
                if turn:
                    turn.cancel()
            elif "method" in frame and "id" in frame:
                self._answer(frame["id"], frame["method"], frame.get("params") or {})

    def _answer(self, request: object, method: str, params: "dict[str, Any]") -> None:
        try:
            if method == "session/prompt":
                turn = self._turn(params["sessionId"])
                threading.Thread(target=self._prompt, args=(request, turn, params["prompt"]), daemon=True).start()
                return
            self._event(method)
            if self._login and method in ("session/new", "session/load"):
                raise Failed(_AUTH_REQUIRED, "Authentication required")
            if method == "session/load":
                self._load(request, params)
            else:
                self._wire.send({"id": request, "result": self._result(method, params)})
        except Failed as failure:
            self._wire.send(_error(request, failure))

    def _event(self, name: str) -> None:
        found = self._persona.script(name)
        if found:
            Turn(Context("", ""), self._wire, self._histories).run(found[0])

    def _result(self, method: str, params: "dict[str, Any]") -> Frame:
        if method == "initialize":
            return {
                "protocolVersion": 1,
                "agentCapabilities": {"loadSession": self._loads, "promptCapabilities": _TAKES},
                "agentInfo": {"name": "scripted", "version": "1"},
                "authMethods": [],
            }
        if method == "session/new":
            session = self._histories.new()
            self._open(session, params)
            return {"sessionId": session, **self._offer()}
        if method == "authenticate" and params.get("methodId") == self._login:
            self._login = ""
            return {}
        if method == "session/set_mode":
            return {}
        if method == "session/set_config_option" and params.get("value") in self._models:
            self._model = params["value"]
            return {"configOptions": self._offer()["configOptions"]}
        if method == "session/set_model" and self._older and params.get("modelId") in self._models:
            self._model = params["modelId"]
            return {}
        raise Failed(_METHOD_NOT_FOUND, f"Method not found: {method}")

    def _offer(self) -> Frame:
        if not self._models:
            return {"modes": _MODES}
        if self._older:
            models = [{"modelId": model, "name": model.title()} for model in self._models]
            return {"modes": _MODES, "models": {"availableModels": models, "currentModelId": self._model}}
        models = [{"value": model, "name": model.title()} for model in self._models]
        option = {
            "id": "model",
            "name": "Model",
            "category": "model",
            "type": "select",
            "currentValue": self._model,
            "options": models,
        }
        return {"modes": _MODES, "configOptions": [option]}

    def _load(self, request: object, params: "dict[str, Any]") -> None:
        session = params["sessionId"]
        history = self._histories.load(session)
        if history is None and not self._empty_unknown:
            raise Failed(_NOT_FOUND, f"Resource not found: {session}")
        context = self._open(session, params) if history is not None else Context(session, "")
        if history is None or self._replay == "nothing":
            history, result = [], {}
        else:
            result = self._offer()
        answer: Frame = {"id": request, "result": result}
        if self._replay == "late":
            self._wire.send(answer)
        turn = Turn(context, self._wire, self._histories)
        for update in history:
            turn.send_update(update)
        if self._replay != "late":
            self._wire.send(answer)

    def _open(self, session: str, params: "dict[str, Any]") -> Context:
        context = self._contexts[session] = Context(session, params["cwd"])
        if params.get("mcpServers"):
            from adapters.scripted.tools import ToolServer  # noqa: PLC0415 - it would slow every start

            context.servers = [ToolServer(spec, self._wire) for spec in params["mcpServers"]]
        return context

    def _turn(self, session: str) -> Turn:
        context = self._contexts.get(session)
        if context is None:
            raise Failed(INVALID_PARAMS, f"there is no session {session}")
        if session in self._turns:
            raise Failed(INTERNAL_ERROR, "a prompt is running already")
        self._turns[session] = Turn(context, self._wire, self._histories)
        return self._turns[session]

    def _prompt(self, request: object, turn: Turn, blocks: "list[dict[str, Any]]") -> None:
        try:
            frame: Frame = {"id": request, "result": self._run(turn, blocks)}
        except Failed as failure:
            frame = _error(request, failure)
        finally:
            self._histories.ended(turn.context.session)
            del self._turns[turn.context.session]
        self._wire.send(frame)
        for text in turn.afterwards:
            turn.send_update(chunk("agent_message_chunk", text))
        if turn.exits:
            turn.do_crash("0")

    def _run(self, turn: Turn, blocks: "list[dict[str, Any]]") -> Frame:
        texts = [(block["resource"] if block["type"] == "resource" else block).get("text", "") for block in blocks]
        prompt = "\n".join(text for text in texts if text)
        attached = [_described(block) for block in blocks if _is_attached(block)]
        turn.values.update(prompt=prompt, model=self._model, attached=attached, turn=_count(turn.values["turn"]) + 1)
        self._histories.add(turn.context.session, chunk("user_message_chunk", prompt))
        try:
            for block, text in zip(blocks, texts, strict=True):
                if _is_attached(block):
                    continue
                if block["type"] == "resource":
                    self._mail(turn, {"text": text, "intent": "request"})
                else:
                    self._words(turn, text)
            if attached and blocks[-1]["type"] != "text":
                turn.do_say(f"attached: {', '.join(attached)}")
        except Over as over:
            return over.result
        words = len(prompt.split()), sum(len(text.split()) for text in turn.said)
        usage = {"inputTokens": words[0], "outputTokens": words[1], "totalTokens": sum(words)}
        return {"stopReason": "end_turn", "usage": usage}

    def _words(self, turn: Turn, text: str) -> None:
        script = script_in(text)
        notice = text.startswith(_NOTICE) or _READ in text
        found = (script, {}) if script is not None else self._persona.script("notice" if notice else "prompt", text)
        if found:
            turn.values.update(found[1])
            turn.run(found[0])
        elif not notice:
            turn.do_say(f"echo: {text}")
        elif _READ in text and turn.context.servers:
            for message in turn.receive():
                self._mail(turn, message)

    def _mail(self, turn: Turn, message: "dict[str, Any]") -> None:
        turn.take(message)
        text = str(message["text"])
        script = script_in(text)
        found = (script, {}) if script is not None else self._persona.script("mail", text, message)
        if found:
            turn.values.update(found[1])
            turn.run(found[0])
        else:
            turn.run(_ANSWERS.get(str(message.get("intent")), "say done: $text"))


def _is_attached(block: "dict[str, Any]") -> bool:
    """Whether it came along with a person's words: a file, or what somebody else wrote."""
    if block["type"] == "resource":
        return str(block["resource"]["uri"]).startswith(_ATTACHMENT)
    return block["type"] in ("image", "audio")


def _described(block: "dict[str, Any]") -> str:
    if block["type"] == "resource":
        return f"resource {block['resource']['uri']} {block['resource']['text']}"
    return f"{block['type']} {block['mimeType']} {len(block['data']) * 3 // 4 - block['data'].count('=')}"


def _error(request: object, failure: Failed) -> Frame:
    return {"id": request, "error": {"code": failure.code, "message": str(failure)}}


def _count(value: object) -> int:
    return value if isinstance(value, int) else 0
