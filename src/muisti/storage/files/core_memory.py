"""Core memory: `core_memory.json`, two short tables that stand at the head of every context."""

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
FIRST = "USER.md"
MOST_READ = 1_000_000
PREVIOUS = ".history/core_memory.json"
_CURE = "mend it by hand, or put the one before it back, which is in .history"


class FileCoreMemory:
    """The file, and the one before it."""

    def __init__(self, root: Path, disk: Disk | None = None) -> None:
        self._root = root
        self._disk = disk or Disk()
        self._writer = AtomicWriter(root, root / ".muisti" / "tmp", self._disk)

    def read(self) -> CoreMemory:
        """What it says. Raises BrokenFile."""
        table = self._table()
        return CoreMemory(**{section: _texts(table.get(section, {})) for section in CORE_SECTIONS})

    def write(self, section: str, changes: Mapping[str, str | None]) -> None:
        """Set or (None) remove entries of one section; all else in the file stays. Call under the vault's lock."""
        table = self._table()
        entries: dict[str, Any] = table.setdefault(section, {})
        for key, value in changes.items():
            if value is None:
                entries.pop(key, None)
            else:
                entries[key] = value
        for known in CORE_SECTIONS:
            table.setdefault(known, {})
        self._keep_previous()
        data = json.dumps(table, ensure_ascii=False, indent=2).encode() + b"\n"
        self._writer.replace(NAME, data)

    def read_user_file(self) -> str | None:
        """What `USER.md` says, unless core memory is there already."""
        source = self._root / FIRST
        if (self._root / NAME).exists() or not source.is_file():
            return None
        try:
            with source.open("rb") as file:
                return file.read(MOST_READ).decode("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise BrokenFile(FIRST, f"cannot be read ({error}): save it as UTF-8 text") from error

    def _keep_previous(self) -> None:
        with disk_errors(NAME):
            if not (self._root / NAME).exists():
                return
            self._disk.make_folder((self._root / PREVIOUS).parent)
            data = (self._root / NAME).read_bytes()
        self._writer.replace(PREVIOUS, data)

    def _table(self) -> dict[str, Any]:
        """The file as it is, with whatever a person added to it."""
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
            raise BrokenFile(NAME, f"is not valid JSON ({error}): {_CURE}") from error
        if not isinstance(table, dict) or not all(
            isinstance(table.get(name, {}), dict) for name in CORE_SECTIONS
        ):
            raise BrokenFile(
                NAME, f'must be an object like {{"user": {{}}, "agent": {{}}}}: {_CURE}'
            )
        return table


def _texts(entries: dict[str, Any]) -> dict[str, str]:
    """What a person wrote as a number or a list is shown as JSON."""
    return {
        key: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for key, value in entries.items()
    }
