"""When embeddings are made: on saving, before a search if few are missing, in the background."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Concatenate

from muisti.engine.search import Search
from muisti.errors import EmbedderProblem
from muisti.ports.waiting import limit_wait

if TYPE_CHECKING:
    from muisti.engine.runtime import P, R
    from muisti.model import Memory
    from muisti.ports import Progress, Services
    from muisti.remember.embedding_worker import EmbeddingWorker


class Embedding(Search):
    """Keeps the embeddings of a vault complete."""

    def __init__(self, services: Services, root: Path) -> None:
        super().__init__(services, root)
        if services.use_threads:
            self._embedding_worker  # noqa: B018  # made before several threads ask for it

    @cached_property
    def _embedding_worker(self) -> EmbeddingWorker:
        """Embeds what is missing. A command makes it on first use: it imports the write path."""
        from muisti.remember.embedding_worker import EmbeddingWorker

        return EmbeddingWorker(self._services)

    def warm_up(self) -> None:
        """Load the embedding model and what searches keep in memory, in the background."""
        self._embedding_worker.warm_up()

    def close(self) -> None:
        """Stop embedding and close the vault."""
        if not self._closed and "_embedding_worker" in self.__dict__:
            self._embedding_worker.close()
        super().close()

    @property
    def embedding_postponed(self) -> bool:
        """Whether memories are left to be embedded by another process. For the command line."""
        return "_embedding_worker" in self.__dict__ and self._embedding_worker.postponed

    def _read_index(
        self, operation: Callable[Concatenate[Services, P], R], *args: P.args, **kwargs: P.kwargs
    ) -> R:
        """Run an operation that does not wait for background work or, for long, for a server."""
        worker: EmbeddingWorker | None = self.__dict__.get("_embedding_worker")
        with (
            worker.give_way() if worker is not None else nullcontext(),
            limit_wait(self.settings.embedder_query_timeout),
        ):
            return super()._read_index(operation, *args, **kwargs)

    def _embed_missing(self) -> None:
        """Embed what is missing, if it is little; otherwise in the background."""
        with suppress(EmbedderProblem):  # the results have it as `degraded`
            self._embedding_worker.catch_up()

    def _embed_later(self) -> None:
        """Start embedding in the background: appending a message does not wait for it."""
        if self.settings.embed_on_save and self.settings.embedder != "none":
            self._embedding_worker.wake()

    def _embed_saved(
        self, memories: list[Memory], progress: Progress | None = None
    ) -> list[Memory]:
        """Embed saved memories and return them. If that fails, they are embedded later."""
        missing = [one for one in memories if one.embedding_model is None and not one.index_pending]
        if not missing or not self.settings.embed_on_save or self.settings.embedder == "none":
            if self.settings.embedder != "none":
                self._embedding_worker.postpone(missing)
            if progress:
                progress(len(memories), len(memories))
            return memories
        self._embedding_worker.embed_now(missing, progress)
        if progress:
            progress(len(memories), len(memories))
        stored = self._services.index.get_many([memory.id for memory in missing])
        embedded = {memory.id: memory for memory in stored}
        return [embedded.get(memory.id, memory) for memory in memories]
