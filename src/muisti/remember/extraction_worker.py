"""Extract memories from conversations in the background, each exchange once (contract I1)."""

from __future__ import annotations

import logging
import queue
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

from muisti.errors import (
    ExtractorUnavailable,
    IndexProblem,
    InvalidMemory,
    InvalidRequest,
    MuistiError,
    VaultError,
)
from muisti.metrics import MetricsRecorder
from muisti.model import (
    Draft,
    Event,
    EventName,
    Exchange,
    Extracted,
    Filter,
    Memory,
    Tier,
    Utterance,
)
from muisti.ports import ChangeSet, Services
from muisti.remember.change import trash
from muisti.remember.identity import derive_id
from muisti.remember.pipeline import Prepared, prepare, store
from muisti.remember.scope import default_tier
from muisti.remember.session_corrections import link_correction, resolve_corrections
from muisti.settings import Settings
from muisti.text.redact import redact_text

log = logging.getLogger("muisti")
EXTRACTED = "extracted"
"""The source of extracted memories."""
EVERYWHERE = "everywhere"
"""The value of `Exchange.preferences` that makes preferences global."""
LAST_WAIT = 5.0
"""Seconds that `close` waits for memories that are being stored."""


def extract_from(
    services: Services, conversation: Sequence[Utterance], mode: str
) -> list[Extracted]:
    """Return what the configured extractor finds in a conversation. Raises ExtractorProblem.

    Nothing if extraction is off.
    """
    if not services.settings.extraction_enabled:
        return []
    redacted = [
        replace(
            utterance,
            text=redact_text(utterance.text, services.settings),
            speaker=redact_text(utterance.speaker, services.settings),
        )
        for utterance in conversation
    ]
    return _extract(services, redacted, mode)


def _extract(services: Services, redacted: Sequence[Utterance], mode: str) -> list[Extracted]:
    # Imported on first use: the tables of the rules take time to load.
    if services.language_model is None:
        from muisti.remember.extract.rules import extract

        return extract(redacted, mode=mode)
    from muisti.remember.extract import llm

    return llm.extract(services.language_model, redacted, mode=mode, kinds=services.settings.kinds)


def to_drafts(
    found: Sequence[Extracted],
    *,
    session_id: str | None,
    project: str | None,
    user: str | None = None,
    said_at: datetime | None,
) -> list[Draft]:
    """Return drafts of extracted memories, created when they were said, and unconfirmed."""
    drafts = []
    for extracted in found:
        about = extracted.about
        if about is not None and said_at is not None and about > said_at:
            about = None  # a plan is valid from when it was made, not from the day it is about
        draft = Draft(
            content=extracted.content,
            kind=extracted.kind,
            importance=extracted.importance,
            created_at=said_at,
            valid_from=about,
            session_id=session_id,
            project=project,
            user=user,
            source=EXTRACTED,
            trusted=False,
        )
        drafts.append(draft)
    return drafts


def store_extracted(
    services: Services,
    exchange: Exchange,
    found: Sequence[Extracted],
    *,
    error: str = "",
    again: bool = False,
) -> list[Memory]:
    """Store what was extracted and record, in the same write, that the exchange is done.

    Again: an interrupted call may have stored it before; duplicates are not reinforced then.
    """
    settings, now = services.settings, services.clock.now()
    resolved = resolve_corrections(services, exchange.session_id, found)
    important = [pair for pair in resolved if pair[0].importance >= settings.extract_threshold]
    drafts = to_drafts(
        [item for item, _ in important],
        session_id=exchange.session_id,
        project=exchange.project,
        user=exchange.owner,
        said_at=exchange.at,
    )
    drafts = [
        replace(draft, id=derive_id(exchange.id, number)) for number, draft in enumerate(drafts)
    ]
    corrected = {draft.id: old for draft, (_, old) in zip(drafts, important, strict=True)}
    if exchange.preferences == EVERYWHERE:
        drafts = [_widen_preference(draft, settings) for draft in drafts]
    # Of a model's response all is stored or nothing (contract I2).
    skip_invalid = services.language_model is None
    prepared = [
        Prepared(link_correction(memory, corrected[memory.id], now, EXTRACTED))
        for memory in prepare(services, drafts, now, skip_invalid=skip_invalid)
    ]
    ids = [memory.id for memory in prepared]
    known = {memory.id for memory in services.index.get_many(ids, include_deleted=True)}
    extracted = _list_extracted(services, exchange.session_id)
    least = min((memory.importance for memory in extracted), default=0.0)
    is_full = len(extracted) >= settings.extract_per_session
    prepared = [
        memory
        for memory in prepared
        if memory.id not in known and not (is_full and memory.importance <= least)
    ]
    data: dict[str, str | int | float | None] = {"exchange": exchange.id, "count": len(prepared)}
    if error:
        data["error"] = error
    event = Event(EventName.EXTRACTED, now, session_id=exchange.session_id, data=data)
    if prepared:
        saved = store(services, prepared, now, events=[event], reinforce=not again)
    else:
        saved = []
        with services.store.lock():
            services.store.commit(ChangeSet(events=[event]))
    trim_session(services, exchange.session_id)
    return saved


