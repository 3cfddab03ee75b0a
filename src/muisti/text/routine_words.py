"""Words of everyday instructions to a coding agent, which say little about its subject."""

from __future__ import annotations

from functools import cache

from muisti.text.tokens import stem

_ROUTINE = """
accept add again agree apply build change check clean code commit complete continue correct debug
delete diff done edit error execute explain fail file finish fix function go good great hello help
hi implement improve issue keep lint line list look make method morning move name next nice now ok
okay open perfect problem proceed pull push ready refactor remove rename repeat request rerun retry
revert review right run save see show short simplify start step stop sure test thank thanks think
thing try undo update use variable wait warning work write wrong yep yes
"""
"""Words of everyday instructions to a coding agent; significant only in a question."""


def is_routine(word: str) -> bool:
    """Return whether an index word belongs to everyday instructions to a coding agent."""
    return word in _routine_words()


@cache
def _routine_words() -> frozenset[str]:
    return frozenset(map(stem, _ROUTINE.split()))
