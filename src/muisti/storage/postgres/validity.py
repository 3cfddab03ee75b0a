"""Computes the ends of memories' validity when they change, and stores them in `entries`.

A memory ends when one that replaced it starts, directly or over others: of a chain, exactly one is
valid at any time. The end in a file counts too, unless a SUPERSEDES link set it: such an end is for
readers of the file, and the successor may since have been updated or deleted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import psycopg

from muisti.model.chains import ChainEnds, Replacement

Connection = psycopg.Connection[tuple[Any, ...]]

COUNTS = "l.type = 'SUPERSEDES' AND NOT l.proposed AND l.valid_until IS NULL"
"""Whether a link `l` replaces its target: it is confirmed and has not ended."""
SUPERSEDES = f"(l.target = m.id AND l.source <> m.id AND {COUNTS})"
"""A link `l` by which another memory supersedes `m`."""
NEVER = 2**62
"""An end after every time, in microseconds."""


class Chains:
    """The chains of memories that replaced one another, as one transaction sees them.

    Known at: in microseconds; later links and memories that were saved later do not count.
    """

    def __init__(self, db: Connection, known_at: int | None = None) -> None:
        self._db = db
        self._known_at = known_at
        self._replacing: dict[str, list[Replacement[int]]] = {}

    def load(self, ids: Iterable[str]) -> None:
        """Read all memories that replaced these, directly or over others."""
        wanted = [id_ for id_ in dict.fromkeys(ids) if id_ not in self._replacing]
        if not wanted:
            return
        known = _KNOWN if self._known_at is not None else ""
        values = {"ids": wanted, "known_at": self._known_at}
        for id_ in wanted:
            self._replacing[id_] = []
        new: dict[str, list[Replacement[int]]] = {}
        for old, id_, start, linked_at in self._db.execute(
            _REPLACING.format(known=known).encode(), values
        ):
            new.setdefault(old, []).append(Replacement(id_, start, linked_at))
            self._replacing.setdefault(id_, [])
        self._replacing |= new

    def find_replacing(self, memory_id: str) -> list[Replacement[int]]:
        """Return the memories that replaced one directly."""
        self.load([memory_id])
        return self._replacing[memory_id]


# Links from one user's memory to another's do not count (contract C3).
_REPLACING = f"""
WITH RECURSIVE chain (id) AS (
    SELECT unnest(%(ids)s::text[]) COLLATE "C"
    UNION
    SELECT l.source FROM chain c JOIN links l ON l.target = c.id WHERE {COUNTS}
)
SELECT t.id, s.id, CASE WHEN s.deleted_at IS NULL THEN coalesce(s.valid_from, s.created_at) END,
    l.created_at
FROM chain c JOIN entries t ON t.id = c.id JOIN links l ON l.target = t.id
JOIN entries s ON s.id = l.source AND s.origin = 'memory' AND s.user = t.user
WHERE {COUNTS} {{known}}
"""
_KNOWN = """AND l.created_at <= %(known_at)s
    AND coalesce((SELECT saved_at FROM usage WHERE id = s.id), s.created_at) <= %(known_at)s"""


def update_ends(db: Connection, changed: Collection[str]) -> None:
    """Store the ends of these memories, and of all that they replaced.

    Changed: also the targets of links that were removed.
    """
    rows = db.execute(_AFFECTED.encode(), (list(changed),)).fetchall()
    if rows:
        ends = compute_ends(db, rows)
        own = [ends[id_][0] for id_, *_ in rows]
        last = [ends[id_][1] for id_, *_ in rows]
        db.execute(_UPDATE, ([id_ for id_, *_ in rows], own, last))


def read_ends(db: Connection, known_at: int) -> tuple[list[str], list[int]]:
    """Return the memories that others replace, and their ends as they were known at a time."""
    rows = db.execute(_REPLACED.encode()).fetchall()
    ends = compute_ends(db, rows, known_at)
    return list(ends), [NEVER if end is None else end for _, end in ends.values()]


def compute_ends(
    db: Connection, rows: Collection[tuple[Any, ...]], known_at: int | None = None
) -> dict[str, tuple[int | None, int | None]]:
    """Return the own end and the end of memories, by ID.

    Rows: ID, `valid_from` and `valid_until` of each. Its own end is the one that was given for it,
    not set by a link.
    """
    ids = [id_ for id_, *_ in rows]
    begins: dict[str, list[int]] = {}
    for target, valid_from in db.execute(_BEGINS.encode(), (ids,)):
        begins.setdefault(target, []).append(valid_from)
    chains = Chains(db, known_at)
    chains.load(ids)
    ends = ChainEnds(chains.find_replacing)
    found: dict[str, tuple[int | None, int | None]] = {}
    for id_, start, until in rows:
        set_by_links = {max(at, start or at) for at in begins.get(id_, ())} | {*begins.get(id_, ())}
        own = None if until in set_by_links else until
        end = until
        if begins.get(id_):
            replaced = ends.find_end(id_)
            if replaced is not None and start is not None:
                replaced = max(replaced, start)
            end = min((at for at in (own, replaced) if at is not None), default=None)
        found[id_] = own, end
    return found


_BELOW = """
WITH RECURSIVE below (id) AS (
    SELECT unnest(%s::text[]) COLLATE "C"
    UNION
    SELECT l.target FROM below b JOIN links l ON l.source = b.id WHERE l.type = 'SUPERSEDES'
)
"""
_AFFECTED = f"""
{_BELOW} SELECT m.id, m.valid_from, m.valid_until FROM below JOIN entries m USING (id)
WHERE m.origin = 'memory' AND (
    EXISTS (SELECT 1 FROM links l WHERE {SUPERSEDES})
    OR (m.own_end, m.ends_at) IS DISTINCT FROM (m.valid_until, m.valid_until)
)
"""
_REPLACED = f"""
SELECT m.id, m.valid_from, m.valid_until FROM entries m
WHERE m.origin = 'memory' AND m.id IN (SELECT l.target FROM links l WHERE {COUNTS})
"""
_BEGINS = f"""
SELECT l.target, l.valid_from FROM links l
WHERE l.target = ANY(%s) AND l.source <> l.target AND {COUNTS}
"""
_UPDATE = """
UPDATE entries m SET own_end = e.own_end, ends_at = e.ends_at
FROM unnest(%s::text[], %s::bigint[], %s::bigint[]) e (id, own_end, ends_at) WHERE m.id = e.id
"""
