"""Writes vectors, as part of one transaction of the index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from muisti.storage.sqlite.vector_spaces import (
    delete_vectors,
    find_space,
    promote_complete_space,
    to_json,
)
from muisti.storage.vector_codes import LAST_CENTRE, is_centre_due

if TYPE_CHECKING:
    from muisti.ports import Embedded, Identity


def clear_signs(db: apsw.Connection, space: int, v: int) -> None:
    """Overwrite the signs of a vector inside a block with zeros."""
    sql = """SELECT first_v, numbers, bits FROM sign_blocks
             WHERE space = ?1 AND first_v <= ?2 AND last_v >= ?2"""
    row = db.execute(sql, (space, v)).fetchone()
    if row is None:
        return
    first = row[0]
    numbers = np.frombuffer(row[1], np.int64).copy()
    bits = np.frombuffer(row[2], np.uint64).copy()
    columns = bits.reshape(-1, len(numbers))
    at = np.flatnonzero(numbers == v)
    numbers[at], columns[:, at] = 0, 0
    db.execute(
        "UPDATE sign_blocks SET numbers = ?, bits = ? WHERE space = ? AND first_v = ?",
        (numbers.tobytes(), bits.tobytes(), space, first),
    )


_INSERT = """
INSERT INTO vectors (space, n, first, last, heading, scale, codes, rest)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
"""

_LAST_VECTOR = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'vectors'"
_SOURCES = """
SELECT m.id, m.n, m.source_hash FROM json_each(?) j CROSS JOIN entries m ON m.id = j.value
"""
_STORED = """
SELECT (SELECT count(*) FROM vectors WHERE space = ?1 AND n = ?2),
       EXISTS (SELECT 1 FROM unembedded WHERE space = ?1 AND n = ?2)
