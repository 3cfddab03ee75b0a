"""Extract memories from conversations in the background, each exchange once (contract I1)."""

from __future__ import annotations

import logging
import queue
import threading
import time
import weakref
from collections.abc import Callable, Sequence

from muisti.errors import (
    ExtractorUnavailable,
    IndexProblem,
    InvalidMemory,
    InvalidRequest,
    MuistiError,
    TenantNotFound,
    VaultError,
)
from muisti.metrics import MetricsRecorder
from muisti.model import EventName, Exchange, Memory, Utterance
from muisti.ports import Services
from muisti.remember.extracted import extract_redacted, store_extracted, trim_session

log = logging.getLogger("muisti")
MOST_CLAIMED = 8
"""Exchanges that a process claims at a time in a queue that it shares with others."""
LOOK_AGAIN = 1.0
"""Seconds between two looks at a shared queue while exchanges of this process wait there."""
LAST_WAIT = 5.0
"""Seconds that `close` waits for memories that are being stored."""


Change = Callable[..., list[Memory]]
"""Runs an operation that writes to the vault, with an index that is up to date."""


class ExtractionWorker:
    """Extracts memories from exchanges in a thread, one after the other."""

    def __init__(
        self,
        services: Services,
        metrics: MetricsRecorder,
        change: Change,
        end_replaced: Callable[[Services, Sequence[Memory]], list[Memory]],
    ) -> None:
        """End replaced: marks the memories as outdated that corrections replaced."""
        self._services = services
        self._end_replaced = end_replaced
        self._metrics = metrics
        self._change: Callable[[], Change | None] = weakref.WeakMethod(change)
        self._queue: queue.Queue[tuple[Exchange, bool] | None] = queue.Queue()
        self._stop = threading.Event()
        self._guard = threading.Lock()
        self._thread: threading.Thread | None = None
        self._left_some = False
        """Whether exchanges were accepted that wait in a shared queue."""
        self._taken = 0
        """How many exchanges were taken over."""
        self._has_more = False
        """Whether more exchanges wait there than were taken."""
        self._may_lack_files = False
        """Whether a process that has ended may have written files that the index lacks."""
        self._postponed: list[Exchange] = []
        """Exchanges that the vault could not store; retried after one that it could."""
        self._writing = threading.Lock()
        self._asking = False
        """Whether the thread is waiting for the extractor, which may hang."""
        self._warned_refused = False
        self._is_down = False
        """Whether the extractor failed last. Set and cleared by the thread."""

    def accept(self, exchange: Exchange) -> bool:
        """Write an exchange, which is redacted already, to the queue on disk.

        Returns False, with a warning, if the queue or the disk is full.
        """
        if self._stop.is_set():
            return self._refuse("the vault has been closed")
        if self._queue.unfinished_tasks >= self._services.settings.extract_queue:
            return self._refuse("the queue is full; is the extractor down?")
        try:
            claim = self._queue.unfinished_tasks < MOST_CLAIMED
            is_own = self._services.store.queue.put(exchange, claim=claim)
        except MuistiError as error:
            return self._refuse(str(error))
        self._warned_refused = False
        if is_own:
            self._queue.put((exchange, False))
        self._left_some |= not is_own
        self._start()
        return True

    def take_over(self) -> int:
        """Continue with the exchanges that no running process has, and with the postponed ones.

        While extraction is off, they stay in the queue on disk. Returns how many were taken over.
        """
        room = MOST_CLAIMED - self._queue.unfinished_tasks
        is_full = self._services.store.queue.is_shared and room <= 0
        if is_full or not self._services.settings.extraction_enabled:
            return 0
        try:
            found = self._services.store.queue.take_over(max(room, 1))
        except TenantNotFound:  # it was dropped, with all that waited
            self._left_some = self._has_more = False
            return 0
        except MuistiError as error:
            log.warning("queued extraction is postponed: %s", error)
            return 0
        for exchange in found:
            self._queue.put((exchange, True))
        self._taken += len(found)
        self._has_more = self._services.store.queue.is_shared and len(found) >= room
        if found:
            self._may_lack_files = not self._services.store.queue.is_shared
            self._start()
        self._retry_postponed()
        return len(found)

    def work(self, check: Callable[[], None]) -> int:
        """Process exchanges that no running process has, until none is left. Return how many.

        Stops if the extractor is down. Check is called meanwhile; what it raises ends this.
        """
        before = self._taken
        while True:
            is_idle = not self._queue.unfinished_tasks
            found = self.take_over()
            while self._queue.unfinished_tasks and not self._is_down:
                check()
                time.sleep(0.01)
            if self._is_down or (is_idle and not found):
                return self._taken - before

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until all accepted exchanges are done. Return False if that takes longer."""
        end = None if timeout is None else time.monotonic() + timeout
        while self._is_busy():
            if self._thread is None or not self._thread.is_alive():
                return False
            if end is not None and time.monotonic() > end:
                return False
            time.sleep(0.005)
        return True

    def _is_busy(self) -> bool:
        """Return whether exchanges wait here, or were accepted here and wait for any process."""
        if self._queue.unfinished_tasks:
            return True
        return self._left_some and self._count_accepted()

    def finish(self, patience: float) -> None:
        """Wait for accepted exchanges, but not for an extractor that is down."""
        end = time.monotonic() + patience
        while not self._is_down and time.monotonic() < end:
            is_running = self._thread is not None and self._thread.is_alive()
            if not is_running or not self._is_busy():
                return
            time.sleep(0.005)

    def close(self) -> None:
        """Stop now. Exchanges that are not finished stay in the queue on disk.

        Waits for memories that are being stored, not for the extractor.
        """
        self._stop.set()
        self._queue.put(None)
        end = time.monotonic() + LAST_WAIT
        is_free = self._writing.acquire(timeout=LAST_WAIT)
        # The next process that opens the vault takes the exchange over: not both.
        self._change = lambda: None
        if is_free:
            self._writing.release()
        while self._thread is not None and self._thread.is_alive():
            if self._asking or time.monotonic() > end:
                break
            self._thread.join(timeout=0.02)
        self._services.store.queue.close()

    def _refuse(self, why: str) -> bool:
        self._metrics.count("memory.extraction.refused")
        if not self._warned_refused:
            log.warning("an exchange is not extracted: %s", why)
        self._warned_refused = True
        return False

    def _start(self) -> None:
        with self._guard:
            if self._thread is None and not self._stop.is_set():
                self._thread = threading.Thread(
                    target=_run,
                    args=(weakref.ref(self), self._queue),
                    name="muisti-extraction",
                    daemon=True,
                )
                self._thread.start()

    def step(self, exchange: Exchange, *, again: bool) -> None:
        """Process one exchange. If that is not possible now, it is retried after the others."""
        if self._stop.is_set():
            return
        try:
            if not self._services.store.queue.holds(exchange.id):
                return  # forgotten, or taken over by another process
            self._process(exchange, again=again)
        except ExtractorUnavailable as error:
            if not self._is_down and not self._stop.is_set():
                log.warning("extraction is postponed: %s", error)
            self._is_down = True
            pause = self._services.settings.extractor_retry
            if self._postpone(exchange, error, pause, counts=False):
                return
            if not self._stop.wait(pause):
                self._queue.put((exchange, True))
        except (VaultError, IndexProblem) as error:
            self._save_later(exchange, error)
        except Exception as error:  # the thread must go on; the exchange is on disk
            if self._stop.is_set():
                return
            pause = self._services.settings.extractor_retry
            if self._postpone(exchange, error, pause, counts=True):
                log.warning("extraction failed; retried later: %r", error)
            else:
                log.warning("extraction failed; retried when the vault is opened next: %r", error)
        else:
            self._is_down = False
            self._retry_postponed()

    def _save_later(self, exchange: Exchange, error: VaultError | IndexProblem) -> None:
        """Keep an exchange whose memories the vault could not store."""
        if isinstance(error, TenantNotFound):
            log.info("an exchange is not extracted: %s", error)
            return
        log.warning("extracted memories cannot be saved now; retried later: %s", error)
        pause = self._services.settings.extractor_retry
        if not error.is_temporary and self._postpone(exchange, error, pause, counts=True):
            return  # such as a quota that is used up
        with self._guard:
            self._postponed.append(exchange)
            self._left_some |= self._services.store.queue.is_shared

    def _postpone(
        self, exchange: Exchange, error: Exception, pause: float, *, counts: bool
    ) -> bool:
        """Give an exchange back to a shared queue, and return whether that was possible."""
        try:
            given_back = self._services.store.queue.postpone(
                exchange.id, str(error) or type(error).__name__, pause, counts=counts
            )
        except MuistiError:
            return False
        self._left_some |= given_back
        return given_back

    def look_again(self, *, at_once: bool = False) -> float | None:
        """Take exchanges from a shared queue if none wait here. Return when to look again.

        At once: directly after another exchange; not if that failed.
        """
        is_waiting = self._left_some or self._has_more
        if self._stop.is_set() or not is_waiting or not self._queue.empty():
            return None
        if at_once and (self._is_down or self._postponed):
            return LOOK_AGAIN
        self._count_accepted()
        self.take_over()
        return LOOK_AGAIN if self._left_some or self._has_more else None

    def _count_accepted(self) -> bool:
        """Return whether exchanges that were accepted here wait in a shared queue."""
        try:
            self._left_some = self._services.store.queue.count_accepted() > 0
        except MuistiError as error:
            log.debug("the extraction queue cannot be read: %s", error)
        return self._left_some

    def _retry_postponed(self) -> None:
        with self._guard:
            postponed, self._postponed = self._postponed, []
        for exchange in postponed:
            self._queue.put((exchange, True))

    def _process(self, exchange: Exchange, *, again: bool) -> None:
        if again and self._may_lack_files:
            self._may_lack_files = False
            try:
                self._write(lambda services: services.reconciler.sync())
            except BaseException:
                self._may_lack_files = True
                raise
        events = self._services.store.events(exchange.id) if again else ()
        if any(event.name == EventName.EXTRACTED for event in events):
            self._write(trim_session, exchange.session_id)
        else:
            self._metrics.count("memory.extraction.count")
            try:
                with self._metrics.measure("extraction"):
                    self._extract(exchange, again=again)
            except BaseException:
                self._metrics.count("memory.extraction.errors")
                raise
        self._services.store.queue.done(exchange.id)

    def _extract(self, exchange: Exchange, *, again: bool) -> None:
        utterances = (
            Utterance(exchange.user, exchange.speaker, "user", exchange.at),
            Utterance(exchange.assistant, "Assistant", "assistant", exchange.at, exchange.speaker),
        )
        conversation = [utterance for utterance in utterances if utterance.text.strip()]
        try:
            self._asking = self._services.language_model is not None
            try:
                found = extract_redacted(self._services, conversation, exchange.mode)
            finally:
                self._asking = False
        except ExtractorUnavailable:
            raise
        except Exception as error:
            self._give_up(exchange, error)
            return
        try:
            saved = self._write(store_extracted, exchange, found, again=again)
        except (InvalidMemory, InvalidRequest) as error:
            self._give_up(exchange, error)
            return
        replacing = [memory for memory in saved if any(link.supersedes for link in memory.links)]
        if replacing:
            self._write(self._end_replaced, replacing)
        self._metrics.count("memory.extraction.success")
        self._metrics.count("memory.saved.count", len(saved))

    def _give_up(self, exchange: Exchange, error: Exception) -> None:
        """Record an exchange as done though nothing was extracted: a retry would fail as well."""
        log.warning("extraction failed for one exchange: %s", error)
        self._write(store_extracted, exchange, (), error=type(error).__name__)
        self._metrics.count("memory.extraction.errors")

    def _write(
        self, operation: Callable[..., list[Memory]], *args: object, **kwargs: object
    ) -> list[Memory]:
        with self._writing:
            change = self._change()
            if change is None:
                raise MuistiError("the vault was closed in the meantime")
            return change(operation, *args, **kwargs)


def _run(
    worker: weakref.ref[ExtractionWorker], exchanges: queue.Queue[tuple[Exchange, bool] | None]
) -> None:
    """Process exchanges. Refers to the worker only meanwhile, so that it can be collected."""
    wait: float | None = None
    while True:
        try:
            item = exchanges.get(timeout=wait)
        except queue.Empty:
            item = None
            alive = worker()
            if alive is None:
                return
            wait = alive.look_again()
            del alive
            continue
        alive = worker()
        try:
            if alive is None or item is None:
                return
            alive.step(item[0], again=item[1])
            wait = alive.look_again(at_once=True)
        finally:
            exchanges.task_done()
            del alive
