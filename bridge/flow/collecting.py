"""What a session with `busy = "collect"` takes as the inputs of one turn (DESIGN §5)."""

from collections.abc import Sequence
from itertools import islice

from bridge.flow.work import Work
from bridge.message import Intent, Message, Origin

_MOST = 20
"""As many as one reading of the inbox gives, unless it asks for more."""


async def run_at_head(work: Work, ready: Sequence[Message]) -> list[Message]:
    """The messages at the head of a queue that one sender sent with the same origin and the same permission: what
    peers sent, or what one person said at one place. An answer or a closing is never joined, nor is what failed
    before: nobody knows which of several made a turn fail, and alone it spoils no other."""
    head = ready[0]
    run = [head]
    if not _joins(head, work.now):
        return run
    rule = await _rule(work, head)
    for message in islice(ready, 1, _MOST):
        if not _joins(message, work.now) or _from(message) != _from(head) or await _rule(work, message) != rule:
            break
        run.append(message)
    return run


def _joins(message: Message, now: float) -> bool:
    """A person's request is prompted as it was said, so that its answer can only be the final text."""
    if message.attempts or message.waits(now) or message.origin is Origin.SYSTEM:
        return False
    return message.intent is Intent.INPUT or (message.intent is not Intent.REPLY and not message.from_person)


def _from(message: Message) -> tuple[object, ...]:
    of_person = (message.place, message.person) if message.intent is Intent.INPUT else (None, None)
    return message.sender, message.origin, message.intent is Intent.INPUT, *of_person


async def _rule(work: Work, message: Message) -> str | None:
    """The rule that has admitted a message: several permissions are never joined."""
    verdicts = await work.store.verdicts(message.conversation)
    return next((one.rule for one in reversed(verdicts) if one.message == message.id), None)
