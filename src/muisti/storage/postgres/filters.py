"""Converts filters to SQL conditions that every query can include."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from muisti.model.fields import Field, Match
from muisti.model.memory import FIELDS
from muisti.storage.postgres.rows import SAID_AT
from muisti.storage.postgres.validity import read_ends
from muisti.storage.row_values import to_int

if TYPE_CHECKING:
    from muisti.model import Filter
    from muisti.storage.postgres.validity import Connection

Condition = tuple[str, list[Any]]
"""SQL on `entries m` and `usage u`, and its values."""


def build_condition(db: Connection, where: Filter, salience: str) -> Condition:
    """Return the condition for a filter. Salience: the SQL expression for the salience."""
    parts: list[str] = []
    values: list[Any] = []

    def add(sql: str, *cells: Any) -> None:
        parts.append(sql)
        values.extend(cells)

    if where.only_deleted:
        add("m.deleted_at IS NOT NULL")
    elif not where.include_deleted:
        add("m.deleted_at IS NULL")
    _add_scope(where, add)
    if where.session is not None:
        add("m.session_id = %s", where.session)
    if where.conversation is not None:
        add("m.conversation = %s", where.conversation)
    if where.ids:
        add("m.id = ANY(%s)", list(where.ids))
    for field in FIELDS:
        if field.match is not None:
            _add_match(field, getattr(where, field.filter_name), add)
    if where.origins:
        add("m.origin = ANY(%s)", [str(origin) for origin in where.origins])
    if where.documents:
        add("(m.origin <> 'document' OR m.source = ANY(%s))", list(where.documents))
    if where.min_salience > 0:
        add(f"{salience} >= %s", where.min_salience)
    _add_times(db, where, add)
    return " AND ".join(parts) or "true", values


def _add_scope(where: Filter, add: Callable[..., None]) -> None:
    """Add what a project and a session see (contract A3). The user is a field like others."""
    if where.project is not None:
        unfiled = " OR m.project = ''" if where.unfiled else ""
        add(f"(m.project = %s OR m.tier = 'global'{unfiled})", where.project)
    if where.is_scoped:
        own = [name for name in (where.session_id, where.session) if name is not None]
        add(
            "(m.origin <> 'message' OR m.project <> '' OR m.user <> '' "
            "OR m.session_id = ANY(%s::text[]))",
            own,
        )
    if where.session_id is not None:
        add("(m.tier <> 'session' OR m.session_id = %s)", where.session_id)
    elif not where.all_sessions and where.session is None:
        add("m.tier <> 'session'")


def _add_match(field: Field, wanted: Any, add: Callable[..., None]) -> None:
    """Add the condition for one field. Wanted: its value or values; None or empty: no condition."""
    match field.match:
        case Match.ANY_OF if wanted:
            add(f"m.{field.name} = ANY(%s)", [str(value) for value in wanted])
        case Match.ALL_OF:
            for value in wanted:
                add(_LABELLED, field.name.removesuffix("s"), value.casefold())
        case Match.EXACT if isinstance(wanted, bool):
            add(f"{'' if wanted else 'NOT '}m.{field.name}")  # so that a partial index applies
        case Match.EXACT if wanted is not None:
            add(f"m.{field.name} = %s", wanted)
        case Match.EXACT_OR_EMPTY if wanted is not None:
            add(f"m.{field.name} IN (%s, '')", wanted)


_LABELLED = "EXISTS (SELECT 1 FROM labels WHERE field = %s AND value = %s AND n = m.n)"


def _add_times(db: Connection, where: Filter, add: Callable[..., None]) -> None:
    for sql, at in (
        (f"{SAID_AT} >= %s", where.since),
        (f"{SAID_AT} < %s", where.until),
        ("coalesce(m.valid_from, m.created_at) <= %s", where.as_of),
        ("coalesce(u.saved_at, m.created_at) <= %s", where.known_at),
    ):
        if at is not None:
            add(sql, to_int(at))
    if where.as_of is None:
        return
    if where.known_at is None:
        add("NOT coalesce(m.ends_at <= %s, false)", to_int(where.as_of))
        return
    ids, ends = read_ends(db, to_int(where.known_at) or 0)
    add(
        """NOT coalesce(coalesce((SELECT k.ends_at FROM unnest(%s::text[], %s::bigint[])
            k (id, ends_at) WHERE k.id = m.id), m.valid_until) <= %s, false)""",
        ids,
        ends,
        to_int(where.as_of),
    )
