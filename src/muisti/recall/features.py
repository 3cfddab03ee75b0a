"""The ranking: one list of features. Pure.

The score of a candidate is the sum of weight × score over FEATURES. Scores count in standard
deviations among the candidates: a memory that stands out by its words or by its meaning is three or
four of them above the rest, and no other feature moves a memory as far as that.

To add a feature, write its score function here and add it to FEATURES. Ranking, `why` and `explain`
follow from the list.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from muisti.model import EntryType, Signal
from muisti.recall.fuse import standardise
from muisti.recall.speaker import score_speakers, find_speaker

if TYPE_CHECKING:
    from muisti.ports import Candidate
    from muisti.recall.retrieve import Retrieval, ParsedQuery
    from muisti.text.time_expressions.question import When

ALONE = 1.5
"""Weight of words or of meaning without the other, so that speaker and time keep their measure."""
SESSION_WORDS, SESSION_MEANING = 0.3, 0.2
"""Weights of being said in a session that is about the question."""
IN_TIME = 4.0
"""Weight of being of the time that the question names."""
PRIOR = 0.5
"""Weight of salience, importance and recency together: decay never hides an exact match."""
EXPIRED = 1.5
"""Weight against a memory that is not true now."""
MESSAGE = 1.0
"""Weight against a message beside memories or documents: what was made of a talk is better."""

WORDS_POWER = 0.7
"""A keyword score twice as high is not twice as good."""
LEAST_WORDS, LEAST_MEANING = 0.1, 0.03
"""Smallest standard deviation: as a share of the best score, and in cosines."""
VAGUE = 0.3
"""What is left of the score for time, if the question names the time only vaguely."""
LENIENT_DAYS = 5.0
"""Days outside the named time that leave a third of the score: people tell things later."""
HALF_LIFE_DAYS = 30.0
"""Of recency."""


# Plain classes and tuples: a hook that runs with every prompt waits for each dataclass to be made.


class RankingInputs:
    """All that features may look at."""

    def __init__(
        self,
        query: ParsedQuery,
        evidence: Retrieval,
        now: datetime,
        spelling: Mapping[str, str] | None = None,
    ) -> None:
        """Spelling: for each index word, how the query spells it."""
        self.query = query
        self.retrieval = evidence
        self.now = now
        self.spelling = spelling or {}

    @cached_property
    def keyword_ranks(self) -> dict[str, int]:
        """Each memory's place in the list that keyword search found."""
        return {id_: rank for rank, id_ in enumerate(self.retrieval.keyword, start=1)}

    @cached_property
    def vector_ranks(self) -> dict[str, int]:
        """Each memory's place in the list that vector search found."""
        return {id_: rank for rank, id_ in enumerate(self.retrieval.vector, start=1)}


class Ranked(NamedTuple):
    """A candidate with its score, and what each feature contributed to it."""

    candidate: Candidate
    score: float
    contributions: Mapping[str, float]
    """Weight × score, by the feature's name."""
    instead_of: str = ""
    """The superseded memory whose place it took, if that raised it."""


class Feature(NamedTuple):
    """One thing that moves results."""

    name: str
    """The name of its signal in `why`."""
    weight: float | Callable[[RankingInputs], float]
    score: Callable[[RankingInputs], Mapping[str, float]]
    """The candidates' scores by id. A candidate that is left out scores 0."""
    note: str | Callable[[RankingInputs, Ranked], Signal | None]
    """What `why` says where it contributed; empty: nothing. A function makes its own signal."""
    about_query: bool = True
    """False for what holds of a memory whatever is asked. Those are summed by themselves."""

    def contributions(self, inputs: RankingInputs) -> dict[str, float]:
        """Return weight × score of each candidate that has a score."""
        weight = self.weight(inputs) if callable(self.weight) else self.weight
        return {id_: weight * score for id_, score in self.score(inputs).items()}

    def signal(self, inputs: RankingInputs, ranked: Ranked) -> Signal | None:
        """Return what `why` shows, or None if this feature has nothing to say of the result."""
        if callable(self.note):
            return self.note(inputs, ranked)
        contribution = ranked.contributions.get(self.name, 0.0)
        if not self.note or not contribution:
            return None
        return Signal(self.name, None, contribution, self.note)


