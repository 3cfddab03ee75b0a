"""Reconcile the index with the files: what a person did outside wins (contract B5)."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime

from muisti.commit import writing
from muisti.errors import BrokenFile, IndexBusy, VaultError, VaultFull
from muisti.model import Event, Problem, SyncReport
from muisti.ports import Changes, Index, Known, Parts, Progress, Shadow, Stamp, StoredFile
from muisti.storage.files.sync.changed_paths import as_known
from muisti.storage.files.sync.sources import Following, looks_different, too_many

log = logging.getLogger("muisti")

BATCH = 1000
NO_MEMORY = "none"
"""Stands for the hash of a file that is somebody's, but no memory. One that is broken has an empty one."""
_CANNOT_WRITE = (VaultFull, IndexBusy)


def sync(parts: Parts, *, confirm: bool = False, paths: Collection[str] | None = None) -> SyncReport:
    """Bring the index up to date with the files and the journal. Confirm: forget even many vanished files.

    Paths: what is said to have changed; nothing else is looked at if the index has these as they are.
    """
    if paths is not None and not parts.index.behind and as_known(parts, paths):
        return SyncReport(problems=tuple(parts.index.problems()))
    if not parts.index.behind and not parts.vault.leftovers() and not _something_new(parts):
        return SyncReport(problems=tuple(parts.index.problems()))
    with writing(parts):
        recovered = _recovered(parts)
        work = _Reconciliation(parts, parts.index, own_edits=False, confirm=confirm)
        work.run()
        parts.index.behind = not recovered
    return work.report(parts.index.problems())


def _recovered(parts: Parts) -> bool:
    """Finish what a crashed process left. On a disk that cannot be written this waits; what is there is read."""
    try:
        parts.vault.recover()
    except VaultError as error:
        log.warning("what another process left half done is finished later: %s", error)
        return False
    return True


def _something_new(parts: Parts) -> bool:
    known = parts.index.known()
    here = 0
    for path, stamp in parts.vault.scan():
        before = known.get(path)
        if before is None or _looks_different(before, stamp) or _became_one(parts, path, before):
            return True
        here += 1
    if here != len(known):
        return True
    reading = parts.journal.read(parts.index.marks())
    return bool(reading.events or reading.restarted or reading.problems) or Following(parts, parts.index).something_new()


def _looks_different(known: Known, stamp: Stamp) -> bool:
    return looks_different(known.stamp, known.seen_ns, stamp)


def _became_one(parts: Parts, path: str, known: Known) -> bool:
    """Whether a file that was no memory, or had a problem, is one now: a kind was added, the original deleted or trashed."""
    if known.memory_id is not None or not _may_be_one(parts, path, known):
        return False
    try:
        file = parts.vault.read(path)
    except BrokenFile:
        return False
    if file is None:
        return False
    holder = parts.reader.get(file.memory.id, include_deleted=True)
    return holder is None or _precedence(path) < _precedence(str(holder.file_path))


def _must_read(parts: Parts, path: str, known: Known | None, stamp: Stamp) -> bool:
    """Whether a file is new, may have changed, or is none of ours but may have become a memory."""
    return known is None or _looks_different(known, stamp) or (known.memory_id is None and _may_be_one(parts, path, known))


def _may_be_one(parts: Parts, path: str, known: Known) -> bool:
    return known.sha != NO_MEMORY or parts.vault.is_home(path)


