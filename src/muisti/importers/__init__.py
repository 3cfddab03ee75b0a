"""Import and export memories: one module for each format, recognised by sniffing.

To add a format, add a module with a `SPEC` to this package. Its name is the format's name.

The file store owns the Markdown of a memory. Importers are in the same layer and do not import it:
`bootstrap` passes its `MemoryCodec`. So both use the same code for front matter, links and times.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from muisti.errors import ImportFailed, InvalidRequest
from muisti.filesystem import UnsafeFile, open_file, read_file
from muisti.registry import Registry

if TYPE_CHECKING:
    from muisti.model import Memory
    from muisti.ports import ImportedMemory, MemoryCodec

MAX_SOURCE = 1 << 28
"""The most bytes of a source file: parsed, it takes several times as much memory."""
DEFAULT = "markdown"


class FormatSpec(NamedTuple):
    """A format that can be imported and perhaps exported."""

    sniff: Callable[[Path], bool]
    """Return whether an existing file or folder has this format. May raise OSError."""
    load: Callable[[Path, MemoryCodec], list[ImportedMemory]]
    """Return the memories. Raises ImportFailed with the place, and OSError."""
    dump: Callable[[Sequence[Memory], MemoryCodec], str] | None = None
    """Return all memories as one text. None if the format cannot be exported."""
    suffix: str = ""
    """The suffix of its files, for messages."""
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

    def load(self, source: Path) -> list[ImportedMemory]:
        """Return everything in a file or folder. Raises ImportFailed."""
        formats = FORMATS.load_all()
        *others, last = [spec.suffix for spec in formats.values() if spec.suffix]
        fix = f"pass a {', '.join(others)} or {last} file, or a folder"
        try:
            if not source.is_dir():
                os.close(open_file(source.resolve(strict=True)))  # raises for a named pipe
                if source.stat().st_size > MAX_SOURCE:
                    raise ImportFailed(f"{source}: is larger than {MAX_SOURCE >> 20} MiB; split it")
            for spec in sorted(formats.values(), key=lambda spec: spec.is_generic):
                if spec.sniff(source):
                    return spec.load(source, self._codec)
        except UnsafeFile as error:
            raise ImportFailed(f"{source}: {error}") from error
        except OSError as error:
            raise ImportFailed(f"{source}: {error.strerror}; {fix}") from error
        raise ImportFailed(f"{source}: is not a known format; {fix}")


def read_source(source: Path) -> bytes:
    """Return the bytes of a file that was named; a link to it is followed. Raises OSError."""
    return read_file(source.resolve(strict=True), MAX_SOURCE)[0]


def list_export_formats() -> list[str]:
    """Return the names of the export formats, the default first."""
    formats = FORMATS.load_all()
    return [name for name in FORMATS.names(first=DEFAULT) if formats[name].dump is not None]
