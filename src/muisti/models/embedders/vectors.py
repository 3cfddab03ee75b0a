"""Validate vectors: as many as texts, of the right length, finite and not zero."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from muisti.errors import EmbedderMisbehaved

if TYPE_CHECKING:
    from muisti.ports import Matrix


ROUNDING = 1e-5
"""By this much the square of the length of a unit vector may differ from 1."""


def validate_vectors(rows: object, count: int, dimensions: int | None, source: str) -> Matrix:
    """Return the rows as float32 unit vectors. Any number of dimensions is valid if None.

    Raises EmbedderMisbehaved with the source of the vectors.
    """
    import numpy as np  # slow to import

    if isinstance(rows, Sequence) and not count and not rows:
        return np.zeros((0, dimensions or 0), dtype=np.float32)
    try:
        made = np.asarray(rows, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        wrong = "something other than a list of equally long vectors"
        raise EmbedderMisbehaved(f"{source} returned {wrong}") from error
    if made.ndim != 2 or made.shape[0] != count:
        returned = len(made) if made.ndim else "no"
        raise EmbedderMisbehaved(f"{source} returned {returned} vectors for {count} texts")
    found = made.shape[1]
    if found != dimensions and (dimensions is not None or not found):
        wanted = dimensions or "at least 1"
        wrong = f"vectors of {found} dimensions instead of {wanted}"
        raise EmbedderMisbehaved(f"{source} returned {wrong}; check the setting model")
    if not count:
        return made.astype(np.float32)
    if not np.isfinite(made).all():
        raise EmbedderMisbehaved(f"{source} returned a vector with a value that is not a number")
    # Scale first: squares must not overflow.
    largest = np.abs(made).max(axis=1, keepdims=True)
    made = made / np.maximum(largest, np.finfo(np.float64).tiny)
    lengths = np.linalg.norm(made, axis=1, keepdims=True)
    if not (lengths > 0).all():
        raise EmbedderMisbehaved(f"{source} returned a vector of zeros")
    unit: Matrix = (made / lengths).astype(np.float32)
    return unit


def is_unit_vector(row: object, dimensions: int) -> bool:
    """Return whether a row is a float32 vector of length 1, as `validate_vectors` returns them."""
    import numpy as np  # slow to import

    if not isinstance(row, np.ndarray) or row.dtype != np.float32 or row.shape != (dimensions,):
        return False
    return abs(float(row @ row) - 1) < ROUNDING  # not if a number is infinite or NaN
