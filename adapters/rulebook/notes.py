"""What is to be known of a decision beside rules and grants: what a session says for itself, who could be asked, and
whether the running bridge decides so by now."""

from collections.abc import Iterator
from typing import Any

from adapters.settings.model import Settings
from bridge.decision import Effect, Verb
from bridge.session import Busy, Habits
from policy.explain import Explanation


def notes(told: Explanation, settings: Settings, running: dict[str, Any] | None) -> Iterator[str]:
    """`running` is what the running bridge says of the same, if one was asked."""
    if running is not None and running["effect"] != told.decision.effect:
        yield f"not so by now: the running bridge says {running['effect']}: {running['reason']}"
    # A session without a place in the file may be bound to one at run time.
    attended = running["attended"] if running is not None else has_operators(settings)
    recipient = next((one for one in settings.sessions if one.id == told.recipient.id), None)
    if told.decision.effect is Effect.ASK and told.verb is not Verb.DISCOVER and not attended:
        yield "nobody attends at its places who could approve it, so it is refused"
    if recipient is not None and told.decision.effect is not Effect.DENY:
        yield from _own(recipient.habits, told.verb)


def has_operators(settings: Settings) -> bool:
    """Whether there is anybody at all who could be asked."""
    return settings.telegram is not None and bool(settings.telegram.operators)


def _own(habits: Habits, verb: Verb) -> Iterator[str]:
    if verb is Verb.DISCOVER and habits.hidden:
        yield "it is hidden: it is in no list that agents get, and takes what is sent to its name"
    if verb is not Verb.WAKE:
        return
    if not habits.accept_wake:
        yield "it has accept_wake = false, so it is refused"
    if habits.busy is Busy.REJECT:
        yield 'it has busy = "reject": refused while its agent is at work'
    if habits.quiet:
        yield f"quiet hours {', '.join(habits.quiet)} ({habits.timezone}): until they are over, it waits"