@dataclass
class _Reconciliation:
    """One pass over the vault. Under the lock, unless it fills a shadow index."""

    parts: Parts
    index: Index | Shadow
    own_edits: bool
    """True when changes since the index last looked are muisti's own and need no event."""
    confirm: bool = False
    adopt: bool = True
    progress: Progress | None = None
    added: int = 0
    changed: int = 0
    moved: int = 0
    removed: int = 0
    missing: int = 0
    owners: dict[str, str] = field(default_factory=dict)
    """Which path holds an id, as far as is known in this pass."""
    events: list[Event] = field(default_factory=list)
    postponed: list[Problem] = field(default_factory=list)
    kept: set[str] = field(default_factory=set)
    """Paths that are gone, but whose rows stay until their files can be taken in at their new place."""

    def run(self) -> None:
        known = self.index.known()
        seen = dict(self.parts.vault.scan())
        suspects = sorted((p for p, s in seen.items() if _must_read(self.parts, p, known.get(p), s)), key=_precedence)
        settled = known.keys() & seen.keys() - set(suspects)
        self.owners = {id_: path for path in settled if (id_ := known[path].memory_id)}
        before = {id_: path for path, k in known.items() if (id_ := k.memory_id)}
        vanished = [path for path in known if path not in seen]
        for batch in _batches(suspects, self.progress):
            self._take_in(batch, seen, known, before)
        self._forget(vanished, known)
        self._finish()
        beside = Following(self.parts, self.index, confirm=self.confirm, mend=self.adopt, progress=self._further(len(suspects)))
        beside.run()
        self.missing += beside.missing
        self.postponed += beside.problems

    def _further(self, done: int) -> Progress | None:
        """The progress of what comes after so many files."""
        tell = self.progress
        return None if tell is None else lambda more, all_: tell(done + more, done + all_)

    def _take_in(self, paths: Sequence[str], seen: dict[str, Stamp], known: dict[str, Known], before: dict[str, str]) -> None:
        files: list[StoredFile] = []
        unread: dict[str, Known] = {}
        problems: dict[str, str] = {}
        demoted: list[str] = []
        for path in paths:
            try:
                if still := self._as_before(path, known.get(path)):
                    unread[path] = still
                    continue
                file = self.parts.vault.read(path, adopt=self.adopt)
                if file is None:
                    unread[path] = Known(seen[path], time.time_ns(), NO_MEMORY, None)
                    continue
                loser = self._claim(file.memory.id, path)
            except BrokenFile as error:
                unread[path] = Known(seen[path], time.time_ns(), "", None)
                problems[path] = error.reason
                continue
            except VaultError as error:
                self._postpone(path, error)
                continue
            if loser is not None:
                problems[loser] = _DUPLICATE.format(self.owners[file.memory.id])
                unread[loser] = Known(seen[loser], time.time_ns(), "", None)
                demoted.append(loser)
            if loser != path:
                try:
                    files.append(self._noted(file, known.get(path), before, seen))
                except VaultError as error:
                    self._postpone(path, error, before[file.memory.id])
        same = {path for path, still in unread.items() if still.memory_id is not None}
        changes = Changes(
            files=files,
            removed=[path for path in (*paths, *demoted) if path in known and path not in same],
            seen=unread,
            problems=problems,
        )
        # Only times of looking are new: on a full disk or beside another writer they are not worth an error.
        with suppress(*(_CANNOT_WRITE if unread.keys() == same and not changes.removed and not changes.files else ())):
            self.index.apply(changes)

    def _as_before(self, path: str, known: Known | None) -> Known | None:
        """A file with other times but the same bytes, as copies and checkouts make them, is a memory that is known."""
        if known is None or known.memory_id is None:
            return None
        sha, stamp, seen_ns = self.parts.vault.looked_at(path)
        if sha != known.sha or self.owners.setdefault(known.memory_id, path) != path:
            return None
        return Known(stamp, seen_ns, sha, known.memory_id)

    def _postpone(self, path: str, error: VaultError, old_path: str | None = None) -> None:
        """A file that must be written to is left until the disk lets us; the index keeps what it has of it."""
        self.postponed.append(Problem(path, f"is taken in later: {error}"))
        log.warning("%s is taken in later: %s", path, error)
        if old_path is not None:
            self.kept.add(old_path)

    def _claim(self, memory_id: str, path: str) -> str | None:
        """Note who holds an id. If two files do, answer the one that has to yield: the copy."""
        owner = self.owners.setdefault(memory_id, path)
        if owner == path:
            return None
        winner, loser = sorted((owner, path), key=_precedence)
        self.owners[memory_id] = winner
        return loser

    def _noted(self, file: StoredFile, known: Known | None, before: dict[str, str], seen: dict[str, Stamp]) -> StoredFile:
        """Count what happened to a file, and let it follow a person's move."""
        old_path = before.get(file.memory.id)
        if old_path is None:
            self.added += 1
            return file
        if old_path != file.memory.file_path and old_path not in seen:
            if not self.own_edits:
                file = self.parts.vault.follow_move(file, old_path)
            self.moved += 1
        elif known is not None and known.sha != file.sha:
            self.changed += 1
        if not self.own_edits:
            self._note_edit(file)
        return file

    def _note_edit(self, file: StoredFile) -> None:
        earlier = self.parts.reader.get(file.memory.id, include_deleted=True)
        if earlier is not None and earlier.content_hash != file.memory.content_hash:
            edited = datetime.fromtimestamp(file.stamp.mtime_ns / 1e9, UTC)
            self.events.append(Event("edited", min(edited, self.parts.clock.now()), (file.memory.id,)))

    def _forget(self, vanished: Sequence[str], known: dict[str, Known]) -> None:
        """Take out what is gone, unless it is so much at once that somebody should be asked."""
        vanished = [path for path in vanished if path not in self.kept]
        lost = [p for p in vanished if (id_ := known[p].memory_id) and id_ not in self.owners and p[0] != "."]
        lost = [p for p in lost if not self.parts.attic.is_archived(p, str(known[p].memory_id))]
        alive = sum(1 for path, k in known.items() if k.memory_id and path[0] != ".")
        if too_many(self.parts, len(lost), alive) and not self.confirm:
            self.missing = len(lost)
            log.warning("%d of %d files have vanished; nothing is forgotten until `muisti sync --confirm`", len(lost), alive)
            vanished = [path for path in vanished if path not in set(lost)]
        else:
            self.removed = len(lost)
            if lost and not self.own_edits:
                ids = tuple(str(known[path].memory_id) for path in lost)
                self.events.append(Event("vanished", self.parts.clock.now(), ids))
        if vanished:
            self.index.apply(Changes(removed=vanished))

    def _finish(self) -> None:
        if self.events:
            try:
                self.parts.journal.append(self.events, durable=True)
            except VaultError as error:
                # The files tell the rest: whoever can only read, or has a full disk, still gets answers.
                log.warning("could not note in the journal what was changed by hand: %s", error)
        marks = self.index.marks()
        reading = self.parts.journal.read(marks)
        if reading.events or reading.restarted or dict(reading.marks) != marks:
            try:
                self.index.apply(Changes(reading=reading))
            except _CANNOT_WRITE as error:
                if reading.restarted:
                    raise
                # Only use and sessions are a little behind, and the next change takes them along: no reason not to answer.
                log.warning("what the journal tells is taken in later: %s", error)

    def report(self, problems: Sequence[Problem]) -> SyncReport:
        return SyncReport(
            added=self.added,
            changed=self.changed,
            moved=self.moved,
            removed=self.removed,
            missing=self.missing,
            problems=(*problems, *self.postponed),
        )


def fill(parts: Parts, index: Index | Shadow, *, adopt: bool, progress: Progress | None = None) -> None:
    """Bring an index that nobody reads yet up to date, without a word to the journal."""
    _Reconciliation(parts, index, own_edits=True, confirm=True, adopt=adopt, progress=progress).run()


_DUPLICATE = "has the same id as {}: delete one of the two, or remove the line `id:` from the copy"


def _precedence(path: str) -> tuple[bool, int, str]:
    """Of two files with one id the live, the shorter-named, the first wins: copies have longer names."""
    return path.startswith("."), len(path), path


def _batches(paths: Sequence[str], progress: Progress | None) -> Iterator[Sequence[str]]:
    for start in range(0, len(paths), BATCH):
        yield paths[start : start + BATCH]
        if progress:
            progress(min(start + BATCH, len(paths)), len(paths))
