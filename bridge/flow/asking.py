"""One post that asks people something, and what their words and presses at it mean (DESIGN §8)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bridge import wording
from bridge.errors import Code, Refused
from bridge.flow.terms import BEHIND, Terms
from bridge.post import Button
from bridge.question import Choice, Field, Question, typed_value
from bridge.turn import Turn

DONE = Choice("Done", "")
SKIP = Choice("Skip", "")
DECLINE = Choice("Decline", "")

_LABEL_CHARS = 40


@dataclass(frozen=True, slots=True)
class Sheet:
    """A question for permission, or one field of a form. `ident` is the same whichever bridge asks. `choices` keep the
    numbers that the agent's own have, whichever of them are offered. `field` is what is filled in, and `hint`, while it
    is open, how."""

    ident: str
    text: str
    choices: Mapping[int, Choice]
    field: Field | None = None
    hint: str | None = None
    refused: str = "declined"
    """What nobody has answered is called."""

    @property
    def key(self) -> str:
        return key_of(self.ident)

    @property
    def buttons(self) -> Sequence[Button]:
        return [
            Button(one.label[:_LABEL_CHARS], f"answer:{self.ident}:{number}") for number, one in self.choices.items()
        ]

    def choice(self, given: int | str) -> Choice:
        """What a person has chosen by a button's number, or says. Raises `Refused`."""
        if isinstance(given, int):
            if given not in self.choices:
                raise Refused(Code.INVALID_REQUEST, "there is no such option")
            return self.choices[given]
        if self.field is not None and self.field.typed is not None:
            return Choice("answered", typed_value(self.field, given))
        said = given.strip().casefold()
        for choice in self.choices.values():
            if choice.label.casefold() == said:
                return choice
        offered = ", ".join(choice.label for choice in self.choices.values())
        raise Refused(Code.INVALID_REQUEST, "that is none of the answers", remedy=f"They are: {offered}.")


def key_of(ident: str) -> str:
    """Of the post that asks."""
    return f"question:{ident}"


def form_in(key: str) -> str | None:
    """What a post with this key asks for, where a text in reply to it is for the agent's form, and for nobody else."""
    kind, _, ident = key.partition("#")[0].partition(":")
    return ident if kind == "question" and ident.count(".") == 2 else None


def sheets(question: Question) -> range:
    return range(max(1, len(question.form or ())))


def sheet_of(turn: Turn, question: Question, number: int, terms: Terms) -> Sheet:
    ident = f"{turn.id}.{question.number}"
    behind = f"\n· {BEHIND}" if terms.by_peer and terms.denied is None else ""
    if question.form is None:
        text = wording.permission_asked(turn.session, question.title, denied=terms.denied is not None)
        offered = terms.options(question)
        options = {at: Choice(one.label, one.id) for at, one in enumerate(question.options) if one in offered}
        return Sheet(ident, text + behind, options, refused="denied")
    field = question.form[number] if question.form else None
    of = f"{number + 1} of {len(question.form)}: " if len(question.form) > 1 else ""
    text = wording.form_asked(turn.session, question.title, question.url, f"{of}{field.label}" if field else "")
    own = field.choices if field is not None else (DONE,)
    skip = (SKIP,) if field is not None and not field.required else ()
    hint = wording.REPLY_HERE if field is not None and field.typed is not None else None
    return Sheet(f"{ident}.{number + 1}", text + behind, dict(enumerate((*own, *skip, DECLINE))), field, hint)
