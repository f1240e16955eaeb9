"""Managed workers: an agent runs in a process that outlives its bridge and can be adopted by the next one (DESIGN §8).

The bridge (`runtime`, `remote`) has a nursery fork one worker a session (`nursery`, `cradle`). The worker (`host`)
runs the agent, keeps a journal of what a turn does (`journal`), and tells it to whoever owns it.
"""
