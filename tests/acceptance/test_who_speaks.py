"""An agent with a shell never passes for a person, and decides nothing that people decide, however its commands are
started, and whatever outlives it."""

import asyncio
import json
import os
import shlex
import signal
import sqlite3
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from adapters.api.processes import from_proc
from tests.acceptance.evasions import (
    AS_AN_AGENT,
    EVASIONS,
    NAMED,
    OUTLIVING_IT,
    SILENT,
    at_a_terminal,
    begun,
    exit_codes,
    tried,
)
from tests.acceptance.home import PATIENCE_S, TIELINE, Home, exist
from tests.fakes.bot_api import BotApi

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux gives what agents leave to the bridge")

TESTS = Path(__file__).parents[1]
OPERATOR = 111

LEAVE = """
import os, sys
for _ in range(200):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            with open(sys.argv[2], "a") as pids:
                print(os.getpid(), file=pids, flush=True)
            os.open(sys.argv[1], os.O_RDONLY)
        os._exit(0)
for _ in range(200):
    os.wait()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Of the attempts, whose processes are ended at last by their pids."""
    folder = tmp_path / "attempts"
    folder.mkdir()
    yield folder
    for path in folder.glob("*.pid"):
        for pid in path.read_text().split():
            if str(folder).encode() in _command_of(int(pid)):
                with suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)


async def test_whatever_an_agent_starts_is_that_agent_and_nobody_once_it_has_ended(
    home: Home, api: BotApi, folder: Path
) -> None:
    """However it has ended, and also where a terminal's word is enough: it neither speaks nor decides as a person. A
    person's own terminal beside it does, before and after a restart."""
    _furnish(home)
    _watched(home, api, confirm=False)
    home.limits(idle_close_s=0.2)
    await home.up()
    held, grant = await _held(home, "career", "finance", "shell"), await _forbidden(home)
    ended, restarted, person_too = (folder / gate for gate in ("agent-ended", "bridge-restarted", "person-too"))
    starts = {"career": {**EVASIONS, **NAMED}, "finance": OUTLIVING_IT}
    agents = {
        agent: await begun(home, folder, agent, lines, held[agent], grant, ended, restarted)
        for agent, lines in starts.items()
    }
    for agent, lines in starts.items():
        for name in lines:
            codes = exit_codes(folder, f"{agent}-{name}", 0)
            assert codes == {**dict.fromkeys(codes, 77), "send": 77 if name in NAMED else 0}, name
    person = await at_a_terminal(home, folder, "person", held["shell"], grant, person_too)
    await exist(folder / "person.0")

    os.kill(agents["career"], signal.SIGKILL)
    await _gone(*agents.values())
    ended.touch()
    await _refused(folder, 1)
    await home.kill()
    await home.up()
    restarted.touch()
    await _refused(folder, 2)
    person_too.touch()
    assert await person.wait() == 0

    codes = exit_codes(folder, "person", 0)
    assert codes == {**dict.fromkeys(codes, 0), "deny": 70}  # it has been approved by then
    codes = exit_codes(folder, "person", 1)
    assert codes == {**dict.fromkeys(codes, 0), "deny": 70, "revoke": 64}
    records = await _audit(home)
    assert [(one["what"], one["by"]) for one in records if one["what"] not in ("decision", "refused")] == [
        (what, "shell")
        for what in (
            "granted",
            *("granted", "approved", "granted", "revoked", "paused", "resumed"),
            *("granted", "paused", "resumed"),
        )
    ]
    assert _grants_by(home) == ["shell"] * 4
    refused = Counter(one["by"] for one in records if one["what"] == "refused")
    each, outlives = len(codes), len(OUTLIVING_IT)
    assert refused == {
        "default/career": len(EVASIONS) * (each - 1) + len(NAMED) * each,
        "default/finance": outlives * (each - 1),
        "nobody": 2 * outlives * each * 2,
    }
    assert await _still_held(home) == {held["career"], held["finance"]}
    mail = (await home.tieline("inbox", "--session", "desk", "--json")).lines
    by = {one["text"]: (one["from"], one["origin"]) for one in mail if one["origin"] != "user"}
    assert by == {
        f"{agent}-{name} 0": (f"default/{agent}", "peer")
        for agent in starts
        for name in starts[agent]
        if name not in NAMED
    }
    assert sorted(one["text"] for one in mail if one["origin"] == "user") == ["person 0"] * 3 + ["person 1"] * 3
    made = [one["id"] for one in (await home.typed("sessions", "--json")).lines if "made-" in one["id"]]
    assert len(made) == 2


