"""What the commands ask for and show: the keys of their JSON are a contract with scripts."""

import signal
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from bridge.message import Intent, Origin
from bridge.trace import StepKind
from tests.adapters.api.live import serving
from tests.adapters.api.memory_exchange import BUILD, SHELL, MemoryExchange
from tests.adapters.cli.shell import Shell

KEYS = {
    "status": {
        "pid", "version", "profile", "uptime_s", "store", "telegram", "sessions", "turns", "queued",
        "oldest_queued_s", "paused_by", "file", "outdated", "gateways", "nodes",
    },
    "sessions": {
        "id", "title", "kind", "activity", "live", "task", "cwd", "project", "branch", "places", "last_seen",
        "unsettled", "reachable", "busy", "agent", "label", "outdated", "parent",
    },
    "send": {"message_id", "conversation_id", "to", "state", "position", "wake", "duplicate", "depth", "waits_until"},
    "ask": {"message_id", "conversation_id", "state", "answer", "reply"},
    "cancel": {"message_id", "conversation_id", "state", "answer", "reply"},
    "inbox": {
        "message_id", "from", "intent", "text", "origin", "conversation_id", "in_reply_to", "depth", "accepted_at",
        "state", "late",
    },
    "ack": {"acked"},
    "trace": {"at", "step", "session", "detail"},
}  # fmt: skip

ARGUMENTS = {
    "status": (),
    "sessions": ("--active",),
    "send": ("career", "hello"),
    "ask": ("career", "hello", "--timeout", "0"),
    "cancel": ("m1",),
    "inbox": (),
    "ack": ("in1",),
    "trace": ("m1",),
}


@pytest.mark.parametrize("command", KEYS)
async def test_json_has_exactly_the_keys_that_scripts_rely_on(
    shell: Shell, exchange: MemoryExchange, command: str
) -> None:
    await exchange.arrive(SHELL, "mail")
    exchange.step(StepKind.ACCEPTED, by="shell")
    await shell.run("send", "career", "the first one")
    done = await shell.run(command, *ARGUMENTS[command], "--json")
    [record] = done.records
    assert set(record) == KEYS[command]


async def test_times_are_rfc_3339_in_utc(shell: Shell, exchange: MemoryExchange) -> None:
    await exchange.arrive(SHELL, "mail")
    [mail] = (await shell.run("inbox", "--json")).records
    assert mail["accepted_at"] == "2026-09-21T14:13:20.500Z"


async def test_every_option_of_send_reaches_the_bridge(shell: Shell, exchange: MemoryExchange) -> None:
    options = ("--wake", "--reply-to", "m0", "--intent", "inform", "--key", "k", "--ttl", "1h", "--from", "build")
    await shell.run("send", "career", "hello", *options)
    [send] = exchange.sends
    assert (send.to, send.text, send.intent, send.wake) == ("career", "hello", Intent.INFORM, True)
    assert (send.in_reply_to, send.key, send.ttl_s) == ("m0", "k", 3600)
    assert exchange.callers[-1].session == BUILD


async def test_the_session_comes_from_the_option_before_the_environment(shell: Shell, exchange: MemoryExchange) -> None:
    await shell.run("send", "career", "one")
    await shell.run("send", "career", "two", TIELINE_SESSION="build")
    await shell.run("send", "career", "three", "--from", "shell", TIELINE_SESSION="build")
    assert [by.session for by in exchange.callers] == [SHELL, BUILD, SHELL]


async def test_a_token_in_the_environment_is_used(shell: Shell, exchange: MemoryExchange) -> None:
    await shell.run("send", "career", "hello", TIELINE_TOKEN="desk-token")
    assert (exchange.callers[-1].session, exchange.callers[-1].bound) == ("default/desk", True)


async def test_a_program_is_a_peer_and_speaks_for_shells_only(shell: Shell, exchange: MemoryExchange) -> None:
    assert (await shell.run("send", "career", "hello")).code == 0
    assert (await shell.run("send", "career", "hello", "--from", "build")).code == 0
    assert (await shell.run("send", "career", "hello", "--from", "desk")).code == 77
    assert [(by.session, by.origin, by.operator) for by in exchange.callers] == [
        (SHELL, Origin.PEER, False),
        (BUILD, Origin.PEER, False),
    ]


