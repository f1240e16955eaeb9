"""One rule of the operator's policy."""

from dataclasses import dataclass

from bridge.decision import Effect, Verb
from policy.selectors import Selector


@dataclass(frozen=True, slots=True)
class Rule:
    """Holds for every pair of a session that one of `senders` matches and one that one of `recipients` does.

    `name` is what people find in their file, e.g. `policy.rules[3] (tieline.toml:58)`; `line` is None for a
    rule that comes from no file.
    """

    senders: tuple[Selector, ...]
    recipients: tuple[Selector, ...]
    verbs: frozenset[Verb]
    effect: Effect
    name: str
    line: int | None = None
