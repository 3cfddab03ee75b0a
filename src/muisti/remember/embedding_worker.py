"""Embed the memories that have no vectors yet: at once, in a thread, or on request (D5, D6)."""

from __future__ import annotations

import functools
import logging
import threading
import time
import weakref
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import accumulate

from muisti.errors import (
    EmbedderProblem,
    EmbedderUnavailable,
    IndexProblem,
    MuistiError,
    VaultBusy,
    VaultError,
)
from muisti.model import Memory
from muisti.ports import Embedded, Embedder, Progress, Services, Space
from muisti.ports.waiting import limit_wait
from muisti.remember.bulk_embedding import (
    LONG_BATCH,
    OVERHEAD,
    BulkEmbedding,
    WorkProgress,
    choose_threads,
    lower_priority,
    measure_text,
    split_batches,
)
from muisti.remember.embed import (
    USUAL,
    embed,
    embed_parts,
    fit_chunking,
    get_chunking,
    identify_space,
)

log = logging.getLogger("muisti")
BATCH = 32
"""The most memories that are stored in one transaction."""
LARGE_BATCH, QUICK, FRESH = 512, 0.25, 1.0
"""The same for saved memories if a batch takes under QUICK seconds; for FRESH, none is reread."""
SMALL_BATCH = 8
"""The same for a local model in the background: stopping it loses the batch."""
AT_ONCE = 64
"""The most memories that a search embeds before it returns."""
BUDGET = 3000
"""The same in characters, with OVERHEAD for each: about 300 ms with the default model."""
SAVE_BUDGET = 10_000
"""The same for `save` of one memory: about a second."""
LONGEST = 0.3
"""Seconds of CPU time after which it stops all the same, on a slow machine."""
LONG = 100_000
"""Characters. A longer text takes seconds to embed, so that also `save_batch` leaves it."""
WAIT = 0.05
"""Seconds between two looks at what others embed."""
PAUSE = 1.0
"""Seconds that the thread pauses at most while a search runs, so that it comes to an end."""
LAST_REPLY = 1.0
"""Seconds that closing waits for a server's reply. A local model is always waited for."""


class Stopped(Exception):
    """Embedding was stopped between two chunks."""


def embed_missing(
    services: Services,
    *,
    progress: Progress | None = None,
    between: Callable[[], None] | None = None,
    timeout: float | None = None,
) -> int:
    """Embed memories that have no vectors of the configured model. Return how many were embedded.

    A vector space that is complete replaces the one that searches used before. `between` is called
    before each chunk; what it raises ends this. Without it, this also waits for texts that another
    process embeds. Timeout: how long to wait for the store's lock. Raises EmbedderProblem,
    VaultBusy.
    """
    embedder = services.embedders(None)
    if embedder is None:
        return 0
    space = _open_space(services, embedder, timeout)
    total = space.missing
    most = BATCH if between is None or embedder.is_remote else SMALL_BATCH
    work = services.vectors.measure_missing(space) + total * OVERHEAD if progress else 0
    reported = WorkProgress(progress, total, work)
    done = 0
    with _open_bulk(services, embedder, between, reported) as bulk:
        while done < total:
            ids = services.vectors.claim_missing(space, min(BATCH, total - done))
            if not ids:
                if between is None and services.vectors.count_claimed(space):
                    time.sleep(WAIT)  # another thread or process embeds the rest
                    continue
                break
            with _load_claimed(services, space, ids) as claimed:
                for batch in split_batches(claimed, most):
                    reported.start(sum(map(measure_text, batch)))
                    _embed_possible(services, embedder, space, batch, between, bulk, timeout)
                    reported.finish()
            done += len(ids)  # some may have been deleted meanwhile
    reported.end()
    return done


def embed_memories(
    services: Services, memories: Sequence[Memory], progress: Progress | None = None
) -> int:
    """Embed these memories now. Return how many others are not embedded. Raises EmbedderProblem."""
    embedder = services.embedders(None)
    if embedder is None:
        return 0
    space = _open_space(services, embedder)
    reported = WorkProgress(progress, len(memories), sum(map(measure_text, memories)))
    with _open_bulk(services, embedder, None, reported) as bulk:
        at, most, first = 0, BATCH, time.monotonic()
        while at < len(memories):
            some = {memory.id: memory for memory in memories[at : at + most]}
            at, started = at + most, time.monotonic()
            ids = services.vectors.claim_missing(space, most, list(some))
            known = some if started - first < FRESH else {}
            with _load_claimed(services, space, ids, known) as claimed:
                for batch in split_batches(claimed, most):
                    reported.start(sum(map(measure_text, batch)))
                    _embed_batch(services, embedder, space, batch, bulk=bulk)
                    reported.finish()
            most = min(2 * most, LARGE_BATCH) if time.monotonic() - started < QUICK else BATCH
    return _open_space(services, embedder).missing


