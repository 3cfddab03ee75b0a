"""What may move a result, and by how much. Pure.

All is counted in standard deviations among the candidates: a memory that stands out by its words or by its meaning is
three or four of them above the rest, and nothing here but the answer itself moves a memory as far as that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from muisti.model import Origin
from muisti.recall.fuse import as_share, fused
from muisti.recall.speaker import favoured, speaker_of

if TYPE_CHECKING:
    from muisti.ports import Candidate
    from muisti.recall.gather import Evidence, Question
    from muisti.text.time_expressions.question import When

PRIOR = 0.5
"""Strength, importance and recency together: decay never hides an exact match."""
IN_TIME = 4.0
"""For a memory of the time that is asked for; for one of before or after, the less the further."""
VAGUE = 0.3
"""What is left of that, if the time is only vaguely named."""
LENIENT = 5.0
"""Days after which it is down to a third: people tell of things a little later."""
WORDS_POWER = 0.7
"""A score by words twice as high is not twice as good."""
SESSION_WORDS, SESSION_MEANING = 0.3, 0.2
"""For being said in a session that is about the question."""
LEAST_WORDS, LEAST_MEANING = 0.1, 0.03
"""Deviations that count as one, at least: as a share of the best score, and in cosines."""
ALONE = 1.5
"""What one opinion counts for that has no other beside it, so that speakers and times keep their measure."""
SAID = 1.0
"""Against a message where there are memories or documents too: what was made of a talk is better than the talk."""
EXPIRED = 1.5
"""Against a memory that is no longer true."""
LONGEST_CHAIN = 20
"""Of supersedes that are followed; people may write circles by hand."""
LIFT = 0.001
"""By which what took another's place stands before it, at least."""
_HALF_LIFE_DAYS = 30.0


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate with what moved it."""

    candidate: Candidate
    score: float
    speaker: float
    time: float
    prior: float
    """Between 0 and PRIOR."""
    untrue: float = 0.0
    """Taken off for being no longer, or not yet, true."""
    said: float = 0.0
    """Taken off for being a message where there are memories or documents too."""
    instead_of: str = ""
    """The memory whose place it took, if that is why it is here."""


def ranked(question: Question, evidence: Evidence, now: datetime) -> list[Ranked]:
    """Candidates, best first; equal ones in the order of time, latest first. The same text is shown once."""
    among = evidence.candidates
    total = fused(_opinions(evidence), among)
    speakers = {id_: speaker_of(candidate.opening) for id_, candidate in among.items()}
    gains = favoured(question.text, speakers.values())
    mixed = any(candidate.origin != Origin.MESSAGE for candidate in among.values())
    found = []
    for id_, candidate in among.items():
        if _is_the_question(candidate, question.text):
            continue
        speaker = gains.get(speakers[id_], 0.0)
        time = timely(candidate, question.when)
        before, untrue = prior(candidate, now), 0.0 if holds(candidate, now) else EXPIRED
        said = SAID if mixed and candidate.origin == Origin.MESSAGE else 0.0
        score = total[id_] + speaker + time + (before - untrue - said)
        found.append(Ranked(candidate, score, speaker, time, before, untrue, said))
    found = [*with_successors({one.candidate.memory_id: one for one in found}, evidence.successors).values()]
    found.sort(key=lambda one: (-one.score, -one.candidate.created_at.timestamp(), one.candidate.memory_id))
    return _unrepeated(found)


def _is_the_question(candidate: Candidate, asked: str) -> bool:
    """Whether it is a message that asks just this: whoever asks again does not want to hear the question."""
    return (
        candidate.origin == Origin.MESSAGE
        and candidate.opening.strip() == asked.strip()[: len(candidate.opening)]
        and "?" in asked
    )


def with_successors(found: dict[str, Ranked], successors: Mapping[str, Sequence[str]]) -> dict[str, Ranked]:
    """Whatever took a memory's place stands before it, and what is current answers as well as the old one would have."""
    value = {id_: one.score for id_, one in found.items()}
    instead: dict[str, str] = {}
    for _ in range(LONGEST_CHAIN):
        wanted = _wanted(value, successors)
        raised = [(new, old, at) for new, old, at in wanted if at > value.get(new, -math.inf)]
        if not raised:
            break
        for new, old, at in raised:
            value[new] = max(at, value.get(new, -math.inf))
            instead[new] = instead.get(old, old)
    return {id_: replace(one, score=value[id_], instead_of=instead.get(id_, "")) for id_, one in found.items()}


def _wanted(value: Mapping[str, float], successors: Mapping[str, Sequence[str]]) -> list[tuple[str, str, float]]:
    """(new, old, score) where each successor has to stand at least: the later before the earlier."""
    return [
        (new, old, value[old] + LIFT * place + (0.0 if new in successors else EXPIRED))
        for old, news in successors.items()
        for place, new in enumerate(news, start=1)
        if old in value
    ]


def _opinions(evidence: Evidence) -> list[tuple[float, Mapping[str, float], float]]:
    words = {id_: score**WORDS_POWER for id_, score in evidence.words.items()}
    weight = evidence.asked.weight if evidence.meaning else 0.0
    lone = not words or not weight
    best = max(words.values(), default=0.0)
    return [
        (ALONE if lone else 1.0, words, LEAST_WORDS * best),
        (SESSION_WORDS, evidence.session_words, LEAST_WORDS * max(evidence.session_words.values(), default=0.0)),
        (ALONE if lone else weight, evidence.meaning, LEAST_MEANING),
        (SESSION_MEANING * weight, evidence.session_meaning, LEAST_MEANING),
    ]


def _unrepeated(found: list[Ranked]) -> list[Ranked]:
    seen: set[str] = set()
    kept = []
    for one in found:
        if one.candidate.content_hash not in seen:
            seen.add(one.candidate.content_hash)
            kept.append(one)
    return kept


def share(one: Ranked) -> float:
    """The score as others see it: between 0 and 1."""
    return as_share(one.score)


def prior(candidate: Candidate, now: datetime) -> float:
    """Salience, importance and recency: between 0 and PRIOR."""
    age = max(0.0, (now - candidate.created_at).total_seconds()) / 86_400
    recency = math.pow(0.5, age / _HALF_LIFE_DAYS)
    return PRIOR * (candidate.salience + candidate.importance + recency) / 3


def holds(candidate: Candidate, now: datetime) -> bool:
    """Whether it is true now: no longer, and not yet, are not."""
    expired = candidate.valid_until is not None and candidate.valid_until <= now
    early = candidate.valid_from is not None and candidate.valid_from > now
    return not (expired or early)


def timely(candidate: Candidate, when: When | None) -> float:
    """For a memory of the time that the question names."""
    if when is None:
        return 0.0
    about = candidate.valid_from or candidate.created_at
    outside = max(timedelta(0), when.start - about, about - when.end) / timedelta(days=1)
    return (IN_TIME if when.exact else IN_TIME * VAGUE) * math.exp(-outside / LENIENT)
