"""The two ways to run an operation: `_read` never waits for the store's lock, `_write` may."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Self, TypeVar

from muisti.errors import IndexCorrupt, InvalidRequest, MemoryNotFound, MuistiError

if TYPE_CHECKING:
    from muisti.engine.other_vaults import OtherVaults
    from muisti.metrics import MetricsRecorder
    from muisti.ports import Services
    from muisti.recall.recall_log import RecallLog
    from muisti.settings import Settings

P = ParamSpec("P")
R = TypeVar("R")
_ONE_VAULT = "links lead to memories of the same vault"


class Runtime:
    """An open vault, and how operations run on its services."""

    def __init__(self, services: Services, root: Path) -> None:
        self.root = root
        self._services = services
        self._closed = False
        self.others: OtherVaults | None = None
        """Further vaults that reads also look into."""

    @cached_property
    def _recall_log(self) -> RecallLog:
        from muisti.recall.recall_log import RecallLog  # a hook records nothing

        return RecallLog(self._services)

    @cached_property
    def _meter(self) -> MetricsRecorder:
        from muisti.metrics import MetricsRecorder

        return MetricsRecorder()

    @property
    def settings(self) -> Settings:
        """The settings of this vault."""
        return self._services.settings

    def close(self) -> None:
        """Write what is pending and close the vault. Closing twice is allowed."""
        if not self._closed:
            self._closed = True
            if "_recall_log" in self.__dict__:
                self._recall_log.close()
            if self.others is not None:
                self.others.close()
            self._services.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _read(
        self, operation: Callable[Concatenate[Services, P], R], *args: P.args, **kwargs: P.kwargs
    ) -> R:
        """Run an operation that only reads.

        It sees what earlier searches recorded, unless another process holds the lock.
        """
        self._check_open()
        if "_recall_log" in self.__dict__:
            self._recall_log.settle()
        try:
            return self._read_index(operation, *args, **kwargs)
        except MemoryNotFound as error:
            owner = self._find_owner(error)
            if owner is None:
                raise
            return owner._read(operation, *args, **kwargs)

    def _find_owner(self, error: MemoryNotFound) -> Runtime | None:
        """Return the other vault that has the one memory that was not found here, or None."""
        if self.others is None or len(error.ids) != 1:
            return None
        return self.others.find_owner(error.ids[0])

    def _check_own(self, option: str, memory_id: str) -> None:
        """Raises InvalidRequest if a memory is in another vault: it cannot be replaced from here.

        A text for this vault must not be written there.
        """
        if self.others is None or self._read_index(lambda services: services.index.get(memory_id)):
            return
        owner = self.others.find_owner(memory_id)
        if owner is not None:
            reason = f"is in {owner._services.location}, not in this vault: {_ONE_VAULT}"
            raise InvalidRequest(option, memory_id, reason)

    def _read_index(
        self, operation: Callable[Concatenate[Services, P], R], *args: P.args, **kwargs: P.kwargs
    ) -> R:
        """Run an operation without waiting for recall records. A damaged index is rebuilt once."""
        self._check_open()
        try:
            self._services.prepare(wait=False)
            return operation(self._services, *args, **kwargs)
        except IndexCorrupt:
            self._services.store.repair()
            return operation(self._services, *args, **kwargs)

    def _write(
        self, operation: Callable[Concatenate[Services, P], R], *args: P.args, **kwargs: P.kwargs
    ) -> R:
        """Run an operation that may take the store's lock, after writing pending recall records.

        A change of a memory of another vault is made there. Raises VaultReadOnly if it cannot be.
        """
        self._check_open()
        if "_recall_log" in self.__dict__:
            self._recall_log.flush()
        try:
            self._services.prepare(wait=True)
            return operation(self._services, *args, **kwargs)
        except MemoryNotFound as error:
            owner = self._find_owner(error)
            if owner is None:
                raise
            try:
                return owner._write(operation, *args, **kwargs)
            except MemoryNotFound as missing:
                where = owner._services.location
                reason = f"is not in {where}, where {error.ids[0]} is: {_ONE_VAULT}"
                raise InvalidRequest("memory", missing.ids[0], reason) from None
        except IndexCorrupt:
            self._services.store.repair()
            return operation(self._services, *args, **kwargs)

    def _erase(
        self, operation: Callable[Concatenate[Services, P], R], *args: P.args, **kwargs: P.kwargs
    ) -> R:
        """Run an operation that deletes permanently. What is cached of queries goes too."""
        try:
            return self._write(operation, *args, **kwargs)
        finally:
            self._services.forget_queries()

    def _check_open(self) -> None:
        if self._closed:
            raise MuistiError("this vault has been closed; open it again")
