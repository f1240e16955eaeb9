"""Scripts act on exit codes: each means one thing, with and without --json."""

from importlib.metadata import version

import pytest

from adapters.cli import exits
from bridge.errors import Code
from bridge.request import Answer
from tests.adapters.api.memory_exchange import MemoryExchange
from tests.adapters.cli.shell import Shell

OF_CODE = {
    "invalid_request": 64, "self_send": 64, "too_large": 64,
    "inbox_full": 75, "rate_limited": 75, "busy": 75, "paused": 75, "unavailable": 75,
    "unknown_session": 77, "unknown_message": 77, "not_permitted": 77, "wake_not_permitted": 77,
    "depth_limit": 77, "visit_limit": 77, "conversation_budget": 77, "would_deadlock": 77, "no_return_path": 77,
    "already_answered": 77, "session_closed": 77, "stale_epoch": 77, "expired": 77,
}  # fmt: skip

OF_ANSWER = {
    "answered": 0, "no_reply": 0, "open": 75, "input_required": 75, "failed": 70, "expired": 70, "cancelled": 70,
}  # fmt: skip


@pytest.mark.parametrize("code", Code)
def test_each_refusal_has_the_exit_code_of_its_kind(code: Code) -> None:
    assert exits.of_refusal(code) == OF_CODE[code]


@pytest.mark.parametrize("answer", Answer)
def test_each_answer_has_the_exit_code_of_its_kind(answer: Answer) -> None:
    assert exits.of_answer(answer, late=False) == OF_ANSWER[answer]


def test_a_late_answer_is_an_answer() -> None:
    assert exits.of_answer("expired", late=True) == 0


@pytest.mark.parametrize(
    ("verdict", "state", "outcome", "code"),
    [
        ("approve", "queued", None, 0),
        ("approve", "held", None, 0),  # it waits for a word in the chat
        ("approve", "settled", "acked", 0),
        ("approve", "settled", "refused", 70),
        ("approve", "settled", "expired", 70),
        ("deny", "settled", "refused", 0),
        ("deny", "settled", "cancelled", 0),
        ("deny", "leased", None, 70),
        ("deny", "settled", "acked", 70),
    ],
)
def test_a_decision_that_came_too_late_has_failed(verdict: str, state: str, outcome: str | None, code: int) -> None:
    assert exits.of_decision(verdict, state, outcome) == code


@pytest.mark.parametrize("code", ["too_large", "inbox_full", "visit_limit"])
async def test_a_refusal_is_an_object_on_stdout_with_json_and_text_on_stderr_without(shell: Shell, code: str) -> None:
    to = code.replace("_", "-")
    plain = await shell.run("send", to, "hello")
    structured = await shell.run("send", to, "hello", "--json")
    assert plain.code == structured.code == OF_CODE[code]
    assert plain.out == ""
    assert code in plain.err
    [record] = structured.records
    assert set(record) == {"error"}
    assert set(record["error"]) == {"code", "reason", "rule", "remedy"}
    assert record["error"]["code"] == code


USAGE = [
    (),
    ("no-such-command",),
    ("send",),
    ("send", "career", "x", "--ttl", "soon"),
    ("send", "career", "x", "--intent", "reply"),
    ("ask", "career", "x", "--timeout", "-1"),
    ("status", "--wait", "nan"),
    ("session", "new"),
    ("trace", "one", "two"),
    ("inbox", "--foll"),
]


@pytest.mark.parametrize("arguments", USAGE)
async def test_wrong_arguments_are_an_invalid_request(idle_shell: Shell, arguments: tuple[str, ...]) -> None:
    plain = await idle_shell.run(*arguments)
    assert (plain.code, plain.out) == (64, "")
    structured = await idle_shell.run(*arguments, "--json")
    assert structured.code == 64
    assert structured.records[0]["error"]["code"] == "invalid_request"
    assert "--help" in structured.records[0]["error"]["remedy"]


COMMANDS = [
    ("status",),
    ("sessions",),
    ("session", "new", "made"),
    ("session", "stop", "made"),
    ("session", "resume", "made"),
    ("send", "career", "hello"),
    ("ask", "career", "hello"),
    ("cancel", "m1"),
    ("inbox",),
    ("inbox", "--follow"),
    ("ack", "m1"),
    ("trace", "m1"),
]


@pytest.mark.parametrize("arguments", COMMANDS)
async def test_without_a_bridge_every_command_says_so(idle_shell: Shell, arguments: tuple[str, ...]) -> None:
    plain = await idle_shell.run(*arguments)
    assert (plain.code, plain.out) == (69, "")
    assert plain.err.count("tieline run") == 1
    structured = await idle_shell.run(*arguments, "--json")
    assert (structured.code, structured.records[0]["error"]["code"]) == (69, "unavailable")


async def test_help_lists_every_command(idle_shell: Shell) -> None:
    done = await idle_shell.run("--help")
    assert (done.code, done.err) == (0, "")
    for name in ("run", "demo", "mcp", *(arguments[0] for arguments in COMMANDS)):
        assert f"    {name} " in done.out


async def test_no_command_at_all_shows_the_help(idle_shell: Shell) -> None:
    done = await idle_shell.run()
    assert (done.code, done.out) == (64, "")
    assert done.err == (await idle_shell.run("--help")).out


async def test_the_version_is_told(idle_shell: Shell) -> None:
    done = await idle_shell.run("--version")
    assert (done.code, done.out) == (0, f"tieline {version('tieline')}\n")


async def test_a_fault_of_the_bridge_is_temporary(shell: Shell, exchange: MemoryExchange) -> None:
    exchange.fault = RuntimeError("defect")
    done = await shell.run("send", "career", "hello", "--json")
    assert (done.code, done.records[0]["error"]["code"]) == (75, "unavailable")