# -- Words and meaning, with those of the neighbours and of the session


def _meaning_weight(inputs: RankingInputs) -> float:
    """Return what the embedder's opinion counts for beside the words; 0 if it has none."""
    return inputs.retrieval.asked.weight if inputs.retrieval.meaning else 0.0


def _is_alone(inputs: RankingInputs) -> bool:
    return not inputs.retrieval.words or not _meaning_weight(inputs)


def _weigh_words(inputs: RankingInputs) -> float:
    return ALONE if _is_alone(inputs) else 1.0


def _score_words(inputs: RankingInputs) -> Mapping[str, float]:
    scores = {id_: score**WORDS_POWER for id_, score in inputs.retrieval.words.items()}
    least = LEAST_WORDS * max(scores.values(), default=0.0)
    return standardise(scores, inputs.retrieval.candidates, least)


def _note_words(inputs: RankingInputs, ranked: Ranked) -> Signal | None:
    memory_id = ranked.candidate.memory_id
    hit = inputs.retrieval.keyword.get(memory_id)
    if hit is None:
        return None
    note = f"matched {_list_words(inputs, hit.matched)}"
    if hit.loose:
        note += f"; only nearly: {_list_words(inputs, hit.loose)}"
    return Signal("keyword", inputs.keyword_ranks[memory_id], round(hit.score, 4), note)


def _list_words(inputs: RankingInputs, words: Iterable[str]) -> str:
    return ", ".join(sorted({inputs.spelling.get(word, word) for word in words}))


def _score_session_words(inputs: RankingInputs) -> Mapping[str, float]:
    scores = inputs.retrieval.session_words
    least = LEAST_WORDS * max(scores.values(), default=0.0)
    return standardise(scores, inputs.retrieval.candidates, least)


def _weigh_meaning(inputs: RankingInputs) -> float:
    return ALONE if _is_alone(inputs) else _meaning_weight(inputs)


def _score_meaning(inputs: RankingInputs) -> Mapping[str, float]:
    return standardise(inputs.retrieval.meaning, inputs.retrieval.candidates, LEAST_MEANING)


def _note_meaning(inputs: RankingInputs, ranked: Ranked) -> Signal | None:
    memory_id = ranked.candidate.memory_id
    hit = inputs.retrieval.vector.get(memory_id)
    if hit is None:
        return None
    rank = inputs.vector_ranks[memory_id]
    return Signal("vector", rank, round(hit.score, 4), "similar in meaning")


def _weigh_session_meaning(inputs: RankingInputs) -> float:
    return SESSION_MEANING * _meaning_weight(inputs)


def _score_session_meaning(inputs: RankingInputs) -> Mapping[str, float]:
    return standardise(inputs.retrieval.session_meaning, inputs.retrieval.candidates, LEAST_MEANING)


# -- How a candidate came in that neither its words nor its meaning found. Successors are raised by
# -- `rank.promote_successors`, after the sum: it needs the totals of the memories they replace.


def _score_nothing(_: RankingInputs) -> Mapping[str, float]:
    return {}


def _note_supersedes(_: RankingInputs, ranked: Ranked) -> Signal | None:
    if not ranked.instead_of:
        return None
    return Signal("supersedes", None, 1.0, f"took the place of {ranked.instead_of}")


def _note_context(inputs: RankingInputs, ranked: Ranked) -> Signal | None:
    memory_id = ranked.candidate.memory_id
    found = memory_id in inputs.retrieval.keyword or memory_id in inputs.retrieval.vector
    if found or ranked.instead_of:
        return None
    return Signal("context", None, 0.0, "found through its neighbours in the conversation")


