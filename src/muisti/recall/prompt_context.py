"""Memories as text for a prompt (contract E10, I3). Equal input gives equal bytes, so that prompt caches hold."""

from __future__ import annotations

import re
from collections.abc import Sequence

from muisti.errors import InvalidRequest
from muisti.model import CORE_SECTIONS, CoreMemory, Memory
from muisti.recall.fence import CLOSING, OPENING, fence_memory, quote_text

_HEAD = "Relevant memories from this session:"
_FOOT = "Use these memories to provide contextually aware responses."
_ASCII = re.compile(r"[\x00-\x7f]+")


def count_tokens(text: str) -> int:
    """An estimate that is rather too high: four letters of English, or one of any other script, are one."""
    ascii_ = sum(len(run) for run in _ASCII.findall(text))
    return -(-ascii_ // 4) + len(text) - ascii_


def compose_context(core: CoreMemory, memories: Sequence[Memory], budget: int) -> str:
    """Core memory first, then as many of the best memories as fit, in the order of time; never more than the budget.

    Empty if there is nothing to say. Raises InvalidRequest if not even core memory fits.
    """
    known = _core(core)
    if not known and not memories:
        return ""
    frame = "\n".join((OPENING, *known, CLOSING))
    left = budget - count_tokens(frame) - 1
    if left < 0:
        cure = f"core memory and its frame alone take {budget - left} tokens: allow more, or shorten core memory"
        raise InvalidRequest("budget", budget, cure)
    chosen = _fitting(memories, left)
    return (
        "\n".join((OPENING, *known, *(fence_memory(one) for one in chosen), CLOSING))
        if known or chosen
        else ""
    )


def _fitting(memories: Sequence[Memory], left: int) -> list[Memory]:
    """The best that fit, oldest first: their ranks move with the question, their ages do not."""
    chosen = []
    for one in memories:
        cost = count_tokens(fence_memory(one)) + 1
        if cost <= left:
            chosen.append(one)
            left -= cost
    return sorted(chosen, key=lambda one: (one.created_at, one.id))


def _core(core: CoreMemory) -> list[str]:
    lines = []
    for section in CORE_SECTIONS:
        entries = getattr(core, section)
        if entries:
            said = "\n".join(
                f"{' '.join(key.split())}: {' '.join(value.split())}"
                for key, value in sorted(entries.items())
            )
            lines.append(f'<memory-core section="{section}">\n{quote_text(said)}\n</memory-core>')
    return lines


def format_list(memories: Sequence[Memory]) -> str:
    """The memories as a list for a system prompt; empty if there are none."""
    if not memories:
        return ""
    lines = [f"- [{one.kind.upper()}] {_line(one)} ({_weight(one)})" for one in memories]
    return "\n".join((_HEAD, *lines, "", _FOOT))


def _line(memory: Memory) -> str:
    """On one line: a memory must not be able to begin a line of its own."""
    return quote_text(" ".join(memory.content.split()))


def _weight(memory: Memory) -> str:
    trust = "" if memory.trusted else f", unverified, from {' '.join(memory.source.split())}"
    return f"importance: {memory.importance:.1f}{trust}"
