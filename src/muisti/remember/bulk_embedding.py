"""Embed many texts on all cores, and report progress by the amount of text."""

from __future__ import annotations

import itertools
import os
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from types import TracebackType
from typing import Self

from muisti.ports import Embedder, Matrix, Progress, Services

MOST_THREADS = 8
"""Each thread takes up to 30 MB while it embeds a full chunk."""


def lower_priority() -> None:
    """Let other threads run before this one. Only Linux has priorities of single threads."""
    if sys.platform == "linux":
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)


def choose_threads(services: Services, embedder: Embedder) -> int:
    """Return how many threads embed in bulk: all cores, one in a server or if the settings say so.

    With `embedder_threads` set, the model itself runs on that many threads for each text.
    """
    if not services.use_all_cores or not embedder.is_parallel or services.settings.embedder_threads:
        return 1
    if sys.platform == "linux":
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    return min(cores, MOST_THREADS)


class WorkProgress:
    """Reports how many memories are embedded, by the share of text: long ones take longer."""

    def __init__(self, report: Progress | None, memories: int, work: int) -> None:
        self._report = report
        self._memories = memories
        self._work = max(1, work)
        self._done = 0
        self._limit = 0
        self._reported = -1
        self._send(0)

    def start(self, work: int) -> None:
        """Begin a batch with this much text."""
        self._limit = min(self._work, self._done + work)

    def advance(self, work: int) -> None:
        """Report a part of the batch. Chunks overlap, so this never exceeds the batch."""
        self._done = min(self._limit, self._done + work)
        self._send(self._memories * self._done // self._work)

    def finish(self) -> None:
        """End the batch: all of it is stored."""
        self.advance(self._work)

    def end(self) -> None:
        """Report that all is done."""
        self._send(self._memories)

    def _send(self, memories: int) -> None:
        if self._report is not None and self._memories and memories > self._reported:
            self._reported = memories
            self._report(memories, self._memories)


class BulkEmbedding:
    """Embeds texts one by one on several threads, the longest first.

    Several texts in one run of a model would change each other's vectors (D1).
    """

    def __init__(self, threads: int, progress: WorkProgress) -> None:
        self._threads = threads
        self._progress = progress
        self._pool: ThreadPoolExecutor | None = None

    def __call__(self, embedder: Embedder, texts: Sequence[str]) -> Matrix:
        """Return one row for each text. Raises EmbedderProblem."""
        import numpy as np  # slow to import

        if embedder.is_remote:
            rows = embedder.embed_documents(texts)
            self._progress.advance(sum(map(len, texts)))
            return rows
        longest_first = sorted(range(len(texts)), key=lambda at: -len(texts[at]))
        made: dict[int, Matrix] = {}
        if self._threads == 1 or len(texts) == 1:
            for at in longest_first:
                made[at] = embedder.embed_documents([texts[at]])
                self._progress.advance(len(texts[at]))
        else:
            pool = self._pool = self._pool or _open_pool(self._threads)
            waiting = {
                pool.submit(embedder.embed_documents, [texts[at]]): at for at in longest_first
            }
            try:
                for future in as_completed(waiting):
                    made[waiting[future]] = future.result()
                    self._progress.advance(len(texts[waiting[future]]))
            finally:  # after an error or Ctrl+C
                for future in waiting:
                    future.cancel()
        return np.concatenate([made[at] for at in range(len(texts))])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)


def _open_pool(threads: int) -> ThreadPoolExecutor:
    """Return threads of which all but one give way to other programs, such as a server."""
    numbers = itertools.count()

    def initialize() -> None:
        if next(numbers):
            lower_priority()

    return ThreadPoolExecutor(threads, thread_name_prefix="muisti-bulk", initializer=initialize)
