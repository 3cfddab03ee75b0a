"""Exchanges that wait for extraction: `.queue/*.jsonl`, one file per process.

Only its process writes to a file, so that no process waits for another. A process holds a lock on
its file while it lives; a process that gets the lock of another's file takes over what waits there.
"""

from __future__ import annotations

import json
import os
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

from muisti.errors import VaultReadOnly, VaultUnusable
from muisti.filesystem import Tree
from muisti.logs import get_log
from muisti.ports.unshared import UnsharedQueue
from muisti.storage.files.disk import Disk, disk_errors
from muisti.storage.files.errors import BadFrontMatter
from muisti.storage.files.jsonl import CORRUPT, read_all_lines, read_torn_tail
from muisti.storage.files.lock import try_lock
from muisti.storage.files.timestamps import format_time, parse_time

if TYPE_CHECKING:
    from muisti.model import Exchange, QueueStatus

FOLDER = ".queue"


class FileQueue(UnsharedQueue):
    """The queue of one process, and what ended processes left."""

    def __init__(self, root: Path, disk: Disk | None = None, *, writable: bool = True) -> None:
        self._folder = root / FOLDER
        self._disk = (disk or Disk()).confine(root)
        self._tree = Tree(root)
        self._writable = writable
        self._guard = threading.Lock()
        self._held: dict[Path, int] = {}
        """Files of this process, with the descriptor that holds their lock."""
        self._waiting: dict[str, Path] = {}
        """The file of each exchange that is not done, by the exchange's ID."""
        self._left: Counter[Path] = Counter()
        """The number of waiting exchanges in each file."""
        self._own: Path | None = None

    def put(self, exchange: Exchange, *, claim: bool = True) -> bool:
        """Append an exchange with one write and one sync."""
        with self._guard, disk_errors(self._folder):
            self._write(exchange)
        return True

    def _write(self, exchange: Exchange) -> None:
        names = [field.name for field in fields(exchange) if field.name != "at"]
        line = {"at": format_time(exchange.at)} | {key: getattr(exchange, key) for key in names}
        text = json.dumps(line, ensure_ascii=False, separators=(",", ":"))
        path = self._own
        if path is None or not self._tree.is_file(path):
            path = self._create_file()
        self._disk.append(path, text.encode("utf-8", "replace") + b"\n", durable=True)
        self._add(exchange, path)

    def _add(self, exchange: Exchange, path: Path) -> None:
        self._waiting[exchange.id] = path
        self._left[path] += 1

    def _create_file(self) -> Path:
        if not self._writable:
            self._disk.step("append", self._folder)  # a read-only disk says why
            raise VaultReadOnly(
                f"{self._folder} is not writable: make the vault writable for this user"
            )
        self._disk.make_folder(self._folder)
        ignore = self._folder / ".gitignore"
        if not self._tree.exists(ignore):
            with suppress(FileExistsError):
                self._disk.write_unsynced(ignore, b"*\n")
        while True:
            path = self._folder / f"{os.urandom(16).hex()}.jsonl"
            self._disk.append(path, b"", durable=False)
            if self._hold(path):  # else another process took it over before it was locked
                break
        self._disk.sync_folder(self._folder)
        self._own = path
        return path

    def _hold(self, path: Path) -> bool:
        with suppress(FileNotFoundError):
            fd, _ = self._tree.open(path, os.O_RDWR)
            if try_lock(fd) and self._tree.exists(path):
                self._held[path] = fd
                return True
            os.close(fd)
        return False

    def take_over(self, limit: int | None = None) -> list[Exchange]:
        """Take over what ended processes left undone. Return it in the order of acceptance."""
        found: list[Exchange] = []
        with self._guard, disk_errors(self._folder):
            if not self._writable:
                return []
            for path in self._list_paths():
                if path not in self._held:
                    found += self._take_over_file(path)
        return sorted(found, key=lambda exchange: exchange.id)

    def _take_over_file(self, path: Path) -> list[Exchange]:
        """Take over one file. If it cannot be read, perhaps another user's, skip it."""
        try:
            if not self._hold(path):
                return []
            waiting, broken = _parse_file(self._tree, path)
            whole, torn = read_torn_tail(self._tree, path)
            if torn:
                self._disk.truncate(path, whole)
            if broken:
                corrupt = path.with_name(path.name + CORRUPT)
                count = f"{len(broken)} line" if len(broken) == 1 else f"{len(broken)} lines"
                get_log().warning(
                    "%s: moved %s that cannot be read to %s", path, count, corrupt.name
                )
                self._disk.append(corrupt, b"\n".join(broken) + b"\n", durable=True)
            for exchange in waiting:
                self._add(exchange, path)
            self._clear_if_done(path)
        except (OSError, VaultUnusable) as error:
            reason = getattr(error, "strerror", None) or error
            get_log().warning("%s is skipped for now: %s", path, reason)
            self._release(path)
            return []
        return waiting

    def _list_paths(self) -> list[Path]:
        return [self._folder / name for name in self._tree.list_files(FOLDER, ".jsonl")]

    def _release(self, path: Path) -> None:
        fd = self._held.pop(path, None)
        if fd is not None:
            os.close(fd)
        self._waiting = {id_: file for id_, file in self._waiting.items() if file != path}
        del self._left[path]

    def holds(self, exchange_id: str) -> bool:
        """Return whether an exchange of this process is still waiting."""
        with self._guard:
            return exchange_id in self._waiting

    def discard(self, matches: Callable[[Exchange], bool], *, dry_run: bool = False) -> int:
        """Remove exchanges with their bytes: what is left of a file moves to a new one."""
        count = 0
        with self._guard, disk_errors(self._folder):
            for path in self._list_paths():
                waiting, _ = _parse_file(self._tree, path)
                # The bytes of those that are done are still there.
                everything, _ = _parse_file(self._tree, path, with_done=True)
                matching = {exchange.id for exchange in everything if matches(exchange)}
                count += sum(exchange.id in matching for exchange in waiting)
                if dry_run or not matching or not (path in self._held or self._hold(path)):
                    continue
                if path == self._own:
                    self._own = None
                for exchange in waiting:
                    if exchange.id not in matching:
                        self._write(exchange)
                self._disk.remove(path)
                self._release(path)
        return count

    def status(self) -> QueueStatus:
        """Count the exchanges in the files of all processes."""
        return read_queue_status(self._folder)

    def done(self, exchange_id: str) -> None:
        """Mark an exchange as done. Not synced: the journal prevents a second extraction."""
        with self._guard, disk_errors(self._folder):
            path = self._waiting.pop(exchange_id, None)
            if path is None:
                return
            self._left[path] -= 1
            if not self._clear_if_done(path):
                line = json.dumps({"done": exchange_id}).encode() + b"\n"
                self._disk.append(path, line, durable=False)

    def _clear_if_done(self, path: Path) -> bool:
        """If nothing waits in a file, empty our own or remove another's, and return True."""
        if self._left[path]:
            return False
        with suppress(FileNotFoundError):
            if path == self._own:
                self._disk.truncate(path, 0)
                return True
            self._disk.remove(path)
        if path != self._own:
            self._release(path)
        return True

    def close(self) -> None:
        """Release the files, and remove those in which nothing waits."""
        with self._guard:
            for path, fd in self._held.items():
                with suppress(OSError):
                    if not self._left[path]:
                        self._disk.remove(path)
                os.close(fd)
            self._held, self._waiting, self._left, self._own = {}, {}, Counter(), None


