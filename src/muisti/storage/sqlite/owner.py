"""Which vault an index was filled from, and whether it is complete."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import apsw

COMPLETE = 0x6D756973
"""The `application_id` of an index that has been filled: a process may die before that."""
OWNER = "owner"
"""The row of `totals` with the vault that the index was filled from."""


class IndexOwner:
    """The vault that an index should belong to.

    `identify_vault` returns a number for the vault's folder; None: indexes are not checked.
    """

    def __init__(self, identify_vault: Callable[[], int] | None) -> None:
        self._identify_vault = identify_vault
        self.accepted: Path | None = None
        """A file that is this vault's, although that may not be written in it."""

    def owns(self, db: apsw.Connection) -> bool:
        """Return whether an index was filled from this vault's folder."""
        if self._identify_vault is None or db.filename == str(self.accepted):
            return True
        row = db.execute("SELECT value FROM totals WHERE name = ?", (OWNER,)).fetchone()
        return row is not None and row[0] == self._identify_vault()

    def stamp(self, db: apsw.Connection) -> None:
        """Write into an index that it is complete, and which vault it belongs to."""
        if self._identify_vault is not None:
            owner = (OWNER, self._identify_vault())
            db.execute("INSERT OR REPLACE INTO totals VALUES (?, ?)", owner)
        db.pragma("application_id", COMPLETE)
