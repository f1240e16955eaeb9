"""The store in memory: for tests, the demo and simulations."""
