"""The features that rank search results. Pure.

The score of a candidate is the sum of weight × score over FEATURES. Scores are in standard
deviations among the candidates. A memory that stands out by its words or its meaning is three or
four above the mean, which is more than any other feature contributes.

A feature scores all candidates at once, in a column. What a column does not know, such as the
salience, is scored when the row of a candidate is read, which is done for the best ones only.

To add a feature, write its score function and add it to FEATURES. Ranking, `why` and `explain` use
the list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from muisti.model import Signal
from muisti.recall.evidence import (
    Around,
    find_around,
    find_capitalised,
    find_forms,
    find_pairs,
    space_forms,
    weigh_query,
)
from muisti.recall.fuse import standardise
from muisti.recall.matching import NO_MATCH, Matched, explain_match
from muisti.recall.speaker import score_speakers

if TYPE_CHECKING:
    from muisti.ports import Candidate
    from muisti.recall.columns import ListColumns, Numbers
    from muisti.recall.query import ParsedQuery
    from muisti.recall.retrieve import Retrieval
    from muisti.text.time_expressions.question import When

ALONE = 1.5
"""Weight of words or of meaning without the other: the other features keep their proportion."""
SESSION_WORDS, SESSION_MEANING = 0.3, 0.2
"""Weights of belonging to a session that is about the query."""
IN_TIME = 4.0
"""Weight of belonging to the time that the query names."""
PRIOR = 0.5
"""Weight of salience, importance and recency together: decay never hides an exact match."""
EXPIRED = 1.5
"""Penalty for a memory that is not valid now."""
MESSAGE = 1.0
"""Penalty for a message if there are memories or documents: they are distilled from messages."""

MOST_WORDS = 0.5
"""The share of the query's words that a text must have for words to count fully beside vectors."""
COMPARED = 5
"""How many of the best keyword hits show how much of the query is found by words."""
WORDS_POWER = 0.7
"""Dampens keyword scores: one twice as high is not twice as good."""
LEAST_WORDS, LEAST_MEANING = 0.1, 0.03
"""The smallest standard deviation: as a share of the best score, and in cosines."""
VAGUE = 0.3
"""The score for time if the query names the time only vaguely."""
LENIENT_DAYS = 5.0
"""Days outside the named time that reduce the score to a third: people report later."""
HALF_LIFE_DAYS = 30.0
"""The half-life of recency."""
DAY = 86_400.0
"""In seconds."""


# Plain classes and tuples: creating a dataclass takes time, and a hook runs with every prompt.


