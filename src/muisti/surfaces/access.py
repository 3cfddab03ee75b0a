"""Which tenant a request is for, and what its token allows. Set for the time of one request.

A server of one vault sets nothing, and everything is allowed.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

from muisti.errors import ScopeDenied

if TYPE_CHECKING:
    from muisti.engine import Muisti
    from muisti.model.tenants import Access

SAFE_METHODS = ("GET", "HEAD", "OPTIONS", "TRACE")
READING_POSTS = ("/api/search", "/api/search/details", "/api/context", "/api/extract/preview")
"""POST requests that change nothing."""
PER_TOOL = ("/mcp",)
"""One address for all tools: each tool says what it needs."""
ADMIN = frozenset(
    {
        ("GET", "/metrics"),
        ("GET", "/api/verify"),
        ("POST", "/api/reindex"),
        ("POST", "/api/upkeep"),
        ("POST", "/api/sync"),
        ("POST", "/api/forget"),
        ("DELETE", "/api/trash"),
        ("POST", "/api/documents"),
        ("DELETE", "/api/documents"),
        ("POST", "/status/reindex"),
        ("POST", "/status/sync"),
    }
)
"""Requests that concern the whole vault: maintenance, and what cannot be undone."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The vault of a request's tenant, and what its token allows."""

    memory: Muisti
    access: Access
    is_admitted: Callable[[], bool] = lambda: True
    """Asks whether the token is still valid."""


CALLER: ContextVar[Caller | None] = ContextVar("caller", default=None)


def find_scope(method: str, path: str) -> str:
    """Return the scope that a request needs: read, write or admin."""
    if (method, path) in ADMIN:
        return "admin"
    reads = method in SAFE_METHODS or path in READING_POSTS or path in PER_TOOL
    return "read" if reads else "write"


def check_tool(*, reads: bool) -> None:
    """Raise ScopeDenied if the token of the request does not allow a tool."""
    caller = CALLER.get()
    needed = "read" if reads else "write"
    if caller is not None and not caller.access.allows(needed):
        raise ScopeDenied(needed, caller.access.scope)
