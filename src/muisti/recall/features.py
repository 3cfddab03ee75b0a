"""The features that rank search results. Pure.

The score of a candidate is the sum of weight × score over FEATURES. Scores are in standard
deviations among the candidates. A memory that stands out by its words or its meaning is three or
four above the mean, which is more than any other feature contributes.

To add a feature, write its score function and add it to FEATURES. Ranking, `why` and `explain` use
the list.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from muisti.model import EntryType, Signal
from muisti.recall.evidence import find_capitalised, find_forms, weigh_query
from muisti.recall.fuse import standardise
from muisti.recall.matching import NO_MATCH, Matched, explain_match
from muisti.recall.speaker import find_speaker, score_speakers

if TYPE_CHECKING:
    from muisti.ports import Candidate
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

WORDS_POWER = 0.7
"""Dampens keyword scores: one twice as high is not twice as good."""
LEAST_WORDS, LEAST_MEANING = 0.1, 0.03
"""The smallest standard deviation: as a share of the best score, and in cosines."""
VAGUE = 0.3
"""The score for time if the query names the time only vaguely."""
LENIENT_DAYS = 5.0
"""Days outside the named time that reduce the score to a third: people report later."""
HALF_LIFE_DAYS = 30.0
"""Of recency."""
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

    @cached_property
    def keyword_ranks(self) -> dict[str, int]:
        """Each memory's rank among the keyword hits."""
        return {id_: rank for rank, id_ in enumerate(self.retrieval.keyword, start=1)}

    @cached_property
    def vector_ranks(self) -> dict[str, int]:
        """Each memory's rank among the vector hits."""
        return {id_: rank for rank, id_ in enumerate(self.retrieval.vector, start=1)}

    @cached_property
    def speakers(self) -> dict[str, str]:
        """The speaker of each candidate that begins with one."""
        candidates = self.retrieval.candidates.items()
        speakers = {id_: find_speaker(candidate.opening) for id_, candidate in candidates}
        return {id_: speaker for id_, speaker in speakers.items() if speaker}

    @cached_property
    def query_weights(self) -> dict[str, float]:
        """The words of the query that count as evidence, with their weights."""
        return weigh_query(self)

    @cached_property
    def query_forms(self) -> dict[str, list[tuple[str, float]]]:
        """The words of the query that each index word of a text matches, and how well."""
        return find_forms(self.query_weights, self.query.terms)

    @cached_property
    def query_names(self) -> set[str]:
        """The words of the query that are names, but for those of speakers."""
        return find_capitalised(self.query.text, self.query_weights)

    def explain_match(self, memory_id: str) -> Matched:
        """Return the words by which a text that is shown matched the query."""
        hit = self.retrieval.keyword.get(memory_id)
        if hit is not None and hit.literal:
            same = frozenset((hit.literal,))
            return Matched(same, frozenset(), same)
        text = self.retrieval.texts.get(memory_id)
        if hit is None or text is None:
            return NO_MATCH
        return explain_match(text, self.query.terms)

    @cached_property
    def closeness(self) -> Mapping[str, float]:
        """How close each candidate is to the time that the query names."""
        return score_time(self)


class Ranked(NamedTuple):
    """A candidate with its score and the contribution of each feature."""

    candidate: Candidate
    score: float
    by_feature: Mapping[str, Mapping[str, float]]
    """Weight × score of each feature, by the candidate's ID."""
    instead_of: str = ""
    """The memory that it replaced, if that raised its score."""

    @property
    def contributions(self) -> dict[str, float]:
        """Weight × score, by the feature's name."""
        return {name: self.get_contribution(name) for name in self.by_feature}

    def get_contribution(self, feature: str) -> float:
        """Return weight × score of one feature; 0 if it has none."""
        return self.by_feature[feature].get(self.candidate.memory_id, 0.0)


