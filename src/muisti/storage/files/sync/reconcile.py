"""Reconcile an index with the files of memories; external edits win (contract B5)."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

from muisti.errors import BrokenFile, Conflict, IndexBusy, VaultError, VaultFull
from muisti.model import Event, EventName, Problem
from muisti.storage.files.sync.batch import IndexBatch
from muisti.storage.files.sync.differences import (
    DUPLICATE,
    NO_MEMORY,
    describe_missing,
    is_changed,
    precedence,
    too_many_vanished,
)
from muisti.storage.files.vault import FileVault, LoadedFile, read_many
from muisti.storage.sync_state import FileStat, IndexState, SeenFile, StoredFile

if TYPE_CHECKING:
    from muisti.ports import Clock, Progress, SearchIndex
    from muisti.settings import Settings
    from muisti.storage.files.store import FileStore

log = logging.getLogger("muisti")
BATCH = 1000
TOGETHER = 200
"""New files that are read at once, which takes less time than one by one."""
MOST_TOGETHER = 8_000_000
"""The most bytes of such files."""
_CANNOT_WRITE = (VaultFull, IndexBusy)
_DUPLICATE = DUPLICATE + "{}: delete one of them, or remove the line `id:` from the copy"


class FileLookup(Protocol):
    """Finds the files of memories, as the index has them and as they are now."""

    def old_path(self, memory_id: str) -> str | None:
        """Return the path at which the index has a memory."""
        ...

    def settled_path(self, memory_id: str) -> str | None:
        """Return the path that holds a memory and is not being read in this pass."""
        ...

    def exists(self, path: str) -> bool:
        """Return whether there is a file."""
        ...


class AllFiles:
    """The lookup for a pass over all files: everything is in memory."""

    def __init__(
        self, files: Mapping[str, FileStat], seen: Mapping[str, SeenFile], read: Collection[str]
    ) -> None:
        self._files = files
        self._old = {file.memory_id: path for path, file in seen.items() if file.memory_id}
        settled = seen.keys() & files.keys() - set(read)
        self._settled = {id_: path for path in settled if (id_ := seen[path].memory_id)}

    def old_path(self, memory_id: str) -> str | None:
        """Return the path at which the index has a memory."""
        return self._old.get(memory_id)

    def settled_path(self, memory_id: str) -> str | None:
        """Return the path that holds a memory and is not being read in this pass."""
        return self._settled.get(memory_id)

    def exists(self, path: str) -> bool:
        """Return whether there is a file."""
        return path in self._files


class SomeFiles:
    """The lookup for a pass over a few files: asks the index and the disk for the others."""

    def __init__(self, index: SearchIndex, vault: FileVault, read: Collection[str]) -> None:
        self._index = index
        self._vault = vault
        self._read = frozenset(read)

    def old_path(self, memory_id: str) -> str | None:
        """Return the path at which the index has a memory."""
        known = self._index.get(memory_id, include_deleted=True)
        return None if known is None else known.file_path

    def settled_path(self, memory_id: str) -> str | None:
        """Return the path that holds a memory and is not being read in this pass."""
        path = self.old_path(memory_id)
        if path is None or path in self._read or not self.exists(path):
            return None
        return path

    def exists(self, path: str) -> bool:
        """Return whether there is a file."""
        return self._vault.stat(path) is not None


@dataclass
class Reconciliation:
    """One pass over files of memories for one index, under the vault's lock if that is in use."""

    store: FileStore
    settings: Settings
    clock: Clock
    index: IndexState
    own_edits: bool = False
    """Whether changes are muisti's own and need no event."""
    confirm: bool = False
    adopt: bool = True
    """Whether to write an ID into new files that have none."""
    progress: Progress | None = None
    added: int = 0
    changed: int = 0
    moved: int = 0
    removed: int = 0
    missing: int = 0
    missing_problem: Problem | None = None
    loaded: dict[str, LoadedFile] = field(default_factory=dict)
    """Files that were read before the lock was acquired."""
    _new: dict[str, StoredFile] = field(default_factory=dict)
    """New files that were read together."""
    events: list[Event] = field(default_factory=list)
    postponed: list[Problem] = field(default_factory=list)
    _owners: dict[str, str] = field(default_factory=dict)
    """The path of each ID found in this pass."""
    _kept: set[str] = field(default_factory=set)
    """Paths that are gone, but whose rows stay until the moved files can be read."""
    _gone: list[str] = field(default_factory=list)

    def run(self, files: Mapping[str, FileStat]) -> None:
        """Update the index from all files."""
        self._gone = []
        seen = self.index.seen()
        suspects = [
            path for path, stat in files.items() if self._must_read(path, seen.get(path), stat)
        ]
        # Another process may have created and indexed a file since the files were listed.
        missing = [path for path in seen if path not in files]
        vanished = [path for path in missing if self.store.vault.stat(path) is None]
        if suspects or vanished:
            lookup = AllFiles(files, seen, suspects)
            self._read(suspects, files, seen, lookup)
            self._forget([*vanished, *self._gone], seen, lookup)
        self.read_journal()

    def run_paths(self, files: Mapping[str, FileStat], vanished: Collection[str]) -> bool:
        """Update the index from these files only. Return False if `run` has to look at all files.

        That is the case if a memory's file is gone and none of these has the memory.
        """
        seen = self.index.seen([*files, *vanished])
        suspects = [
            path for path, stat in files.items() if self._must_read(path, seen.get(path), stat)
        ]
        lookup = SomeFiles(self.store.index, self.store.vault, [*suspects, *vanished])
        self._read(suspects, files, seen, lookup)
        gone = [path for path in (*vanished, *self._gone) if path in seen]
        if any((id_ := seen[path].memory_id) and id_ not in self._owners for path in gone):
            return False
        self._forget(gone, seen, lookup)
        self.read_journal()
        return True

    def _must_read(self, path: str, seen: SeenFile | None, stat: FileStat) -> bool:
        """Return whether a file is new, may have changed, or may have become a memory."""
        if seen is None or is_changed(seen, stat):
            return True
        return seen.memory_id is None and may_be_memory(self.store.vault, path, seen)

    def _read(
        self,
        paths: Sequence[str],
        files: Mapping[str, FileStat],
        seen: Mapping[str, SeenFile],
        lookup: FileLookup,
    ) -> None:
        in_order = sorted(paths, key=precedence)
        for start in range(0, len(in_order), BATCH):
            batch = IndexBatch(self.index, self.settings)
            with self.store.vault.tree.folders.hold():
                self._read_files(in_order[start : start + BATCH], files, seen, lookup, batch)
            # If only the times of file states are new, a full disk or busy index is no error.
            with suppress(*(() if batch.changes_rows else _CANNOT_WRITE)):
                batch.write()
            if self.progress:
                self.progress(min(start + BATCH, len(in_order)), len(in_order))

    def _read_files(
        self,
        paths: Sequence[str],
        files: Mapping[str, FileStat],
        seen: Mapping[str, SeenFile],
        lookup: FileLookup,
        batch: IndexBatch,
    ) -> None:
        for number, path in enumerate(paths):
            if number % TOGETHER == 0:
                part = paths[number : number + TOGETHER]
                new = [one for one in part if one not in seen and one not in self.loaded]
                size = sum(files[one].size for one in new)
                self._new = {}
                if size <= MOST_TOGETHER:
                    self._new = read_many(self.store.vault, self.settings, new)
            try:
                self._read_file(path, files[path], seen, lookup, batch)
            except (VaultError, Conflict) as error:
                # A file that cannot be written now, or that a person is changing, is left for
                # later. The index keeps its row.
                self.postponed.append(Problem(path, f"is not indexed yet: {error}"))
                log.warning("%s is not indexed yet: %s", path, error)

    def _read_file(
        self,
        path: str,
        stat: FileStat,
        seen: Mapping[str, SeenFile],
        lookup: FileLookup,
        batch: IndexBatch,
    ) -> None:
        known = seen.get(path)
        file = self._new.pop(path, None)
        try:
            if file is None:
                loaded = self.loaded.pop(path, None)
                if loaded is None or self.store.vault.stat(path) != loaded.seen.stat:
                    loaded = self.store.vault.load(path)
                if self._is_unchanged(path, known, loaded, lookup):
                    memory_id = known.memory_id if known else None
                    batch.record_file(path, loaded.seen._replace(memory_id=memory_id))
                    return
                file = self.store.vault.parse(loaded, adopt=self.adopt)
        except BrokenFile as error:
            # A name that is not UTF-8 has escapes, so its file is never found: report it.
            if self.store.vault.stat(path) is None and "\\x" not in path:
                self._gone += [path] if known else []
                return
            broken = SeenFile(stat, time.time_ns(), "", None)
            self._record_no_memory(path, broken, error.reason, known, batch)
            return
        if file is None:
            other = SeenFile(stat, time.time_ns(), NO_MEMORY, None)
            self._record_no_memory(path, other, "", known, batch)
            return
        loser = self._claim(file.memory.id, path, lookup)
        if loser is not None:
            winner = self._owners[file.memory.id]
            loser_stat = self.store.vault.stat(loser) or stat
            copy = SeenFile(loser_stat, time.time_ns(), "", None)
            reason = _DUPLICATE.format(winner)
            self._record_no_memory(loser, copy, reason, seen.get(loser), batch)
        if loser != path:
            file = self._record_edit(file, known, lookup)
            if known is not None and known.memory_id not in (None, file.memory.id):
                self._drop_row(path, known, batch)
            batch.put_file(file)

    def _is_unchanged(
        self, path: str, known: SeenFile | None, loaded: LoadedFile, lookup: FileLookup
    ) -> bool:
        """Return whether a file has the same bytes and memory, as after a git checkout."""
        if known is None or known.memory_id is None or loaded.seen.sha != known.sha:
            return False
        owner = self._owners.get(known.memory_id) or lookup.settled_path(known.memory_id) or path
        self._owners.setdefault(known.memory_id, owner)
        return owner == path

    def _record_no_memory(
        self, path: str, seen: SeenFile, reason: str, known: SeenFile | None, batch: IndexBatch
    ) -> None:
        """Record a file without a memory of its own: it is broken, a copy, or something else."""
        batch.record_file(path, seen, reason)
        if known is not None:
            self._drop_row(path, known, batch)

    def _drop_row(self, path: str, known: SeenFile, batch: IndexBatch) -> None:
        """Remove the memory that a file had before, unless another file has it now."""
        if known.memory_id is not None and self._owners.get(known.memory_id, path) == path:
            batch.remove_memory(known.memory_id)

    def _claim(self, memory_id: str, path: str, lookup: FileLookup) -> str | None:
        """Record the path of an ID. If two files have it, return the copy."""
        owner = self._owners.get(memory_id) or lookup.settled_path(memory_id) or path
        if owner == path:
            self._owners[memory_id] = path
            return None
        winner, loser = sorted((owner, path), key=precedence)
        self._owners[memory_id] = winner
        return loser

    def _record_edit(
        self, file: StoredFile, known: SeenFile | None, lookup: FileLookup
    ) -> StoredFile:
        """Count an external change, and update the front matter of a file that was moved."""
        old_path = lookup.old_path(file.memory.id)
        if old_path is None:
            self.added += 1
            return file
        if old_path != file.path and not lookup.exists(old_path):
            if not self.own_edits:
                try:
                    file = self.store.vault.follow_move(file, old_path)
                except (VaultError, Conflict):
                    self._kept.add(old_path)
                    raise
            self.moved += 1
        elif known is not None and known.sha != file.seen.sha:
            self.changed += 1
        if not self.own_edits:
            earlier = self.store.index.get(file.memory.id, include_deleted=True)
            # With a later `updated_at`, muisti changed it in another clone: the journal says when.
            if (
                earlier is not None
                and earlier.content_hash != file.memory.content_hash
                and earlier.updated_at >= file.memory.updated_at
            ):
                edited = datetime.fromtimestamp(file.seen.stat.mtime_ns / 1e9, UTC)
                at = min(edited, self.clock.now())
                self.events.append(Event(EventName.EDITED, at, (file.memory.id,)))
        return file

    def _forget(
        self, vanished: Sequence[str], seen: Mapping[str, SeenFile], lookup: FileLookup
    ) -> None:
        """Remove memories whose files are gone. Many at once need confirmation."""
        vanished = [path for path in vanished if path not in self._kept]
        lost = []
        for path in vanished:
            memory_id = seen[path].memory_id
            # A killed sync may have indexed the moved file, but not forgotten its old path.
            if memory_id is not None and (settled := lookup.settled_path(memory_id)):
                self._owners.setdefault(memory_id, settled)
            if memory_id is None or memory_id in self._owners or path.startswith("."):
                continue  # not a live memory, or moved
            if not self.store.versions_folder.is_archived(path, memory_id):
                lost.append(path)
        alive = sum(1 for path, file in seen.items() if file.memory_id and path[0] != ".")
        if too_many_vanished(len(lost), alive, self.settings.vanished_share) and not self.confirm:
            self.missing = len(lost)
            self.missing_problem = describe_missing(lost, alive)
            log.warning("%s: %s", self.missing_problem.path, self.missing_problem.reason)
            vanished = [path for path in vanished if path not in set(lost)]
        else:
            self.removed = len(lost)
            if lost and not self.own_edits:
                ids = tuple(str(seen[path].memory_id) for path in lost)
                self.events.append(Event(EventName.VANISHED, self.clock.now(), ids))
        if vanished:
            batch = IndexBatch(self.index, self.settings)
            for path in vanished:
                batch.forget_file(path)
                self._drop_row(path, seen[path], batch)
            batch.write()

    def read_journal(self) -> None:
        """Record external changes in the journal, and read its new events."""
        if self.events:
            try:
                self.store.journal.append(self.events, durable=True)
            except VaultError as error:
                # The files are enough to go on: reading works on a full or read-only disk.
                log.warning("external changes are not recorded in the journal: %s", error)
        offsets = self.index.journal_offsets()
        for delta in self.store.journal.read_parts(offsets):
            if not delta.events and not delta.restarted and dict(delta.offsets) == offsets:
                continue
            batch = IndexBatch(self.index, self.settings)
            batch.read_journal(delta)
            try:
                batch.write()
            except _CANNOT_WRITE as error:
                if delta.restarted:
                    raise
                # Only usage and sessions are out of date, until the next change.
                log.warning("new journal events are not indexed yet: %s", error)
                return


def may_be_memory(vault: FileVault, path: str, seen: SeenFile) -> bool:
    """Return whether an unchanged file without a memory may have one now.

    That is so if its folder became a kind's, or the file that it is a copy of was removed.
    """
    return seen.sha != NO_MEMORY or vault.is_memory_folder(path)


def is_memory_now(store: FileStore, path: str, seen: SeenFile) -> bool:
    """Return whether a file that had no memory, or a problem, is a memory now."""
    if seen.memory_id is not None or not may_be_memory(store.vault, path, seen):
        return False
    try:
        file = store.vault.read(path)
    except BrokenFile:
        return False
    if file is None:
        return False
    owner = store.index.get(file.memory.id, include_deleted=True)
    return owner is None or precedence(path) < precedence(str(owner.file_path))
