"""What the bot answers to whoever pressed a button."""

from aiogram.methods import AnswerCallbackQuery

from tests.fakes.bot_api.contract import Table
from tests.fakes.bot_api.world import bad_request

MAX_ANSWER = 200


class Callbacks:
    """`answers` holds the text of every answered callback by its id; `open` those that still wait."""

    def __init__(self) -> None:
        self.open: set[str] = set()
        self.answers: dict[str, str | None] = {}
        self.table: Table = {"answerCallbackQuery": self._answer}

    def _answer(self, call: AnswerCallbackQuery) -> bool:
        if call.callback_query_id not in self.open:
            raise bad_request("query is too old and response timeout expired or query ID is invalid")
        if call.text is not None and len(call.text) > MAX_ANSWER:
            raise bad_request("MESSAGE_TOO_LONG")
        self.open.discard(call.callback_query_id)
        self.answers[call.callback_query_id] = call.text
        return True
