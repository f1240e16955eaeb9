"""A secret is where it belongs, and in no environment, command line, file, log or prompt beside that (DESIGN §8).

The bridge is a real command, so that `/proc` shows of each process what it was started with.
"""

import json
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.acceptance.home import Home, exist
from tests.acceptance.processes import below, command_of, environ_of
from tests.fakes.bot_api import BotApi

CHAT, CAREER, FINANCE = -1001, 43, 44
BOT = "987654:canary-bot-5d0e7a41c2"
IN_THE_FILE = "987654:canary-file-0b6f11d9e3"
UNASKED = "canary-unasked-71c8f0a2b4"
CAREERS = {"CAREER_API_KEY": "canary-career-set-e91d40", "CAREER_PASS": "canary-career-passed-a7c3f2"}
FINANCES = {"FINANCE_API_KEY": "canary-finance-set-1f80cc", "FINANCE_PASS": "canary-finance-passed-60b2de"}
WORKS = "call peer_receive {} ; orphan ; run sleep 300 & ; touch $cwd/busy-$env.NAME ; wait-for $cwd/gate ; say done"


@pytest.fixture
async def api() -> AsyncIterator[BotApi]:
    async with BotApi(BOT) as api:
        yield api


@pytest.fixture
async def home(tmp_path: Path, api: BotApi) -> AsyncIterator[Home]:
    home = Home(tmp_path)
    (tmp_path / "work").mkdir()
    api.forum(CHAT, topics={CAREER: "Career", FINANCE: "Finance"})
    home.telegram(api, chats=[CHAT])
    home.tables[-1] = home.tables[-1].replace(BOT, IN_THE_FILE)
    home.variables = {
        "TIELINE_TELEGRAM__TOKEN": BOT,
        "OTHER_API_KEY": UNASKED,
        "CAREER_PASS": CAREERS["CAREER_PASS"],
        "FINANCE_PASS": FINANCES["FINANCE_PASS"],
    }
    yield home
    await home.close()


def member(home: Home, name: str, thread: int, *rules: dict[str, object], **more: object) -> None:
    """A session whose agent has a secret of its own in the file, and another one in the bridge's environment."""
    shell = Path(__file__).parents[1] / "fakes" / "shell_agent.py"
    home.agent(name, *rules, program=shell)
    own = f"{name.upper()}_API_KEY"
    secret = {**CAREERS, **FINANCES}[own]
    home.tables[-1] += f'\nenv_pass = ["{name.upper()}_PASS"]\nenv = {{ {own} = "{secret}", NAME = "{name}" }}'
    home.session(name, name, f"telegram:{CHAT}/{thread}", cwd=str(home.path / "work"), **more)


def tokens(home: Home, name: str) -> set[str]:
    """The capabilities that the agent was given for its tool server, in the frame that opens its context."""
    opening = [one["params"] for one in home.frames(name) if one.get("method") in ("session/new", "session/load")]
    servers = [server for params in opening for server in params["mcpServers"]]
    return {one["value"] for server in servers for one in server["env"] if one["name"] == "TIELINE_TOKEN"}


def of(pid: int, name: str) -> bool:
    """Whether the process is that agent, or was started by it."""
    return f"NAME={name}\0".encode() in environ_of(pid)


def files(home: Home) -> Iterator[tuple[str, bytes]]:
    for folder, _, names in os.walk(home.path):
        for path in (Path(folder) / name for name in names):
            if path.is_file():
                yield str(path.relative_to(home.path)), path.read_bytes()


def leaks(home: Home, bridge: int) -> list[str]:
    """Where a secret is that does not belong there."""
    found = []
    own = {"career": [*CAREERS.values()], "finance": [*FINANCES.values()]}
    capabilities = {name: tokens(home, name) for name in own}
    every = {BOT, IN_THE_FILE, UNASKED, *own["career"], *own["finance"], *capabilities["career"]}
    every |= capabilities["finance"]
    for pid in below(bridge):
        command = _become(pid, bridge)
        found += [
            f"{secret} on the command line of {pid}: {command!r}" for secret in every if secret.encode() in command
        ]
        may: set[str] = set()
        for name, secrets in own.items():
            if of(pid, name):
                may |= {*secrets, *(capabilities[name] if b"adapters.main\0mcp" in command else ())}
        shown = environ_of(pid)
        found += [
            f"{secret} in the environment of {pid}: {command!r}" for secret in every - may if secret.encode() in shown
        ]
    for path, data in files(home):
        if path == "tieline.toml":
            continue
        # What an agent keeps for itself is its own.
        may = set().union(*({*own[name], *capabilities[name]} for name in own if path.startswith(f"{name}.")))
        found += [f"{secret} in {path}" for secret in every - may if secret.encode() in data]
    for name in own:
        prompts = json.dumps(home.prompts(name))
        found += [f"{secret} in a prompt of {name}" for secret in every if secret in prompts]
    return found


