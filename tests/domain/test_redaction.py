"""What of an agent's text may be kept and shown."""

import json

import pytest

from bridge.redaction import HIDDEN, SHAPES, Redaction, cleaned


@pytest.mark.parametrize(
    "secret",
    [
        "123456789:AAFakeFakeFakeFakeFakeFakeFakeFake1",
        "sk-proj-abcdefghijklmnop0123",
        "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
        "github_pat_abcdefghijklmnopqrstuvwxyz",
        "xoxb-1234567890-abcdef",
        "AKIAIOSFODNN7EXAMPLE",
        "AIzaSyA-abcdefghijklmnopqrstuvwxyz0123",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc-def_ghi",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIEabc\n-----END RSA PRIVATE KEY-----",
    ],
)
def test_what_has_the_shape_of_a_secret_is_hidden(secret: str) -> None:
    assert SHAPES.redacted(f"with {secret} in it") == f"with {HIDDEN} in it"


@pytest.mark.parametrize("text", ["a task-force of risk-assessment", "keyboard", "12:30 at 4:00", "eyJ", "bearer of"])
def test_ordinary_words_stay(text: str) -> None:
    assert SHAPES.redacted(text) == text


def test_exact_secrets_are_hidden_the_longest_first_and_short_ones_not() -> None:
    redaction = Redaction(["open-sesame", "open-sesame-42", "open"])
    assert redaction.redacted("open open-sesame-42") == f"open {HIDDEN}"
    redaction.hide("abracadabra")
    assert redaction.redacted("abracadabra") == HIDDEN


@pytest.mark.parametrize("name", ["password", "apiKey", "API_KEY", "access_token", "Authorization", "client_secret"])
def test_a_value_under_the_name_of_a_secret_is_one(name: str) -> None:
    assert json.loads(SHAPES.shown({"of": [{name: "hunter2"}]}, 1_000)) == {"of": [{name: HIDDEN}]}


@pytest.mark.parametrize("name", ["max_tokens", "key", "keywords", "secretary", "path"])
def test_other_names_hide_nothing(name: str) -> None:
    assert json.loads(SHAPES.shown({name: "hunter2"}, 1_000)) == {name: "hunter2"}


def test_a_secret_is_found_in_a_string_that_json_would_write_otherwise() -> None:
    redaction = Redaction(['quote"and\\slash'])
    assert json.loads(redaction.shown({"a": 'say quote"and\\slash'}, 1_000)) == {"a": f"say {HIDDEN}"}


def test_data_has_a_limit_however_deep_and_wide_it_is() -> None:
    deep: object = "x" * 10**6
    for _ in range(10_000):
        deep = [deep]
    for data in (deep, {str(number): "y" * 1_000 for number in range(10_000)}, ["z"] * 10**6):
        assert len(SHAPES.shown(data, 1_000)) <= 1_000


def test_nothing_that_cannot_be_seen_is_left() -> None:
    assert cleaned("\x00bad \x1b[2Jnews\x07\tand\nmore\x9f") == "bad news\tand\nmore"
