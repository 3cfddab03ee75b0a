"""Parse and format memories, links and times as the vault's files have them."""

from __future__ import annotations

from datetime import UTC, datetime

from muisti.errors import ImportFailed
from muisti.model import Link, Memory
from muisti.settings import Settings
from muisti.storage.files import frontmatter
from muisti.storage.files.link_codec import parse_link
from muisti.storage.files.memory_codec import (
    TYPED,
    check_conflict_markers,
    format_fields,
    parse_memory,
)
from muisti.storage.files.timestamps import parse_time


class MarkdownCodec:
    """Implements the port MemoryCodec."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def parse_memory(self, path: str, text: str, modified: datetime) -> Memory:
        """Parse the text of a file. Raises ImportFailed."""
        try:
            check_conflict_markers(text)
            return parse_memory(path, frontmatter.parse(text), self._settings, modified)
        except frontmatter.BadFrontMatter as error:
            raise ImportFailed(str(error)) from error

    def format_memory(self, memory: Memory) -> str:
        """Return the text of a memory's file."""
        return frontmatter.compose(format_fields(memory), memory.content, numbers=TYPED)

    def parse_link(self, line: str) -> Link:
        """Parse a link in front matter. Raises ImportFailed."""
        try:
            return parse_link("", line, datetime.fromtimestamp(0, UTC))
        except frontmatter.BadFrontMatter as error:
            raise ImportFailed(str(error)) from error

    def parse_time(self, field: str, text: str) -> datetime:
        """Parse a time. Raises ImportFailed, which names the field."""
        try:
            return parse_time(field, text)
        except frontmatter.BadFrontMatter as error:
            raise ImportFailed(str(error)) from error
