"""JSON lines: one memory on each line, as in the JSON format."""

from __future__ import annotations

import json
from pathlib import Path

from muisti.errors import ImportFailed
from muisti.importers import FormatSpec, read_source
from muisti.importers.json import parse_item
from muisti.ports import ImportedMemory, MemoryCodec


def sniff(source: Path) -> bool:
    """Return whether the file name ends in .jsonl."""
    return source.suffix.lower() == ".jsonl"


def load(source: Path, codec: MemoryCodec) -> list[ImportedMemory]:
    """Return the memories of a file."""
    found = []
    for number, line in enumerate(read_source(source).splitlines(), start=1):
        if not line.strip():
            continue
        where = f"{source}, line {number}"
        try:
            item = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ImportFailed(f"{where}: is not valid JSON ({error})") from error
        found.append(parse_item(where, item, codec))
    return found


SPEC = FormatSpec(sniff, load, suffix=".jsonl", is_generic=True)
