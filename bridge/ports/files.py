"""Files that people send: kept for as long as a message names them."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Stored:
    """`path` is absolute and of the bridge's own making; `size` is in bytes."""

    path: str
    size: int


class Files(Protocol):
    """Each file has a key, under which it is kept once. Raises `OSError` where it cannot be written."""

    async def found(self, key: str) -> Stored | None:
        """What is kept under that key, whole."""
        ...

    async def keep(self, key: str, name: str, data: bytes) -> Stored:
        """Durable once it returns. What is there already stays as it is. The path has of `name` what is harmless."""
        ...

    async def copy(self, key: str, name: str, source: str) -> Stored:
        """The same with the file at that path."""
        ...

    async def sweep(self, before: float, needed: Collection[str]) -> int:
        """Removes what was kept before that time and is not at a path that is `needed`. Returns how many that were."""
        ...
