"""What every page works with: the vault, the long work that runs, and whether something changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, cast

from fastapi import Depends, Request

from muisti.engine import Muisti
from muisti.errors import MemoryNotFound
from muisti.model import Memory
from muisti.surfaces.web.jobs import Jobs


@dataclass(frozen=True, slots=True)
class PageContext:
    """One open vault as the pages see it."""

    memory: Muisti
    work: Jobs
    changes: Callable[[], int | str] | None = None

    def existing(self, memory_id: str) -> Memory:
        """A memory, from the trash or the archive too. Raises MemoryNotFound."""
        found = self.memory.get(memory_id, include_deleted=True, include_archived=True)
        if found is None:
            raise MemoryNotFound(memory_id)
        return found

    def is_live(self, found: Memory) -> bool:
        """Whether it is neither in the trash nor in the archive."""
        return found.deleted_at is None and not (found.file_path or "").startswith("archive/")

    def projects(self) -> list[str]:
        """Names of projects that have memories, sorted."""
        return sorted(name for name in self.memory.get_stats().by_project if name)

    def kinds(self) -> list[str]:
        """Names of all kinds, the vault's own included."""
        return list(self.memory.settings.kinds)


def get_page_context(request: Request) -> PageContext:
    """The desk that `pages` put there."""
    return cast("PageContext", request.state.desk)


At = Annotated[PageContext, Depends(get_page_context)]
