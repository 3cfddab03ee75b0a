"""What a talk teaches becomes memories: in the background, each exchange once, also after a crash (contract I1)."""

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
from muisti.model import Draft, Event, EventName, Exchange, Extracted, Filter, Memory, Utterance
from muisti.ports import ChangeSet, Services
from muisti.remember.change import trash
from muisti.remember.identity import derive_id
from muisti.remember.pipeline import prepare, store
from muisti.text.redact import redact_exchange, redact_text

log = logging.getLogger("muisti")
EXTRACTED = "extracted"
"""The source of memories that were found in a talk, and the event that an exchange was dealt with."""
LAST_WAIT = 5.0
"""Seconds that closing waits for the exchange that is being dealt with."""


def utterances(exchange: Exchange) -> list[Utterance]:
    """An exchange as a talk of two."""
    said = (
        Utterance(exchange.user, exchange.speaker, "user", exchange.at),
        Utterance(exchange.assistant, "Assistant", "assistant", exchange.at, exchange.speaker),
    )
    return [one for one in said if one.text.strip()]


def extract_from(services: Services, talk: Sequence[Utterance], mode: str) -> list[Extracted]:
    """Return what of a talk is worth keeping, by rules or by the model of the settings. Raises ExtractorProblem."""
    return _extract(
        services,
        [replace(one, text=redact_text(one.text, services.settings)) for one in talk],
        mode,
    )


def _extract(services: Services, redacted: Sequence[Utterance], mode: str) -> list[Extracted]:
    if services.language_model is None:
        from muisti.remember.extract.rules import (
            extract,
        )  # its tables are read only if they are needed

        return extract(redacted, mode=mode)
    from muisti.remember.extract import llm

    return llm.extract(services.language_model, redacted, mode=mode, kinds=services.settings.kinds)


def drafts_of(
    found: Sequence[Extracted],
    *,
    session_id: str | None,
    project: str | None,
    said_at: datetime | None,
) -> list[Draft]:
    """What was extracted, as of when it was said. It is not trusted until somebody looked at it: agents are told so."""
    return [
        Draft(
            content=one.content,
            kind=one.kind,
            importance=one.importance,
            created_at=said_at,
            valid_from=_since(one.about, said_at),
            session_id=session_id,
            project=project,
            source=EXTRACTED,
            trusted=False,
        )
        for one in found
    ]


def _since(about: datetime | None, said_at: datetime | None) -> datetime | None:
    """A plan is true from the moment it is made: what is to come does not hide it until then."""
    return None if about is None or (said_at is not None and about > said_at) else about


def learn(
    services: Services,
    exchange: Exchange,
    found: Sequence[Extracted],
    *,
    error: str = "",
    again: bool = False,
) -> list[Memory]:
    """Keep what an exchange taught, and note in the same write that it was dealt with: it is not dealt with twice.

    Again: a crash or a full disk may have come in the way before; what was said already is then not strengthened once more.
    """
    settings, now = services.settings, services.clock.now()
    important = [one for one in found if one.importance >= settings.extract_threshold]
    drafts = drafts_of(
        important, session_id=exchange.session_id, project=exchange.project, said_at=exchange.at
    )
    drafts = [
        replace(draft, id=derive_id(exchange.id, number)) for number, draft in enumerate(drafts)
    ]
    prepared = prepare(
        services, drafts, now, skip_invalid=True
    )  # a chat, or a model, may say anything
    known = {
        memory.id
        for memory in services.index.get_many(
            [memory.id for memory in prepared], include_deleted=True
        )
    }
    taught = _of_session(services, exchange.session_id)
    least = min((memory.importance for memory in taught), default=0.0)
    full = len(taught) >= settings.extract_per_session
    prepared = [
        memory
        for memory in prepared
        if memory.id not in known and not (full and memory.importance <= least)
    ]
    data: dict[str, str | int | float | None] = {"exchange": exchange.id, "count": len(prepared)}
    if error:
        data["error"] = error
    note = Event(EventName.EXTRACTED, now, session_id=exchange.session_id, data=data)
    if prepared:
        saved = store(services, prepared, now, events=[note], reinforce=not again)
    else:
        saved = []
        with services.store.lock():
            services.store.commit(ChangeSet(events=[note]))
    make_room(services, exchange.session_id)
    return saved


def make_room(services: Services, session_id: str) -> list[Memory]:
    """Move to the trash what a session has too many of; answers it."""
    most = services.settings.extract_per_session
    if len(_of_session(services, session_id)) <= most:
        return []
    with services.store.lock():
        gone = _too_many(_of_session(services, session_id), most)
        for memory in gone:
            trash(services, memory, reason="replaced")
    return gone


def _of_session(services: Services, session_id: str) -> list[Memory]:
    """What was extracted from a session and nobody has made their own."""
    where = Filter(session=session_id, all_sessions=True)
    found = services.index.select(where, order="created_at", limit=None)
    return [
        memory
        for memory in found
        if memory.source == EXTRACTED and not memory.pinned and not memory.trusted
    ]


def _too_many(memories: Sequence[Memory], most: int) -> list[Memory]:
    """The least important, the oldest of them first."""
    return sorted(memories, key=lambda memory: (memory.importance, memory.created_at, memory.id))[
        : max(0, len(memories) - most)
    ]


def _was_learnt(services: Services, exchange: Exchange) -> bool:
    return any(event.name == EventName.EXTRACTED for event in services.store.events(exchange.id))


Change = Callable[..., list[Memory]]
"""Runs an operation that writes to the vault, on an index that is ready."""


