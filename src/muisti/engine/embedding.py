"""Vectors: made when a memory is saved, before a search if few are missing, and in the background."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from muisti.engine.search import Search
from muisti.errors import EmbedderProblem
from muisti.model import Memory
from muisti.ports import Progress, Services
from muisti.remember.embedding_worker import EmbeddingWorker


class Embedding(Search):
    """Keeps the vectors of a vault complete."""

    def __init__(self, services: Services, root: Path) -> None:
        super().__init__(services, root)
        self._filler = EmbeddingWorker(services)

    def warm_up(self) -> None:
        """Load the model in the background, so that the first search does not wait for it."""
        self._filler.warm_up()

    def close(self) -> None:
        """Stop embedding and close the vault."""
        if not self._closed:
            self._filler.close()
        super().close()

    def _embed_missing(self) -> None:
        """Embed what is missing, if it is little; the rest is done in the background."""
        with suppress(EmbedderProblem):  # the answer says so
            self._answer(lambda _: self._filler.catch_up())

    def _embed_later(self) -> None:
        """Nobody who talks, or names a folder, waits for vectors."""
        if self.settings.embed_on_save and self.settings.embedder != "none":
            self._filler.go_on()

    def _with_vectors(
        self, memories: list[Memory], progress: Progress | None = None
    ) -> list[Memory]:
        """What was saved, with its vectors. If they cannot be had now, they are made later: the memories are safe."""
        waiting = [one for one in memories if one.embedding_model is None and not one.index_pending]
        if not waiting or not self.settings.embed_on_save or self.settings.embedder == "none":
            progress and progress(len(memories), len(memories))
            return memories
        self._filler.embed_now(waiting, progress)
        known = {one.id: one for one in self._services.index.get_many([one.id for one in waiting])}
        return [known.get(one.id, one) for one in memories]
