"""The application: routes, layers around them, and what runs beside them."""

from __future__ import annotations

import importlib.util
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.routing import Route

from muisti import __version__
from muisti.engine import Muisti
from muisti.surfaces.rest import docs
from muisti.surfaces.rest.body_limit import BodyLimitMiddleware
from muisti.surfaces.rest.config import ServerConfig
from muisti.surfaces.rest.events import Events
from muisti.surfaces.rest.metrics import MetricsRegistry, TimingMiddleware
from muisti.surfaces.rest.problems import Problem, add_handlers
from muisti.surfaces.rest.reindexing import Reindexing
from muisti.surfaces.rest.routes import (
    conversations,
    health,
    links,
    maintenance,
    memories,
    search,
    session_memories,
    sessions,
)
from muisti.surfaces.rest.security import (
    AccessMiddleware,
    RateLimitMiddleware,
    SecurityHeadersMiddleware,
)
from muisti.surfaces.rest.watcher import VaultWatcher

__all__ = ["ServerConfig", "create_app"]
ROUTERS = (session_memories, memories, links, search, sessions, conversations, maintenance, health)
WEB = "muisti.surfaces.web"
AGENTS = "muisti.surfaces.mcp.http"


def create_app(memory: Muisti, serving: ServerConfig | None = None) -> FastAPI:
    """The memory over HTTP. Whoever opened the memory closes it, after the application has ended."""
    serving = serving or ServerConfig()
    app = FastAPI(
        title="muisti",
        version=__version__,
        summary="Memory that you own.",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=_lifespan,
    )
    app.state.memory, app.state.serving = memory, serving
    app.state.events, app.state.measured, app.state.reindexing = (
        Events(serving.listeners),
        MetricsRegistry(),
        Reindexing(),
    )
    for module in ROUTERS:
        app.include_router(module.router)
    app.include_router(docs.router)
    if serving.pages:
        _add_pages(app, memory)
    app.state.agents = _add_agents(app, memory)
    app.openapi = lambda: _described(app)  # type: ignore[method-assign]
    add_handlers(
        app,
        {
            path: [method.upper() for method in item]
            for path, item in app.openapi()["paths"].items()
        },
    )
    _add_layers(app, serving)
    return app


def _add_layers(app: FastAPI, serving: ServerConfig) -> None:
    """The last one is the outermost."""
    app.add_middleware(BodyLimitMiddleware, serving=serving)
    app.add_middleware(RateLimitMiddleware, serving=serving)
    app.add_middleware(AccessMiddleware, serving=serving)
    app.add_middleware(TimingMiddleware, measured=app.state.measured)
    app.add_middleware(SecurityHeadersMiddleware)


def _add_pages(app: FastAPI, memory: Muisti) -> None:
    """The page in the browser, where it is installed."""
    if importlib.util.find_spec(WEB) is not None:
        app.include_router(
            importlib.import_module(WEB).create_router(
                memory, get_revision=lambda: app.state.events.told
            )
        )


def _add_agents(app: FastAPI, memory: Muisti) -> Any:
    """`/mcp` for agents, where the SDK is installed; what has to be closed in the end, or None."""
    if importlib.util.find_spec("mcp") is None:
        return None
    agents = importlib.import_module(AGENTS)
    serving = agents.OverHttp(memory)
    app.router.routes.append(Route(agents.PATH, serving, include_in_schema=False))
    return serving


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    live = (
        VaultWatcher(app.state.memory, app.state.events, app.state.serving)
        if app.state.serving.live
        else None
    )
    if live is not None:
        live.start()
    try:
        yield
    finally:
        app.state.events.close()
        if app.state.agents is not None:
            await app.state.agents.close()
        if live is not None:
            live.stop()


def _described(app: FastAPI) -> dict[str, Any]:
    """OpenAPI, with the form of our problems instead of FastAPI's."""
    if app.openapi_schema is None:
        told = get_openapi(
            title=app.title, version=app.version, summary=app.summary, routes=app.routes
        )
        schemas = told["components"]["schemas"]
        for name in ("HTTPValidationError", "ValidationError"):
            schemas.pop(name, None)
        problem = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
        schemas.update(problem.pop("$defs"))
        schemas["Problem"] = problem
        told["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        if app.state.serving.token is not None:
            told["security"] = [{"token": []}]
        app.openapi_schema = told
    return app.openapi_schema
