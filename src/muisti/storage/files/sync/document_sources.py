"""Markdown that lives elsewhere is searched too (contract F5). Which, is noted in the journal, so that it outlives the index."""

from __future__ import annotations

import logging
import os
from dataclasses import replace

from muisti.commit import commit, writing
from muisti.errors import IndexCorrupt, IndexProblem, InvalidRequest, VaultError
from muisti.model import Event, Shelf
from muisti.ports import Parts
from muisti.storage.files.sync.sources import Following

log = logging.getLogger("muisti")


def index_path(parts: Parts, path: str, source: str | None, project: str | None, *, trusted: bool | None) -> Shelf:
    """Have a file or a folder searched from now on. Answers how many documents it has. None: as it was, or else nothing."""
    with writing(parts):
        place = parts.documents.shelf_path(path)
        known = {one.path: one for one in parts.index.shelves()}.get(place)
        before = known or Shelf(place, "")
        shelf = replace(
            before,
            source=before.source if source is None else source,
            project=before.project if project is None else project,
            trusted=before.trusted if trusted is None else trusted,
        )
        if shelf != known:
            data: dict[str, str | int | float | None] = {
                "path": shelf.path,
                "source": shelf.source,
                "project": shelf.project,
                "trusted": int(shelf.trusted),
            }
            commit(parts, events=[Event("documents_added", parts.clock.now(), data=data)])
        _follow(parts)
        return next((one for one in parts.index.shelves() if one.path == shelf.path), shelf)


def _follow(parts: Parts) -> None:
    """The journal has it: if the index cannot follow now, it catches up at the next call."""
    try:
        Following(parts, parts.index).run()
    except IndexCorrupt:
        raise  # whoever called heals it
    except (IndexProblem, VaultError) as error:
        log.warning("what is searched is noted, the index follows later: %s", error)
        parts.index.behind = True


def forget_path(parts: Parts, path: str) -> Shelf:
    """Search it no longer. The files stay as they are."""
    with writing(parts):
        known = {shelf.path: shelf for shelf in parts.index.shelves()}
        own = {shelf.path for shelf in parts.documents.workspace()} - known.keys()
        wanted = path if path in known.keys() | own else _shown(parts, path)
        if wanted in own:
            raise InvalidRequest("path", path, "it belongs to the workspace, which is always searched; rename or move it")
        if wanted not in known:
            there = f"there are: {', '.join(known)}" if known else "nothing is"
            raise InvalidRequest("path", path, f"it is not searched; {there}")
        commit(parts, events=[Event("documents_dropped", parts.clock.now(), data={"path": wanted})])
        _follow(parts)
        return known[wanted]


def _shown(parts: Parts, path: str) -> str:
    """As shelves have it, even if it is gone."""
    try:
        return parts.documents.shelf_path(path)
    except InvalidRequest:
        return os.path.abspath(os.path.expanduser(path))


def shelves(parts: Parts) -> list[Shelf]:
    """What is searched beside the memories; the workspace's own files first, if there are any."""
    named = parts.index.shelves()
    counts: dict[str, int] = {}
    for shelf, _ in parts.index.documents().values():
        counts[shelf] = counts.get(shelf, 0) + 1
    own = [shelf for shelf in parts.documents.workspace() if shelf.path not in {one.path for one in named}]
    return [*(Shelf(s.path, s.source, s.project, s.trusted, counts[s.path]) for s in own if counts.get(s.path)), *named]
