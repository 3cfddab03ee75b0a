"""Instructions for agents: CLAUDE.md, AGENTS.md and GEMINI.md, one memory for each section."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import PurePosixPath

from muisti.errors import ImportFailed
from muisti.importers import FormatSpec
from muisti.importers.note_files import Note, read_notes
from muisti.importers.source import Source
from muisti.model import Draft
from muisti.ports import ImportedMemory, ImportItem, MemoryCodec, SkippedItem
from muisti.text.markdown import parse_blocks

_NAMES = ("claude.md", "claude.local.md", "agents.md", "agents.override.md", "gemini.md")
_DEEPEST = 2
"""Headings of this level and above begin a section."""


def sniff(source: Source) -> bool:
    """Return whether it is a file of this name, or a folder without other Markdown files."""
    notes = source.find(".md", ".markdown")
    return bool(notes) and notes == find_instructions(source)


def find_instructions(source: Source) -> list[str]:
    """Return the files with a name of instructions."""
    return [path for path in source.files if path.rpartition("/")[2].lower() in _NAMES]


def load(source: Source, codec: MemoryCodec) -> Iterator[ImportItem]:
    """Yield the sections."""
    paths = source.start(find_instructions(source) if source.is_folder else source.files)
    if not paths:
        raise ImportFailed(f"{source.shown}: contains no {', '.join(_NAMES)}")
    for note in read_notes(source, paths, codec):
        if not isinstance(note, Note):
            yield note
            continue
        file = PurePosixPath(note.path).name
        place = source.path.resolve().parent.name if not source.is_folder else source.identity
        seen: Counter[str] = Counter()
        for title, text in split_sections(note.body):
            seen[title] += 1
            where = f"{source.describe(note.path)}, section {title or 'without a heading'!r}"
            if text.strip("# \n\t") == title.strip("# "):
                yield SkippedItem(where, "headings without text", expected=True)
                continue
            draft = Draft(
                content=text,
                title=(title or file)[:300],
                kind="preference",
                keywords=(file,),
                source="instructions",
                created_at=note.changed,
            )
            key = f"{place}/{note.path}#{title}~{seen[title]}"
            yield ImportedMemory(draft, key=key, where=where, extra=note.rest)
    if others := len(source.files) - len(paths):
        yield SkippedItem(source.shown, "other files", others, expected=True)


def split_sections(body: str) -> list[tuple[str, str]]:
    """Return the sections of a Markdown text with their headings; "" for text before the first."""
    starts = [(0, "")]
    starts += [
        (block.start, block.title) for block in parse_blocks(body) if 0 < block.level <= _DEEPEST
    ]
    ends = [start for start, _ in starts[1:]] + [len(body)]
    found = []
    for (start, title), end in zip(starts, ends, strict=True):
        if text := body[start:end].strip():
            found.append((title, text))
    return found


SPEC = FormatSpec(sniff, load, is_generic=True)
