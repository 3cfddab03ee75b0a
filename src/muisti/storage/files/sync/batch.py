"""Collect rows and file states for one transaction of the index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING

from muisti.errors import IndexBusy, VaultFull
from muisti.lifecycle.journal_projection import project_events
from muisti.model.salience import IDLE_DAYS
from muisti.ports.rows import IndexChanges, JournalChanges, MemoryRow, TextRow
from muisti.storage.sync_state import (
    ConversationDelta,
    ConversationOffset,
    IndexState,
    JournalDelta,
    ReadOffset,
    SeenFile,
    StateChanges,
    StoredFile,
)

if TYPE_CHECKING:
    from muisti.model import DocumentSource, Memory, Problem
    from muisti.settings import Settings
    from muisti.storage.files.documents import Document

JOURNAL = "journal/"
SKIPPED = "skipped "
"""The start of the reason for a line that cannot be read: a problem until the file is fixed."""


class IndexBatch:
    """Collects changes to one index and writes them in one transaction."""

    def __init__(self, index: IndexState, settings: Settings | None = None) -> None:
        self._index = index
        self._trusted = settings is None or settings.vault_trusted
        self._grace_days = IDLE_DAYS if settings is None else settings.salience_decay_days
        self._memories: list[Memory] = []
        self._removed: list[str] = []
        self._texts: list[TextRow] = []
        self._emptied: list[tuple[str, str]] = []
        self._journal: JournalChanges | None = None
        self._offsets: dict[str, ReadOffset] | None = None
        self._seen: dict[str, SeenFile | None] = {}
        self._conversations: dict[str, ConversationOffset | None] = {}
        self._documents: dict[str, tuple[str, SeenFile] | None] = {}
        self._reread: list[str] = []
        self._problems: dict[str, Sequence[str]] = {}

    @property
    def changes_rows(self) -> bool:
        """Whether there is more to write than new times of known files."""
        if self._memories or self._removed or self._texts or self._emptied:
            return True
        if self._journal is not None or self._documents or self._conversations:
            return True
        return any(seen is None or seen.memory_id is None for seen in self._seen.values())

    # -- Memories

    def put_file(self, file: StoredFile) -> None:
        """Add or update the memory of a file."""
        self._memories.append(file.memory)
        self.record_file(file.path, file.seen)

    def record_file(self, path: str, seen: SeenFile, problem: str = "") -> None:
        """Record the state of a file. The row of its memory is unchanged."""
        self._seen[path] = seen
        self._problems[path] = [problem] if problem else ()

    def record_problem(self, path: str, reason: str) -> None:
        """Record a problem of a folder, or with "" that there is none."""
        self._problems[path] = [reason] if reason else ()

    def remove_memory(self, memory_id: str) -> None:
        """Remove a memory."""
        self._removed.append(memory_id)

    def forget_file(self, path: str, memory_id: str | None = None) -> None:
        """Forget a file that is gone, and remove its memory if given."""
        self._seen.setdefault(path, None)
        self._problems.setdefault(path, ())
        if memory_id is not None:
            self._removed.append(memory_id)

    # -- The journal

    def read_journal(self, delta: JournalDelta) -> None:
        """Fold new events into the usage of memories, sessions and document sources."""
        self._offsets = dict(delta.offsets)
        self._journal = project_events(
            delta.events, self._index, restart=delta.restarted, grace_days=self._grace_days
        )
        if not self._trusted:
            self._journal = self._journal._replace(sources=_keep_own_sources(self._journal.sources))
        self._reread = [path for path, source in self._journal.sources.items() if source]
        if not delta.restarted and not delta.problems:
            return
        problems: dict[str, list[str]] = {}
        for known in self._index.problems():
            if known.path.startswith(JOURNAL):
                reasons = problems.setdefault(known.path, [])
                if not delta.restarted:
                    reasons.append(known.reason)
        for new in delta.problems:
            problems.setdefault(new.path, []).append(new.reason)
        self._problems.update(problems)

    # -- Conversations

    def read_conversation(self, delta: ConversationDelta) -> None:
        """Add the new lines of a conversation, or replace all if its file was rewritten."""
        from muisti.remember.index_rows import LONG_AGO, make_message_ids, project_messages

        path = delta.path
        reasons = [problem.reason for problem in delta.problems]
        if delta.restarted:
            self._emptied.append(("message", path))
            rows = project_messages(delta.conversation, path, delta.lines, {})
        else:
            earlier = [known.reason for known in self._index.problems() if known.path == path]
            reasons = [reason for reason in earlier if reason.startswith(SKIPPED)] + reasons
            taken = self._index.get_message_texts(make_message_ids(path, delta.lines))
            latest = self._index.last_message_at(delta.conversation, path)
            latest = LONG_AGO if latest is None else latest
            rows = project_messages(delta.conversation, path, delta.lines, taken, latest)
        if not self._trusted:
            rows = [row._replace(trusted=False) for row in rows]
        self._texts += rows
        self._conversations[path] = delta.offset
        self._problems[path] = reasons

    def forget_conversation(self, path: str) -> None:
        """Remove the messages of a file that is gone."""
        self._emptied.append(("message", path))
        self._conversations[path] = None
        self._problems[path] = ()

    # -- Documents

    def read_document(self, document: Document) -> None:
        """Replace the sections of a document."""
        from muisti.remember.index_rows import project_document

        self._emptied.append(("document", document.path))
        self._texts += project_document(
            document.path, document.source, document.name, document.changed_at, document.sections
        )
        self._documents[document.path] = (document.source.path, document.seen)
        self._problems[document.path] = [document.problem] if document.problem else ()

    def forget_document(self, path: str) -> None:
        """Remove the sections of a document that is gone or no longer indexed."""
        self._emptied.append(("document", path))
        self._documents[path] = None
        self._problems[path] = ()

    def write(self) -> None:
        """Write everything in one transaction. Raises IndexBusy, and then changes nothing."""
        rows: list[MemoryRow] = []
        if self._memories:
            from muisti.remember.index_rows import project_memory  # slow to import

            rows = list(map(project_memory, self._memories))
        self._index.write(
            IndexChanges(
                memories=rows,
                removed=self._removed,
                texts=self._texts,
                emptied=self._emptied,
                journal=self._journal,
            ),
            StateChanges(
                seen=self._seen,
                journal=self._offsets,
                conversations=self._conversations,
                documents=self._documents,
                reread=self._reread,
                problems=self._problems,
            ),
        )


def _keep_own_sources(
    sources: Mapping[str, DocumentSource | None],
) -> dict[str, DocumentSource | None]:
    """Return the sources inside the vault, as untrusted: a stranger's journal names no others."""
    return {
        path: source and replace(source, trusted=False)
        for path, source in sources.items()
        if not PurePath(path).is_absolute() and ".." not in PurePath(path).parts
    }


def has_missing(index: IndexState) -> bool:
    """Return whether the index has a problem of missing files."""
    return any(problem.is_missing for problem in index.problems())


def record_missing(index: IndexState, *found: Problem | None) -> None:
    """Record in the index that files are missing, for the reports that only read that."""
    known = {problem for problem in index.problems() if problem.is_missing}
    missing = {problem for problem in found if problem is not None}
    if known == missing:
        return
    batch = IndexBatch(index)
    for problem in known:
        batch.record_problem(problem.path, "")
    for problem in missing:
        batch.record_problem(problem.path, problem.reason)
    with suppress(VaultFull, IndexBusy):
        batch.write()