@contextmanager
def _open_bulk(
    services: Services,
    embedder: Embedder,
    between: Callable[[], None] | None,
    progress: WorkProgress,
) -> Iterator[BulkEmbedding | None]:
    """Yield what embeds in bulk; None in the background, where `between` is called."""
    if between is not None:
        yield None
        return
    with BulkEmbedding(choose_threads(services, embedder), progress) as bulk:
        yield bulk


@contextmanager
def _load_claimed(
    services: Services, space: Space, ids: Sequence[str], known: Mapping[str, Memory] | None = None
) -> Iterator[list[Memory]]:
    """Yield texts that were claimed. Release those that a replica does not have yet.

    After an error, release all that are not embedded. Known: texts that need not be read.
    """
    found: list[Memory] = []
    try:
        found = [known[id_] for id_ in ids] if known else _load(services, ids)
        yield found
    except BaseException:
        with suppress(MuistiError):  # the claims run out if the store cannot be reached
            services.vectors.release(space, ids)
        raise
    read = {memory.id for memory in found}
    if len(read) < len(ids):
        services.vectors.release(space, [id_ for id_ in ids if id_ not in read])


def _embed_possible(
    services: Services,
    embedder: Embedder,
    space: Space,
    batch: Sequence[Memory],
    between: Callable[[], None] | None,
    bulk: BulkEmbedding | None,
    timeout: float | None,
) -> None:
    """Embed and store a batch. If the model fails, postpone only the texts that it fails for.

    Raises the error if it fails for all of several texts: then the model is to blame.
    """
    failed: list[str] = []
    errors: list[Exception] = []
    for part in [batch] if len(batch) == 1 else [batch, *([memory] for memory in batch)]:
        try:
            _embed_batch(services, embedder, space, part, between, bulk, timeout)
            if part is batch:
                return
        except (EmbedderUnavailable, VaultError, IndexProblem, Stopped):
            raise
        except Exception as error:
            if not services.store.queue.is_shared:
                raise
            errors.append(error)
            failed += [memory.id for memory in part if len(part) == 1]
    if len(failed) == len(batch) > 1:
        raise errors[-1]
    if failed:
        log.warning("%d texts cannot be embedded; retried later: %s", len(failed), errors[-1])
        pause = services.settings.embedder_retry
        services.vectors.postpone(space, failed, str(errors[-1]), pause)


def _embed_batch(
    services: Services,
    embedder: Embedder,
    space: Space,
    batch: Sequence[Memory],
    between: Callable[[], None] | None = None,
    bulk: BulkEmbedding | None = None,
    timeout: float | None = None,
) -> None:
    """Embed and store a batch; a single long memory in parts, after those stored already."""
    batch = _copy_known(services, space, batch, timeout)
    if not batch:
        return
    chunking = get_chunking(services.settings)
    if len(batch) > 1 or measure_text(batch[0]) <= LONG_BATCH:
        embedded = embed(embedder, batch, chunking=chunking, between=between, bulk=bulk)
        _store(services, embedded, timeout)
        return
    stored = services.vectors.count_pieces(space, [batch[0].id]).get(batch[0].id, 0)
    for part in embed_parts(
        embedder, batch[0], stored, chunking=chunking, between=between, bulk=bulk
    ):
        _store(services, [part], timeout)


def _copy_known(
    services: Services, space: Space, memories: Sequence[Memory], timeout: float | None
) -> list[Memory]:
    """Copy the vectors of memories with the same text. Return the memories that have none."""
    same = services.vectors.find_same(space, [memory.id for memory in memories])
    if same:
        with services.store.lock(timeout):
            services.vectors.copy_same(space, same)
    return [memory for memory in memories if memory.id not in same]


def _load(services: Services, ids: Sequence[str]) -> list[Memory]:
    return services.index.get_many(ids, include_deleted=True, any_origin=True)


