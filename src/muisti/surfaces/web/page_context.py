"""What every page works with: the open vault, the reindex job and the vault's revision."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, cast

from fastapi import Depends, Request

from muisti.engine import Muisti
from muisti.errors import MemoryNotFound
from muisti.model import Memory
from muisti.surfaces.web.jobs import ReindexJob
from muisti.surfaces.web.review_counter import ReviewCounter


@dataclass(frozen=True, slots=True)
class PageContext:
    """One open vault, shared by all pages."""

    memory: Muisti
    reindex_job: ReindexJob
    review_counter: ReviewCounter
    get_revision: Callable[[], int | str] | None = None

    def get_memory(self, memory_id: str) -> Memory:
        """Return a memory, also from the trash or the archive. Raises MemoryNotFound."""
        found = self.memory.get(memory_id, include_deleted=True, include_archived=True)
        if found is None:
            raise MemoryNotFound(memory_id)
        return found

    def is_live(self, found: Memory) -> bool:
        """Return whether the memory is neither in the trash nor in the archive."""
        return found.deleted_at is None and not (found.file_path or "").startswith("archive/")

    def projects(self) -> list[str]:
        """Return the names of projects that have memories, sorted."""
        return sorted(name for name in self.memory.get_stats().by_project if name)

    def kinds(self) -> list[str]:
        """Return the names of all kinds, including those from the settings."""
        return list(self.memory.settings.kinds)


def get_page_context(request: Request) -> PageContext:
    """Return the context that `create_router` attached to the request."""
    return cast("PageContext", request.state.page_context)


Context = Annotated[PageContext, Depends(get_page_context)]
