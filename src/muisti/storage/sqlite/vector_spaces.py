"""Which model made the vectors, and which memories wait for theirs. Needs no numpy: most calls end here."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

import apsw

from muisti.ports import Identity, Space
from muisti.storage.sqlite.rows import fetch


def read_spaces(db: apsw.Connection) -> list[Space]:
    """All spaces, the serving one first."""
    sql = """SELECT space, model, dimensions, revision, serving,
             (SELECT count(*) FROM unembedded u WHERE u.space = s.space) FROM spaces s ORDER BY serving DESC, space"""
    return [
        Space(number, Identity(model, dimensions, revision), bool(serving), missing)
        for number, model, dimensions, revision, serving, missing in fetch(db, sql)
    ]


def find_space(db: apsw.Connection, identity: Identity) -> int | None:
    """The number of a model's space."""
    row = db.execute(
        "SELECT space FROM spaces WHERE model = ? AND dimensions = ? AND revision = ?",
        (identity.model, identity.dimensions, identity.revision),
    ).fetchone()
    return None if row is None else int(row[0])


def choose_space(db: apsw.Connection, identity: Identity) -> int:
    """The space of the model that is wanted now, made if there is none. What was begun for another model is dropped."""
    number = find_space(db, identity)
    for (other,) in fetch(db, "SELECT space FROM spaces WHERE NOT serving"):
        if other != number:
            _drop_space(
                db, other
            )  # the model was changed once more before the last change was through
    if number is None:
        number = _make_space(db, identity)
    promote_complete_space(db)  # at once where there is nothing to embed
    return number


def _make_space(db: apsw.Connection, identity: Identity) -> int:
    """A new space in which every memory waits for its vectors. It serves at once if none does."""
    (serving,) = db.execute(
        "SELECT NOT EXISTS (SELECT 1 FROM spaces WHERE serving)"
    ).fetchone() or (0,)
    db.execute(
        "INSERT INTO spaces (model, dimensions, revision, serving) VALUES (?, ?, ?, ?)",
        (identity.model, identity.dimensions, identity.revision, serving),
    )
    space = db.last_insert_rowid()
    db.execute(f"INSERT INTO unembedded SELECT ?, n {_EMBEDDABLE}", (space,))
    return space


_EMBEDDABLE = "FROM entries WHERE content <> ''"


def count_embeddable(db: apsw.Connection) -> int:
    """How many texts would wait for their vectors in a new space."""
    return int(fetch(db, f"SELECT count(*) {_EMBEDDABLE}")[0][0])


def _drop_space(db: apsw.Connection, space: int) -> None:
    for table in ("vectors", "signs", "sign_blocks", "embedded", "unembedded", "spaces"):
        db.execute(f"DELETE FROM {table} WHERE space = ?", (space,))


def mark_unembedded(db: apsw.Connection, n: int) -> None:
    """Note that a new memory waits for its vectors."""
    db.execute("INSERT OR IGNORE INTO unembedded SELECT space, ? FROM spaces", (n,))


def mark_all_unembedded(db: apsw.Connection, numbers: Sequence[int]) -> None:
    """Note that texts wait for their vectors; what they may have had before is forgotten."""
    if fetch(db, "SELECT 1 FROM spaces"):
        delete_vectors(db, numbers)
        db.execute(
            "INSERT OR IGNORE INTO unembedded SELECT space, value FROM json_each(?), spaces",
            (to_json(numbers),),
        )


def delete_vectors(db: apsw.Connection, numbers: Iterable[int], space: int | None = None) -> None:
    """Take the vectors of memories out, of one space or of all, bits included."""
    only = "" if space is None else f" AND space = {space:d}"
    for n in numbers:
        for v, of in fetch(db, f"SELECT v, space FROM vectors WHERE n = ?{only}", (n,)):
            db.execute("DELETE FROM vectors WHERE v = ?", (v,))
            db.execute("DELETE FROM signs WHERE v = ?", (v,))
            if fetch(
                db,
                "SELECT 1 FROM sign_blocks WHERE space = ?1 AND first_v <= ?2 AND last_v >= ?2",
                (of, v),
            ):
                from muisti.storage.sqlite.vector_rows import clear_signs  # numpy

                clear_signs(db, of, v)
        for table in ("embedded", "unembedded"):
            db.execute(f"DELETE FROM {table} WHERE n = ?{only}", (n,))


def promote_complete_space(db: apsw.Connection) -> None:
    """A space that was filled beside the serving one takes its place once nothing is missing in it."""
    row = db.execute(
        "SELECT space FROM spaces s WHERE NOT serving AND NOT EXISTS (SELECT 1 FROM unembedded u WHERE u.space = s.space)"
    ).fetchone()
    if row is not None:
        for (old,) in fetch(db, "SELECT space FROM spaces WHERE serving"):
            _drop_space(db, old)
        db.execute("UPDATE spaces SET serving = 1 WHERE space = ?", row)


def to_json(values: Iterable[int] | Iterable[str]) -> str:
    """A list for `json_each`."""
    return json.dumps(list(values))
