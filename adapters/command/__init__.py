"""Agents without ACP: a command a turn, behind a small ACP agent over stdio: `python -P -m adapters.command TEMPLATE`.

It is started like every other agent, so that workers, cancels, failures and adoption are the same for all. It needs the
standard library only.
"""
