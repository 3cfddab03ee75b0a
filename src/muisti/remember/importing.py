"""Import memories and conversations: each item is saved, merged, or named in the report.

The ID of an item is derived from its key in the source, so an import can be repeated, and goes on
after a crash: what is stored already is skipped. Items are saved in batches, each all or none.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property

from muisti.errors import ExtractorProblem, ImportFailed, InvalidMemory, InvalidRequest
from muisti.model import (
    Draft,
    Event,
    EventName,
    ImportReport,
    Memory,
    Message,
    Problem,
    Usage,
    Utterance,
)
from muisti.model.salience import FLOOR
from muisti.ports import (
    ChangeSet,
    ImportedConversation,
    ImportedMemory,
    ImportItem,
    LoadedItems,
    Progress,
    Services,
    SkippedItem,
)
from muisti.remember import conversations
from muisti.remember.dedup import resolve_duplicates
from muisti.remember.derive import derive_title
from muisti.remember.extracted import extract_from, to_drafts
from muisti.remember.identity import make_id, make_import_id
from muisti.remember.import_links import ImportLinks
from muisti.remember.import_values import make_extra
from muisti.remember.pipeline import Prepared, prepare
from muisti.text.redact import redact_text

BATCH = 500
"""Memories that are saved together."""
BATCH_CHARACTERS = 4_000_000
EXAMPLES = 10
SAME_MOMENT = timedelta(minutes=2)
"""How far the times of a message in a transcript and in a hook are apart at most."""
MOST_EXTRACTED = 50
"""Memories extracted from one conversation, as from a session."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions:
    """How to import. Kind and project: of all imported memories."""

    kind: str | None = None
    project: str | None = None
    trusted: bool = False
    dry_run: bool = False
    extract: bool = False
    strict: bool = False
    """Raise ImportFailed for the first problem, before anything is written."""


def import_items(
    services: Services,
    loaded: LoadedItems,
    options: ImportOptions,
    progress: Progress | None = None,
) -> ImportReport:
    """Import the items of a source. Raises ImportFailed if the source cannot be read."""
    run = _Import(services, options, loaded)
    items: Iterable[ImportItem] = loaded
    if options.strict:
        items = list(loaded)
        for item in items:
            if isinstance(item, SkippedItem) and not item.expected:
                raise ImportFailed(f"{item.where}: {item.reason}")
    for item in items:
        run.add(item)
        if progress and run.found % 100 == 0:
            progress(run.found, max(run.found, int(run.found / max(loaded.share_read, 0.001))))
    return run.finish(progress)


@dataclass(slots=True)
class _Batch:
    """Memories that are saved together, by ID."""

    items: dict[str, ImportedMemory] = field(default_factory=dict)
    characters: int = 0


