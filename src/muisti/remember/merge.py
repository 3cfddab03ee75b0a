"""Merge a duplicate: its text reinforces the stored memory and is kept so that it can be undone."""

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
    """What to write for a batch of new memories and duplicates."""

    created: list[Memory] = field(default_factory=list)
    """The new memories, with the importance that duplicates in the same batch gave them."""
    merged: list[tuple[Memory, str]] = field(default_factory=list)
    """Near duplicates, each with the ID of the memory that keeps its text."""
    events: list[Event] = field(default_factory=list)
    importance: dict[str, float] = field(default_factory=dict)
    """The new importance of stored memories, by ID."""
    confirmed: set[str] = field(default_factory=set)
    """IDs of unconfirmed memories that a trusted source has repeated."""


def plan_merges(
    decisions: Sequence[DuplicateDecision], now: datetime, *, reinforce: bool
) -> MergePlan:
    """Return what to write for these decisions. Writes nothing."""
    plan = MergePlan()
    created = {
        decision.memory.id: decision.memory
        for decision in decisions
        if decision.duplicate_of is None
    }
    reinforced: dict[str, Memory] = {}  # a memory can have several duplicates in one batch
    for decision in decisions if reinforce else ():
        if decision.duplicate_of is None:
            continue
        known = reinforced.get(decision.duplicate_of.id, decision.duplicate_of)
        higher = max(known.importance, decision.memory.importance)
        importance = round(apply_reinforcement(higher, REINFORCE), 4)
        trusted = known.trusted or decision.memory.trusted
        salience = apply_reinforcement(known.salience, REINFORCE)
        name = EventName.REINFORCED
        data: dict[str, str | int | float | None] = {"amount": REINFORCE, "salience": salience}
        if decision.comparison is not None:
            name = EventName.MERGED
            data |= {
                "merged": decision.memory.id,
                "by": decision.comparison.by,
                "similarity": round(decision.comparison.similarity, 3),
                "importance_before": known.importance,
                "importance": importance,
            }
            plan.merged.append((decision.memory, known.id))
        plan.events.append(Event(name, now, (known.id,), decision.memory.session_id, data))
        if known.id in created:
            created[known.id] = replace(created[known.id], importance=importance, trusted=trusted)
        else:
            plan.importance[known.id] = importance
            if trusted and not known.trusted:
                plan.confirmed.add(known.id)
        reinforced[known.id] = replace(
            known, importance=importance, salience=salience, trusted=trusted
        )
    plan.created.extend(created.values())
    return plan


def apply_merges(services: Services, plan: MergePlan) -> list[Update]:
    """Return the updates of stored memories whose importance or trust has changed."""
    updates = []
    for memory_id, importance in plan.importance.items():
        try:
            stored = require_stored(services, memory_id)
        except (BrokenFile, Conflict, NotFound):
            continue  # the file is being edited: that edit wins
        wanted = replace(
            stored.memory,
            importance=max(importance, stored.memory.importance),
            trusted=stored.memory.trusted or memory_id in plan.confirmed,
        )
        if wanted != stored.memory:
            updates.append(Update(wanted, stored.revision, optional=True))
    return updates
