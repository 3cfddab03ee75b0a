"""JSON lines: one memory on each line, as in the JSON format."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from muisti.importers import FormatSpec
from muisti.importers.json import make_object, read_item
from muisti.importers.source import MAX_LINE, Source
from muisti.model import Memory
from muisti.ports import ImportItem, MemoryCodec, SkippedItem


def sniff(source: Source) -> bool:
    """Return whether the file name ends in .jsonl."""
    return source.suffix == ".jsonl"


def load(source: Source, codec: MemoryCodec) -> Iterator[ImportItem]:
    """Yield the memories of a file."""
    path = source.choose_file(".jsonl")
    for where, item in iterate_lines(source, path):
        yield item if isinstance(item, SkippedItem) else read_item(where, item, codec)


def iterate_lines(source: Source, path: str) -> Iterator[tuple[str, object]]:
    """Yield each line of a file, parsed, with its place; a SkippedItem for one that is not JSON."""
    with source.open(path) as stream:
        for number, line in enumerate(stream, start=1):
            if not line.strip():
                continue
            where = f"{source.describe(path)}, line {number}"
            if len(line) == MAX_LINE and not line.endswith(b"\n"):
                yield where, SkippedItem(where, f"has more than {MAX_LINE >> 20} MiB")
                continue
            try:
                yield where, json.loads(line.removeprefix(b"\xef\xbb\xbf").decode())
            except UnicodeDecodeError as error:
                yield where, SkippedItem(where, f"is not UTF-8 text (byte {error.start})")
            except (ValueError, RecursionError) as error:
                yield where, SkippedItem(where, f"is not valid JSON ({error})")


def dump(memories: Sequence[Memory], codec: MemoryCodec) -> str:
    """Return the memories, one on each line."""
    lines = [json.dumps(make_object(memory, codec), ensure_ascii=False) for memory in memories]
    return "".join(f"{line}\n" for line in lines)


SPEC = FormatSpec(sniff, load, dump, suffix=".jsonl", is_generic=True)
