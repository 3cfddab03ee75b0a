"""Converts filters to SQL conditions that every query can include."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from muisti.model.fields import Field, Match
from muisti.model.memory import FIELDS
from muisti.storage.row_values import to_int
from muisti.storage.sqlite.rows import SAID_AT, Cell
from muisti.storage.sqlite.validity import make_valid_until

if TYPE_CHECKING:
    from muisti.model import Filter

Condition = tuple[str, Sequence[Cell]]
"""SQL on `memories m` or `entries m` and `usage u`, and its values. `1` is always true."""


@lru_cache(maxsize=64)  # most searches have the same filter
def build_condition(where: Filter, salience: str) -> Condition:
    """Return the condition for a filter. Salience: the SQL expression for the salience."""
    parts: list[str] = []
    values: list[Cell] = []

    def add(sql: str, *cells: Cell) -> None:
        parts.append(sql)
        values.extend(cells)

    if where.only_deleted:
        add("m.deleted_at IS NOT NULL")
    elif not where.include_deleted:
        add("m.deleted_at IS NULL")
    _add_scope(where, add)
    if where.session is not None:
        add("m.session_id = ?", where.session)
    if where.conversation is not None:
        add("m.conversation = ?", where.conversation)
    if where.ids:
        add(f"m.id IN ({_make_marks(where.ids)})", *where.ids)
    for field in FIELDS:
        if field.match is not None:
            _add_match(field, getattr(where, field.filter_name), add)
    if where.origins:
        add(f"m.origin IN ({_make_marks(where.origins)})", *where.origins)
    if where.documents:
        add(
            f"(m.origin <> 'document' OR m.source IN ({_make_marks(where.documents)}))",
            *where.documents,
        )
    if where.min_salience > 0:
        add(f"{salience} >= ?", where.min_salience)
    _add_times(where, add)
    return " AND ".join(parts) or "1", tuple(values)


def _add_scope(where: Filter, add: Callable[..., None]) -> None:
    """Add what a project and a session see (contract A3). The user is a field like others."""
    if where.project is not None:
        unfiled = " OR m.project = ''" if where.unfiled else ""
        add(f"(m.project = ? OR m.tier = 'global'{unfiled})", where.project)
    if where.is_scoped:
        conversations = [name for name in (where.session_id, where.session) if name is not None]
        own = f" OR m.session_id IN ({_make_marks(conversations)})" if conversations else ""
        add(f"(m.origin <> 'message' OR m.project <> '' OR m.user <> ''{own})", *conversations)
    if where.session_id is not None:
        add("(m.tier <> 'session' OR m.session_id = ?)", where.session_id)
    elif not where.all_sessions and where.session is None:
        add("m.tier <> 'session'")


def _add_match(field: Field, wanted: Any, add: Callable[..., None]) -> None:
    """Add the condition for one field. Wanted: its value or values; None or empty: no condition."""
    match field.match:
        case Match.ANY_OF if wanted:
            add(f"m.{field.name} IN ({_make_marks(wanted)})", *wanted)
        case Match.ALL_OF:
            for value in wanted:
                add(_LABELLED, field.name.removesuffix("s"), value.casefold())
        case Match.EXACT if isinstance(wanted, bool):
            add(f"m.{field.name} = {int(wanted)}")  # a literal, so that a partial index applies
        case Match.EXACT if wanted is not None:
            add(f"m.{field.name} = ?", wanted)
        case Match.EXACT_OR_EMPTY if wanted is not None:
            add(f"m.{field.name} IN (?, '')", wanted)


_LABELLED = "EXISTS (SELECT 1 FROM labels WHERE field = ? AND value = ? AND n = m.n)"


def _add_times(where: Filter, add: Callable[..., None]) -> None:
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
        end = make_valid_until(to_int(where.known_at))
        add(f"NOT coalesce({end} <= ?, 0)", to_int(where.as_of))


def _make_marks(values: Sequence[str]) -> str:
    """Return "?, ?, ?" for the values."""
    return ", ".join("?" * len(values))
