"""What every answer of an embedder has to be: as many rows as texts, the right length, finite, and not zero."""

from __future__ import annotations

from collections.abc import Sequence

from muisti.errors import EmbedderMisbehaved
from muisti.ports import Matrix


def validate_vectors(rows: object, count: int, dimensions: int | None, who: str) -> Matrix:
    """The rows as float32 of length 1. Without `dimensions` any length will do. Raises EmbedderMisbehaved."""
    import numpy as np  # not loaded by those who never embed

    if isinstance(rows, Sequence) and not count and not rows:
        return np.zeros((0, dimensions or 0), dtype=np.float32)
    try:
        made = np.asarray(rows, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise EmbedderMisbehaved(
            f"{who} answered with something that is no list of equally long vectors"
        ) from error
    if made.ndim != 2 or made.shape[0] != count:
        raise EmbedderMisbehaved(
            f"{who} answered with {len(made) if made.ndim else 'no'} vectors for {count} texts"
        )
    if made.shape[1] != dimensions and (dimensions is not None or not made.shape[1]):
        raise EmbedderMisbehaved(
            f"{who} answered with vectors of {made.shape[1]} dimensions instead of {dimensions or 'at least 1'}; "
            "is it another model than the one that is set?"
        )
    if not count:
        return made.astype(np.float32)
    if not np.isfinite(made).all():
        raise EmbedderMisbehaved(
            f"{who} answered with a vector that has a value which is no number"
        )
    made = made / np.maximum(
        np.abs(made).max(axis=1, keepdims=True), np.finfo(np.float64).tiny
    )  # squares must not overflow
    lengths = np.linalg.norm(made, axis=1, keepdims=True)
    if not (lengths > 0).all():
        raise EmbedderMisbehaved(f"{who} answered with a vector of zeros")
    unit: Matrix = (made / lengths).astype(np.float32)
    return unit
