"""SQL for the end of a memory's validity. `view.py` of the memory index does the same.

A memory ends when one that replaced it starts, directly or over others: of a chain, exactly one is
valid at any time. The end in a file counts too, unless a SUPERSEDES link set it: such an end is for
readers of the file, and the successor may since have been updated or deleted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from muisti.errors import IndexCorrupt
from muisti.model.chains import ChainEnds, Replacement

if TYPE_CHECKING:
    import apsw

COUNTS = "l.type = 'SUPERSEDES' AND NOT l.proposed AND l.valid_until IS NULL"
"""Whether a link `l` replaces its target: it is confirmed and has not ended."""
SUPERSEDES = f"(l.target = m.id AND l.source <> m.id AND {COUNTS})"
"""A link `l` by which another memory supersedes `m`."""
OWN_END = f"""iif(m.valid_until IS NULL OR EXISTS (SELECT 1 FROM links l WHERE {SUPERSEDES}
    AND m.valid_until IN (l.valid_from, max(l.valid_from, coalesce(m.valid_from, l.valid_from)))),
    NULL, m.valid_until)"""
"""The end that was given for a memory `m`, not set by a link."""


def make_valid_until(known_at: int | None = None) -> str:
    """Return the SQL for the end of a memory `m`, or NULL.

    Known at: in microseconds; later links and memories that were saved later do not count.
    """
    known = "NULL" if known_at is None else f"{known_at:d}"
    # Most memories have no such link, and finding that out is cheap.
    return f"""iif(EXISTS (SELECT 1 FROM links l WHERE {SUPERSEDES}), (
        SELECT min(at) FROM (
            SELECT {OWN_END} AS at
            UNION ALL
            SELECT max(r.at, coalesce(m.valid_from, r.at))
            FROM (SELECT replaced_at(m.id, {known}) AS at) r
        )
    ), m.valid_until)"""


VALID_UNTIL = make_valid_until()


class Chains:
    """The chains of memories that replaced one another, as one read transaction sees them.

    Reads each memory of a chain once. A recursive query would walk the rest of a chain for each of
    its memories.
    """

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db
        self._replacing: dict[str, list[Replacement[int]]] = {}
        self._ends: dict[int | None, ChainEnds[int]] = {}

    def find_replaced_at(self, memory_id: str, known_at: int | None) -> int | None:
        """Return the earliest start of the memories that replaced one, directly or over others.

        Raises IndexCorrupt.
        """
        ends = self._ends.get(known_at)
        if ends is None:
            ends = self._ends[known_at] = ChainEnds(
                self.find_replacing
                if known_at is None
                else lambda id_: self._read(_KNOWN, (id_, known_at))
            )
        return ends.find_end(memory_id)

    def find_replacing(self, memory_id: str) -> list[Replacement[int]]:
        """Return the memories that replaced one directly. Raises IndexCorrupt."""
        found = self._replacing.get(memory_id)
        if found is None:
            found = self._replacing[memory_id] = self._read(_REPLACING, (memory_id,))
        return found

    def _read(self, sql: str, values: tuple[str | int | None, ...]) -> list[Replacement[int]]:
        found: list[Replacement[int]] = []
        for id_, start, linked_at in self._db.execute(sql, values):
            if not isinstance(start, int | None) or not isinstance(linked_at, int):
                raise IndexCorrupt(
                    f"the index has an invalid time ({start!r}, {linked_at!r}); "
                    "`muisti reindex` rebuilds it"
                )
            found.append(Replacement(id_, start, linked_at))
        return found


# Links from one user's memory to another's do not count (contract C3). CROSS JOIN sets the order in
# which SQLite reads the tables: otherwise it may scan all links. SELECT hides the values from the
# planner, which has partial indexes to consider: it would plan again for every value.
_REPLACING = f"""
SELECT s.id, iif(s.deleted_at IS NULL, coalesce(s.valid_from, s.created_at), NULL), l.created_at
FROM entries t CROSS JOIN links l CROSS JOIN memories s
WHERE t.id = (SELECT ?1) AND l.target = t.id AND s.id = l.source AND s.user = t.user AND {COUNTS}
"""
_KNOWN = f"""{_REPLACING} AND l.created_at <= (SELECT ?2)
    AND coalesce((SELECT saved_at FROM usage WHERE id = s.id), s.created_at) <= (SELECT ?2)
"""
