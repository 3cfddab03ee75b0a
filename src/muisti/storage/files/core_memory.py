"""Core memory on disk: `core_memory.json` with the sections `user` and `agent`.

The facts about one of several users are in `users/NAME/core_memory.json`.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from muisti.errors import BrokenFile, Conflict, InvalidRequest, VaultError
from muisti.filesystem import Tree, UnsafeFile, is_portable_name
from muisti.model import CORE_SECTIONS, Problem
from muisti.storage.files.atomic_write import AtomicWriter
from muisti.storage.files.disk import Disk, disk_errors

if TYPE_CHECKING:
    from muisti.model import CoreMemory

NAME = "core_memory.json"
USERS = "users"
USER_FILE = "USER.md"
MAX_USER_FILE = 1_000_000
MAX_CORE_FILE = 16_000_000
PREVIOUS = ".history"
TRASH = ".trash"
_FIX = "fix it, or restore the copy in .history"
_UNSAFE = re.compile(r"[^\w.@+ -]|^[. ]|[. ]$")
ATTEMPTS = 5
"""How often a change is repeated if a person edits the file at the same moment."""
MAX_FOLDER = 150
"""The most bytes of a folder's name; file systems allow 255."""


def make_user_folder(user: str) -> str:
    """Return the name of a user's folder. Characters that are not safe in a path are escaped."""
    name = unicodedata.normalize("NFC", user)
    name = _UNSAFE.sub(lambda found: quote(found[0], safe="").replace(".", "%2E"), name)
    if not is_portable_name(name):
        name = f"%{ord(name[0]):02X}{name[1:]}"  # CON, NUL and the like are devices on Windows
    if len(name.encode()) > MAX_FOLDER:
        import hashlib  # slow to import

        digest = hashlib.sha256(user.encode()).hexdigest()[:16]
        name = f"{name.encode()[:MAX_FOLDER].decode('utf-8', 'ignore')}~{digest}"
    return name


