"""Change a memory's salience: touch, reinforce, de-emphasize."""

from __future__ import annotations

from dataclasses import replace

from muisti.errors import InvalidRequest
from muisti.model import Event, EventName, Memory
from muisti.model.salience import apply_deemphasis, apply_reinforcement
from muisti.ports import ChangeSet, Services
from muisti.ports.lookups import require_memory

_RULES = {EventName.REINFORCED: apply_reinforcement, EventName.DEEMPHASIZED: apply_deemphasis}


def touch(services: Services, memory_id: str) -> Memory:
    """Record an access: it counts like a recall. Raises MemoryNotFound."""
    return _record_use(services, memory_id, EventName.TOUCHED, None)


def reinforce(
    services: Services, memory_id: str, amount: float, session_id: str | None = None
) -> Memory:
    """Raise a memory's salience. Raises MemoryNotFound, InvalidRequest."""
    amount = _validate_amount(amount)
    return _record_use(services, memory_id, EventName.REINFORCED, amount, session_id)


def deemphasize(services: Services, memory_id: str, amount: float) -> Memory:
    """Lower a memory's salience. Raises MemoryNotFound, InvalidRequest."""
    return _record_use(services, memory_id, EventName.DEEMPHASIZED, _validate_amount(amount))


def _record_use(
    services: Services,
    memory_id: str,
    name: EventName,
    amount: float | None,
    session_id: str | None = None,
) -> Memory:
    with services.store.lock():
        memory = require_memory(services, memory_id)
        data: dict[str, float] = {"count": 1} if name is EventName.TOUCHED else {}
        if amount is not None:
            data = {"amount": amount, "salience": _RULES[name](memory.salience, amount)}
        event = Event(name, services.clock.now(), (memory_id,), session_id, data)
        committed = services.store.commit(ChangeSet(events=[event]))
    indexed = services.index.get(memory_id) if committed.indexed else None
    if indexed is not None:
        return indexed
    return replace(memory, salience=data.get("salience", memory.salience), index_pending=True)


def _validate_amount(amount: float) -> float:
    is_number = isinstance(amount, int | float) and not isinstance(amount, bool)
    if not is_number or not 0 <= amount < float("inf"):
        raise InvalidRequest("amount", amount, "must be a number of at least 0")
    return float(amount)
