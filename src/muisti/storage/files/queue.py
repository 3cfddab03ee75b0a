"""Exchanges that wait to be made memories of: `.queue/*.jsonl`, one file for each process, which alone writes to it.

So nobody waits for anybody's lock. A process holds a lock on its file as long as it lives; whoever can get the lock of
another's file knows that its owner is dead, and takes over what waits there.
"""

from __future__ import annotations

import errno
import json
import logging
import os
import threading
import uuid
from collections import Counter
from contextlib import suppress
from dataclasses import fields
from pathlib import Path

from muisti.errors import VaultReadOnly
from muisti.model import Exchange, QueueStatus
from muisti.storage.files.disk import Disk, disk_errors
from muisti.storage.files.frontmatter import BadFrontMatter
from muisti.storage.files.jsonl import CORRUPT, ends_with_newline, read_complete_lines
from muisti.storage.files.lock import try_lock
from muisti.storage.files.timestamps import format_time, parse_time

log = logging.getLogger("muisti")
FOLDER = ".queue"
_KEYS = tuple(one.name for one in fields(Exchange) if one.name != "at")


class FileQueue:
    """The queue of one process, and what dead ones left."""

    def __init__(self, root: Path, disk: Disk | None = None, *, writable: bool = True) -> None:
        self._folder = root / FOLDER
        self._disk = disk or Disk()
        self._writable = writable
        self._guard = threading.Lock()
        self._held: dict[Path, int] = {}
        """Files that are ours, with the descriptor that holds their lock."""
        self._waiting: dict[str, Path] = {}
        """In which file each exchange is that is not done."""
        self._left: Counter[Path] = Counter()
        """How many wait in each."""
        self._own: Path | None = None

    def put(self, exchange: Exchange) -> None:
        """One write and one sync."""
        with self._guard, disk_errors(self._folder):
            path = self._own if self._own is not None and self._own.exists() else self._begin()
            self._disk.append(path, _to_line(exchange), durable=True)
            self._note(exchange, path)

    def _note(self, exchange: Exchange, path: Path) -> None:
        self._waiting[exchange.id] = path
        self._left[path] += 1

    def _begin(self) -> Path:
        if not self._writable:
            raise VaultReadOnly(
                f"{self._folder}: the vault cannot be written; make it writable for this user to save"
            )
        if self._folder.is_symlink():  # what is done with is removed: only from a folder of our own
            raise OSError(errno.ELOOP, "is a link to elsewhere; remove it", str(self._folder))
        self._disk.make_folder(self._folder)
        ignore = self._folder / ".gitignore"
        if not ignore.exists():
            with suppress(FileExistsError):
                self._disk.write_unsynced(
                    ignore, b"*\n"
                )  # on its way to become memories: not for git
        while True:
            path = self._folder / f"{uuid.uuid4().hex}.jsonl"
            self._disk.append(path, b"", durable=False)
            if self._hold(path):  # else somebody took it for a dead process's before it was locked
                break
        self._disk.sync_folder(self._folder)
        self._own = path
        return path

    def _hold(self, path: Path) -> bool:
        with suppress(FileNotFoundError):
            fd = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
            if try_lock(fd) and path.exists():
                self._held[path] = fd
                return True
            os.close(fd)
        return False

    def take_over(self) -> list[Exchange]:
        """What dead processes accepted and did not get done, in the order in which they accepted it."""
        found: list[Exchange] = []
        with self._guard, disk_errors(self._folder):
            if not self._writable or not self._folder.is_dir() or self._folder.is_symlink():
                return []
            for path in sorted(self._folder.glob("*.jsonl")):
                if path not in self._held:
                    found += self._taken_over(path)
        return sorted(found, key=lambda exchange: exchange.id)

    def _taken_over(self, path: Path) -> list[Exchange]:
        """One file that cannot be read, another user's perhaps, does not keep the others back."""
        try:
            if not self._hold(path):
                return []
            here, broken = _pending(path)
            if not ends_with_newline(path):
                self._disk.truncate(path, len(read_complete_lines(path, 0)))
            if broken:
                aside = path.with_name(path.name + CORRUPT)
                log.warning(
                    "%s: %d lines are no exchanges; they are set aside in %s",
                    path,
                    len(broken),
                    aside.name,
                )
                self._disk.append(aside, b"\n".join(broken) + b"\n", durable=True)
            for exchange in here:
                self._note(exchange, path)
            self._sweep(path)
        except OSError as error:
            log.warning("%s is left for later: %s", path, error.strerror or error)
            self._let_go(path)
            return []
        return here

    def _let_go(self, path: Path) -> None:
        fd = self._held.pop(path, None)
        if fd is not None:
            os.close(fd)
        self._waiting = {id_: where for id_, where in self._waiting.items() if where != path}
        del self._left[path]

    def status(self) -> QueueStatus:
        """Count the exchanges in the files of all processes."""
        return read_queue_status(self._folder)

    def done(self, exchange_id: str) -> None:
        """Not synced: whoever finds the exchange again looks into the journal before doing it twice."""
        with self._guard, disk_errors(self._folder):
            path = self._waiting.pop(exchange_id, None)
            if path is None:
                return
            self._left[path] -= 1
            if not self._sweep(path):
                self._disk.append(
                    path, json.dumps({"done": exchange_id}).encode() + b"\n", durable=False
                )

    def _sweep(self, path: Path) -> bool:
        """Empty our own file, and remove another's, once nothing waits in it. That somebody deleted it does no harm."""
        if self._left[path]:
            return False
        with suppress(FileNotFoundError):
            if path == self._own:
                self._disk.truncate(path, 0)
                return True
            self._disk.remove(path)
        if path != self._own:
            self._let_go(path)
        return True

    def close(self) -> None:
        """Let go of the files; an empty one goes away."""
        with self._guard:
            for path, fd in self._held.items():
                with suppress(OSError):
                    if not self._left[path]:
                        self._disk.remove(path)
                os.close(fd)
            self._held, self._waiting, self._left, self._own = {}, {}, Counter(), None


