"""The bridge's core over a store, as the measures need it: without agents and chats."""

import os

from adapters.acp import AcpRuntime
from adapters.system import SystemClock, system_randomness
from bridge.flow.exchange import Exchange
from bridge.limits import Limits
from bridge.ports.store import Store
from policy.decide import Rules


def exchange_over(store: Store, policy: Rules) -> Exchange:
    clock = SystemClock()
    return Exchange(
        profile="default",
        version="bench",
        pid=os.getpid(),
        store=store,
        store_name="sqlite",
        policy=policy,
        runtime=AcpRuntime({}, tool_server=(), base={}, clock=clock),
        chats={},
        clock=clock,
        randomness=system_randomness(),
        limits=Limits(),
        tools={},
    )