class RankingInputs:
    """What features can use."""

    def __init__(
        self,
        query: ParsedQuery,
        retrieval: Retrieval,
        now: datetime,
        spelling: Mapping[str, str] | None = None,
        rrf_k: int | None = None,
    ) -> None:
        """`spelling` has the query's own spelling of each index word.

        `rrf_k` is the k of reciprocal rank fusion; None: candidates are ranked by all features.
        """
        self.query = query
        self.retrieval = retrieval
        self.now = now
        self.seconds = now.timestamp()
        self.spelling = spelling or {}
        self.rrf_k = rrf_k
        self._matched: dict[int, Matched] = {}
        self._around: dict[int, Around] = {}
        self.noted_features: Sequence[Feature] = FEATURES
        """Those that may be named in `why`."""

    @cached_property
    def allowed(self) -> list[int] | None:
        """The positions of the candidates that match the filter; None: all."""
        allowed = self.retrieval.table.allowed
        if allowed is None:
            return None
        return [position for position, is_allowed in enumerate(allowed) if is_allowed]

    @cached_property
    def keyword_ranks(self) -> dict[int, int]:
        """The rank of each candidate among the keyword hits, by position."""
        return {position: rank for rank, position in enumerate(self.retrieval.keyword, start=1)}

    @cached_property
    def vector_ranks(self) -> dict[int, int]:
        """The rank of each candidate among the vector hits, by position."""
        return {position: rank for rank, position in enumerate(self.retrieval.vector, start=1)}

    @cached_property
    def speakers(self) -> set[str]:
        """The speakers of the candidates."""
        table = self.retrieval.table
        if self.allowed is None:
            return {*table.speakers} - {""}
        return {table.speakers[table.speaker[at]] for at in self.allowed} - {""}

    @cached_property
    def query_weights(self) -> dict[str, float]:
        """The words of the query that count as evidence, with their weights."""
        return weigh_query(self)

    @cached_property
    def query_weight(self) -> float:
        """The sum of these weights."""
        return sum(self.query_weights.values())

    @cached_property
    def best_share(self) -> float:
        """The largest weighted share of the query's words that one of the best hits has."""
        if not self.query.terms or not self.query_weight:  # found by characters, or by time
            return 1.0
        counts, weights, best = self.retrieval.table.counts, self.query_weights, 0.0
        for position in islice(self.retrieval.keyword, COMPARED):
            found = {
                word
                for form, matches in self.query_forms.items()
                if form in counts and counts[form][position] > 0
                for word, _ in matches
            }
            best = max(best, sum(weights[word] for word in found))
        return best / self.query_weight

    @cached_property
    def query_pairs(self) -> dict[str, list[tuple[str, str]]]:
        """For each of these words its pairs with the words beside it."""
        return find_pairs(self.query_weights)

    @cached_property
    def query_forms(self) -> dict[str, list[tuple[str, float]]]:
        """The words of the query that each index word of a text matches, and how well."""
        return find_forms(self.query_weights, self.query.terms)

    @cached_property
    def query_names(self) -> set[str]:
        """The words of the query that are names, but for those of speakers."""
        return find_capitalised(self.query.text, self.query_weights)

    @cached_property
    def sought_forms(self) -> list[tuple[str, Sequence[tuple[str, float]]]]:
        """The words of `query_forms` between spaces, as `find_words` takes them."""
        return space_forms(self.query_forms)

    def get_around(self, position: int) -> Around:
        """Return the neighbours of a text, and the words of the query that they have."""
        if position not in self._around:
            self.look_around([position])
        return self._around[position]

    def look_around(self, positions: Sequence[int]) -> None:
        """Look at the neighbours of all texts that are shown, so that it is done once."""
        self._around.update(find_around(self, positions))

    def explain_match(self, ranked: Ranked) -> Matched:
        """Return the words by which a text that is shown matched the query."""
        matched = self._matched.get(ranked.position)
        if matched is None:
            matched = self._matched[ranked.position] = self._explain_match(ranked)
        return matched

    def _explain_match(self, ranked: Ranked) -> Matched:
        if ranked.position not in self.retrieval.keyword:
            return NO_MATCH
        if not self.query.terms:  # it was found by its characters
            same = frozenset((self.query.text,))
            return Matched(same, frozenset(), same)
        text = self.retrieval.texts.get(ranked.candidate.memory_id)
        return NO_MATCH if text is None else explain_match(text, self.query.terms)

    @cached_property
    def closeness(self) -> Numbers:
        """How close each candidate is to the time that the query names."""
        return score_time(self)

    def standardise(
        self, column: Numbers | None, least: float = 0.0, least_share: float = 0.0
    ) -> Numbers | float:
        """Return the numbers in standard deviations above the mean; 0 if there are none."""
        if column is None:
            return 0.0
        return standardise(column, self.retrieval.columns, self.allowed, least, least_share)


class Ranked(NamedTuple):
    """A candidate with its score and the contribution of each feature."""

    candidate: Candidate
    position: int
    """Its position in the table of candidates."""
    score: float
    by_column: Mapping[str, Numbers | float]
    """Weight × score of each feature for all candidates; of some, the most that it can be."""
    by_row: Mapping[str, float]
    """Weight × score of the features that needed its row."""
    instead_of: Ranked | None = None
    """The memory that it replaced, if that raised its score."""

    @property
    def contributions(self) -> dict[str, float]:
        """Weight × score, by the feature's name."""
        return {name: self.get_contribution(name) for name in self.by_column}

    def get_contribution(self, feature: str) -> float:
        """Return weight × score of one feature."""
        contribution = self.by_row.get(feature)
        if contribution is not None:
            return contribution
        column = self.by_column[feature]
        return column if isinstance(column, float) else float(column[self.position])


class Feature(NamedTuple):
    """One part of the score."""

    name: str
    """The name of its signal in `why`."""
    weight: float | Callable[[RankingInputs], float]
    score: Callable[[RankingInputs], Numbers | float]
    """Return a column with the score of each candidate, or one score for all."""
    note: str | Callable[[RankingInputs, Ranked], Signal | None]
    """What `why` shows if it contributed; nothing if empty. A function returns its own signal."""
    about_query: bool = True
    """False for properties of the memory itself. Those are summed separately."""
    score_row: Callable[[RankingInputs, Candidate], float] | None = None
    """Return the score of a candidate whose row was read; `score` is then the most it can be."""

    def get_weight(self, inputs: RankingInputs) -> float:
        """Return the weight for a query."""
        return self.weight(inputs) if callable(self.weight) else self.weight


# -- Words and meaning, with neighbours and sessions


