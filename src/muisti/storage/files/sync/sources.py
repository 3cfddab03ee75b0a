"""Reconcile an index with the files of conversations and documents."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from muisti.errors import VaultError
from muisti.lifecycle.document_sources import find_source, sort_sources
from muisti.logs import get_log
from muisti.model import Problem
from muisti.storage.files.sync.batch import IndexBatch
from muisti.storage.files.sync.differences import (
    describe_missing,
    is_changed,
    may_have_changed,
    too_many_vanished,
)

if TYPE_CHECKING:
    from muisti.model import DocumentSource
    from muisti.ports import Progress
    from muisti.settings import Settings
    from muisti.storage.files.conversations import FileConversations
    from muisti.storage.files.documents import FileDocuments
    from muisti.storage.sync_state import (
        ConversationDelta,
        ConversationOffset,
        FileStat,
        IndexState,
        SeenFile,
    )

BATCH_BYTES = 8_000_000
"""The size of files that are indexed in one transaction."""
_GONE = (
    "is missing; its documents are searched as they were last:"
    " restore it, or `muisti index --forget` it"
)


class Listing(NamedTuple):
    """The files of conversations and document sources, listed once."""

    conversations: dict[str, FileStat]
    sources: list[tuple[DocumentSource, list[tuple[str, FileStat]] | None]]
    """Each source with its files; None if the source itself is missing."""


class Sources:
    """One pass over conversations and documents, for one index."""

    def __init__(
        self,
        conversations: FileConversations,
        documents: FileDocuments,
        settings: Settings,
        index: IndexState,
        confirm: bool = False,
        repair: bool = False,
        progress: Progress | None = None,
    ) -> None:
        """Repair: move lines that a crash cut short to `.corrupt` files, under the vault's lock."""
        self.conversations = conversations
        self.documents = documents
        self.settings = settings
        self.index = index
        self.confirm = confirm
        self.repair = repair
        self.progress = progress
        self.missing = 0
        self.missing_problem: Problem | None = None
        self.problems: list[Problem] = []

    def list_files(self) -> Listing:
        """List all files of conversations and of document sources."""
        sources = [(source, self.documents.scan(source)) for source in self.list_sources()]
        return Listing(dict(self.conversations.files()), sources)

    def list_sources(self) -> list[DocumentSource]:
        """Return the workspace's and the named sources, nested ones before those around them."""
        return sort_sources(self.documents.list_workspace_sources(), self.index.sources())

    def find_missing_sources(self) -> list[Problem]:
        """Return a problem for each named source that is missing."""
        return [
            Problem(source.path, _GONE)
            for source in self.index.sources()
            if not self.documents.exists(source)
        ]

    def find_changed(self, listing: Listing) -> Iterator[str]:
        """Yield files that are new, may have changed, or are gone."""
        yield from self._find_changed_conversations(listing)
        yield from self._find_vanished_conversations(listing)
        yield from self._find_changed_documents(listing)

    def find_differing(self) -> Iterator[str]:
        """Yield files that differ from the index; reads those that may."""
        listing = self.list_files()
        offsets = self.index.conversation_offsets()
        for path in self._find_changed_conversations(listing):
            delta = self.conversations.read(path, offsets.get(path))
            if delta.restarted or delta.lines:
                yield path
        yield from self._find_vanished_conversations(listing)
        known = self.index.documents()
        by_path = {source.path: source for source in self.list_sources()}
        for path in self._find_changed_documents(listing):
            source_path, seen = known.get(path, ("", None))
            source = by_path.get(source_path)
            document = self.documents.read(path, source) if source else None
            if seen is None or document is None or document.seen.sha != seen.sha:
                yield path

    def run(self, listing: Listing | None = None) -> None:
        """Index what is new and remove what is gone."""
        if listing is None or [source for source, _ in listing.sources] != self.list_sources():
            listing = self.list_files()
        self._sync_conversations(listing)
        self._sync_documents(listing)
        self.problems += self.find_missing_sources()

    # -- Conversations

    def _find_changed_conversations(self, listing: Listing) -> Iterator[str]:
        known = self.index.conversation_offsets()
        for path, stat in listing.conversations.items():
            if _is_unread(known.get(path), stat):
                yield path

    def _find_vanished_conversations(self, listing: Listing) -> list[str]:
        known = self.index.conversation_offsets()
        return [path for path in known if path not in listing.conversations]

    def _sync_conversations(self, listing: Listing) -> None:
        known = self.index.conversation_offsets()
        changed = list(self._find_changed_conversations(listing))
        vanished = self._find_vanished_conversations(listing)
        gone = [path for path in vanished if not self.conversations.exists(path)]
        too_many = too_many_vanished(len(gone), len(known), self.settings.vanished_share)
        if too_many and not self.confirm:
            self.missing += len(gone)
            self.missing_problem = describe_missing(gone, len(known))
            get_log().warning("%s: %s", self.missing_problem.path, self.missing_problem.reason)
            gone = []
        self.read_conversations(changed, gone)

    def read_conversations(self, changed: Collection[str], gone: Collection[str]) -> None:
        """Index the new lines of these files, and remove those that are gone."""
        known = self.index.conversation_offsets()
        batch, size = IndexBatch(self.index, self.settings), 0
        for done, path in enumerate(changed, start=1):
            try:
                delta = self._read(path, known.get(path))
                while not delta.is_complete:
                    batch.read_conversation(delta)
                    batch.write()
                    batch, size = IndexBatch(self.index, self.settings), 0
                    delta = self._read(path, delta.offset)
            except VaultError as error:
                self.problems.append(Problem(path, f"is not indexed yet: {error}"))
                continue
            batch.read_conversation(delta)
            size += delta.offset.read.offset
            if self.progress:
                self.progress(done, len(changed))
            if size > BATCH_BYTES:
                batch.write()
                batch, size = IndexBatch(self.index, self.settings), 0
        for path in gone:
            batch.forget_conversation(path)
        if batch.changes_rows:
            batch.write()

    def _read(self, path: str, known: ConversationOffset | None) -> ConversationDelta:
        try:
            return self.conversations.read(path, known, repair=self.repair)
        except VaultError:
            if not self.repair:
                raise
            return self.conversations.read(path, known)  # on a disk that cannot be written

    def is_conversation_changed(self, path: str) -> bool:
        """Return whether a file of a conversation may differ from the index."""
        known = self.index.conversation_offsets(path).get(path)
        return _is_unread(known, self.conversations.stat(path))

    # -- Documents

    def find_source(self, path: str) -> DocumentSource | None:
        """Return the source that a file belongs to; None if there is none."""
        return find_source(path, self.list_sources())

    def is_document_changed(self, path: str) -> bool:
        """Return whether a document may differ from the index."""
        source = self.find_source(path)
        stat = None if source is None else self.documents.stat(path, source)
        source_path, seen = self.index.documents([path]).get(path, ("", None))
        if source is None or stat is None:
            return seen is not None
        return source_path != source.path or is_changed(seen, stat)

    def read_documents(self, paths: Collection[str]) -> None:
        """Index these documents, and remove those that are gone."""
        batch = IndexBatch(self.index, self.settings)
        for path in paths:
            source = self.find_source(path)
            document = None
            if source is not None and self.documents.stat(path, source) is not None:
                document = self.documents.read(path, replace(source, documents=0))
            if document is not None:
                batch.read_document(document)
            elif path in self.index.documents([path]):
                batch.forget_document(path)
        if batch.changes_rows:
            batch.write()

    def _find_changed_documents(self, listing: Listing) -> Iterator[str]:
        known = self.index.documents()
        named = {source.path for source in self.index.sources()}
        present: set[str] = set()
        for source, files in listing.sources:
            if files is None and source.path in named:
                present |= _select_paths(known, source)
            for path, stat in files or ():
                _, seen = known.get(path, ("", None))
                if path not in present and is_changed(seen, stat):
                    yield path
                present.add(path)
        yield from (path for path in known if path not in present)

    def _sync_documents(self, listing: Listing) -> None:
        known = self.index.documents()
        named = {source.path for source in self.index.sources()}
        present: set[str] = set()
        batch, size = IndexBatch(self.index, self.settings), 0
        for source, files in listing.sources:
            if files is None:
                if source.path in named:
                    present |= _select_paths(known, source)
                continue
            for path, stat in files:
                if path in present:
                    continue  # another source has it already
                present.add(path)
                source_path, seen = known.get(path, ("", None))
                if source_path == source.path and not is_changed(seen, stat):
                    continue
                document = self.documents.read(path, replace(source, documents=0))
                if document is not None:
                    batch.read_document(document)
                    size += stat.size
                if size > BATCH_BYTES:
                    batch.write()
                    batch, size = IndexBatch(self.index, self.settings), 0
        for path, (_, seen) in known.items():
            if path in present:
                continue
            batch.forget_document(path)
            size += seen.stat.size
            if size > BATCH_BYTES:
                batch.write()
                batch, size = IndexBatch(self.index, self.settings), 0
        if batch.changes_rows:
            batch.write()


def _is_unread(known: ConversationOffset | None, stat: FileStat) -> bool:
    """Return whether a file is new, may have changed, or still ends with an incomplete line."""
    if known is None or may_have_changed(known.stat, known.seen_ns, stat):
        return True
    return known.read.offset < stat.size


def _select_paths(
    documents: Mapping[str, tuple[str, SeenFile]], source: DocumentSource
) -> set[str]:
    """Return the paths of a source's documents."""
    return {path for path, (source_path, _) in documents.items() if source_path == source.path}
