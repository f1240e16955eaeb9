"""Real agents are large and slow: their tests are collected for `make agents` alone."""

import os

if "REAL_AGENTS" not in os.environ:
    collect_ignore_glob = ["test_*.py"]
