"""The demo: the real bridge on a temporary home, scripted agents, and a terminal as chat."""
