"""Memories that wait for their vectors get them: at once, in the background, or when somebody asks (contract D5, D6)."""

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
"""How many memories a search embeds before it answers; if more wait, a thread goes on with them."""
LONG = 100_000
"""Characters: longer texts take seconds to embed, and nobody waits for them."""


def embed_missing(
    services: Services,
    *,
    limit: int | None = None,
    progress: Progress | None = None,
    stop: threading.Event | None = None,
    timeout: float | None = None,
) -> int:
    """Give vectors to memories that have none, of the model of the settings. Return how many got theirs.

    A space that is complete takes the place of the one that served before. Timeout: how long to wait for the store's lock.
    Raises EmbedderProblem, VaultBusy.
    """
    embedder = services.embedders(None)
    if embedder is None:
        return 0
    space = _space(services, embedder, timeout)
    done, total = 0, space.missing if limit is None else min(limit, space.missing)
    while done < total and not (stop is not None and stop.is_set()):
        ids = services.vectors.find_missing(space, min(BATCH, total - done))
        if not ids:
            break
        _embed(services, embedder, ids, timeout)
        done += len(ids)
        if progress:
            progress(done, total)
    return done


def embed_these(services: Services, ids: Sequence[str], progress: Progress | None = None) -> int:
    """Give vectors to these memories now. Answers how many others wait for theirs. Raises EmbedderProblem."""
    embedder = services.embedders(None)
    if embedder is None:
        return 0
    _space(services, embedder)
    for start in range(0, len(ids), BATCH):
        _embed(services, embedder, ids[start : start + BATCH])
        if progress:
            progress(min(start + BATCH, len(ids)), len(ids))
    return _space(services, embedder).missing


def _embed(
    services: Services, embedder: Embedder, ids: Sequence[str], timeout: float | None = None
) -> None:
    embedded = embed(embedder, services.index.get_many(ids, include_deleted=True, any_origin=True))
    with services.store.lock(timeout):
        services.vectors.add(embedded)


def _space(services: Services, embedder: Embedder, timeout: float | None = None) -> Space:
    """The space of this embedder, made if there is none."""
    identity = embedder.identity()
    spaces = services.vectors.spaces()
    known = next((space for space in spaces if space.identity == identity), None)
    if known is not None and (not known.serving or len(spaces) == 1):
        return known  # else there also is what was begun for a model that is not wanted any more
    with services.store.lock(timeout):
        return services.vectors.prepare(identity)


def load(services: Services) -> None:
    """Have the embedder ready for the next question. Raises EmbedderProblem."""
    embedder = services.embedders(None)
    if embedder is not None and not embedder.is_ready():
        embedder.embed_query("ready?")


def halves(progress: Progress | None) -> tuple[Progress | None, Progress | None]:
    """The progress of a work in two parts, the second of which is the embedding."""
    if progress is None:
        return None, None
    return lambda done, all_: progress(done // 2, all_), lambda done, all_: progress(
        all_ // 2 + (done + 1) // 2, all_
    )


def _end(thread: threading.Thread, stop: threading.Event, wake: threading.Event) -> None:
    stop.set()
    wake.set()
    if (
        thread is not threading.current_thread()
    ):  # the thread itself may be the last to let go of the filler
        thread.join(timeout=10)


class EmbeddingWorker:
    """Embeds in a thread of its own what is more than a search or a save can wait for, and what failed before."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._stop = threading.Event()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._guard = threading.Lock()
        self._at_it = threading.Lock()
        self._warned = False
        self._busy = False
        self._cold = False

    def catch_up(self) -> None:
        """Embed what waits, if it is little; leave the rest to the thread. Waits for nobody's lock. Raises EmbedderProblem."""
        try:
            embedder = self._services.embedders(None)
            if embedder is None:
                return
            waiting = _space(self._services, embedder, timeout=0.0).missing
            if waiting and not self._busy:
                self._fill_some()
            if waiting > AT_ONCE:
                self.go_on()
        except EmbedderProblem as error:
            self._warn(error)
            self.go_on()
            raise
        except VaultBusy:  # another process writes: a search answers with what there is
            self.go_on()
        except (
            VaultError,
            IndexProblem,
        ) as error:  # a vault that can only be read is searched with what it has
            log.debug("vectors have to wait: %s", error)

    def _fill_some(self) -> None:
        """Embed a little of what waits, unless somebody is at it: the same text twice, at the same time, helps nobody."""
        if self._at_it.acquire(blocking=False):
            try:
                embed_missing(self._services, limit=AT_ONCE, timeout=0.0)
            finally:
                self._at_it.release()

    def embed_now(self, memories: Sequence[Memory], progress: Progress | None = None) -> None:
        """Embed what was just saved; long texts and what else waits are left to the thread. If it fails, that waits too."""
        ids = [memory.id for memory in memories if len(memory.content) <= LONG]
        try:
            with self._at_it:
                others_wait = embed_these(self._services, ids, progress)
            if others_wait:
                self.go_on()
        except EmbedderProblem as error:
            self._warn(error)
            self.go_on()
        except (VaultError, IndexProblem) as error:
            log.debug("vectors have to wait: %s", error)

    def warm_up(self) -> None:
        """Let the thread load the model."""
        self._cold = True
        self.go_on()

    def go_on(self) -> None:
        """Let the thread look for memories that wait."""
        with self._guard:
            if self._stop.is_set():
                return
            self._wake.set()
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="muisti-embedding", daemon=True
                )
                self._thread.start()
                # A process that ends without closing must not end in the middle of the model: that aborts it.
                weakref.finalize(self, _end, self._thread, self._stop, self._wake)

    def close(self) -> None:
        """End the thread after the batch that it is at."""
        self._stop.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join(timeout=self._services.settings.embedder_timeout)

    def _run(self) -> None:
        while not self._stop.is_set():
            self._busy = True
            self._wake.clear()  # before the work: whoever asks while it is done is heard
            try:
                if self._cold:
                    load(self._services)
                    self._cold = False
                embed_missing(self._services, stop=self._stop)
                self._warned = self._busy = False
                self._wake.wait()
            except MuistiError as error:
                self._warn(error)
                self._stop.wait(self._services.settings.embedder_retry)
            except Exception:
                log.exception("could not embed the memories that wait")
                self._stop.wait(self._services.settings.embedder_retry)

    def _warn(self, error: MuistiError) -> None:
        """Once for each time that it breaks down, not once for each search."""
        if not self._warned:
            log.warning("no vectors for now, searches go by keyword: %s", error)
            self._warned = True