class FileCoreMemory:
    """The files, and a copy of the previous version of each."""

    def __init__(self, root: Path, disk: Disk | None = None) -> None:
        self._root = root
        self._disk = (disk or Disk()).confine(root)
        self._tree = Tree(root)
        self._writer = AtomicWriter(root, root / ".muisti" / "tmp", self._disk)

    def read(self, user: str = "", problems: list[Problem] | None = None) -> CoreMemory:
        """Return the core memory, of a user or of the vault. Raises BrokenFile.

        With `problems`, a broken file is added to them and left out instead.
        """
        core = self._read_sections(NAME, problems)
        if user:
            core = {**core, "user": self._read_sections(self._find_file(user), problems)["user"]}
        from muisti.model import CoreMemory  # looking for problems does not need it

        return CoreMemory(**core)

    def find_problems(self) -> list[Problem]:
        """Return the files that cannot be read, each with what to do."""
        problems: list[Problem] = []
        users = self._tree.list_names(USERS)
        for path in (NAME, *(f"{USERS}/{user}/{NAME}" for user in users)):
            self._read_sections(path, problems)
        return problems

    def _find_file(self, user: str) -> str:
        """Return the path of a user's file. Raises VaultUnusable if it is another user's."""
        folder = make_user_folder(user)
        with disk_errors(USERS):
            others = []
            with suppress(FileNotFoundError), self._tree.scan(USERS) as entries:
                others = [unicodedata.normalize("NFC", entry.name) for entry in entries]
        # A file system that ignores case returns the file of "Anna" for "anna".
        same = [other for other in others if other.casefold() == folder.casefold()]
        if folder not in same and same and self._tree.exists(f"{USERS}/{folder}"):
            raise InvalidRequest(
                "user", user, f"must differ from {same[0]} in more than case on this file system"
            )
        return f"{USERS}/{folder}/{NAME}"

    def _read_sections(
        self, path: str, problems: list[Problem] | None = None
    ) -> dict[str, dict[str, str]]:
        try:
            table = _parse_table(path, self._read_bytes(path))
        except BrokenFile as error:
            if problems is None:
                raise
            problems.append(Problem(path, error.reason))
            table = {}
        return _make_sections(table)

    def write(self, section: str, changes: Mapping[str, str | None], user: str = "") -> None:
        """Set entries of one section, or remove those with None. Call under the vault's lock.

        If a person edits the file meanwhile, the edit is read and the entries are set again.
        """
        path = self._find_file(user) if user else NAME
        for attempt in range(1, ATTEMPTS + 1):
            try:
                self._write_once(path, section, changes, (section,) if user else CORE_SECTIONS)
            except Conflict:
                if attempt == ATTEMPTS:
                    raise
            else:
                return

    def _write_once(
        self,
        path: str,
        section: str,
        changes: Mapping[str, str | None],
        sections: Sequence[str],
    ) -> None:
        previous = self._read_bytes(path)
        table = _parse_table(path, previous)
        entries: dict[str, Any] = table.setdefault(section, {})
        for key, value in changes.items():
            if value is None:
                entries.pop(key, None)
            else:
                entries[key] = value
        for known in sections:
            table.setdefault(known, {})
        data = json.dumps(table, ensure_ascii=False, indent=2).encode() + b"\n"
        if len(data) > MAX_CORE_FILE:
            reason = f"must be shorter: all of core memory may have {MAX_CORE_FILE} bytes"
            raise InvalidRequest(section, f"{len(data)} bytes", reason)
        if previous is None:
            with disk_errors(path):
                self._create(path, data)
            return
        with disk_errors(path):
            self._disk.make_folder((self._root / PREVIOUS / path).parent)
        # A deleted value must not live on in the copy.
        is_deletion = None in changes.values()
        self._writer.replace(f"{PREVIOUS}/{path}", data if is_deletion else previous)
        self._writer.replace(path, data, expected=previous)

    def _create(self, path: str, data: bytes) -> None:
        try:
            self._writer.create([(path, data)])
        except VaultError as error:
            if isinstance(error.__cause__, FileExistsError):
                raise Conflict(f"{path} was created in the meantime; repeat the change") from error
            raise

    def remove(self, user: str, *, hard: bool) -> None:
        """Move a user's core memory to the trash, or delete it with its copy. Under the lock."""
        path = self._find_file(user)
        with disk_errors(path):
            if hard:
                for copy in (path, f"{PREVIOUS}/{path}", f"{TRASH}/{path}"):
                    if self._tree.exists(copy):
                        self._disk.remove(self._root / copy)
                        self._disk.sync_folder((self._root / copy).parent)
                        with suppress(OSError):  # a person may have put other files there
                            self._disk.remove_folder((self._root / copy).parent)
            elif self._tree.exists(path):
                self._disk.make_folder((self._root / TRASH / path).parent)
                self._disk.replace(self._root / path, self._root / TRASH / path)
                self._disk.sync_folder((self._root / TRASH / path).parent)

    def read_user_file(self) -> str | None:
        """Return the text of `USER.md`; None if core memory exists already. Raises BrokenFile."""
        if self._tree.exists(NAME):
            return None
        try:
            return self._tree.read(USER_FILE, MAX_USER_FILE)[0].decode("utf-8-sig")
        except FileNotFoundError:
            return None
        except UnsafeFile as error:
            raise BrokenFile(USER_FILE, error.reason) from error
        except (OSError, UnicodeDecodeError) as error:
            raise BrokenFile(
                USER_FILE, f"cannot be read ({error}): save it as UTF-8 text"
            ) from error

    def _read_bytes(self, path: str) -> bytes | None:
        """Return a file's bytes; None if it does not exist."""
        try:
            return self._tree.read(path, MAX_CORE_FILE)[0]
        except FileNotFoundError:
            return None
        except UnsafeFile as error:
            raise BrokenFile(error.path, error.reason) from error
        except OSError as error:
            raise BrokenFile(
                path, f"cannot be read ({error.strerror}): check its permissions"
            ) from error


def _parse_table(path: str, data: bytes | None) -> dict[str, Any]:
    """Return the object in a file. Raises BrokenFile, which names the line and the fix."""
    if data is None or not data.strip():
        return {}
    for number, line in enumerate(data.splitlines(), start=1):
        if line.startswith((b"<<<<<<< ", b">>>>>>> ")):
            raise BrokenFile(
                path,
                f"has a merge conflict in line {number}: keep one side and remove the markers,"
                " or restore the copy in .history",
            )
    try:
        table = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise BrokenFile(path, f"is not valid JSON ({error}): {_FIX}") from error
    if not isinstance(table, dict) or not all(
        isinstance(table.get(name, {}), dict) for name in CORE_SECTIONS
    ):
        raise BrokenFile(path, f'must be an object like {{"user": {{}}, "agent": {{}}}}: {_FIX}')
    return table


def parse_sections(path: str, data: bytes) -> dict[str, dict[str, str]]:
    """Return the entries of a file by section, without sections it does not have.

    Raises BrokenFile.
    """
    table = _parse_table(path, data)
    return {name: entries for name, entries in _make_sections(table).items() if name in table}


def _make_sections(table: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    sections: dict[str, dict[str, str]] = {}
    for section in CORE_SECTIONS:
        entries = table.get(section, {})
        # A number or a list that a person wrote is shown as JSON.
        sections[section] = {
            key: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            for key, value in entries.items()
        }
    return sections
