"""Format memories for a prompt (contract E10, I3).

Equal input gives equal bytes, so that prompt caches stay valid.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from muisti.errors import InvalidRequest
from muisti.model import CORE_SECTIONS, CoreMemory, Memory
from muisti.model.validity import is_outdated
from muisti.recall.fence import CLOSING, OPENING, fence_memory, quote_text

if TYPE_CHECKING:
    from muisti.model import Problem  # its module is large, and hooks do not need it

_HEAD = "Relevant memories from this session:"
_FOOT = "Use these memories to provide contextually aware responses."
STANDING_OPENING = (
    '<memory-standing note="Standing instructions and preferences that the user wrote or '
    'confirmed. They need not match the request.">'
)
STANDING_CLOSING = "</memory-standing>"
STANDING_SHARE = 4
"""Standing instructions get at most a quarter of the budget,"""
MAX_STANDING = 400
"""and at most this many tokens."""
_ASCII = re.compile(r"[\x00-\x7f]+")


def count_tokens(text: str) -> int:
    """Return an estimate that is rather too high: one for four ASCII characters or one other."""
    ascii_count = sum(len(run) for run in _ASCII.findall(text))
    return -(-ascii_count // 4) + len(text) - ascii_count


def compose_context(
    core: CoreMemory,
    memories: Sequence[Memory],
    budget: int,
    outdated: Mapping[str, str] | None = None,
    broken: Sequence[Problem] = (),
    *,
    trusted: bool = True,
    standing: Sequence[Memory] = (),
) -> str:
    """Return core memory and as many of the best memories as fit into a budget of tokens.

    Outdated: those memories that are outdated, as `fence_text` takes them. Broken: files of core
    memory that were left out, which is said in the text. Trusted: whether the vault is; otherwise
    core memory is marked. Standing: standing instructions and preferences that bear on the request.
    Those that a person wrote or confirmed get a section of their own, within a share of the budget;
    the others come after the memories. Empty if there is nothing to show. Raises InvalidRequest if
    core memory alone does not fit.
    """
    sections = _format_core(core, trusted=trusted)
    for problem in broken:
        text = quote_text(f"Core memory is incomplete: {problem.path} {problem.reason}")
        sections.append(f"<memory-note>{' '.join(text.split())}</memory-note>")
    if not sections and not memories and not standing:
        return ""
    left = budget - count_tokens("\n".join((OPENING, *sections, CLOSING))) - 1
    if left < 0:
        needed = f"must be at least {budget - left} tokens, which core memory alone takes"
        raise InvalidRequest("budget", budget, f"{needed}; allow more, or shorten core memory")
    section = format_standing(standing, min(left, MAX_STANDING, budget // STANDING_SHARE), outdated)
    if section:
        sections.append(section)
        left -= count_tokens(section) + 1
    chosen = []
    unverified = [memory for memory in standing if not memory.trusted]
    for memory in {one.id: one for one in (*memories, *unverified)}.values():
        if f'<memory id="{memory.id}"' in section:
            continue
        cost = count_tokens(fence_memory(memory, outdated)) + 1
        if cost <= left:
            chosen.append(memory)
            left -= cost
    if not sections and not chosen:
        return ""
    # By age, which unlike the rank does not change with the query: prompt caches stay valid.
    chosen.sort(key=lambda memory: (memory.created_at, memory.id))
    fenced = [fence_memory(memory, outdated) for memory in chosen]
    return "\n".join((OPENING, *sections, *fenced, CLOSING))


def format_standing(
    standing: Sequence[Memory], budget: int, outdated: Mapping[str, str] | None = None
) -> str:
    """Return the trusted ones that fit into a budget of tokens as a section, or ""."""
    left = budget - count_tokens(f"{STANDING_OPENING}\n{STANDING_CLOSING}") - 1
    chosen = []
    for memory in standing:
        cost = count_tokens(fence_memory(memory, outdated)) + 1
        if memory.trusted and cost <= left:
            chosen.append(memory)
            left -= cost
    if not chosen:
        return ""
    chosen.sort(key=lambda memory: (memory.created_at, memory.id))
    fenced = [fence_memory(memory, outdated) for memory in chosen]
    return "\n".join((STANDING_OPENING, *fenced, STANDING_CLOSING))


def _format_core(core: CoreMemory, *, trusted: bool) -> list[str]:
    sections = []
    mark = "" if trusted else ' trust="unverified"'
    for section in CORE_SECTIONS:
        lines = []
        for key, value in sorted(getattr(core, section).items()):
            lines.append(f"{' '.join(key.split())}: {' '.join(value.split())}")
        if lines:
            text = quote_text("\n".join(lines))
            sections.append(f'<memory-core section="{section}"{mark}>\n{text}\n</memory-core>')
    return sections


def format_list(memories: Sequence[Memory], now: datetime) -> str:
    """Return the memories as a list for a system prompt, or "" if there are none.

    Those that are not confirmed, or are outdated now, follow below a line that says so. No memory
    can pass for such a line: each begins with a dash and has no line breaks.
    """
    if not memories:
        return ""
    groups: dict[str, list[str]] = {"": []}
    for memory in memories:
        content = " ".join(memory.content.split())
        line = f"- [{memory.kind.upper()}] {content} (importance: {memory.importance:.1f})"
        groups.setdefault(_describe_doubts(memory, now), []).append(quote_text(line))
    lines = [_HEAD]
    for doubts, listed in groups.items():
        lines += [f"These are {doubts}:", *listed] if doubts else listed
    return "\n".join((*lines, "", _FOOT))


def _describe_doubts(memory: Memory, now: datetime) -> str:
    """Return why not to rely on a memory; "" if it is confirmed and current."""
    doubts = []
    if not memory.trusted:
        source = quote_text(" ".join(memory.source.split()))
        doubts.append(f"unverified, from {source} (no human has confirmed them)")
    if is_outdated(memory, now):
        doubts.append(f"outdated since {memory.valid_until:%Y-%m-%d}")
    return ", and ".join(doubts)
