"""Parse and format memories, links and times as the vault's files have them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from muisti.errors import BrokenFile, ImportFailed
from muisti.model import Link, Memory
from muisti.model.memory import FIELDS
from muisti.ports.documents import DocumentFormat
from muisti.settings import Settings
from muisti.storage.files import frontmatter
from muisti.storage.files.errors import BadFrontMatter
from muisti.storage.files.file_names import make_file_name
from muisti.storage.files.frontmatter import Value
from muisti.storage.files.link_codec import parse_link
from muisti.storage.files.memory_codec import (
    TYPED,
    check_conflict_markers,
    edit_document,
    encode_file,
    format_fields,
    parse_memory,
)
from muisti.storage.files.path_info import make_restored_path, make_trash_path
from muisti.storage.files.timestamps import parse_time
from muisti.text.redact import redact_text

_KNOWN = frozenset(name for field in FIELDS for name in (field.name, field.alias))


class MarkdownCodec:
    """Implements the port MemoryCodec."""

    def __init__(
        self, settings: Settings, read_text: Callable[[Memory], str] | None = None
    ) -> None:
        """Read text: returns the text of a stored memory's file. Raises BrokenFile."""
        self._settings = settings
        self._read_text = read_text

    def parse_memory(self, path: str, text: str, modified: datetime) -> Memory:
        """Parse the text of a file. Raises ImportFailed."""
        try:
            check_conflict_markers(text)
            return parse_memory(path, frontmatter.parse(text), self._settings, modified)
        except BadFrontMatter as error:
            raise ImportFailed(str(error)) from error

    def parse_note(self, text: str) -> tuple[dict[str, Value], str]:
        """Return all keys of a note's front matter and its body. Raises ImportFailed.

        A value that is neither text nor a list of texts is returned as its YAML.
        """
        try:
            document = frontmatter.parse(text)
        except BadFrontMatter as error:
            raise ImportFailed(str(error)) from error
        values: dict[str, Value] = {}
        for key, entry in document.entries.items():
            value = entry.value
            values[key] = (
                text[entry.after_key : entry.value_end].strip() if value is None else value
            )
        return values, document.body

    def format_memory(self, memory: Memory, extra: Mapping[str, Value] | None = None) -> str:
        """Return the text of a memory's file. Extra: further keys of its front matter."""
        fields = {**format_fields(memory), **(extra or {})}
        return frontmatter.compose(fields, memory.content, numbers=TYPED)

    def get_extra(self, memory: Memory) -> dict[str, Value]:
        """Return the keys of a stored memory's file that are no fields, redacted."""
        try:
            text = self._read_text(memory) if self._read_text is not None else ""
            values, _ = self.parse_note(text)
        except (BrokenFile, ImportFailed):
            return {}  # a person edits the file
        return {
            key: redact_text(value, self._settings)
            if isinstance(value, str)
            else tuple(redact_text(one, self._settings) for one in value)
            for key, value in values.items()
            if key not in _KNOWN
        }

    def parse_link(self, line: str) -> Link:
        """Parse a link in front matter. Raises ImportFailed."""
        try:
            return parse_link("", line, datetime.fromtimestamp(0, UTC))
        except BadFrontMatter as error:
            raise ImportFailed(str(error)) from error

    def parse_time(self, field: str, text: str) -> datetime:
        """Parse a time. Raises ImportFailed, which names the field."""
        try:
            return parse_time(field, text)
        except BadFrontMatter as error:
            raise ImportFailed(str(error)) from error


class MarkdownFormat(MarkdownCodec):
    """Implements the port VaultFormat."""

    @property
    def documents(self) -> DocumentFormat:
        """How documents are read."""
        from muisti.storage.files.document_copies import MarkdownDocuments

        return MarkdownDocuments(self._settings)

    def encode_memory(self, memory: Memory, extra: Mapping[str, Value] | None = None) -> bytes:
        """Return the bytes of a new file. Raises InvalidMemory."""
        return encode_file(self.format_memory(memory, extra), memory)

    def rewrite_memory(self, data: bytes, memory: Memory) -> bytes:
        """Return a file's bytes with a memory's fields. Raises BrokenFile, InvalidMemory."""
        try:
            return edit_document(frontmatter.parse(data.decode()), memory, self._settings)[0]
        except (UnicodeDecodeError, BadFrontMatter) as error:
            raise BrokenFile(str(memory.file_path), str(error)) from error

    def decode_memory(self, path: str, data: bytes) -> Memory:
        """Return the memory in a file. Raises BrokenFile."""
        try:
            text = data.decode()
            check_conflict_markers(text)
            document = frontmatter.parse(text)
            return parse_memory(path, document, self._settings, datetime.fromtimestamp(0, UTC))
        except (UnicodeDecodeError, BadFrontMatter) as error:
            raise BrokenFile(path, f"cannot be read ({error})") from error

    def make_path(self, memory: Memory) -> str:
        """Return the path of a memory's file, if it is not taken."""
        return make_file_name(memory, self._settings)

    def make_trash_path(self, path: str, at: datetime) -> str:
        """Return the path that a file gets in the trash."""
        return make_trash_path(path, at)

    def make_restored_path(self, path: str) -> str:
        """Return the path that a file in the trash had before."""
        return make_restored_path(path)
