"""The review queue: what agents saved and what muisti suggests, for a person to decide."""

from __future__ import annotations

from typing import Any, Unpack

from muisti.engine.lifecycle import Lifecycle
from muisti.engine.memories import Memories
from muisti.errors import Conflict, InvalidMemory, InvalidRequest
from muisti.lifecycle import review
from muisti.lifecycle.links import parse_link_type
from muisti.model import Filter, Link, Memory, ReviewCount, ReviewItem, Tier
from muisti.model.argument_names import report_names, to_field_names
from muisti.ports.lookups import require_memory
from muisti.recall.filters import FilterOptions, reject_source
from muisti.recall.lookups import check_page
from muisti.remember.options import SaveOptions, to_draft
from muisti.remember.pipeline import remember

_INHERITED = ("kind", "tier", "project", "user", "importance", "keywords", "categories", "files")
"""What a replacement takes over from the memory that it replaces."""


class Review(Memories, Lifecycle):
    """Unconfirmed memories and suggested links, and what a person can do with them."""

    def review(
        self,
        *,
        limit: int | None = 50,
        offset: int = 0,
        order_by: str = "created_at",
        **options: Unpack[FilterOptions],
    ) -> list[ReviewItem]:
        """Return the review queue: unconfirmed memories and suggested links, newest first.

        Filters apply to the memory that a link begins at; both must be in scope. `order_by` may
        be `importance`. Outdated memories are left out. Raises InvalidRequest.
        """
        check_page(limit, offset)
        order = review.parse_review_order(order_by)
        where = self._make_review_filter(options)
        return self._read(review.list_review, where, order, limit, offset)

    def count_review(self, **options: Unpack[FilterOptions]) -> ReviewCount:
        """Return how many memories and links `review` would return. Raises InvalidRequest."""
        return self._read(review.count_review, self._make_review_filter(options))

    def _make_review_filter(self, options: FilterOptions) -> Filter:
        reject_source(options)
        for name in ("trusted", "include_deleted"):
            if options.get(name):
                raise InvalidRequest(
                    name, options.get(name), "must be left out: the queue has unconfirmed items"
                )
        return self._make_filter({**options, "trusted": None}, all_sessions=True)

    def confirm(self, memory_id: str, *, expected_version: str | None = None) -> Memory:
        """Confirm a memory: agents may rely on it. Its source stays as it is.

        With `expected_version`, only if it has not changed since it was read. Raises
        MemoryNotFound, InvalidRequest, Conflict.
        """
        known = self._read(require_memory, memory_id)
        if known.trusted and expected_version in (None, known.version):
            return known
        return self.update(memory_id, trusted=True, expected_version=expected_version)

    def replace(
        self,
        memory_id: str,
        content: str,
        *,
        category: str | None = None,
        expected_version: str | None = None,
        **options: Unpack[SaveOptions],
    ) -> Memory:
        """Save a new memory that replaces another, and return it. The old one is outdated.

        Kind (or `category`), tier, project, user, importance, keywords, categories and files are
        those of the old memory unless given. Nothing is merged. Raises MemoryNotFound,
        InvalidMemory, InvalidRequest, Conflict.
        """
        self._check_own("memory", memory_id)
        old = self._read(require_memory, memory_id)
        if expected_version is not None and expected_version != old.version:
            raise Conflict(f"{memory_id} has changed since you read it; read it again first")
        inherited: dict[str, Any] = {name: getattr(old, name) for name in _INHERITED}
        if old.tier is Tier.SESSION:
            inherited["session_id"] = old.session_id
        given = {**options, "category": category}
        with report_names(given), self._meter.measure("save"):
            draft = to_draft(content, inherited | to_field_names(given))
            [new] = self._embed_saved(self._write(remember, [draft], near=False))
        self._meter.count("memory.saved.count")
        if new.id == old.id:  # the text is known, so nothing was written
            raise InvalidMemory("content", content, "must differ from the text that it replaces")
        if draft.trusted and not new.trusted:  # the same text, saved by an agent before
            new = self.confirm(new.id)
        self.supersede(old.id, new.id)
        return self.get(new.id) or new  # with the link; not yet if the index is busy

    def confirm_link(self, source_id: str, target_id: str, type: str) -> Link:
        """Confirm a suggested link, which takes effect. Raises MemoryNotFound, InvalidRequest."""
        return self._write(review.confirm_link, source_id, target_id, parse_link_type(type))

    def reject_link(self, source_id: str, target_id: str, type: str) -> None:
        """Reject a suggested link. Raises MemoryNotFound, InvalidRequest if it is not suggested."""
        self._write(review.reject_link, source_id, target_id, parse_link_type(type))
