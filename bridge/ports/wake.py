"""Wake-ups: hints that something has changed in the store. A lost one costs time, never a message."""

from typing import Protocol

from bridge.ids import MessageId, SessionId


class Wake(Protocol):
    """Called after a commit, never before it. None of them waits."""

    def lane(self, session: SessionId) -> None:
        """The session may have work."""
        ...

    def mail(self, session: SessionId) -> None:
        """The session's inbox has changed."""
        ...

    def closed(self, request: MessageId) -> None:
        """The request has been closed."""
        ...

    def retired(self, session: SessionId) -> None:
        """The session was a child, and is closed: what it runs is to be ended."""
        ...

    def revoked(self, digest: str) -> None:
        """The capability token of that digest holds no more: what is open by it is to be ended."""
        ...

    def sessions(self) -> None:
        """A session has changed, or begun or ended a turn."""
        ...

    def outbox(self) -> None:
        """There are posts to deliver."""
        ...

    def at(self, time: float) -> None:
        """Something falls due at `time`, in seconds since 1970."""
        ...
