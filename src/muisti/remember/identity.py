"""IDs that sort by time: UUID version 7 (RFC 9562)."""

from __future__ import annotations

import os
import threading
import uuid
from datetime import datetime


class _Clock:
    """Timestamps of 60 bits that never repeat: milliseconds, and 12 bits within one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = 0

    def next(self, now: datetime) -> int:
        micros = int(now.timestamp() * 1_000_000)
        with self._lock:
            self._last = max(((micros // 1000) << 12) | ((micros % 1000) << 2), self._last + 1)
            return self._last


_clock = _Clock()
_IMPORTS = uuid.UUID("7f0e3c52-5b0f-4c3e-9a55-3d0c6d1f8a10")
"""The namespace of the IDs of imported items. A change would import everything again."""


def derive_id(id_: str, number: int) -> str:
    """Return an ID with the same time as `id_`; always the same for the same number."""
    parent = uuid.UUID(id_)
    random = uuid.uuid5(parent, str(number)).int & ((1 << 62) - 1)
    return str(uuid.UUID(int=parent.int >> 64 << 64 | 0b10 << 62 | random))


def make_import_id(key: str) -> str:
    """Return the ID of an imported item: a UUID of its key, the same for every import."""
    # A name in JSON may have half of a character, which has no bytes in UTF-8.
    return str(uuid.uuid5(_IMPORTS, key.encode("utf-8", "backslashreplace").decode()))


def make_id(now: datetime) -> str:
    """Return a new ID. IDs of one process ascend, even if the clock is set back."""
    random = int.from_bytes(os.urandom(8), "big")
    timestamp = _clock.next(now)
    value = (
        (timestamp >> 12) << 80
        | 0x7 << 76
        | (timestamp & 0xFFF) << 64
        | 0b10 << 62
        | (random & ((1 << 62) - 1))
    )
    return str(uuid.UUID(int=value))
