"""Models and their vector spaces, and which texts are not embedded yet. Needs no numpy."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import apsw

from muisti.storage.sqlite.rows import fetch

if TYPE_CHECKING:
    from muisti.ports import Identity, Space


def read_spaces(db: apsw.Connection) -> list[Space]:
    """Return all spaces, the serving one first."""
    from muisti.ports import Identity, Space  # a search by keyword reads no vectors

    sql = """SELECT space, model, dimensions, revision, serving,
             (SELECT count(*) FROM unembedded u WHERE u.space = s.space)
             FROM spaces s ORDER BY serving DESC, space"""
    return [
        Space(number, Identity(model, dimensions, revision), bool(serving), missing)
        for number, model, dimensions, revision, serving, missing in fetch(db, sql)
    ]


def find_space(db: apsw.Connection, identity: Identity) -> int | None:
    """Return the number of a model's space, or None."""
    row = db.execute(
        "SELECT space FROM spaces WHERE model = ? AND dimensions = ? AND revision = ?",
        (identity.model, identity.dimensions, identity.revision),
    ).fetchone()
    return None if row is None else int(row[0])


def choose_space(db: apsw.Connection, identity: Identity) -> int:
    """Return the space of a model; create it if missing. Unfinished spaces are dropped."""
    number = find_space(db, identity)
    for (other,) in fetch(db, "SELECT space FROM spaces WHERE NOT serving"):
        if other != number:  # the model changed again before the last change was complete
            _drop_space(db, other)
    if number is None:
        [(serving,)] = fetch(db, "SELECT NOT EXISTS (SELECT 1 FROM spaces WHERE serving)")
        db.execute(
            "INSERT INTO spaces (model, dimensions, revision, serving) VALUES (?, ?, ?, ?)",
            (identity.model, identity.dimensions, identity.revision, serving),
        )
        number = db.last_insert_rowid()
        db.execute(f"INSERT INTO unembedded SELECT ?, n {_EMBEDDABLE}", (number,))
    promote_complete_space(db)  # now, if there is nothing to embed
    return number


_EMBEDDABLE = "FROM entries WHERE content <> ''"


def count_embeddable(db: apsw.Connection) -> int:
    """Return how many texts a new space would have to embed."""
    return int(fetch(db, f"SELECT count(*) {_EMBEDDABLE}")[0][0])


def _drop_space(db: apsw.Connection, space: int) -> None:
    for table in ("vectors", "signs", "sign_blocks", "embedded", "unembedded", "spaces"):
        db.execute(f"DELETE FROM {table} WHERE space = ?", (space,))


def mark_unembedded(db: apsw.Connection, numbers: Sequence[int]) -> None:
    """Mark texts as not embedded yet."""
    if numbers:
        db.execute(
            "INSERT OR IGNORE INTO unembedded SELECT space, value FROM json_each(?), spaces",
            (to_json(numbers),),
        )


def mark_all_unembedded(db: apsw.Connection, numbers: Sequence[int]) -> None:
    """Delete the vectors of texts and mark them as not embedded yet."""
    if fetch(db, "SELECT 1 FROM spaces"):
        delete_vectors(db, numbers)
        mark_unembedded(db, numbers)


def delete_vectors(db: apsw.Connection, numbers: Iterable[int], space: int | None = None) -> None:
    """Delete the vectors and signs of texts, in one space or in all."""
    only = "" if space is None else f" AND space = {space:d}"
    for n in numbers:
        for v, owner in fetch(db, f"SELECT v, space FROM vectors WHERE n = ?{only}", (n,)):
            db.execute("DELETE FROM vectors WHERE v = ?", (v,))
            db.execute("DELETE FROM signs WHERE v = ?", (v,))
            sql = "SELECT 1 FROM sign_blocks WHERE space = ?1 AND first_v <= ?2 AND last_v >= ?2"
            if fetch(db, sql, (owner, v)):
                from muisti.storage.sqlite.vector_rows import clear_signs  # numpy

                clear_signs(db, owner, v)
        for table in ("embedded", "unembedded"):
            db.execute(f"DELETE FROM {table} WHERE n = ?{only}", (n,))


def promote_complete_space(db: apsw.Connection) -> None:
    """Let a new space replace the serving one once nothing is missing in it."""
    sql = """SELECT space FROM spaces s WHERE NOT serving
             AND NOT EXISTS (SELECT 1 FROM unembedded u WHERE u.space = s.space)"""
    row = db.execute(sql).fetchone()
    if row is not None:
        for (old,) in fetch(db, "SELECT space FROM spaces WHERE serving"):
            _drop_space(db, old)
        db.execute("UPDATE spaces SET serving = 1 WHERE space = ?", row)


def to_json(values: Iterable[int] | Iterable[str]) -> str:
    """Return a list for `json_each`."""
    return json.dumps(list(values))
