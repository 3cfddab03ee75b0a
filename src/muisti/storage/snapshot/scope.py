"""Which texts the scope of a filter accepts (contract A3), in columns.

`filters` has the same, and all other conditions, in SQL: what is found in columns is checked again
there. So a wrong column can hide a text, but never show one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from muisti.model import Filter
from muisti.remember.index_rows import to_microseconds
from muisti.storage.snapshot.build import (
    DELETED,
    DOCUMENT,
    GLOBAL,
    MESSAGE,
    SESSION,
    hash_word,
)

Mask = NDArray[np.bool_]
Take = Callable[[str, NDArray[Any]], NDArray[Any]]
"""Returns the values of a column at places."""
_TYPES = {"memory": 0, "message": MESSAGE, "document": DOCUMENT}
_SCOPE = frozenset(
    """project unfiled session_id all_sessions session user include_deleted only_deleted origins
    since until""".split()
)
_get_others = attrgetter(*(field.name for field in fields(Filter) if field.name not in _SCOPE))
_NO_OTHERS = _get_others(Filter())


def has_only_scope(where: Filter) -> bool:
    """Return whether a filter has no conditions but those of `check_scope`."""
    return bool(_get_others(where) == _NO_OTHERS)


def check_scope(take: Take, places: NDArray[Any], where: Filter) -> Mask:
    """Return which of the texts at these places the scope of a filter accepts."""
    flags = take("flags", places)
    accepted: Mask
    if where.only_deleted:
        accepted = flags & DELETED > 0
    else:
        accepted = flags & (0 if where.include_deleted else DELETED) == 0
    if where.is_scoped:
        accepted &= _check_owner(take, flags, places, where)
    if where.session_id is not None or where.session is not None or not where.all_sessions:
        accepted &= _check_session(take, flags, places, where)
    if where.origins:
        types = [_TYPES[origin] for origin in where.origins if origin in _TYPES]
        accepted &= np.isin(flags & (MESSAGE | DOCUMENT), types)
    if where.since is not None:
        accepted &= take("said_at", places) >= to_microseconds(where.since)
    if where.until is not None:
        accepted &= take("said_at", places) < to_microseconds(where.until)
    return accepted


def _check_owner(take: Take, flags: NDArray[Any], places: NDArray[Any], where: Filter) -> Mask:
    """Return which texts are of the filter's project and user, or of all."""
    project, user = take("project", places), take("user", places)
    accepted: Mask = np.ones(len(places), bool)
    if where.project is not None:
        own = (project == _hash(where.project)) | (flags & GLOBAL > 0)
        accepted &= own | (project == _NOBODY) if where.unfiled else own
    if where.user is not None:
        accepted &= (user == _hash(where.user)) | (user == _NOBODY)
    # A message without a project and a user belongs to its conversation only.
    has_owner: Mask = (flags & MESSAGE == 0) | (project != _NOBODY) | (user != _NOBODY)
    for name in (where.session_id, where.session):
        if name is not None:
            has_owner |= take("session", places) == _hash(name)
    accepted &= has_owner
    return accepted


def _check_session(take: Take, flags: NDArray[Any], places: NDArray[Any], where: Filter) -> Mask:
    """Return which texts the filter's session sees."""
    is_open: Mask = flags & SESSION == 0
    if where.session_id is None and where.session is None:
        return is_open  # all that no session has for itself
    session = take("session", places)
    if where.session_id is not None:
        is_open |= session == _hash(where.session_id)
    elif where.all_sessions or where.session is not None:
        is_open = np.ones(len(places), bool)
    if where.session is not None:
        is_open &= session == _hash(where.session)
    return is_open


def _hash(name: str) -> np.uint64:
    return np.uint64(hash_word(name))


_NOBODY = _hash("")
