"""The system's clock."""

from __future__ import annotations

from datetime import UTC, datetime


class SystemClock:
    """What the machine says."""

    def now(self) -> datetime:
        """The present moment in UTC."""
        return datetime.now(UTC)