async def test_an_agent_that_edits_the_file_and_starts_the_bridge_again_is_a_program_there_and_decides_nothing(
    home: Home, api: BotApi, folder: Path
) -> None:
    """As where an agent ends its bridge and starts it again, to pass for a person there."""
    _furnish(home)
    _watched(home, api)
    await home.up()
    held, grant = await _held(home, "shell"), await _forbidden(home)
    await home.down()

    home.through = AS_AN_AGENT
    home.tables.append("[policy]\nconfirm_in_chat = false")
    home.rules[:] = [rule.replace('effect = "ask"', 'effect = "allow"') for rule in home.rules]
    whole = home.tables[:]
    home.tables[:] = [table.partition("\nplaces")[0] for table in whole if not table.startswith("[telegram]")]
    home.write()
    assert await _accepting_as_an_agent(home) == 77
    home.tables[:] = whole
    await home.up()
    await api.seen(lambda post: "would let agents do more" in post.text, timeout=20)
    terminal = await at_a_terminal(home, folder, "agent", held["shell"], grant, through=AS_AN_AGENT)
    assert await terminal.wait() == 0
    codes = exit_codes(folder, "agent", 0)
    assert codes == {**dict.fromkeys(codes, 77), "send": 0, "send as the shell": 0}
    held_too = await home.tieline("send", "vault", "let me", "--intent", "inform", "--json")
    assert held_too.json["state"] == "held"
    assert await _still_held(home) == {held["shell"], held_too.json["message_id"]}
    done = [one["what"] for one in await _audit(home) if one["what"] not in ("decision", "refused")]
    assert done == ["granted", "reloaded", "proposed"]
    assert _grants_by(home) == ["shell"]

    terminal = await at_a_terminal(home, folder, "person", held["shell"], grant)
    assert await terminal.wait() == 0
    codes = exit_codes(folder, "person", 0)
    assert codes == dict.fromkeys(codes, 0)  # with `revoke` and `go on`, which wait for a word in the chat
    assert await _still_held(home) == {held_too.json["message_id"]}  # the other one the person has denied
    mail = (await home.typed("inbox", "--session", "desk", "--json")).lines  # all is paused but for people
    assert [one["origin"] for one in mail] == ["peer"] * 2 + ["user"] * 3


async def test_two_hundred_processes_that_outlive_their_agent_leave_no_zombie(home: Home, folder: Path) -> None:
    _furnish(home)
    bridge = (await home.up())["pid"]
    fifo, listed = folder / "fifo", folder / "left.pid"
    os.mkfifo(fifo)
    (folder / "leave.py").write_text(LEAVE)
    run = f"run {sys.executable} -I -S {folder}/leave.py {fifo} {listed}"
    agent = int((await home.ask("career", f"do: {run} ; say $pid")).json["reply"]["text"])
    left = [int(pid) for pid in listed.read_text().split()]
    assert len(left) == 200
    os.kill(agent, signal.SIGKILL)
    async with asyncio.timeout(PATIENCE_S):
        while {seen.parent for pid in left if (seen := from_proc(pid))} != {bridge}:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    with fifo.open("wb"):
        await _gone(*left)
    again = await home.ask("career", "do: say $pid")
    assert int(again.json["reply"]["text"]) != agent
    assert await home.down() == 0


