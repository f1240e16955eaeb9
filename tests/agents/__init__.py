"""Real agents, driven by a real bridge against providers on loopback: `make agents` installs and runs them."""
