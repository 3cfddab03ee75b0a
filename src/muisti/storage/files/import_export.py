"""Export and import of memories as Markdown and JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from muisti.errors import ImportFailed, InvalidMemory, InvalidRequest
from muisti.model import Draft, Link, Memory, Usage
from muisti.model.fields import Field, Given, ValueType
from muisti.model.jsonable import plain
from muisti.model.memory import FIELDS
from muisti.model.salience import counted
from muisti.ports import Incoming
from muisti.remember.validate import checked_id, checked_share
from muisti.settings import Settings
from muisti.storage.files import frontmatter
from muisti.storage.files.linked import link_from
from muisti.storage.files.memory_codec import TYPED, check_conflict, from_document, to_fields
from muisti.storage.files.timestamps import changed_at, from_text

FORMS = ("markdown", "json")
MAX_SOURCE = 1 << 30
_BOUNDARY = re.compile(rb"<!-- muisti memory, (\d+) bytes -->\n")
_DRAFTED = tuple(field for field in FIELDS if field.given > Given.NEVER)
"""What a draft may say."""
_ALIASES = {alias: field.name for field in _DRAFTED for alias in field.json_aliases}


class FileExchange:
    """Reads and writes the two forms."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def dump(self, memories: Sequence[Memory], form: str) -> str:
        """All memories as one text. The Markdown form is the files, each behind a line that tells its length."""
        if form == "json":
            return json.dumps([plain(memory) for memory in memories], ensure_ascii=False, indent=1) + "\n"
        if form != "markdown":
            raise InvalidRequest("format", form, f"it must be one of {', '.join(FORMS)}")
        return "".join(_section(memory) for memory in memories)

    def load(self, source: Path) -> list[Incoming]:
        """Everything in a file or folder."""
        try:
            if source.is_dir():
                return [item for path in _markdown_files(source) for item in self._markdown(path, path.read_bytes())]
            if source.stat().st_size > MAX_SOURCE:
                raise ImportFailed(f"{source} is larger than {MAX_SOURCE >> 20} MiB: split it")
            data = source.read_bytes()
        except OSError as error:
            raise ImportFailed(f"{source}: {error.strerror}: name a .json, .jsonl or .md file, or a folder") from error
        readers = {".json": self._json, ".jsonl": self._jsonl, ".md": self._markdown, ".markdown": self._markdown}
        if source.suffix.lower() not in readers:
            raise ImportFailed(f"{source}: cannot tell what this is: name a .json, .jsonl or .md file, or a folder")
        return list(readers[source.suffix.lower()](source, data))

    def _markdown(self, path: Path, data: bytes) -> Iterator[Incoming]:
        sections = list(_sections(path, data)) or [data]
        for number, section in enumerate(sections, start=1):
            where = f"{path}, memory {number}" if len(sections) > 1 else str(path)
            try:
                text = section.decode("utf-8")
                check_conflict(text)
                document = frontmatter.parse(text)
                modified = changed_at(path.stat())
                memory = from_document(f"{path.parent.name}/{path.name}", document, self._settings, modified)
            except UnicodeDecodeError as error:
                raise ImportFailed(f"{where}: is not UTF-8 text (byte {error.start})") from error
            except frontmatter.BadFrontMatter as error:
                raise ImportFailed(f"{where}: {error}") from error
            yield Incoming(_draft_of(memory))

    def _json(self, path: Path, data: bytes) -> Iterator[Incoming]:
        try:
            parsed = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise ImportFailed(f"{path}: is not valid JSON ({error})") from error
        items = parsed.get("memories", parsed.get("results")) if isinstance(parsed, dict) else parsed
        if not isinstance(items, list):
            raise ImportFailed(f"{path}: must be a list of memories, or an object with such a list as `memories`")
        for number, item in enumerate(items, start=1):
            yield _incoming(f"{path}, memory {number}", item)

    def _jsonl(self, path: Path, data: bytes) -> Iterator[Incoming]:
        for number, line in enumerate(data.splitlines(), start=1):
            if line.strip():
                try:
                    item = json.loads(line)
                except (ValueError, RecursionError) as error:
                    raise ImportFailed(f"{path}, line {number}: is not valid JSON ({error})") from error
                yield _incoming(f"{path}, line {number}", item)


