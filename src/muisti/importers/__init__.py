"""Memories as text for other programs, and back: one module for each format, found by sniffing.

To add a format, add a module to this package with a `SPEC`; its name is the format's name.

How a memory is written as Markdown belongs to the file store, beside which importers stand in the
layers. So they do not import it: they are given a `MemoryCodec` (a port), and `bootstrap` passes
the file store's. Both sides read and write the same front matter, links and times by the same code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from muisti.errors import ImportFailed, InvalidRequest
from muisti.registry import Registry

if TYPE_CHECKING:
    from muisti.model import Memory
    from muisti.ports import ImportedMemory, MemoryCodec

MAX_SOURCE = 1 << 30
DEFAULT = "markdown"


class FormatSpec(NamedTuple):
    """A format that memories can be read from, and perhaps written in."""

    sniff: Callable[[Path], bool]
    """Whether a file or folder, which exists, is in this format. May raise OSError."""
    load: Callable[[Path, MemoryCodec], list[ImportedMemory]]
    """Raises ImportFailed that names the place, and OSError."""
    dump: Callable[[Sequence[Memory], MemoryCodec], str] | None = None
    """All memories as one text; None for a format that is only read."""
    suffix: str = ""
    """How its files end, for messages."""
    is_generic: bool = False
    """Sniffed after all others: it takes every file of its kind, also those of another program."""


FORMATS: Registry[FormatSpec] = Registry("muisti.importers")


class ImportExportFiles:
    """Reads and writes every format of this package."""

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
        cure = f"name a {', '.join(others)} or {last} file, or a folder"
        try:
            if source.stat().st_size > MAX_SOURCE and not source.is_dir():
                raise ImportFailed(f"{source} is larger than {MAX_SOURCE >> 20} MiB: split it")
            for spec in sorted(formats.values(), key=lambda spec: spec.is_generic):
                if spec.sniff(source):
                    return spec.load(source, self._codec)
        except OSError as error:
            raise ImportFailed(f"{source}: {error.strerror}: {cure}") from error
        raise ImportFailed(f"{source}: cannot tell what this is: {cure}")


def list_export_formats() -> list[str]:
    """Return the names of the formats that can be written, the default first."""
    formats = FORMATS.load_all()
    return [name for name in FORMATS.names(first=DEFAULT) if formats[name].dump is not None]
