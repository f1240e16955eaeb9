"""The runtime for agents that speak the Agent Client Protocol over stdio: one process a session."""

from adapters.acp.descent import descent_of, started_by_an_agent
from adapters.acp.orphans import adopt, reaping
from adapters.acp.runtime import AcpRuntime, preload
from adapters.acp.spec import AgentSpec, Times

__all__ = ["AcpRuntime", "AgentSpec", "Times", "adopt", "descent_of", "preload", "reaping", "started_by_an_agent"]
