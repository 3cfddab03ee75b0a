"""Models and their vector spaces, and which texts are not embedded yet. Needs no numpy."""

from __future__ import annotations

from collections.abc import Sequence

from muisti.ports.vectors import Identity, Space
from muisti.storage.postgres.claims import GIVEN_UP
from muisti.storage.postgres.connect import Connection, fetch

_EMBEDDABLE = "FROM entries WHERE content <> ''"


def read_spaces(db: Connection) -> list[Space]:
    """Return all spaces, the serving one first."""
    sql = f"""SELECT s.space, m.model, m.dimensions, m.revision, s.serving,
             (SELECT count(*) FROM unembedded u WHERE u.space = s.space AND NOT ({GIVEN_UP}))
             FROM spaces s JOIN models m USING (space) ORDER BY s.serving DESC, s.space"""
    return [
        Space(number, Identity(model, dimensions, revision), serving, missing)
        for number, model, dimensions, revision, serving, missing in fetch(db, sql)
    ]


def find_space(db: Connection, identity: Identity) -> int | None:
    """Return the number of a model's space, or None."""
    rows = fetch(
        db,
        """SELECT space FROM spaces JOIN models USING (space)
           WHERE model = %s AND dimensions = %s AND revision = %s""",
        (identity.model, identity.dimensions, identity.revision),
    )
    return int(rows[0][0]) if rows else None


def choose_space(db: Connection, identity: Identity) -> int:
    """Return the space of a model; create it if missing. Unfinished spaces are dropped."""
    number = find_space(db, identity)
    for (other,) in fetch(db, "SELECT space FROM spaces WHERE NOT serving"):
        if other != number:  # the model changed again before the last change was complete
            _drop_space(db, other)
    if number is None:
        [(number,)] = fetch(
            db,
            "SELECT muisti.create_vector_table(%s, %s, %s)",
            (identity.model, identity.dimensions, identity.revision),
        )
        db.execute(
            """INSERT INTO spaces (space, serving)
               VALUES (%s, NOT EXISTS (SELECT 1 FROM spaces WHERE serving))""",
            (number,),
        )
        db.execute(
            f"INSERT INTO unembedded (space, n) SELECT %s, n {_EMBEDDABLE}".encode(), (number,)
        )
    promote_complete_space(db)  # now, if there is nothing to embed
    return int(number)


def count_embeddable(db: Connection) -> int:
    """Return how many texts a new space would have to embed."""
    return int(fetch(db, f"SELECT count(*) {_EMBEDDABLE}")[0][0])


def _drop_space(db: Connection, space: int) -> None:
    for table in (f"vectors_{space:d}", f"signs_{space:d}"):
        db.execute(f"DELETE FROM {table}".encode())
    for table in ("embedded", "unembedded", "spaces"):
        db.execute(f"DELETE FROM {table} WHERE space = %s".encode(), (space,))


def mark_unembedded(db: Connection, numbers: Sequence[int]) -> None:
    """Mark texts as not embedded yet. A session break has no text to embed."""
    if numbers:
        db.execute(
            """INSERT INTO unembedded (space, n) SELECT s.space, m.n FROM spaces s, entries m
               WHERE m.n = ANY(%s) AND m.content <> '' ON CONFLICT DO NOTHING""",
            (list(numbers),),
        )


def delete_vectors(db: Connection, numbers: Sequence[int], space: int | None = None) -> None:
    """Delete the vectors of texts, in one space or in all; they no longer wait for any."""
    if not numbers:
        return
    spaces = [space]
    if space is None:
        spaces = [number for (number,) in fetch(db, "SELECT space FROM spaces")]
    for number in spaces:
        delete_rows(db, f"vectors_{number:d}", f"signs_{number:d}", numbers)
        for table in ("embedded", "unembedded"):
            sql = f"DELETE FROM {table} WHERE n = ANY(%s) AND space = {number:d}"
            db.execute(sql.encode(), (list(numbers),))


def delete_rows(db: Connection, vectors: str, signs: str, numbers: Sequence[int]) -> None:
    """Delete the vectors of texts, and their signs, from the tables of a space."""
    db.execute(
        f"""WITH gone AS (DELETE FROM {vectors} WHERE n = ANY(%s) RETURNING v)
            DELETE FROM {signs} WHERE v = ANY(ARRAY(SELECT v FROM gone))""".encode(),
        (list(numbers),),
    )


def promote_complete_space(db: Connection) -> None:
    """Let a new space replace the serving one once nothing is missing in it."""
    rows = fetch(
        db,
        f"""SELECT space FROM spaces s WHERE NOT serving AND NOT EXISTS
            (SELECT 1 FROM unembedded u WHERE u.space = s.space AND NOT ({GIVEN_UP}))""",
    )
    if rows:
        for (old,) in fetch(db, "SELECT space FROM spaces WHERE serving"):
            _drop_space(db, old)
        db.execute("UPDATE spaces SET serving = true WHERE space = %s", rows[0])
