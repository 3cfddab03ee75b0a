"""The one way to the parts: an index that is ready, and healed once if it is damaged."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Concatenate, ParamSpec, Self, TypeVar

from muisti.errors import IndexBusy, IndexCorrupt, MuistiError, VaultFull
from muisti.metrics import Meter
from muisti.model import Metrics
from muisti.ports import Parts
from muisti.recall.record import Recorder
from muisti.remember.fill import Filler
from muisti.remember.learn import Learner
from muisti.settings import Settings
from muisti.storage.files.sync.reconcile import sync

log = logging.getLogger("muisti")
P = ParamSpec("P")
R = TypeVar("R")
PATIENCE = 5.0
"""Seconds that closing waits for extraction; what is not done by then waits on the disk."""


class Opened:
    """A vault whose parts are used through here."""

    def __init__(self, parts: Parts, root: Path) -> None:
        self.root = root
        self._parts = parts
        self._recorder = Recorder(parts)
        self._filler = Filler(parts)
        self._meter = Meter()
        self._learner = Learner(parts, self._meter, self._change)
        self._making_ready = threading.Lock()
        self._closed = False

    @property
    def settings(self) -> Settings:
        """How this vault behaves."""
        return self._parts.settings

    def flush(self, timeout: float | None = None) -> bool:
        """Return once everything that searches noted is written, and everything that was accepted is extracted.

        False if extraction takes longer than so many seconds: without a limit this waits for a server that is down.
        """
        self._recorder.flush()
        return self._learner.flush(timeout)

    def metrics(self) -> Metrics:
        """What happened since the vault was opened here, in numbers."""
        return replace(self._meter.metrics(), waiting=self._parts.waiting.status().waiting)

    def close(self) -> None:
        """Write what is left and let go of the vault. Closing twice is fine."""
        if not self._closed:
            self._learner.flush(timeout=PATIENCE)
            self._learner.close()
            self._closed = True
            self._filler.close()
            self._recorder.close()
            self._parts.embedders.close()
            if self._parts.chat is not None:
                self._parts.chat.close()
            self._parts.index.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _call(self, operation: Callable[Concatenate[Parts, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run an operation that sees what earlier searches noted."""
        self._recorder.flush()
        return self._look(operation, *args, **kwargs)

    def _change(self, operation: Callable[Concatenate[Parts, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run an operation that writes files: it goes on even while the index cannot take in what it lacks."""
        self._recorder.flush()
        try:
            self._ready()
        except (IndexBusy, VaultFull) as error:
            if not self._parts.index.is_current() or self._parts.index.open():
                raise  # an index that was never filled knows no twins: a retry would make a double
            log.warning("the index is behind the files and catches up later: %s", error)
            return operation(self._parts, *args, **kwargs)
        return self._look(operation, *args, **kwargs)

    def _ready(self) -> None:
        """Have the index ready, and do no more."""
        self._look(lambda parts: parts)

    def _look(self, operation: Callable[Concatenate[Parts, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run an operation on an index that is ready. A damaged index is rebuilt from the files, once."""
        if self._closed:
            raise MuistiError("this vault has been closed; open it again")
        try:
            self.make_ready()
            return operation(self._parts, *args, **kwargs)
        except IndexCorrupt:
            self._heal()
            return operation(self._parts, *args, **kwargs)

    def make_ready(self) -> None:
        """Follow the index if it was swapped or deleted, and catch up if it fell behind."""
        if self._parts.index.is_current() and not self._parts.index.behind:
            return
        with self._making_ready:
            if not self._parts.index.open_complete():
                with self._parts.vault.lock():
                    self._parts.index.open()
            if self._parts.index.behind:
                sync(self._parts)

    def _heal(self) -> None:
        """Set the damaged index aside and build it anew."""
        with self._making_ready, self._parts.vault.lock():
            self._parts.index.set_aside()
            self._parts.index.open()
            sync(self._parts)
