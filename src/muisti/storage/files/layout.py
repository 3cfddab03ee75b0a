"""The formats of a vault's files, for a store that has no folder."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import fields
from urllib.parse import unquote

from muisti.errors import BrokenFile, InvalidRequest
from muisti.model import CORE_SECTIONS, Event, Exchange, Message
from muisti.ports.moving import Line, Part, Sections
from muisti.ports.rows import MessageLine
from muisti.settings import Settings
from muisti.storage.files import journal, message_codec
from muisti.storage.files.core_memory import NAME, USERS, make_user_folder, parse_sections
from muisti.storage.files.documents import NOTES
from muisti.storage.files.memory_ids import read_memory_id
from muisti.storage.files.sync.differences import precedence
from muisti.storage.files.timestamps import format_time
from muisti.storage.files.vault import may_hold_memories
from muisti.storage.files.versions import make_archive_path

OWN_FOLDERS = ("archive", ".history", ".trash", "journal", "conversations", USERS, NOTES, "memory")
"""Folders of a vault in which every file is the vault's."""
OWN_FILES = (NAME, "MEMORY.md", "USER.md")
_PARTS = (
    (Part.EVENTS, r"journal/[^/]+\.jsonl"),
    (Part.MESSAGES, r"(\.trash/)?conversations/[^/]+/[^/]+\.jsonl"),
    (Part.CORE, rf"((\.trash|\.history)/)?({USERS}/[^/]+/)?{re.escape(NAME)}"),
    (Part.VERSION, r"\.history/[^/]+/\d{8}T\d{12}Z(\.merged)?\.md"),
    (Part.ARCHIVED, r"archive/.+\.md"),
    (Part.MEMORY, r"\.trash/(?!conversations/|users/).+\.md"),
)
_KEYS = tuple(field.name for field in fields(Exchange) if field.name != "at")


class MarkdownLayout:
    """Implements the port VaultLayout."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def classify(self, path: str) -> Part | None:
        """Return what a file holds; None if it is not one of the vault's."""
        names = path.split("/")
        if any(name in ("", ".", "..") for name in names) or "\\" in path or "\0" in path:
            return None
        for part, pattern in _PARTS:
            if re.fullmatch(pattern, path):
                return part
        if path in OWN_FILES or (names[0] in OWN_FOLDERS and len(names) > 1):
            is_note = names[0] in (NOTES, "memory") and path.endswith(".md")
            return Part.MEMORY if is_note else Part.OTHER
        is_inside = all(
            may_hold_memories(name, top=depth == 0) for depth, name in enumerate(names[:-1])
        )
        is_memory = is_inside and path.endswith(".md") and names[-1][0] != "."
        return Part.MEMORY if is_memory else None

    def find_memory_id(self, data: bytes) -> str | None:
        """Return the ID in the front matter of a file, or None."""
        return read_memory_id(data[:4096])

    def precedence(self, path: str) -> tuple[bool, int, str]:
        """Return the sort key of files with the same ID: the first one is the memory's."""
        return precedence(path)

    def make_archive_path(self, path: str, memory_id: str) -> str:
        """Return the path of a file in the archive."""
        return make_archive_path(path, memory_id)

    def parse_messages(self, path: str, lines: Sequence[Line]) -> list[MessageLine | None]:
        """Return the messages of lines, redacted; None for a line that is not a message."""
        path = path.removeprefix(".trash/")
        parsed = [message_codec.parse_line(path, raw, place) for place, raw in lines]
        found = [line for line in parsed if line is not None]
        message_codec.redact_lines(found, {}, self._settings)
        redacted = iter(found)
        return [None if line is None else next(redacted) for line in parsed]

    def format_message(self, conversation: str, line: MessageLine) -> bytes:
        """Return the line of a message."""
        message = Message(
            id=line.id,
            conversation=conversation,
            role=line.role,
            content=line.content,
            at=line.at,
            type=line.type,
            meta=line.meta,
        )
        return message_codec.format_line(message)

    def parse_event(self, line: bytes) -> Event | None:
        """Return the event of a line, or None."""
        return journal.parse_event(line)

    def format_event(self, event: Event) -> bytes:
        """Return the line of an event."""
        return journal.format_line(event)

    def find_owner(self, path: str) -> str | None:
        """Return the user of a file of core memory, "" for the vault's; None if unknown."""
        folder = path.rpartition("/")[0].rpartition("/")[2]
        if folder in ("", ".trash", ".history"):
            return ""
        try:
            owner = unquote(folder, errors="strict")
            return owner if make_user_folder(owner) == folder else None
        except UnicodeDecodeError:
            return None

    def make_core_path(self, owner: str) -> str:
        """Return the path of a user's core memory, or of the vault's."""
        return f"{USERS}/{make_user_folder(owner)}/{NAME}" if owner else NAME

    def parse_core(self, path: str, data: bytes) -> Sections | None:
        """Return the entries of a file of core memory; None if it cannot be read."""
        try:
            return parse_sections(path, data)
        except (BrokenFile, InvalidRequest):
            return None

    def format_core(self, sections: Sections) -> bytes:
        """Return a file of core memory."""
        table = {name: sections[name] for name in CORE_SECTIONS if name in sections}
        return json.dumps(table, ensure_ascii=False, indent=2).encode() + b"\n"

    def format_exchange(self, exchange: Exchange) -> bytes:
        """Return the line of an exchange that waits for extraction."""
        line = {"at": format_time(exchange.at)} | {key: getattr(exchange, key) for key in _KEYS}
        text = json.dumps(line, ensure_ascii=False, separators=(",", ":"))
        return text.encode("utf-8", "replace") + b"\n"