class Feature(NamedTuple):
    """One part of the score."""

    name: str
    """The name of its signal in `why`."""
    weight: float | Callable[[RankingInputs], float]
    score: Callable[[RankingInputs], Mapping[str, float]]
    """Return scores by candidate id. A candidate that is missing scores 0."""
    note: str | Callable[[RankingInputs, Ranked], Signal | None]
    """What `why` shows if it contributed; nothing if empty. A function returns its own signal."""
    about_query: bool = True
    """False for properties of the memory itself. Those are summed separately."""

    def contributions(self, inputs: RankingInputs) -> dict[str, float]:
        """Return weight × score of each candidate that has a score."""
        weight = self.weight(inputs) if callable(self.weight) else self.weight
        return {id_: weight * score for id_, score in self.score(inputs).items()}

    def signal(self, inputs: RankingInputs, ranked: Ranked) -> Signal | None:
        """Return what `why` shows for this feature, or None."""
        if callable(self.note):
            return self.note(inputs, ranked)
        contribution = ranked.get_contribution(self.name)
        if not self.note or not contribution:
            return None
        return Signal(self.name, None, contribution, self.note)


# -- Words and meaning, with neighbours and sessions


def _meaning_weight(inputs: RankingInputs) -> float:
    """Return the weight of vectors relative to words; 0 without vectors."""
    return inputs.retrieval.embedding.weight if inputs.retrieval.meaning else 0.0


def _is_alone(inputs: RankingInputs) -> bool:
    return not inputs.retrieval.words or not _meaning_weight(inputs)


def weigh_words(inputs: RankingInputs) -> float:
    """Return the weight of words: higher without vectors."""
    return ALONE if _is_alone(inputs) else 1.0


def score_words(inputs: RankingInputs) -> Mapping[str, float]:
    """Score by words, neighbours included."""
    scores = {id_: score**WORDS_POWER for id_, score in inputs.retrieval.words.items()}
    least = LEAST_WORDS * max(scores.values(), default=0.0)
    return standardise(scores, inputs.retrieval.candidates, least)


def note_words(inputs: RankingInputs, ranked: Ranked) -> Signal | None:
    """Name the words that matched."""
    memory_id = ranked.candidate.memory_id
    hit = inputs.retrieval.keyword.get(memory_id)
    if hit is None:
        return None
    matched = inputs.explain_match(memory_id)
    note = f"matched {_list_words(inputs, matched.words)}"
    if matched.loose:
        note += f"; approximately: {_list_words(inputs, matched.loose)}"
    return Signal("keyword", inputs.keyword_ranks[memory_id], round(hit.score, 4), note)


def _list_words(inputs: RankingInputs, words: Iterable[str]) -> str:
    return ", ".join(sorted({inputs.spelling.get(word, word) for word in words}))


def score_session_words(inputs: RankingInputs) -> Mapping[str, float]:
    """Score by how much of the query the session covers."""
    scores = inputs.retrieval.session_words
    least = LEAST_WORDS * max(scores.values(), default=0.0)
    return standardise(scores, inputs.retrieval.candidates, least)


def weigh_meaning(inputs: RankingInputs) -> float:
    """Return the weight of vectors: higher without words."""
    return ALONE if _is_alone(inputs) else _meaning_weight(inputs)


def score_meaning(inputs: RankingInputs) -> Mapping[str, float]:
    """Score by vectors, neighbours included."""
    return standardise(inputs.retrieval.meaning, inputs.retrieval.candidates, LEAST_MEANING)


def note_meaning(inputs: RankingInputs, ranked: Ranked) -> Signal | None:
    """Give the rank among the vector hits."""
    memory_id = ranked.candidate.memory_id
    hit = inputs.retrieval.vector.get(memory_id)
    if hit is None:
        return None
    rank = inputs.vector_ranks[memory_id]
    return Signal("vector", rank, round(hit.score, 4), "similar in meaning")


def weigh_session_meaning(inputs: RankingInputs) -> float:
    """Return the weight of the session's vectors."""
    return SESSION_MEANING * _meaning_weight(inputs)


def score_session_meaning(inputs: RankingInputs) -> Mapping[str, float]:
    """Score by the best vector in the session."""
    return standardise(inputs.retrieval.session_meaning, inputs.retrieval.candidates, LEAST_MEANING)


# -- Candidates that neither words nor vectors found. These features only explain: successors are
# -- raised by `rank.promote_successors`, which needs the totals of the memories they replace.


def score_nothing(_: RankingInputs) -> Mapping[str, float]:
    """Score nothing: the feature only explains."""
    return {}