def _furnish(home: Home) -> None:
    for agent in ("career", "finance"):
        home.agent(agent)
        persona = home.path / f"{agent}.persona.json"
        command = [sys.executable, "-P", f"{TESTS}/fakes/shell_agent.py", "--persona", str(persona)]
        home.tables[-1] = f"[agents.{agent}]\ncommand = {json.dumps(command)}"
        home.session(agent, agent)
    home.worker("counsel")
    home.session("desk")
    for sender in ("shell", "career", "finance"):
        home.rule(f"default/{sender}", "*")


def _watched(home: Home, api: BotApi, *, confirm: bool = True) -> None:
    """What comes to the vault an operator is asked about."""
    api.private(OPERATOR)
    home.telegram(api, operators=[OPERATOR], chats=[])
    home.session("vault", None, f"telegram:{OPERATOR}")
    for sender in ("shell", "career", "finance"):
        home.rule(f"default/{sender}", "default/vault", effect="ask")
    home.tables += ["[policy]\nconfirm_in_chat = false"] * (not confirm)


async def _held(home: Home, *senders: str) -> dict[str, str]:
    """The ids of the senders' own messages that wait for approval."""
    send = ("send", "vault", "let me in", "--intent", "inform")
    for sender in senders:
        if sender == "shell":
            assert (await home.tieline(*send)).code == 0
        else:
            command = shlex.join([*TIELINE, *send])
            assert (await home.ask(sender, f"do: run {command} ; say $last")).json["reply"]["text"] == "0"
    held = (await home.typed("approvals", "--json")).lines
    return {one["from"].removeprefix("default/"): one["message_id"] for one in held}


async def _forbidden(home: Home) -> str:
    """The id of a grant that forbids something, and so would widen by its end."""
    ident: str = (await home.typed("policy", "deny", "counsel", "vault", "--json")).json["id"]
    return ident


async def _accepting_as_an_agent(home: Home) -> int | None:
    """The exit code of a bridge that an agent starts in a terminal of its own, to accept what it has written."""
    command = ("script", "-qec", shlex.join([*TIELINE, "run", "--accept"]), "/dev/null")
    started = await asyncio.create_subprocess_exec(*AS_AN_AGENT, *command, env=home.environ, **SILENT)
    try:
        async with asyncio.timeout(PATIENCE_S):
            return await started.wait()
    finally:
        if started.returncode is None:
            started.kill()
            await started.wait()


async def _refused(folder: Path, number: int) -> None:
    """Everything that outlives its agent, in everything."""
    names = [f"{agent}-{name}" for agent in ("career", "finance") for name in OUTLIVING_IT]
    await exist(*(folder / f"{name}.{number}" for name in names))
    for name in names:
        for what, (code, out) in tried(folder, name, number).items():
            error = json.loads(out)["error"]
            assert (code, error["code"]) == (77, "not_permitted"), (name, what)
            assert "the agent that started this process has ended" in error["reason"], (name, what)
            assert error["remedy"]


async def _audit(home: Home) -> list[Any]:
    return (await home.typed("audit", "--limit", "2000", "--json")).lines


def _grants_by(home: Home) -> list[str]:
    """Who has given those that are in the store."""
    with closing(sqlite3.connect(f"{(home.path / 'tieline.db').as_uri()}?mode=ro", uri=True)) as store:
        return [by for (by,) in store.execute("SELECT by FROM grants")]


async def _still_held(home: Home) -> set[str]:
    return {one["message_id"] for one in (await home.typed("approvals", "--json")).lines}


async def _gone(*pids: int) -> None:
    """Reaped too; of processes that are not its own nobody tells a test."""
    async with asyncio.timeout(PATIENCE_S):
        for pid in pids:
            while from_proc(pid) is not None:  # noqa: ASYNC110
                await asyncio.sleep(0.02)


def _command_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
