"""What is searched beside the memories: conversations, and documents that stay where they are."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace

from muisti.errors import VaultError
from muisti.model import DocumentSource, Problem
from muisti.ports import Progress
from muisti.settings import Settings
from muisti.storage.files.conversations import FileConversations
from muisti.storage.files.documents import FileDocuments
from muisti.storage.files.sync.batch import IndexBatch
from muisti.storage.files.sync.differences import is_changed, may_have_changed, too_many_vanished
from muisti.storage.sync_state import ConversationDelta, ConversationOffset, FileStat, IndexState

log = logging.getLogger("muisti")
BATCH_BYTES = 8_000_000
"""Of files that become one transaction."""
_GONE = "cannot be found; its documents are answered as they were last: bring it back, or `muisti index --forget` it"


@dataclass(frozen=True, slots=True)
class Listing:
    """The files there are, listed once."""

    conversations: dict[str, FileStat]
    sources: list[tuple[DocumentSource, list[tuple[str, FileStat]] | None]]
    """Each source with its files; None if the source itself cannot be found."""


@dataclass
class Sources:
    """One pass over conversations and documents, for one index."""

    conversations: FileConversations
    documents: FileDocuments
    settings: Settings
    index: IndexState
    confirm: bool = False
    repair: bool = False
    """Set lines aside that a crash cut short. Needs the vault's lock."""
    progress: Progress | None = None
    missing: int = 0
    problems: list[Problem] = field(default_factory=list)

    def list_files(self) -> Listing:
        """List all files of conversations and of document sources."""
        sources = [(source, self.documents.scan(source)) for source in self.list_sources()]
        return Listing(dict(self.conversations.files()), sources)

    def list_sources(self) -> list[DocumentSource]:
        """Return the workspace's own and the named sources. Of two that have the same file, the closer one comes first."""
        named = self.index.sources()
        names = {one.path for one in named}
        own = [
            source for source in self.documents.list_workspace_sources() if source.path not in names
        ]
        return sorted([*own, *named], key=lambda source: (-len(source.path), source.path))

    def find_missing_sources(self) -> list[Problem]:
        """Return what somebody wants searched and cannot be found."""
        return [
            Problem(one.path, _GONE)
            for one in self.index.sources()
            if not self.documents.exists(one)
        ]

    def find_changed(self, listing: Listing) -> Iterator[str]:
        """Yield files that are new, may have changed, or are gone."""
        yield from self._changed_conversations(listing)
        yield from self._vanished_conversations(listing)
        yield from self._changed_documents(listing)

    def find_differing(self) -> Iterator[str]:
        """Yield files that are read and found to differ from the index."""
        listing = self.list_files()
        offsets = self.index.conversation_offsets()
        for path in self._changed_conversations(listing):
            delta = self.conversations.read(path, offsets.get(path))
            if delta.restarted or delta.lines:
                yield path
        yield from self._vanished_conversations(listing)
        known = self.index.documents()
        by_path = {source.path: source for source in self.list_sources()}
        for path in self._changed_documents(listing):
            of, seen = known.get(path, ("", None))
            source = by_path.get(of)
            document = self.documents.read(path, source) if source else None
            if seen is None or document is None or document.seen.sha != seen.sha:
                yield path

    def run(self, listing: Listing | None = None) -> None:
        """Read what is new and forget what is gone."""
        if listing is None or [source for source, _ in listing.sources] != self.list_sources():
            listing = self.list_files()
        self._follow_conversations(listing)
        self._follow_documents(listing)
        self.problems += self.find_missing_sources()

    # -- Conversations

    def _changed_conversations(self, listing: Listing) -> Iterator[str]:
        known = self.index.conversation_offsets()
        for path, stat in listing.conversations.items():
            if _is_unread(known.get(path), stat):
                yield path

    def _vanished_conversations(self, listing: Listing) -> list[str]:
        known = self.index.conversation_offsets()
        return [path for path in known if path not in listing.conversations]

    def _follow_conversations(self, listing: Listing) -> None:
        known = self.index.conversation_offsets()
        changed = list(self._changed_conversations(listing))
        gone = [
            path
            for path in self._vanished_conversations(listing)
            if not self.conversations.exists(path)
        ]
        if (
            too_many_vanished(len(gone), len(known), self.settings.vanished_share)
            and not self.confirm
        ):
            self.missing += len(gone)
            log.warning(
                "%d of %d files of conversations have vanished; `muisti sync --confirm` forgets them",
                len(gone),
                len(known),
            )
            gone = []
        self.read_conversations(changed, gone)

    def read_conversations(self, changed: Collection[str], gone: Collection[str]) -> None:
        """Read the new lines of these files, and forget those that are gone."""
        known = self.index.conversation_offsets()
        batch, size = IndexBatch(self.index), 0
        for done, path in enumerate(changed, start=1):
            try:
                delta = self._read(path, known.get(path))
            except VaultError as error:
                self.problems.append(Problem(path, f"is read later: {error}"))
                continue
            batch.read_conversation(delta)
            size += delta.offset.read.offset
            if self.progress:
                self.progress(done, len(changed))
            if size > BATCH_BYTES:
                batch.write()
                batch, size = IndexBatch(self.index), 0
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
            return self.conversations.read(
                path, known
            )  # a disk that cannot be written is read all the same

    def is_conversation_changed(self, path: str) -> bool:
        """Return whether the index does not have one file of a conversation as it is."""
        known = self.index.conversation_offsets(path).get(path)
        return _is_unread(known, self.conversations.stat(path))

    # -- Documents

    def find_source(self, path: str) -> DocumentSource | None:
        """Return the source that a file belongs to."""
        sources = self.list_sources()
        return next(
            (one for one in sources if path == one.path or path.startswith(f"{one.path}/")), None
        )

    def is_document_changed(self, path: str) -> bool:
        """Return whether the index does not have one document as it is."""
        source = self.find_source(path)
        stat = None if source is None else self.documents.stat(path, source)
        of, seen = self.index.documents([path]).get(path, ("", None))
        if source is None or stat is None:
            return seen is not None
        return of != source.path or is_changed(seen, stat)

    def read_documents(self, paths: Collection[str]) -> None:
        """Read these documents, and forget those that are gone."""
        batch = IndexBatch(self.index)
        for path in paths:
            source = self.find_source(path)
            there = source is not None and self.documents.stat(path, source) is not None
            document = (
                self.documents.read(path, replace(source, documents=0))
                if source and there
                else None
            )
            if document is not None:
                batch.read_document(document)
            elif path in self.index.documents([path]):
                batch.forget_document(path)
        if batch.changes_rows:
            batch.write()

    def _changed_documents(self, listing: Listing) -> Iterator[str]:
        known = self.index.documents()
        named = {source.path for source in self.index.sources()}
        here: set[str] = set()
        for source, found in listing.sources:
            if found is None and source.path in named:
                here |= {path for path, (of, _) in known.items() if of == source.path}
            for path, stat in found or ():
                _, seen = known.get(path, ("", None))
                if path not in here and is_changed(seen, stat):
                    yield path
                here.add(path)
        yield from (path for path in known if path not in here)

    def _follow_documents(self, listing: Listing) -> None:
        known = self.index.documents()
        named = {source.path for source in self.index.sources()}
        kept: set[str] = set()
        batch, size = IndexBatch(self.index), 0
        for source, found in listing.sources:
            if found is None:
                if source.path in named:
                    kept |= {path for path, (of, _) in known.items() if of == source.path}
                continue
            for path, stat in found:
                if path in kept:
                    continue  # another source has it already
                kept.add(path)
                of, seen = known.get(path, ("", None))
                if of == source.path and not is_changed(seen, stat):
                    continue
                document = self.documents.read(path, replace(source, documents=0))
                if document is not None:
                    batch.read_document(document)
                    size += stat.size
                if size > BATCH_BYTES:
                    batch.write()
                    batch, size = IndexBatch(self.index), 0
        for path in known:
            if path not in kept:
                batch.forget_document(path)
        if batch.changes_rows:
            batch.write()


def _is_unread(known: ConversationOffset | None, stat: FileStat) -> bool:
    """Whether a conversation's file is new or changed, or ends with a torn line that could not be set aside yet."""
    if known is None or may_have_changed(known.stat, known.seen_ns, stat):
        return True
    return known.read.offset < stat.size
