"""Embed the memories that have no vectors yet: at once, in a thread, or on request (D5, D6)."""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Sequence

from muisti.errors import EmbedderProblem, IndexProblem, MuistiError, VaultBusy, VaultError
from muisti.model import Memory
from muisti.ports import Embedder, Progress, Services, Space
from muisti.remember.embed import embed

log = logging.getLogger("muisti")
BATCH = 32
AT_ONCE = 64
"""The most memories that a search embeds before it returns; the thread embeds the rest."""
LONG = 100_000
"""Characters. A longer text takes seconds to embed, so the thread does it."""


def embed_missing(
    services: Services,
    *,
    limit: int | None = None,
    progress: Progress | None = None,
    stop: threading.Event | None = None,
    timeout: float | None = None,
) -> int:
    """Embed memories that have no vectors of the configured model. Return how many were embedded.

    A vector space that is complete replaces the one that searches used before.
    Timeout: how long to wait for the store's lock. Raises EmbedderProblem, VaultBusy.
    """
    embedder = services.embedders(None)
    if embedder is None:
        return 0
    space = _open_space(services, embedder, timeout)
    total = space.missing if limit is None else min(limit, space.missing)
    done = 0
    while done < total and not (stop is not None and stop.is_set()):
        ids = services.vectors.missing(space, min(BATCH, total - done))
        if not ids:
            break
        _embed_batch(services, embedder, ids, timeout)
        done += len(ids)
        if progress:
            progress(done, total)
    return done


def embed_memories(services: Services, ids: Sequence[str], progress: Progress | None = None) -> int:
    """Embed these memories now. Return how many others are not embedded. Raises EmbedderProblem."""
    embedder = services.embedders(None)
    if embedder is None:
        return 0
    _open_space(services, embedder)
    for start in range(0, len(ids), BATCH):
        _embed_batch(services, embedder, ids[start : start + BATCH])
        if progress:
            progress(min(start + BATCH, len(ids)), len(ids))
    return _open_space(services, embedder).missing


def _embed_batch(
    services: Services, embedder: Embedder, ids: Sequence[str], timeout: float | None = None
) -> None:
    embedded = embed(embedder, services.index.many(ids, include_deleted=True, any_origin=True))
    with services.store.lock(timeout):
        services.vectors.add(embedded)


def _open_space(services: Services, embedder: Embedder, timeout: float | None = None) -> Space:
    """Return the vector space of this embedder, created if missing."""
    identity = embedder.identity()
    spaces = services.vectors.spaces()
    known = next((space for space in spaces if space.identity == identity), None)
    if known is not None and (not known.serving or len(spaces) == 1):
        return known  # otherwise there is an unfinished space of another model to be removed
    with services.store.lock(timeout):
        return services.vectors.prepare(identity)


def split_progress(progress: Progress | None) -> tuple[Progress | None, Progress | None]:
    """Return the progress of saving and of embedding as the two halves of one."""
    if progress is None:
        return None, None

    def report_saved(done: int, total: int) -> None:
        progress(done // 2, total)

    def report_embedded(done: int, total: int) -> None:
        progress(total // 2 + (done + 1) // 2, total)

    return report_saved, report_embedded


def _end(thread: threading.Thread, stop: threading.Event, wake: threading.Event) -> None:
    stop.set()
    wake.set()
    if thread is not threading.current_thread():  # the thread may hold the worker's last reference
        thread.join(timeout=10)


class EmbeddingWorker:
    """Embeds in a thread what a search or save does not wait for, and retries what failed."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._stop = threading.Event()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._guard = threading.Lock()
        self._embedding = threading.Lock()
        self._warned = False
        self._busy = False
        self._cold = False

    def catch_up(self) -> None:
        """Embed a few memories now and leave the rest to the thread. Raises EmbedderProblem.

        Never waits for a lock.
        """
        try:
            embedder = self._services.embedders(None)
            if embedder is None:
                return
            missing = _open_space(self._services, embedder, timeout=0.0).missing
            # Unless another thread embeds already: embedding a text twice at once helps nothing.
            if missing and not self._busy and self._embedding.acquire(blocking=False):
                try:
                    embed_missing(self._services, limit=AT_ONCE, timeout=0.0)
                finally:
                    self._embedding.release()
            if missing > AT_ONCE:
                self.wake()
        except EmbedderProblem as error:
            self._warn(error)
            self.wake()
            raise
        except VaultBusy:  # another process writes: search with the vectors there are
            self.wake()
        except (VaultError, IndexProblem) as error:  # for example a read-only vault
            log.debug("embedding postponed: %s", error)

    def embed_now(self, memories: Sequence[Memory], progress: Progress | None = None) -> None:
        """Embed new memories; leave long texts, other memories and failures to the thread."""
        ids = [memory.id for memory in memories if len(memory.content) <= LONG]
        try:
            with self._embedding:
                missing = embed_memories(self._services, ids, progress)
            if missing:
                self.wake()
        except EmbedderProblem as error:
            self._warn(error)
            self.wake()
        except (VaultError, IndexProblem) as error:
            log.debug("embedding postponed: %s", error)

    def warm_up(self) -> None:
        """Load the model in the thread."""
        self._cold = True
        self.wake()

    def wake(self) -> None:
        """Make the thread look for memories to embed."""
        with self._guard:
            if self._stop.is_set():
                return
            self._wake.set()
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="muisti-embedding", daemon=True
                )
                self._thread.start()
                # Without close(), the process must not exit while the model runs: it would abort.
                weakref.finalize(self, _end, self._thread, self._stop, self._wake)

    def close(self) -> None:
        """Stop the thread after the current batch."""
        self._stop.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join(timeout=self._services.settings.embedder_timeout)

    def _run(self) -> None:
        while not self._stop.is_set():
            self._busy = True
            self._wake.clear()  # first, so that a wake() during the work is not lost
            try:
                if self._cold:
                    embedder = self._services.embedders(None)
                    if embedder is not None and not embedder.is_ready():
                        embedder.embed_query("ready?")
                    self._cold = False
                embed_missing(self._services, stop=self._stop)
                self._warned = self._busy = False
                self._wake.wait()
            except MuistiError as error:
                self._warn(error)
                self._stop.wait(self._services.settings.embedder_retry)
            except Exception:
                log.exception("embedding failed; it is retried")
                self._stop.wait(self._services.settings.embedder_retry)

    def _warn(self, error: MuistiError) -> None:
        """Log a warning once per outage, not once per search."""
        if not self._warned:
            log.warning("no embeddings for now, searches use keywords only: %s", error)
            self._warned = True
