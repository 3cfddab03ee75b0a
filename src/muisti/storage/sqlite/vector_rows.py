"""Writing vectors, as part of one transaction of the index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import apsw
import numpy as np

from muisti.storage.sqlite.rows import fetch
from muisti.storage.sqlite.sign_bits import (
    BLOCK,
    Bits,
    Floats,
    compute_residuals,
    compute_signs,
    dequantize,
    quantize,
)
from muisti.storage.sqlite.vector_spaces import delete_vectors, find_space, promote_complete_space

if TYPE_CHECKING:
    from muisti.ports import Embedded

FIRST_CENTRE = 1024
"""With fewer vectors all of them are compared by their numbers, and no centre is needed."""
LAST_CENTRE = 65_536
"""By then it stands still."""


def clear_signs(db: apsw.Connection, space: int, v: int) -> None:
    """Overwrite the signs of a vector that stands in a full block."""
    row = db.execute(
        "SELECT first_v, numbers, bits FROM sign_blocks WHERE space = ?1 AND first_v <= ?2 AND last_v >= ?2",
        (space, v),
    ).fetchone()
    if row is None:
        return
    first, numbers, bits = (
        row[0],
        np.frombuffer(row[1], np.int64).copy(),
        np.frombuffer(row[2], np.uint64).copy(),
    )
    columns = bits.reshape(-1, len(numbers))
    at = np.flatnonzero(numbers == v)
    numbers[at], columns[:, at] = 0, 0
    db.execute(
        "UPDATE sign_blocks SET numbers = ?, bits = ? WHERE space = ? AND first_v = ?",
        (numbers.tobytes(), bits.tobytes(), space, first),
    )


def store_vectors(db: apsw.Connection, arriving: Sequence[Embedded]) -> None:
    """Keep the vectors of memories that still have the text they were made from."""
    touched = set()
    for embedded in arriving:
        space = find_space(db, embedded.identity)
        row = db.execute(
            "SELECT n, source_hash FROM entries WHERE id = ?", (embedded.memory_id,)
        ).fetchone()
        if space is None or row is None or row[1] != embedded.source:
            continue
        n = int(row[0])
        delete_vectors(db, [n], space)
        _insert(db, space, n, embedded)
        db.execute("INSERT INTO embedded VALUES (?, ?, ?)", (space, n, len(embedded.pieces)))
        touched.add(space)
    for space in touched:
        _recentre(db, space)
        _seal(db, space)
    if touched:
        promote_complete_space(db)


def _insert(db: apsw.Connection, space: int, n: int, embedded: Embedded) -> None:
    if not embedded.pieces:
        return
    codes, scales = quantize(embedded.vectors)
    rests = compute_residuals(embedded.vectors, codes, scales)
    bits = compute_signs(embedded.vectors, _centre(db, space))
    for piece, row, rest, scale, word in zip(
        embedded.pieces, codes, rests, scales, bits, strict=True
    ):
        db.execute(
            "INSERT INTO vectors (space, n, first, last, heading, scale, codes, rest) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                space,
                n,
                piece.start,
                piece.end,
                piece.heading,
                float(scale),
                row.tobytes(),
                rest.tobytes(),
            ),
        )
        db.execute(
            "INSERT INTO signs VALUES (?, ?, ?)", (db.last_insert_rowid(), space, word.tobytes())
        )


def _centre(db: apsw.Connection, space: int) -> Floats | None:
    row = db.execute("SELECT centre FROM spaces WHERE space = ?", (space,)).fetchone()
    return None if row is None or row[0] is None else np.frombuffer(row[0], np.float32)


def _seal(db: apsw.Connection, space: int) -> None:
    """Make full blocks of the signs that stand one by one: a thousand times fewer rows to read at the start."""
    while True:
        rows = fetch(
            db, "SELECT v, bits FROM signs WHERE space = ? ORDER BY v LIMIT ?", (space, BLOCK)
        )
        if len(rows) < BLOCK:
            return
        numbers = np.array([v for v, _ in rows], np.int64)
        columns = np.frombuffer(b"".join(bits for _, bits in rows), np.uint64).reshape(BLOCK, -1).T
        db.execute(
            "INSERT INTO sign_blocks VALUES (?, ?, ?, ?, ?)",
            (
                space,
                int(numbers[0]),
                int(numbers[-1]),
                numbers.tobytes(),
                np.ascontiguousarray(columns).tobytes(),
            ),
        )
        db.execute("DELETE FROM signs WHERE space = ? AND v <= ?", (space, int(numbers[-1])))


def _recentre(db: apsw.Connection, space: int) -> None:
    """Find the centre anew once there are four times as many vectors, and read all signs from there."""
    row = db.execute(
        "SELECT centred_on, dimensions FROM spaces WHERE space = ?", (space,)
    ).fetchone()
    if row is None or row[0] >= LAST_CENTRE:
        return
    (blocks,) = db.execute(
        "SELECT count(*) FROM sign_blocks WHERE space = ?", (space,)
    ).fetchone() or (0,)
    (single,) = db.execute("SELECT count(*) FROM signs WHERE space = ?", (space,)).fetchone() or (
        0,
    )
    count = blocks * BLOCK + single
    if count < max(FIRST_CENTRE, 4 * row[0]):
        return
    numbers, vectors = _read(db, space, row[1])
    centre = vectors.mean(axis=0).astype(np.float32)
    db.execute(
        "UPDATE spaces SET centre = ?, centred_on = ? WHERE space = ?",
        (centre.tobytes(), count, space),
    )
    _sign(db, space, numbers, compute_signs(vectors, centre))


def _sign(db: apsw.Connection, space: int, numbers: Sequence[int], bits: Bits) -> None:
    """Write all signs of a space anew."""
    for table in ("sign_blocks", "signs"):
        db.execute(f"DELETE FROM {table} WHERE space = ?", (space,))
    rows = [(v, space, word.tobytes()) for v, word in zip(numbers, bits, strict=True)]
    db.executemany("INSERT INTO signs VALUES (?, ?, ?)", rows)


def _read(db: apsw.Connection, space: int, dimensions: int) -> tuple[list[int], Floats]:
    rows = fetch(
        db, "SELECT v, scale, codes, rest FROM vectors WHERE space = ? ORDER BY v", (space,)
    )
    codes, rest = (
        np.frombuffer(b"".join(row[at] for row in rows), np.int8).reshape(-1, dimensions)
        for at in (2, 3)
    )
    return [row[0] for row in rows], dequantize(
        codes, rest, np.array([row[1] for row in rows], np.float32)
    )


def copy_vectors(db: apsw.Connection, old: str) -> None:
    """Take over from another index the vectors of memories whose text is the same: embedding is the slowest of all."""
    db.execute("ATTACH ? AS old", (old,))
    try:
        if not fetch(db, "SELECT 1 FROM old.sqlite_master WHERE name = 'spaces'"):
            return
        with db:
            db.execute(
                "INSERT INTO spaces SELECT * FROM old.spaces WHERE space NOT IN (SELECT space FROM spaces)"
            )
            db.execute(_SAME)
            db.execute(
                "INSERT INTO vectors SELECT v, o.space, new_n, first, last, heading, scale, codes, rest "
                "FROM old.vectors o JOIN temp.same ON o.n = old_n AND o.space = same.space"
            )
            db.execute("INSERT INTO embedded SELECT space, new_n, pieces FROM temp.same")
            db.execute("DELETE FROM unembedded")
            db.execute(
                "INSERT INTO unembedded SELECT space, n FROM spaces, memories "
                "WHERE NOT EXISTS (SELECT 1 FROM embedded e WHERE e.space = spaces.space AND e.n = memories.n)"
            )
            db.execute("DROP TABLE temp.same")
            _sign_again(db)
    finally:
        db.execute("DETACH old")


# Of a memory whose vectors are not all there and whole, none is taken over.
_SAME = """
CREATE TEMP TABLE same AS SELECT e.space, o.n AS old_n, m.n AS new_n, e.pieces
FROM old.entries o JOIN main.entries m ON m.id = o.id AND m.source_hash = o.source_hash
JOIN old.embedded e ON e.n = o.n JOIN old.spaces s ON s.space = e.space
WHERE (SELECT count(*) = e.pieces AND total(length(v.codes) = s.dimensions AND length(v.rest) = s.dimensions) = e.pieces
       FROM old.vectors v WHERE v.n = o.n AND v.space = e.space)
