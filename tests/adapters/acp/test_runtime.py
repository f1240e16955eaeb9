"""What the runtime costs before an agent is needed, and when many are."""

import asyncio
import subprocess
import sys

from adapters.process import survivors
from tests.adapters.acp.bench import ROOT, Bench


def test_the_protocol_library_is_not_loaded_before_an_agent_starts() -> None:
    code = "import sys, adapters.acp; sys.exit('acp' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


async def test_many_sessions_have_a_process_each(bench: Bench) -> None:
    runtime = bench.runtime()
    agents = await asyncio.gather(*(bench.start(runtime) for _ in range(8)))
    assert len({agent.process.pid for agent in agents}) == 8
    assert len({agent.alias for agent in agents}) == 8
    finals = await asyncio.gather(*(bench.say(agent, f"to {agent.alias}") for agent in agents))
    assert [result.final for result in finals] == [f"echo: to {agent.alias}" for agent in agents]
    await asyncio.gather(*(agent.close() for agent in agents))
    assert not any(survivors(agent.process) for agent in agents)