# -- Speaker and time


def _score_speaker(inputs: RankingInputs) -> Mapping[str, float]:
    candidates = inputs.retrieval.candidates
    speakers = {id_: find_speaker(candidate.opening) for id_, candidate in candidates.items()}
    gains = score_speakers(inputs.query.text, speakers.values())
    return {id_: gains[speaker] for id_, speaker in speakers.items() if speaker in gains}


def _score_time(inputs: RankingInputs) -> Mapping[str, float]:
    when = inputs.query.when
    if when is None:
        return {}
    candidates = inputs.retrieval.candidates.items()
    return {id_: score_closeness(candidate, when) for id_, candidate in candidates}


def score_closeness(candidate: Candidate, when: When) -> float:
    """Return 1 for a memory of the named time, less for one outside it or if it is vague."""
    about = candidate.valid_from or candidate.created_at
    outside = max(timedelta(0), when.start - about, about - when.end) / timedelta(days=1)
    return (1.0 if when.exact else VAGUE) * math.exp(-outside / LENIENT_DAYS)


# -- What holds of a memory whatever is asked


def _score_prior(inputs: RankingInputs) -> Mapping[str, float]:
    candidates = inputs.retrieval.candidates.items()
    return {id_: compute_prior(candidate, inputs.now) for id_, candidate in candidates}


def compute_prior(candidate: Candidate, now: datetime) -> float:
    """Return the mean of salience, importance and recency: between 0 and 1."""
    age_days = max(0.0, (now - candidate.created_at).total_seconds()) / 86_400
    recency = math.pow(0.5, age_days / HALF_LIFE_DAYS)
    return (candidate.salience + candidate.importance + recency) / 3


def _note_prior(_: RankingInputs, ranked: Ranked) -> Signal:
    note = f"salience, importance and recency; at most {PRIOR:g}"
    return Signal("prior", None, round(ranked.contributions["prior"], 4), note)


def _score_validity(inputs: RankingInputs) -> Mapping[str, float]:
    candidates = inputs.retrieval.candidates.items()
    return {id_: -1.0 for id_, candidate in candidates if not is_valid(candidate, inputs.now)}


def is_valid(candidate: Candidate, now: datetime) -> bool:
    """Return whether it is true now: neither no longer nor not yet."""
    expired = candidate.valid_until is not None and candidate.valid_until <= now
    early = candidate.valid_from is not None and candidate.valid_from > now
    return not (expired or early)


def _score_message(inputs: RankingInputs) -> Mapping[str, float]:
    candidates = inputs.retrieval.candidates
    messages = [id_ for id_, one in candidates.items() if one.origin == EntryType.MESSAGE]
    only_messages = len(messages) == len(candidates)
    return {} if only_messages else dict.fromkeys(messages, -1.0)


FEATURES: tuple[Feature, ...] = (
    Feature("keyword", _weigh_words, _score_words, _note_words),
    Feature("session_words", SESSION_WORDS, _score_session_words, ""),
    Feature("vector", _weigh_meaning, _score_meaning, _note_meaning),
    Feature("session_meaning", _weigh_session_meaning, _score_session_meaning, ""),
    Feature("supersedes", 0.0, _score_nothing, _note_supersedes),
    Feature("context", 0.0, _score_nothing, _note_context),
    Feature("speaker", 1.0, _score_speaker, "said by the one whom the question is about"),
    Feature("time", IN_TIME, _score_time, "of the time that the question names, or near it"),
    Feature("prior", PRIOR, _score_prior, _note_prior, about_query=False),
    Feature("validity", EXPIRED, _score_validity, "no longer, or not yet, true", about_query=False),
    Feature(
        "message",
        MESSAGE,
        _score_message,
        "a message, where memories or documents answer too",
        about_query=False,
    ),
)
"""In the order in which they are added up and shown."""
