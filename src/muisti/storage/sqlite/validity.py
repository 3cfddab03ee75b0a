"""SQL for the end of a memory's validity. The memory index has the same rule in `view.py`.

A memory ends when one that replaced it starts, directly or over others: of a chain, exactly one is
valid at any time. The end in a file counts too, unless a SUPERSEDES link set it: such an end is for
readers of the file, and the successor may since have been updated or deleted.
"""

from __future__ import annotations

COUNTS = "l.type = 'SUPERSEDES' AND NOT l.proposed AND l.valid_until IS NULL"
"""Whether a link `l` replaces its target: it is confirmed and has not ended."""
SUPERSEDES = f"(l.target = m.id AND l.source <> m.id AND {COUNTS})"
"""A link `l` by which another memory supersedes `m`."""
_START = "coalesce(s.valid_from, s.created_at)"
OWN_END = f"""iif(m.valid_until IS NULL OR EXISTS (SELECT 1 FROM links l WHERE {SUPERSEDES}
    AND m.valid_until IN (l.valid_from, max(l.valid_from, coalesce(m.valid_from, l.valid_from)))),
    NULL, m.valid_until)"""
"""The end that was given for a memory `m`, not set by a link."""


def make_valid_until(known_at: int | None = None) -> str:
    """Return the SQL for the end of a memory `m`, or NULL.

    Known at: in microseconds; later links and memories that were saved later do not count.
    """
    known = ""
    if known_at is not None:
        saved_at = "coalesce((SELECT saved_at FROM usage WHERE id = s.id), s.created_at)"
        known = f"AND l.created_at <= {known_at:d} AND {saved_at} <= {known_at:d}"
    # Links from one user's memory to another's do not count (contract C3). CROSS JOIN sets the
    # order in which SQLite reads the tables: otherwise it scans all links at each step.
    link = f"""links l CROSS JOIN memories s
        WHERE s.id = l.source AND s.user = m.user AND {COUNTS} {known}"""
    # Most memories have no such link, and finding that out is cheap. A circle, which only edited
    # files contain, has no effect: memories that `m` replaced do not replace it.
    return f"""iif(EXISTS (SELECT 1 FROM links l WHERE {SUPERSEDES}), (
        WITH RECURSIVE later(id) AS (
            SELECT l.source FROM {link} AND l.target = m.id
            UNION SELECT l.source FROM later CROSS JOIN {link} AND l.target = later.id
        ), earlier(id) AS (
            SELECT l.target FROM {link} AND l.source = m.id
            UNION SELECT l.target FROM earlier CROSS JOIN {link} AND l.source = earlier.id
        )
        SELECT min(at) FROM (
            SELECT {OWN_END} AS at
            UNION ALL
            SELECT max({_START}, coalesce(m.valid_from, {_START})) AS at
            FROM later CROSS JOIN memories s
            WHERE s.id = later.id AND s.deleted_at IS NULL AND s.id NOT IN (SELECT id FROM earlier)
        )
    ), m.valid_until)"""


VALID_UNTIL = make_valid_until()
