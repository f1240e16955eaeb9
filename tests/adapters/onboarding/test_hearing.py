"""What an update tells a setup; whatever has another form tells nothing."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.onboarding.hearing import Moved, Room, Said, Seated, Somebody, read

ADA = {"id": 111, "is_bot": False, "first_name": "Ada", "last_name": "L.", "username": "ada"}
OFFICE = {"id": -1001, "type": "supergroup", "title": "Office"}


def said(text: object = "/here", **more: Any) -> dict[str, Any]:
    return {"update_id": 1, "message": {"message_id": 1, "from": ADA, "chat": OFFICE, "text": text, **more}}


def test_what_somebody_says() -> None:
    room = Room(-1001, "supergroup", "Office")
    assert read(said(), "bot") == Said(Somebody(111, "Ada L. @ada"), room, "/here", None)
    topic = read(said(message_thread_id=42, is_topic_message=True), "bot")
    assert isinstance(topic, Said)
    assert topic.thread == 42
    reply = read(said(message_thread_id=42), "bot")
    assert isinstance(reply, Said)
    assert reply.thread is None


@pytest.mark.parametrize(
    "more", [{"sender_chat": OFFICE}, {"forward_origin": {}}, {"via_bot": ADA}, {"from": ADA | {"is_bot": True}}]
)
def test_what_is_nobodys_own_word(more: dict[str, Any]) -> None:
    assert read(said(**more), "bot") is None


def test_a_command_for_another_bot_is_none() -> None:
    assert read(said("/here@other_bot"), "the_bot") is None
    ours = read(said("/here@The_Bot"), "the_bot")
    assert isinstance(ours, Said)
    assert ours.text == "/here"


@pytest.mark.parametrize(
    ("status", "present"), [("member", True), ("administrator", True), ("left", False), ("kicked", False)]
)
def test_where_it_is_seated(status: str, present: bool) -> None:
    update = {"my_chat_member": {"from": ADA, "chat": OFFICE, "new_chat_member": {"status": status}}}
    event = read(update, "bot")
    assert isinstance(event, Seated)
    assert event.present is present


def test_a_group_that_moves() -> None:
    assert read(said(migrate_to_chat_id=-1002), "bot") == Moved(-1001, -1002)


def test_a_strangers_name_is_shown_as_it_is() -> None:
    evil = ADA | {"first_name": "Ada\x1b[2K\n\u202eoperator", "last_name": None, "username": None}
    event = read(said(**{"from": evil}), "bot")
    assert isinstance(event, Said)
    assert event.person.name == "Ada<U+001B>[2K<U+000A><U+202E>operator"


KEYS = st.sampled_from(["from", "chat", "id", "text", "type", "is_bot", "new_chat_member", "status"])
json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner),
    max_leaves=8,
)


@given(st.sampled_from(["message", "my_chat_member", "poll"]), json)
def test_nothing_odd_makes_it_fail(kind: str, content: Any) -> None:
    read({kind: content}, "bot")
