"""The tools: what each is called, what it says of itself, and what it does."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import mcp_types

from adapters.mcp import arguments, results
from adapters.mcp.exchange import Exchange
from bridge.caller import Caller
from bridge.ids import profile_of
from bridge.message import Intent
from bridge.views import Send

A = TypeVar("A", bound=arguments.Arguments)


@dataclass(frozen=True, slots=True)
class Tool(Generic[A]):
    """`reads` tools change nothing outside the bridge, `ends` ones take something back, `waits` ones may take long."""

    name: str
    description: str
    arguments: type[A]
    result: type[results.Result]
    run: Callable[[Exchange, Caller, A], Awaitable[results.Result]]
    reads: bool = False
    ends: bool = False
    idempotent: bool = False
    waits: bool = False

    def described(self) -> mcp_types.Tool:
        return mcp_types.Tool(
            name=self.name,
            description=self.description,
            input_schema=_untitled(self.arguments.model_json_schema()),
            output_schema=_or_refused(_untitled(self.result.model_json_schema(mode="serialization"))),
            annotations=mcp_types.ToolAnnotations(
                read_only_hint=self.reads,
                destructive_hint=self.ends,
                idempotent_hint=self.idempotent,
                open_world_hint=False,
            ),
        )

    async def call(self, exchange: Exchange, caller: Caller, given: dict[str, Any]) -> results.Result:
        """Raises `ValidationError` for wrong arguments, and `Refused`."""
        return await self.run(exchange, caller, self.arguments.model_validate(given))


def _or_refused(schema: dict[str, Any]) -> dict[str, Any]:
    """A refusal is a result of every tool: some clients hold error results to the schema as well, and would tell their
    agent of nothing but the difference."""
    part = {"type": "string"}
    refusal = {
        "type": "object",
        "properties": {
            "code": part,
            "reason": part,
            "rule": {"anyOf": [part, {"type": "null"}]},
            "remedy": part,
        },
        "required": ["code", "reason", "rule", "remedy"],
    }
    required = schema.pop("required", [])
    beside = {"mail_waits": part, "error": refusal}
    return {
        **schema,
        "properties": {**schema["properties"], **beside},
        "anyOf": [{"required": required}, {"required": ["error"]}],
    }


def _untitled(schema: Any) -> Any:
    """Without the titles that pydantic adds: a model pays for every word of a schema."""
    if isinstance(schema, dict):
        return {key: _untitled(value) for key, value in schema.items() if key != "title" or not isinstance(value, str)}
    return [_untitled(one) for one in schema] if isinstance(schema, list) else schema


async def _sessions(exchange: Exchange, caller: Caller, given: arguments.Sessions) -> results.Result:
    page, following = await exchange.sessions(caller, given.active, given.limit, given.cursor)
    own = profile_of(caller.session)
    shown = [one for one in page if given.scope == "all" or profile_of(one.id) == own]
    return results.SessionsResult(
        sessions=[results.SessionResult.model_validate(one) for one in shown], next_cursor=following
    )


async def _send(exchange: Exchange, caller: Caller, given: arguments.Send) -> results.Result:
    send = Send(given.to, given.text, Intent(given.intent), given.wake, given.in_reply_to, given.key)
    return results.SentResult.model_validate(await exchange.send(caller, send))


async def _ask(exchange: Exchange, caller: Caller, given: arguments.Ask) -> results.Result:
    view = await exchange.ask(caller, Send(given.to, given.text, Intent.REQUEST, wake=True), given.timeout_s)
    return results.AnswerResult.of(view)


async def _receive(exchange: Exchange, caller: Caller, given: arguments.Receive) -> results.Result:
    received = await exchange.receive(caller, given.limit)
    return results.ReceivedResult(
        messages=[results.MailResult.of(mail) for mail in received.messages], remaining=received.remaining
    )


async def _ack(exchange: Exchange, caller: Caller, given: arguments.Ack) -> results.Result:
    return results.AckedResult(acked=await exchange.ack(caller, list(given.message_ids)))


async def _reply(exchange: Exchange, caller: Caller, given: arguments.Reply) -> results.Result:
    return results.SentResult.model_validate(await exchange.reply(caller, given.message_id, given.text, given.kind))


async def _spawn(exchange: Exchange, caller: Caller, given: arguments.Spawn) -> results.Result:
    return results.SpawnedResult.model_validate(await exchange.spawn(caller, given.agent, given.title, given.task))


async def _defer(exchange: Exchange, caller: Caller, given: arguments.OneMessage) -> results.Result:
    await exchange.defer(caller, given.message_id)
    return results.DeferredResult(message_id=given.message_id)


async def _cancel(exchange: Exchange, caller: Caller, given: arguments.OneMessage) -> results.Result:
    return results.AnswerResult.of(await exchange.cancel(caller, given.message_id))


TOOLS: dict[str, Tool[Any]] = {
    tool.name: tool
    for tool in (
        Tool(
            "peer_sessions",
            "List the other agents' sessions that you can reach.",
            arguments.Sessions,
            results.SessionsResult,
            _sessions,
            reads=True,
            idempotent=True,
        ),
        Tool(
            "peer_send",
            "Hand work or news to another session and go on. It is queued if the recipient is busy. "
            "The answer to a request arrives later, as mail.",
            arguments.Send,
            results.SentResult,
            _send,
        ),
        Tool(
            "peer_ask",
            "Ask another session and wait for the answer. If none comes in time, the question stays open and the "
            "answer arrives as mail: do not ask again.",
            arguments.Ask,
            results.AnswerResult,
            _ask,
            waits=True,
        ),
        Tool(
            "peer_receive",
            "Read the mail that other sessions have sent you.",
            arguments.Receive,
            results.ReceivedResult,
            _receive,
            reads=True,
        ),
        Tool(
            "peer_ack",
            "Say that you have dealt with messages, so that they are not shown again.",
            arguments.Ack,
            results.AckedResult,
            _ack,
            idempotent=True,
        ),
        Tool(
            "peer_reply",
            "Answer a request that another session sent you, or ask back with kind=question.",
            arguments.Reply,
            results.SentResult,
            _reply,
        ),
        Tool(
            "peer_defer",
            "Say that you will answer a request later, after this turn: it stays open.",
            arguments.OneMessage,
            results.DeferredResult,
            _defer,
            idempotent=True,
        ),
        Tool(
            "peer_cancel",
            "Withdraw a question of yours that has not been answered.",
            arguments.OneMessage,
            results.AnswerResult,
            _cancel,
            ends=True,
            idempotent=True,
        ),
        Tool(
            "peer_spawn",
            "Start a child agent on a task of its own, beside you. It ends with your turn, whether it has answered or "
            "not: read its answer (peer_receive) before you finish.",
            arguments.Spawn,
            results.SpawnedResult,
            _spawn,
        ),
    )
}