class ExtractionWorker:
    """Deals with exchanges in a thread of its own, one after the other."""

    def __init__(self, services: Services, meter: MetricsRecorder, change: Change) -> None:
        self._services = services
        self._meter = meter
        self._change: Callable[[], Change | None] = weakref.WeakMethod(change)
        self._queue: queue.Queue[tuple[Exchange, bool] | None] = queue.Queue()
        self._stop = threading.Event()
        self._guard = threading.Lock()
        self._thread: threading.Thread | None = None
        self._later: list[Exchange] = []
        """Those that the vault could not take; they are tried again once it takes another."""
        self._told_refused = False
        self._told_waiting = False

    def accept(self, exchange: Exchange) -> bool:
        """Take an exchange: redacted and on the disk before this returns. Raises InvalidMemory for a private name.

        False, with a warning, if there is no room or no disk for it.
        """
        exchange = redact_exchange(exchange, self._services.settings)
        if self._stop.is_set():
            return self._refuse("the vault has been closed")
        if self._queue.unfinished_tasks >= self._services.settings.extract_queue:
            return self._refuse("too many wait already; is the extractor down?")
        try:
            self._services.store.queue.put(exchange)
        except MuistiError as error:
            return self._refuse(str(error))
        self._told_refused = False
        self._queue.put((exchange, False))
        self._start()
        return True

    def take_over(self) -> None:
        """Go on with what ended processes left, and with what the vault could not take."""
        try:
            found = self._services.store.queue.take_over()
        except MuistiError as error:
            log.warning("what waits to be extracted is left for later: %s", error)
            return
        for exchange in found:
            self._queue.put((exchange, True))
        if found:
            self._start()
        self._try_again()

    def flush(self, timeout: float | None = None) -> bool:
        """Return once everything accepted so far is dealt with; False if that takes longer."""
        end = None if timeout is None else time.monotonic() + timeout
        while self._queue.unfinished_tasks:
            if (
                self._thread is None
                or not self._thread.is_alive()
                or (end is not None and time.monotonic() > end)
            ):
                return False
            time.sleep(0.005)
        return True

    def close(self) -> None:
        """End after the exchange that it is at. The others wait on the disk for whoever opens the vault next."""
        self._stop.set()
        self._queue.put(None)
        if self._thread is not None:
            self._thread.join(timeout=min(LAST_WAIT, self._services.settings.extractor_timeout))
            if self._thread.is_alive():
                self._change = _nothing  # whoever opens the vault next does it: not both
        self._services.store.queue.close()

    def _refuse(self, why: str) -> bool:
        self._meter.count("memory.extraction.refused")
        if not self._told_refused:
            log.warning("an exchange is not made memories of: %s", why)
        self._told_refused = True
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
        """Deal with one. What was accepted is not given up, but it lets the others go first if it cannot be dealt with now."""
        if self._stop.is_set():
            return
        try:
            self._deal_with(exchange, again=again)
        except ExtractorUnavailable as error:
            if not self._told_waiting:
                log.warning("extraction has to wait: %s", error)
            self._told_waiting = True
            if not self._stop.wait(self._services.settings.extractor_retry):
                self._queue.put((exchange, True))
        except (VaultError, IndexProblem) as error:
            log.warning(
                "an exchange waits on the disk, for its memories cannot be saved now: %s", error
            )
            with self._guard:
                self._later.append(exchange)
        except Exception as error:  # the thread goes on; the exchange is on the disk, and looked at when the vault is opened
            log.warning("an exchange waits on the disk until the vault is opened again: %r", error)
        else:
            self._told_waiting = False
            self._try_again()

    def _try_again(self) -> None:
        with self._guard:
            later, self._later = self._later, []
        for exchange in later:
            self._queue.put((exchange, True))

    def _deal_with(self, exchange: Exchange, *, again: bool) -> None:
        if again and _was_learnt(self._services, exchange):
            self._changed(make_room, exchange.session_id)
        else:
            self._meter.count("memory.extraction.count")
            try:
                with self._meter.measure("extraction"):
                    self._extract(exchange, again=again)
            except BaseException:
                self._meter.count("memory.extraction.errors")
                raise
        self._services.store.queue.done(exchange.id)

    def _extract(self, exchange: Exchange, *, again: bool) -> None:
        try:
            found = _extract(
                self._services, utterances(exchange), exchange.mode
            )  # redacted when it was accepted
        except ExtractorUnavailable:
            raise
        except Exception as error:
            self._teaches_nothing(exchange, error)
            return
        try:
            saved = self._changed(learn, exchange, found, again=again)
        except (InvalidMemory, InvalidRequest) as error:
            self._teaches_nothing(exchange, error)
            return
        self._meter.count("memory.extraction.success")
        self._meter.count("memory.saved.count", len(saved))

    def _teaches_nothing(self, exchange: Exchange, error: Exception) -> None:
        """It would not the next time either, so that it is done."""
        log.warning("an exchange teaches nothing: %s", error)
        self._changed(learn, exchange, (), error=type(error).__name__)
        self._meter.count("memory.extraction.errors")

    def _changed(
        self, operation: Callable[..., list[Memory]], *args: object, **kwargs: object
    ) -> list[Memory]:
        change = self._change()
        if change is None:
            raise MuistiError("the vault was closed in the meantime")
        return change(operation, *args, **kwargs)


def _nothing() -> None:
    """In the place of a vault that has been closed."""


def _run(
    learner: weakref.ref[ExtractionWorker], waiting: queue.Queue[tuple[Exchange, bool] | None]
) -> None:
    """Hold on to the learner only while there is something to do: a vault that nobody closed can go away."""
    while (item := waiting.get()) is not None:
        one = learner()
        try:
            if one is None:
                return
            one.step(item[0], again=item[1])
        finally:
            waiting.task_done()
            del one
