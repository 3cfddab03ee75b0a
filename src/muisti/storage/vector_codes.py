"""Vectors as bytes, and cosines of them. Pure, and the same for every store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from muisti.errors import IndexCorrupt
from muisti.ports.vectors import Embedded, Identity, Piece, Vector

Floats = NDArray[np.float32]
Bits = NDArray[np.uint64]
FIRST_CENTRE = 1024
"""With fewer vectors, all are compared exactly and no centre is needed."""
LAST_CENTRE = 65_536
"""With this many vectors the centre is stable and no longer updated."""


def is_centre_due(count: int, centred_on: int) -> bool:
    """Return whether the centre is computed again. Centred on: how many vectors it is the mean of.

    Subtracting the centre before the signs are read spreads vectors that all point in one
    direction.
    """
    return centred_on < LAST_CENTRE and count >= max(FIRST_CENTRE, 4 * centred_on)


def quantize(vectors: Floats) -> tuple[NDArray[np.int8], Floats]:
    """Return each component as a byte, and the scale of each vector.

    Four times smaller; cosines change by less than 0.005.
    """
    scale = np.abs(vectors).max(axis=1) / np.float32(127)
    scale[scale == 0] = 1
    return np.rint(vectors / scale[:, None]).astype(np.int8), scale.astype(np.float32)


FINE = np.float32(254)


def compute_residuals(vectors: Floats, codes: NDArray[np.int8], scale: Floats) -> NDArray[np.int8]:
    """Return the rounding error of each component as a byte, in 1/254 of a step.

    Needed to rank vectors that are almost equal.
    """
    steps = np.rint((vectors / scale[:, None] - codes) * FINE)
    rest: NDArray[np.int8] = steps.clip(-127, 127).astype(np.int8)
    return rest


def dequantize(codes: NDArray[np.int8], rest: NDArray[np.int8], scale: Floats) -> Floats:
    """Return the vectors that were quantized."""
    return (codes + rest.astype(np.float32) / FINE) * scale[:, None]


def compute_cosines(rows: Sequence[Sequence[Any]], query: Vector) -> list[float]:
    """Return cosines for rows of (any, scale, codes, rest). Raises IndexCorrupt."""
    if not rows:
        return []
    # Rounding can push the cosine of equal vectors above 1.
    found: list[float] = np.clip(decode_vectors(rows, len(query)) @ query, -1, 1).tolist()
    return found


def decode_vectors(rows: Sequence[Sequence[Any]], dimensions: int) -> Floats:
    """Return the vectors in rows of (any, scale, codes, rest, …). Raises IndexCorrupt."""
    if not rows:
        return np.zeros((0, dimensions), np.float32)
    codes, rest = (b"".join(row[at] for row in rows) for at in (2, 3))
    if len(codes) != len(rows) * dimensions or len(rest) != len(codes):
        raise IndexCorrupt(
            "the index has vectors of the wrong length; it is rebuilt from the files"
        )
    scale = np.array([row[1] for row in rows], np.float32)
    return dequantize(
        np.frombuffer(codes, np.int8).reshape(len(rows), -1),
        np.frombuffer(rest, np.int8).reshape(len(rows), -1),
        scale,
    )


def compute_mean(rows: Sequence[Sequence[Any]], dimensions: int) -> Vector:
    """Return the mean, scaled to length 1, for rows as above. Raises IndexCorrupt."""
    total: Vector = decode_vectors(rows, dimensions).sum(axis=0)
    length = float(np.linalg.norm(total)) or 1.0
    return total / np.float32(length)


def decode_embedded(
    identity: Identity, texts: Sequence[Sequence[Any]], rows: Sequence[Sequence[Any]]
) -> list[Embedded]:
    """Return texts with their vectors.

    Texts: rows of (number, ID, source hash). Rows: as above, with the text's number first, then
    start, end and heading of the piece. Raises IndexCorrupt.
    """
    by_text: dict[int, list[Sequence[Any]]] = {}
    for row in rows:
        by_text.setdefault(row[0], []).append(row)
    return [
        Embedded(
            id_,
            source,
            identity,
            tuple(Piece(row[4], row[5], row[6]) for row in by_text.get(n, ())),
            decode_vectors(by_text.get(n, ()), identity.dimensions),
        )
        for n, id_, source in texts
    ]


def count_words(dimensions: int) -> int:
    """Return how many 64-bit words hold the signs of a vector."""
    return (dimensions + 63) // 64


def compute_signs(vectors: Floats, centre: Floats | None) -> Bits:
    """Return a row of words for each vector.

    Subtracting the centre first spreads vectors that all point in one direction.
    """
    shifted = vectors if centre is None else vectors - centre
    packed = np.packbits(shifted > 0, axis=1)
    whole = np.zeros((len(vectors), count_words(vectors.shape[1]) * 8), np.uint8)
    whole[:, : packed.shape[1]] = packed
    return whole.view(np.uint64)
