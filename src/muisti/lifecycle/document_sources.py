"""Which files and folders are indexed as documents: rules that every store follows."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from datetime import datetime

from muisti.errors import InvalidRequest
from muisti.model import DocumentSource, Event, EventName


def update_source(
    known: DocumentSource | None,
    path: str,
    source: str | None,
    project: str | None,
    *,
    trusted: bool | None,
    user: str | None,
) -> DocumentSource:
    """Return a source as it is to be. None keeps the value that is known, or the default."""
    before = known or DocumentSource(path, "")
    return replace(
        before,
        source=before.source if source is None else source,
        project=before.project if project is None else project,
        trusted=before.trusted if trusted is None else trusted,
        user=before.user if user is None else user,
    )


def make_added_event(source: DocumentSource, at: datetime) -> Event:
    """Return the event that a source is indexed from now on."""
    data: dict[str, str | int | float | None] = {
        "path": source.path,
        "source": source.source,
        "project": source.project,
        "trusted": int(source.trusted),
    }
    if source.user:
        data["user"] = source.user
    return Event(EventName.DOCUMENTS_ADDED, at, data=data)


def make_dropped_event(path: str, at: datetime) -> Event:
    """Return the event that a source is no longer indexed."""
    return Event(EventName.DOCUMENTS_DROPPED, at, data={"path": path})


def find_indexed(
    path: str,
    known: Mapping[str, DocumentSource],
    workspace: Collection[str],
    resolve: Callable[[str], str],
) -> str:
    """Return the path of the named source that a caller means. Raises InvalidRequest."""
    own = set(workspace) - known.keys()
    wanted = path
    if path not in known.keys() | own:
        try:
            wanted = resolve(path)
        except InvalidRequest:  # it may be gone
            wanted = os.path.abspath(os.path.expanduser(path))
    if wanted in own:
        reason = "is part of the workspace, which is always indexed; rename or move it"
        raise InvalidRequest("path", path, reason)
    if wanted not in known:
        indexed = f"indexed are: {', '.join(known)}" if known else "no path is"
        raise InvalidRequest("path", path, f"is not indexed; {indexed}")
    return wanted


def sort_sources(
    workspace: Iterable[DocumentSource], named: Collection[DocumentSource]
) -> list[DocumentSource]:
    """Return the workspace's and the named sources, nested ones before those around them."""
    paths = {source.path for source in named}
    own = [source for source in workspace if source.path not in paths]
    return sorted([*own, *named], key=lambda source: (-len(source.path), source.path))


def find_source(path: str, sources: Iterable[DocumentSource]) -> DocumentSource | None:
    """Return the first source that a file belongs to; None if there is none."""
    for source in sources:
        if path == source.path or path.startswith(f"{source.path}/"):
            return source
    return None