def _meaning_weight(inputs: RankingInputs) -> float:
    """Return the weight of vectors relative to words; 0 without vectors."""
    return 0.0 if inputs.retrieval.meaning is None else inputs.retrieval.embedding.weight


def _is_alone(inputs: RankingInputs) -> bool:
    return inputs.retrieval.words is None or not _meaning_weight(inputs)


def weigh_words(inputs: RankingInputs) -> float:
    """Return the weight of words: higher without vectors, lower if no text has most of them."""
    if _is_alone(inputs):
        return ALONE
    return min(1.0, inputs.best_share / MOST_WORDS) ** 2


def score_words(inputs: RankingInputs) -> Numbers | float:
    """Score by words, neighbours included."""
    words = inputs.retrieval.words
    dampened = None if words is None else words**WORDS_POWER
    return inputs.standardise(dampened, least_share=LEAST_WORDS)


def note_words(inputs: RankingInputs, ranked: Ranked) -> Signal | None:
    """Name the words that matched."""
    score = inputs.retrieval.keyword.get(ranked.position)
    if score is None:
        return None
    matched = inputs.explain_match(ranked)
    note = f"matched {_list_words(inputs, matched.words)}"
    if matched.loose:
        note += f"; approximately: {_list_words(inputs, matched.loose)}"
    rank = inputs.keyword_ranks[ranked.position]
    return Signal("keyword", rank, round(score, 4), note)


def _list_words(inputs: RankingInputs, words: Iterable[str]) -> str:
    return ", ".join(sorted({inputs.spelling.get(word, word) for word in words}))


def score_session_words(inputs: RankingInputs) -> Numbers | float:
    """Score by how much of the query the session covers."""
    return inputs.standardise(inputs.retrieval.session_words, least_share=LEAST_WORDS)


def weigh_meaning(inputs: RankingInputs) -> float:
    """Return the weight of vectors: higher without words."""
    return ALONE if _is_alone(inputs) else _meaning_weight(inputs)


def score_meaning(inputs: RankingInputs) -> Numbers | float:
    """Score by vectors, neighbours included."""
    return inputs.standardise(inputs.retrieval.meaning, LEAST_MEANING)


def note_meaning(inputs: RankingInputs, ranked: Ranked) -> Signal | None:
    """Give the rank among the vector hits."""
    hit = inputs.retrieval.vector.get(ranked.position)
    if hit is None:
        return None
    rank = inputs.vector_ranks[ranked.position]
    return Signal("vector", rank, round(hit.score, 4), "similar in meaning")


def weigh_session_meaning(inputs: RankingInputs) -> float:
    """Return the weight of the session's vectors."""
    return SESSION_MEANING * _meaning_weight(inputs)


def score_session_meaning(inputs: RankingInputs) -> Numbers | float:
    """Score by the best vector in the session."""
    return inputs.standardise(inputs.retrieval.session_meaning, LEAST_MEANING)


# -- Candidates that neither words nor vectors found. These features only explain: successors are
# -- raised by `rank.promote_successors`, which needs the totals of the memories they replace.


def score_nothing(_: RankingInputs) -> float:
    """Score nothing: the feature only explains, or needs the row and is never positive."""
    return 0.0


def note_supersedes(_: RankingInputs, ranked: Ranked) -> Signal | None:
    """Name the memory that was replaced."""
    if ranked.instead_of is None:
        return None
    return Signal("supersedes", None, 1.0, f"replaces {ranked.instead_of.candidate.memory_id}")


def note_context(inputs: RankingInputs, ranked: Ranked) -> Signal | None:
    """Say that only its neighbours match."""
    retrieval = inputs.retrieval
    found = ranked.position in retrieval.keyword or ranked.position in retrieval.vector
    if found or ranked.instead_of:
        return None
    return Signal("context", None, 0.0, "found through its neighbours in the conversation")


# -- Speaker and time


def score_speaker(inputs: RankingInputs) -> Numbers | float:
    """Score by who is speaking."""
    table, speakers = inputs.retrieval.table, inputs.speakers
    gains = score_speakers(inputs.query.text, speakers) if speakers else {}
    if not gains:
        return 0.0
    by_number = inputs.retrieval.columns.make([gains.get(name, 0.0) for name in table.speakers])
    return by_number[table.speaker]


def score_time(inputs: RankingInputs) -> Numbers | float:
    """Score by the time that the query names."""
    when = inputs.query.when
    if when is None:
        return 0.0
    return score_closeness(inputs.retrieval.table.about_at, when, inputs.retrieval.columns)


