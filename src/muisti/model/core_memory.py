"""Core memory: what stands at the top of every context. A search does not import it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CoreMemory:
    """Short entries at the top of every context: facts about the user, rules for the agent."""

    user: Mapping[str, str]
    agent: Mapping[str, str]
