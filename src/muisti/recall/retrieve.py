"""Who may answer, and what speaks for each of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from muisti.errors import EmbedderProblem
from muisti.recall.matching import count_occurrences, explain_match, literal_hit
from muisti.recall.neighbours import covered_by_sessions, of_sessions, score_vectors, score_words
from muisti.recall.query import MAX_QUERY, split_query
from muisti.recall.speaker import find_speaker, remove_names

if TYPE_CHECKING:
    from muisti.model import Filter
    from muisti.ports import Candidate, Services, Space, Term, Vector, VectorHit
    from muisti.recall.matching import LexicalHit
    from muisti.text.time_expressions.question import When

POOL = 50
"""How many of each list are looked at more closely, at least."""


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """A query, read."""

    text: str
    mode: str
    terms: Sequence[Term] = ()
    when: When | None = None


@dataclass(frozen=True, slots=True)
class QueryEmbedding:
    """A question's vector, with the space that it belongs to."""

    vector: Vector | None = None
    space: Space | None = None
    weight: float = 0.0
    """What it counts for beside the words."""
    unrelated: float = -1.0
    """What is no nearer than this, and has none of the words, is no answer."""
    degraded: str = ""
    """What is less than it should be."""


@dataclass(frozen=True, slots=True)
class Features:
    """Everything that was found out about the candidates."""

    asked: QueryEmbedding
    candidates: dict[str, Candidate]
    """Those that may be answers."""
    keyword: dict[str, LexicalHit]
    vector: dict[str, VectorHit]
    words: dict[str, float] = field(default_factory=dict)
    """By words, neighbours included."""
    meaning: dict[str, float] = field(default_factory=dict)
    """By vectors, neighbours included."""
    session_words: dict[str, float] = field(default_factory=dict)
    """How much of the question a candidate's session covers."""
    session_meaning: dict[str, float] = field(default_factory=dict)
    """How near the nearest of its session is."""
    successors: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """For each candidate that was superseded: the memories that took its place, which then are candidates too."""


def retrieve(
    services: Services,
    question: ParsedQuery,
    where: Filter,
    limit: int,
    asked: QueryEmbedding | None = None,
) -> Features:
    """The best by words, the nearest by meaning, and what their neighbours add."""
    pool = max(POOL, 2 * limit)
    narrowed = _narrowed(question, where)
    keyword: dict[str, LexicalHit] = {}
    for filter_ in narrowed:
        keyword |= {
            hit.memory_id: hit
            for hit in _by_words(services, question, filter_, pool)
            if hit.memory_id not in keyword
        }
    if asked is None:
        asked = _meaning(services, question, keyword.values())
    vector: dict[str, VectorHit] = {}
    if asked.vector is not None and asked.space is not None:
        for filter_ in narrowed:
            hits = services.vectors.find_nearest(asked.space, asked.vector, filter_, pool)
            vector |= {
                hit.memory_id: hit
                for hit in hits
                if hit.score > asked.unrelated or hit.memory_id in keyword
            }
    keyword = dict(sorted(keyword.items(), key=lambda item: -item[1].score))
    vector = dict(sorted(vector.items(), key=lambda item: -item[1].score))
    return _weighed(services, question, asked, where, keyword, vector)


def _narrowed(question: ParsedQuery, where: Filter) -> list[Filter]:
    """The filter; and first one for the time that is asked for, of which there are perhaps few, far down the lists."""
    when = question.when
    if when is None or not when.exact or where.since is not None or where.until is not None:
        return [where]
    return [replace(where, since=when.start, until=when.end), where]


def _by_words(
    services: Services, question: ParsedQuery, where: Filter, pool: int
) -> list[LexicalHit]:
    if question.terms:
        found = services.index.match(question.terms, where, pool)
        return [explain_match(match, question.terms) for match in found]
    if question.mode == "vector" or split_query(question.text):
        return []
    return [
        literal_hit(id_, question.text)
        for id_ in services.index.match_literal(question.text, where, pool)
    ]


def _weighed(
    services: Services,
    question: ParsedQuery,
    asked: QueryEmbedding,
    where: Filter,
    keyword: dict[str, LexicalHit],
    vector: dict[str, VectorHit],
) -> Features:
    found_ids = [*dict.fromkeys([*keyword, *vector])]
    successors = _successors(services, found_ids)
    around = services.index.candidates(
        [*dict.fromkeys([*found_ids, *(new for news in successors.values() for new in news)])],
        where,
    )
    everybody = list(
        dict.fromkeys(
            [*around, *(id_ for one in around.values() for id_ in (*one.before, *one.after))]
        )
    )
    wanted = _words_of(question.terms)
    found = {
        id_: count_occurrences(words, wanted)
        for id_, words in services.index.get_words(everybody).items()
    }
    near: dict[str, float] = {}
    if asked.vector is not None and asked.space is not None:
        near = services.vectors.compute_similarities(asked.space, asked.vector, everybody)
    return Features(
        asked,
        {id_: candidate for id_, candidate in around.items() if candidate.allowed},
        keyword,
        vector,
        score_words(around, found, question.terms)
        if question.terms
        else {id_: hit.score for id_, hit in keyword.items()},
        score_vectors(around, near, found),
        covered_by_sessions(around, found, question.terms) if question.terms else {},
        of_sessions(around, near),
        successors,
    )


def _successors(services: Services, ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Who took the place of these, and of those in turn."""
    found: dict[str, tuple[str, ...]] = {}
    while ids:
        further = services.index.successors(ids)
        found |= further
        ids = [*dict.fromkeys(id_ for news in further.values() for id_ in news if id_ not in found)]
    return found


def _meaning(
    services: Services, question: ParsedQuery, hits: Iterable[LexicalHit]
) -> QueryEmbedding:
    """The question's vector. Names of speakers are left out: who speaks is judged by itself, and in a conversation a name
    is closest to what is said to that person by others.
    """
    if question.mode == "keyword":
        return QueryEmbedding()
    text = question.text[:MAX_QUERY]
    try:
        space = next((space for space in services.vectors.spaces() if space.serving), None)
        embedder = services.embedders(space.identity if space else None)
        if space is None or embedder is None:
            if embedder is not None:
                embedder.identity()  # one that cannot even say who it is says why
            return QueryEmbedding(degraded=_without(services, space))
        weight = embedder.understands(text)
        if not weight and question.mode == "hybrid":
            return QueryEmbedding()
        vector = embedder.embed_query(
            remove_names(text, {find_speaker(hit.opening) for hit in hits})
        )
        waiting = (
            f"{space.missing} memories wait for their vectors and are found by keyword only"
            if space.missing
            else ""
        )
        return QueryEmbedding(
            vector,
            space,
            weight or 1.0,
            embedder.unrelated if question.mode == "hybrid" else -1.0,
            waiting,
        )
    except EmbedderProblem as error:
        return QueryEmbedding(degraded=f"by keyword only: {error}")


def _without(services: Services, space: Space | None) -> str:
    if space is not None:
        return f"by keyword only: the model {space.identity.model} that made the vectors is not here; `muisti reindex --vectors`"
    return (
        "" if services.settings.embedder == "none" else "by keyword only: there are no vectors yet"
    )


def _words_of(terms: Sequence[Term]) -> list[str]:
    return list(dict.fromkeys(word for term in terms for word in (term.text, *term.alternatives)))
