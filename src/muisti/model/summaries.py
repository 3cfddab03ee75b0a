"""Which messages of a conversation a summary covers. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from muisti.model.conversations import Message  # hooks do not need it
    from muisti.model.memory import Memory


def describe_range(memory: Memory) -> str:
    """Return which messages a summary covers, for people; "" if it covers none."""
    if not memory.conversation:
        return ""
    if not memory.from_message:
        return memory.conversation
    return f"{memory.conversation}, messages {memory.from_message} to {memory.to_message}"


def select_covered(
    summary: Memory, messages: Iterable[Message], order: Sequence[Message]
) -> list[Message]:
    """Return those of the messages that a summary covers.

    Order: the messages that its conversation has now. A message that is not among them is compared
    by its time. Where the first or the last message of the range is gone, the range is open.
    """
    places = {one.id: place for place, one in enumerate(order)}
    first, last = places.get(summary.from_message), places.get(summary.to_message)
    covered = []
    for message in messages:
        place = places.get(message.id)
        if place is not None:
            is_after = first is None or first <= place
            is_before = last is None or place <= last
        else:
            is_after = first is None or order[first].at <= message.at
            is_before = last is None or message.at <= order[last].at
        if message.conversation == summary.conversation and is_after and is_before:
            covered.append(message)
    return covered
