import pytest

from tests.adapters.api.memory_exchange import CAREER, DESK, MemoryExchange


@pytest.fixture
def exchange() -> MemoryExchange:
    return MemoryExchange(tokens={"desk-token": DESK, "career-token": CAREER})
