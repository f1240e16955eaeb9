"""Hermes' gateway as this plugin sees it: attributes that are private, and so are probed before any is used."""

import asyncio
import dataclasses
import sys
from collections.abc import Callable, Iterator
from importlib import metadata
from typing import Any

VERSIONS = ("0.19.",)
"""What it was tried with."""

_RUNNER = ("session_store", "_running_agents", "_queue_depth", "_adapter_for_source", "_draining", "_running")
_ADAPTER = ("_active_sessions", "_session_tasks", "_start_session_processing", "send")


class Unsuitable(Exception):
    """This Hermes is not as the plugin knows it; the text says in what."""


def version() -> str:
    return metadata.version("hermes-agent")


class Host:
    def __init__(self, runner: Any) -> None:
        missing = [name for name in _RUNNER if not hasattr(runner, name)]
        if missing:
            raise Unsuitable(f"the gateway's runner has no {', '.join(missing)}")
        self.runner = runner

    @staticmethod
    def is_here() -> bool:
        """Whether this process is a gateway at all, and no other command of Hermes'."""
        return "gateway.run" in sys.modules

    @classmethod
    def found(cls) -> "Host | None":
        """The gateway of this process, once it takes messages. Raises `Unsuitable`."""
        module = sys.modules.get("gateway.run")
        # While it is being loaded, what it has not yet is no sign of another version.
        if module is None or getattr(module.__spec__, "_initializing", False):
            return None
        if not hasattr(module, "_gateway_runner_ref"):
            raise Unsuitable("gateway.run has no _gateway_runner_ref")
        runner = module._gateway_runner_ref()
        if runner is None or not getattr(runner, "_running", False) or getattr(runner, "_gateway_loop", None) is None:
            return None
        return cls(runner)

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        loop: asyncio.AbstractEventLoop = self.runner._gateway_loop
        return loop

    @property
    def draining(self) -> bool:
        return bool(self.runner._draining)

    def entries(self) -> Iterator[Any]:
        for entry in self.runner.session_store.list_sessions():
            if entry.origin is not None:
                yield entry

    def entry(self, key: str) -> Any | None:
        return next((one for one in self.entries() if one.session_key == key), None)

    def key_of(self, source: Any) -> str:
        return str(self.runner._session_key_for_source(source))

    def adapter(self, entry: Any) -> Any | None:
        adapter = self.runner._adapter_for_source(entry.origin)
        if adapter is not None and (missing := [name for name in _ADAPTER if not hasattr(adapter, name)]):
            raise Unsuitable(f"the adapter of {entry.session_key} has no {', '.join(missing)}")
        return adapter

    def busy(self, key: str) -> bool:
        """Whether anything goes on in a session, or is about to. To be asked in the gateway's loop."""
        runner, entry = self.runner, self.entry(key)
        adapter = self.adapter(entry) if entry is not None else None
        if adapter is None or runner._draining or getattr(runner, "_startup_restore_in_progress", False):
            return True
        task = adapter._session_tasks.get(key)
        pending = runner._queue_depth(key, adapter=adapter) > 0
        prompts = any(key in (getattr(runner, name, None) or ()) for name in ("_pending_approvals", "_update_prompts"))
        at_work = key in adapter._active_sessions or key in runner._running_agents
        return at_work or pending or prompts or (task is not None and not task.done())

    def wake(self, key: str, text: str, ended: Callable[[], None]) -> bool:
        """Begins a turn in an idle session by Hermes' own path. In the gateway's loop, without an await since `busy`
        was asked. `ended` is called once Hermes is done with it."""
        from gateway.platforms.base import MessageEvent

        entry = self.entry(key)
        adapter = self.adapter(entry) if entry is not None else None
        if entry is None or adapter is None:
            return False
        source = dataclasses.replace(entry.origin, user_name=None, message_id=None)
        prompt = None
        resolve = getattr(adapter, "_resolve_channel_prompt", None)
        if callable(resolve):
            try:
                prompt = resolve(str(source.thread_id or source.chat_id), str(source.chat_id))
            except Exception:
                prompt = None
        event = MessageEvent(text=text, source=source, internal=True, channel_prompt=prompt)
        if not adapter._start_session_processing(event, key):
            return False
        adapter._session_tasks[key].add_done_callback(lambda _: ended())
        return True

    def interrupt(self, key: str) -> None:
        agent = self.runner._running_agents.get(key)
        if hasattr(agent, "interrupt"):
            agent.interrupt("Stop requested")

    async def show(self, key: str, text: str, receipt: str | None) -> str:
        """Shows a post in a session's chat, or edits it. Returns its receipt. Raises `OSError` where it may be tried
        again later, and `LookupError` where not."""
        entry = self.entry(key)
        adapter = self.adapter(entry) if entry is not None else None
        if entry is None or adapter is None:
            raise OSError("the chat is not connected")
        chat, thread = str(entry.origin.chat_id), entry.origin.thread_id
        if receipt is not None:
            # Of a chat that cannot edit, people see what was shown first.
            await adapter.edit_message(chat, receipt, text)
            return receipt
        done = await adapter.send(chat, text, metadata={"thread_id": thread} if thread else None)
        if not done.success:
            raise LookupError(str(done.error or "the chat refuses it"))
        return str(done.message_id or "shown")


def title_of(entry: Any) -> str:
    origin = entry.origin
    if origin.chat_topic:
        return str(origin.chat_topic)
    name = str(entry.display_name or origin.chat_name or origin.user_name or origin.chat_id)
    return f"{name} {origin.thread_id}" if origin.thread_id else name
