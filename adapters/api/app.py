"""The control API as an ASGI application."""

from fastapi import FastAPI

from adapters.api.exchange import Exchange
from adapters.api.gateways import router as gateways
from adapters.api.guard import Guard
from adapters.api.oversight import router as oversight
from adapters.api.refusals import answer_with_refusals
from adapters.api.routes import router
from adapters.api.terminals import router as terminals
from adapters.api.who import DescentOf, of_none


def create_app(exchange: Exchange, descent_of: DescentOf = of_none, version: str = "1") -> FastAPI:
    """Serves `/v1/…` and `/openapi.json`.

    The server puts who connected into `scope["state"]["peer"]`; without it a caller is a program.
    """
    app = FastAPI(title="Tieline control API", version=version, docs_url=None, redoc_url=None)
    app.state.exchange = exchange
    app.state.descent_of = descent_of
    answer_with_refusals(app)
    app.add_middleware(Guard)
    app.include_router(router)
    app.include_router(oversight)
    app.include_router(gateways)
    app.include_router(terminals)
    return app
