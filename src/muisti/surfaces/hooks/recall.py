"""What a session is told at its start: fenced as data, within a budget of tokens."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from pathlib import Path

from muisti.engine import Muisti
from muisti.errors import BrokenFile, VaultNotFound
from muisti.model import CORE_SECTIONS, CoreMemory, Memory, Session, Tier
from muisti.recall.fence import CLOSING, OPENING, quote_text
from muisti.recall.prompt_context import compose_context, count_tokens
from muisti.surfaces.hooks.paths import READING

START_BUDGET = 1_500
CORE_SHARE = 0.6
"""Of the budget, for core memory at most."""
SUMMARY_SHARE = 0.25
CANDIDATES = 60
HALF_LIFE_DAYS = 14.0
_SESSION_END = "\n</memory-session>"


def open_vault(vault: Path, *, foreign: bool) -> Muisti | None:
    """The vault, to be read for a moment; None if there is none. Waits for nobody for long. Raises MuistiError."""
    from muisti import bootstrap

    try:
        return bootstrap.open(vault, role="cli", settings=READING, foreign=foreign)
    except VaultNotFound:
        return None


def let_go(memory: Muisti) -> None:
    """Close a vault that was only read, if there is something to clean up; for the rest, the end of the process does."""
    if not memory.is_writable:
        memory.close()


def recall_for_session(
    memory: Muisti, project: str, session: str, since: datetime | None, budget: int
) -> tuple[str, list[str]]:
    """Core memory, how the last session ended, and what is most important of late, as one block; and the memories' ids.

    Since: when the session was last told something that it still knows; then only what others remembered after that is told.
    """
    memories = [
        one for one in _most_important(memory, project) if one.session_id != session
    ]  # what it said, it knows
    if since is None:
        core, last = (
            _fitting_core(memory, int(budget * CORE_SHARE)),
            _last_session(memory, project, session, budget),
        )
    else:
        core, last = CoreMemory({}, {}), ""
        memories = [one for one in memories if one.created_at > since]
    text = compose_context(core, memories, budget - count_tokens(last) - 1)
    inside = [one.id for one in memories if f'<memory id="{one.id}"' in text]
    if last:
        text = (
            f"{text.removesuffix(CLOSING)}{last}\n{CLOSING}"
            if text
            else f"{OPENING}\n{last}\n{CLOSING}"
        )
    return text, inside


def _fitting_core(memory: Muisti, budget: int) -> CoreMemory:
    """Its entries in their order, as far as they fit; none if a hand edit broke the file."""
    try:
        core = memory.core_get()
    except BrokenFile:
        return CoreMemory({}, {})
    sections: dict[str, dict[str, str]] = {}
    for section in CORE_SECTIONS:
        kept = sections.setdefault(section, {})
        for key, value in getattr(core, section).items():
            cost = count_tokens(f"{key}: {value}\n") + 12
            if cost <= budget:
                kept[key] = value
                budget -= cost
    return CoreMemory(**sections)


def _most_important(memory: Muisti, project: str) -> list[Memory]:
    """What is strong, and what is new; not what only one session may see, nor what is no longer true."""
    now = datetime.now(UTC)
    strong = memory.list(project=project, unfiled=True, order_by="salience", limit=CANDIDATES)
    latest = memory.list(project=project, unfiled=True, limit=CANDIDATES // 2)
    seen = {
        one.id: one
        for one in (*strong, *latest)
        if one.tier != Tier.SESSION and (one.valid_until is None or one.valid_until > now)
    }
    return sorted(seen.values(), key=lambda one: (-_weight(one, project, now), one.id))


def _weight(memory: Memory, project: str, now: datetime) -> float:
    age = max(0.0, (now - memory.created_at).total_seconds()) / 86_400
    recency = math.pow(0.5, age / HALF_LIFE_DAYS)
    own = 0.2 if project and memory.project == project else 0.0
    return (
        0.5 * memory.importance + 0.3 * memory.salience + 0.2 * recency + 0.1 * memory.pinned + own
    )


def _last_session(memory: Muisti, project: str, session: str, budget: int) -> str:
    """How the latest other session of this project ended."""
    found = next(
        (
            one
            for one in memory.list_sessions(project, limit=10)
            if one.summary and one.id != session
        ),
        None,
    )
    return "" if found is None else _fenced_session(found, int(budget * SUMMARY_SHARE))


def _fenced_session(session: Session, budget: int) -> str:
    ended = f' ended="{session.ended_at:%Y-%m-%d}"' if session.ended_at else ""
    opening, text = f'<memory-session trust="unverified"{ended}>\n', quote_text(session.summary)
    while text and count_tokens(f"{opening}{text}{_SESSION_END}") > budget:
        text = text[: len(text) * 9 // 10].rstrip()
    return f"{opening}{text}{_SESSION_END}" if text else ""
