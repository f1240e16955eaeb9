"""The policy, as admission sees it. `policy/` implements it."""

from collections.abc import Collection, Sequence
from typing import Protocol

from bridge.decision import Decision, Party, Verb


class Policy(Protocol):
    """Pure: the same question under the same rules has the same answer."""

    def decide(self, sender: Party, recipient: Party, verb: Verb) -> Decision: ...

    def denied(self, sender: Party, recipient: Party, verb: Verb) -> Decision | None:
        """The explicit deny that matches, if one does: it holds for people too."""
        ...

    def visible(self, viewer: Party, others: Sequence[Party]) -> Collection[str]:
        """The ids of those to whom the viewer may do anything, or who may do anything to it. Never itself."""
        ...
