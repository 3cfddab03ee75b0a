"""Find the candidates for an answer, and what words and vectors say about each of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from muisti.errors import EmbedderProblem
from muisti.recall.evidence import UNKNOWN_BACKGROUND, choose_background
from muisti.recall.matching import make_literal_hit, rate_matches
from muisti.recall.neighbours import Neighbourhood, score_sessions_by_vectors
from muisti.recall.query import MAX_QUERY
from muisti.recall.speaker import find_speaker, remove_names

if TYPE_CHECKING:
    from muisti.model import Filter
    from muisti.ports import Candidate, Services, Space, Vector, VectorHit, Words
    from muisti.recall.matching import LexicalHit
    from muisti.recall.query import ParsedQuery

POOL = 50
"""How many hits of each list become candidates of the first results."""
MAX_BETWEEN = 20
"""How many memories become candidates because they replaced a hit, though they are replaced too.
More would say nothing new: each differs little from the next.
"""


@dataclass(frozen=True, slots=True)
class QueryEmbedding:
    """A query's vector and the vector space that it belongs to."""

    vector: Vector | None = None
    space: Space | None = None
    weight: float = 0.0
    """The weight of vectors relative to words."""
    unrelated: float = -1.0
    """A hit that is no nearer than this, and has none of the words, is dropped."""
    background: float = UNKNOWN_BACKGROUND
    """Up to this cosine a text is most likely unrelated, in every mode."""
    degraded: str = ""
    """Why the results are incomplete, or empty."""


@dataclass(frozen=True, slots=True)
class Retrieval:
    """The candidates and all that is known about them."""

    embedding: QueryEmbedding
    candidates: dict[str, Candidate]
    """Those that the filter allows."""
    keyword: dict[str, LexicalHit]
    vector: dict[str, VectorHit]
    words: dict[str, float] = field(default_factory=dict)
    """Scores by words, neighbours included."""
    meaning: dict[str, float] = field(default_factory=dict)
    """Scores by vectors, neighbours included."""
    session_words: dict[str, float] = field(default_factory=dict)
    """How much of the query a candidate's session covers."""
    session_meaning: dict[str, float] = field(default_factory=dict)
    """The best vector score in a candidate's session."""
    successors: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """For each superseded candidate the memories that replaced it, and those in turn. Those that
    are current are candidates too.
    """
    similarities: dict[str, float] = field(default_factory=dict)
    """The cosine of the best chunk, of candidates and their neighbours."""
    texts: dict[str, Words] = field(default_factory=dict)
    """The index words of the candidates to be shown, and of their neighbours: see `read_texts`."""


def retrieve(
    services: Services,
    query: ParsedQuery,
    where: Filter,
    pool: int = POOL,
    embedding: QueryEmbedding | None = None,
) -> Retrieval:
    """Return the best candidates by words and by vectors, scored together with their neighbours.

    `pool` hits of each list become candidates. The query is embedded unless its embedding is given.
    """
    filters = [where]
    when = query.when
    by_rank = services.settings.fusion == "rrf"  # ranks are those in the two lists, as they are
    if (
        when is not None
        and when.exact
        and where.since is None
        and where.until is None
        and not by_rank
    ):
        # Look within the named time first: those memories may be few and far down the lists.
        filters = [replace(where, since=when.start, until=when.end), where]
    keyword: dict[str, LexicalHit] = {}
    for filter_ in filters:
        for word_hit in _match_words(services, query, filter_, pool):
            keyword.setdefault(word_hit.memory_id, word_hit)
    if embedding is None:
        embedding = _embed_query(services, query, keyword.values())
    vector: dict[str, VectorHit] = {}
    if embedding.vector is not None and embedding.space is not None:
        for filter_ in filters:
            for hit in services.vectors.find_nearest(
                embedding.space, embedding.vector, filter_, pool
            ):
                if by_rank or hit.score > embedding.unrelated or hit.memory_id in keyword:
                    vector[hit.memory_id] = hit
    keyword = dict(sorted(keyword.items(), key=lambda item: -item[1].score))
    vector = dict(sorted(vector.items(), key=lambda item: -item[1].score))
    return _score_candidates(services, query, embedding, where, keyword, vector)


def _match_words(
    services: Services, query: ParsedQuery, where: Filter, pool: int
) -> list[LexicalHit]:
    if query.terms:
        return rate_matches(services.index.match(query.terms, where, pool), query.terms)
    if query.mode == "vector" or query.words:
        return []
    # The query has no words, for example "???": look for its characters.
    ids = services.index.match_literal(query.text, where, pool)
    return [make_literal_hit(id_, query.text) for id_ in ids]


