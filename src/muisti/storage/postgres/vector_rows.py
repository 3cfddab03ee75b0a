"""Writes vectors, as part of one transaction of the index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from muisti.storage.postgres.connect import Connection, fetch
from muisti.storage.postgres.vector_spaces import (
    delete_rows,
    delete_vectors,
    find_space,
    promote_complete_space,
)
from muisti.storage.vector_codes import (
    LAST_CENTRE,
    Floats,
    compute_residuals,
    decode_vectors,
    is_centre_due,
    quantize,
)

if TYPE_CHECKING:
    from muisti.ports import Embedded, Space

COUNTS = 16
"""How often vectors are counted while as many are added as the centre was computed from."""
BATCH = 5_000
"""Vectors whose signs are computed again in one statement."""


def format_signs(vectors: Floats, centre: Floats | None) -> list[str]:
    """Return the signs of vectors as PostgreSQL writes bits."""
    shifted = vectors if centre is None else vectors - centre
    return [row.tobytes().decode() for row in np.where(shifted > 0, b"1", b"0")]


def read_centre(db: Connection, space: int) -> tuple[Floats | None, int]:
    """Return the centre of a space, or None, and how many vectors it was computed from.

    -1 if the tenant has no such space: another process may have replaced it.
    """
    rows = fetch(db, "SELECT centre, centred_on FROM spaces WHERE space = %s", (space,))
    centre, count = rows[0] if rows else (None, -1)
    return None if centre is None else np.frombuffer(centre, np.float32), count


def store_vectors(db: Connection, arriving: Sequence[Embedded]) -> None:
    """Store the vectors of texts that have not changed since; drop the others."""
    spaces = {one: find_space(db, one) for one in {one.identity for one in arriving}}
    ids = [embedded.memory_id for embedded in arriving]
    sql = "SELECT id, n, source_hash FROM entries WHERE id = ANY(%s)"
    known = {id_: (n, source_hash) for id_, n, source_hash in fetch(db, sql, (ids,))}
    whole: dict[int, dict[int, Embedded]] = {}
    for embedded in arriving:
        space = spaces[embedded.identity]
        n, source_hash = known.get(embedded.memory_id, (0, ""))
        if space is None or not n or source_hash != embedded.source:
            continue
        own = whole.setdefault(space, {})
        if embedded.complete and not embedded.first:
            own[n] = embedded
        else:
            _store_part(db, space, n, embedded)
    for space, own in whole.items():
        if own:
            delete_vectors(db, list(own), space)
            _insert(db, space, own)
            pieces = [len(embedded.pieces) for embedded in own.values()]
            db.execute(
                """INSERT INTO embedded (space, n, pieces)
                   SELECT %s, * FROM unnest(%s::bigint[], %s::integer[])""",
                (space, list(own), pieces),
            )
        _recentre(db, space, [n for n, _ in known.values()])
    if whole:
        promote_complete_space(db)


def _store_part(db: Connection, space: int, n: int, embedded: Embedded) -> None:
    """Store some pieces of a long text."""
    [(stored, is_missing)] = fetch(
        db,
        f"""SELECT (SELECT count(*) FROM vectors_{space:d} WHERE n = %s),
            EXISTS (SELECT 1 FROM unembedded WHERE space = %s AND n = %s)""",
        (n, space, n),
    )
    if not is_missing or (embedded.first and stored != embedded.first):
        return  # another process has stored all, more or other parts
    if not embedded.first:
        delete_rows(db, f"vectors_{space:d}", f"signs_{space:d}", [n])
    _insert(db, space, {n: embedded})
    if embedded.complete:
        pieces = embedded.first + len(embedded.pieces)
        db.execute("DELETE FROM unembedded WHERE space = %s AND n = %s", (space, n))
        db.execute(
            "INSERT INTO embedded (space, n, pieces) VALUES (%s, %s, %s)", (space, n, pieces)
        )


def _insert(db: Connection, space: int, texts: Mapping[int, Embedded]) -> None:
    """Insert the vectors of texts by their row numbers."""
    filled = {n: embedded for n, embedded in texts.items() if embedded.pieces}
    if not filled:
        return
    vectors = np.concatenate([embedded.vectors for embedded in filled.values()])
    codes, scales = quantize(vectors)
    rests = compute_residuals(vectors, codes, scales)
    centre, _ = read_centre(db, space)
    pieces = [(n, piece) for n, embedded in filled.items() for piece in embedded.pieces]
    sql = f"""WITH p AS MATERIALIZED (
                  SELECT {_NEXT.format(space)} AS v, u.*
                  FROM unnest(%s::bigint[], %s::integer[], %s::integer[], %s::text[], %s::real[],
                      %s::bytea[], %s::bytea[], %s::text[])
                      u (n, first, last, heading, scale, codes, rest, signs)
              ), inserted AS (
                  INSERT INTO vectors_{space:d} (v, n, first, last, heading, scale, codes, rest)
                  SELECT v, n, first, last, heading, scale, codes, rest FROM p
              )
              INSERT INTO signs_{space:d} (v, n, signs)
              SELECT v, n, signs::bit({vectors.shape[1]:d}) FROM p"""
    db.execute(
        sql.encode(),
        (
            [n for n, _ in pieces],
            [piece.start for _, piece in pieces],
            [piece.end for _, piece in pieces],
            [piece.heading for _, piece in pieces],
            scales.tolist(),
            [row.tobytes() for row in codes],
            [row.tobytes() for row in rests],
            format_signs(vectors, centre),
        ),
    )


_NEXT = "nextval(pg_get_serial_sequence('muisti.vectors_{0:d}', 'v'))"
"""SQL for the number of a new vector."""


def copy_within(db: Connection, space: Space, same: Mapping[str, str]) -> None:
    """Copy vectors between memories of the same text, to the first from the second of each pair."""
    table, signs = f"vectors_{space.number:d}", f"signs_{space.number:d}"
    sql = """SELECT m.n, o.n FROM unnest(%s::text[], %s::text[]) p (id, other)
             JOIN entries m ON m.id = p.id
             JOIN entries o ON o.id = p.other AND o.source_hash = m.source_hash
                 AND o.content = m.content
             JOIN unembedded u ON u.n = m.n AND u.space = %s
             JOIN embedded e ON e.n = o.n AND e.space = u.space"""
    pairs = fetch(db, sql, (list(same), list(same.values()), space.number))
    if not pairs:
        return
    delete_vectors(db, [n for n, _ in pairs], space.number)  # of a long text, some may be stored
    columns = "first, last, heading, scale, codes, rest"
    arrays = "unnest(%s::bigint[], %s::bigint[]) p (n, other)"
    numbers = [n for n, _ in pairs], [other for _, other in pairs]
    db.execute(
        f"""WITH copied AS MATERIALIZED (
                SELECT {_NEXT.format(space.number)} AS v, o.* FROM (
                    SELECT p.n, {columns}, s.signs FROM {arrays}
                    JOIN {table} v ON v.n = p.other JOIN {signs} s ON s.v = v.v ORDER BY p.n, v.v
                ) o
            ), inserted AS (
                INSERT INTO {table} (v, n, {columns}) SELECT v, n, {columns} FROM copied
            )
            INSERT INTO {signs} (v, n, signs) SELECT v, n, signs FROM copied""".encode(),
        numbers,
    )
    db.execute(
        f"""INSERT INTO embedded (space, n, pieces) SELECT e.space, p.n, e.pieces FROM {arrays}
            JOIN embedded e ON e.n = p.other WHERE e.space = %s""".encode(),
        (*numbers, space.number),
    )
    _recentre(db, space.number, [n for n, _ in pairs])
    promote_complete_space(db)


def _recentre(db: Connection, space: int, added: Sequence[int]) -> None:
    """Compute the centre again if it is due, and with it the signs of all vectors.

    Added: the texts whose vectors were added. Counting vectors takes longer, the more there are,
    so only texts with certain numbers cause it.
    """
    _, centred_on = read_centre(db, space)
    every = max(1, centred_on // COUNTS)
    if centred_on >= LAST_CENTRE or not any(n % every == 0 for n in added):
        return
    [(count,)] = fetch(db, f"SELECT count(*) FROM vectors_{space:d}")
    if not is_centre_due(count, centred_on):
        return
    sql = f"SELECT v, scale, codes, rest FROM vectors_{space:d} ORDER BY v"
    rows = db.execute(sql.encode(), binary=True).fetchall()
    dimensions = len(rows[0][2])
    vectors = decode_vectors(rows, dimensions)
    centre = vectors.mean(axis=0).astype(np.float32)
    db.execute(
        "UPDATE spaces SET centre = %s, centred_on = %s WHERE space = %s",
        (centre.tobytes(), count, space),
    )
    signs = format_signs(vectors, centre)
    for start in range(0, len(rows), BATCH):
        numbers = [row[0] for row in rows[start : start + BATCH]]
        db.execute(
            f"""UPDATE signs_{space:d} v SET signs = p.signs::bit({dimensions:d})
                FROM unnest(%s::bigint[], %s::text[]) p (v, signs) WHERE v.v = p.v""".encode(),
            (numbers, signs[start : start + BATCH]),
        )


def repair_vectors(db: Connection) -> None:
    """Remove vectors that are incomplete or of no text, and note which texts wait for theirs."""
    query = "SELECT space, dimensions FROM spaces JOIN models USING (space)"
    for space, dimensions in fetch(db, query):
        table, signs = f"vectors_{space:d}", f"signs_{space:d}"
        is_whole = f"octet_length(codes) = {dimensions:d} AND octet_length(rest) = {dimensions:d}"
        for sql in (
            f"""DELETE FROM embedded e WHERE e.space = {space:d} AND (
                    NOT EXISTS (SELECT 1 FROM entries m WHERE m.n = e.n)
                    OR e.pieces <> (SELECT count(*) FROM {table} v JOIN {signs} s USING (v)
                        WHERE v.n = e.n AND {is_whole})
                    OR e.pieces <> (SELECT count(*) FROM {table} v WHERE v.n = e.n))""",
            f"""DELETE FROM {table} v WHERE NOT EXISTS
                (SELECT 1 FROM embedded e WHERE e.n = v.n AND e.space = {space:d})""",
            f"DELETE FROM {signs} s WHERE NOT EXISTS (SELECT 1 FROM {table} v WHERE v.v = s.v)",
            f"DELETE FROM unembedded WHERE space = {space:d}",
            f"""INSERT INTO unembedded (space, n) SELECT {space:d}, m.n FROM entries m
                WHERE m.content <> '' AND NOT EXISTS
                (SELECT 1 FROM embedded e WHERE e.n = m.n AND e.space = {space:d})""",
        ):
            db.execute(sql.encode())
    promote_complete_space(db)
