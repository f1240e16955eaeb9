"""The scripted agent as a client sees it: raw frames, checked against the protocol's own schema."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from acp import schema

ROOT = Path(__file__).parents[3]
MAIL_SERVER = ROOT / "tests" / "adapters" / "acp" / "mail_server.py"
NOTICE = "[bridge] Read your mail with peer_receive."
ANSWERS: dict[str, Any] = {
    "initialize": schema.InitializeResponse,
    "session/new": schema.NewSessionResponse,
    "session/load": schema.LoadSessionResponse,
    "session/prompt": schema.PromptResponse,
}


class Agent:
    def __init__(self, *options: str, **variables: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "adapters.scripted", *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(ROOT), **variables},
        )
        self._asked = 0
        self.updates: list[dict[str, Any]] = []

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        self._asked += 1
        self.send({"id": self._asked, "method": method, "params": params})
        frame = self.next()
        while frame.get("id") != self._asked:
            schema.SessionNotification.model_validate(frame["params"])
            self.updates.append(frame["params"]["update"])
            frame = self.next()
        if "result" in frame and method in ANSWERS:
            ANSWERS[method].model_validate(frame["result"])
        return frame

    def open(self, *mail: dict[str, str]) -> str:
        env = [{"name": "MAIL", "value": json.dumps(mail)}]
        server = {"name": "tieline", "command": sys.executable, "args": [str(MAIL_SERVER)], "env": env}
        return str(self.ask("session/new", cwd="/", mcpServers=[server] if mail else [])["result"]["sessionId"])

    def prompt(self, session: str, *texts: str) -> str:
        """What it says."""
        self.updates.clear()
        self.ask("session/prompt", sessionId=session, prompt=[{"type": "text", "text": text} for text in texts])
        return self.said()

    def said(self) -> str:
        chunks = [update for update in self.updates if update["sessionUpdate"] == "agent_message_chunk"]
        return "".join(chunk["content"]["text"] for chunk in chunks)

    def send(self, frame: dict[str, Any]) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **frame}).encode() + b"\n")
        self._process.stdin.flush()

    def next(self) -> dict[str, Any]:
        assert self._process.stdout
        frame: dict[str, Any] = json.loads(self._process.stdout.readline())
        return frame

    def kill(self) -> None:
        self._process.kill()
        self.end()

    def end(self) -> int:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        self._process.stdout.close()
        return self._process.wait(10)


@pytest.fixture
def agent() -> Iterator[Agent]:
    agent = Agent()
    yield agent
    assert agent.end() == 0


def mail(text: str, intent: str = "request") -> dict[str, str]:
    return {"message_id": "m-1", "from": "default/desk", "intent": intent, "text": text, "conversation_id": "c-1"}


def persona(folder: Path, *rules: dict[str, str]) -> tuple[str, str]:
    path = folder / "persona.json"
    path.write_text(json.dumps({"rules": rules}))
    return "--persona", str(path)


def test_it_introduces_itself_by_the_protocol(agent: Agent) -> None:
    hello = agent.ask("initialize", protocolVersion=1)["result"]
    assert hello["agentCapabilities"] == {
        "loadSession": True,
        "promptCapabilities": {"embeddedContext": True, "image": True, "audio": True},
    }


def test_plain_words_are_echoed(agent: Agent) -> None:
    session = agent.open()
    assert agent.prompt(session, "hello") == "echo: hello"
    assert agent.prompt(session, "do: echo") == "do: echo"
    assert agent.prompt(session, "do: say turn $turn of $session") == f"turn 3 of {session}"


def test_what_is_said_in_a_row_stands_on_lines_of_its_own(agent: Agent) -> None:
    assert agent.prompt(agent.open(), "do: say a ; say b ; tool x ; say c") == "a\nbc"


def test_every_kind_of_mail_has_an_answer(agent: Agent) -> None:
    session = agent.open(mail("tea"), mail("rain", "inform"), mail("42", "reply"), mail("do: say from $from"))
    assert agent.prompt(session, NOTICE) == ("done: tea\nnoted: rain\ndefault/desk answered: 42\nfrom default/desk")
    begun, ended = agent.updates[:2]
    assert (begun["title"], begun["status"]) == ("mcp__tieline__peer_receive", "in_progress")
    assert (ended["toolCallId"], ended["status"]) == (begun["toolCallId"], "completed")
    assert ended["rawOutput"]["messages"][0]["text"] == "tea"


def test_a_resource_is_answered_like_a_request(agent: Agent) -> None:
    resource = {"type": "resource", "resource": {"uri": "x:y", "text": "tea"}}
    agent.ask("session/prompt", sessionId=agent.open(), prompt=[{"type": "text", "text": "[Tieline] Mail."}, resource])
    assert agent.said() == "done: tea"


def test_the_newest_mail_is_at_hand_for_a_call(agent: Agent) -> None:
    session = agent.open(mail("do: say never"))
    script = 'do: call peer_receive ; call peer_send {"to": "$from", "in_reply_to": "$id", "text": "re: $text"}'
    agent.prompt(session, script)
    [answer] = [update for update in agent.updates if update.get("rawOutput", {}).get("sent")]
    assert answer["rawOutput"]["sent"] == {"to": "default/desk", "in_reply_to": "m-1", "text": "re: do: say never"}


def test_a_tool_that_nobody_offers_fails_without_ending_the_turn(agent: Agent) -> None:
    assert agent.prompt(agent.open(mail("x")), "do: call ghost {} ; say $last") == "there is no tool ghost"
    assert agent.updates[1]["status"] == "failed"


def test_a_rule_answers_in_the_words_of_its_expression(tmp_path: Path) -> None:
    rules = (
        {"on": "prompt", "regex": r"^ask (?P<who>\w+) (?P<what>.+)$", "script": "say @$who: $what"},
        {"on": "notice", "match": "[bridge]", "script": "call peer_receive ; say got $text"},
    )
    agent = Agent(*persona(tmp_path, *rules))
    session = agent.open(mail("tea"))
    assert agent.prompt(session, "ask career for tea") == "@career: for tea"
    assert agent.prompt(session, NOTICE) == "got tea"
    assert agent.end() == 0


def test_options_may_come_from_the_environment(tmp_path: Path) -> None:
    _, path = persona(tmp_path, {"on": "prompt", "script": "say by rule"})
    agent = Agent(SCRIPTED_PERSONA=path)
    assert agent.prompt(agent.open(), "hello") == "by rule"
    assert agent.end() == 0


def test_a_history_is_replayed_before_the_answer(tmp_path: Path) -> None:
    first = Agent("--state", str(tmp_path))
    session = first.open()
    first.prompt(session, "do: say hello ; tool x")
    first.end()
    agent = Agent("--state", str(tmp_path))
    assert "modes" in agent.ask("session/load", sessionId=session, cwd="/", mcpServers=[])["result"]
    kinds = [update["sessionUpdate"] for update in agent.updates]
    assert kinds == ["user_message_chunk", "agent_message_chunk", "tool_call", "tool_call_update"]
    assert agent.end() == 0


@pytest.mark.parametrize(("replay", "kept"), [("", ["user_message_chunk", "tool_call"]), ("ended", [])])
def test_what_was_begun_outlives_a_sudden_death_unless_it_is_kept_late(
    tmp_path: Path, replay: str, kept: list[str]
) -> None:
    options = ("--state", str(tmp_path), *(("--replay", replay) if replay else ()))
    first = Agent(*options)
    session = first.open()
    prompt = [{"type": "text", "text": "do: begin bash ; hang"}]
    first.send({"id": "p", "method": "session/prompt", "params": {"sessionId": session, "prompt": prompt}})
    assert first.next()["params"]["update"]["title"] == "bash"
    first.kill()
    agent = Agent(*options)
    agent.ask("session/load", sessionId=session, cwd="/", mcpServers=[])
    assert [update["sessionUpdate"] for update in agent.updates] == kept
    assert agent.end() == 0


@pytest.mark.parametrize(("replay", "before", "after"), [("nothing", 0, 0), ("late", 0, 2)])
def test_agents_that_replay_nothing_or_too_late_are_acted(tmp_path: Path, replay: str, before: int, after: int) -> None:
    first = Agent("--state", str(tmp_path))
    session = first.open()
    first.prompt(session, "hello")
    first.end()
    agent = Agent("--state", str(tmp_path), "--replay", replay)
    answer = agent.ask("session/load", sessionId=session, cwd="/", mcpServers=[])["result"]
    assert (len(agent.updates), bool(answer)) == (before, replay == "late")
    agent.prompt(session, "more")
    assert len(agent.updates) == after + 1
    assert agent.end() == 0


def test_an_unknown_context_is_an_error_or_an_empty_answer() -> None:
    for options, answer in ((), "error"), (("--unknown", "empty"), "result"):
        agent = Agent(*options)
        frame = agent.ask("session/load", sessionId="gone", cwd="/", mcpServers=[])
        assert frame[answer] == {} if answer == "result" else frame[answer]["code"] == -32002
        assert agent.end() == 0


def test_frames_are_recorded_as_they_came(tmp_path: Path) -> None:
    agent = Agent("--record", str(tmp_path / "frames"))
    agent.prompt(agent.open(), "hello")
    frames = [json.loads(line) for line in (tmp_path / "frames").read_text().splitlines()]
    assert [frame["method"] for frame in frames] == ["session/new", "session/prompt"]
    assert agent.end() == 0


def test_a_cancel_ends_a_wait(agent: Agent) -> None:
    session = agent.open()
    scripts = {"say x ; hang": "result", "say x ; wait 99": "result", "on-cancel error ; say x ; hang": "error"}
    for script, answer in scripts.items():
        prompt = [{"type": "text", "text": f"do: {script}"}]
        agent.send({"id": "p", "method": "session/prompt", "params": {"sessionId": session, "prompt": prompt}})
        assert agent.next()["method"] == "session/update"
        agent.send({"method": "session/cancel", "params": {"sessionId": session}})
        frame = agent.next()
        assert frame[answer] == {"stopReason": "cancelled"} if answer == "result" else frame[answer]["code"] == -32603


def test_a_file_ends_a_wait(agent: Agent, tmp_path: Path) -> None:
    session = agent.open()
    prompt = [{"type": "text", "text": f"do: say x ; wait-for {tmp_path}/go ; say y"}]
    agent.send({"id": "p", "method": "session/prompt", "params": {"sessionId": session, "prompt": prompt}})
    assert agent.next()["params"]["update"]["content"]["text"] == "x"
    (tmp_path / "go").touch()
    assert agent.next()["params"]["update"]["content"]["text"] == "\ny"
    assert agent.next()["result"]["stopReason"] == "end_turn"


def test_permission_is_asked_by_the_protocol(agent: Agent) -> None:
    session = agent.open()
    prompt = [{"type": "text", "text": "do: offer allow_once,reject_once ; ask-permission rm"}]
    agent.send({"id": "p", "method": "session/prompt", "params": {"sessionId": session, "prompt": prompt}})
    question = agent.next()
    schema.RequestPermissionRequest.model_validate(question["params"])
    assert [option["kind"] for option in question["params"]["options"]] == ["allow_once", "reject_once"]
    agent.send({"id": question["id"], "result": {"outcome": {"outcome": "selected", "optionId": "reject_once"}}})
    assert agent.next()["params"]["update"]["content"]["text"] == "permission: reject_once"
    assert agent.next()["result"]["stopReason"] == "end_turn"


@pytest.mark.parametrize("script", ["dance", "wait soon", "touch /no/such/folder/x", "call x {"])
def test_a_script_with_a_mistake_says_so(agent: Agent, script: str) -> None:
    prompt = [{"type": "text", "text": f"do: {script}"}]
    error = agent.ask("session/prompt", sessionId=agent.open(), prompt=prompt)["error"]
    assert error["code"] == -32602
    assert script.partition(" ")[0] in error["message"]


def test_a_success_has_usage_and_an_error_in_disguise_has_none(agent: Agent) -> None:
    session = agent.open()
    prompt = [{"type": "text", "text": "do: fail-as-text HTTP 401: no"}]
    assert agent.ask("session/prompt", sessionId=session, prompt=prompt)["result"] == {"stopReason": "end_turn"}
    prompt = [{"type": "text", "text": "hello there"}]
    usage = {"inputTokens": 2, "outputTokens": 3, "totalTokens": 5}
    assert agent.ask("session/prompt", sessionId=session, prompt=prompt)["result"]["usage"] == usage


def test_it_starts_without_the_heavy_parts_of_the_library() -> None:
    code = "import sys, adapters.scripted.__main__; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    heavy = {"asyncio", "subprocess", "dataclasses", "inspect", "argparse", "acp", "pydantic"}
    assert not heavy & set(loaded.split())
