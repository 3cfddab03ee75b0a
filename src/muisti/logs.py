"""The log, imported when something is logged: most searches and hooks log nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from logging import Logger, LogRecord

filters: list[Callable[[LogRecord], bool]] = []
"""Filters that the log gets when it is first used."""


def get_log() -> Logger:
    """Return the logger `muisti`."""
    import logging  # slow to import

    log = logging.getLogger("muisti")
    for one in filters:
        log.addFilter(one)  # only once
    return log
