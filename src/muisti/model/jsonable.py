"""Conversion of values to types that JSON supports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime

Jsonable = str | int | float | bool | None | list["Jsonable"] | dict[str, "Jsonable"]


def to_jsonable(value: object) -> Jsonable:
    """Return a value as JSON types; times as ISO 8601 in UTC. Raises TypeError."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if is_dataclass(value):
        plain = {field.name: to_jsonable(getattr(value, field.name)) for field in fields(value)}
        for old, new in getattr(value, "renamed_fields", {}).items():
            plain[old] = plain[new]
        return plain
    if isinstance(value, Mapping):
        return {str(key): to_jsonable(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [to_jsonable(item) for item in value]
    raise TypeError(f"{type(value).__name__} cannot be converted to JSON")
