"""Import and export memories: one module for each format, recognised by sniffing.

To add a format, add a module with a `SPEC` to this package. Its name is the format's name.

The file store owns the Markdown of a memory. Importers are in the same layer and do not import it:
`bootstrap` passes its `MemoryCodec`. So both use the same code for front matter, links and times.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from muisti.errors import ImportFailed, InvalidRequest
from muisti.filesystem import Tree, UnsafeFile, create_file
from muisti.importers.source import Source, open_source
from muisti.registry import Registry

if TYPE_CHECKING:
    from muisti.model import Memory
    from muisti.ports import ImportItem, MemoryCodec

DEFAULT = "markdown"
UTF16 = (b"\xff\xfe", b"\xfe\xff")
"""How files in UTF-16 begin, which some programs on Windows write."""


class FormatSpec(NamedTuple):
    """A format that can be imported and perhaps exported."""

    sniff: Callable[[Source], bool]
    """Return whether a file or folder has this format. May raise OSError."""
    load: Callable[[Source, MemoryCodec], Iterable[ImportItem]] | None
    """Return the items, and a SkippedItem for what cannot be read. None: only for export.

    Raises ImportFailed if nothing can be read, and OSError.
    """
    dump: Callable[[Sequence[Memory], MemoryCodec], str] | None = None
    """Return all memories as one text. None if the format cannot be exported."""
    dump_files: Callable[[Sequence[Memory], MemoryCodec], Iterator[tuple[str, str]]] | None = None
    """Return all memories as files of a folder: their relative paths and texts."""
    suffix: str = ""
    """The suffix of its files, for messages."""
    is_marked: bool = False
    """Sniffed first: it has a mark of its own, and may contain files of other formats."""
    is_generic: bool = False
    """Sniffed last: it accepts every file of its kind, also those of other programs."""


FORMATS: Registry[FormatSpec] = Registry("muisti.importers")


class ImportExportFiles:
    """Imports and exports all formats of this package."""

    def __init__(self, codec: MemoryCodec) -> None:
        self._codec = codec

    def dump(self, memories: Sequence[Memory], form: str) -> str:
        """Return all memories as one text. Raises InvalidRequest for an unknown format."""
        spec = FORMATS.find(form)
        if spec is None or spec.dump is None:
            known = ", ".join(list_export_formats())
            raise InvalidRequest("format", form, f"must be one of {known}")
        return spec.dump(memories, self._codec)

    def dump_folder(self, memories: Sequence[Memory], form: str, target: Path) -> int:
        """Write memories to a new or empty folder. Return how many files. Raises InvalidRequest."""
        formats = FORMATS.load_all()
        spec = formats.get(form)
        if spec is None or spec.dump_files is None:
            known = ", ".join(name for name, one in formats.items() if one.dump_files is not None)
            raise InvalidRequest("format", form, f"must be one of {known} for a folder")
        number = 0
        try:
            target.mkdir(parents=True, exist_ok=True)
            if Tree(target).list_names():
                raise InvalidRequest("target", target, "must be a new or an empty folder")
            for path, text in spec.dump_files(memories, self._codec):
                file = target.joinpath(*Tree(target).split(path))
                file.parent.mkdir(parents=True, exist_ok=True)
                with os.fdopen(create_file(file), "wb") as stream:
                    stream.write(text.encode())
                number += 1
        except OSError as error:
            reason = f"cannot be written: {error.strerror}"
            raise InvalidRequest("target", target, reason) from error
        return number

    def load(self, source: Path, form: str | None = None) -> LoadedSource:
        """Return the items of a file, a folder or an archive, not read yet.

        Iterating raises ImportFailed. Raises InvalidRequest for an unknown format.
        """
        loads = {name for name, spec in FORMATS.load_all().items() if spec.load is not None}
        if form is not None and form not in loads:
            known = ", ".join(sorted(loads))
            raise InvalidRequest("format", form, f"must be one of {known}")
        return LoadedSource(source, self._codec, form)


class LoadedSource:
    """The items of a source, read while they are iterated over."""

    def __init__(self, path: Path, codec: MemoryCodec, form: str | None) -> None:
        self.format = form or ""
        self._path = path
        self._codec = codec
        self._source: Source | None = None

    @property
    def share_read(self) -> float:
        """How much of the source has been read, from 0 to 1."""
        return self._source.share_read if self._source is not None else 0.0

    def __iter__(self) -> Iterator[ImportItem]:
        """Read the items. Raises ImportFailed."""
        from muisti.ports import SkippedItem

        formats = FORMATS.load_all()
        suffixes = sorted({spec.suffix for spec in formats.values() if spec.suffix})
        fix = f"pass a {', '.join(suffixes)} or .zip file, or a folder"
        try:
            with open_source(self._path) as source:
                self._source = source
                if not source.is_folder and source.read_head(source.files[0])[:2] in UTF16:
                    raise ImportFailed(f"{source.shown}: is not UTF-8 text; save it as UTF-8")
                self.format = self.format or detect_format(source, formats)
                if not self.format:
                    reason = "contains nothing" if source.is_folder else "is not a format"
                    raise ImportFailed(f"{self._path}: {reason} that muisti can import; {fix}")
                for shown, reason in source.problems:
                    yield SkippedItem(shown, reason)
                if source.other_files:
                    reason = "files that are not text"
                    yield SkippedItem(source.shown, reason, len(source.other_files), expected=True)
                if load := formats[self.format].load:
                    yield from load(source, self._codec)
        except UnsafeFile as error:
            raise ImportFailed(f"{self._path}: {error}") from error
        except OSError as error:
            raise ImportFailed(f"{self._path}: {error.strerror}") from error


def detect_format(source: Source, formats: dict[str, FormatSpec]) -> str:
    """Return the name of the format of a source, or an empty text. Raises OSError."""
    order = sorted(formats.items(), key=lambda item: (not item[1].is_marked, item[1].is_generic))
    for name, spec in order:
        if spec.sniff(source):
            return name
    return ""


def list_export_formats() -> list[str]:
    """Return the names of the export formats, the default first."""
    formats = FORMATS.load_all()
    return [name for name in FORMATS.names(first=DEFAULT) if formats[name].dump is not None]
