"""The FastAPI application: routes, middleware and background work."""

from __future__ import annotations

import importlib.util
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic.alias_generators import to_camel
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
    review,
    search,
    session_memories,
    sessions,
)
from muisti.surfaces.rest.security import (
    AccessMiddleware,
    RateLimitMiddleware,
    SecurityHeadersMiddleware,
)
from muisti.surfaces.rest.tenants import ServedVaults, TenantMiddleware
from muisti.surfaces.rest.watcher import VaultWatcher

if TYPE_CHECKING:
    from muisti.bootstrap_tenants import TenantVaults

__all__ = ["ServerConfig", "create_app"]
ROUTERS = (
    session_memories,
    memories,
    review,
    links,
    search,
    sessions,
    conversations,
    maintenance,
    health,
)
TAGS = {
    "Memories": "Save, read, update and delete memories.",
    "Search": "Search by meaning and keyword, in one call or in three small steps.",
    "Session memories": "The memories of one session, in the JSON of chat applications.",
    "Sessions": "Start and end sessions, and what they used.",
    "Conversations": "Messages of conversations, in order.",
    "Core memory": "Permanent facts about the user and standing instructions for the agent.",
    "Documents": "Markdown files that stay where they are and are searched too.",
    "Extraction": "Find memories in what was said.",
    "Links and history": "Which memory replaces or contradicts another, and what happened to it.",
    "Review": "What no person has confirmed yet.",
    "Maintenance": "Statistics, forgetting, import, export, and the index.",
    "Health": "Whether the server works.",
}
"""The groups of routes, in the order of the reference."""
WEB_MODULE = "muisti.surfaces.web"
MCP_MODULE = "muisti.surfaces.mcp.http"


def create_app(memory: Muisti | TenantVaults, config: ServerConfig | None = None) -> FastAPI:
    """Return the application that serves a vault, or those of all tenants of a database.

    The caller closes them afterwards.
    """
    config = config or ServerConfig()
    tenants = None if isinstance(memory, Muisti) else ServedVaults(memory, config)
    app = FastAPI(
        title="muisti",
        version=__version__,
        summary="Memory for AI agents, in files you own.",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        openapi_tags=[{"name": name, "description": text} for name, text in TAGS.items()],
        generate_unique_id_function=lambda route: to_camel(route.name),
        lifespan=_lifespan,
    )
    app.state.memory = memory
    app.state.tenants = tenants
    app.state.config = config
    app.state.events = EventBroadcaster(config.listeners)
    app.state.metrics = MetricsRegistry()
    app.state.reindexing = ReindexJob()
    app.state.mcp = None
    for module in ROUTERS:
        app.include_router(module.router)
    app.include_router(docs.router)
    if config.web_page and importlib.util.find_spec(WEB_MODULE) is not None:
        web = importlib.import_module(WEB_MODULE)
        if tenants is None:
            pages = web.create_router(memory, get_revision=lambda: app.state.events.published)
        else:
            pages = web.create_router(find_context=lambda: tenants.get().page)
        app.include_router(pages)
    if importlib.util.find_spec("mcp") is not None:
        mcp = importlib.import_module(MCP_MODULE)
        app.state.mcp = mcp.McpEndpoint(memory if tenants is None else None)
        app.router.routes.append(Route(mcp.PATH, app.state.mcp, include_in_schema=False))
    app.openapi = lambda: _build_openapi(app)  # type: ignore[method-assign]
    add_handlers(app, [route for module in ROUTERS for route in module.router.routes])

    # The last one added is the outermost.
    app.add_middleware(BodyLimitMiddleware, config=config)
    app.add_middleware(RateLimitMiddleware, config=config)
    if tenants is not None:
        app.add_middleware(TenantMiddleware, vaults=tenants.vaults, config=config)
    app.add_middleware(AccessMiddleware, config=config)
    app.add_middleware(TimingMiddleware, metrics=app.state.metrics)
    app.add_middleware(SecurityHeadersMiddleware)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Run the watcher while the application serves."""
    watcher: VaultWatcher | ServedVaults | None = None
    if app.state.tenants is not None:
        watcher = app.state.tenants
        watcher.start()
    elif app.state.config.watch:
        watcher = VaultWatcher(app.state.memory, app.state.events, app.state.config)
        watcher.start()
    try:
        yield
    finally:
        app.state.events.close()
        if app.state.mcp is not None:
            await app.state.mcp.close()
        if watcher is not None:
            watcher.stop()


def _build_openapi(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document, with our `Problem` instead of FastAPI's validation errors."""
    if app.openapi_schema is None:
        document = get_openapi(
            title=app.title,
            version=app.version,
            summary=app.summary,
            routes=app.routes,
            tags=app.openapi_tags,
        )
        schemas = document["components"]["schemas"]
        for name in ("HTTPValidationError", "ValidationError"):
            schemas.pop(name, None)
        problem = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
        schemas.update(problem.pop("$defs"))
        schemas["Problem"] = problem
        document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        if app.state.config.token is not None or app.state.tenants is not None:
            document["security"] = [{"token": []}]
        app.openapi_schema = document
    return app.openapi_schema