class _Import:
    """The state of one import."""

    def __init__(self, services: Services, options: ImportOptions, loaded: LoadedItems) -> None:
        self._services = services
        self._options = options
        self._loaded = loaded
        self._batch = _Batch()
        self._seen: dict[str, int] = {}
        """Hashes of the texts of the items by ID."""
        self._items: dict[int, str] = {}
        """The IDs of the items by hashes of all that they say."""
        self._planned: dict[tuple[object, ...], Memory] = {}
        """The new memories of a dry run by their texts, which they do not have here."""
        self._messages: dict[tuple[str, str], int] = {}
        """Hashes of the new messages of a dry run: a source may have a conversation twice."""
        self._counts: Counter[str] = Counter()
        self._kinds: Counter[str] = Counter()
        self._left_out: Counter[str] = Counter()
        self._problems: list[Problem] = []
        self._unresolved: list[Problem] = []
        self._examples: list[str] = []
        self._links = ImportLinks(services, trusted=options.trusted, dry_run=options.dry_run)

    @property
    def found(self) -> int:
        """How many items were read."""
        return self._counts["found"]

    @cached_property
    def _archived(self) -> AbstractSet[str]:
        return frozenset(self._services.store.archived_ids())

    def add(self, item: ImportItem) -> None:
        """Import one item, now or with the next batch."""
        match item:
            case SkippedItem():
                self._counts["found"] += item.count
                if item.expected:
                    self._left_out[item.reason] += item.count
                else:
                    self._problems.append(Problem(item.where, item.reason))
            case ImportedConversation():
                self._add_conversation(item)
            case ImportedMemory():
                self._add_memory(item)

    def finish(self, progress: Progress | None) -> ImportReport:
        """Save the rest and return the report."""
        self._save_batch()
        self._counts["links"] += self._links.finish()
        if progress and self.found:
            progress(self.found, self.found)
        return ImportReport(
            format=self._loaded.format,
            dry_run=self._options.dry_run,
            kinds=dict(self._kinds.most_common()),
            left_out=dict(self._left_out.most_common()),
            problems=tuple(self._problems),
            unresolved=tuple(self._unresolved),
            examples=tuple(self._examples),
            **self._counts,
        )

    def _add_memory(self, item: ImportedMemory) -> None:
        self._counts["found"] += 1
        self._unresolved += [Problem(item.where, name) for name in item.unresolved]
        id_ = item.draft.id
        if id_ is None:
            id_ = make_import_id(item.key) if item.key else make_id(self._services.clock.now())
        if id_ in self._seen:
            if self._seen[id_] == hash(item.draft.content):
                self._counts["merged"] += 1
            else:
                self._refuse(item.where, f"another item of this source has the same ID, {id_}")
            return
        self._seen[id_] = hash(item.draft.content)
        said = replace(item.draft, id=None, created_at=None, content=item.draft.content.strip())
        first = self._items.setdefault(hash(repr((said, sorted(item.extra.items())))), id_)
        if first != id_ and not item.draft.id:
            self._counts["merged"] += 1
            self._links.add_merged(id_, first)
            return
        self._batch.items[id_] = item
        self._batch.characters += len(item.draft.content)
        is_full = len(self._batch.items) >= BATCH or self._batch.characters >= BATCH_CHARACTERS
        if is_full and not self._options.strict:
            self._save_batch()

    def _refuse(self, where: str, reason: str) -> None:
        if self._options.strict:
            raise ImportFailed(f"{where}: {reason}" if where else reason)
        self._problems.append(Problem(where, reason))

    def _save_batch(self) -> None:
        """Save the memories of the batch that are new."""
        batch, self._batch = self._batch.items, _Batch()
        if not batch:
            return
        services = self._services
        stored = services.index.get_many(list(batch), include_deleted=True)
        known = {memory.id: memory for memory in stored}
        drafts: dict[str, Draft] = {}
        for id_, item in batch.items():
            if id_ in known or id_ in self._archived:
                self._links.add_existing(id_, item.links, known.get(id_))
                self._count_existing(item, known.get(id_))
                continue
            draft = item.draft
            drafts[id_] = replace(
                draft,
                id=id_,
                kind=self._options.kind or draft.kind,
                project=draft.project if self._options.project is None else self._options.project,
                trusted=self._options.trusted,
                links=self._links.demote(draft.links),
            )
        prepared = self._prepare(drafts, batch)
        if prepared:
            self._store(prepared, batch)

    def _count_existing(self, item: ImportedMemory, memory: Memory | None) -> None:
        """Count an item of an earlier import. If its text has changed since, name it."""
        if memory is not None and memory.deleted_at is None and item.key:
            text = redact_text(item.draft.content, self._services.settings)
            if text != memory.content:
                reason = f"differs from memory {memory.id}, made of it before; that one is kept"
                self._problems.append(Problem(item.where, reason))
                return
        self._counts["existing"] += 1

    def _prepare(
        self, drafts: dict[str, Draft], batch: dict[str, ImportedMemory]
    ) -> list[Prepared]:
        """Return the valid drafts as memories; the others are problems."""
        now = self._services.clock.now()
        try:
            prepared = prepare(self._services, list(drafts.values()), now)
        except InvalidMemory:
            prepared = []
            for id_, draft in drafts.items():
                try:
                    prepared += prepare(self._services, [draft], now)
                except InvalidMemory as error:
                    self._refuse(batch[id_].where, str(error))
        for memory in prepared:
            draft = drafts[memory.id]
            is_same = memory.content == draft.content and draft.title in (None, "", memory.title)
            self._counts["redacted"] += not is_same
        return prepared

    def _store(self, prepared: Sequence[Prepared], batch: dict[str, ImportedMemory]) -> None:
        services = self._services
        with services.store.lock():
            with services.index.snapshot():
                decisions = resolve_duplicates(services, prepared, near=False)
            created: list[Memory] = []
            for decision in decisions:
                memory = decision.memory
                into = self._find_same(memory, decision.duplicate_of, batch[memory.id])
                if into is not None:
                    self._counts["merged"] += 1
                    self._links.add_merged(memory.id, into)
                else:
                    created.append(memory)
            self._links.add_created([memory.id for memory in created])
            created = [self._links.apply(memory, batch[memory.id].links) for memory in created]
            if created and not self._options.dry_run:
                created = self._commit(created, batch)
            self._counts["imported"] += len(created)
            self._kinds.update(memory.kind for memory in created)
            self._examples += [memory.title for memory in created][: EXAMPLES - len(self._examples)]

    def _find_same(self, memory: Memory, stored: Memory | None, item: ImportedMemory) -> str | None:
        """Return the ID of the memory that an item is merged with; None for a new memory.

        Only an item that adds nothing is merged. Notes that were made from a template have the
        same text: a link to one must not lead to the other, and both keep their tags.
        """
        text = (memory.content_hash, memory.valid_from, memory.valid_until, *memory.place)
        known = self._planned.get(text) if stored is None else stored
        if known is not None and not item.extra:
            # A title that was derived from the text adds nothing to it.
            derived = derive_title(memory.content)
            adds_nothing = (
                (memory.title in (known.title, derived) or known.title == derived)
                and memory.agent in ("", known.agent)
                and memory.session_id in (None, known.session_id)
                and set(memory.aliases) <= set(known.aliases)
                and set(memory.keywords) <= set(known.keywords)
                and set(memory.categories) <= set(known.categories)
                and set(memory.files) <= set(known.files)
            )
            if adds_nothing:
                return known.id
        if self._options.dry_run:
            self._planned.setdefault(text, replace(memory, content=""))
        return None

    def _commit(self, created: list[Memory], batch: Mapping[str, ImportedMemory]) -> list[Memory]:
        """Write new memories and return those that were written; the others are problems."""
        services, now = self._services, self._services.clock.now()
        settings, form = services.settings, self._loaded.format
        extra = {one.id: make_extra(batch[one.id], form, settings) for one in created}
        events = [Event(EventName.SAVED, now, tuple(memory.id for memory in created))]
        for memory in created:
            usage = batch[memory.id].usage
            if usage != Usage():
                share = 1.0 if usage.salience is None else usage.salience
                data: dict[str, str | int | float | None] = {
                    "salience": min(1.0, max(FLOOR, share)),
                    "access_count": usage.access_count,
                }
                events.append(Event(EventName.IMPORTED, now, (memory.id,), None, data))
        try:
            services.store.commit(ChangeSet(created=created, extra=extra, events=events))
        except InvalidMemory as error:
            # Only its file shows that all fields of a memory together are too long.
            if len(created) == 1 or self._options.strict:
                self._refuse(batch[created[0].id].where, str(error))
                self._links.drop_created(created[0].id)
                return []
            middle = len(created) // 2
            first = self._commit(created[:middle], batch)
            return first + self._commit(created[middle:], batch)
        return created

    def _add_conversation(self, item: ImportedConversation) -> None:
        """Append the new messages of a conversation."""
        services = self._services
        self._counts["found"] += len(item.messages)
        project = item.project if self._options.project is None else self._options.project
        messages = self._make_messages(item, project)
        known = services.index.find_messages(item.name, [message.id for message, _ in messages])
        hashes = {one.id: hash((one.role, one.content)) for one in known.values()}
        captured = self._find_captured(item.name, [message for message, _ in messages], known)
        new: list[Message] = []
        for message, is_redacted in messages:
            own = hash((message.role, message.content))
            place = (item.name, message.id)
            same = self._messages.get(place, hashes.get(message.id))
            if message.id in captured:
                self._counts["existing_messages"] += 1
            elif same is None:
                new.append(message)
                hashes[message.id] = own
                self._counts["redacted"] += is_redacted
                if self._options.dry_run:
                    self._messages[place] = own
            elif same == own:
                self._counts["existing_messages"] += 1
            else:
                where = f"{item.where}, message {message.id}"
                self._refuse(where, "is stored with another text; that one is kept")
        if new and not self._options.dry_run:
            try:
                conversations.append(services, new)
            except InvalidRequest as error:  # the conversation belongs to another project
                for _ in new:
                    self._refuse(item.where, str(error))
                return
        self._counts["messages"] += len(new)
        self._counts["conversations"] += bool(new)
        if new and len(self._examples) < EXAMPLES:
            self._examples.append(str(new[0].meta.get("title") or item.name))
        if self._options.extract:
            self._extract(item, project)

    def _find_captured(
        self, name: str, messages: Sequence[Message], known: Mapping[str, Message]
    ) -> set[str]:
        """Return the IDs of messages that hooks stored during the session, under other IDs.

        Known: the stored messages with the same IDs.
        """
        stored = self._services.index.conversation(name)
        if stored is None or stored.messages <= len(known):
            return set()
        own = {message.id for message in messages}
        times: dict[tuple[str, str], list[datetime]] = defaultdict(list)
        for one in self._services.index.window(name, stored.messages, whole=True):
            if one.id not in own:
                times[one.role, one.content.strip()].append(one.at)
        found = set()
        for message in messages:
            others = times[message.role, message.content.strip()]
            near = [at for at in others if abs(at - message.at) <= SAME_MOMENT]
            if near and message.id not in known:
                others.remove(near[0])
                found.add(message.id)
        return found

    def _make_messages(
        self, item: ImportedConversation, project: str | None
    ) -> list[tuple[Message, bool]]:
        """Return the valid messages of a conversation, and whether something was redacted.

        The others are problems.
        """
        messages = []
        at = None
        for number, message in enumerate(item.messages, start=1):
            at = message.at or at
            try:
                made = conversations.make_message(
                    self._services,
                    item.name,
                    message.role,
                    message.content,
                    meta=message.meta,
                    at=at,
                    id=message.id,
                    project=project,
                )
            except (InvalidMemory, InvalidRequest) as error:
                self._refuse(f"{item.where}, message {number}", str(error))
                continue
            messages.append((made, made.content != message.content))
        return messages

    def _extract(self, item: ImportedConversation, project: str | None) -> None:
        """Add the memories that a conversation contains to the batch."""
        said = [
            Utterance(message.content, message.role.capitalize(), message.role, message.at)
            for message in item.messages
            if message.role in ("user", "assistant")
        ]
        try:
            found = extract_from(self._services, said, "default")
        except ExtractorProblem as error:
            self._counts["found"] += 1
            self._refuse(item.where, f"memories were not extracted: {error}")
            return
        least = self._services.settings.extract_threshold
        found = sorted(
            [one for one in found if one.importance >= least], key=lambda one: -one.importance
        )
        times = [message.at for message in item.messages if message.at]
        drafts = to_drafts(
            found[:MOST_EXTRACTED],
            session_id=item.name,
            project=project,
            said_at=times[0] if times else None,
        )
        self._counts["extracted"] += len(drafts)
        for draft in drafts:
            key = f"{item.name}: {draft.content}"
            self._add_memory(ImportedMemory(draft, key=key, where=item.where))
