"""Examples of requests and responses, made from their schemas."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

Schema = Mapping[str, Any]
DEEPEST = 6
EXAMPLES: Mapping[str, Any] = {
    "after": 5,
    "before": 5,
    "budget": 2000,
    "chat": "telegram_123456",
    "concepts": ["PostgreSQL"],
    "content": "We chose PostgreSQL for its JSON support",
    "conversation": "telegram_123456",
    "file_path": "decisions/2026-01-31_we_chose_postgresql_0f3c2a.md",
    "files": ["src/db/schema.sql"],
    "id": "019c15a4-7e1b-7f50-9d7c-52ab610f3c2a",
    "ids": ["019c15a4-7e1b-7f50-9d7c-52ab610f3c2a"],
    "importance": 0.8,
    "keywords": ["database"],
    "kind": "decision",
    "limit": 10,
    "matched_snippet": "We chose PostgreSQL for its JSON support",
    "memory_content": "We chose PostgreSQL for its JSON support",
    "memory_id": "019c15a4-7e1b-7f50-9d7c-52ab610f3c2a",
    "memory_type": "fact",
    "offset": 0,
    "path": "docs/guide.md",
    "project": "shop",
    "query": "which database did we choose?",
    "role": "user",
    "score": 0.93,
    "session_id": "chat-42",
    "source": "user",
    "speaker": "Anna",
    "summary": "Chose a database",
    "target": "019c0f11-02aa-7c3d-8b3e-6f1d2c9a7b54",
    "text": "- Name: Anna",
    "title": "PostgreSQL for the shop",
    "type": "fact",
    "user": "anna",
    "user_message": "Let us use PostgreSQL",
    "assistant_response": "Agreed, PostgreSQL it is.",
    "value": "Anna",
}
"""Values of fields by their names in Python, so that examples look like real requests."""
SHOWN = frozenset(("content", "kind", "project", "keywords", "query", "limit", "role"))
"""Optional fields that are in the example of a request. The table has all of them."""


def resolve(schema: Schema, schemas: Mapping[str, Schema]) -> Schema:
    """Return the schema that is referred to; of a value that may be null, the other one."""
    for key in ("anyOf", "oneOf", "allOf"):
        for choice in schema.get(key, ()):
            if choice.get("type") != "null":
                return resolve(choice, schemas)
    if "$ref" in schema:
        return resolve(schemas[schema["$ref"].rsplit("/", 1)[-1]], schemas)
    return schema


def make_example(
    schema: Schema, schemas: Mapping[str, Schema], *, name: str = "", required_only: bool = False
) -> Any:
    """Return a value that fits a schema. Required only: leave out most optional fields."""
    return _make(schema, schemas, name, required_only, 0)


def make_request(schema: Schema, schemas: Mapping[str, Schema]) -> Any:
    """Return an example of a request body: the fields that are mostly used."""
    short = make_example(schema, schemas, required_only=True)
    return short or make_example(schema, schemas)


def _make(
    schema: Schema, schemas: Mapping[str, Schema], name: str, required_only: bool, depth: int
) -> Any:
    whole = resolve(schema, schemas)
    if "enum" in whole or "const" in whole:
        return whole.get("const", whole.get("enum", [None])[0])
    kind = whole.get("type")
    snake_case = "".join(f"_{char.lower()}" if char.isupper() else char for char in name)
    known = EXAMPLES.get(snake_case)
    if known is not None and _fits(known, kind):
        return known
    if kind == "object" or "properties" in whole:
        if depth > DEEPEST:
            return {}
        needed = whole.get("required", ())
        return {
            field: _make(value, schemas, field, required_only, depth + 1)
            for field, value in whole.get("properties", {}).items()
            if not value.get("deprecated")
            and (not required_only or field in needed or field in SHOWN)
        } or ({"name": "Anna"} if "additionalProperties" in whole else {})
    if kind == "array":
        return [_make(whole.get("items", {}), schemas, name, required_only, depth + 1)]
    return _make_simple(whole, kind)


def _make_simple(schema: Schema, kind: str | None) -> Any:
    """Return a text, a number or a flag."""
    if schema.get("default") is not None:
        return schema["default"]
    if schema.get("format") == "date-time":
        return "2026-01-31T12:00:00Z"
    numbers = {"integer": 1, "number": 0.5, "boolean": False, "null": None}
    return numbers.get(kind or "", "text")


def _fits(value: Any, kind: str | None) -> bool:
    types: Mapping[str, Any] = {
        "array": list,
        "integer": int,
        "number": (int, float),
        "string": str,
    }
    return isinstance(value, types.get(kind or "", ()))


def make_curl(
    base_url: str,
    method: str,
    path: str,
    operation: Schema,
    schemas: Mapping[str, Schema],
    *,
    with_token: bool,
) -> str:
    """Return a command that calls an operation with example values."""
    query = {}
    for parameter in operation.get("parameters", ()):
        value = make_example(parameter["schema"], schemas, name=parameter["name"])
        if parameter["in"] == "path":
            path = path.replace(f"{{{parameter['name']}}}", str(value))
        elif parameter["in"] == "query" and parameter.get("required"):
            query[parameter["name"]] = value
    address = f"{base_url}{path}" + (f"?{urlencode(query)}" if query else "")
    lines = [f"curl {'' if method == 'get' else f'-X {method.upper()} '}'{address}'"]
    if with_token:
        lines.append('-H "Authorization: Bearer $MUISTI_TOKEN"')
    body = get_body(operation)
    if body is not None:
        example = make_request(body, schemas)
        lines.append("-H 'Content-Type: application/json'")
        lines.append(f"-d '{json.dumps(example, ensure_ascii=False)}'")
    return " \\\n  ".join(lines)


def get_body(operation: Schema) -> Schema | None:
    """Return the schema of the request's body, or None."""
    contents = operation.get("requestBody", {}).get("content", {})
    return next((one["schema"] for one in contents.values()), None)
