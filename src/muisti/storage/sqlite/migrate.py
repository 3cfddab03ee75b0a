"""Numbered, transactional changes of the schema."""

from __future__ import annotations

from functools import cache

import apsw

from muisti.errors import IndexTooNew
from muisti.storage.sqlite.migrations import NEWEST


@cache
def load_migrations() -> tuple[tuple[int, str], ...]:
    """Number and SQL of each, in order."""
    from importlib import resources  # dear, and rarely needed

    folder = resources.files("muisti.storage.sqlite.migrations")
    files = sorted(file.name for file in folder.iterdir() if file.name.endswith(".sql"))
    return tuple((int(name[:3]), (folder / name).read_text("utf-8")) for name in files)


def migrate(db: apsw.Connection) -> None:
    """Bring an index to the present schema. Raises IndexTooNew for one of a later muisti."""
    version = db.pragma("user_version")
    if version == NEWEST:
        return
    if version > NEWEST:
        raise IndexTooNew(
            f"the index has schema {version}, this muisti knows up to {NEWEST}: upgrade muisti, "
            "or delete the folder .muisti (only the index is in it) and run `muisti reindex`"
        )
    for number, sql in load_migrations():
        if number > version:
            db.execute("BEGIN IMMEDIATE")
            try:
                if db.pragma("user_version") < number:
                    db.execute(sql)
                    db.pragma("user_version", number)
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:  # a full disk makes SQLite roll back by itself
                    db.execute("ROLLBACK")
                raise
