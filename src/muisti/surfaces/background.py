"""What a server or a worker does from time to time for all processes of its vault."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from muisti.engine import Muisti
    from muisti.model import UpkeepReport

LOOK_AGAIN = 600.0
"""Seconds until maintenance is looked at again if another process has run it."""


class DueWork:
    """Continues what other processes left, and runs maintenance when it is due."""

    def __init__(
        self,
        memory: Muisti,
        *,
        resume: float,
        embed: bool,
        maintenance_after: float,
        maintenance_every: float,
    ) -> None:
        """Resume: seconds between two looks at what other processes left.

        Embed: whether that includes texts that are not embedded.
        """
        self._memory = memory
        self._embed = embed
        self._resume = resume
        self._every = maintenance_every
        self._next_resume = time.monotonic() + resume
        self._next_maintenance = time.monotonic() + maintenance_after

    def run(self, *, changed: bool = False) -> UpkeepReport | None:
        """Do what is due. Return the report of maintenance, or None if it did not run.

        Changed: another process has written, and may have left something to embed.
        """
        now = time.monotonic()
        if changed or now >= self._next_resume:
            self._next_resume = now + self._resume
            if self._memory.is_trusted:
                self._memory.resume_extraction()
            if self._embed:
                self._memory.resume_embedding()
        if now < self._next_maintenance:
            return None
        self._next_maintenance = now + min(self._every, LOOK_AGAIN)  # also if this fails
        report = self._memory.run_due_maintenance(self._every)
        if report is not None:
            self._next_maintenance = now + self._every
        return report
