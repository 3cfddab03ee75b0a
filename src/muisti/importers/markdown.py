"""Markdown: a folder of notes, one note, or an export of many memories in one file.

An export is the memories' files, each behind a line that tells its length in bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path

from muisti.errors import ImportFailed
from muisti.importers import FormatSpec
from muisti.model import Draft, Memory
from muisti.ports import ImportedMemory, MemoryCodec

_BOUNDARY = re.compile(rb"<!-- muisti memory, (\d+) bytes -->\n")


def sniff(source: Path) -> bool:
    """Return whether it is a folder or a Markdown file."""
    return source.is_dir() or source.suffix.lower() in (".md", ".markdown")


def load(source: Path, codec: MemoryCodec) -> list[ImportedMemory]:
    """Return the memories of a file, or of all Markdown files below a folder."""
    paths = _find_files(source) if source.is_dir() else [source]
    return [memory for path in paths for memory in _load_file(path, codec)]


def _find_files(folder: Path) -> list[Path]:
    found = []
    for path in folder.rglob("*.md"):
        is_hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if path.is_file() and not is_hidden:
            found.append(path)
    if not found:
        raise ImportFailed(f"{folder}: holds no Markdown files")
    return sorted(found)


def _load_file(path: Path, codec: MemoryCodec) -> Iterator[ImportedMemory]:
    data = path.read_bytes()
    modified = _modified_at(path)
    sections = list(_split_export(path, data)) or [data]
    for number, section in enumerate(sections, start=1):
        where = f"{path}, memory {number}" if len(sections) > 1 else str(path)
        try:
            text = section.decode("utf-8")
            memory = codec.parse_memory(f"{path.parent.name}/{path.name}", text, modified)
        except UnicodeDecodeError as error:
            raise ImportFailed(f"{where}: is not UTF-8 text (byte {error.start})") from error
        except ImportFailed as error:
            raise ImportFailed(f"{where}: {error}") from error
        yield ImportedMemory(_to_draft(memory))


def _modified_at(path: Path) -> datetime:
    """Return when a file was last changed; 1970 if that makes no sense."""
    seconds = path.stat().st_mtime
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return datetime.fromtimestamp(0, UTC)


def _split_export(path: Path, data: bytes) -> Iterator[bytes]:
    """Yield the memories of an export. The lengths make it safe against anything a memory says."""
    at = number = 0
    while boundary := _BOUNDARY.match(data, at):
        at = boundary.end() + int(boundary[1])
        number += 1
        yield data[boundary.end() : at]
    if number and at != len(data):
        cause = "its length is not what its first line says"
        cure = "export again, or correct the number there"
        raise ImportFailed(f"{path}, memory {number}: {cause}; {cure}")


def _to_draft(memory: Memory) -> Draft:
    values = {field.name: getattr(memory, field.name) for field in fields(Draft)}
    unsaid = {
        field.name: None
        for field in fields(Draft)
        if field.default is None and values[field.name] == ""
    }
    return Draft(**values | unsaid)


def dump(memories: Sequence[Memory], codec: MemoryCodec) -> str:
    """Return the memories' files as one text."""
    texts = [codec.format_memory(memory) for memory in memories]
    return "".join(f"<!-- muisti memory, {len(text.encode())} bytes -->\n{text}" for text in texts)


SPEC = FormatSpec(sniff, load, dump, suffix=".md", is_generic=True)
