"""JSON: a list of memories, or an object with such a list as `memories` or `results`.

Field names of other programs are accepted. Unknown fields are kept as extra front-matter keys.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from muisti.errors import ImportFailed, InvalidMemory
from muisti.importers import FormatSpec
from muisti.importers.json_stream import iterate_array
from muisti.importers.source import Source
from muisti.model import Draft, Memory, Usage
from muisti.model.fields import Field, Given, ValueType
from muisti.model.jsonable import to_jsonable
from muisti.model.memory import FIELDS
from muisti.model.salience import parse_count
from muisti.ports import ImportedMemory, ImportItem, MemoryCodec, SkippedItem
from muisti.remember.import_values import to_extra
from muisti.remember.validate import validate_id, validate_share

_DRAFTED = tuple(field for field in FIELDS if field.given > Given.NEVER)
"""The fields of a draft."""
_DERIVED = frozenset(field.name for field in FIELDS) - {field.name for field in _DRAFTED} | {
    "chat",
    "score",
}
"""What exports contain of a memory, but muisti derives itself."""
_ALIASES = {alias: field.name for field in _DRAFTED for alias in field.json_aliases}


def sniff(source: Source) -> bool:
    """Return whether the file name ends in .json."""
    return source.suffix == ".json"


def load(source: Source, codec: MemoryCodec) -> Iterator[ImportItem]:
    """Yield the memories of a file. An array is read one memory after the other."""
    path = source.choose_file(".json")
    if source.read_head(path).lstrip().startswith(b"["):
        with source.open(path) as stream:
            for number, element in enumerate(iterate_array(stream, source.shown), start=1):
                where = f"{source.shown}, memory {number}"
                if element.error:
                    yield SkippedItem(where, element.error)
                else:
                    yield read_item(where, element.value, codec)
        return
    try:
        parsed = json.loads(source.read(path)[0])
    except (ValueError, RecursionError) as error:
        raise ImportFailed(f"{source.shown}: is not valid JSON ({error})") from error
    if isinstance(parsed, dict):
        parsed = parsed.get("memories", parsed.get("results"))
    if not isinstance(parsed, list):
        expected = "a list of memories, or an object with such a list as `memories`"
        raise ImportFailed(f"{source.shown}: must be {expected}")
    for number, item in enumerate(parsed, start=1):
        yield read_item(f"{source.shown}, memory {number}", item, codec)


def read_item(where: str, item: object, codec: MemoryCodec) -> ImportItem:
    """Return the memory of a JSON object, or why it has none."""
    try:
        return parse_item(where, item, codec)
    except ImportFailed as error:
        return SkippedItem(where, str(error))


def parse_item(where: str, item: object, codec: MemoryCodec) -> ImportedMemory:
    """Return the memory of a JSON object. Raises ImportFailed."""
    if not isinstance(item, Mapping):
        raise ImportFailed("must be an object")
    named: dict[str, object] = {}
    for key, value in item.items():
        own_name = _ALIASES.get(str(key), str(key))
        named[key if own_name in item else own_name] = value
    values: dict[str, Any] = {}
    try:
        for field in _DRAFTED:
            value = named.get(field.name)
            if value is None or (field.lenient and not _is_readable(field, value)):
                continue
            values[field.name] = _parse_value(field, value, codec)
            del named[field.name]
        if "content" not in values:
            raise InvalidMemory("content", None, "must not be missing")
        salience = values.pop("salience", None)
        usage = Usage(salience=salience, access_count=parse_count(named.get("access_count")))
    except InvalidMemory as error:
        raise ImportFailed(str(error)) from error
    is_unused = usage == Usage(salience=1.0)
    key = ""
    if "id" not in values:
        text = json.dumps(item, sort_keys=True, ensure_ascii=False)
        key = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return ImportedMemory(
        Draft(**values),
        Usage() if is_unused else usage,
        key=key,
        where=where,
        extra=to_extra(named, _DERIVED),
    )


def _is_readable(field: Field, value: Any) -> bool:
    """Return whether a lenient field's value is ours: other programs use these names, too."""
    if field.value_type is ValueType.LIST and isinstance(value, list):
        return all(isinstance(item, str) for item in value)
    return isinstance(value, str)


def _parse_value(field: Field, value: Any, codec: MemoryCodec) -> Any:
    match field.value_type:
        case ValueType.ID:
            return validate_id(value)
        case ValueType.TIME:
            return codec.parse_time(field.name, str(value))
        case ValueType.LIST:
            # Some programs write lists as comma-separated text.
            items = value.split(",") if isinstance(value, str) else value
            if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
                raise InvalidMemory(field.name, value, "must be a list of texts")
            return tuple(item.strip() for item in items if item.strip())
        case ValueType.LINKS:
            if not isinstance(value, list) or not all(isinstance(item, Mapping) for item in value):
                expected = "must be a list of objects with `type` and `target`"
                raise InvalidMemory("links", value, expected)
            return tuple(codec.parse_link(_format_link(item)) for item in value)
        case ValueType.SHARE:
            return validate_share(field.name, value)
        case ValueType.FLAG:
            return value  # validated when it is saved
        case _:
            if not isinstance(value, str):
                raise InvalidMemory(field.name, value, "must be a text")
            return value


def _format_link(item: Mapping[str, object]) -> str:
    """Return a link as a line of front matter."""
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


def make_object(memory: Memory, codec: MemoryCodec) -> dict[str, Any]:
    """Return a memory as an object, with the further keys of its file."""
    values = cast("dict[str, Any]", to_jsonable(memory))
    extra = codec.get_extra(memory)
    return values | {key: value for key, value in extra.items() if key not in values}


def dump(memories: Sequence[Memory], codec: MemoryCodec) -> str:
    """Return the memories as a list of objects."""
    objects = [make_object(memory, codec) for memory in memories]
    return json.dumps(objects, ensure_ascii=False, indent=1) + "\n"


SPEC = FormatSpec(sniff, load, dump, suffix=".json", is_generic=True)
