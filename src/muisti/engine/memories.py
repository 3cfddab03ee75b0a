"""Save, update, delete and restore memories."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Unpack

from muisti.engine.embedding import Embedding
from muisti.errors import IndexBusy, InvalidRequest
from muisti.lifecycle import reinforcement
from muisti.lifecycle.links import supersede
from muisti.model import Draft, LinkType, Memory
from muisti.model.argument_names import report_names, to_field_names
from muisti.model.salience import DEEMPHASIZE, REINFORCE
from muisti.ports import Progress, Services
from muisti.ports.lookups import require_stored
from muisti.remember import change
from muisti.remember.bulk_embedding import split_progress
from muisti.remember.options import SaveOptions, UpdateOptions, parse_draft, to_draft
from muisti.remember.pipeline import remember, remember_replacement
from muisti.text.redact import check_name


def _save_replacement(services: Services, draft: Draft, replaces: str) -> Memory:
    """Save a memory and mark another as superseded by it. May be repeated after an error."""
    saved = remember_replacement(services, draft, replaces)
    links = [link for link in saved.links if link.target == replaces and not link.proposed]
    is_linked = any(link.type is LinkType.SUPERSEDES for link in links)
    if saved.index_pending:
        if not is_linked:
            raise IndexBusy("the memory is saved, but the old one is not marked as outdated yet")
        return saved
    # The file, as the index knows from the link alone that the old memory has ended.
    if not is_linked or require_stored(services, replaces).memory.valid_until is None:
        supersede(services, replaces, saved.id)
    return services.index.get(saved.id) or replace(saved, index_pending=True)


class Memories(Embedding):
    """Save, update, delete and restore memories."""

    def save(
        self,
        content: str,
        category: str | None = None,
        *,
        replaces: str | None = None,
        **options: Unpack[SaveOptions],
    ) -> Memory:
        """Save a memory and return it. A duplicate reinforces the one that exists.

        The category is the memory's kind; the option `kind` sets it as well. `replaces` is the ID
        of an outdated memory: it is marked as superseded by the new one. If it does not exist,
        belongs to another user or has the same content, nothing is saved. Raises InvalidMemory,
        InvalidRequest, and with `replaces` MemoryNotFound.
        """
        given = {**options, "category": category}
        with report_names(given):
            draft = to_draft(content, given)
            if replaces is None:
                return self._remember([draft])[0]
            self._check_own("replaces", replaces)
            with self._meter.measure("save"):
                written = self._write(_save_replacement, draft, replaces)
                [saved] = self._embed_saved([written])
        self._meter.count("memory.saved.count")
        return saved

    def save_batch(
        self,
        items: Iterable[Draft | str | dict[str, Any]],
        *,
        progress: Progress | None = None,
        merge: bool = True,
    ) -> list[Memory]:
        """Save many memories at once: all of them or, if one is not valid, none.

        With `merge=False` each is a memory of its own, even if another has the same text. Raises
        InvalidMemory, InvalidRequest.
        """
        if isinstance(items, str):
            raise InvalidRequest("items", "a text", "must be a list; `save` takes one text")
        items = list(items)
        given = {name: one[name] for one in items if isinstance(one, dict) for name in one}
        with report_names(given):
            drafts = [parse_draft(item) for item in items]
            return self._remember(drafts, progress, merge=merge) if drafts else []

    def _remember(
        self, drafts: list[Draft], progress: Progress | None = None, *, merge: bool = True
    ) -> list[Memory]:
        first, second = (
            split_progress(progress) if self.settings.embed_on_save else (progress, None)
        )
        with self._meter.measure("save"):
            saved = self._embed_saved(self._write(remember, drafts, first, merge=merge), second)
        self._meter.count("memory.saved.count", len(saved))
        return saved

    def update(
        self,
        memory_id: str,
        *,
        expected_hash: str | None = None,
        expected_version: str | None = None,
        by_session: str | None = None,
        **changes: Unpack[UpdateOptions],
    ) -> Memory:
        """Update some fields; others are unchanged.

        With `expected_hash` (a `content_hash`), only if the content has not changed since; with
        `expected_version` (a `version`), only if nothing has. Changes by other processes and edits
        of the file count too. Raises MemoryNotFound, InvalidMemory, InvalidRequest, Conflict.
        """
        given = to_field_names(changes)
        for name in ("aliases", "keywords", "categories", "files"):
            if isinstance(given.get(name), list):
                given[name] = tuple(given[name])
        if isinstance(by_session, str):
            check_name("by_session", by_session, self.settings)
        expected = {"expected_hash": expected_hash, "expected_version": expected_version}
        with report_names(changes):
            changed = self._write(
                change.update, memory_id, given, **expected, by_session=by_session
            )
        if self.others is not None and self._services.index.get(memory_id) is None:
            return changed  # of another vault, which embeds it
        return self._embed_saved([changed])[0]

    def delete(self, memory_id: str, *, hard: bool = False) -> bool:
        """Move a memory to the trash, or with `hard` delete it permanently.

        Return False if there is no such memory.
        """
        run = self._erase if hard else self._write
        if run(change.delete, memory_id, hard=hard):
            return True
        owner = None if self.others is None else self.others.find_owner(memory_id)
        if owner is None:
            return False
        run = owner._erase if hard else owner._write
        return run(change.delete, memory_id, hard=hard)

    def restore(self, memory_id: str) -> Memory:
        """Restore a memory from the trash or the archive. Raises MemoryNotFound."""
        return self._write(change.restore, memory_id)

    def touch(self, memory_id: str) -> Memory:
        """Record an access: it counts like a recall. Raises MemoryNotFound."""
        return self._write(reinforcement.touch, memory_id)

    def reinforce(
        self, memory_id: str, amount: float = REINFORCE, *, session_id: str | None = None
    ) -> Memory:
        """Raise a memory's salience, with diminishing returns.

        Raises MemoryNotFound, InvalidRequest.
        """
        if isinstance(session_id, str):
            check_name("session_id", session_id, self.settings)
        return self._write(reinforcement.reinforce, memory_id, amount, session_id)

    def deemphasize(self, memory_id: str, amount: float = DEEMPHASIZE) -> Memory:
        """Lower a memory's salience, never below 0.05. Raises MemoryNotFound, InvalidRequest."""
        return self._write(reinforcement.deemphasize, memory_id, amount)
