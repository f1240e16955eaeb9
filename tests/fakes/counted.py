"""A store that tells what it was asked."""

from typing import Any, cast

from bridge.ports.store import Change, Store


class Counted:
    """Stands before a store. `asked` has the name of each method that was called, and of a change what it holds."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.asked: list[object] = []

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._store, name)

        async def counted(*arguments: Any, **named: Any) -> Any:
            first = arguments[0] if arguments else None
            self.asked.append((name, _content(first)) if isinstance(first, Change) else name)
            return await method(*arguments, **named)

        return counted


def counted(store: Store) -> tuple[Store, list[object]]:
    """The store, and what it is asked from now on."""
    one = Counted(store)
    return cast(Store, one), one.asked


def _content(change: Change) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(type(one).__name__ for one in part) for part in change)
