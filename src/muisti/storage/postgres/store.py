"""The store in PostgreSQL: every change is one transaction, with its part of the index."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property, partial

from muisti.lifecycle.journal_projection import (
    assign_messages,
    project_events,
    remove_from_event,
)
from muisti.model import (
    CORE_SECTIONS,
    CoreMemory,
    Event,
    EventName,
    Memory,
    Message,
    Problem,
)
from muisti.ports.change_set import ChangeSet, Committed
from muisti.ports.rows import IndexChanges, TextRow
from muisti.ports.services import VaultFormat
from muisti.ports.store import Clock, Removal, Stored, StoredVersion
from muisti.remember.index_rows import project_memory
from muisti.settings import Settings
from muisti.storage.checked_values import check_text, copy_event, to_message_line
from muisti.storage.postgres import conversations, journal
from muisti.storage.postgres.claims import SharedWork, find_given_up
from muisti.storage.postgres.connect import Connection, Database, fetch
from muisti.storage.postgres.documents import (
    PostgresDocuments,
    ProjectedDocument,
    assign_documents,
)
from muisti.storage.postgres.index import PostgresIndex
from muisti.storage.postgres.memory_files import MemoryFiles
from muisti.storage.postgres.queue import PostgresQueue
from muisti.storage.row_values import to_int


class PostgresStore:
    """Implements the port Store."""

    lag = ""

    def __init__(
        self,
        database: Database,
        index: PostgresIndex,
        settings: Settings,
        clock: Clock,
        vault_format: VaultFormat,
    ) -> None:
        self.queue = PostgresQueue(database, settings.extract_queue)
        self.work = SharedWork(database)
        self._db = database
        self._index = index
        self._settings = settings
        self._clock = clock
        self._format = vault_format
        self._files = MemoryFiles(vault_format)
        self._is_checked = False

    @cached_property
    def documents(self) -> PostgresDocuments:
        """The documents, which are rows of files."""
        return PostgresDocuments(self._db, self._index, self._format.documents)

    # -- The index

    def prepare(self, *, wait: bool) -> None:
        """Connect, and build the index again if a migration needs that.

        Apart from this, the index is always current: it is written with the store.
        """
        if self._is_checked or not self._db.state.writable:
            return
        stale = "SELECT 1 FROM totals WHERE stale"
        with self._db.read_transaction() as db:
            is_stale = bool(fetch(db, stale))
        if is_stale:
            with self._db.write_transaction() as db:
                if fetch(db, stale):  # another process may have done it meanwhile
                    self.repair()
        self._is_checked = True

    def repair(self) -> None:
        """Build the index again from the rows of the store."""
        with self._db.write_transaction() as db:
            changes, documents = self.project_all()
            assign_documents(db, documents)
            self._index.rebuild(changes)

    def project_all(self) -> tuple[IndexChanges, list[ProjectedDocument]]:
        """Return the rows of everything that is stored, and what they are of documents."""
        with self._db.read_transaction() as db:
            folded = project_events(
                journal.read_events(db),
                self._index,
                restart=True,
                grace_days=self._settings.salience_decay_days,
            )
            named = [source for source in folded.sources.values() if source is not None]
            documents = self.documents.project_all(named)
            texts = [
                *conversations.project_conversations(db),
                *(row for document in documents for row in document.rows),
            ]
            memories = [project_memory(memory) for memory in self._files.all(db)]
            return IndexChanges(memories, texts=texts, journal=folded), documents

    @contextmanager
    def lock(self, timeout: float | None = None) -> Iterator[None]:
        """Begin a transaction that excludes other writers of the tenant. Raises VaultBusy.

        It is committed at the end, or rolled back if an error is raised.
        """
        wait = self._settings.lock_timeout if timeout is None else timeout
        with self._db.write_transaction(wait):
            yield

    # -- Writing

    def commit(self, changes: ChangeSet) -> Committed:
        """Write a change and its part of the index, or nothing if an error is raised."""
        now = self._clock.now()
        events = [copy_event(event) for event in changes.events]
        lines = [to_message_line(message) for message in changes.messages]
        with self._db.write_transaction() as db:
            written = self._files.create(db, changes.created, changes.extra)
            for memory, into in changes.merged:
                self._files.keep_merged(db, memory, into, now)
            written |= self._files.update(db, changes.updated, events, now)
            if written and (changes.trashed or changes.archived):
                # A memory may be updated and moved in one change: moving reads the index.
                rows = [project_memory(memory) for memory in written.values()]
                self._index.apply(IndexChanges(rows))
            written |= self._files.trash(db, changes.trashed, now)
            written |= self._files.restore(db, changes.restored)
            self._files.archive(db, changes.archived)
            self._files.erase(db, changes.erased)
            self._files.drop(db, changes.dropped)
            for section, entries in changes.core.items():
                _write_core(db, changes.core_user, section, entries)
            texts: Sequence[TextRow] = ()
            if lines:
                texts = conversations.append_lines(db, changes.messages[0].conversation, lines)
            journal.append_events(db, events)
            for event in events:
                if event.name == EventName.EXTRACTED and "exchange" in event.data:
                    self.queue.finish(db, str(event.data["exchange"]))
            removed = [memory.id for memory in changes.archived] + list(changes.erased)
            left = [memory for id_, memory in written.items() if id_ not in removed]
            grace = self._settings.salience_decay_days
            folded = project_events(events, self._index, grace_days=grace) if events else None
            rows = [project_memory(memory) for memory in left]
            self._index.apply(IndexChanges(rows, removed, texts, journal=folded))
        return Committed(written, indexed=True)

    def remove(self, removal: Removal) -> None:
        """Remove messages, core memory and events, and update the index."""
        with self._db.write_transaction() as db:
            texts: list[TextRow] = []
            emptied: list[tuple[str, str]] = []
            for conversation, ids in removal.messages.items():
                for _, path in conversations.list_paths(db, conversation):
                    lines = conversations.read_lines(db, path)
                    gone = [line for line in lines if ids is None or line.id in ids]
                    kept = [line for line in lines if not (ids is None or line.id in ids)]
                    if not removal.hard:
                        conversations.trash_lines(db, conversation, path, gone)
                    texts += conversations.replace_day(db, conversation, path, kept)
                    emptied.append(("message", path))
                if removal.hard:
                    conversations.empty_trash(db, conversation, ids)
                    if ids is None:
                        conversations.delete_other_lines(db, conversation)
            for user in removal.core_users:
                if not removal.hard:
                    db.execute(_TRASH_CORE, (to_int(self._clock.now()), user))
                db.execute("DELETE FROM core WHERE owner = %s", (user,))
                db.execute("DELETE FROM files WHERE owner = %s", (user,))
                if removal.hard:
                    db.execute("DELETE FROM trashed_core WHERE owner = %s", (user,))
            folded = None
            if removal.hard or removal.sessions:
                events = journal.rewrite_events(db, partial(remove_from_event, removal=removal))
                grace = self._settings.salience_decay_days
                folded = project_events(events, self._index, restart=True, grace_days=grace)
            self._index.apply(IndexChanges(texts=texts, emptied=emptied, journal=folded))

    def trashed_messages(self) -> list[Message]:
        """Return the messages in the trash."""
        with self._db.read_transaction() as db:
            found = conversations.read_trash(db)
            return assign_messages(found, journal.read_events(db)) if found else []

    def restore_messages(self, conversation: str) -> int:
        """Put a conversation's messages back from the trash, and return how many."""
        texts: list[TextRow] = []
        emptied: list[tuple[str, str]] = []
        with self._db.write_transaction() as db:
            for _, path in conversations.list_paths(db, conversation, trashed=True):
                kept = conversations.read_lines(db, path)
                trashed = conversations.read_lines(db, path, trashed=True)
                lines = sorted([*kept, *trashed], key=lambda line: line.at)
                texts += conversations.replace_day(db, conversation, path, lines)
                emptied.append(("message", path))
            count = conversations.empty_trash(db, conversation, None)
            self._index.apply(IndexChanges(texts=texts, emptied=emptied))
        return count

    # -- Reading

    def current(self, memory: Memory) -> Stored | None:
        """Return the stored state of a memory, or None. Raises BrokenFile."""
        with self._db.read_transaction() as db:
            return self._files.current(db, memory.id)

    def versions(self, memory_id: str) -> list[StoredVersion]:
        """Return the earlier versions and merged texts of a memory, oldest first."""
        with self._db.read_transaction() as db:
            return self._files.versions(db, memory_id)

    def merged_ids(self) -> list[str]:
        """Return the IDs of memories with merged texts, the most recently merged first."""
        sql = """SELECT memory_id FROM versions WHERE merged GROUP BY memory_id
                 ORDER BY max(at) DESC, memory_id DESC"""
        with self._db.read_transaction() as db:
            return [id_ for (id_,) in fetch(db, sql)]

    def archived(self, limit: int | None = None, offset: int = 0) -> list[Memory]:
        """Return one page of the archive, the latest day first, then the latest ID."""
        with self._db.read_transaction() as db:
            return self._files.archived(db, limit, offset)

    def archived_memory(self, memory_id: str) -> Memory | None:
        """Return one archived memory, or None. Raises BrokenFile."""
        with self._db.read_transaction() as db:
            return self._files.archived_memory(db, memory_id)

    def archived_ids(self) -> list[str]:
        """Return the IDs of all archived memories."""
        with self._db.read_transaction() as db:
            return [id_ for (id_,) in fetch(db, "SELECT id FROM memories WHERE archived")]

    def events(self, memory_id: str) -> list[Event]:
        """Return all events that mention a memory, in journal order."""
        with self._db.read_transaction() as db:
            return journal.read_events(db, memory_id)

    def problems(self) -> list[Problem]:
        """Return what is no longer tried: exchanges to extract, and texts to embed."""
        with self._db.read_transaction() as db:
            return find_given_up(db)

    def find_broken(self) -> list[Problem]:
        """Return a problem for each memory whose bytes are not those of its row."""
        with self._db.read_transaction() as db:
            return self._files.find_broken(db)

    def core(self, user: str = "", problems: list[Problem] | None = None) -> CoreMemory:
        """Return the core memory, of a user or of the vault."""
        sections: dict[str, dict[str, str]] = {section: {} for section in CORE_SECTIONS}
        sql = """SELECT section, key, value FROM core
                 WHERE (section = 'user' AND owner = %s) OR (section <> 'user' AND owner = '')
                 ORDER BY n"""
        with self._db.read_transaction() as db:
            for section, key, value in fetch(db, sql, (user,)):
                sections.setdefault(section, {})[key] = value
        return CoreMemory(user=sections["user"], agent=sections["agent"])


_TRASH_CORE = """INSERT INTO trashed_core (owner, section, key, value, at)
SELECT owner, section, key, value, %s FROM core WHERE owner = %s"""


def _write_core(
    db: Connection, owner: str, section: str, entries: Mapping[str, str | None]
) -> None:
    db.execute("DELETE FROM files WHERE owner = %s", (owner,))  # as a person wrote it
    for key, value in entries.items():
        check_text(key, value)
        if value is None:
            db.execute(
                "DELETE FROM core WHERE owner = %s AND section = %s AND key = %s",
                (owner, section, key),
            )
        else:
            db.execute(
                """INSERT INTO core (owner, section, key, value) VALUES (%s, %s, %s, %s)
                   ON CONFLICT (tenant, owner, section, key)
                   DO UPDATE SET value = excluded.value""",
                (owner, section, key, value),
            )