def _store(services: Services, embedded: Sequence[Embedded], timeout: float | None) -> None:
    with services.store.lock(timeout):
        services.vectors.add(embedded)


def _open_space(services: Services, embedder: Embedder, timeout: float | None = None) -> Space:
    """Return the vector space of this embedder and these chunks, created if missing."""
    chunking = get_chunking(services.settings)
    identity = identify_space(embedder, chunking)
    most = fit_chunking(chunking, embedder).size
    if most < chunking.size != USUAL.size:
        _warn_capped(chunking.size, most, identity.model)
    spaces = services.vectors.spaces()
    known = next((space for space in spaces if space.identity == identity), None)
    if known is not None and (not known.serving or len(spaces) == 1):
        return known  # otherwise there is an unfinished space of another model to be removed
    with services.store.lock(timeout):
        return services.vectors.prepare(identity)


@functools.cache  # once for each model
def _warn_capped(size: int, most: int, model: str) -> None:
    log.warning(
        "chunk_size = %d is more than %s reads: chunks have at most %d tokens", size, model, most
    )


def _end(
    thread: threading.Thread,
    stop: threading.Event,
    wake: threading.Event,
    remote: threading.Event | None = None,
) -> None:
    """Stop the thread and wait for it: a process that exits while a model runs would abort."""
    stop.set()
    wake.set()
    if thread is not threading.current_thread():  # the thread may hold the worker's last reference
        thread.join(timeout=LAST_REPLY if remote is not None and remote.is_set() else 10)


