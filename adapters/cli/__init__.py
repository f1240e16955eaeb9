"""The shell commands: a light client of the control socket, on the standard library alone.

Nothing here imports asyncio, http.client or pathlib: their import would cost more than the command.
"""
