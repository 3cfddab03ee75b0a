"""Tenants of a database: each is a vault, with limits and tokens of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

SCOPES = ("read", "write", "admin")
"""What a token allows; each includes those before it."""
FIRST_TENANT = 1
"""The number of the tenant `default`, which an address without a tenant leads to."""
TOKEN_PREFIX = "muisti_"
"""Begins every token, so that scanners for secrets know one."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a tenant may use. None: as much as it likes."""

    memories: int | None = None
    bytes: int | None = None
    requests: int | None = None
    """Requests a minute, by all tokens of the tenant together."""


@dataclass(frozen=True, slots=True)
class Tenant:
    """A tenant, with what it stores."""

    number: int
    name: str
    created_at: datetime
    memories: int
    """Without trash and archive."""
    bytes: int
    limits: Limits
    tokens: int
    """Tokens that are valid now."""


@dataclass(frozen=True, slots=True)
class Token:
    """A token of a tenant. The database stores only a hash of the secret."""

    id: str
    tenant: str
    label: str
    scope: str
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None


@dataclass(frozen=True, slots=True)
class NewToken:
    """A token with its secret, which is shown only now."""

    token: Token
    secret: str


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """What an administrator did."""

    at: datetime
    role: str
    """The role of the database that did it."""
    act: str
    tenant: str
    details: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Access:
    """What the holder of a token may do."""

    tenant: int
    name: str
    token: str
    """The ID of the token."""
    scope: str

    def allows(self, scope: str) -> bool:
        """Return whether the token's scope includes this one."""
        return SCOPES.index(scope) <= SCOPES.index(self.scope)
