"""Core memory on disk: `core_memory.json` with the sections `user` and `agent`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from muisti.errors import BrokenFile
from muisti.model import CORE_SECTIONS, CoreMemory
from muisti.storage.files.atomic_write import AtomicWriter
from muisti.storage.files.disk import Disk, disk_errors

NAME = "core_memory.json"
USER_FILE = "USER.md"
MAX_USER_FILE = 1_000_000
PREVIOUS = ".history/core_memory.json"
_FIX = "fix it, or restore the copy in .history"


class FileCoreMemory:
    """The file, and a copy of the previous one."""

    def __init__(self, root: Path, disk: Disk | None = None) -> None:
        self._root = root
        self._disk = disk or Disk()
        self._writer = AtomicWriter(root, root / ".muisti" / "tmp", self._disk)

    def read(self) -> CoreMemory:
        """Return the core memory. Raises BrokenFile."""
        table = self._read_table()
        sections: dict[str, dict[str, str]] = {}
        for section in CORE_SECTIONS:
            entries = table.get(section, {})
            # A number or a list that a person wrote is shown as JSON.
            sections[section] = {
                key: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
                for key, value in entries.items()
            }
        return CoreMemory(**sections)

    def write(self, section: str, changes: Mapping[str, str | None]) -> None:
        """Set entries of one section, or remove those with None. Call under the vault's lock."""
        table = self._read_table()
        entries: dict[str, Any] = table.setdefault(section, {})
        for key, value in changes.items():
            if value is None:
                entries.pop(key, None)
            else:
                entries[key] = value
        for known in CORE_SECTIONS:
            table.setdefault(known, {})
        if (self._root / NAME).exists():
            with disk_errors(NAME):
                self._disk.make_folder((self._root / PREVIOUS).parent)
                previous = (self._root / NAME).read_bytes()
            self._writer.replace(PREVIOUS, previous)
        data = json.dumps(table, ensure_ascii=False, indent=2).encode() + b"\n"
        self._writer.replace(NAME, data)

    def read_user_file(self) -> str | None:
        """Return the text of `USER.md`; None if core memory exists already. Raises BrokenFile."""
        source = self._root / USER_FILE
        if (self._root / NAME).exists() or not source.is_file():
            return None
        try:
            with source.open("rb") as file:
                return file.read(MAX_USER_FILE).decode("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise BrokenFile(
                USER_FILE, f"cannot be read ({error}): save it as UTF-8 text"
            ) from error

    def _read_table(self) -> dict[str, Any]:
        """Return the parsed file, with everything that a person added to it."""
        try:
            data = (self._root / NAME).read_bytes()
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise BrokenFile(
                NAME, f"cannot be read ({error.strerror}): check its permissions"
            ) from error
        try:
            table = json.loads(data.decode("utf-8-sig")) if data.strip() else {}
        except (ValueError, RecursionError) as error:
            raise BrokenFile(NAME, f"is not valid JSON ({error}): {_FIX}") from error
        if not isinstance(table, dict) or not all(
            isinstance(table.get(name, {}), dict) for name in CORE_SECTIONS
        ):
            raise BrokenFile(
                NAME, f'must be an object like {{"user": {{}}, "agent": {{}}}}: {_FIX}'
            )
        return table
