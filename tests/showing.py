"""The text of a result with all its fields. The repr of a memory shows one line only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass


def show_all(value: object) -> str:
    """Return everything that a value says, with the fields of the values within it."""
    return f"{_to_plain(value)} {value!r} {value}"


def _to_plain(value: object) -> object:
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _to_plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _to_plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_to_plain(item) for item in value]
    return value
