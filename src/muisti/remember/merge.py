"""Let a new text strengthen the memory that says the same. The text itself is kept, so that it can be taken apart again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from muisti.errors import BrokenFile, Conflict, NotFound
from muisti.model import Event, EventName, Memory
from muisti.model.salience import REINFORCE, apply_reinforcement
from muisti.ports import Services, Update
from muisti.ports.lookups import require_stored
from muisti.remember.dedup import DuplicateDecision


@dataclass(frozen=True, slots=True)
class MergePlan:
    """What is to be done for the texts that were said already."""

    events: list[Event] = field(default_factory=list)
    texts: list[tuple[Memory, str]] = field(default_factory=list)
    """Texts that are nearly the same as the memory with this id: they are kept beside it."""
    importance: dict[str, float] = field(default_factory=dict)
    """Of memories of the vault that matter more now."""
    confirmed: set[str] = field(default_factory=set)
    """Memories that nobody had vouched for, and that somebody who is trusted now says too."""
    fresh: list[Memory] = field(default_factory=list)
    """The memories that are new, with the weight that others of the same batch gave them."""


def plan_merges(
    answers: Sequence[DuplicateDecision], now: datetime, *, reinforce: bool
) -> MergePlan:
    """What the answers come to. Nothing is written yet."""
    fresh = {answer.memory.id: answer.memory for answer in answers if answer.duplicate_of is None}
    plan = MergePlan()
    known: dict[str, Memory] = {}
    for answer in answers if reinforce else ():
        if answer.duplicate_of is None:
            continue
        twin = known.get(answer.duplicate_of.id, answer.duplicate_of)
        raised = _raised(twin.importance, answer.memory.importance)
        plan.events.append(_event(answer, twin, raised, now))
        if answer.comparison is not None:
            plan.texts.append((answer.memory, twin.id))
        trusted = twin.trusted or answer.memory.trusted
        if twin.id in fresh:
            fresh[twin.id] = replace(fresh[twin.id], importance=raised, trusted=trusted)
        else:
            plan.importance[twin.id] = raised
            plan.confirmed.update({twin.id} if trusted and not twin.trusted else ())
        known[twin.id] = replace(
            twin,
            importance=raised,
            salience=apply_reinforcement(twin.salience, REINFORCE),
            trusted=trusted,
        )
    plan.fresh.extend(fresh.values())
    return plan


def apply_merges(services: Services, plan: MergePlan) -> list[Update]:
    """Return the memories that matter more now, or are trusted now, because somebody said them again."""
    updates = []
    for memory_id, importance in plan.importance.items():
        try:
            stored = require_stored(services, memory_id)
        except (BrokenFile, Conflict, NotFound):
            continue  # if a person is editing it just now, theirs is the last word
        wanted = replace(
            stored.memory,
            importance=max(importance, stored.memory.importance),
            trusted=stored.memory.trusted or memory_id in plan.confirmed,
        )
        if wanted != stored.memory:
            updates.append(Update(wanted, stored.revision, optional=True))
    return updates


def _raised(known: float, said: float) -> float:
    """What is said again matters more than it did, and at least as much as whoever says it thinks."""
    return round(apply_reinforcement(max(known, said), REINFORCE), 4)


def _event(answer: DuplicateDecision, twin: Memory, raised: float, now: datetime) -> Event:
    data: dict[str, str | int | float | None] = {
        "amount": REINFORCE,
        "salience": apply_reinforcement(twin.salience, REINFORCE),
    }
    if answer.comparison is None:
        return Event(EventName.REINFORCED, now, (twin.id,), answer.memory.session_id, data)
    data |= {
        "merged": answer.memory.id,
        "by": answer.comparison.by,
        "similarity": round(answer.comparison.similarity, 3),
    }
    data |= {"importance_before": twin.importance, "importance": raised}
    return Event(EventName.MERGED, now, (twin.id,), answer.memory.session_id, data)
