"""What all tests have in common.

Hypothesis searches the same cases each time, and far more of them with `--hypothesis-profile=deep`. Interrupts are
heard, also where a shell has started the tests in the background and ignores them: what a test starts inherits that.
"""

import gc
import importlib.util
import os
import signal
import sys
from collections.abc import Generator

import pytest
from hypothesis import settings

settings.register_profile("steady", derandomize=True, deadline=None, database=None)
settings.register_profile("deep", max_examples=2_000, stateful_step_count=80, deadline=None, database=None)
settings.load_profile("steady")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

if importlib.util.find_spec("sniffio") is None:
    # The HTTP client looks for it at each request, in every folder of the path and in vain.
    sys.modules["sniffio"] = None  # type: ignore[assignment]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Thousands of tests and all that they import live to the end: the collector need not look at them again and again,
    least of all while they come."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


def pytest_xdist_auto_num_workers() -> int:
    """One more than there are processors: tests of processes and of connections wait for a good part of their time."""
    return (os.cpu_count() or 1) + 1
