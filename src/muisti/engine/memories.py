"""Saving and changing memories."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Unpack

from muisti.engine.embedding import Embedding
from muisti.errors import InvalidRequest
from muisti.lifecycle import reinforcement as use
from muisti.model import Draft, Memory
from muisti.model.salience import DEEMPHASIZE, REINFORCE
from muisti.ports import Progress
from muisti.remember import change
from muisti.remember.embedding_worker import halves
from muisti.remember.options import SaveOptions, UpdateOptions, as_draft, to_draft
from muisti.remember.pipeline import remember


class Memories(Embedding):
    """Saving and changing memories."""

    def save(self, content: str, **options: Unpack[SaveOptions]) -> Memory:
        """Remember a text. Raises InvalidMemory. Saying the same again reinforces what is there."""
        return self._remember([to_draft(content, options)])[0]

    def save_batch(
        self, items: Iterable[Draft | str | dict[str, Any]], *, progress: Progress | None = None
    ) -> list[Memory]:
        """Remember many texts at once: all of them or, if one is not acceptable, none."""
        if isinstance(items, str):
            raise InvalidRequest("items", "a text", "must be a list; `save` takes one text")
        drafts = [as_draft(item) for item in items]
        return self._remember(drafts, progress) if drafts else []

    def _remember(self, drafts: list[Draft], progress: Progress | None = None) -> list[Memory]:
        first, second = halves(progress) if self.settings.embed_on_save else (progress, None)
        with self._meter.measure("save"):
            saved = self._with_vectors(self._write(remember, drafts, first), second)
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
        """Change some fields. Raises MemoryNotFound, InvalidMemory, InvalidRequest, Conflict.

        With `expected_hash` (a `content_hash`), only if nobody changed the content since; with `expected_version` (a `version`),
        only if nobody changed anything: in whatever process, and by hand too.
        """
        given: dict[str, Any] = dict(changes)
        for name in ("keywords", "files"):
            if isinstance(given.get(name), list):
                given[name] = tuple(given[name])
        expected = {"expected_hash": expected_hash, "expected_version": expected_version}
        changed = self._write(change.update, memory_id, given, **expected, by_session=by_session)
        return self._with_vectors([changed])[0]

    def delete(self, memory_id: str, *, hard: bool = False) -> bool:
        """Move to the trash; hard: leave no byte. False if there is no such memory."""
        return self._write(change.delete, memory_id, hard=hard)

    def restore(self, memory_id: str) -> Memory:
        """Bring back from the trash. Raises MemoryNotFound."""
        return self._write(change.restore, memory_id)

    def touch(self, memory_id: str) -> Memory:
        """Note that a memory was looked at."""
        return self._write(use.touch, memory_id)

    def reinforce(
        self, memory_id: str, amount: float = REINFORCE, *, session_id: str | None = None
    ) -> Memory:
        """Make a memory stronger, with diminishing returns."""
        return self._write(use.reinforce, memory_id, amount, session_id)

    def deemphasize(self, memory_id: str, amount: float = DEEMPHASIZE) -> Memory:
        """Make a memory weaker, never below 0.05."""
        return self._write(use.deemphasize, memory_id, amount)
