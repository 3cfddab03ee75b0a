"""Writes the files of a vault that is pushed into the store, within a transaction."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from muisti.errors import BrokenFile, InvalidMemory
from muisti.model import Memory
from muisti.ports.moving import ListedFile, Part, VaultFile, VaultLayout
from muisti.ports.rows import IndexChanges
from muisti.ports.services import VaultFormat
from muisti.remember.index_rows import project_memory
from muisti.storage.postgres.connect import Connection, fetch
from muisti.storage.postgres.memory_files import ARCHIVE, HISTORY, make_reference
from muisti.storage.row_values import to_int, to_time

PAGE = 1000
_STAMP = "%Y%m%dT%H%M%S%fZ"


class Version(NamedTuple):
    """What the path of a version says."""

    memory_id: str
    at: int
    merged: bool


def parse_version(path: str) -> Version | None:
    """Return what the path of a version says; None if no version has this path."""
    _, memory_id, name = path.split("/")
    merged = name.endswith(".merged.md")
    try:
        stamp = name.removesuffix(".md").removesuffix(".merged")
        at = datetime.strptime(stamp, _STAMP).replace(tzinfo=UTC)
    except ValueError:
        return None
    number = to_int(at)
    is_same = number is not None and make_reference(memory_id, at, merged=merged) == path
    return Version(memory_id, number, merged) if is_same and number is not None else None


def read_archived_id(path: str) -> str:
    """Return the ID in the name of an archived file."""
    return path.removesuffix(".md").rpartition(".")[2]


class PushedFiles:
    """Writes files of a vault as rows, and finds those that are there already."""

    def __init__(self, vault_format: VaultFormat, layout: VaultLayout) -> None:
        self._format = vault_format
        self._layout = layout

    def write(
        self, db: Connection, files: Sequence[VaultFile], exists: Callable[[str], bool]
    ) -> tuple[int, IndexChanges]:
        """Write files. Return how many were not there yet, and the changes of the index."""
        known = self.read_hashes(db, files)
        fresh = [
            file
            for file in files
            if file.part is not Part.CORE
            and known.get(file.path) != hashlib.sha256(file.data).digest()
        ]
        others = [file for file in fresh if file.part is Part.OTHER]
        memories: dict[str, tuple[Memory, bytes]] = {}
        for file in fresh:
            if file.part is Part.MEMORY:
                memory = self._decode(file.path, file.data)
                if memory is None:
                    others.append(file)
                    continue
                other = memories.get(memory.id)
                if other is None or self._precedes(memory, other[0]):
                    memories[memory.id] = memory, file.data
                    memory, data = other or (None, b"")
                else:
                    data = file.data
                if memory is not None:
                    others.append(VaultFile(Part.OTHER, str(memory.file_path), data))
        changes = self._write_memories(db, memories, others, exists)
        for file in fresh:
            is_written = (
                (file.part is Part.ARCHIVED and self._write_archived(db, file, exists))
                or (file.part is Part.VERSION and _write_version(db, file))
                or file.part in (Part.MEMORY, Part.OTHER)
            )
            others += [] if is_written else [file]
        for file in others:
            self._write_other(db, file, None)
        for file in files:
            if file.part is Part.CORE:
                self._write_core(db, file)
        return len(fresh), changes

    def _decode(self, path: str, data: bytes) -> Memory | None:
        """Return the memory of a file; None if it has none that can be read."""
        try:
            memory = self._format.decode_memory(path, data)
        except (BrokenFile, InvalidMemory):
            return None
        return memory if memory.id else None

    def _precedes(self, memory: Memory, other: Memory) -> bool:
        return self._layout.precedence(str(memory.file_path)) < self._layout.precedence(
            str(other.file_path)
        )

    def _write_memories(
        self,
        db: Connection,
        memories: dict[str, tuple[Memory, bytes]],
        others: list[VaultFile],
        exists: Callable[[str], bool],
    ) -> IndexChanges:
        """Write memories by ID. Copies of one that is stored are added to the other files."""
        if not memories:
            return IndexChanges()
        sql = "SELECT id, path, file FROM memories WHERE id = ANY(%s) AND NOT archived"
        for id_, path, data in fetch(db, sql, (list(memories),)):
            memory, own = memories[id_]
            if path == memory.file_path or not exists(path):
                continue
            if self._layout.precedence(path) < self._layout.precedence(str(memory.file_path)):
                others.append(VaultFile(Part.OTHER, str(memory.file_path), own))
                del memories[id_]
            else:
                others.append(VaultFile(Part.OTHER, path, data))
        written = [memory for memory, _ in memories.values()]
        paths = [str(memory.file_path) for memory in written]
        replaced = fetch(
            db,
            """DELETE FROM memories m USING unnest(%s::text[], %s::text[]) p (id, path)
               WHERE m.path = p.path AND m.id <> p.id AND NOT m.archived RETURNING m.id""",
            (list(memories), paths),
        )
        db.execute(
            """DELETE FROM memories WHERE id = ANY(%s) AND NOT archived""", (list(memories),)
        )
        db.execute(
            """INSERT INTO memories (id, path, created_on, file, revision)
               SELECT *, nextval('muisti.revisions')
               FROM unnest(%s::text[], %s::text[], %s::date[], %s::bytea[])""",
            (
                list(memories),
                paths,
                [memory.created_at.date() for memory in written],
                [data for _, data in memories.values()],
            ),
        )
        db.execute("DELETE FROM files WHERE path = ANY(%s)", (paths,))
        return IndexChanges(
            memories=[project_memory(memory) for memory in written],
            removed=[id_ for (id_,) in replaced if id_ not in memories],
        )

    def _write_archived(
        self, db: Connection, file: VaultFile, exists: Callable[[str], bool]
    ) -> bool:
        """Write a file of the archive. Return whether it is one that can be read."""
        id_ = read_archived_id(file.path)
        path = file.path.removeprefix(ARCHIVE).removesuffix(f".{id_}.md") + ".md"
        memory = self._decode(path, file.data)
        if memory is None or memory.id != id_:
            return False
        if self._layout.make_archive_path(path, id_) != file.path:
            return False
        sql = "SELECT path FROM memories WHERE id = %s AND archived"
        for (other,) in fetch(db, sql, (id_,)):
            if other != path and exists(self._layout.make_archive_path(other, id_)):
                return False
        db.execute(
            """INSERT INTO memories (id, archived, path, created_on, file, revision)
               VALUES (%s, true, %s, %s, %s, nextval('muisti.revisions'))
               ON CONFLICT (tenant, id, archived) DO UPDATE SET path = excluded.path,
               created_on = excluded.created_on, file = excluded.file,
               revision = excluded.revision""",
            (id_, path, memory.created_at.date(), file.data),
        )
        db.execute("DELETE FROM files WHERE path = %s", (file.path,))
        return True

    def _write_other(self, db: Connection, file: VaultFile, owner: str | None) -> None:
        id_ = self._layout.find_memory_id(file.data)
        if file.path.startswith(HISTORY) and owner is None:
            id_ = file.path.split("/")[1]  # it is removed with the versions of this memory
        db.execute(
            """INSERT INTO files (path, owner, id, file, changed_at)
               VALUES (%s, %s, %s, %s, coalesce(%s, (extract(epoch FROM now()) * 1000000)::bigint))
               ON CONFLICT (tenant, path) DO UPDATE SET owner = excluded.owner, id = excluded.id,
               file = excluded.file, changed_at = excluded.changed_at""",
            (file.path, owner, id_, file.data, to_int(file.changed_at)),
        )

    def _write_core(self, db: Connection, file: VaultFile) -> None:
        """Write core memory as rows, and as it is if the rows would be written otherwise."""
        owner = self._layout.find_owner(file.path)
        sections = None
        if owner is not None and file.path == self._layout.make_core_path(owner):
            sections = self._layout.parse_core(file.path, file.data)
            db.execute("DELETE FROM core WHERE owner = %s", (owner,))
        for section, entries in (sections or {}).items():
            for key, value in entries.items():
                if "\0" not in key + value and (section == "user" or not owner):
                    db.execute(
                        "INSERT INTO core (owner, section, key, value) VALUES (%s, %s, %s, %s)",
                        (owner, section, key, value),
                    )
        is_same = owner is not None and self.format_core(db, owner) == file.data
        if sections is not None and is_same:
            db.execute("DELETE FROM files WHERE path = %s", (file.path,))
        else:
            self._write_other(db, file, owner)

    def format_core(self, db: Connection, owner: str) -> bytes:
        """Return the file of a user's core memory, or of the vault's."""
        names = ("user",) if owner else ("user", "agent")
        sections: dict[str, dict[str, str]] = {name: {} for name in names}
        sql = "SELECT section, key, value FROM core WHERE owner = %s ORDER BY n"
        for section, key, value in fetch(db, sql, (owner,)):
            sections.setdefault(section, {})[key] = value
        return self._layout.format_core(sections)

    # -- What is there

    def read_hashes(
        self, db: Connection, files: Sequence[VaultFile | ListedFile]
    ) -> dict[str, bytes]:
        """Return the SHA-256 of each of the files that the store has, by path."""
        by_part: dict[Part, list[str]] = {}
        for file in files:
            by_part.setdefault(file.part, []).append(file.path)
        paths = [file.path for file in files]
        found = dict(
            fetch(db, "SELECT path, sha256(file) FROM files WHERE path = ANY(%s)", (paths,))
        )
        if live := by_part.get(Part.MEMORY):
            sql = """SELECT path, sha256(file) FROM memories
                     WHERE path = ANY(%s) AND NOT archived"""
            found |= dict(fetch(db, sql, (live,)))
        if archived := by_part.get(Part.ARCHIVED):
            sql = "SELECT id, path, sha256(file) FROM memories WHERE id = ANY(%s) AND archived"
            ids = list(map(read_archived_id, archived))
            for id_, path, digest in fetch(db, sql, (ids,)):
                found[self._layout.make_archive_path(path, id_)] = digest
        if versions := by_part.get(Part.VERSION):
            known = [version for version in map(parse_version, versions) if version is not None]
            sql = """SELECT memory_id, at, merged, sha256(file) FROM versions
                     JOIN unnest(%s::text[], %s::bigint[]) p (id, time)
                     ON memory_id = p.id AND at = p.time"""
            values = [one.memory_id for one in known], [one.at for one in known]
            for id_, at, merged, digest in fetch(db, sql, values):
                found[make_reference(id_, to_time(at), merged=merged)] = digest
        return found

    def remove_missing(
        self, db: Connection, exists: Callable[[str], bool]
    ) -> tuple[int, list[str]]:
        """Delete the rows of files that are gone. Return how many, and the IDs of memories."""
        gone: list[tuple[str, tuple[Any, ...]]] = []
        removed = []
        for id_, archived, path in _read_all(db, "memories", "id, archived, path", "id, archived"):
            file = self._layout.make_archive_path(path, id_) if archived else path
            if not exists(file):
                gone.append(("memories WHERE id = %s AND archived = %s", (id_, archived)))
                removed += [] if archived else [id_]
        for id_, at, merged in _read_all(db, "versions", "memory_id, at, merged", "memory_id, at"):
            if not exists(make_reference(id_, to_time(at), merged=merged)):
                gone.append(("versions WHERE memory_id = %s AND at = %s", (id_, at)))
        for path, outside in _read_all(db, "files", "path, outside", "path"):
            if not outside and not exists(path):
                gone.append(("files WHERE path = %s", (path,)))
        for (owner,) in fetch(db, "SELECT DISTINCT owner FROM core"):
            if not exists(self._layout.make_core_path(owner)):
                gone.append(("core WHERE owner = %s", (owner,)))
        for what, values in gone:
            db.execute(f"DELETE FROM {what}".encode(), values)
        return len(gone), removed


def _write_version(db: Connection, file: VaultFile) -> bool:
    """Write an earlier version. Return whether its path is one of a version."""
    version = parse_version(file.path)
    if version is None:
        return False
    sql = "SELECT 1 FROM versions WHERE memory_id = %s AND at = %s AND merged <> %s"
    if fetch(db, sql, version):
        return False
    db.execute(
        """INSERT INTO versions (memory_id, at, merged, file) VALUES (%s, %s, %s, %s)
           ON CONFLICT (tenant, memory_id, at) DO UPDATE SET file = excluded.file""",
        (*version, file.data),
    )
    db.execute("DELETE FROM files WHERE path = %s", (file.path,))
    return True


def _read_all(db: Connection, table: str, columns: str, key: str) -> Iterator[tuple[Any, ...]]:
    """Yield all rows of a table, a page at a time. The key comes first in the columns."""
    number = len(key.split(","))
    after: tuple[Any, ...] | None = None
    while True:
        where = f"WHERE ({key}) > ({', '.join(['%s'] * number)})" if after else ""
        sql = f"SELECT {columns} FROM {table} {where} ORDER BY {key} LIMIT {PAGE}"
        rows = fetch(db, sql, after or ())
        yield from rows
        if len(rows) < PAGE:
            return
        after = rows[-1][:number]
