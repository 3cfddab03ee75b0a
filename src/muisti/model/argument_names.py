"""Names of arguments that are accepted besides those of the fields (spec 0, other tools)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from muisti.errors import InvalidMemory, InvalidRequest

FIELD_OF = {"category": "kind", "tags": "keywords"}
"""The field that each accepted name stands for."""


def to_field_names(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options by the names of their fields.

    Raises InvalidRequest if a field is given under both names with different values.
    """
    fields = {name: value for name, value in options.items() if name not in FIELD_OF}
    for name, field in FIELD_OF.items():
        value = options.get(name)
        if value is None:
            continue
        other = fields.get(field)
        if other is not None and _normalize(other) != _normalize(value):
            raise InvalidRequest(
                name, value, f"must equal {field} = {other!r}, which is the same field; give one"
            )
        fields[field] = value
    return fields


def _normalize(value: object) -> object:
    return list(value) if isinstance(value, tuple | list) else value


@contextmanager
def report_names(options: Mapping[str, Any]) -> Iterator[None]:
    """Report an invalid value under the name by which it was given: `category`, not `kind`."""
    given = {
        field: name
        for name, field in FIELD_OF.items()
        if options.get(name) is not None and options.get(field) is None
    }
    try:
        yield
    except InvalidMemory as error:
        if error.field not in given:
            raise
        raise InvalidMemory(given[error.field], error.value, error.reason) from None
    except InvalidRequest as error:
        if error.option not in given:
            raise
        raise InvalidRequest(given[error.option], error.value, error.reason) from None
