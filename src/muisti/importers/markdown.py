"""Markdown: a folder of notes, one note, or an export of many memories in one file.

An export contains the memories' files, each after a line with its length in bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from muisti.errors import ImportFailed
from muisti.importers import FormatSpec
from muisti.importers.note_files import load_linked_notes, parse_file
from muisti.importers.source import Source
from muisti.model import Memory
from muisti.ports import ImportItem, MemoryCodec, SkippedItem

_BOUNDARY = re.compile(rb"<!-- muisti memory, (\d+) bytes -->\n")


def sniff(source: Source) -> bool:
    """Return whether it is a Markdown file, or a folder with one."""
    return bool(source.find(".md", ".markdown"))


def load(source: Source, codec: MemoryCodec) -> Iterator[ImportItem]:
    """Yield the memories of a file, or the notes below a folder."""
    if source.is_folder:
        yield from load_linked_notes(source, codec, form="user", name_titles=False)
        if others := len(source.files) - len(source.find(".md", ".markdown")):
            yield SkippedItem(source.shown, "other files", others, expected=True)
        return
    [path] = source.start(source.files[:1])
    data, changed = source.read(path)
    sections = list(_split_export(source.shown, data)) or [data]
    for number, section in enumerate(sections, start=1):
        where = f"{source.shown}, memory {number}" if len(sections) > 1 else source.shown
        try:
            yield parse_file(where, f"{source.path.parent.name}/{path}", section, changed, codec)
        except ImportFailed as error:
            yield SkippedItem(where, str(error))


def _split_export(path: str, data: bytes) -> Iterator[bytes]:
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
    texts = [codec.format_memory(memory, codec.get_extra(memory)) for memory in memories]
    return "".join(f"<!-- muisti memory, {len(text.encode())} bytes -->\n{text}" for text in texts)


SPEC = FormatSpec(sniff, load, dump, suffix=".md", is_generic=True)
