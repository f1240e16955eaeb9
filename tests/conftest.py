"""What all tests have in common.

Hypothesis searches the same cases each time, and far more of them with `--hypothesis-profile=deep`. Interrupts are
heard, also where a shell has started the tests in the background and ignores them: what a test starts inherits that.
"""

import gc
import os
import signal

from hypothesis import settings

settings.register_profile("steady", derandomize=True, deadline=None, database=None)
settings.register_profile("deep", max_examples=2_000, stateful_step_count=80, deadline=None, database=None)
settings.load_profile("steady")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


gc.disable()


def pytest_collection_finish() -> None:
    """Thousands of tests and all that they import live to the end: the collector need not look at them again and again,
    least of all while they come."""
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_xdist_auto_num_workers() -> int:
    """One more than there are processors: tests of processes and of connections wait for a good part of their time."""
    return (os.cpu_count() or 1) + 1
