"""Hooks of the agents in persons' terminals: what they tell the bridge, and how they are installed."""
