"""The runtime for agents that speak the Agent Client Protocol over stdio: one process a session."""

from adapters.acp.descent import descent_of, of_an_agent
from adapters.acp.orders import Orders
from adapters.acp.runtime import AcpRuntime
from adapters.acp.spec import AgentSpec, Times, passed

__all__ = ["AcpRuntime", "AgentSpec", "Orders", "Times", "descent_of", "of_an_agent", "passed"]
