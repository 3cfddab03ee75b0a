"""basic-memory: Markdown notes with observations and relations.

`- [category] text #tag` is an observation: its category and tags are kept.
`- relation [[Note]]` is a relation: it becomes a link. The text of the note stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from muisti.errors import ImportFailed
from muisti.importers import FormatSpec
from muisti.importers.mcp_memory import find_link_type
from muisti.importers.note_files import Note, NoteNames, read_notes
from muisti.importers.source import Source
from muisti.model import LinkType
from muisti.ports import ImportedLink, ImportedMemory, ImportItem, MemoryCodec, SkippedItem
from muisti.text.wikilinks import find_wikilinks

_HEAD = re.compile(rb"\A---\r?\n((?:(?!---)[^\n]*\n){0,30})")
_KEYS = (b"title:", b"type:", b"permalink:")
"""What basic-memory writes into every note. Web pages and published notes have a `permalink`."""
_OBSERVATION = re.compile(r"^[ \t]*[-*] \[([^\]\[\n]{2,60})\] +\S", re.MULTILINE)
_RELATION = re.compile(r"^[ \t]*[-*] ([^\[\]\n]{1,60}?) *\[\[([^\[\]\n|#]{1,200})", re.MULTILINE)
_SAMPLES = 20


def sniff(source: Source) -> bool:
    """Return whether notes have the front matter that basic-memory writes."""
    for path in source.find(".md")[:_SAMPLES]:
        head = _HEAD.match(source.read_head(path))
        lines = head[1].splitlines() if head else []
        if all(any(line.startswith(key) for line in lines) for key in _KEYS):
            return True
    return False


def load(source: Source, codec: MemoryCodec) -> Iterator[ImportItem]:
    """Yield the notes."""
    paths = source.start(source.find(".md", ".markdown"))
    if not paths:
        raise ImportFailed(f"{source.shown}: contains no Markdown files")
    names = NoteNames(paths)
    notes = list(read_notes(source, paths, codec))
    for note in notes:
        if isinstance(note, Note):
            for key in ("title", "permalink"):
                names.add(str(note.rest.get(key) or note.stem), note.path)
    root = source.identity
    for note in notes:
        if not isinstance(note, Note):
            yield note
            continue
        relations = [(name, target.strip()) for name, target in _RELATION.findall(note.body)]
        links, unresolved = [], []
        for link in find_wikilinks(note.body):
            path = names.find(link.target, note.folder)
            if path is None:
                unresolved.append(link.target)
            elif path != note.path:
                types = [
                    find_link_type(name) for name, target in relations if target == link.target
                ]
                known = dict.fromkeys(types or [LinkType.RELATED_TO])
                links += [ImportedLink(f"{root}/{path}", type_) for type_ in known]
        categories = tuple(dict.fromkeys(_OBSERVATION.findall(note.body)))
        extra = note.rest
        if relations:
            extra["relations"] = tuple(f"{name} {target}" for name, target in relations)
        draft = note.make_draft(codec, "basic-memory", title=note.stem, categories=categories)
        yield ImportedMemory(
            draft,
            key=f"{root}/{note.path}",
            where=source.describe(note.path),
            extra=extra,
            links=tuple(links),
            unresolved=tuple(unresolved),
        )
    others = len(source.files) - len(paths)
    if others:
        yield SkippedItem(source.shown, "other files", others, expected=True)


SPEC = FormatSpec(sniff, load)
