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
from muisti.surfaces.rest.events import EventBroadcaster
from muisti.surfaces.rest.metrics import MetricsRegistry, TimingMiddleware
from muisti.surfaces.rest.problems import Problem, add_handlers
from muisti.surfaces.rest.reindexing import ReindexJob
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
WEB_MODULE = "muisti.surfaces.web"
MCP_MODULE = "muisti.surfaces.mcp.http"


def create_app(memory: Muisti, config: ServerConfig | None = None) -> FastAPI:
    """The memory over HTTP. Whoever opened the memory closes it, after the application has ended."""
    config = config or ServerConfig()
    app = FastAPI(
        title="muisti",
        version=__version__,
        summary="Memory that you own.",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=_lifespan,
    )
    app.state.memory, app.state.config = memory, config
    app.state.events, app.state.metrics, app.state.reindexing = (
        EventBroadcaster(config.listeners),
        MetricsRegistry(),
        ReindexJob(),
    )
    for module in ROUTERS:
        app.include_router(module.router)
    app.include_router(docs.router)
    if config.web_page:
        _add_web_page(app, memory)
    app.state.mcp = _add_mcp(app, memory)
    app.openapi = lambda: _build_openapi(app)  # type: ignore[method-assign]
    add_handlers(
        app,
        {
            path: [method.upper() for method in item]
            for path, item in app.openapi()["paths"].items()
        },
    )
    _add_middleware(app, config)
    return app


def _add_middleware(app: FastAPI, config: ServerConfig) -> None:
    """The last one is the outermost."""
    app.add_middleware(BodyLimitMiddleware, config=config)
    app.add_middleware(RateLimitMiddleware, config=config)
    app.add_middleware(AccessMiddleware, config=config)
    app.add_middleware(TimingMiddleware, metrics=app.state.metrics)
    app.add_middleware(SecurityHeadersMiddleware)


def _add_web_page(app: FastAPI, memory: Muisti) -> None:
    """The page in the browser, where it is installed."""
    if importlib.util.find_spec(WEB_MODULE) is not None:
        app.include_router(
            importlib.import_module(WEB_MODULE).pages(
                memory, changes=lambda: app.state.events.published
            )
        )


def _add_mcp(app: FastAPI, memory: Muisti) -> Any:
    """`/mcp` for agents, where the SDK is installed; what has to be closed in the end, or None."""
    if importlib.util.find_spec("mcp") is None:
        return None
    agents = importlib.import_module(MCP_MODULE)
    endpoint = agents.McpEndpoint(memory)
    app.router.routes.append(Route(agents.PATH, endpoint, include_in_schema=False))
    return endpoint


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    live = (
        VaultWatcher(app.state.memory, app.state.events, app.state.config)
        if app.state.config.watch
        else None
    )
    if live is not None:
        live.start()
    try:
        yield
    finally:
        app.state.events.close()
        if app.state.mcp is not None:
            await app.state.mcp.close()
        if live is not None:
            live.stop()


def _build_openapi(app: FastAPI) -> dict[str, Any]:
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
        if app.state.config.token is not None:
            told["security"] = [{"token": []}]
        app.openapi_schema = told
    return app.openapi_schema