def _embed_query(
    services: Services, query: ParsedQuery, hits: Iterable[LexicalHit]
) -> QueryEmbedding:
    """Return the query's vector.

    Names of speakers are removed first. In a conversation a name is nearest to what others say to
    that person; the feature `speaker` judges by itself who is speaking.
    """
    if query.mode == "keyword":
        return QueryEmbedding()
    text = query.text[:MAX_QUERY]
    try:
        space = next((space for space in services.vectors.spaces() if space.serving), None)
        embedder = services.embedders(space.identity if space else None)
        if space is None:
            if embedder is not None:
                embedder.identity()  # raises EmbedderProblem with the reason, if it cannot be used
            no_embedder = services.settings.embedder == "none"
            degraded = "" if no_embedder else "by keyword only: there are no vectors yet"
            return QueryEmbedding(degraded=degraded)
        if embedder is None:
            missing = f"the model {space.identity.model} that made the vectors is not installed"
            fix = "run `muisti reindex --vectors`"
            return QueryEmbedding(degraded=f"by keyword only: {missing}; {fix}")
        weight = embedder.understands(text)
        if not weight and query.mode == "hybrid":
            return QueryEmbedding()
        speakers = {find_speaker(hit.opening) for hit in hits}
        vector = embedder.embed_query(remove_names(text, speakers))
        degraded = services.embedders.fallback
        if space.missing:
            count = "1 memory is" if space.missing == 1 else f"{space.missing} memories are"
            missing = f"{count} not embedded yet and found by keyword only"
            degraded = f"{degraded}; {missing}" if degraded else missing
        unrelated = embedder.unrelated if query.mode == "hybrid" else -1.0
        background = choose_background(embedder.unrelated)
        return QueryEmbedding(vector, space, weight or 1.0, unrelated, background, degraded)
    except EmbedderProblem as error:
        return QueryEmbedding(degraded=f"by keyword only: {error}")


def _score_candidates(
    services: Services,
    query: ParsedQuery,
    embedding: QueryEmbedding,
    where: Filter,
    keyword: dict[str, LexicalHit],
    vector: dict[str, VectorHit],
) -> Retrieval:
    """Add successors and neighbours to the hits, and score all of them."""
    hits = list(dict.fromkeys([*keyword, *vector]))
    successors = services.index.chains(hits)
    replacements = _choose_replacements(hits, successors)
    candidates = services.index.candidates([*hits, *replacements], where)
    ids = list(candidates)
    for candidate in candidates.values():
        ids += candidate.before
        ids += candidate.after
    ids = list(dict.fromkeys(ids))

    wanted = [word for term in query.terms for word in (term.text, *term.alternatives)]
    wanted = list(dict.fromkeys(wanted))
    around = Neighbourhood(candidates, ids, services.index.count_words(ids, wanted))
    words = {id_: hit.score for id_, hit in keyword.items()}
    session_words: dict[str, float] = {}
    if query.terms:
        words, session_words = around.score_words(query.terms)
    similarities: dict[str, float] = {}
    meaning: dict[str, float] = {}
    session_meaning: dict[str, float] = {}
    if embedding.vector is not None and embedding.space is not None:
        similarities = services.vectors.compute_similarities(embedding.space, embedding.vector, ids)
        meaning = around.score_vectors(similarities)
        session_meaning = score_sessions_by_vectors(candidates, similarities)
    return Retrieval(
        embedding,
        {id_: candidate for id_, candidate in candidates.items() if candidate.allowed},
        keyword,
        vector,
        words,
        meaning,
        session_words,
        session_meaning,
        successors,
        similarities,
    )


def read_texts(services: Services, retrieval: Retrieval, ids: Iterable[str]) -> None:
    """Read the index words of candidates to be shown, and of their neighbours."""
    wanted: dict[str, None] = {}
    for id_ in ids:
        wanted[id_] = None
        candidate = retrieval.candidates.get(id_)
        if candidate is not None:
            wanted |= dict.fromkeys([*candidate.before, *candidate.after])
    retrieval.texts.update(services.index.get_words([*wanted]))


def _choose_replacements(hits: Sequence[str], successors: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the memories that replaced hits and become candidates with them.

    These are all that are current, and of those that were replaced in turn the nearest ones.
    """
    reached = dict.fromkeys(hits)
    between: list[str] = []
    current: list[str] = []
    queue = deque(hits)
    while queue:
        for new in successors.get(queue.popleft(), ()):
            if new not in reached:
                reached[new] = None
                queue.append(new)
                (between if new in successors else current).append(new)
    return [*between[:MAX_BETWEEN], *current]