def _become(pid: int, bridge: int) -> bytes:
    """Its command, once it is no copy of the bridge, which it is in that one's own memory before it becomes another."""
    while (command := command_of(pid)) and command == command_of(bridge):
        os.sched_yield()
    return command


async def test_a_secret_is_nowhere_but_where_it_belongs(home: Home, api: BotApi) -> None:
    member(home, "career", CAREER, {"on": "notice", "script": WORKS})
    member(home, "finance", FINANCE, {"on": "prompt", "match": "work", "script": WORKS}, safe=True)
    home.rule("default/shell", "default/career")
    bridge = (await home.up())["pid"]
    assert all(secret.encode() in environ_of(bridge) for secret in home.variables.values())
    api.say("hello", chat=CHAT, thread=FINANCE, user=111)
    await api.seen(lambda one: one.text == "echo: hello", timeout=30)
    assert (await home.tieline("send", "career", "look at it", "--wake")).code == 0
    await exist(home.path / "work" / "busy-career")
    processes = below(bridge)
    for name in ("career", "finance"):
        assert len(tokens(home, name)) == 1
        (agent,) = [pid for pid in processes if of(pid, name) and b"--persona" in command_of(pid)]
        assert b"canary-" + name.encode() in environ_of(agent)
        assert any(of(pid, name) and b"adapters.main\0mcp" in command_of(pid) for pid in processes)
    assert any(b"adapters.hosting" in command_of(pid) for pid in processes)
    assert leaks(home, bridge) == []  # one works with its tools, the other is idle

    api.say("work", chat=CHAT, thread=FINANCE, user=111)
    await exist(home.path / "work" / "busy-finance")
    assert any((home.path / "run" / "workers").glob("*"))
    assert leaks(home, bridge) == []
    await home.kill()
    bridge = (await home.up())["pid"]
    assert leaks(home, bridge) == []
    (home.path / "work" / "gate").touch()
    await api.seen(lambda one: one.thread == FINANCE and one.text == "done", timeout=30)
    assert leaks(home, bridge) == []
    assert await home.down() == 0
    assert leaks(home, bridge) == []


async def test_what_an_agent_lets_out_of_its_own_is_hidden_wherever_it_is_kept_or_shown(
    home: Home, api: BotApi
) -> None:
    call = {"sessionUpdate": "tool_call", "toolCallId": "1", "title": "curl $env.CAREER_PASS", "status": "completed"}
    call["rawInput"] = {"command": "curl -H $env.CAREER_API_KEY -u $env.CAREER_PASS"}  # type: ignore[assignment]
    lets_out = [
        "stderr key $env.CAREER_API_KEY and $env.CAREER_PASS",
        f"update {json.dumps(call)}",
        "ask-permission curl -H $env.CAREER_API_KEY -u $env.CAREER_PASS",
        "fail no such model $env.CAREER_API_KEY of $env.CAREER_PASS",
    ]
    member(home, "career", CAREER, {"on": "prompt", "script": lets_out})
    bridge = (await home.up())["pid"]
    api.say("go on", chat=CHAT, thread=CAREER, user=111)
    asked = await api.seen(lambda one: "asks for permission: curl -H" in one.text, timeout=30)
    records = b"".join(path.read_bytes() for path in (home.path / "run" / "workers").glob("*.journal"))
    assert b"curl" in records
    assert leaks(home, bridge) == []
    api.press(asked, dict(asked.buttons)["Allow"], user=111)
    told = await api.seen(lambda one: "no such model" in one.text, timeout=30)
    assert "[redacted] of [redacted]" in told.text
    log = (home.path / "logs" / "agents-default.log").read_text()
    assert "key [redacted] and [redacted]" in log
    assert not [one for one in api.history if "canary-" in one.text]
    assert leaks(home, bridge) == []
