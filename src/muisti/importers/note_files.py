"""Notes of other programs: Markdown files with front matter, tags and links to one another."""

from __future__ import annotations

import hashlib
import posixpath
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any

from muisti.errors import ImportFailed, InvalidMemory
from muisti.importers.source import Source
from muisti.model import KINDS, Draft
from muisti.model.memory import FIELDS
from muisti.ports import ImportedLink, ImportedMemory, ImportItem, MemoryCodec, SkippedItem
from muisti.ports.importing import ExtraValue
from muisti.ports.link_names import make_link_key, normalize_name
from muisti.remember.validate import MAX_ITEMS, MAX_TITLE, validate_project, validate_share
from muisti.text.wikilinks import WikiLink, find_note_links, find_tags, find_wikilinks

MAX_NOTE = 1 << 25
"""The most bytes of one note."""
_DATED = re.compile(r"(\d{4})-?(\d\d)-?(\d\d)(?!\d)")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")
_HEADING = re.compile(r"\s*#[ \t]+(\S[^\n]*)")
_TAG_KEYS = ("tags", "tag", "keywords")
_TIME_KEYS = ("created", "created_at", "date")
ALIAS_KEYS = ("aliases", "alias")
_FOLDERS = {kind.folder: kind.name for kind in KINDS.values()}


class NoteNames:
    """Finds the note that a link means: by path or its end, file name, title or alias.

    Case and the form of Unicode do not matter, as in the wikilinks of memories: macOS writes file
    names in another form than people write links.
    """

    def __init__(self, paths: Iterable[str]) -> None:
        self._by_path: dict[str, str] = {}
        self._by_end: dict[str, str] = {}
        self._by_name: dict[str, str] = {}
        for path in sorted(paths, key=lambda path: (path.count("/"), path)):
            stem = normalize_name(strip_suffix(path))
            self._by_path.setdefault(stem, path)
            folder, _, name = stem.rpartition("/")
            self._by_name.setdefault(name, path)
            while "/" in folder:
                folder = folder.partition("/")[2]
                self._by_end.setdefault(f"{folder}/{name}", path)

    def add(self, name: str, path: str) -> None:
        """Add a title or an alias. File names come first."""
        self._by_name.setdefault(normalize_name(name), path)

    def find(self, target: str, folder: str = "") -> str | None:
        """Return the path of a note; None if there is none. Folder: where the link is."""
        stem = normalize_name(strip_suffix(target))
        near = posixpath.normpath(posixpath.join(normalize_name(folder), stem))
        return (
            self._by_path.get(near)
            or self._by_path.get(stem)
            or self._by_end.get(stem)
            or self._by_name.get(stem)
            or self._by_name.get(normalize_name(target))
        )


def strip_suffix(path: str) -> str:
    """Return a path without the suffix of Markdown files."""
    return re.sub(r"\.(md|markdown)\Z", "", path, flags=re.IGNORECASE)


def to_list(value: ExtraValue | None) -> list[str]:
    """Return the items of a list, or of a line with commas."""
    if value is None:
        return []
    items = value.split(",") if isinstance(value, str) else value
    return [item.strip() for item in items if item.strip()]


