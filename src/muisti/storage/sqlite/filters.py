"""Filters as SQL conditions, so that they work inside every query."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from muisti.storage.sqlite.rows import SAID_AT, SUPERSEDES, VALID_UNTIL, Cell, to_int

if TYPE_CHECKING:
    from muisti.model import Filter

Condition = tuple[str, list[Cell]]
"""On `memories m` or `entries m` and `usage u`, with its values. Always true is `1`."""


def conditions(where: Filter, salience: str) -> Condition:
    """The condition that a filter stands for. Salience: the SQL expression for it."""
    parts: list[str] = []
    values: list[Cell] = []

    def add(sql: str, *cells: Cell) -> None:
        parts.append(sql)
        values.extend(cells)

    if where.only_deleted:
        add("m.deleted_at IS NOT NULL")
    elif not where.include_deleted:
        add("m.deleted_at IS NULL")
    _add_visibility(where, add)
    if where.session is not None:
        add("m.session_id = ?", where.session)
    for column, wanted in (("id", where.ids), ("kind", where.kinds), ("sector", where.sectors), ("tier", where.tiers)):
        if wanted:
            add(f"m.{column} IN ({_marks(wanted)})", *wanted)
    for field, wanted in (("keyword", where.keywords), ("file", where.files)):
        for value in wanted:
            add("EXISTS (SELECT 1 FROM labels WHERE field = ? AND value = ? AND n = m.n)", field, value.casefold())
    if where.origins:
        add(f"m.origin IN ({_marks(where.origins)})", *where.origins)
    if where.documents:
        add(f"(m.origin <> 'document' OR m.source IN ({_marks(where.documents)}))", *where.documents)
    if where.min_salience > 0:
        add(f"{salience} >= ?", where.min_salience)
    _add_times(where, add)
    return " AND ".join(parts) or "1", values


def _add_visibility(where: Filter, add) -> None:  # type: ignore[no-untyped-def]
    """Tier `project` of the project, `session` of the asking session only, `global` of everybody (contract A3)."""
    if where.project is not None:
        unfiled = " OR m.project = ''" if where.unfiled else ""
        add(f"(m.project = ? OR m.tier = 'global'{unfiled})", where.project)
    if where.session_id is not None:
        add("(m.tier <> 'session' OR m.session_id = ?)", where.session_id)
    elif not where.all_sessions and where.session is None:
        add("m.tier <> 'session'")


def _add_times(where: Filter, add) -> None:  # type: ignore[no-untyped-def]
    moments: tuple[tuple[str, datetime | None], ...] = (
        (f"{SAID_AT} >= ?", where.since),
        (f"{SAID_AT} < ?", where.until),
        ("coalesce(m.valid_from, m.created_at) <= ?", where.as_of),
        ("coalesce(u.saved_at, m.created_at) <= ?", where.known_at),
    )
    for sql, at in moments:
        if at is not None:
            add(sql, to_int(at))
    if where.as_of is not None:
        _add_end(where.as_of, where.known_at, add)


def _add_end(as_of: datetime, known_at: datetime | None, add) -> None:  # type: ignore[no-untyped-def]
    """Still true then. That it was superseded counts only if that was known at the time that is asked for."""
    ended = f"coalesce({VALID_UNTIL} <= ?, 0)"
    if known_at is None:
        add(f"NOT {ended}", to_int(as_of))
    else:
        # Only an end that the link gave it: one that stands in the file for another reason was known all along.
        given = "(m.valid_until IS NULL OR m.valid_until = max(l.valid_from, coalesce(m.valid_from, l.valid_from)))"
        later = f"EXISTS (SELECT 1 FROM links l WHERE {SUPERSEDES} AND l.created_at > ? AND {given})"
        add(f"NOT ({ended} AND NOT {later})", to_int(as_of), to_int(known_at))


def _marks(values: Sequence[str]) -> str:
    return ", ".join("?" * len(values))
