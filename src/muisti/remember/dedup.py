"""What says the same as a memory does not become a second one (contract C3); what contradicts one is told (contract H3)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from muisti.errors import EmbedderProblem
from muisti.model import Link, LinkSource, LinkType, Memory
from muisti.ports import Services
from muisti.ports.lookups import find_stored
from muisti.remember.candidates import find_similar
from muisti.text.simhash import compute_bands, hamming_distance, is_far_apart
from muisti.text.tokens import split_words

if TYPE_CHECKING:
    from muisti.remember.similarity.contradict import Clash
    from muisti.remember.similarity.near_duplicate import Comparison

CANDIDATES = 8
"""Memories that a new text is compared with, at most."""
ENOUGH = 12
"""Words, from which on two texts that say the same share a third of them."""
MOST_MEASURED = 32
"""Pairs of texts that are embedded for one call."""
MOST_PROPOSALS = 3
"""Links that are proposed for one new memory."""
_FEW = 200


@dataclass(frozen=True, slots=True)
class DuplicateDecision:
    """What is to become of a new memory."""

    memory: Memory
    twin: Memory | None = None
    """The memory that says the same: it is reinforced instead."""
    nearly: Comparison | None = None
    """How near they are; None if they say exactly the same."""
    undecided: Memory | None = None
    """A memory that says the same if their vectors say so too."""


Cosines = Mapping[tuple[str, str], float]
"""Of two texts."""


def resolve_duplicates(
    services: Services, prepared: Sequence[Memory], *, near: bool, cosines: Cosines | None = None
) -> list[DuplicateDecision]:
    """For each new memory: itself, with links to what it seems to contradict, or the one that says the same already.

    That may be in the vault or earlier in this batch. Near: texts that say nearly the same count too.
    Cosines: what was measured of those that were undecided before.
    """
    batch = _Batch()
    answers = []
    for memory in prepared:
        answer = _resolved(services, batch, memory, cosines, near=near)
        if answer.twin is None:
            batch.add(answer.memory)
        answers.append(answer)
    return answers


def _resolved(
    services: Services, batch: _Batch, memory: Memory, cosines: Cosines | None, *, near: bool
) -> DuplicateDecision:
    exact = batch.twin(memory) or services.index.find_same_content(memory)
    if exact is not None and (batch.holds(exact) or _still_says(services, exact)):
        return DuplicateDecision(memory, exact)
    settings = services.settings
    if not near or not (settings.merge_duplicates or settings.propose_links):
        return DuplicateDecision(memory)
    alike = _kindred(
        memory,
        [*batch.alike(memory, CANDIDATES), *find_similar(services.index, memory, CANDIDATES)],
    )
    undecided = None
    if settings.merge_duplicates:
        found = _nearest(
            memory, [other for other in alike if exact is None or other.id != exact.id], cosines
        )
        if (
            found.twin is not None
            and not batch.holds(found.twin)
            and not _still_says(services, found.twin)
        ):
            found = DuplicateDecision(memory)
        if found.twin is not None:
            return found
        undecided = found.undecided
    linked = _with_proposals(memory, alike, memory.created_at) if settings.propose_links else memory
    return DuplicateDecision(linked, undecided=undecided)


def _still_says(services: Services, known: Memory) -> bool:
    """Whether the file says what the index does: a text must not be merged into what a person has just changed or removed."""
    stored = find_stored(services, known)
    return stored is not None and stored.memory.content_hash == known.content_hash


def _kindred(memory: Memory, alike: Sequence[Memory]) -> list[Memory]:
    """Those that share enough words to be looked at more closely. Of few words each may be spelled otherwise."""
    mine = _words(memory)
    if len(mine) < ENOUGH:
        return list(alike)
    found = [(other, _words(other)) for other in alike]
    return [
        other
        for other, theirs in found
        if len(theirs) < ENOUGH or 3 * len(mine & theirs) >= min(len(mine), len(theirs))
    ]


def _nearest(memory: Memory, alike: Iterable[Memory], cosines: Cosines | None) -> DuplicateDecision:
    """The memory that says nearly the same, if one of these does."""
    best, undecided = DuplicateDecision(memory), None
    for other in alike:
        if (memory.valid_from, memory.valid_until) != (other.valid_from, other.valid_until):
            continue  # what is said to hold at another time is another memory
        texts = memory.content, other.content
        found = compare(*texts, cosine=cosines.get(texts) if cosines else None)
        if found.same and (best.nearly is None or found.similarity > best.nearly.similarity):
            best = DuplicateDecision(memory, other, found)
        elif (
            found.similarity
            and not found.same
            and cosines is None
            and not undecided
            and compare(*texts, cosine=1.0).same
        ):
            undecided = other
    return replace(best, undecided=undecided)


def compare(text: str, other: str, *, cosine: float | None = None) -> Comparison:
    """Whether two texts say the same. Its tables are dear to load, so that is left to who saves."""
    from muisti.remember.similarity import near_duplicate

    return near_duplicate.compare(text, other, cosine=cosine)


def clash(newer: str, older: str) -> Clash | None:
    """Whether two texts contradict each other. Loaded as late."""
    from muisti.remember.similarity import contradict

    return contradict.clash(newer, older)


def measure_similarity(services: Services, answers: Sequence[DuplicateDecision]) -> Cosines:
    """How near the undecided are in meaning; empty if no embedder is at hand. Nobody waits for a model to be loaded."""
    pairs = [
        (answer.memory.content, answer.undecided.content) for answer in answers if answer.undecided
    ][:MOST_MEASURED]
    try:
        embedder = services.embedders(None) if pairs else None
        if embedder is None or not embedder.is_ready():
            return {}
        vectors = embedder.embed_documents([text for pair in pairs for text in pair])
    except EmbedderProblem:
        return {}
    return {pair: float(vectors[2 * at] @ vectors[2 * at + 1]) for at, pair in enumerate(pairs)}


def _with_proposals(memory: Memory, alike: Iterable[Memory], at: datetime) -> Memory:
    """The memory with links to those that it likely contradicts or brings up to date. They change nothing by themselves."""
    found = [
        (clash(memory.content, other.content), other) for other in alike if _overlap(memory, other)
    ]
    clashes = sorted(
        ((c, other) for c, other in found if c is not None), key=lambda pair: -pair[0].confidence
    )
    links = tuple(_proposal(memory, other, c, at) for c, other in clashes[:MOST_PROPOSALS])
    return replace(memory, links=(*memory.links, *links)) if links else memory


def _overlap(memory: Memory, other: Memory) -> bool:
    """Whether both may hold at the same time: only then can one contradict the other."""
    ends = ((memory.valid_until, other.valid_from), (other.valid_until, memory.valid_from))
    return not any(end is not None and start is not None and end <= start for end, start in ends)


def _proposal(memory: Memory, other: Memory, found: Clash, at: datetime) -> Link:
    return Link(
        source=memory.id,
        type=LinkType.SUPERSEDES if found.update else LinkType.CONTRADICTS,
        target=other.id,
        created_at=at,
        confidence=round(min(0.99, found.confidence), 2),
        extracted_by=LinkSource.SYSTEM,
    )


class _Batch:
    """The new memories of one call, to be found among themselves."""

    def __init__(self) -> None:
        self._memories: list[Memory] = []
        self._ids: set[str] = set()
        self._exact: dict[tuple[object, ...], Memory] = {}
        self._by_band: dict[int, list[int]] = defaultdict(list)
        self._by_word: dict[str, list[int]] = defaultdict(list)

    def add(self, memory: Memory) -> None:
        number = len(self._memories)
        self._memories.append(memory)
        self._ids.add(memory.id)
        self._exact.setdefault(
            (memory.content_hash, memory.valid_from, memory.valid_until, *memory.place), memory
        )
        for band in compute_bands(memory.simhash):
            self._by_band[band].append(number)
        for word in _words(memory):
            self._by_word[word].append(number)

    def twin(self, memory: Memory) -> Memory | None:
        return self._exact.get(
            (memory.content_hash, memory.valid_from, memory.valid_until, *memory.place)
        )

    def holds(self, memory: Memory) -> bool:
        return memory.id in self._ids

    def alike(self, memory: Memory, limit: int) -> list[Memory]:
        if not self._memories:
            return []
        numbers = {
            number
            for band in compute_bands(memory.simhash)
            for number in self._by_band.get(band, ())[:_FEW]
        }
        for word in sorted(
            _words(memory) & self._by_word.keys(), key=lambda word: len(self._by_word[word])
        ):
            if len(numbers) + len(self._by_word[word]) > _FEW:
                break
            numbers.update(self._by_word[word])
        place, length = memory.place, memory.content.count(" ") + 1
        found = [
            one for number in sorted(numbers) if (one := self._memories[number]).place == place
        ]
        found = [one for one in found if not is_far_apart(one.simhash, memory.simhash, length)]
        return sorted(found, key=lambda one: hamming_distance(one.simhash, memory.simhash))[:limit]


def _words(memory: Memory) -> set[str]:
    return set(split_words(memory.content[:2000].casefold()))
