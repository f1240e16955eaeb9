"""A command must feel instant: it may load nothing that costs more than itself."""

import subprocess
import sys

from tests.adapters.cli.shell import ROOT

HEAVY = {
    "asyncio",
    "dataclasses",
    "email",
    "fastapi",
    "http",
    "inspect",
    "mcp",
    "pathlib",
    "pydantic",
    "ssl",
    "uvicorn",
}


def test_the_commands_load_nothing_heavy() -> None:
    program = "import sys; before = set(sys.modules); import adapters.cli.main, adapters.cli.pipe, "
    program += "adapters.main, adapters.hooks.event, adapters.hooks.waiter; "
    program += "print(*set(sys.modules) - before)"
    loaded = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert HEAVY.isdisjoint(loaded.stdout.split())