class Note:
    """A note that was read: its text, front matter and place."""

    def __init__(
        self, path: str, values: Mapping[str, ExtraValue], body: str, changed: datetime
    ) -> None:
        self.path = path
        self.body = body
        self.rest = dict(values)
        """The keys of the front matter that are not mapped yet."""
        self.changed = changed

    @property
    def stem(self) -> str:
        """The file name without its suffix, and without what a title cannot have."""
        name = unicodedata.normalize("NFC", strip_suffix(PurePosixPath(self.path).name))
        return _UNPRINTABLE.sub(" ", name).strip()

    @property
    def folder(self) -> str:
        """The folder, relative to the source."""
        return posixpath.dirname(self.path)

    def find_wikilinks(self) -> list[WikiLink]:
        """Return the wikilinks of the text and of the front matter."""
        values = [value for key, value in self.rest.items() if key not in (*ALIAS_KEYS, *_TAG_KEYS)]
        texts = [one for value in values for one in ([value] if isinstance(value, str) else value)]
        found = {link.target: link for text in (self.body, *texts) for link in find_wikilinks(text)}
        return list(found.values())

    def take_text(self, *keys: str) -> str:
        """Return the first of these keys that is a text, and remove it from the others."""
        for key in keys:
            value = self.rest.get(key)
            if isinstance(value, str) and value.strip():
                del self.rest[key]
                return value.strip()
        return ""

    def take_tags(self) -> list[str]:
        """Return the tags of the front matter, without `#`."""
        tags = []
        for key in _TAG_KEYS:
            value = self.rest.pop(key, None)
            if isinstance(value, str) and key != "keywords" and not set(value) & {",", "#"}:
                value = tuple(value.split())  # a tag of Obsidian or Jekyll has no space
            for tag in to_list(value):
                # People also write `tags: "#one #two"`.
                tags += [part.strip("#") for part in tag.split(" #")] if "#" in tag else [tag]
        return [tag for tag in tags if tag]

    def take_time(self, codec: MemoryCodec) -> datetime:
        """Return when the note was made: by its front matter, its name, or the file."""
        for key in _TIME_KEYS:
            value = self.rest.get(key)
            if isinstance(value, str):
                try:
                    found = codec.parse_time(key, value.strip("[]"))
                except ImportFailed:
                    continue
                if not value.startswith("[["):  # else also a link to a daily note
                    del self.rest[key]
                return found
        if dated := _DATED.match(self.stem):
            year, month, day = (int(part) for part in dated.groups())
            try:
                return datetime(year, month, day, tzinfo=UTC)
            except ValueError:
                pass
        return self.changed

    def make_draft(
        self, codec: MemoryCodec, source: str, *, title: str | None, **more: Any
    ) -> Draft:
        """Return the memory of the note. Keys with values that do not fit stay in `rest`.

        More: further fields.
        """
        values: dict[str, Any] = dict(more)
        folder = unicodedata.normalize("NFC", self.folder)
        folders = [name for name in _UNPRINTABLE.sub(" ", folder).split("/") if name]
        if len(folders) > 1 and folders[0] == "projects":
            try:
                values["project"] = validate_project(folders[1])
                folders = folders[2:]
            except InvalidMemory:
                folders = folders[1:]  # a project cannot have this name; a keyword can
        if folders and folders[0] in _FOLDERS:
            values["kind"] = _FOLDERS[folders.pop(0)]
        if self.rest.get("kind") in KINDS:
            values["kind"] = self.rest.pop("kind")
        try:
            values["project"] = validate_project(str(self.rest["project"]))
            del self.rest["project"]
        except (KeyError, InvalidMemory):
            pass
        try:
            values["importance"] = validate_share("importance", float(str(self.rest["importance"])))
            del self.rest["importance"]
        except (KeyError, ValueError, InvalidMemory):
            pass
        given = [alias for key in ALIAS_KEYS for alias in to_list(self.rest.pop(key, None))]
        aliases = self._fit("aliases", given)
        keywords = self._fit("tags", [*self.take_tags(), *find_tags(self.body), *folders])
        own_title = self.take_text("title")
        if len(own_title) > MAX_TITLE:
            self.rest["title"] = own_title
        return Draft(
            content=self.body,
            title=_UNPRINTABLE.sub(" ", own_title or title or "")[:MAX_TITLE].strip() or None,
            aliases=aliases,
            keywords=keywords,
            created_at=self.take_time(codec),
            source=source,
            **values,
        )

    def _fit(self, key: str, names: list[str]) -> tuple[str, ...]:
        """Return the names that a memory can have. The others stay in `rest`."""
        clean = dict.fromkeys(_UNPRINTABLE.sub(" ", name).strip() for name in names)
        found = tuple(name for name in clean if 0 < len(name) <= MAX_TITLE)[:MAX_ITEMS]
        if others := tuple(name for name in clean if name and name not in found):
            self.rest[key] = others
        return found


