"""Markdown: a folder of notes, one note, or an export of many memories in one file.

An export contains the memories' files, each after a line with its length in bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from muisti.errors import ImportFailed
from muisti.filesystem import Tree
from muisti.importers import MAX_SOURCE, FormatSpec
from muisti.model import Draft, Memory
from muisti.ports import ImportedMemory, MemoryCodec

_BOUNDARY = re.compile(rb"<!-- muisti memory, (\d+) bytes -->\n")


def sniff(source: Path) -> bool:
    """Return whether it is a folder or a Markdown file."""
    return source.is_dir() or source.suffix.lower() in (".md", ".markdown")


def load(source: Path, codec: MemoryCodec) -> list[ImportedMemory]:
    """Return the memories of a file, or of all Markdown files below a folder.

    Raises UnsafeFile for a link, a named pipe or a device in the folder: nothing is read from
    outside of it.
    """
    if not source.is_dir():
        file = source.resolve(strict=True)
        return list(_load_file(Tree(file.parent), file, source, codec))
    tree = Tree(source)
    paths = sorted(source / path for path in _list_files(tree, ""))
    if not paths:
        raise ImportFailed(f"{source}: contains no Markdown files")
    return [memory for path in paths for memory in _load_file(tree, path, path, codec)]


def _list_files(tree: Tree, folder: str) -> Iterator[str]:
    """Yield the Markdown files below a folder, without hidden ones. Links are listed as files."""
    prefix = f"{folder}/" if folder else ""
    folders = []
    with tree.scan(folder) as entries:
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                folders.append(prefix + entry.name)
            elif entry.name.endswith(".md"):
                yield prefix + entry.name
    for below in folders:
        yield from _list_files(tree, below)


def _load_file(tree: Tree, file: Path, path: Path, codec: MemoryCodec) -> Iterator[ImportedMemory]:
    """Yield the memories of a file. Path: as it was named."""
    data, status = tree.read(file, MAX_SOURCE)
    seconds = status.st_mtime
    try:
        modified = datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        modified = datetime.fromtimestamp(0, UTC)  # the file's time is out of range
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
        values: dict[str, Any] = {}
        for field in fields(Draft):
            value = getattr(memory, field.name)
            values[field.name] = None if field.default is None and value == "" else value
        yield ImportedMemory(Draft(**values))


def _split_export(path: Path, data: bytes) -> Iterator[bytes]:
    """Yield the memories of an export. By lengths, so that a memory can contain any text."""
    at = number = 0
    while boundary := _BOUNDARY.match(data, at):
        at = boundary.end() + int(boundary[1])
        number += 1
        yield data[boundary.end() : at]
    if number and at != len(data):
        wrong = "its length differs from the number in its first line"
        raise ImportFailed(f"{path}, memory {number}: {wrong}; export again, or correct it")


def dump(memories: Sequence[Memory], codec: MemoryCodec) -> str:
    """Return the memories' files as one text."""
    texts = [codec.format_memory(memory) for memory in memories]
    return "".join(f"<!-- muisti memory, {len(text.encode())} bytes -->\n{text}" for text in texts)


SPEC = FormatSpec(sniff, load, dump, suffix=".md", is_generic=True)
