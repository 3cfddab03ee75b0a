"""The scope of a read: what a project, a session and a user see (contract A3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from muisti.errors import MemoryNotFound, SessionNotFound
from muisti.model import Filter

if TYPE_CHECKING:
    from muisti.ports.services import Services


def fix_scope(services: Services, where: Filter, *, all_projects: bool = False) -> Filter:
    """Return the filter with the project and the user of its session. Raises SessionNotFound.

    A session that was never started has the scope of the memories and messages that name it. With
    `all_projects` the session's project does not restrict it.
    """
    if where.session_id is None:
        return where
    for project, user in find_session_scopes(services, where.session_id):
        if where.project in (None, project) and where.user in (None, user):
            return replace(where, project=None if all_projects else project, user=user)
    raise SessionNotFound(where.session_id)


def find_session_scopes(services: Services, session_id: str) -> list[tuple[str, str]]:
    """Return project and user of a session; if it was never started, of the texts that name it."""
    session = services.index.session(session_id)
    if session is not None:
        return [(session.project, session.user)]
    return services.index.find_session_scopes(session_id)


def filter_visible(services: Services, ids: Sequence[str], where: Filter) -> list[str]:
    """Return those of these IDs, of any origin, that the filter accepts, in the given order."""
    candidates = services.index.candidates(list(dict.fromkeys(ids)), where)
    return [id_ for id_ in ids if id_ in candidates and candidates[id_].allowed]


def check_visible(services: Services, ids: Sequence[str], where: Filter) -> None:
    """Raises MemoryNotFound for IDs that are unknown or outside the scope of the filter."""
    visible = set(filter_visible(services, ids, where))
    hidden = [id_ for id_ in ids if id_ not in visible]
    if hidden:
        raise MemoryNotFound(*hidden)


def check_owner(services: Services, memory_id: str, where: Filter) -> None:
    """Raises MemoryNotFound if the filter's user or session does not see this memory.

    Its project may be another one, and it may be in the trash.
    """
    if where.user is not None or where.session_id is not None:
        owned = Filter(
            user=where.user,
            session_id=where.session_id,
            all_sessions=where.session_id is None,
            include_deleted=True,
        )
        check_visible(services, [memory_id], owned)
