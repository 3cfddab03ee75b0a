"""What may move a result, and by how much. Pure."""

from __future__ import annotations

import math
from datetime import datetime

from muisti.ports import LexicalHit

BOUND = 0.15
"""Strength, importance and recency together move a score by at most this share: decay never hides an exact match."""
LOOSE = 0.3
"""What a memory loses that has only stand-ins (compounds, slips of the pen) of the words asked for."""
_HALF_LIFE_DAYS = 30.0


def prior(hit: LexicalHit, now: datetime) -> float:
    """Between 1 − BOUND and 1."""
    age = max(0.0, (now - hit.created_at).total_seconds()) / 86_400
    recency = math.pow(0.5, age / _HALF_LIFE_DAYS)
    return 1 - BOUND + BOUND * (hit.salience + hit.importance + recency) / 3


def closeness(hit: LexicalHit) -> float:
    """1 when every matched word is the word itself."""
    return 1 - LOOSE * len(hit.loose) / max(1, len(hit.matched))


def ranked(hits: list[LexicalHit], now: datetime) -> list[tuple[LexicalHit, float]]:
    """Hits with their final scores, best first; equal scores in the order of time, latest first."""
    scored = [(hit, hit.score * closeness(hit) * prior(hit, now)) for hit in hits]
    return sorted(scored, key=lambda pair: (-pair[1], -pair[0].created_at.timestamp(), pair[0].memory_id))
