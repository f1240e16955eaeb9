"""How long to wait before another attempt."""

from tenacity import RetryCallState, Retrying, wait_exponential
from tenacity.wait import wait_base

from bridge.ports.clock import Randomness


class FullJitter(wait_base):
    """Anything between nothing and a ceiling, which is `first_s` after the first attempt and doubles up to `cap_s`:
    so those who failed together do not try again together."""

    def __init__(self, randomness: Randomness, *, cap_s: float, first_s: float = 2) -> None:
        self._randomness = randomness
        self._ceiling = wait_exponential(multiplier=first_s, max=cap_s)

    def __call__(self, retry_state: RetryCallState) -> float:
        return self._ceiling(retry_state) * self._randomness.random()

    def after(self, attempts: int) -> float:
        """The seconds to wait after so many attempts, for a wait that is stored and outlives its process."""
        state = RetryCallState(_NOT_RUN, None, (), {})
        state.attempt_number = max(1, attempts)
        return self(state)


_NOT_RUN = Retrying()
