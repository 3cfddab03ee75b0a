"""The scope of a memory that names none: who works in a project saves for that project.

The command line, MCP and hooks know the project of the working folder and use these rules. The
Python API and REST do not: there the tier is `project` unless the caller says otherwise.
"""

from __future__ import annotations

from typing import NamedTuple

from muisti.model import Tier
from muisti.remember.classify import classify_kind
from muisti.settings import Settings

EVERYWHERE_KINDS = frozenset({"preference"})
"""Kinds that say something about the user, which holds in every project."""


class SaveScope(NamedTuple):
    """Where to save a memory."""

    project: str
    tier: Tier


def default_tier(kind: str | None, content: str, settings: Settings) -> Tier:
    """Return `global` for a preference of the user, and `project` for everything else.

    Kind: None if it is not given; it is then classified from the content, as `save` does.
    """
    if kind is None:
        name = classify_kind(content, settings)
    else:
        known = settings.kind(kind)
        name = known.name if known else ""  # `save` reports an unknown kind
    return Tier.GLOBAL if name in EVERYWHERE_KINDS else Tier.PROJECT


def default_scope(project: str, kind: str | None, content: str, settings: Settings) -> SaveScope:
    """Return the scope of a memory that was saved while working in a project, which may be "".

    A global memory gets no project: saved in two projects it is one memory, not two.
    """
    tier = default_tier(kind, content, settings)
    return SaveScope("" if tier is Tier.GLOBAL else project, tier)
