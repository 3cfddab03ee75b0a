"""The list of vaults that the user made or approved, in the user's data folder (contract K6).

Consent is for one vault in one folder. `muisti trust` writes a random number into the vault's index
folder, which git ignores, and into the list: another vault at the same path does not have it. If
the index folder is gone, the settings file must be the very same file as before.
"""

from __future__ import annotations

import errno
import json
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from muisti.errors import VaultUnusable
from muisti.filesystem import Tree, read_file
from muisti.logs import get_log
from muisti.settings import SETTINGS_FILE
from muisti.storage.files.disk import Disk, disk_errors
from muisti.storage.files.lock import FileLock

NAME = "trusted_vaults.json"
ID_FILE = "consent"
LOCK_TIMEOUT = 10.0
MAX_BYTES = 16_000_000
MAX_ID_BYTES = 4_096
"""The size of a vault's file with the numbers of all users who trust it."""
PRUNE_ABOVE = 200
"""From this number of vaults on, those that are gone are dropped."""


class Consent(NamedTuple):
    """The consent for one vault."""

    path: str
    id: str
    """The number that the vault's index folder has, too."""
    stamp: tuple[int, ...]
    """Inode and times of the settings file."""
    at: float


class ConsentList:
    """The list of one user. A damaged list trusts nothing; it is kept when a new one is written."""

    def __init__(self, folder: Path, disk: Disk | None = None) -> None:
        self.path = folder / NAME
        self._disk = disk or Disk()
        self._lock = FileLock(folder / "trusted_vaults.lock", LOCK_TIMEOUT)

    def has(self, root: Path) -> bool:
        """Return whether the user has approved this very vault. Reads two small files."""
        consent = self._read()[0].get(os.path.realpath(root))
        if consent is None:
            return False
        ids = _read_ids(root)
        if ids is not None:
            return consent.id in ids
        return bool(consent.stamp) and consent.stamp == _make_stamp(root)

    def is_marked(self, root: Path) -> bool:
        """Return whether this version of muisti has written to the vault."""
        return os.path.lexists(root / ".muisti" / ID_FILE)

    def mark(self, root: Path) -> None:
        """Note that this version of muisti writes to the vault. It gives no consent."""
        with disk_errors(root):
            self._write_ids(root, ())

    def list(self) -> list[Consent]:
        """Return all consents by path. Raises VaultUnusable if the list is damaged."""
        consents, problem = self._read()
        if problem:
            raise VaultUnusable(
                f"{self.path} {problem}; `muisti trust` keeps it and starts a new one"
            )
        return [consents[path] for path in sorted(consents)]

    def add(self, root: Path) -> None:
        """Record the consent. Raises VaultError, VaultBusy."""
        consent_id = os.urandom(16).hex()
        path = os.path.realpath(root)
        with disk_errors(root):
            ids = [*(_read_ids(Path(path)) or ()), consent_id]
            self._write_ids(Path(path), ids[-MAX_ID_BYTES // 40 :])
        consent = Consent(path, consent_id, _make_stamp(root), time.time())
        self._change(lambda consents: consents.update({path: consent}))

    def remove(self, root: Path) -> bool:
        """Withdraw the consent. Return whether there was one. Raises VaultError, VaultBusy."""
        paths = {os.path.realpath(root), str(root)}
        found: list[Consent] = []

        def drop(consents: dict[str, Consent]) -> None:
            found.extend(consents.pop(path) for path in paths if path in consents)

        self._change(drop)
        return bool(found)

    def _write_ids(self, root: Path, ids: Sequence[str]) -> None:
        """Write the vault's file. A vault that is read-only is known by its stamp."""
        folder = root / ".muisti"
        if folder.is_symlink():
            raise VaultUnusable(f"{folder} is a symbolic link; remove it")
        data = "".join(f"{one}\n" for one in ids).encode()
        try:
            self._disk.make_folder(folder)
            self._replace(folder / ID_FILE, data)
        except OSError as error:
            if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
                raise

    def _change(self, change: Callable[[dict[str, Consent]], object]) -> None:
        folder = self.path.parent
        with disk_errors(self.path):
            self._disk.make_folder(folder)
            with self._lock.hold():
                consents, problem = self._read()
                if problem:
                    kept = folder / f"{NAME}.{time.time_ns()}.broken"
                    get_log().warning("%s %s; it is kept as %s", self.path, problem, kept)
                    self._disk.move(self.path, kept)
                change(consents)
                if len(consents) > PRUNE_ABOVE:
                    consents = {
                        path: one
                        for path, one in consents.items()
                        if os.path.lexists(os.path.join(path, SETTINGS_FILE))
                    }
                table = {
                    path: {"id": one.id, "stamp": one.stamp, "at": one.at}
                    for path, one in sorted(consents.items())
                }
                text = json.dumps({"version": 1, "vaults": table}, indent=1)
                self._replace(self.path, text.encode() + b"\n")

    def _replace(self, path: Path, data: bytes) -> None:
        temporary = path.with_name(f".{path.name}-{os.getpid()}-{os.urandom(4).hex()}")
        self._disk.write_new(temporary, data)
        try:
            self._disk.replace(temporary, path)
        except BaseException:
            self._disk.discard(temporary)
            raise
        self._disk.sync_folder(path.parent)

    def _read(self) -> tuple[dict[str, Consent], str]:
        """Return the consents by path, and what is wrong with the list, or ""."""
        try:
            data = read_file(self.path, MAX_BYTES)[0]
        except FileNotFoundError:
            return {}, ""
        except OSError as error:
            return {}, f"cannot be read ({error.strerror or error})"
        try:
            vaults: dict[str, dict[str, Any]] = json.loads(data)["vaults"]
            consents = {
                path: Consent(path, str(one["id"]), tuple(map(int, one["stamp"])), float(one["at"]))
                for path, one in vaults.items()
            }
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return {}, "is damaged"
        return consents, ""


def _read_ids(root: Path) -> set[str] | None:
    """Return the numbers in the vault's file; None if the file does not exist."""
    try:
        data, _ = Tree(root).read(f".muisti/{ID_FILE}", MAX_ID_BYTES)
        return set(data.decode("ascii", "replace").split())
    except FileNotFoundError:
        return None
    except OSError:
        return set()


def _make_stamp(root: Path) -> tuple[int, ...]:
    """Return what tells the settings file from any other; empty if there is none.

    The time of the last change cannot be chosen by the one who made the file.
    """
    try:
        status = os.lstat(root / SETTINGS_FILE)
    except OSError:
        return ()
    return status.st_ino, status.st_mtime_ns, status.st_ctime_ns