def _section(memory: Memory) -> str:
    text = frontmatter.compose(to_fields(memory), memory.content, numbers=TYPED)
    return f"<!-- muisti memory, {len(text.encode())} bytes -->\n{text}"


def _sections(path: Path, data: bytes) -> Iterator[bytes]:
    """The parts of an export; the lengths make it safe against anything that a memory may say."""
    at = number = 0
    while boundary := _BOUNDARY.match(data, at):
        at = boundary.end() + int(boundary[1])
        number += 1
        yield data[boundary.end() : at]
    if number and at != len(data):
        cure = "its length is not what its first line says; export again, or correct the number there"
        raise ImportFailed(f"{path}, memory {number}: {cure}")


def _markdown_files(folder: Path) -> list[Path]:
    found = [p for p in folder.rglob("*.md") if p.is_file() and not any(part[0] == "." for part in p.relative_to(folder).parts)]
    if not found:
        raise ImportFailed(f"{folder}: holds no Markdown files")
    return sorted(found)


def _draft_of(memory: Memory) -> Draft:
    values = {field.name: getattr(memory, field.name) for field in _DRAFTED}
    unsaid = {name: None for name in _OPTIONAL if values[name] == ""}
    return Draft(**values | unsaid)


_OPTIONAL = tuple(field.name for field in fields(Draft) if field.default is None)


def _texts(key: str, value: object) -> tuple[str, ...]:
    """A list, or the comma-separated text that some programs write instead of one."""
    items = value.split(",") if isinstance(value, str) else value
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        raise InvalidMemory(key, value, "it must be a list of texts")
    return tuple(item.strip() for item in items if item.strip())


def _links(value: object) -> tuple[Link, ...]:
    if not isinstance(value, list) or not all(isinstance(item, Mapping) for item in value):
        raise InvalidMemory("links", value, "it must be a list of objects with `type` and `target`")
    return tuple(_link(item) for item in value)


def _link(item: Mapping[str, object]) -> Link:
    said = {"by": item.get("extracted_by"), "at": item.get("created_at"), "confidence": item.get("confidence")}
    said |= {"from": item.get("valid_from"), "until": item.get("valid_until")}
    words = (f"{key}={value}" for key, value in said.items() if value is not None)
    return link_from("", " ".join((str(item.get("type")), str(item.get("target")), *words)), datetime.fromtimestamp(0, UTC))


def _value(field: Field, value: Any) -> Any:
    """A value of a field as JSON has it. Raises InvalidMemory, BadFrontMatter."""
    match field.value_type:
        case ValueType.ID:
            return checked_id(value)
        case ValueType.TIME:
            return from_text(field.name, str(value))
        case ValueType.LIST:
            return _texts(field.name, value)
        case ValueType.LINKS:
            return _links(value)
        case ValueType.SHARE:
            return checked_share(field.name, value)
        case ValueType.FLAG:
            return value  # checked when it is saved
        case _:
            if not isinstance(value, str):
                raise InvalidMemory(field.name, value, "it must be a text")
            return value


def _incoming(where: str, item: object) -> Incoming:
    """A JSON object as a draft. Other programs' names of fields are understood; what we do not know is left out."""
    if not isinstance(item, Mapping):
        raise ImportFailed(f"{where}: must be an object")
    named = {_ALIASES.get(key, key) if _ALIASES.get(key) not in item else key: value for key, value in item.items()}
    try:
        values = {
            field.name: _value(field, named[field.name])
            for field in _DRAFTED
            if named.get(field.name) is not None and (isinstance(named[field.name], str) or not field.lenient)
        }
        if "content" not in values:
            raise InvalidMemory("content", None, "a memory needs its text")
        usage = Usage(
            salience=values.pop("salience", None),
            access_count=counted(named.get("access_count")),
        )
        return Incoming(Draft(**values), usage if usage != Usage(salience=1.0) else Usage())
    except (InvalidMemory, frontmatter.BadFrontMatter) as error:
        raise ImportFailed(f"{where}: {error}") from error
