"""Places, people and receipts are read as they are written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.telegram.place import Spot, message_of, person_id, receipt, spot, user_of
from bridge.ids import place

CHATS = st.integers(-(10**15), 10**15)


@given(CHATS, st.none() | st.integers(1, 10**9), st.booleans())
def test_a_spot_and_its_place_are_one(chat: int, thread: int | None, general: bool) -> None:
    where = Spot(chat, None if general else thread, general=general)
    assert spot(where.place) == where
    assert place(where.place) == where.place


@pytest.mark.parametrize(
    "text",
    [
        "telegram:",
        "telegram:x",
        "telegram:1/",
        "telegram:1/x",
        "telegram:1/2/3",
        "telegram:1/general/2",
        "web:1",
        "telegram:１",
    ],
)
def test_what_is_no_place_of_telegram_is_none(text: str) -> None:
    assert spot(text) is None


@given(st.integers(1, 10**15), CHATS, st.integers(1, 10**9))
def test_people_and_receipts_are_read_back(user: int, chat: int, message: int) -> None:
    assert user_of(person_id(user)) == user
    assert message_of(receipt(chat, message), chat) == message
    assert message_of(receipt(chat, message), chat + 1) is None
    assert user_of(f"web:{user}") is None