def parse_file(
    where: str, path: str, data: bytes, changed: datetime, codec: MemoryCodec
) -> ImportedMemory:
    """Return the memory of a file as muisti writes it. Raises ImportFailed."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ImportFailed(f"is not UTF-8 text (byte {error.start})") from error
    memory = codec.parse_memory(path, text, changed)
    values: dict[str, Any] = {}
    for field in fields(Draft):
        value = getattr(memory, field.name)
        values[field.name] = None if field.default is None and value == "" else value
    known = {name for one in FIELDS for name in (one.name, one.alias)}
    extra = {key: value for key, value in codec.parse_note(text)[0].items() if key not in known}
    key = "" if memory.id else hashlib.sha256(data).hexdigest()
    return ImportedMemory(Draft(**values), key=key, where=where, extra=extra)


def read_notes(
    source: Source, paths: Sequence[str], codec: MemoryCodec
) -> Iterator[Note | ImportedMemory | SkippedItem]:
    """Yield the notes with these paths, and the memories of files that muisti wrote.

    What cannot be read is a SkippedItem.
    """
    for path in paths:
        where = source.describe(path)
        try:
            data, changed = source.read(path, MAX_NOTE)
            values, body = codec.parse_note(data.decode("utf-8-sig"))
            if {"id", "kind", "sector"} <= values.keys():
                place = path if path.startswith("projects/") else "/".join(path.split("/")[-2:])
                yield parse_file(where, place, data, changed, codec)
                continue
        except UnicodeDecodeError as error:
            yield SkippedItem(where, f"is not UTF-8 text (byte {error.start})")
        except (ImportFailed, OSError) as error:
            yield SkippedItem(where, str(error))
        else:
            if body.strip():
                yield Note(path, values, body, changed)
            else:
                yield SkippedItem(where, "is empty")


def load_linked_notes(
    source: Source, codec: MemoryCodec, *, form: str, name_titles: bool
) -> Iterator[ImportItem]:
    """Yield all Markdown files below a folder, with links between them.

    Name_titles: the title is the file's name, even if the note begins with a heading.
    """
    paths = source.start(source.find(".md", ".markdown"))
    if not paths:
        raise ImportFailed(f"{source.shown}: contains no Markdown files")
    names = NoteNames(paths)
    notes = list(read_notes(source, paths, codec))
    for note in notes:
        if isinstance(note, Note):
            titles = [note.rest.get("title"), *(note.rest.get(key) for key in ALIAS_KEYS)]
            for name in titles:
                for one in to_list(name):
                    names.add(one, note.path)
    root = source.identity
    files = {
        normalize_name(posixpath.basename(path)) for path in (*source.files, *source.other_files)
    }
    wikilinks = {note.path: note.find_wikilinks() for note in notes if isinstance(note, Note)}
    wanted = {make_link_key(link.target) for links in wikilinks.values() for link in links}
    for note in notes:
        if not isinstance(note, Note):
            yield note
            continue
        heading = None if name_titles else _HEADING.match(note.body)
        title = heading[1].strip() if heading else note.stem
        draft = note.make_draft(codec, form, title=title)
        known = {make_link_key(name) for name in (draft.title or "", *draft.aliases)}
        if make_link_key(note.stem) in wanted - known and len(draft.aliases) < MAX_ITEMS:
            # Links in the texts of other notes have the file name.
            draft = replace(draft, aliases=(*draft.aliases, note.stem[:MAX_TITLE]))
        named = dict.fromkeys(link.target for link in wikilinks[note.path])
        links, unresolved = {}, []
        for target in (*named, *find_note_links(note.body)):
            path = names.find(target, note.folder)
            if path is not None and path != note.path:
                links[path] = ImportedLink(f"{root}/{path}")
            elif path is None and target in named and make_link_key(target) not in files:
                unresolved.append(target)
        yield ImportedMemory(
            draft,
            key=f"{root}/{note.path}",
            where=source.describe(note.path),
            extra=note.rest,
            links=tuple(links.values()),
            unresolved=tuple(unresolved),
        )
