"""The control API as an ASGI application."""

from fastapi import FastAPI

from adapters.api.exchange import Exchange
from adapters.api.guard import Guard
from adapters.api.oversight import router as oversight
from adapters.api.refusals import answer_with_refusals
from adapters.api.routes import router


def create_app(exchange: Exchange, version: str = "1") -> FastAPI:
    """Serves `/v1/…` and `/openapi.json`.

    The server puts the pid of who connected into `scope["state"]["pid"]`; without it a caller is a program.
    """
    app = FastAPI(title="Tieline control API", version=version, docs_url=None, redoc_url=None)
    app.state.exchange = exchange
    answer_with_refusals(app)
    app.add_middleware(Guard)
    app.include_router(router)
    app.include_router(oversight)
    return app
