"""How Hypothesis searches: the same cases each time, and far more of them with `--hypothesis-profile=deep`."""

from hypothesis import settings

settings.register_profile("steady", derandomize=True, deadline=None, database=None)
settings.register_profile("deep", max_examples=2_000, stateful_step_count=80, deadline=None, database=None)
settings.load_profile("steady")
