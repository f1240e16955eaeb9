"""The endpoints of the control API, as the shell uses them."""

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Query, Request

from adapters.api.bodies import (
    AckBody,
    AskBody,
    FollowBody,
    SendBody,
    SessionBody,
    SpawnBody,
    StopBody,
    TakeBody,
    TokenBody,
    TopicBody,
    Wait,
)
from adapters.api.request import CallerOf, ChannelOf, ExchangeOf, while_connected
from adapters.api.shown import (
    AckedShown,
    AnswerShown,
    EntrustedShown,
    ErrorShown,
    InboxShown,
    MadeShown,
    ReceiptShown,
    RenewedShown,
    ResumedShown,
    SessionShown,
    SessionsShown,
    StatusShown,
    StepShown,
    StoppedShown,
    TokenShown,
    TokensShown,
    TopicShown,
    TraceShown,
)
from adapters.api.who import caller

router = APIRouter(prefix="/v1", responses={"4XX": {"model": ErrorShown}, "503": {"model": ErrorShown}})


@router.get("/status")
async def status(exchange: ExchangeOf, channel: ChannelOf) -> StatusShown:
    """How the bridge is; it does not matter as which session a caller would speak."""
    by = await caller(exchange, replace(channel, name=None))
    return StatusShown.model_validate(await exchange.status(by))


@router.get("/sessions")
async def sessions(
    exchange: ExchangeOf,
    by: CallerOf,
    active: bool = False,
    every: Annotated[bool, Query(alias="all")] = False,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    cursor: Annotated[str | None, Query(max_length=300)] = None,
) -> SessionsShown:
    """The sessions that the caller may see, a page at a time. People get those labelled `oneshot`, `tool` or `cron`
    with `all` only."""
    page, following = await exchange.sessions(by, active, limit, cursor, every=every)
    return SessionsShown(sessions=[SessionShown.model_validate(one) for one in page], next_cursor=following)


@router.post("/sessions")
async def new_session(exchange: ExchangeOf, by: CallerOf, body: SessionBody) -> MadeShown:
    """Makes a session. `waits_for` names the place where an operator must accept it first."""
    made = await exchange.new_session(
        by, body.handle, body.agent, body.cwd, body.place, body.title, body.options.as_options(), body.key, body.topic
    )
    return MadeShown.model_validate(made)


@router.post("/sessions/{name:path}/stop")
async def stop(exchange: ExchangeOf, by: CallerOf, name: str, body: StopBody) -> StoppedShown:
    """Ends the running turn, and rests the session for its peers until it is resumed."""
    stopped, cancelled = await exchange.stop(by, name, body.everything)
    return StoppedShown(stopped=stopped, cancelled=cancelled)


@router.post("/sessions/{name:path}/resume")
async def resume(exchange: ExchangeOf, by: CallerOf, name: str) -> ResumedShown:
    """Lets a session that was stopped or is paused take work again. `waits_for` names the place where an operator must
    accept that first."""
    return ResumedShown.model_validate(await exchange.resume(by, name))


@router.post("/sessions/{name:path}/renew")
async def renew(exchange: ExchangeOf, by: CallerOf, name: str) -> RenewedShown:
    """Gives a session a fresh context, with the settings of now. `waits_for` names the place where an operator must
    accept that first."""
    return RenewedShown.model_validate(await exchange.renew(by, name))


@router.post("/sessions/{name:path}/topic")
async def make_topic(exchange: ExchangeOf, by: CallerOf, name: str, body: TopicBody) -> TopicShown:
    """Makes a topic for a session. `waits_for` names the place where an operator must accept it first."""
    return TopicShown.model_validate(await exchange.make_topic(by, name, body.chat))


@router.post("/sessions/{name:path}/tokens")
async def make_token(exchange: ExchangeOf, by: CallerOf, name: str, body: TokenBody) -> EntrustedShown:
    """Makes a capability token for a client of a person's own. It is told this once. `waits_for` names the place where
    an operator must accept it first."""
    return EntrustedShown.model_validate(await exchange.make_token(by, name, body.name))


