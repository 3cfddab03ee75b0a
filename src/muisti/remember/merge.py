"""Let a new text strengthen the memory that says the same. The text itself is kept, so that it can be taken apart again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from muisti.commit import current
from muisti.errors import BrokenFile, Conflict
from muisti.model import Event, Memory
from muisti.ports import Parts, StoredFile
from muisti.remember.dedup import Resolved
from muisti.usage import REINFORCE, reinforced


@dataclass(frozen=True, slots=True)
class Merged:
    """What a merge left for the journal and the index."""

    events: list[Event] = field(default_factory=list)
    files: list[StoredFile] = field(default_factory=list)
    """Of memories that were given more importance."""
    grown: dict[str, Memory] = field(default_factory=dict)
    """Memories of the same batch that were given more, before they are written."""


def merge_into(parts: Parts, answers: Sequence[Resolved], now: datetime) -> Merged:
    """Keep the texts that were nearly the same, raise the importance of what they repeat, and tell the journal."""
    merged = Merged()
    fresh = {answer.memory.id: answer.memory for answer in answers if answer.twin is None}
    known: dict[str, Memory] = {}
    for answer in answers:
        if answer.twin is None:
            continue
        twin = known.get(answer.twin.id, answer.twin)
        if answer.nearly is not None:
            parts.attic.keep_merged(answer.memory, twin.id, now)
        raised = _raised(twin.importance, answer.memory.importance)
        merged.events.append(_event(answer, twin, raised, now))
        known[twin.id] = replace(twin, importance=raised, salience=reinforced(twin.salience, REINFORCE))
    for id_, wanted in known.items():
        if id_ in fresh:
            merged.grown[id_] = replace(fresh[id_], importance=wanted.importance)  # the journal tells of the salience
        elif file := _reweighed(parts, id_, wanted.importance):
            merged.files.append(file)
    return merged


def _raised(known: float, said: float) -> float:
    """What is said again matters more than it did, and at least as much as whoever says it thinks."""
    return round(reinforced(max(known, said), REINFORCE), 4)


def _event(answer: Resolved, twin: Memory, raised: float, now: datetime) -> Event:
    data: dict[str, str | int | float | None] = {"amount": REINFORCE, "salience": reinforced(twin.salience, REINFORCE)}
    if answer.nearly is None:
        return Event("reinforced", now, (twin.id,), answer.memory.session_id, data)
    data |= {"merged": answer.memory.id, "by": answer.nearly.by, "similarity": round(answer.nearly.similarity, 3)}
    data |= {"importance_before": twin.importance, "importance": raised}
    return Event("merged", now, (twin.id,), answer.memory.session_id, data)


def _reweighed(parts: Parts, memory_id: str, importance: float) -> StoredFile | None:
    """The file with the higher importance. If a person is editing it just now, theirs is the last word."""
    try:
        file = current(parts, memory_id)
        if importance <= file.memory.importance:
            return None
        return parts.vault.rewrite(replace(file.memory, importance=importance), file.sha)
    except (BrokenFile, Conflict):
        return None