class EmbeddingWorker:
    """Embeds in a thread what a search or save does not wait for, and retries what failed."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._stop = threading.Event()
        self._wake = threading.Event()
        self._remote = threading.Event()
        """Set while the thread may be waiting for a server."""
        self._thread: threading.Thread | None = None
        self._guard = threading.Lock()
        self._embedding = threading.Lock()
        self._searches = 0
        self._quiet = threading.Event()
        """Set while no search runs."""
        self._quiet.set()
        self._warned = False
        self._busy = False
        self._cold = False
        self.postponed = False
        """Whether something was left to another process, because there is no thread."""

    def catch_up(self) -> None:
        """Embed what is missing if it is little; otherwise leave it to the thread.

        Never waits for a lock. Raises EmbedderProblem.
        """
        try:
            embedder = self._services.embedders(None)
            if embedder is None:
                return
            space = _open_space(self._services, embedder, timeout=0.0)
            # Unless another thread embeds already: embedding a text twice at once helps nothing.
            if space.missing and not self._busy and not self._embed_few(embedder, space):
                self.wake()
        except EmbedderProblem as error:
            self._warn(error)
            if self._services.use_threads or isinstance(error, EmbedderUnavailable):
                self.wake()  # a process cannot fix a missing model either
            raise
        except VaultBusy:  # another process writes: search with the vectors there are
            self.wake()
        except (VaultError, IndexProblem) as error:  # for example a read-only vault
            log.debug("embedding postponed: %s", error)

    def _embed_few(self, embedder: Embedder, space: Space) -> bool:
        """Embed the memories that fit the budget, if few are missing. Return whether all did."""
        if space.missing > AT_ONCE:
            return False
        memories = self._find_short(space)
        if not memories:
            return False
        if not self._embedding.acquire(blocking=False):
            return True  # another search embeds them
        try:
            return self._embed_claimed(embedder, space, memories) == space.missing
        finally:
            self._embedding.release()

    def _embed_claimed(self, embedder: Embedder, space: Space, memories: list[Memory]) -> int:
        """Claim and embed texts, as many as there is time for. Return how many."""
        embedded: list[Embedded] = []
        started = None
        ids = [memory.id for memory in memories]
        claimed = self._services.vectors.claim_missing(space, len(ids), ids)
        with _load_claimed(self._services, space, claimed) as own:
            unknown = _copy_known(self._services, space, own, timeout=0.0)
            chunking = get_chunking(self._services.settings)
            for memory in unknown:
                embedded += embed(embedder, [memory], chunking=chunking)
                # CPU time of this thread: other processes do not change what a search embeds. The
                # first includes loading the model, which the query needs anyway.
                used = time.thread_time()
                started = used if started is None else started
                if used - started > LONGEST:
                    break
            _store(self._services, embedded, timeout=0.0)
        left = [memory.id for memory in unknown[len(embedded) :]]
        if left:
            self._services.vectors.release(space, left)
        return len(own) - len(left)

    def _find_short(self, space: Space) -> list[Memory]:
        """Return missing memories that fit the budget together, the shortest first."""
        ids = self._services.vectors.find_missing(space, AT_ONCE)
        found: list[Memory] = []
        for start in range(0, len(ids), 8):
            found += _load(self._services, ids[start : start + 8])
            if sum(map(measure_text, found)) > LONG:
                break  # reading the others would take too long
        found.sort(key=measure_text)
        used = list(accumulate(map(measure_text, found)))
        return found[: bisect_right(used, BUDGET)]

    def embed_now(self, memories: Sequence[Memory], progress: Progress | None = None) -> None:
        """Embed new memories; leave long texts, other memories and failures to the thread.

        A single memory is embedded now if it fits SAVE_BUDGET, a batch in any case.
        """
        most = SAVE_BUDGET if len(memories) == 1 else LONG
        now = [memory for memory in memories if measure_text(memory) <= most]
        try:
            if len(memories) > 1:
                with self._embedding:
                    missing = embed_memories(self._services, now, progress)
            elif now and self._embedding.acquire(timeout=LONGEST):
                try:
                    with limit_wait(self._services.settings.embedder_query_timeout):
                        missing = embed_memories(self._services, now)
                finally:
                    self._embedding.release()
            else:
                missing = 1
            if missing:
                self.wake()
        except EmbedderProblem as error:
            self._warn(error)
            self.wake()
        except (VaultError, IndexProblem) as error:
            log.debug("embedding postponed: %s", error)

    def postpone(self, memories: Sequence[Memory]) -> None:
        """Leave long texts to another process if there is no thread; a search embeds short ones."""
        if not self._services.use_threads and sum(map(measure_text, memories)) > BUDGET:
            self.postponed = True

    @contextmanager
    def give_way(self) -> Iterator[None]:
        """Let the thread pause before the next chunk, while a search runs."""
        with self._guard:
            self._searches += 1
            self._quiet.clear()
        try:
            yield
        finally:
            with self._guard:
                self._searches -= 1
                if not self._searches:
                    self._quiet.set()

    def warm_up(self) -> None:
        """Load the model, and what searches keep in memory, in the thread."""
        self._cold = True
        self.wake()

    def wake(self) -> None:
        """Make the thread look for memories to embed."""
        if not self._services.use_threads:
            self.postponed = True
            return
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
                weakref.finalize(self, _end, self._thread, self._stop, self._wake, self._remote)

    def close(self) -> None:
        """Stop the thread after the current chunk. A server that hangs is not waited for."""
        self._stop.set()
        self._wake.set()
        self._quiet.set()
        if self._thread is not None:
            is_remote = self._remote.is_set()
            timeout = LAST_REPLY if is_remote else self._services.settings.embedder_timeout
            self._thread.join(timeout=timeout)

    def _run(self) -> None:
        lower_priority()
        while not self._stop.is_set():
            self._busy = True
            self._wake.clear()  # first, so that a wake() during the work is not lost
            try:
                embedder = self._services.embedders(None)
                if embedder is not None and embedder.is_remote:
                    self._remote.set()
                if self._cold:
                    if embedder is not None and not embedder.is_ready():
                        embedder.embed_documents(["ready?"])
                    with self._services.index.snapshot():
                        self._services.index.open_columns()  # reads what the first search needs
                    self._cold = False
                embed_missing(self._services, between=self._check)
                self._warned = self._busy = False
                self._wake.wait()
            except Stopped:
                return
            except MuistiError as error:
                self._warn(error)
                self._stop.wait(self._services.settings.embedder_retry)
            except Exception:
                log.exception("embedding failed; it is retried")
                self._stop.wait(self._services.settings.embedder_retry)

    def _check(self) -> None:
        """Pause while a search runs. Raises Stopped if the vault is being closed."""
        self._quiet.wait(PAUSE)
        if self._stop.is_set():
            raise Stopped

    def _warn(self, error: MuistiError) -> None:
        """Log a warning once per outage, not once per search."""
        if not self._warned and not self._stop.is_set():
            log.warning("no embeddings for now, searches use keywords only: %s", error)
            self._warned = True
