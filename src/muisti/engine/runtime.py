"""The two gates of the engine: `_read`, which never waits for the store's lock, and `_write`, which may."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Concatenate, ParamSpec, Self, TypeVar

from muisti.errors import IndexCorrupt, MuistiError
from muisti.metrics import Meter
from muisti.ports import Services
from muisti.recall.recall_log import RecallLog
from muisti.settings import Settings

log = logging.getLogger("muisti")
P = ParamSpec("P")
R = TypeVar("R")


class Runtime:
    """An open vault, whose services are used through the two gates."""

    def __init__(self, services: Services, root: Path) -> None:
        self.root = root
        self._services = services
        self._recall_log = RecallLog(services)
        self._meter = Meter()
        self._closed = False

    @property
    def settings(self) -> Settings:
        """How this vault behaves."""
        return self._services.settings

    def close(self) -> None:
        """Write what is left and close the vault. Closing twice is fine."""
        if not self._closed:
            self._closed = True
            self._recall_log.close()
            self._services.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _read(self, operation: Callable[Concatenate[Services, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run an operation that only reads. It sees what earlier searches recorded, unless the store is locked just now."""
        self._check_open()
        self._recall_log.settle()
        return self._answer(operation, *args, **kwargs)

    def _answer(self, operation: Callable[Concatenate[Services, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run an operation on an index that is ready. A damaged index is rebuilt, once."""
        self._check_open()
        store = self._services.store
        try:
            store.prepare(wait=False)
            return operation(self._services, *args, **kwargs)
        except IndexCorrupt:
            store.repair()
            return operation(self._services, *args, **kwargs)

    def _write(self, operation: Callable[Concatenate[Services, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run an operation that may take the store's lock. What earlier searches recorded is written first."""
        self._check_open()
        self._recall_log.flush()
        store = self._services.store
        try:
            store.prepare(wait=True)
            return operation(self._services, *args, **kwargs)
        except IndexCorrupt:
            store.repair()
            return operation(self._services, *args, **kwargs)

    def _check_open(self) -> None:
        if self._closed:
            raise MuistiError("this vault has been closed; open it again")
