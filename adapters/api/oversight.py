"""The endpoints for people: approvals, grants, the switch and the audit."""

from typing import Annotated

from fastapi import APIRouter, Query

from adapters.api.bodies import DecisionBody, GrantBody, VerbName
from adapters.api.request import CallerOf, ExchangeOf
from adapters.api.shown import (
    ApprovalsShown,
    AuditShown,
    DecidedShown,
    DecisionShown,
    ErrorShown,
    GrantShown,
    GrantsShown,
    HeldShown,
    RecordShown,
    RegimeShown,
)
from bridge.decision import Effect, Verb
from bridge.grant import Scope

router = APIRouter(prefix="/v1", responses={"4XX": {"model": ErrorShown}, "503": {"model": ErrorShown}})


@router.get("/approvals")
async def approvals(exchange: ExchangeOf, by: CallerOf) -> ApprovalsShown:
    """The messages that wait for a person's approval."""
    held = await exchange.oversight.approvals(by)
    return ApprovalsShown(approvals=[HeldShown.model_validate(one) for one in held])


@router.post("/approvals/{message_id:path}")
async def decide(exchange: ExchangeOf, by: CallerOf, message_id: str, body: DecisionBody) -> DecidedShown:
    """Approves or denies one. `waits_for` names the place where an operator must say it first."""
    if body.verdict == "deny":
        return DecidedShown.model_validate(await exchange.oversight.deny(by, message_id))
    return DecidedShown.model_validate(await exchange.oversight.approve(by, message_id, Scope(body.scope)))


@router.get("/grants")
async def grants(exchange: ExchangeOf, by: CallerOf) -> GrantsShown:
    """The grants that hold."""
    return GrantsShown(grants=[GrantShown.model_validate(one) for one in await exchange.oversight.grants(by)])


@router.post("/grants")
async def grant(exchange: ExchangeOf, by: CallerOf, body: GrantBody) -> GrantShown:
    given = await exchange.oversight.grant(
        by,
        body.sender,
        body.to,
        [Verb(verb) for verb in body.verbs],
        Scope(body.scope),
        effect=Effect(body.effect),
        conversation=body.conversation_id,
        life_s=body.life_s,
    )
    return GrantShown.model_validate(given)


@router.post("/grants/{ident:path}/revoke")
async def revoke(exchange: ExchangeOf, by: CallerOf, ident: str) -> GrantShown:
    return GrantShown.model_validate(await exchange.oversight.revoke(by, ident))


@router.get("/decision")
async def decision(
    exchange: ExchangeOf,
    by: CallerOf,
    sender: Annotated[str, Query(alias="from", max_length=300)],
    recipient: Annotated[str, Query(alias="to", max_length=300)],
    verb: VerbName,
) -> DecisionShown:
    """What the rules and grants that hold say of two sessions."""
    return DecisionShown.model_validate(await exchange.oversight.decision(by, sender, recipient, Verb(verb)))


@router.post("/pause")
async def pause(exchange: ExchangeOf, by: CallerOf) -> RegimeShown:
    """Stops all traffic between agents; what comes waits."""
    return RegimeShown.model_validate(await exchange.oversight.pause(by))


@router.post("/resume")
async def resume(exchange: ExchangeOf, by: CallerOf) -> RegimeShown:
    return RegimeShown.model_validate(await exchange.oversight.resume(by))


@router.get("/audit")
async def audit(
    exchange: ExchangeOf,
    by: CallerOf,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    before: Annotated[str | None, Query(max_length=100)] = None,
) -> AuditShown:
    """What was decided and done, the newest first, a page at a time."""
    page, following = await exchange.oversight.audit(by, before, limit)
    return AuditShown(records=[RecordShown.of(one) for one in page], next_before=following)
