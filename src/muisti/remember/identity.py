"""Ids that sort by time: UUID version 7 (RFC 9562)."""

from __future__ import annotations

import os
import threading
import uuid
from datetime import datetime


class _Moments:
    """48 bits of milliseconds and 12 bits within the millisecond, never the same twice."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = 0

    def next(self, now: datetime) -> int:
        micros = int(now.timestamp() * 1_000_000)
        with self._lock:
            self._last = max(((micros // 1000) << 12) | ((micros % 1000) << 2), self._last + 1)
            return self._last


_moments = _Moments()


def derive_id(id_: str, number: int) -> str:
    """An id of the same moment, always the same for the same number: what is made of one thing twice is made once."""
    parent = uuid.UUID(id_)
    random = uuid.uuid5(parent, str(number)).int & ((1 << 62) - 1)
    return str(uuid.UUID(int=parent.int >> 64 << 64 | 0b10 << 62 | random))


def make_id(now: datetime) -> str:
    """A new id. Ids of one process ascend even within a millisecond and when the clock steps back."""
    random = int.from_bytes(os.urandom(8), "big")
    moment = _moments.next(now)
    value = (
        (moment >> 12) << 80
        | 0x7 << 76
        | (moment & 0xFFF) << 64
        | 0b10 << 62
        | (random & ((1 << 62) - 1))
    )
    return str(uuid.UUID(int=value))
