"""Find the duplicates of new memories (contract C3) and propose links to contradictions (H3)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

from muisti.errors import EmbedderProblem
from muisti.model import Link, LinkSource, LinkType, Memory
from muisti.ports import Services
from muisti.ports.lookups import find_stored
from muisti.ports.waiting import limit_wait
from muisti.remember.candidates import find_nearest, find_with_any_word
from muisti.text.simhash import compute_bands, most_bits

if TYPE_CHECKING:
    from muisti.remember.similarity.near_duplicate import Comparison
    from muisti.remember.similarity.quick_check import TextWords

CANDIDATES = 8
"""The most stored memories that a new one is compared with."""
ENOUGH = 12
"""From this many words on, duplicates share a third of their words."""
MOST_MEASURED = 32
"""The most pairs of texts that one call embeds."""
MOST_CHANGED = 24
"""The most stored memories that are read because a new one may update them."""
MOST_PROPOSALS = 3
"""The most links that are proposed for a new memory."""
_FEW = 200
_PART = 200
"""New memories that are looked for together."""


@dataclass(frozen=True, slots=True)
class DuplicateDecision:
    """What to do with a new memory: store it, or reinforce the one that it duplicates."""

    memory: Memory
    duplicate_of: Memory | None = None
    comparison: Comparison | None = None
    """How near the two texts are; None if they are equal."""
    undecided: Memory | None = None
    """A memory that is a duplicate if the cosine of both embeddings confirms it."""


Cosines = Mapping[tuple[str, str], float]
"""Cosine similarity of two texts."""


def resolve_duplicates(
    services: Services,
    prepared: Sequence[Memory],
    *,
    near: bool,
    cosines: Cosines | None = None,
    replaces: str | None = None,
) -> list[DuplicateDecision]:
    """Return a decision for each new memory.

    A duplicate may be in the vault or earlier in this batch. A memory that is none gets links to
    the memories that it seems to contradict. Near: also find texts that are nearly the same.
    Cosines: what `measure_similarity` returned for the undecided memories of the call before.
    Replaces: the ID of a memory that the new one replaces. Only an identical text duplicates it.
    """
    batch = _Batch()
    stored = _Stored(services, prepared)
    decisions = []
    for memory in prepared:
        decision = _decide(services, batch, stored, memory, cosines, near=near, replaces=replaces)
        if decision.duplicate_of is None and len(prepared) > 1:
            batch.add(decision.memory)
        decisions.append(decision)
    return decisions


def find_older_duplicates(
    services: Services, memories: Sequence[Memory], survivors: dict[str, Memory]
) -> list[DuplicateDecision]:
    """Return for each of these stored memories the older one that it duplicates, if any.

    Survivors: by ID of a duplicate, the memory that it is one of. Those found are added to it.
    """
    stored = _Stored(services, memories)
    similar: dict[str, list[Memory]] = {}
    decisions: list[DuplicateDecision] = []
    for memory in memories:
        equal = stored.find_equal(memory)
        candidates = [] if equal is None else [equal]
        candidates += stored.find_similar(memory)
        older = [
            survivors.get(other.id, other)
            for other in candidates
            if (other.created_at, other.id) < (memory.created_at, memory.id)
        ]
        similar[memory.id] = list({other.id: other for other in older}.values())
        decision = _find_nearest(memory, similar[memory.id], None)
        if decision.duplicate_of is not None:
            survivors[memory.id] = decision.duplicate_of
        decisions.append(decision)
    open_ones = [at for at, one in enumerate(decisions) if one.undecided and not one.duplicate_of]
    for start in range(0, len(open_ones), MOST_MEASURED):
        some = open_ones[start : start + MOST_MEASURED]
        cosines = measure_similarity(services, [decisions[at] for at in some])
        for at in some:
            memory = decisions[at].memory
            others = [survivors.get(other.id, other) for other in similar[memory.id]]
            decision = _find_nearest(memory, others, cosines)
            if decision.duplicate_of is not None:
                survivors[memory.id] = decision.duplicate_of
                decisions[at] = decision
    return decisions


def _decide(
    services: Services,
    batch: _Batch,
    stored: _Stored,
    memory: Memory,
    cosines: Cosines | None,
    *,
    near: bool,
    replaces: str | None,
) -> DuplicateDecision:
    exact = batch.find_equal(memory) or stored.find_equal(memory)
    if exact is not None and (exact in batch or _is_unchanged(services, exact)):
        return DuplicateDecision(memory, exact)
    settings = services.settings
    if not near or not (settings.merge_duplicates or settings.propose_links):
        return DuplicateDecision(memory)
    may_contradict = settings.propose_links and _load_rules().is_statement(memory.content)
    similar = batch.find_similar(memory, may_contradict=may_contradict)
    similar += stored.find_similar(memory)
    similar = [other for other in similar if other.id != replaces]
    undecided = None
    if settings.merge_duplicates:
        others = [other for other in similar if exact is None or other.id != exact.id]
        decision = _find_nearest(memory, others, cosines)
        duplicate = decision.duplicate_of
        if duplicate is None:
            undecided = decision.undecided
        elif duplicate in batch or _is_unchanged(services, duplicate):
            return decision
    if settings.propose_links:
        similar += _find_changed(services, batch, memory, {other.id for other in similar})
        memory = _propose_links(memory, [other for other in similar if other.id != replaces])
    return DuplicateDecision(memory, undecided=undecided)


def _find_changed(
    services: Services, batch: _Batch, memory: Memory, known: set[str]
) -> list[Memory]:
    """Return other memories that this one may update: `moved to Rome` has no word of `lives in`."""
    words = _load_rules().suggest_words(memory.content)
    if not words:
        return []
    found = batch.find_with_any_word(memory, words, MOST_CHANGED)
    found += find_with_any_word(services.index, memory, words, MOST_CHANGED)
    return [other for other in found if other.id not in known]


def _is_unchanged(services: Services, known: Memory) -> bool:
    """Whether the file has the indexed text: nothing is merged into a file just edited or gone."""
    stored = find_stored(services, known)
    return stored is not None and stored.memory.content_hash == known.content_hash


def _find_nearest(
    memory: Memory, similar: Iterable[Memory], cosines: Cosines | None
) -> DuplicateDecision:
    """Return the decision for the most similar duplicate among these memories, if there is one."""
    best, undecided = DuplicateDecision(memory), None
    rules = _load_rules()
    for other in similar:
        if (memory.valid_from, memory.valid_until) != (other.valid_from, other.valid_until):
            continue  # a fact about another time is another memory
        texts = memory.content, other.content
        if not rules.may_be_same(*map(rules.read_words, texts)):
            continue
        found = rules.compare(*texts, cosine=cosines.get(texts) if cosines else None)
        if found.same:
            if best.comparison is None or found.similarity > best.comparison.similarity:
                best = DuplicateDecision(memory, other, found)
        elif (
            found.similarity
            and cosines is None
            and not undecided
            and rules.compare(*texts, cosine=1.0).same
        ):
            undecided = other
    return replace(best, undecided=undecided)


class _Rules:
    """How two texts are compared. Imported on first use: only saving needs it."""

    def __init__(self) -> None:
        from muisti.remember.similarity import contradict, near_duplicate, quick_check

        self.read_words = quick_check.read_words
        self.may_be_same = quick_check.may_be_same
        self.is_statement = contradict.is_statement
        self.suggest_words = contradict.suggest_words
        self.find_contradiction = contradict.find_contradiction
        self.compare = near_duplicate.compare


_load_rules = cache(_Rules)


def measure_similarity(services: Services, decisions: Sequence[DuplicateDecision]) -> Cosines:
    """Return the cosines of undecided pairs; none if no embedder is loaded: it would be slow."""
    pairs = [
        (decision.memory.content, decision.undecided.content)
        for decision in decisions
        if decision.undecided
    ][:MOST_MEASURED]
    try:
        embedder = services.embedders(None) if pairs else None
        if embedder is None or not embedder.is_ready():
            return {}
        with limit_wait(services.settings.embedder_query_timeout):
            vectors = embedder.embed_documents([text for pair in pairs for text in pair])
    except EmbedderProblem:
        return {}
    return {pair: float(vectors[2 * at] @ vectors[2 * at + 1]) for at, pair in enumerate(pairs)}


def _propose_links(memory: Memory, similar: Iterable[Memory]) -> Memory:
    """Return the memory with links to those it likely contradicts or updates. Suggestions only."""
    found = []
    linked = {link.target for link in memory.links}
    for other in similar:
        if other.id in linked:
            continue
        if _is_valid_before(memory, other) or _is_valid_before(other, memory):
            continue
        contradiction = _load_rules().find_contradiction(memory.content, other.content)
        if contradiction is not None:
            found.append((contradiction, other))
    if not found:
        return memory
    found.sort(key=lambda pair: -pair[0].confidence)
    links = tuple(
        Link(
            source=memory.id,
            type=LinkType.SUPERSEDES if contradiction.update else LinkType.CONTRADICTS,
            target=other.id,
            created_at=memory.created_at,
            confidence=round(min(0.99, contradiction.confidence), 2),
            extracted_by=LinkSource.SYSTEM,
        )
        for contradiction, other in found[:MOST_PROPOSALS]
    )
    return replace(memory, links=(*memory.links, *links))


def _is_valid_before(memory: Memory, other: Memory) -> bool:
    """Whether a memory's validity ends before the other's begins: then they cannot contradict."""
    end, start = memory.valid_until, other.valid_from
    return end is not None and start is not None and end <= start


def _is_candidate(words: TextWords, theirs: TextWords, *, may_contradict: bool) -> bool:
    """Return whether two texts with these words share enough of them to be compared."""
    mine, others = words.all, theirs.all
    # Any of the few words of a short text may be misspelled.
    is_short = len(mine) < ENOUGH or len(others) < ENOUGH
    if not is_short and 3 * len(mine & others) < min(len(mine), len(others)):
        return False
    return may_contradict or _load_rules().may_be_same(words, theirs)


class _Stored:
    """The stored memories that the new ones of one call are compared with, read many at once."""

    def __init__(self, services: Services, prepared: Sequence[Memory]) -> None:
        self._index = services.index
        self._proposes = services.settings.propose_links
        self._prepared = prepared
        self._known = self._index.find_known_content([memory.content_hash for memory in prepared])
        self._similar: dict[str, list[Memory]] = {}
        self._read = 0

    def find_equal(self, memory: Memory) -> Memory | None:
        """Return the memory with the same text, validity and scope."""
        if memory.content_hash not in self._known:
            return None
        return self._index.find_same_content(memory)

    def find_similar(self, memory: Memory) -> list[Memory]:
        """Return memories of the same scope that share bands or rare words, nearest first.

        Those that are neither a duplicate nor contradicted are left out.
        """
        while memory.id not in self._similar:
            self._read_next()
        return self._similar[memory.id]

    def _read_next(self) -> None:
        """Look for all memories of the next part: a query for many takes little longer than one."""
        part = self._prepared[self._read : self._read + _PART]
        self._read += _PART
        nearest = find_nearest(self._index, part, CANDIDATES)
        ids = {id_ for found in nearest for id_ in found}
        contents = self._index.get_contents(list(ids)) if ids else {}
        rules = _load_rules()
        words = {id_: rules.read_words(content) for id_, content in contents.items()}
        chosen: list[list[str]] = []
        for memory, found in zip(part, nearest, strict=True):
            known = [id_ for id_ in found if id_ in words]
            if known:
                own = rules.read_words(memory.content)
                may_contradict = self._proposes and rules.is_statement(memory.content)
                known = [
                    id_
                    for id_ in known
                    if _is_candidate(own, words[id_], may_contradict=may_contradict)
                ]
            chosen.append(known)
        ids = {id_ for found in chosen for id_ in found}
        current = self._index.filter_current(list(ids)) if ids else []
        by_id = {memory.id: memory for memory in current}
        self._similar = {
            memory.id: [by_id[id_] for id_ in found if id_ in by_id]
            for memory, found in zip(part, chosen, strict=True)
        }


class _Batch:
    """The new memories of one call, indexed to find duplicates among them."""

    def __init__(self) -> None:
        self._memories: list[Memory] = []
        self._places: list[tuple[str | None, ...]] = []
        self._simhashes: list[int] = []
        self._words: list[TextWords] = []
        self._ids: set[str] = set()
        self._by_content: dict[tuple[object, ...], Memory] = {}
        self._by_band: dict[int, list[int]] = defaultdict(list)
        self._by_word: dict[str, list[int]] = defaultdict(list)

    def __contains__(self, memory: Memory) -> bool:
        return memory.id in self._ids

    def add(self, memory: Memory) -> None:
        number = len(self._memories)
        self._memories.append(memory)
        self._places.append(memory.place)
        self._simhashes.append(int(memory.simhash, 16))
        self._ids.add(memory.id)
        self._by_content.setdefault(self._make_key(memory), memory)
        for band in compute_bands(memory.simhash):
            self._by_band[band].append(number)
        words = _load_rules().read_words(memory.content)
        self._words.append(words)
        for word in words.all:
            self._by_word[word].append(number)

    def find_equal(self, memory: Memory) -> Memory | None:
        """Return the memory with the same text, validity and scope."""
        return self._by_content.get(self._make_key(memory))

    def find_similar(self, memory: Memory, *, may_contradict: bool) -> list[Memory]:
        """Return memories of the same scope that share bands or rare words, nearest first."""
        if not self._memories:
            return []
        numbers: set[int] = set()
        for band in compute_bands(memory.simhash):
            numbers.update(self._by_band.get(band, ())[:_FEW])
        words = _load_rules().read_words(memory.content)
        by_word = self._by_word
        lengths = sorted([(len(by_word[word]), word) for word in words.all & by_word.keys()])
        for length, word in lengths:
            if len(numbers) + length > _FEW:
                break
            numbers.update(by_word[word])
        most = most_bits(memory.content.count(" ") + 1)
        place, simhash, simhashes = memory.place, int(memory.simhash, 16), self._simhashes
        found = [
            (bits, number)
            for number in numbers
            if (bits := (simhashes[number] ^ simhash).bit_count()) <= most
        ]
        found = [one for one in sorted(found) if self._places[one[1]] == place][:CANDIDATES]
        return [
            self._memories[number]
            for _, number in found
            if _is_candidate(words, self._words[number], may_contradict=may_contradict)
        ]

    def find_with_any_word(self, memory: Memory, words: Sequence[str], limit: int) -> list[Memory]:
        """Return memories of the same scope with any of these words, the latest first."""
        numbers: set[int] = set()
        for word in words:
            numbers.update(self._by_word.get(word, ())[-limit:])
        place = memory.place
        same = [number for number in numbers if self._places[number] == place]
        return [self._memories[number] for number in sorted(same, reverse=True)[:limit]]

    @staticmethod
    def _make_key(memory: Memory) -> tuple[object, ...]:
        return memory.content_hash, memory.valid_from, memory.valid_until, *memory.place