"""


def store_vectors(db: apsw.Connection, arriving: Sequence[Embedded]) -> None:
    """Store the vectors of texts that have not changed since; drop the others."""
    whole: dict[tuple[Identity, str], Embedded] = {}
    parts: list[Embedded] = []
    for embedded in arriving:
        if embedded.first or not embedded.complete:
            parts.append(embedded)
        else:
            whole[embedded.identity, embedded.memory_id] = embedded
    by_identity: dict[Identity, list[Embedded]] = {}
    for embedded in whole.values():
        by_identity.setdefault(embedded.identity, []).append(embedded)
    for together in (*by_identity.values(), *([part] for part in parts)):
        space = find_space(db, together[0].identity)
        if space is not None and _store_in_space(db, space, together):
            _recentre(db, space)
            _seal(db, space)
            promote_complete_space(db)


def _store_in_space(db: apsw.Connection, space: int, arriving: Sequence[Embedded]) -> bool:
    """Return whether any text had not changed since."""
    known = fetch(db, _SOURCES, (to_json([embedded.memory_id for embedded in arriving]),))
    sources = {id_: (n, source) for id_, n, source in known}
    stored: list[tuple[int, Embedded]] = []
    for embedded in arriving:
        n, source = sources.get(embedded.memory_id, (0, None))
        if source != embedded.source:
            continue
        if embedded.first or not embedded.complete:
            [(count, is_missing)] = fetch(db, _STORED, (space, n))
            if not is_missing or (embedded.first and count != embedded.first):
                continue  # another process has stored all, more or other parts
        stored.append((n, embedded))
    delete_vectors(db, [n for n, embedded in stored if not embedded.first], space)
    _insert_vectors(db, space, [one for one in stored if one[1].pieces])
    complete = [
        (space, n, embedded.first + len(embedded.pieces))
        for n, embedded in stored
        if embedded.complete
    ]
    missing = "DELETE FROM unembedded WHERE space = ? AND n = ?"
    db.executemany(missing, [row[:2] for row in complete])
    db.executemany("INSERT INTO embedded VALUES (?, ?, ?)", complete)
    partial = [(space, n) for n, embedded in stored if not embedded.complete]
    if partial:
        db.executemany("INSERT OR IGNORE INTO unembedded VALUES (?, ?)", partial)
    return bool(stored)


def _insert_vectors(
    db: apsw.Connection, space: int, stored: Sequence[tuple[int, Embedded]]
) -> None:
    """Insert the vectors of texts and their signs, all at once."""
    if not stored:
        return
    vectors = np.concatenate([embedded.vectors for _, embedded in stored])
    codes, scales = quantize(vectors)
    rests = compute_residuals(vectors, codes, scales)
    bits = compute_signs(vectors, _read_centre(db, space))
    [(last,)] = fetch(db, _LAST_VECTOR)
    places = [
        (n, piece.start, piece.end, piece.heading)
        for n, embedded in stored
        for piece in embedded.pieces
    ]
    rows = [
        (v, space, *place, float(scales[at]), codes[at].tobytes(), rests[at].tobytes())
        for at, (v, place) in enumerate(enumerate(places, start=last + 1))
    ]
    db.executemany("INSERT INTO vectors VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
    signs = [(last + 1 + at, space, row.tobytes()) for at, row in enumerate(bits)]
    db.executemany("INSERT INTO signs VALUES (?, ?, ?)", signs)


def _read_centre(db: apsw.Connection, space: int) -> Floats | None:
    row = db.execute("SELECT centre FROM spaces WHERE space = ?", (space,)).fetchone()
    return None if row is None or row[0] is None else np.frombuffer(row[0], np.float32)


def _seal(db: apsw.Connection, space: int) -> None:
    """Combine single signs into full blocks: there are far fewer rows to read at start-up."""
    enough = "SELECT count(*) FROM (SELECT 1 FROM signs WHERE space = ? LIMIT ?)"
    sql = "SELECT v, bits FROM signs WHERE space = ? ORDER BY v LIMIT ?"
    while fetch(db, enough, (space, BLOCK)) == [(BLOCK,)]:
        rows = fetch(db, sql, (space, BLOCK))
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
    """Recompute the centre, and all signs, once there are four times as many vectors."""
    row = db.execute(
        "SELECT centred_on, dimensions FROM spaces WHERE space = ?", (space,)
    ).fetchone()
    if row is None or row[0] >= LAST_CENTRE:
        return
    [(blocks,)] = fetch(db, "SELECT count(*) FROM sign_blocks WHERE space = ?", (space,))
    [(single,)] = fetch(db, "SELECT count(*) FROM signs WHERE space = ?", (space,))
    count = blocks * BLOCK + single
    if not is_centre_due(count, row[0]):
        return
    numbers, vectors = _read_vectors(db, space, row[1])
    centre = vectors.mean(axis=0).astype(np.float32)
    db.execute(
        "UPDATE spaces SET centre = ?, centred_on = ? WHERE space = ?",
        (centre.tobytes(), count, space),
    )
    _replace_signs(db, space, numbers, compute_signs(vectors, centre))


def _replace_signs(db: apsw.Connection, space: int, numbers: Sequence[int], bits: Bits) -> None:
    """Replace all signs of a space."""
    for table in ("sign_blocks", "signs"):
        db.execute(f"DELETE FROM {table} WHERE space = ?", (space,))
    rows = [(v, space, word.tobytes()) for v, word in zip(numbers, bits, strict=True)]
    db.executemany("INSERT INTO signs VALUES (?, ?, ?)", rows)


def _read_vectors(db: apsw.Connection, space: int, dimensions: int) -> tuple[list[int], Floats]:
    """Return the numbers and the vectors of a space."""
    sql = "SELECT v, scale, codes, rest FROM vectors WHERE space = ? ORDER BY v"
    rows = fetch(db, sql, (space,))
    scales = np.array([row[1] for row in rows], np.float32)
    codes = np.frombuffer(b"".join(row[2] for row in rows), np.int8).reshape(-1, dimensions)
    rest = np.frombuffer(b"".join(row[3] for row in rows), np.int8).reshape(-1, dimensions)
    return [row[0] for row in rows], dequantize(codes, rest, scales)


def copy_within(db: apsw.Connection, space: int, same: Mapping[str, str]) -> None:
    """Copy vectors between memories of the same text, to the first from the second of each pair."""
    sql = """SELECT m.n, o.n FROM entries m JOIN entries o
                 ON o.id = ?3 AND o.source_hash = m.source_hash AND o.content = m.content
             JOIN unembedded u ON u.n = m.n AND u.space = ?1
             JOIN embedded e ON e.n = o.n AND e.space = ?1 WHERE m.id = ?2"""
    centre = _read_centre(db, space)
    for id_, other in same.items():
        for n, known in fetch(db, sql, (space, id_, other)):
            delete_vectors(db, [n], space)  # of a long text, some may be stored
            read = "SELECT first, last, heading, scale, codes, rest FROM vectors"
            rows = fetch(db, f"{read} WHERE n = ? AND space = ? ORDER BY v", (known, space))
            for row in rows:
                db.execute(_INSERT, (space, n, *row))
                codes = np.frombuffer(row[4], np.int8).reshape(1, -1)
                rest = np.frombuffer(row[5], np.int8).reshape(1, -1)
                vector = dequantize(codes, rest, np.array([row[3]], np.float32))
                bits = compute_signs(vector, centre)[0].tobytes()
                db.execute(
                    "INSERT INTO signs VALUES (?, ?, ?)", (db.last_insert_rowid(), space, bits)
                )
            db.execute("INSERT INTO embedded VALUES (?, ?, ?)", (space, n, len(rows)))
    _recentre(db, space)
    _seal(db, space)
    promote_complete_space(db)


def copy_vectors(db: apsw.Connection, old: str) -> None:
    """Copy the vectors of unchanged texts from another index: embedding is slow."""
    db.execute("ATTACH ? AS old", (old,))
    try:
        if not fetch(db, "SELECT 1 FROM old.sqlite_master WHERE name = 'spaces'"):
            return
        with db:
            db.execute(_COPY)
            for space, dimensions in fetch(db, "SELECT space, dimensions FROM spaces"):
                numbers, vectors = _read_vectors(db, space, dimensions)
                if numbers:
                    signs = compute_signs(vectors, _read_centre(db, space))
                    _replace_signs(db, space, numbers, signs)
                    _seal(db, space)
    finally:
        db.execute("DETACH old")


# A text with missing or damaged vectors is not copied.
_COPY = """
INSERT INTO spaces SELECT * FROM old.spaces WHERE space NOT IN (SELECT space FROM spaces);
CREATE TEMP TABLE same AS SELECT e.space, o.n AS old_n, m.n AS new_n, e.pieces
FROM old.entries o JOIN main.entries m ON m.id = o.id AND m.source_hash = o.source_hash
JOIN old.embedded e ON e.n = o.n JOIN old.spaces s ON s.space = e.space
WHERE (SELECT count(*) = e.pieces AND e.pieces =
        total(length(v.codes) = s.dimensions AND length(v.rest) = s.dimensions)
       FROM old.vectors v WHERE v.n = o.n AND v.space = e.space);
