"""Buttons as Telegram shows them."""

from telegram import InlineKeyboardButton, InlineKeyboardMarkup

from bridge.post import Button

_ROW_OF_BUTTONS = 3
_ROW_OF_CHARS = 40


def keyboard(buttons: tuple[Button, ...]) -> InlineKeyboardMarkup | None:
    """Short labels share a row, as far as a telephone can show them."""
    rows: list[list[InlineKeyboardButton]] = []
    room = 0
    for button in buttons:
        room -= len(button.label)
        if not rows or room < 0 or len(rows[-1]) == _ROW_OF_BUTTONS:
            rows.append([])
            room = _ROW_OF_CHARS - len(button.label)
        rows[-1].append(InlineKeyboardButton(button.label, url=button.url, callback_data=button.action or None))
    return InlineKeyboardMarkup(rows) if rows else None