def read_queue_status(folder: Path) -> QueueStatus:
    """Return how much waits in a queue's folder. Takes no lock, changes nothing, never raises."""
    from muisti.model import QueueStatus

    waiting = read_waiting(folder)
    return QueueStatus(
        waiting=len(waiting),
        oldest=min((exchange.at for exchange in waiting), default=None),
        broken=len(Tree(folder.parent).list_files(folder, CORRUPT)),
    )


def read_waiting(folder: Path) -> list[Exchange]:
    """Return what waits in a queue's folder. Takes no lock, changes nothing, never raises."""
    tree = Tree(folder.parent)
    waiting: list[Exchange] = []
    for name in tree.list_files(folder, ".jsonl"):
        with suppress(OSError):  # just removed, or another user's
            waiting += _parse_file(tree, folder / name)[0]
    return waiting


def _parse_file(
    tree: Tree, path: Path, *, with_done: bool = False
) -> tuple[list[Exchange], list[bytes]]:
    """Return the waiting exchanges in order, and the lines that cannot be read.

    A last line without an end is ignored: it was never acknowledged. With_done: also exchanges that
    are done.
    """
    import uuid  # slow to import

    from muisti.model import Exchange

    keys = [field.name for field in fields(Exchange) if field.name != "at"]
    waiting: dict[str, Exchange] = {}
    broken: list[bytes] = []
    lines = (line for part in read_all_lines(tree, path) for line in part.data.split(b"\n"))
    for line in lines:
        if not line.strip():
            continue
        try:
            parsed = json.loads(line)
            if "done" in parsed:
                if not with_done:
                    waiting.pop(str(parsed["done"]), None)
            else:
                known = {key: parsed[key] for key in keys if parsed.get(key) is not None}
                "".join(known.values()).encode()  # raises if a value is not text, or not encodable
                uuid.UUID(known["id"])
                at = parse_time("at", str(parsed["at"]))
                waiting[known["id"]] = Exchange(at=at, **known)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError, BadFrontMatter):
            broken.append(line)
    return list(waiting.values()), broken
