"""Links between imported memories, also to those that come later in the source or are merged."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace

from muisti.errors import BrokenFile, Conflict, NotFound
from muisti.model import Link, LinkSource, Memory
from muisti.ports import ChangeSet, ImportedLink, Services, Update
from muisti.ports.lookups import require_stored
from muisti.remember.identity import make_import_id

MAX_LINKS = 200
"""Links from one memory, as `lifecycle.links` allows."""
_PART = 500


class ImportLinks:
    """Gives imported memories their links. A link to a later item is written before its target.

    If that target turns out to be merged or refused, `finish` corrects the link.
    """

    def __init__(self, services: Services, *, trusted: bool, dry_run: bool) -> None:
        self._services = services
        self._trusted = trusted
        self._dry_run = dry_run
        self._created: set[str] = set()
        self._existing: set[str] = set()
        self._merged: dict[str, str] = {}
        self._early: dict[str, list[str]] = defaultdict(list)
        """The sources of links whose target may still turn out not to be written, by target."""
        self._made: dict[str, list[Link]] = {}
        """The links of each new memory."""
        self._missing: list[Link] = []
        """Links that memories of an earlier import do not have."""

    def add_created(self, ids: Iterable[str]) -> None:
        """Note memories that are new."""
        self._created.update(ids)

    def drop_created(self, id_: str) -> None:
        """Note that a memory could not be written."""
        self._created.discard(id_)

    def add_merged(self, id_: str, into: str) -> None:
        """Note a memory whose text is stored already, in another memory."""
        self._merged[id_] = into

    def add_existing(self, id_: str, links: Sequence[ImportedLink], memory: Memory | None) -> None:
        """Note a memory of an earlier import. Memory: None if it is archived."""
        self._existing.add(id_)
        if memory is None or memory.deleted_at is not None:
            return
        have = {link.target for link in memory.links}
        for link in links:
            target = make_import_id(link.key)
            if target in have:
                self._early[target].append(id_)
            else:
                self._missing.append(self._make(id_, link, target))

    def demote(self, links: Sequence[Link]) -> tuple[Link, ...]:
        """Make links to stored memories suggestions: an untrusted import must not change them."""
        if self._trusted or not links:
            return tuple(links)
        targets = [link.target for link in links]
        found = self._services.index.get_many(targets, include_deleted=True)
        stored = {memory.id for memory in found}
        return tuple(suggest(link) if link.target in stored else link for link in links)

    def apply(self, memory: Memory, links: Sequence[ImportedLink]) -> Memory:
        """Return a new memory with its links."""
        if not links:
            return memory
        made = {(link.type, link.target): link for link in memory.links}
        own = len(made)
        for link in links:
            target = make_import_id(link.key)
            if target not in self._existing and target not in self._merged:
                self._early[target].append(memory.id)
            one = self._make(memory.id, link, target)
            if one.target != memory.id and len(made) < MAX_LINKS:
                made.setdefault((one.type, one.target), one)
        self._made[memory.id] = list(made.values())[own:]
        return replace(memory, links=tuple(made.values()))

    def _make(self, source: str, link: ImportedLink, target: str) -> Link:
        made = Link(
            source=source,
            type=link.type,
            target=target,
            created_at=self._services.clock.now(),
            extracted_by=LinkSource.SYSTEM,
        )
        return self._redirect(made) if target in self._merged else made

    def _redirect(self, link: Link) -> Link:
        """Return a link to a merged memory as one to the memory that has its text."""
        moved = replace(link, target=self._follow(link.target))
        return moved if self._trusted or moved.target in self._created else suggest(moved)

    def _follow(self, target: str) -> str:
        """Return the memory that a target is merged with. That one may be merged itself."""
        while target in self._merged:
            target = self._merged[target]
        return target

    def finish(self) -> int:
        """Correct links whose targets were merged or refused, and add those to new memories.

        Returns how many links are new.
        """
        wrong: dict[str, set[str]] = defaultdict(set)
        for target, sources in self._early.items():
            if target not in self._created and target not in self._existing:
                for source in sources:
                    wrong[source].add(target)
        added: dict[str, list[Link]] = defaultdict(list)
        for link in self._missing:
            if link.target in self._created:
                added[link.source].append(link)
        changed = [] if self._dry_run else list(dict.fromkeys([*wrong, *added]))
        for start in range(0, len(changed), _PART):
            with self._services.store.lock():
                updates: list[Update] = []
                for source in changed[start : start + _PART]:
                    with suppress(NotFound, BrokenFile, Conflict):  # a person edits the file
                        updates.append(self._correct(source, wrong[source], added[source]))
                self._services.store.commit(ChangeSet(updated=updates))
        return self._count_made() + sum(len(links) for links in added.values())

    def _count_made(self) -> int:
        """Return how many links new memories have, now that the fate of all targets is known."""
        number = 0
        stored = self._created | self._existing | set(self._merged.values())
        for source, links in self._made.items():
            if source not in self._created:
                continue
            targets = {(link.type, self._follow(link.target)) for link in links}
            number += sum(target in stored and target != source for _, target in targets)
        return number

    def _correct(self, source: str, wrong: Container[str], added: Sequence[Link]) -> Update:
        """Return the update of a memory whose links change. Raises NotFound, BrokenFile."""
        stored = require_stored(self._services, source)
        links: dict[tuple[str, str], Link] = {}
        for link in (*stored.memory.links, *added):
            one = link
            if link.target in wrong:
                if link.target not in self._merged:
                    continue
                one = self._redirect(link)
            if one.target != source:
                links.setdefault((one.type, one.target), one)
        memory = replace(stored.memory, links=tuple(links.values())[:MAX_LINKS])
        return Update(memory, stored.revision, optional=True)


def suggest(link: Link) -> Link:
    """Return a link as an unconfirmed suggestion."""
    confidence = min(0.99, link.confidence)
    return replace(link, extracted_by=LinkSource.SYSTEM, confidence=confidence)
