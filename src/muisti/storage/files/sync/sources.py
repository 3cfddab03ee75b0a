"""What is searched beside the memories is brought up to date: conversations, and documents that live elsewhere."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from muisti.errors import VaultError
from muisti.model import Problem, Shelf
from muisti.ports import Changes, Document, Index, Known, Parts, Progress, Shadow, Stamp, TalkFile, TalkReading

log = logging.getLogger("muisti")
TICK_NS = 10_000_000
"""File systems keep times in ticks of a few milliseconds: a file looked at within one may change unseen."""
FEW = 3
"""Fewer files than this may vanish without a question, however small the vault."""
_BYTES = 8_000_000
"""Of files that become one transaction."""


def looks_different(stamp: Stamp, seen_ns: int, now: Stamp) -> bool:
    """Whether a file may have changed: its stamp says so, or it was looked at too soon after it was written."""
    return stamp != now or seen_ns - now.mtime_ns < TICK_NS


def too_many(parts: Parts, gone: int, known: int) -> bool:
    """Whether so many files vanished at once that somebody should be asked."""
    return gone >= FEW and gone > known * parts.settings.vanished_share


@dataclass
class Following:
    """One pass over what is searched beside the memories."""

    parts: Parts
    index: Index | Shadow
    confirm: bool = False
    mend: bool = False
    """Set lines aside that a crash cut short. Needs the vault's lock."""
    progress: Progress | None = None
    missing: int = 0
    problems: list[Problem] = field(default_factory=list)

    def something_new(self) -> bool:
        """Whether anything is to be done, without doing it."""
        return next(self.new(), None) is not None or bool(self.missing_shelves())

    def new(self) -> Iterator[str]:
        """What is not in the index as it is: files that are new, changed or gone."""
        here = dict(self.parts.conversations.files())
        yield from self._new_talk(here)
        yield from self._vanished_talk(here)
        yield from self._new_on_shelves()

    def differing(self) -> Iterator[str]:
        """Those of them that are read and found to be another than in the index."""
        talk = self.index.talk()
        here = dict(self.parts.conversations.files())
        for path in self._new_talk(here):
            reading = self.parts.conversations.read(path, talk.get(path))
            if reading.restarted or reading.lines:
                yield path
        yield from self._vanished_talk(here)
        documents = self.index.documents()
        shelves = self._shelves()
        for path in self._new_on_shelves():
            of, known = documents.get(path, ("", None))
            shelf = next((one for one in shelves if one.path == of), None)
            document = self.parts.documents.read(path, shelf) if shelf else None
            if known is None or document is None or document.known.sha != known.sha:
                yield path

    def missing_shelves(self) -> list[Problem]:
        """What somebody wants searched, and is not there."""
        return [Problem(s.path, _GONE) for s in self.index.shelves() if not self.parts.documents.is_there(s)]

    def run(self) -> None:
        """Read what is new and forget what is gone."""
        self._follow_talk()
        self._follow_documents()
        self.problems += self.missing_shelves()

    # -- Conversations

    def _new_talk(self, here: Mapping[str, Stamp]) -> Iterator[str]:
        known = self.index.talk()
        for path, stamp in here.items():
            before = known.get(path)
            if before is None or looks_different(before.stamp, before.seen_ns, stamp) or before.mark.offset < stamp.size:
                yield path  # bytes that were not read are a torn last line, which could not be set aside the last time

    def _vanished_talk(self, here: Mapping[str, Stamp]) -> list[str]:
        return [path for path in self.index.talk() if path not in here]

    def _follow_talk(self) -> None:
        known = self.index.talk()
        batch: list[TalkReading] = []
        size = 0
        here = dict(self.parts.conversations.files())
        new = list(self._new_talk(here))
        for done, path in enumerate(new, start=1):
            try:
                reading = self._read(path, known.get(path))
            except VaultError as error:
                self.problems.append(Problem(path, f"is read later: {error}"))
                continue
            batch.append(reading)
            size += reading.file.mark.offset
            if self.progress:
                self.progress(done, len(new))
            if size > _BYTES:
                self.index.apply(Changes(talk=batch))
                batch, size = [], 0
        gone = self._vanished_talk(here)
        if too_many(self.parts, len(gone), len(known)) and not self.confirm:
            self.missing += len(gone)
            log.warning(
                "%d of %d files of conversations have vanished; `muisti sync --confirm` forgets them", len(gone), len(known)
            )
            gone = []
        if batch or gone:
            self.index.apply(Changes(talk=batch, talk_gone=gone))

    def _read(self, path: str, known: TalkFile | None) -> TalkReading:
        try:
            return self.parts.conversations.read(path, known, mend=self.mend)
        except VaultError:
            if not self.mend:
                raise
            return self.parts.conversations.read(path, known)  # a disk that cannot be written is read all the same

    # -- Documents

    def _shelves(self) -> list[Shelf]:
        """Of two that have the same file, the one that names it more closely comes first."""
        named = self.index.shelves()
        own = [shelf for shelf in self.parts.documents.workspace() if shelf.path not in {one.path for one in named}]
        return sorted([*own, *named], key=lambda shelf: (-len(shelf.path), shelf.path))

    def _new_on_shelves(self) -> Iterator[str]:
        known = self.index.documents()
        named = {shelf.path for shelf in self.index.shelves()}
        here: set[str] = set()
        for shelf in self._shelves():
            found = self.parts.documents.scan(shelf)
            if found is None and shelf.path in named:
                here |= {path for path, (of, _) in known.items() if of == shelf.path}
            for path, stamp in found or ():
                before = known.get(path)
                if path not in here and (before is None or looks_different(before[1].stamp, before[1].seen_ns, stamp)):
                    yield path
                here.add(path)
        yield from (path for path in known if path not in here)

    def _follow_documents(self) -> None:
        known = self.index.documents()
        named = {shelf.path for shelf in self.index.shelves()}
        kept: set[str] = set()
        for shelf in self._shelves():
            found = self.parts.documents.scan(shelf)
            if found is None:
                if shelf.path in named:
                    kept |= {path for path, (of, _) in known.items() if of == shelf.path}
                continue
            for batch in self._changed(found, shelf, known, kept):
                self.index.apply(Changes(documents=batch))
            kept |= {path for path, _ in found}
        gone = [path for path in known if path not in kept]
        if gone:
            self.index.apply(Changes(documents_gone=gone))

    def _changed(
        self, found: list[tuple[str, Stamp]], shelf: Shelf, known: dict[str, tuple[str, Known]], taken: set[str]
    ) -> Iterator[list[Document]]:
        """The documents that have to be written to the index, in batches that need little memory."""
        batch: list[Document] = []
        size = 0
        for path, stamp in found:
            document = self._looked_at(path, stamp, shelf, known, taken)
            if document is not None:
                batch.append(document)
                size += stamp.size
            if size > _BYTES:
                yield batch
                batch, size = [], 0
        if batch:
            yield batch

    def _looked_at(
        self, path: str, stamp: Stamp, shelf: Shelf, known: dict[str, tuple[str, Known]], taken: set[str]
    ) -> Document | None:
        """The document if it has to be written to the index."""
        if path in taken:
            return None  # another shelf has it already
        of, before = known.get(path, ("", None))
        if before is not None and of == shelf.path and not looks_different(before.stamp, before.seen_ns, stamp):
            return None
        return self.parts.documents.read(path, replace(shelf, documents=0))


_GONE = "cannot be found; its documents are answered as they were last: bring it back, or `muisti index --forget` it"