"""


def _sign_again(db: apsw.Connection) -> None:
    for space, dimensions in fetch(db, "SELECT space, dimensions FROM spaces"):
        numbers, vectors = _read(db, space, dimensions)
        if numbers:
            _sign(db, space, numbers, compute_signs(vectors, _centre(db, space)))
            _seal(db, space)


def find_vector_problems(db: apsw.Connection) -> list[str]:
    """What does not fit together among the vectors; empty when all does."""
    checks = {
        "vectors of memories that are gone": "SELECT count(*) FROM vectors WHERE n NOT IN (SELECT n FROM entries)",
        "memories with fewer or more vectors than noted": """SELECT count(*) FROM embedded e WHERE pieces <>
            (SELECT count(*) FROM vectors v WHERE v.n = e.n AND v.space = e.space)""",
        "memories that neither have vectors nor wait for them": """SELECT count(*) FROM spaces s, entries m
            WHERE m.content <> '' AND (SELECT count(*) FROM embedded e WHERE e.space = s.space AND e.n = m.n)
            + (SELECT count(*) FROM unembedded u WHERE u.space = s.space AND u.n = m.n) <> 1""",
        "vectors of another length": "SELECT count(*) FROM vectors JOIN spaces USING (space) "
        "WHERE length(codes) <> dimensions OR length(rest) <> dimensions",
    }
    found = []
    for what, sql in checks.items():
        (count,) = db.execute(sql).fetchone() or (0,)
        if count:
            found.append(f"{count} {what}")
    return found + _wrong_signs(db)


def _wrong_signs(db: apsw.Connection) -> list[str]:
    signed = {v for (v,) in fetch(db, "SELECT v FROM signs")}
    for (numbers,) in fetch(db, "SELECT numbers FROM sign_blocks"):
        signed.update(
            np.frombuffer(numbers, np.int64)[np.frombuffer(numbers, np.int64) > 0].tolist()
        )
    known = {v for (v,) in fetch(db, "SELECT v FROM vectors")}
    return (
        []
        if signed == known
        else [f"{len(signed ^ known)} vectors without signs, or signs without vectors"]
    )
