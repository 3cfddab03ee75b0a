"""Schema migrations, each in its own transaction."""

from __future__ import annotations

from functools import cache

import apsw

from muisti.errors import IndexCorrupt, IndexTooNew
from muisti.storage.sqlite.migrations import NEWEST


@cache
def load_migrations() -> tuple[tuple[int, str], ...]:
    """Return the number and SQL of each migration, in order."""
    from importlib import resources  # slow to import, and rarely needed

    folder = resources.files("muisti.storage.sqlite.migrations")
    files = sorted(file.name for file in folder.iterdir() if file.name.endswith(".sql"))
    return tuple((int(name[:3]), (folder / name).read_text("utf-8")) for name in files)


def migrate(db: apsw.Connection) -> None:
    """Migrate an index to the latest schema. Raises IndexTooNew."""
    version = db.pragma("user_version")
    if version == NEWEST:
        return
    if version > NEWEST:
        raise IndexTooNew(
            f"the index has schema {version}, but this muisti supports up to {NEWEST}: upgrade "
            "muisti, or delete the folder .muisti (it only has the index) and run `muisti reindex`"
        )
    for number, sql in load_migrations():
        if number > version:
            db.execute("BEGIN IMMEDIATE")
            try:
                if db.pragma("user_version") < number:
                    db.execute(sql)
                    db.pragma("user_version", number)
                db.execute("COMMIT")
            except BaseException as error:
                if db.in_transaction:  # if the disk is full, SQLite has already rolled back
                    db.execute("ROLLBACK")
                if isinstance(error, apsw.SQLError):
                    raise IndexCorrupt(
                        f"the index does not have the schema {version} that it says ({error});"
                        " `muisti reindex` rebuilds it from the files"
                    ) from error
                raise


def find_schema_differences(db: apsw.Connection) -> list[str]:
    """Return tables, SQL indexes and triggers that an index lacks or has too many."""
    expected = apsw.Connection(":memory:")
    try:
        migrate(expected)
        wanted, found = _list_schema(expected), _list_schema(db)
    finally:
        expected.close()
    return [
        *(f"{what} is missing" for what in sorted(wanted - found)),
        *(f"{what} does not belong to the schema" for what in sorted(found - wanted)),
    ]


def _list_schema(db: apsw.Connection) -> set[str]:
    names = set()
    sql = "SELECT type, name FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
    for kind, name in list(db.execute(sql)):
        if kind in ("table", "view"):
            columns = list(db.execute("SELECT name FROM pragma_table_xinfo(?)", (name,)))
            names.add(f"{kind} {name} ({', '.join(column for (column,) in columns)})")
        else:
            names.add(f"{kind} {name}")
    return names
