"""Find the candidates for an answer, and what words and vectors say about each of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING

from muisti.ports.columns import call_each
from muisti.recall.columns import ArrayColumns, ListColumns
from muisti.recall.matching import rate_matches
from muisti.recall.neighbours import Neighbourhood
from muisti.recall.query import MAX_TERMS
from muisti.recall.query_embedding import (
    QueryEmbedding,
    embed_query,
    find_serving_space,
    has_idle_core,
)
from muisti.recall.row_search import RowSearch

if TYPE_CHECKING:
    from muisti.model import Filter
    from muisti.ports import Candidate, Services, Words
    from muisti.ports.columns import CandidateTable, ColumnSearch, FoundText, Key
    from muisti.recall.columns import Numbers
    from muisti.recall.query import ParsedQuery

POOL = 50
"""How many hits of each list become candidates of the first results."""
LITERAL = 0.5
"""The score of a text that has the characters of a query without words."""
MAX_BETWEEN = 20
"""How many memories become candidates because they replaced a hit, though they are replaced too.
More would say nothing new: each differs little from the next.
"""


@dataclass(slots=True)
class Retrieval:
    """The candidates and all that is known about them. Texts are named by their positions."""

    embedding: QueryEmbedding
    table: CandidateTable
    columns: ListColumns
    """Makes columns as those of the table."""
    read: Callable[[Sequence[int]], list[Candidate]]
    """Reads the rows of candidates at these positions."""
    keyword: dict[int, float] = field(default_factory=dict)
    """Scores by words, or LITERAL; best first, as `vector`."""
    vector: dict[int, FoundText] = field(default_factory=dict)
    words: Numbers | None = None
    """Scores by words, neighbours included; NaN if a candidate has none. None: no candidate has."""
    meaning: Numbers | None = None
    """Scores by vectors, neighbours included."""
    session_words: Numbers | None = None
    """How much of the query a candidate's session covers."""
    session_meaning: Numbers | None = None
    """The best vector score in a candidate's session."""
    successors: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """For each superseded candidate the memories that replaced it, and those in turn. Those that
    are current are candidates too. These are IDs.
    """
    linked: Sequence[int] = ()
    """The candidates that replaced another one or were replaced."""
    cosines: Numbers = ()
    """The cosine of the best chunk of every text; NaN without vectors. Empty: none compared."""
    texts: dict[str, Words] = field(default_factory=dict)
    """The index words of the candidates to be shown, by ID."""


def retrieve(
    services: Services,
    query: ParsedQuery,
    where: Filter,
    pool: int = POOL,
    embedding: QueryEmbedding | None = None,
    search: ColumnSearch | None = None,
) -> Retrieval:
    """Return the best candidates by words and by vectors, scored together with their neighbours.

    `pool` hits of each list become candidates. The query is embedded unless its embedding is given.
    Without `search`, rows are read. Raises UnusableColumns.
    """
    search = search or RowSearch(services)
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
    keyword = _match_words(search, query, filters[0], pool)
    for filter_ in filters[1:]:
        keyword = keyword | _match_words(search, query, filter_, pool)
    if embedding is None and query.mode == "keyword":
        embedding = QueryEmbedding()
    elif embedding is None:
        space = find_serving_space(services)
        with services.index.release():
            embedding = embed_query(services, query, space, search, list(keyword))
    vector: dict[Key, FoundText] = {}
    if embedding.vector is not None and embedding.space is not None:
        share = services.side_thread.share if has_idle_core(services) else call_each
        for filter_ in filters:
            for hit in search.find_nearest(embedding.space, embedding.vector, filter_, pool, share):
                if by_rank or hit.score > embedding.unrelated or hit.key in keyword:
                    vector[hit.key] = hit
    if len(filters) > 1:
        keyword = dict(sorted(keyword.items(), key=lambda item: -item[1]))
        vector = dict(sorted(vector.items(), key=lambda item: -item[1].score))
    return _score_candidates(search, query, embedding, where, keyword, vector)


def _match_words(
    search: ColumnSearch, query: ParsedQuery, where: Filter, pool: int
) -> dict[Key, float]:
    if query.terms:
        return rate_matches(search.match(query.terms, where, pool), query.terms)
    if query.mode == "vector" or query.words:
        return {}
    # The query has no words, for example "???": look for its characters.
    return dict.fromkeys(search.match_literal(query.text, where, pool), LITERAL)


def _score_candidates(
    search: ColumnSearch,
    query: ParsedQuery,
    embedding: QueryEmbedding,
    where: Filter,
    keyword: dict[Key, float],
    vector: dict[Key, FoundText],
) -> Retrieval:
    """Add successors and neighbours to the hits, and score all of them."""
    hits = list(dict.fromkeys([*keyword, *vector]))
    successors = search.find_chains(hits)
    if successors:
        ids = list(dict.fromkeys(chain(successors, *successors.values())))
        known = dict(zip(search.find_keys(ids), ids, strict=True))
        named = [known.get(key, "") for key in hits]
        hits += search.find_keys(_choose_replacements(named, successors))
    # In the mode "vector" words do not find texts, but they still count as evidence.
    words = [word for term in query.terms for word in (term.text, *term.alternatives)]
    words = list(dict.fromkeys(words or query.words[:MAX_TERMS]))
    table = search.describe(hits, words, where)
    among = table.keys
    if not successors and among[: len(hits)] == hits:
        among = hits  # the others are neighbours
    positions = {key: position for position, key in enumerate(among)}
    columns: ListColumns = ArrayColumns() if search.is_array else ListColumns()
    retrieval = Retrieval(
        embedding,
        table,
        columns,
        lambda some: search.read([table.keys[position] for position in some], where),
        {positions[key]: hit for key, hit in keyword.items() if key in positions},
        {positions[key]: found for key, found in vector.items() if key in positions},
        successors=successors,
    )
    if successors:
        linked = [positions[key] for key in known if key in positions]
        retrieval.linked = linked
    around = Neighbourhood(table, columns)
    if query.terms:
        retrieval.words, retrieval.session_words = around.score_words(query.terms)
    elif retrieval.keyword:
        literal = [float("nan")] * len(table.keys)
        for position, score in retrieval.keyword.items():
            literal[position] = score
        retrieval.words = columns.make(literal)
    if embedding.vector is not None and embedding.space is not None:
        cosines = search.compute_cosines(table, embedding.space, embedding.vector)
        retrieval.meaning = around.score_vectors(cosines)
        retrieval.session_meaning = around.score_sessions_by_vectors(cosines)
        retrieval.cosines = cosines
    return retrieval


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