def read_queue_status(folder: Path) -> QueueStatus:
    """Return what waits in a queue's folder. Takes no lock, changes nothing and never raises."""
    if folder.is_symlink():
        return QueueStatus()
    waiting: list[Exchange] = []
    for path in folder.glob("*.jsonl"):
        with suppress(OSError):  # its process has just ended, or it is another user's
            waiting += _pending(path)[0]
    return QueueStatus(
        waiting=len(waiting),
        oldest=min((exchange.at for exchange in waiting), default=None),
        broken=sum(1 for _ in folder.glob(f"*{CORRUPT}")),
    )


def _to_line(exchange: Exchange) -> bytes:
    line = {"at": format_time(exchange.at)} | {key: getattr(exchange, key) for key in _KEYS}
    return (
        json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
        + b"\n"
    )


def _pending(path: Path) -> tuple[list[Exchange], list[bytes]]:
    """In their order, and lines that are none. A last line without an end was never acknowledged."""
    waiting: dict[str, Exchange] = {}
    broken: list[bytes] = []
    for line in read_complete_lines(path, 0).split(b"\n"):
        if not line.strip():
            continue
        try:
            parsed = json.loads(line)
            if "done" in parsed:
                waiting.pop(str(parsed["done"]), None)
            else:
                exchange = _exchange(parsed)
                waiting[exchange.id] = exchange
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError, BadFrontMatter):
            broken.append(line)
    return list(waiting.values()), broken


def _exchange(parsed: dict[str, str | None]) -> Exchange:
    known = {key: parsed[key] for key in _KEYS if parsed.get(key) is not None}
    "".join(known.values()).encode()  # type: ignore[arg-type]  # raises if one is no text, or none that can be written
    uuid.UUID(known["id"])
    return Exchange(at=parse_time("at", str(parsed["at"])), **known)  # type: ignore[arg-type]
