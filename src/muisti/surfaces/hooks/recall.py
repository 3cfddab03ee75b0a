"""Recall at the start of a session: one fenced block within a budget of tokens."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from pathlib import Path

from muisti.engine import Muisti
from muisti.errors import BrokenFile, VaultNotFound
from muisti.model import CORE_SECTIONS, CoreMemory, Memory, Problem, Tier
from muisti.model.validity import is_outdated
from muisti.recall.fence import CLOSING, OPENING, name_project, quote_text
from muisti.recall.prompt_context import compose_context, count_tokens
from muisti.surfaces.hooks.paths import READ_SETTINGS

START_BUDGET = 1_500
CORE_SHARE = 0.6
"""The largest share of the budget for core memory."""
SUMMARY_SHARE = 0.25
CANDIDATES = 60
HALF_LIFE_DAYS = 14.0
_SESSION_END = "\n</memory-session>"


def open_vault(vault: Path | str, *, foreign: bool) -> Muisti | None:
    """Open a vault for reading, with short timeouts; None if it does not exist.

    Raises MuistiError.
    """
    from muisti import bootstrap

    try:
        return bootstrap.open(vault, role="cli", settings=READ_SETTINGS, foreign=foreign)
    except VaultNotFound:
        return None


def recall_for_session(
    memory: Muisti, project: str, session: str, since: datetime | None, budget: int
) -> tuple[str, list[str]]:
    """Return core memory, the last session's summary and top memories as a block, and their IDs.

    Since: when the session's context last got memories. Then only newer ones are returned, from
    other sessions; None for a new session.
    """
    budget -= count_tokens(name_project(OPENING, project)) - count_tokens(OPENING)
    memories = [one for one in _rank_memories(memory, project) if one.session_id != session]
    broken: list[Problem] = []
    if since is None:
        core = _fit_core(memory, int(budget * CORE_SHARE), broken)
        summary = _summarize_last_session(memory, project, session, int(budget * SUMMARY_SHARE))
    else:
        core = CoreMemory({}, {})
        summary = ""
        memories = [one for one in memories if one.created_at > since]
    standing = memory.find_standing(project=project, user=memory.settings.user)
    if since is not None:
        standing = [one for one in standing if one.created_at > since]
    text = compose_context(
        core, memories, budget - count_tokens(summary) - 1, broken=broken, standing=standing
    )
    candidates = dict.fromkeys(one.id for one in (*memories, *standing))
    ids = [id_ for id_ in candidates if f'<memory id="{id_}"' in text]
    if summary:
        opening = text.removesuffix(CLOSING) if text else f"{OPENING}\n"
        text = f"{opening}{summary}\n{CLOSING}"
    return name_project(text, project), ids


def _fit_core(memory: Muisti, budget: int, broken: list[Problem]) -> CoreMemory:
    """Return the entries that fit, in order; none if the file is broken, which is then added."""
    try:
        core = memory.core_get()
    except BrokenFile as error:
        broken.append(Problem(error.path, error.reason))
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


def _rank_memories(memory: Muisti, project: str) -> list[Memory]:
    """Return salient and recent memories, the best first; no outdated or session-only ones."""
    now = datetime.now(UTC)
    user = memory.settings.user
    salient = memory.list(project=project, user=user, order_by="salience", limit=CANDIDATES)
    latest = memory.list(project=project, user=user, limit=CANDIDATES // 2)
    candidates = {one.id: one for one in (*salient, *latest)}

    def score(one: Memory) -> float:
        age = max(0.0, (now - one.created_at).total_seconds()) / 86_400
        recency = math.pow(0.5, age / HALF_LIFE_DAYS)
        own = 0.2 if project and one.project == project else 0.0
        return 0.5 * one.importance + 0.3 * one.salience + 0.2 * recency + 0.1 * one.pinned + own

    current = [
        one for one in candidates.values() if one.tier != Tier.SESSION and not is_outdated(one, now)
    ]
    return sorted(current, key=lambda one: (-score(one), one.id))


def _summarize_last_session(memory: Muisti, project: str, session: str, budget: int) -> str:
    """Return the summary of the project's latest other session, fenced; "" if there is none."""
    for last in memory.list_sessions(project, user=memory.settings.user, limit=10):
        if last.summary and last.id != session:
            break
    else:
        return ""
    ended = f' ended="{last.ended_at:%Y-%m-%d}"' if last.ended_at else ""
    opening = f'<memory-session trust="unverified"{ended}>\n'
    text = quote_text(last.summary)
    while text and count_tokens(f"{opening}{text}{_SESSION_END}") > budget:
        text = text[: len(text) * 9 // 10].rstrip()
    return f"{opening}{text}{_SESSION_END}" if text else ""
