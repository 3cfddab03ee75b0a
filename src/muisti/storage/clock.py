"""The system clock."""

from __future__ import annotations

from datetime import UTC, datetime


class SystemClock:
    """Implements the port Clock."""

    def now(self) -> datetime:
        """Return the current time in UTC."""
        return datetime.now(UTC)
