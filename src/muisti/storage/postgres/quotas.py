"""How much a tenant stores, and may store. Triggers count it in the transaction that changes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from muisti.errors import QuotaExceeded, TenantNotFound

if TYPE_CHECKING:
    from muisti.storage.postgres.connect import Connection


class Quota(NamedTuple):
    """The limits of a tenant, None for no limit, and what it stores."""

    max_memories: int | None
    max_bytes: int | None
    memories: int
    """Without those in the trash and in the archive."""
    bytes: int
    """Of memories, their versions, conversations and core memory."""

    @property
    def is_limited(self) -> bool:
        """Whether there is a limit."""
        return self.max_memories is not None or self.max_bytes is not None

    def check(self, after: Quota) -> None:
        """Raise QuotaExceeded if a change from this state to another one is not allowed.

        A tenant that stores too much may still delete, which can add a few bytes at first.
        """
        if self.max_memories is not None and after.memories > max(self.max_memories, self.memories):
            raise QuotaExceeded("memories", self.max_memories, self.memories)
        is_larger = after.bytes > self.bytes and after.memories >= self.memories
        if self.max_bytes is not None and after.bytes > self.max_bytes and is_larger:
            raise QuotaExceeded("bytes", self.max_bytes, self.bytes)


QUOTA = """SELECT t.max_memories, t.max_bytes, coalesce(s.memories, 0), coalesce(s.bytes, 0)
FROM muisti.tenants t LEFT JOIN muisti.stored s USING (tenant) WHERE t.tenant = %s"""


def read_quota(db: Connection, tenant: int) -> Quota:
    """Return the limits of a tenant and what it stores. Raises TenantNotFound."""
    row = db.execute(QUOTA, (tenant,)).fetchone()
    if row is None:
        raise TenantNotFound()
    return Quota(*row)