async def test_a_person_at_a_terminal_is_a_user(shell: Shell, exchange: MemoryExchange) -> None:
    async with shell.in_terminal("send", "career", "hello") as (process, _):
        assert await process.wait() == 0
    assert (exchange.callers[-1].origin, exchange.callers[-1].operator) == (Origin.USER, True)


async def test_a_session_is_made_in_the_directory_of_who_asks_and_never_by_an_agent(shell: Shell) -> None:
    arguments = ("session", "new", "made", "--agent", "a", "--cwd", "work", "--place", "cli:made", "--json")
    assert (await shell.run(*arguments, TIELINE_TOKEN="desk-token")).code == 77
    done = await shell.run(*arguments)
    assert done.code == 0
    assert set(done.records[0]) == {*KEYS["sessions"], "waits_for"}
    assert (done.records[0]["cwd"], done.records[0]["places"]) == (str(Path.cwd() / "work"), ["cli:made"])
    assert done.err == f"{Path.cwd() / 'work'} is no directory yet: make it, or the agent cannot start\n"


async def test_a_session_is_stopped_and_resumed(shell: Shell) -> None:
    assert (await shell.run("session", "resume", "career")).out == "career was not stopped\n"
    stopped = await shell.run("session", "stop", "career", "--all")
    assert stopped.out.startswith("career: its turn is stopped, and 2 queued cancelled; ")
    assert (await shell.run("session", "resume", "career")).out == "career takes work again\n"
    [record] = (await shell.run("session", "stop", "career", "--json")).records
    assert record == {"stopped": True, "cancelled": 0}
    [record] = (await shell.run("session", "resume", "career", "--json")).records
    assert record == {"resumed": True, "waits_for": []}


async def test_what_waits_for_an_operator_is_told_with_the_place_where_it_waits(
    shell: Shell, exchange: MemoryExchange
) -> None:
    exchange.asked_at = ("telegram:111",)
    made = await shell.run("session", "new", "made")
    assert (made.code, made.out) == (0, "default/made waits for an operator at telegram:111\n")
    resumed = await shell.run("session", "resume", "career")
    assert (resumed.code, resumed.out) == (0, "career waits for an operator at telegram:111\n")
    [record] = (await shell.run("session", "resume", "career", "--json")).records
    assert record == {"resumed": False, "waits_for": ["telegram:111"]}
    [record] = (await shell.run("session", "new", "made", "--json")).records
    assert (record["id"], record["waits_for"]) == ("default/made", ["telegram:111"])


@pytest.mark.parametrize("text", ["zażółć 🎉\n\n", "", " \t", "a\r\nb", "-- --json"])
async def test_text_from_stdin_arrives_as_it_is(shell: Shell, exchange: MemoryExchange, text: str) -> None:
    await shell.run("send", "career", "-", stdin=text.encode())
    await shell.run("send", "career", stdin=text.encode())
    assert [send.text for send in exchange.sends] == [text, text]


async def test_stdin_that_is_no_utf8_is_an_invalid_request(shell: Shell, exchange: MemoryExchange) -> None:
    done = await shell.run("send", "career", "-", "--json", stdin=b"\xff\xfe")
    assert (done.code, done.records[0]["error"]["code"]) == (64, "invalid_request")
    assert exchange.sends == []


async def test_stdin_beyond_all_bounds_is_too_large(shell: Shell) -> None:
    done = await shell.run("send", "career", "-", "--json", stdin=b"x" * 5_000_000)
    assert (done.code, done.records[0]["error"]["code"]) == (64, "too_large")


