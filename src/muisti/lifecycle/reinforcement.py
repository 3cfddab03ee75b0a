"""Use makes a memory stronger, neglect weaker: touch, reinforce, de-emphasise."""

from __future__ import annotations

from dataclasses import replace

from muisti.errors import InvalidRequest
from muisti.model import Event, EventName, Memory
from muisti.model.salience import apply_deemphasis, apply_reinforcement
from muisti.ports import ChangeSet, Services
from muisti.ports.lookups import require_memory


def touch(services: Services, memory_id: str) -> Memory:
    """Note that a memory was looked at. Raises MemoryNotFound."""
    return _used(services, memory_id, EventName.TOUCHED, None)


def reinforce(
    services: Services, memory_id: str, amount: float, session_id: str | None = None
) -> Memory:
    """Make a memory stronger. Raises MemoryNotFound."""
    return _used(services, memory_id, EventName.REINFORCED, _checked(amount), session_id)


def deemphasize(services: Services, memory_id: str, amount: float) -> Memory:
    """Make a memory weaker. Raises MemoryNotFound."""
    return _used(services, memory_id, EventName.DEEMPHASIZED, _checked(amount))


_RULES = {EventName.REINFORCED: apply_reinforcement, EventName.DEEMPHASIZED: apply_deemphasis}


def _used(
    services: Services,
    memory_id: str,
    what: EventName,
    amount: float | None,
    session_id: str | None = None,
) -> Memory:
    with services.store.lock():
        memory = require_memory(services, memory_id)
        data = (
            {}
            if amount is None
            else {"amount": amount, "salience": _RULES[what](memory.salience, amount)}
        )
        event = Event(what, services.clock.now(), (memory_id,), session_id, data)
        committed = services.store.commit(ChangeSet(events=[event]))
    known = services.index.get(memory_id) if committed.indexed else None
    return known or replace(
        memory, salience=data.get("salience", memory.salience), index_pending=True
    )


def _checked(amount: float) -> float:
    if (
        isinstance(amount, bool)
        or not isinstance(amount, int | float)
        or not 0 <= amount < float("inf")
    ):
        raise InvalidRequest("amount", amount, "must be a number of at least 0")
    return float(amount)
