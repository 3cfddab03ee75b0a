"""Use makes a memory stronger, neglect weaker: touch, reinforce, de-emphasise."""

from __future__ import annotations

from dataclasses import replace

from muisti.commit import commit, no_memory, writing
from muisti.errors import InvalidRequest
from muisti.model import Event, Memory
from muisti.model.salience import deemphasized, reinforced
from muisti.ports import Parts


def touch(parts: Parts, memory_id: str) -> Memory:
    """Note that a memory was looked at. Raises MemoryNotFound."""
    return _used(parts, memory_id, "touched", None)


def reinforce(parts: Parts, memory_id: str, amount: float, session_id: str | None = None) -> Memory:
    """Make a memory stronger. Raises MemoryNotFound."""
    return _used(parts, memory_id, "reinforced", _checked(amount), session_id)


def deemphasize(parts: Parts, memory_id: str, amount: float) -> Memory:
    """Make a memory weaker. Raises MemoryNotFound."""
    return _used(parts, memory_id, "deemphasized", _checked(amount))


_RULES = {"reinforced": reinforced, "deemphasized": deemphasized}


def _used(parts: Parts, memory_id: str, what: str, amount: float | None, session_id: str | None = None) -> Memory:
    with writing(parts):
        memory = parts.reader.get(memory_id)
        if memory is None:
            raise no_memory(parts, memory_id)
        data = {} if amount is None else {"amount": amount, "salience": _RULES[what](memory.salience, amount)}
        indexed = commit(parts, events=[Event(what, parts.clock.now(), (memory_id,), session_id, data)])
    known = parts.reader.get(memory_id) if indexed else None
    return known or replace(memory, salience=data.get("salience", memory.salience), index_pending=True)


def _checked(amount: float) -> float:
    if isinstance(amount, bool) or not isinstance(amount, int | float) or not 0 <= amount < float("inf"):
        raise InvalidRequest("amount", amount, "it must be a number of at least 0")
    return float(amount)
