"""Who takes what people write to the bot: this home's bridge, nobody yet, or somebody else."""

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import suppress
from typing import Any

from adapters.cli.plain import one_line
from adapters.sqlite.lock import holder_of
from adapters.telegram.asking import Asking, Unanswered, Why
from adapters.telegram.config import TelegramConfig
from adapters.telegram.sole import lock_file
from adapters.upkeep.finding import Finding, fail, ok, warn
from bridge.phrases import counted

_CHECK = "telegram"
_POLL_S = 3
_OWN = "give this home a bot of its own"


async def updates(
    asking: Asking, config: TelegramConfig, environ: Mapping[str, str], *, webhook: str | None, runs: bool
) -> AsyncIterator[Finding]:
    """`webhook` is the URL that is configured. Takes no update, and disturbs no bridge of this user. Raises
    `Unanswered`."""
    info = await asking.ask("getWebhookInfo")
    url, waiting = str(info.get("url") or ""), int(info.get("pending_update_count") or 0)
    if webhook is not None or url:
        for finding in _pushed(url, webhook, info, runs=runs):
            yield finding
        return
    if runs:
        return  # it polls, and its status says how that goes
    with suppress(OSError):
        if (holder := holder_of(lock_file(config, environ))) is not None:
            where = f" for {holder.note}" if holder.note else ""
            yield fail(_CHECK, f"{holder} polls this bot{where}", f"Stop it, or {_OWN}.")
            return
    try:
        # Without an offset nothing is acknowledged.
        await asking.poll(timeout=0 if waiting else _POLL_S, limit=1)
    except Unanswered as error:
        if error.why is not Why.CONFLICT:
            raise
        yield fail(_CHECK, error.reason, f"Stop it (another machine, an older bridge), or {_OWN}.")
        return
    if waiting:
        yield ok(_CHECK, f"{counted(waiting, 'update')} wait for the bridge to start")


def _pushed(url: str, webhook: str | None, info: Mapping[str, Any], *, runs: bool) -> Iterator[Finding]:
    if webhook is None:
        remedy = f"Where that is another program, {_OWN}; else `tieline init` takes it away."
        yield fail(_CHECK, f"a webhook is set: what people write goes to {_host(url)}", remedy)
    elif url and url != webhook:
        yield fail(
            _CHECK, f"what people write goes to {_host(url)}, another webhook", f"Restart the bridge, or {_OWN}."
        )
    elif not url and runs:
        yield fail(_CHECK, "the webhook is not set", "Restart the bridge: it sets it as it starts, or logs why not.")
    elif not url:
        yield ok(_CHECK, "the webhook is set once the bridge starts")
    elif error := info.get("last_error_message"):
        remedy = "Look at what stands between: the name, the certificate, and the proxy that leads to webhook.listen."
        yield warn(_CHECK, f"Telegram could not push to {_host(url)}: {one_line(str(error))}", remedy)
    else:
        yield ok(_CHECK, f"Telegram pushes to {_host(url)}")


def _host(url: str) -> str:
    """What is behind it may be secret."""
    return one_line("/".join(url.split("/")[:3]))
