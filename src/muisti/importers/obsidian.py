"""Obsidian: a vault with notes, wikilinks, tags and aliases. `.obsidian/` and files other than
Markdown are not touched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from muisti.importers import FormatSpec, basic_memory
from muisti.importers.export_names import make_unique_names
from muisti.importers.note_files import load_linked_notes
from muisti.importers.source import Source
from muisti.model import Memory
from muisti.ports import ImportItem, MemoryCodec, SkippedItem
from muisti.ports.importing import ExtraValue

_NOT_IN_TAG = re.compile(r"[^\w/-]+")


def sniff(source: Source) -> bool:
    """Return whether a folder contains `.obsidian`, which notes of basic-memory may have, too."""
    return source.has_folder(".obsidian") and not basic_memory.sniff(source)


def load(source: Source, codec: MemoryCodec) -> Iterator[ImportItem]:
    """Yield the notes of a vault."""
    yield from load_linked_notes(source, codec, form="obsidian", name_titles=True)
    others = len(source.files) - len(source.find(".md", ".markdown"))
    if others:
        yield SkippedItem(source.shown, "attachments and canvases", others, expected=True)


def dump_files(memories: Sequence[Memory], codec: MemoryCodec) -> Iterator[tuple[str, str]]:
    """Yield a note for each memory, named after its title. Links are in the property `related`.

    The notes keep the front matter of muisti, so importing them brings the same memories back.
    """
    names = make_unique_names(memories, as_files=True)
    yield ".obsidian/app.json", "{}\n"
    for memory in memories:
        extra: dict[str, ExtraValue] = dict(codec.get_extra(memory))
        if tags := [_NOT_IN_TAG.sub("-", word).strip("-") for word in memory.keywords]:
            extra["tags"] = tuple(tag for tag in tags if tag)
        linked = [names[link.target] for link in memory.links if link.target in names]
        if linked:
            extra["related"] = tuple(dict.fromkeys(f"[[{name}]]" for name in linked))
        folder = f"projects/{memory.project}/" if memory.project else ""
        yield f"{folder}{names[memory.id]}.md", codec.format_memory(memory, extra)


SPEC = FormatSpec(sniff, load, dump_files=dump_files, is_marked=True)
