"""Embed a query, beside the search by words where that helps."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from muisti.errors import EmbedderProblem
from muisti.ports.services import QueryHint
from muisti.processes import count_cores
from muisti.recall.evidence import UNKNOWN_BACKGROUND, choose_background
from muisti.recall.query import MAX_QUERY
from muisti.recall.speaker import find_named, remove_names

if TYPE_CHECKING:
    from concurrent.futures import Future

    from muisti.ports import Embedder, Services, Space, Vector
    from muisti.ports.columns import ColumnSearch, Key
    from muisti.recall.query import ParsedQuery

_searching: set[int] = set()
"""The threads of this process that search."""


class QueryEmbedding(NamedTuple):
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


class StartedEmbedding(NamedTuple):
    """A query that another thread embeds."""

    embedder: Embedder
    text: str
    """What is embedded: the query without the names of speakers."""
    vector: Future[Vector]


@contextmanager
def count_search() -> Iterator[None]:
    """Count the calling thread as one that searches."""
    thread = threading.get_ident()
    _searching.add(thread)
    try:
        yield
    finally:
        _searching.discard(thread)


def has_idle_core(services: Services) -> bool:
    """Return whether there is a core for another thread, which no search of this process uses."""
    is_only_one = _searching == {threading.get_ident()}
    return services.use_threads and is_only_one and count_cores() > 1


def find_serving_space(services: Services) -> Space | None:
    """Return the space whose vectors are searched, or None."""
    return next((space for space in services.vectors.spaces() if space.serving), None)


def start_embedding(services: Services, query: str) -> StartedEmbedding | None:
    """Embed a query in another thread, before this one searches by words. None: embed it later.

    It is only started where it helps: there is an idle core, and an earlier search used a local
    model that lets other threads run. Whatever fails is reported by `embed_query`.
    """
    hint = services.query_hint
    if hint is None or not has_idle_core(services):
        return None
    text, embedder = query[:MAX_QUERY], hint.embedder
    if embedder.is_remote or not embedder.is_parallel:
        return None
    if not embedder.is_ready() or not embedder.understands(text):
        return None
    # The matches decide which names are removed. Most likely these are all that the query has.
    text = remove_names(text, find_named(text, hint.speakers))
    if services.embedders.knows_query(text):
        return None
    vector = services.side_thread.start(partial(embedder.embed_query, text))
    return None if vector is None else StartedEmbedding(embedder, text, vector)


def embed_query(
    services: Services,
    query: ParsedQuery,
    space: Space | None,
    search: ColumnSearch,
    matched: Sequence[Key],
) -> QueryEmbedding:
    """Return the query's vector. `matched`: the texts that words found in `search`.

    Names of speakers are removed first. In a conversation a name is nearest to what others say to
    that person; the feature `speaker` judges by itself who is speaking.
    """
    text = query.text[:MAX_QUERY]
    try:
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
        all_speakers = search.list_speakers()
        services.query_hint = None if all_speakers is None else QueryHint(embedder, all_speakers)
        text = remove_names(text, search.find_speakers(matched))
        started = query.started
        if started is not None and started.embedder is embedder and started.text == text:
            vector = started.vector.result()
        else:
            vector = embedder.embed_query(text)
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