@router.get("/sessions/{name:path}/tokens")
async def tokens(exchange: ExchangeOf, by: CallerOf, name: str) -> TokensShown:
    """The tokens of a session that hold, but not what they are."""
    return TokensShown(tokens=[TokenShown.model_validate(one) for one in await exchange.tokens_of(by, name)])


@router.post("/sessions/{name:path}/tokens/{token}/revoke")
async def revoke_token(exchange: ExchangeOf, by: CallerOf, name: str, token: str) -> TokenShown:
    """Ends a token, by its name, and whatever is open by it."""
    return TokenShown.model_validate(await exchange.revoke_token(by, name, token))


@router.post("/send")
async def send(exchange: ExchangeOf, channel: ChannelOf, body: SendBody) -> ReceiptShown:
    by = await caller(exchange, replace(channel, name=body.sender or channel.name))
    return ReceiptShown.model_validate(await exchange.send(by, body.as_send()))


@router.post("/children")
async def spawn(exchange: ExchangeOf, by: CallerOf, body: SpawnBody) -> ReceiptShown:
    """Starts a child of the agent that calls, in its running turn, on a task. `to` is the child."""
    return ReceiptShown.model_validate(await exchange.spawn(by, body.agent, body.title, body.task))


@router.post("/ask")
async def ask(exchange: ExchangeOf, channel: ChannelOf, body: AskBody, request: Request) -> AnswerShown:
    """Sends a request and waits for its answer. The wait ends with the connection; the question stays open."""
    by = await caller(exchange, replace(channel, name=body.sender or channel.name))
    return AnswerShown.model_validate(await while_connected(request, exchange.ask(by, body.as_send(), body.timeout_s)))


@router.get("/answers/{message_id:path}")
async def answer(
    exchange: ExchangeOf, by: CallerOf, message_id: str, request: Request, timeout_s: Annotated[Wait, Query()] = 0
) -> AnswerShown:
    """How a request of the caller stands; waits for its closing where a time is given."""
    return AnswerShown.model_validate(await while_connected(request, exchange.answer(by, message_id, timeout_s)))


@router.post("/answers/{message_id:path}/read")
async def read_answer(exchange: ExchangeOf, by: CallerOf, message_id: str) -> dict[str, str]:
    """Says that the answer has been shown, so that it is not delivered as mail too."""
    await exchange.read_answer(by, message_id)
    return {"message_id": message_id}


@router.post("/messages/{message_id:path}/cancel")
async def cancel(exchange: ExchangeOf, by: CallerOf, message_id: str) -> AnswerShown:
    return AnswerShown.model_validate(await exchange.cancel(by, message_id))


@router.get("/inbox")
async def inbox(
    exchange: ExchangeOf, by: CallerOf, session: Annotated[str | None, Query(max_length=300)] = None
) -> InboxShown:
    """A view of what is unsettled; it changes nothing."""
    return InboxShown.of(await exchange.inbox(by, session, take=False))


@router.post("/inbox/take")
async def take(exchange: ExchangeOf, by: CallerOf, body: TakeBody) -> InboxShown:
    """Leases what waits to be read; acknowledge it with /v1/ack."""
    return InboxShown.of(await exchange.inbox(by, body.session, take=True))


@router.post("/inbox/wait")
async def follow(exchange: ExchangeOf, by: CallerOf, body: FollowBody, request: Request) -> InboxShown:
    """Waits for mail whose id is not in `known`; an empty list when the time is over."""
    waiting = exchange.wait_inbox(by, body.session, set(body.known), body.timeout_s)
    return InboxShown.of(await while_connected(request, waiting))


@router.post("/ack")
async def ack(exchange: ExchangeOf, by: CallerOf, body: AckBody) -> AckedShown:
    return AckedShown(acked=await exchange.ack(by, body.message_ids))


@router.get("/traces/{ident:path}")
async def trace(exchange: ExchangeOf, by: CallerOf, ident: str) -> TraceShown:
    """What happened to a message or in a conversation, step by step."""
    return TraceShown(steps=[StepShown.of(step) for step in await exchange.trace(by, ident)])
