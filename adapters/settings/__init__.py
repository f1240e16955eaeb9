"""Settings: `tieline.toml`, then the environment, checked as a whole before anything starts.

`load.load` is the way in. Only the bridge's own process imports it, never the shell's commands.
"""
