"""The policy, as admission sees it. `policy/` implements it."""

from collections.abc import Collection, Sequence
from typing import Protocol

from bridge.decision import Circumstances, Decision, Party, Verb
from bridge.grant import Grant


class Policy(Protocol):
    """Pure: the same question under the same rules and grants has the same answer."""

    def decide(self, sender: Party, recipient: Party, verb: Verb, circumstances: Circumstances) -> Decision: ...

    def denied(self, sender: Party, recipient: Party, verb: Verb, circumstances: Circumstances) -> Decision | None:
        """The explicit deny that matches, if one does: it holds for people too."""
        ...

    def visible(self, viewer: Party, others: Sequence[Party], now: float) -> Collection[str]:
        """The ids of those to whom the viewer may do anything, or who may do anything to it. Never itself."""
        ...

    def granted(self, grants: Sequence[Grant]) -> "Policy":
        """The same rules with these grants, instead of those that it had."""
        ...
