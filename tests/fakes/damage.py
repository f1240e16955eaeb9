"""What a bad disk does to a file."""

from pathlib import Path


def damage(path: Path) -> None:
    """Overwrites a part in the middle."""
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 8_192] = b"\xff" * 8_192
    path.write_bytes(content)
