"""The memories of the store, as the bytes of their files, with versions and the archive."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from muisti.errors import BrokenFile, Conflict, MemoryNotFound
from muisti.model import Event, EventName, Memory, Problem
from muisti.ports.services import VaultFormat
from muisti.ports.store import Stored, StoredVersion, Update
from muisti.storage.postgres.connect import Connection, fetch
from muisti.storage.postgres.rows import STORED, decode_written
from muisti.storage.row_values import to_int, to_time

ARCHIVE, HISTORY, TRASH = "archive/", ".history/", ".trash/"
_MICROSECOND = timedelta(microseconds=1)


class _File(NamedTuple):
    """A row of the table memories."""

    archived: bool
    path: str
    revision: int
    data: bytes


class MemoryFiles:
    """Writes and reads the tables memories and versions, within a transaction."""

    def __init__(self, vault_format: VaultFormat) -> None:
        self._format = vault_format

    # -- Writing

    def create(
        self,
        db: Connection,
        memories: Sequence[Memory],
        extra: Mapping[str, Mapping[str, str | tuple[str, ...]]],
    ) -> dict[str, Memory]:
        """Create files. Return the memories as they are stored. Raises Conflict.

        Extra: further front-matter keys, by the memory's ID.
        """
        if not memories:
            return {}
        sql = "SELECT id FROM memories WHERE id = ANY(%s) AND NOT archived"
        known = [id_ for (id_,) in fetch(db, sql, ([memory.id for memory in memories],))]
        if known:
            raise Conflict(
                f"a memory with the ID {known[0]} already exists; omit the ID, or update it"
            )
        paths = _choose_paths(db, [(self._format.make_path(one), one.id) for one in memories])
        written = {}
        for memory, path in zip(memories, paths, strict=True):
            written[memory.id] = replace(memory, file_path=path)
        files = [self._format.encode_memory(one, extra.get(one.id)) for one in written.values()]
        days = [memory.created_at.date() for memory in written.values()]
        db.execute(
            """INSERT INTO memories (id, path, created_on, file, revision)
               SELECT *, nextval('muisti.revisions')
               FROM unnest(%s::text[], %s::text[], %s::date[], %s::bytea[])""",
            (list(written), paths, days, files),
        )
        return written

    def update(
        self, db: Connection, updates: Sequence[Update], events: list[Event], now: datetime
    ) -> dict[str, Memory]:
        """Rewrite files. Return the memories that are not archived. Raises Conflict, BrokenFile."""
        written: dict[str, Memory] = {}
        for update in updates:
            memory_id = update.memory.id
            file = self._find(db, memory_id)
            if file is None or str(file.revision) != update.revision:
                if update.optional:
                    continue
                raise Conflict(f"{memory_id} has changed; read it again and repeat the change")
            memory = replace(update.memory, file_path=file.path)
            try:
                data = self._format.rewrite_memory(file.data, memory)
            except BrokenFile:
                if update.optional:
                    continue
                raise
            if update.keep_version:
                kept = self.keep_version(db, memory_id, file.data, now, merged=False)
                for at, event in enumerate(events):
                    if event.name == EventName.UPDATED and memory_id in event.memory_ids:
                        events[at] = event._replace(data={**event.data, "kept": kept})
            path = file.path
            if not file.archived and not path.startswith(TRASH):
                path = _follow_folder(db, path, self._format.make_path(memory), memory_id)
            db.execute(
                """UPDATE memories SET file = %s, path = %s, created_on = %s,
                       revision = nextval('muisti.revisions')
                   WHERE id = %s AND archived = %s""",
                (data, path, memory.created_at.date(), memory_id, file.archived),
            )
            if not file.archived:
                written[memory_id] = replace(memory, file_path=path)
        return written

    def trash(self, db: Connection, memories: Sequence[Memory], now: datetime) -> dict[str, Memory]:
        """Move files to the trash. Return the memories as they are there."""
        written = {}
        for memory in memories:
            known = self._require(db, memory.id)
            at = now
            while _find_taken(db, [self._format.make_trash_path(str(known.file_path), at)]):
                at += _MICROSECOND  # the clock stood still or was set back
            path = self._format.make_trash_path(str(known.file_path), at)
            _move(db, memory.id, path)
            written[memory.id] = replace(known, deleted_at=at, file_path=path)
        return written

    def restore(self, db: Connection, ids: Sequence[str]) -> dict[str, Memory]:
        """Move files back from the trash or the archive. Raises MemoryNotFound, BrokenFile."""
        written = {}
        for memory_id in ids:
            known = read_written(db, memory_id)
            if known is not None and known.deleted_at is not None:
                memory = replace(known, deleted_at=None)
                wanted = self._format.make_restored_path(str(known.file_path))
            elif known is None and (file := self._find(db, memory_id)) is not None:
                memory = self._format.decode_memory(file.path, file.data)
                wanted = file.path
            else:
                raise MemoryNotFound(memory_id)
            [path] = _choose_paths(db, [(wanted, memory_id)])
            _move(db, memory_id, path)
            written[memory_id] = replace(memory, file_path=path)
        return written

    def archive(self, db: Connection, memories: Sequence[Memory]) -> None:
        """Move files to the archive. Raises MemoryNotFound. An older copy there is replaced."""
        for memory in memories:
            self._require(db, memory.id)
            db.execute("DELETE FROM memories WHERE id = %s AND archived", (memory.id,))
            db.execute(
                """UPDATE memories SET archived = true, revision = nextval('muisti.revisions')
                   WHERE id = %s""",
                (memory.id,),
            )

    def erase(self, db: Connection, ids: Sequence[str]) -> None:
        """Delete files, archived copies and versions."""
        if ids:
            db.execute("DELETE FROM memories WHERE id = ANY(%s)", (list(ids),))
            db.execute("DELETE FROM versions WHERE memory_id = ANY(%s)", (list(ids),))
            db.execute("DELETE FROM files WHERE id = ANY(%s)", (list(ids),))

    def keep_merged(self, db: Connection, memory: Memory, into: str, now: datetime) -> None:
        """Keep a merged text as the file that it would have been."""
        self.keep_version(db, into, self._format.encode_memory(memory), now, merged=True)

    def keep_version(
        self, db: Connection, memory_id: str, data: bytes, at: datetime, *, merged: bool
    ) -> str:
        """Keep a version, and return its reference."""
        known = {time for (time,) in fetch(db, _VERSION_TIMES, (memory_id, to_int(at)))}
        while to_int(at) in known:
            at += _MICROSECOND  # the clock did not advance
        db.execute(
            "INSERT INTO versions (memory_id, at, merged, file) VALUES (%s, %s, %s, %s)",
            (memory_id, to_int(at), merged, data),
        )
        return make_reference(memory_id, at, merged=merged)

    def drop(self, db: Connection, versions: Sequence[StoredVersion]) -> None:
        """Delete versions."""
        for version in versions:
            db.execute(
                "DELETE FROM versions WHERE memory_id = %s AND at = %s",
                (version.reference.split("/")[1], to_int(version.at)),
            )

    # -- Reading

    def current(self, db: Connection, memory_id: str) -> Stored | None:
        """Return a memory as it is stored, also an archived one; None if it is gone."""
        file = self._find(db, memory_id)
        if file is None:
            return None
        memory = None if file.archived else read_written(db, memory_id)
        if memory is None:
            place = ARCHIVE if file.archived else ""
            memory = self._format.decode_memory(place + file.path, file.data)
        text = bytes(file.data).decode("utf-8", "replace")
        return Stored(memory, str(file.revision), indexed=not file.archived, text=text)

    def versions(self, db: Connection, memory_id: str) -> list[StoredVersion]:
        """Return versions and merged texts, oldest first. Unreadable ones are left out."""
        sql = "SELECT at, merged, file FROM versions WHERE memory_id = %s ORDER BY at"
        found = []
        for time, merged, data in fetch(db, sql, (memory_id,)):
            at = to_time(time)
            reference = make_reference(memory_id, at, merged=merged)
            found += [
                StoredVersion(reference, at, memory, merged)
                for memory in self._decode_all([(reference, data)])
            ]
        return found

    def archived(self, db: Connection, limit: int | None, offset: int) -> list[Memory]:
        """Return a page of the archive, the latest day first. Unreadable files are left out."""
        sql = """SELECT path, file FROM memories WHERE archived
                 ORDER BY created_on DESC, id DESC LIMIT %s OFFSET %s"""
        return list(
            self._decode_all(
                (ARCHIVE + path, data) for path, data in fetch(db, sql, (limit, offset))
            )
        )

    def archived_memory(self, db: Connection, memory_id: str) -> Memory | None:
        """Return one memory of the archive, or None. Raises BrokenFile."""
        sql = "SELECT path, file FROM memories WHERE id = %s AND archived"
        rows = fetch(db, sql, (memory_id,))
        return self._format.decode_memory(ARCHIVE + rows[0][0], rows[0][1]) if rows else None

    def all(self, db: Connection) -> list[Memory]:
        """Return all memories that are not archived, as their files say."""
        sql = "SELECT path, file FROM memories WHERE NOT archived ORDER BY revision"
        return list(self._decode_all(fetch(db, sql)))

    def find_broken(self, db: Connection) -> list[Problem]:
        """Return a problem for each file that cannot be read or does not fit to its row."""
        found = []
        after: tuple[Any, ...] = ("", False)
        while rows := fetch(db, _ALL_FILES, after):
            for id_, archived, path, created_on, data in rows:
                place = ARCHIVE if archived else ""
                try:
                    memory = self._format.decode_memory(place + path, data)
                except BrokenFile as error:
                    found.append(Problem(place + path, error.reason))
                    continue
                if (memory.id, memory.created_at.date()) != (id_, created_on):
                    reason = f"its file is of another memory, {memory.id}, or of another day"
                    found.append(Problem(place + path, reason))
            after = rows[-1][:2]
        return found

    def _decode_all(self, files: Iterable[tuple[str, bytes]]) -> Iterable[Memory]:
        for path, data in files:
            try:
                yield self._format.decode_memory(path, data)
            except BrokenFile:
                continue

    def _find(self, db: Connection, memory_id: str) -> _File | None:
        sql = """SELECT archived, path, revision, file FROM memories WHERE id = %s
                 ORDER BY archived LIMIT 1"""
        rows = fetch(db, sql, (memory_id,))
        return _File(*rows[0]) if rows else None

    def _require(self, db: Connection, memory_id: str) -> Memory:
        """Return a memory that is not archived. Raises MemoryNotFound."""
        memory = read_written(db, memory_id)
        if memory is None:
            raise MemoryNotFound(memory_id)
        return memory


def read_written(db: Connection, memory_id: str) -> Memory | None:
    """Return a memory as it was written, without usage; None if it is archived or gone."""
    rows = fetch(db, _WRITTEN, (memory_id,))
    return decode_written(rows[0]) if rows else None


def read_all_written(db: Connection) -> list[Memory]:
    """Return all memories that are not archived, as the index says that they were written."""
    return [decode_written(row) for row in fetch(db, _ALL_WRITTEN)]


_ALL_WRITTEN = f"""SELECT {", ".join(f"m.{column}" for column in STORED)} FROM entries m
WHERE m.origin = 'memory'"""
_WRITTEN = f"{_ALL_WRITTEN} AND m.id = %s"
_ALL_FILES = """SELECT id, archived, path, created_on, file FROM memories
WHERE (id, archived) > (%s, %s) ORDER BY id, archived LIMIT 500"""
_VERSION_TIMES = "SELECT at FROM versions WHERE memory_id = %s AND at >= %s"


def make_reference(memory_id: str, at: datetime, *, merged: bool) -> str:
    """Return the path of a version, as in a vault of files."""
    return f"{HISTORY}{memory_id}/{at:%Y%m%dT%H%M%S%fZ}{'.merged' if merged else ''}.md"


def _find_taken(db: Connection, paths: Sequence[str]) -> set[str]:
    sql = "SELECT path FROM memories WHERE path = ANY(%s) AND NOT archived"
    return {path for (path,) in fetch(db, sql, (list(paths),))}


def _choose_paths(db: Connection, wanted: Sequence[tuple[str, str]]) -> list[str]:
    """Return a free path for each wanted one and its memory's ID: that, or one with a suffix."""
    taken = _find_taken(db, [path for path, _ in wanted])
    chosen = []
    for path, memory_id in wanted:
        free = path
        for suffix in ("_2", "_3", "_4", "_5", f"_{memory_id[-12:]}", f"_{memory_id}"):
            if free not in taken:
                break
            free = f"{path.removesuffix('.md')}{suffix}.md"
            taken |= _find_taken(db, [free])
        taken.add(free)
        chosen.append(free)
    return chosen


def _follow_folder(db: Connection, path: str, wanted: str, memory_id: str) -> str:
    """Return the path of a file whose kind or project may have changed: its name stays."""
    folder, name = wanted.rpartition("/")[0], path.rpartition("/")[2]
    if path.rpartition("/")[0] == folder:
        return path
    return _choose_paths(db, [(f"{folder}/{name}", memory_id)])[0]


def _move(db: Connection, memory_id: str, path: str) -> None:
    db.execute(
        """UPDATE memories SET path = %s, archived = false, revision = nextval('muisti.revisions')
           WHERE id = %s""",
        (path, memory_id),
    )
