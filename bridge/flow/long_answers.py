"""Answers that are too long to be shown at once: the rest, or a document, when somebody asks for it."""

from dataclasses import replace

from bridge.errors import Code, Refused
from bridge.flow.ledger import Ledger
from bridge.flow.showing import FILE, FILE_NAME, REST, SHOWN_PARTS, as_file, show
from bridge.flow.work import Work
from bridge.ids import PostId
from bridge.ports.chat import Pressed
from bridge.post import Post, PostKind, PostState, part_key

VERBS = (REST, FILE)


class LongAnswers:
    """For everybody who may talk where the answer stands. What was asked for twice is shown once."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def press(self, pressed: Pressed, verb: str, key: str) -> str:
        asked_for = _rest if verb == REST else _file
        return await self._ledger.do(lambda work: asked_for(work, pressed, key))


async def _rest(work: Work, pressed: Pressed, key: str) -> str:
    answer, whole = await _answer(work, pressed, key)
    if await work.post(part_key(key, SHOWN_PARTS + 1)) is not None:
        return "It is shown already."
    await show(
        work,
        key,
        answer.place,
        answer.kind,
        whole,
        buttons=[as_file(key)],
        message=answer.message,
        session=answer.session,
        rich=True,
        unfolded=True,
    )
    return "Here is the rest."


async def _file(work: Work, pressed: Pressed, key: str) -> str:
    answer, whole = await _answer(work, pressed, key)
    asked_before = await work.post(f"{key}#file")
    if asked_before is not None and asked_before.state is not PostState.FAILED:
        return "It is there already, or on its way."
    file = asked_before or Post(
        id=PostId(work.new_id()),
        key=f"{key}#file",
        place=answer.place,
        kind=PostKind.FINAL,
        text=whole,
        created_at=work.now,
        due_at=work.now,
        message=answer.message,
        session=answer.session,
        answers=part_key(key, SHOWN_PARTS),
        file=FILE_NAME,
        silent=True,
    )
    work.put(replace(file, state=PostState.PENDING, due_at=work.now, attempts=0, error=None))
    work.then(work.wake.outbox)
    return "It comes as a file."


async def _answer(work: Work, pressed: Pressed, key: str) -> tuple[Post, str]:
    """The first of its posts, and its whole text."""
    answer = await work.post(key)
    if answer is None or answer.whole is None:
        raise Refused(
            Code.EXPIRED, "the rest of that answer is no longer kept", remedy="Ask for it again at its place."
        )
    chat = work.means.chat_of(answer.place)
    if chat is None or not (pressed.person.operator or chat.may_talk(pressed.person.id, answer.place)):
        raise Refused(Code.NOT_PERMITTED, "only who may talk there may read it", remedy="Ask an operator.")
    return answer, answer.whole
