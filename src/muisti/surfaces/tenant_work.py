"""Background work for all tenants of a database: extraction, embedding and maintenance."""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, NamedTuple

from muisti.errors import MuistiError
from muisti.model.tenants import Access

if TYPE_CHECKING:
    from muisti.bootstrap_tenants import TenantVaults

log = logging.getLogger("muisti")
SHARE = 10.0
"""Seconds that are spent on one tenant before the next one has its turn."""


class Round(NamedTuple):
    """What one turn of all tenants did."""

    extracted: int = 0
    embedded: int = 0
    maintained: int = 0
    """How many tenants had maintenance."""


class _Share(threading.Event):
    """Is set when the work is to stop, or when the time of a tenant is over."""

    def __init__(self, stop: threading.Event, seconds: float) -> None:
        super().__init__()
        self._outer = stop
        self._until = time.monotonic() + seconds

    def is_set(self) -> bool:
        """Return whether to stop."""
        return self._outer.is_set() or time.monotonic() >= self._until


def work_for_tenants(
    vaults: TenantVaults, stop: threading.Event, *, every: float | None, share: float = SHARE
) -> Round:
    """Do what waits in the vaults of all tenants, each for a limited time, in turn.

    Every: seconds between two runs of maintenance, each in one process; None: no maintenance. Work
    is claimed, so any number of processes can do this. What fails for one tenant is logged, and
    tried again later. Raises StoreUnavailable.
    """
    done = Round()
    for number in vaults.find_tenants(with_work=True, every=every):
        if stop.is_set():
            break
        try:
            memory = vaults.acquire(Access(number, "", "", "write"))
        except MuistiError as error:  # dropped meanwhile
            log.info("no work for tenant %d: %s", number, error)
            continue
        try:
            report = memory.work(_Share(stop, share))
            upkeep = None if every is None else memory.run_due_maintenance(every)
            done = Round(
                done.extracted + report.extracted,
                done.embedded + report.embedded,
                done.maintained + (upkeep is not None),
            )
        except (MuistiError, OSError) as error:
            log.warning("work for tenant %d is postponed: %s", number, error)
        finally:
            vaults.release(memory)
    return done
