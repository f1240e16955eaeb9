"""What the buttons under posts do. `from.id` was checked by the chat; who may decide is checked here."""

from bridge.errors import Code, Refused
from bridge.flow.control import Control
from bridge.flow.questions import Questions
from bridge.ports.chat import Pressed


class Buttons:
    def __init__(self, control: Control, questions: Questions) -> None:
        self._control = control
        self._questions = questions

    async def press(self, pressed: Pressed) -> str:
        """Returns what to tell the person. Raises `Refused`."""
        if not pressed.person.operator:
            raise Refused(Code.NOT_PERMITTED, "only an operator may decide this", remedy="Ask one of them.")
        verb, _, ident = pressed.action.partition(":")
        match verb:
            case "retry":
                return await self._control.retry(ident)
            case "discard":
                return await self._control.discard(ident)
            case "more":
                return await self._control.extend(ident)
            case "answer":
                ident, _, number = ident.rpartition(":")
                return self._questions.answer(ident, int(number) if number.isdecimal() else -1)
            case _:
                raise Refused(Code.INVALID_REQUEST, "this button is not known any more")
