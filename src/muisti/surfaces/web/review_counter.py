"""The number of items to review, which every page shows beside the link to them."""

from __future__ import annotations

import time

from muisti.engine import Muisti
from muisti.errors import MuistiError
from muisti.recall.filters import ALL

KEEP_SECONDS = 5.0
"""Counting reads every memory, so the number is kept for a while."""


class ReviewCounter:
    """Counts the items to review, at most every few seconds."""

    def __init__(self, memory: Muisti) -> None:
        self._memory = memory
        self._counted_at = -KEEP_SECONDS
        self._count = 0

    def count(self) -> int:
        """Return the number of items; 0 if the vault cannot be read, as error pages have it too."""
        now = time.monotonic()
        if now - self._counted_at >= KEEP_SECONDS:
            try:
                self._count = self._memory.count_review(project=ALL, user=ALL).total
            except MuistiError:
                self._count = 0
            self._counted_at = now
        return self._count

    def forget(self) -> None:
        """Count again when the number is needed: a page is about to change something."""
        self._counted_at = -KEEP_SECONDS