def _widen_preference(draft: Draft, settings: Settings) -> Draft:
    """Return a preference as a global memory, and other drafts as they are."""
    if default_tier(draft.kind, draft.content, settings) is not Tier.GLOBAL:
        return draft
    return replace(draft, project="", tier=Tier.GLOBAL.value)


def trim_session(services: Services, session_id: str) -> list[Memory]:
    """Move a session's least important extracted memories over the limit to the trash."""
    most = services.settings.extract_per_session
    if len(_list_extracted(services, session_id)) <= most:
        return []
    with services.store.lock():
        extracted = _list_extracted(services, session_id)
        extracted.sort(key=lambda memory: (memory.importance, memory.created_at, memory.id))
        surplus = extracted[: max(0, len(extracted) - most)]
        for memory in surplus:
            trash(services, memory, reason="replaced")
    return surplus


def _list_extracted(services: Services, session_id: str) -> list[Memory]:
    """Return the memories extracted from a session that are neither pinned nor confirmed."""
    where = Filter(session=session_id, all_sessions=True)
    found = services.index.select(where, order="created_at", limit=None)
    return [
        memory
        for memory in found
        if memory.source == EXTRACTED and not memory.pinned and not memory.trusted
    ]


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
            self._services.store.queue.put(exchange)
        except MuistiError as error:
            return self._refuse(str(error))
        self._warned_refused = False
        self._queue.put((exchange, False))
        self._start()
        return True

    def take_over(self) -> None:
        """Continue with the exchanges that ended processes left, and with the postponed ones.

        While extraction is off, they stay in the queue on disk.
        """
        if not self._services.settings.extraction_enabled:
            return
        try:
            found = self._services.store.queue.take_over()
        except MuistiError as error:
            log.warning("queued extraction is postponed: %s", error)
            return
        for exchange in found:
            self._queue.put((exchange, True))
        if found:
            self._start()
        self._retry_postponed()

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until all accepted exchanges are done. Return False if that takes longer."""
        end = None if timeout is None else time.monotonic() + timeout
        while self._queue.unfinished_tasks:
            if self._thread is None or not self._thread.is_alive():
                return False
            if end is not None and time.monotonic() > end:
                return False
            time.sleep(0.005)
        return True

    def finish(self, patience: float) -> None:
        """Wait for accepted exchanges, but not for an extractor that is down."""
        end = time.monotonic() + patience
        while not self._is_down and time.monotonic() < end:
            is_running = self._thread is not None and self._thread.is_alive()
            if not is_running or not self._queue.unfinished_tasks:
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
        if self._stop.is_set() or not self._services.store.queue.holds(exchange.id):
            return  # forgotten meanwhile
        try:
            self._process(exchange, again=again)
        except ExtractorUnavailable as error:
            if not self._is_down and not self._stop.is_set():
                log.warning("extraction is postponed: %s", error)
            self._is_down = True
            if not self._stop.wait(self._services.settings.extractor_retry):
                self._queue.put((exchange, True))
        except (VaultError, IndexProblem) as error:
            log.warning("extracted memories cannot be saved now; retried later: %s", error)
            with self._guard:
                self._postponed.append(exchange)
        except Exception as error:  # the thread must go on; the exchange is on disk
            if not self._stop.is_set():
                log.warning("extraction failed; retried when the vault is opened next: %r", error)
        else:
            self._is_down = False
            self._retry_postponed()

    def _retry_postponed(self) -> None:
        with self._guard:
            postponed, self._postponed = self._postponed, []
        for exchange in postponed:
            self._queue.put((exchange, True))

    def _process(self, exchange: Exchange, *, again: bool) -> None:
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
                found = _extract(self._services, conversation, exchange.mode)  # already redacted
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
    while (item := exchanges.get()) is not None:
        alive = worker()
        try:
            if alive is None:
                return
            alive.step(item[0], again=item[1])
        finally:
            exchanges.task_done()
            del alive