@pytest.mark.parametrize(
    ("arguments", "session"),
    [
        (("send", "career", "\udcff"), ""),
        (("send", "career", "x", "--from", "a\nb"), ""),
        (("trace", "\udcff"), ""),
        (("sessions",), "\udcff"),
    ],
)
async def test_bytes_that_are_no_text_are_an_invalid_request(
    shell: Shell, arguments: tuple[str, ...], session: str
) -> None:
    assert (await shell.run(*arguments, TIELINE_SESSION=session)).code == 64


async def test_an_id_may_hold_any_sign(shell: Shell) -> None:
    done = await shell.run("cancel", "a/b?c d%é", "--json")
    assert done.records[0]["error"]["code"] == "unknown_message"


async def test_text_of_others_cannot_act_on_the_terminal(shell: Shell, exchange: MemoryExchange) -> None:
    await exchange.arrive(SHELL, "\x1b[2J\u202egnp\nin2  default/desk  request")
    shown = (await shell.run("inbox")).out
    assert "\x1b" not in shown
    assert "    <U+001B>[2J<U+202E>gnp\n    in2  default/desk" in shown
    [mail] = (await shell.run("inbox", "--json")).records
    assert mail["text"] == "\x1b[2J\u202egnp\nin2  default/desk  request"


async def test_all_pages_of_sessions_are_listed(shell: Shell, exchange: MemoryExchange) -> None:
    assert len((await shell.run("sessions", "--json")).records) == 4
    lines = (await shell.run("sessions")).out.splitlines()
    assert lines[0].split() == ["SESSION", "KIND", "ACTIVITY", "REACHABLE", "BUSY", "MAIL", "PLACES", "TITLE"]
    assert len({line.index("idle") for line in lines[1:]} | {lines[0].index("ACTIVITY")}) == 1


async def test_taking_leases_and_acknowledging_settles(shell: Shell, exchange: MemoryExchange) -> None:
    await exchange.arrive(SHELL, "mail")
    [seen] = (await shell.run("inbox", "--json")).records
    [taken] = (await shell.run("inbox", "--take", "--json")).records
    assert (seen["state"], taken["state"]) == ("queued", "leased")
    done = await shell.run("ack", taken["message_id"], "nothing", "--json")
    assert done.records == [{"acked": [taken["message_id"]]}]


async def test_following_shows_each_message_once_and_survives_a_restart(
    tmp_path: Path, exchange: MemoryExchange
) -> None:
    async with AsyncExitStack() as first_life:
        await first_life.enter_async_context(serving(exchange, tmp_path))
        await exchange.arrive(SHELL, "one")
        async with Shell(tmp_path).started("inbox", "--follow", "--json") as process:
            assert process.stdout
            assert process.stderr
            assert b'"one"' in await process.stdout.readline()
            await exchange.arrive(SHELL, "two")
            assert b'"two"' in await process.stdout.readline()
            await first_life.aclose()
            assert b"went away" in await process.stderr.readline()
            async with serving(exchange, tmp_path):
                await exchange.arrive(SHELL, "three")
                assert b'"three"' in await process.stdout.readline()
                process.send_signal(signal.SIGINT)
                assert await process.wait() == 130
                assert await process.stderr.read() == b""


async def test_status_can_wait_for_a_bridge_that_starts(tmp_path: Path, exchange: MemoryExchange) -> None:
    shell = Shell(tmp_path)
    async with shell.started("status", "--wait", "30s", "--json") as process, serving(exchange, tmp_path):
        assert await process.wait() == 0


async def test_a_home_with_a_long_path_is_reached(tmp_path: Path, exchange: MemoryExchange) -> None:
    deep = tmp_path / ("d" * 120)
    async with serving(exchange, deep):
        assert (await Shell(deep).run("status")).code == 0


async def test_a_reader_that_leaves_ends_the_command_without_a_traceback(
    shell: Shell, exchange: MemoryExchange
) -> None:
    for number in range(20):
        await exchange.arrive(SHELL, f"{number}" * 8000)
    async with shell.started("inbox", "--json") as process:
        assert process.stdout
        process.stdout._transport.close()  # type: ignore[attr-defined]
        assert process.stderr
        assert await process.stderr.read() == b""
        assert await process.wait() == 141