INSERT INTO vectors SELECT v, o.space, new_n, first, last, heading, scale, codes, rest
FROM old.vectors o JOIN temp.same ON o.n = old_n AND o.space = same.space;
INSERT INTO embedded SELECT space, new_n, pieces FROM temp.same;
DELETE FROM unembedded;
INSERT INTO unembedded SELECT space, n FROM spaces, entries WHERE content <> '' AND NOT EXISTS
    (SELECT 1 FROM embedded e WHERE e.space = spaces.space AND e.n = entries.n);
DROP TABLE temp.same;
"""


def find_vector_problems(db: apsw.Connection) -> list[str]:
    """Return inconsistencies in the vector tables; empty if there are none."""
    found = []
    for problem, sql in _CHECKS.items():
        [(count,)] = fetch(db, sql)
        if count:
            found.append(f"{problem}: {count}")
    signed = {v for (v,) in fetch(db, "SELECT v FROM signs")}
    for (block,) in fetch(db, "SELECT numbers FROM sign_blocks"):
        numbers = np.frombuffer(block, np.int64)
        signed.update(numbers[numbers > 0].tolist())
    known = {v for (v,) in fetch(db, "SELECT v FROM vectors")}
    if signed != known:
        found.append(f"vectors without signs, or signs without vectors: {len(signed ^ known)}")
    return found


_CHECKS = {
    "vectors of missing memories": """SELECT count(*) FROM vectors
        WHERE n NOT IN (SELECT n FROM entries)""",
    "memories with a wrong number of vectors": """SELECT count(*) FROM embedded e WHERE pieces <>
        (SELECT count(*) FROM vectors v WHERE v.n = e.n AND v.space = e.space)""",
    "memories neither embedded nor waiting to be": """SELECT count(*) FROM spaces s, entries m
        WHERE m.content <> ''
        AND (SELECT count(*) FROM embedded e WHERE e.space = s.space AND e.n = m.n)
        + (SELECT count(*) FROM unembedded u WHERE u.space = s.space AND u.n = m.n) <> 1""",
    "vectors of the wrong length": """SELECT count(*) FROM vectors JOIN spaces USING (space)
        WHERE length(codes) <> dimensions OR length(rest) <> dimensions""",
}
