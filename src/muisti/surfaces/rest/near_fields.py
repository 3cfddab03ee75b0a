"""The names that a request may use, so that an unknown one can be answered with a suggestion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import Request

from muisti.text.near_names import suggest_field

Schema = Mapping[str, Any]


def describe_unknown(request: Request, location: Sequence[str | int]) -> str:
    """Return what to say about an unknown field; location: as in a validation error."""
    what = "parameter" if location[0] == "query" else "field"
    meant = suggest_field(str(location[-1]), _list_known(request, location))
    return f"unknown {what}; did you mean {meant}?" if meant else f"unknown {what}"


def _list_known(request: Request, location: Sequence[str | int]) -> list[str]:
    """Return the names that are known at a place; none for paths that are not documented."""
    document = request.app.openapi()
    path = getattr(request.scope.get("route"), "path_format", "")
    operation = document["paths"].get(path, {}).get(request.method.lower())
    if operation is None:
        return []
    if location[0] != "body":
        parameters = operation.get("parameters", ())
        return [one["name"] for one in parameters if one["in"] == location[0]]
    contents = operation.get("requestBody", {}).get("content", {})
    schema: Schema = next((one["schema"] for one in contents.values()), {})
    schemas = document["components"]["schemas"]
    for part in location[1:-1]:
        schema = _resolve(schema, schemas)
        is_item = isinstance(part, int)
        schema = schema.get("items", {}) if is_item else schema.get("properties", {}).get(part, {})
    return list(_resolve(schema, schemas).get("properties", ()))


def _resolve(schema: Schema, schemas: Mapping[str, Schema]) -> Schema:
    """Return the schema that is referred to; of a value that may be null, the other one."""
    for choice in schema.get("anyOf", ()):
        if choice.get("type") != "null":
            return _resolve(choice, schemas)
    if "$ref" in schema:
        return schemas[schema["$ref"].rsplit("/", 1)[-1]]
    return schema