def score_closeness(about: Numbers, when: When, columns: ListColumns) -> Numbers:
    """Return 1 for times within the named time; less outside it, or if the time is vague."""
    start, end = when.start.timestamp(), when.end.timestamp()
    outside = columns.maximum(columns.maximum(start - about, about - end), 0.0) * (1 / DAY)
    return columns.exp(outside * (-1 / LENIENT_DAYS)) * (1.0 if when.exact else VAGUE)


# -- Properties of the memory itself


def bound_prior(inputs: RankingInputs) -> Numbers:
    """Return the most that salience, importance and recency can be."""
    retrieval = inputs.retrieval
    ages = retrieval.columns.maximum(inputs.seconds - retrieval.table.created_at, 0.0)
    return (compute_recency(ages) + 2.0) * (1 / 3)


def score_prior(inputs: RankingInputs, candidate: Candidate) -> float:
    """Return the mean of salience, importance and recency, between 0 and 1."""
    recency = compute_recency(max(0.0, inputs.seconds - candidate.created_at))
    return float(candidate.salience + candidate.importance + recency) / 3


def compute_recency(ages: Numbers | float) -> Numbers:
    """Return 1 for an age of 0 seconds, less for higher ones."""
    return 0.5 ** (ages * (1 / DAY / HALF_LIFE_DAYS))


def note_prior(_: RankingInputs, ranked: Ranked) -> Signal:
    """Show the contribution, and its maximum."""
    return Signal("prior", None, round(ranked.get_contribution("prior"), 4), _PRIOR_NOTE)


_PRIOR_NOTE = f"salience, importance and recency; at most {PRIOR:g}"


def score_validity(inputs: RankingInputs, candidate: Candidate) -> float:
    """Score -1 for a memory that is not valid now."""
    not_yet = candidate.valid_from is not None and candidate.valid_from > inputs.seconds
    return -1.0 if not_yet or is_outdated(candidate, inputs.seconds) else 0.0


def is_outdated(candidate: Candidate, now: float) -> bool:
    """Return whether a candidate is superseded or expired."""
    return candidate.valid_until is not None and candidate.valid_until <= now


def note_validity(inputs: RankingInputs, ranked: Ranked) -> Signal | None:
    """Say since when it is outdated and which memory replaced it, or from when it is valid."""
    contribution = ranked.get_contribution("validity")
    if not contribution:
        return None
    if inputs.rrf_k is not None:
        contribution = 0.0
    candidate = ranked.candidate
    if not is_outdated(candidate, inputs.seconds):
        note = f"not valid before {_format_day(candidate.valid_from)}"
        return Signal("validity", None, contribution, note)
    successors = inputs.retrieval.successors.get(candidate.memory_id)
    replaced = f", replaced by {successors[-1]}" if successors else ""
    note = f"outdated since {_format_day(candidate.valid_until)}{replaced}"
    return Signal("validity", None, contribution, note)


def _format_day(at: float | None) -> str:
    return f"{datetime.fromtimestamp(at or 0, UTC):%Y-%m-%d}"


def score_message(inputs: RankingInputs) -> Numbers | float:
    """Score -1 for messages, unless there are only messages."""
    messages, allowed = inputs.retrieval.table.messages, inputs.allowed
    among = messages if allowed is None else messages[inputs.retrieval.columns.index(allowed)]
    count = among.sum()
    return 0.0 if count in (0, len(among)) else messages * -1.0


FEATURES: tuple[Feature, ...] = (
    Feature("keyword", weigh_words, score_words, note_words),
    Feature("session_words", SESSION_WORDS, score_session_words, ""),
    Feature("vector", weigh_meaning, score_meaning, note_meaning),
    Feature("session_meaning", weigh_session_meaning, score_session_meaning, ""),
    Feature("supersedes", 0.0, score_nothing, note_supersedes),
    Feature("context", 0.0, score_nothing, note_context),
    Feature("speaker", 1.0, score_speaker, "said by the person that the query is about"),
    Feature("time", IN_TIME, score_time, "from the time that the query names, or near it"),
    Feature("prior", PRIOR, bound_prior, note_prior, about_query=False, score_row=score_prior),
    Feature(
        "validity",
        EXPIRED,
        score_nothing,
        note_validity,
        about_query=False,
        score_row=score_validity,
    ),
    Feature(
        "message",
        MESSAGE,
        score_message,
        "a message; memories and documents rank higher",
        about_query=False,
    ),
)
"""In the order in which they are summed and shown."""
SHOWN_WITH_RRF = frozenset({"keyword", "vector", "supersedes", "context", "validity"})
"""The features that explain a result of reciprocal rank fusion. The others do not move it."""
