"""The endpoints by which operators pair gateways."""

from fastapi import APIRouter

from adapters.api.bodies import Body, Name
from adapters.api.request import CallerOf, ExchangeOf
from adapters.api.shown import ErrorShown, GatewayShown, GatewaysShown, PairedShown

router = APIRouter(prefix="/v1", responses={"4XX": {"model": ErrorShown}, "503": {"model": ErrorShown}})


class PairBody(Body):
    name: Name


@router.get("/gateways")
async def gateways(exchange: ExchangeOf, by: CallerOf) -> GatewaysShown:
    """The gateways that are paired, without their tokens."""
    return GatewaysShown(gateways=[GatewayShown.model_validate(one) for one in await exchange.gateways.every(by)])


@router.post("/gateways")
async def pair(exchange: ExchangeOf, by: CallerOf, body: PairBody) -> PairedShown:
    """Pairs one. Its token is told this once; `waits_for` names the place where an operator must accept it first."""
    return PairedShown.model_validate(await exchange.gateways.pair(by, body.name))


@router.post("/gateways/{name}/remove")
async def remove(exchange: ExchangeOf, by: CallerOf, name: str) -> GatewayShown:
    return GatewayShown.model_validate(await exchange.gateways.remove(by, name))