def note_supersedes(_: RankingInputs, ranked: Ranked) -> Signal | None:
    """Name the memory that was replaced."""
    if not ranked.instead_of:
        return None
    return Signal("supersedes", None, 1.0, f"replaces {ranked.instead_of}")


def note_context(inputs: RankingInputs, ranked: Ranked) -> Signal | None:
    """Say that only its neighbours match."""
    memory_id = ranked.candidate.memory_id
    found = memory_id in inputs.retrieval.keyword or memory_id in inputs.retrieval.vector
    if found or ranked.instead_of:
        return None
    return Signal("context", None, 0.0, "found through its neighbours in the conversation")


# -- Speaker and time


def score_speaker(inputs: RankingInputs) -> Mapping[str, float]:
    """Score by who is speaking."""
    speakers = inputs.speakers
    gains = score_speakers(inputs.query.text, speakers.values()) if speakers else {}
    return {id_: gains[speaker] for id_, speaker in speakers.items() if speaker in gains}


def score_time(inputs: RankingInputs) -> Mapping[str, float]:
    """Score by the time that the query names."""
    when = inputs.query.when
    if when is None:
        return {}
    candidates = inputs.retrieval.candidates.items()
    return {id_: score_closeness(candidate, when) for id_, candidate in candidates}


def score_closeness(candidate: Candidate, when: When) -> float:
    """Return 1 for a memory within the named time; less outside it, or if the time is vague."""
    about = candidate.created_at if candidate.valid_from is None else candidate.valid_from
    start, end = when.start.timestamp(), when.end.timestamp()
    outside = max(0.0, start - about, about - end) / DAY
    return (1.0 if when.exact else VAGUE) * math.exp(-outside / LENIENT_DAYS)


# -- Properties of the memory itself


def score_prior(inputs: RankingInputs) -> Mapping[str, float]:
    """Score by salience, importance and recency."""
    candidates = inputs.retrieval.candidates.items()
    return {id_: compute_prior(candidate, inputs.seconds) for id_, candidate in candidates}


def compute_prior(candidate: Candidate, now: float) -> float:
    """Return the mean of salience, importance and recency, between 0 and 1."""
    age_days = max(0.0, now - candidate.created_at) / DAY
    recency: float = 0.5 ** (age_days / HALF_LIFE_DAYS)
    return (candidate.salience + candidate.importance + recency) / 3


def note_prior(_: RankingInputs, ranked: Ranked) -> Signal:
    """Show the contribution, and its maximum."""
    note = f"salience, importance and recency; at most {PRIOR:g}"
    return Signal("prior", None, round(ranked.get_contribution("prior"), 4), note)


def score_validity(inputs: RankingInputs) -> Mapping[str, float]:
    """Score -1 for a memory that is not valid now."""
    scores = {}
    for id_, candidate in inputs.retrieval.candidates.items():
        not_yet = candidate.valid_from is not None and candidate.valid_from > inputs.seconds
        if not_yet or is_outdated(candidate, inputs.seconds):
            scores[id_] = -1.0
    return scores


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


def score_message(inputs: RankingInputs) -> Mapping[str, float]:
    """Score -1 for messages, unless there are only messages."""
    candidates = inputs.retrieval.candidates
    messages = [id_ for id_, one in candidates.items() if one.origin == EntryType.MESSAGE]
    only_messages = len(messages) == len(candidates)
    return {} if only_messages else dict.fromkeys(messages, -1.0)


FEATURES: tuple[Feature, ...] = (
    Feature("keyword", weigh_words, score_words, note_words),
    Feature("session_words", SESSION_WORDS, score_session_words, ""),
    Feature("vector", weigh_meaning, score_meaning, note_meaning),
    Feature("session_meaning", weigh_session_meaning, score_session_meaning, ""),
    Feature("supersedes", 0.0, score_nothing, note_supersedes),
    Feature("context", 0.0, score_nothing, note_context),
    Feature("speaker", 1.0, score_speaker, "said by the person that the query is about"),
    Feature("time", IN_TIME, score_time, "from the time that the query names, or near it"),
    Feature("prior", PRIOR, score_prior, note_prior, about_query=False),
    Feature("validity", EXPIRED, score_validity, note_validity, about_query=False),
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
