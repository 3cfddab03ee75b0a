"""Embed many texts on all cores, and report progress by the amount of text."""

from __future__ import annotations

import itertools
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from types import TracebackType
from typing import Self

from muisti.model import Memory
from muisti.ports import Embedder, Matrix, Progress, Services
from muisti.processes import count_cores

MOST_THREADS = 8
"""Each thread takes up to 30 MB while it embeds a full chunk."""
LONG_BATCH = 30_000
"""The most characters of a batch: a few seconds. A longer text is stored in parts."""
OVERHEAD = 30
"""Characters that each text counts more than it has."""
SAVING = 10
"""Saving many memories takes one part in this many of the time; embedding takes the rest."""


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
    return min(count_cores(), MOST_THREADS)


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


def split_batches(memories: Sequence[Memory], most: int) -> Iterator[list[Memory]]:
    """Yield batches that are stored together, short texts first: long ones take minutes.

    A crash loses at most one batch. A text longer than LONG_BATCH is a batch of its own.
    """
    batch: list[Memory] = []
    length = 0
    for memory in sorted(memories, key=measure_text):
        if batch and (len(batch) == most or length + measure_text(memory) > LONG_BATCH):
            yield batch
            batch, length = [], 0
        batch.append(memory)
        length += measure_text(memory)
    if batch:
        yield batch


def measure_text(memory: Memory) -> int:
    """Return how much of BUDGET a memory takes."""
    return len(memory.title) + len(memory.content) + OVERHEAD


def split_progress(progress: Progress | None) -> tuple[Progress | None, Progress | None]:
    """Return the progress of saving and of embedding as parts of one, by the time they take."""
    if progress is None:
        return None, None

    def report_saved(done: int, total: int) -> None:
        progress(done // SAVING, total)

    def report_embedded(done: int, total: int) -> None:
        progress(total // SAVING + done - done // SAVING, total)

    return report_saved, report_embedded


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
