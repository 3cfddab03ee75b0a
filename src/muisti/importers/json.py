"""JSON: a list of memories, or an object with such a list as `memories` or `results`.

Other programs' names of fields are understood; fields that muisti does not know are left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from muisti.errors import ImportFailed, InvalidMemory
from muisti.importers import FormatSpec
from muisti.model import Draft, Link, Memory, Usage
from muisti.model.jsonable import plain
from muisti.model.salience import counted
from muisti.ports import ImportedMemory, MemoryCodec
from muisti.remember.validate import checked_id, checked_share

_TIMES = ("created_at", "valid_from", "valid_until")
_TEXTS = frozenset("content title kind sector tier project session_id source summary".split())
_ALIASES = {
    "category": "kind",
    "type": "kind",
    "memory": "content",
    "text": "content",
    "tags": "keywords",
}


def sniff(source: Path) -> bool:
    """Return whether it is a JSON file, by its name."""
    return source.suffix.lower() == ".json"


def load(source: Path, codec: MemoryCodec) -> list[ImportedMemory]:
    """Return the memories of a file."""
    try:
        parsed = json.loads(source.read_bytes())
    except (ValueError, RecursionError) as error:
        raise ImportFailed(f"{source}: is not valid JSON ({error})") from error
    if isinstance(parsed, dict):
        parsed = parsed.get("memories", parsed.get("results"))
    if not isinstance(parsed, list):
        expected = "a list of memories, or an object with such a list as `memories`"
        raise ImportFailed(f"{source}: must be {expected}")
    found = []
    for number, item in enumerate(parsed, start=1):
        found.append(parse_item(f"{source}, memory {number}", item, codec))
    return found


def parse_item(where: str, item: object, codec: MemoryCodec) -> ImportedMemory:
    """Return the memory that a JSON object stands for. Raises ImportFailed that names `where`."""
    if not isinstance(item, Mapping):
        raise ImportFailed(f"{where}: must be an object")
    named: dict[str, object] = {}
    for key, value in item.items():
        own_name = _ALIASES.get(str(key), str(key))
        named[key if own_name in item else own_name] = value
    try:
        return _parse_fields(named, codec)
    except (InvalidMemory, ImportFailed) as error:
        raise ImportFailed(f"{where}: {error}") from error


def _parse_fields(named: Mapping[str, object], codec: MemoryCodec) -> ImportedMemory:
    known = {field.name for field in fields(Draft)}
    values: dict[str, Any] = {k: v for k, v in named.items() if k in known and v is not None}
    for key in _TIMES:
        if key in values:
            values[key] = codec.parse_time(key, str(values[key]))
    for key in ("keywords", "files"):
        if key in values:
            values[key] = _parse_texts(key, values[key])
    if "links" in values:
        values["links"] = _parse_links(values["links"], codec)
    for key in values.keys() & _TEXTS:
        if not isinstance(values[key], str):
            raise InvalidMemory(key, values[key], "it must be a text")
    if "content" not in values:
        raise InvalidMemory("content", None, "a memory needs its text")
    if "id" in values:
        values["id"] = checked_id(values["id"])
    if "importance" in values:
        checked_share("importance", values["importance"])
    salience = values.pop("salience", None)
    usage = Usage(
        salience=None if salience is None else checked_share("salience", salience),
        access_count=counted(named.get("access_count")),
    )
    is_unused = usage == Usage(salience=1.0)
    return ImportedMemory(Draft(**values), Usage() if is_unused else usage)


def _parse_texts(key: str, value: object) -> tuple[str, ...]:
    """Return the texts of a list, or of the comma-separated text that some programs write."""
    items = value.split(",") if isinstance(value, str) else value
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        raise InvalidMemory(key, value, "it must be a list of texts")
    return tuple(item.strip() for item in items if item.strip())


def _parse_links(value: object, codec: MemoryCodec) -> tuple[Link, ...]:
    if not isinstance(value, list) or not all(isinstance(item, Mapping) for item in value):
        expected = "it must be a list of objects with `type` and `target`"
        raise InvalidMemory("links", value, expected)
    return tuple(codec.parse_link(_link_line(item)) for item in value)


def _link_line(item: Mapping[str, object]) -> str:
    """Return the line of front matter that says the same."""
    details = {
        "by": item.get("extracted_by"),
        "at": item.get("created_at"),
        "confidence": item.get("confidence"),
        "from": item.get("valid_from"),
        "until": item.get("valid_until"),
    }
    words = [str(item.get("type")), str(item.get("target"))]
    words += [f"{key}={value}" for key, value in details.items() if value is not None]
    return " ".join(words)


def dump(memories: Sequence[Memory], _: MemoryCodec) -> str:
    """Return the memories as a list of objects."""
    return json.dumps([plain(memory) for memory in memories], ensure_ascii=False, indent=1) + "\n"


SPEC = FormatSpec(sniff, load, dump, suffix=".json", is_generic=True)
