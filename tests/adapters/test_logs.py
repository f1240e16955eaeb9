"""No secret gets into a log, by no way, and the log is its owner's alone."""

import io
import json
import logging
import sys
from pathlib import Path

import pytest

from adapters.logs import Redactor, logging_to
from bridge.redaction import HIDDEN

TOKEN = "123456789:AAFakeFakeFakeFakeFakeFakeFakeFake1"


@pytest.mark.parametrize(
    "text",
    [
        f"using {TOKEN}",
        f"POST https://chat.example/bot{TOKEN}/getUpdates",
        "key sk-proj-abcdefghijklmnop0123",
        "Authorization: Bearer abcdef123456.xyz",
        "the exact secret open-sesame-42 of the operator",
    ],
)
@pytest.mark.parametrize("as_json", [False, True])
def test_secrets_are_redacted_in_messages_arguments_and_tracebacks(text: str, as_json: bool, tmp_path: Path) -> None:
    stderr = io.StringIO()
    with logging_to(tmp_path, as_json=as_json, stderr=stderr) as redactor:
        redactor.hide("open-sesame-42")
        log = logging.getLogger("tieline.test")
        log.info(text)
        log.info("with an argument: %s", text)
        try:
            raise ValueError(text)
        except ValueError:
            log.exception("with a traceback")
    for written in (stderr.getvalue(), (tmp_path / "logs" / "bridge.log").read_text()):
        assert written.count(HIDDEN) >= 3
        assert "Fake" not in written
        assert "abcdef" not in written
        assert "sesame" not in written
        assert "ValueError" in written


def test_a_secret_within_a_longer_one_does_not_uncover_the_rest() -> None:
    redactor = Redactor()
    redactor.hide("secret")
    redactor.hide("secret-and-more")
    assert redactor.redacted("my secret-and-more") == f"my {HIDDEN}"


def test_what_is_too_short_to_be_a_secret_blots_out_no_words() -> None:
    redactor = Redactor()
    redactor.hide("")
    redactor.hide("x")
    assert redactor.redacted("a text with an x") == "a text with an x"


def test_an_uncaught_exception_is_logged_without_secrets(tmp_path: Path) -> None:
    stderr = io.StringIO()
    before = sys.excepthook
    with logging_to(tmp_path, stderr=stderr):
        error = RuntimeError(f"bot{TOKEN}")
        sys.excepthook(RuntimeError, error, None)
    assert "RuntimeError" in stderr.getvalue()
    assert "Fake" not in stderr.getvalue()
    assert sys.excepthook is before


def test_the_log_is_private_also_after_a_rotation(tmp_path: Path) -> None:
    with logging_to(tmp_path, stderr=io.StringIO()):
        for _ in range(11):
            logging.getLogger("tieline.test").info("x" * (1 << 20))
    logs = list((tmp_path / "logs").iterdir())
    assert len(logs) == 2
    assert {log.stat().st_mode & 0o777 for log in logs} == {0o600}
    assert (tmp_path / "logs").stat().st_mode & 0o777 == 0o700


def test_an_object_a_line_and_nothing_else_in_json(tmp_path: Path) -> None:
    stderr = io.StringIO()
    with logging_to(tmp_path, as_json=True, stderr=stderr):
        logging.getLogger("tieline.test").warning("two\nlines")
    (line,) = stderr.getvalue().splitlines()
    written = json.loads(line)
    assert written.pop("at").endswith("Z")
    assert written == {"level": "warning", "logger": "tieline.test", "message": "two\nlines"}


def test_a_message_cannot_forge_a_line_or_steer_a_terminal(tmp_path: Path) -> None:
    stderr = io.StringIO()
    with logging_to(tmp_path, stderr=stderr):
        logging.getLogger("tieline.test").info("a\n2026-01-01 error \x1b[2Jgone")
    assert len(stderr.getvalue().splitlines()) == 1
    assert "\x1b" not in stderr.getvalue()
    assert "\\x1b[2J" in stderr.getvalue()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_fails_nobody_and_stderr_tells_the_same(tmp_path: Path) -> None:
    stderr = io.StringIO()
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "bridge.log").symlink_to("/dev/full")
    with logging_to(tmp_path, stderr=stderr):
        logging.getLogger("tieline.test").error("no room")
    (line,) = stderr.getvalue().splitlines()
    assert line.endswith("no room")


def test_urls_of_the_http_client_are_not_logged(tmp_path: Path) -> None:
    stderr = io.StringIO()
    with logging_to(tmp_path, stderr=stderr):
        logging.getLogger("httpx").info("HTTP Request: POST https://chat.example/path")
    assert stderr.getvalue() == ""


def test_a_wrong_call_of_a_logger_does_not_fail_its_caller() -> None:
    record = logging.LogRecord("tieline", logging.INFO, __file__, 1, "%d of them", ("many",), None)
    assert Redactor().filter(record)
    assert record.getMessage() == "%d of them (its arguments do not fit)"


def test_everything_is_as_it_was_after_the_block(tmp_path: Path) -> None:
    root = logging.getLogger()
    before = (list(root.handlers), root.level, logging.getLogger("httpx").level)
    with logging_to(tmp_path, stderr=io.StringIO()):
        pass
    assert (list(root.handlers), root.level, logging.getLogger("httpx").level) == before
