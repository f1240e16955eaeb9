"""The policy, as admission sees it. `policy/` implements it."""

from collections.abc import Collection, Sequence
from typing import Protocol

from bridge.decision import Circumstances, Decision, Party, Verb
from bridge.grant import Grant


class Policy(Protocol):
    """Pure: the same question under the same rules and grants has the same answer. It never changes."""

    def granted(self, grants: Sequence[Grant]) -> "Policy":
        """The same rules, and these grants beside them in place of any earlier ones."""
        ...

    def decide(self, sender: Party, recipient: Party, verb: Verb, context: Circumstances) -> Decision: ...

    def denied(self, sender: Party, recipient: Party, verb: Verb, context: Circumstances) -> Decision | None:
        """The explicit deny that matches, if one does: it holds for people too."""
        ...

    def visible(self, viewer: Party, others: Sequence[Party], now: float) -> Collection[str]:
        """The ids of those to whom the viewer may do anything, or who may do anything to it, in any conversation.
        Never itself."""
        ...
