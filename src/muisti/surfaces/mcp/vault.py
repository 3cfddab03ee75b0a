"""The vault behind the tools: opened on first use, in a worker thread, and retried after errors."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from muisti.aio import THREADS, MemoryService
from muisti.engine import Muisti
from muisti.errors import MuistiError, Unsupported
from muisti.locations import find_database
from muisti.settings import find_vault
from muisti.surfaces.access import CALLER

log = logging.getLogger("muisti")
SYNC_SECONDS = 30.0
"""A call picks up external changes first if the last sync is older than this.

A sync takes a tenth of a second with some thousands of files.
"""


class LazyVault:
    """A vault that may not exist yet, or not any more. Each call checks, so the server survives."""

    def __init__(self, open_memory: Callable[[], Muisti], *, owns_memory: bool = True) -> None:
        """Owns_memory: sync and close it here; otherwise the caller does."""
        self._open_memory, self._owns_memory = open_memory, owns_memory
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="muisti-mcp")
        self._lock = threading.Lock()
        self._memory: Muisti | None = None
        self._synced_at = 0.0
        self._closed = False

    async def connect(self) -> MemoryService:
        """Return the open vault. Raises MuistiError if it is not available now."""
        if self._closed:
            raise MuistiError("the server is stopping")
        memory = await asyncio.get_running_loop().run_in_executor(self._threads, self._prepare)
        return MemoryService(memory, self._threads)

    def _prepare(self) -> Muisti:
        """Open the vault if needed and sync it. It stays open even if the caller has given up."""
        with self._lock:
            if self._memory is None:
                self._memory, self._synced_at = self._open_memory(), time.monotonic()
            memory = self._memory
            memory.check_available()
            is_due = time.monotonic() - self._synced_at >= SYNC_SECONDS
            if self._owns_memory and memory.settings.sync_on_open and is_due:
                try:
                    memory.sync()
                except Unsupported:  # nobody changes it from outside
                    pass
                except MuistiError as error:  # serve what the index has
                    log.warning("external changes will be picked up later: %s", error)
                self._synced_at = time.monotonic()
            return memory

    async def close(self) -> None:
        """Wait for running calls, then close the vault if it is ours. May be called twice."""
        self._closed = True
        await asyncio.to_thread(self._threads.shutdown, wait=True)
        memory, self._memory = self._memory, None
        if memory is not None and self._owns_memory:
            await asyncio.to_thread(memory.close)


class TenantVault(LazyVault):
    """The vault of the tenant whose token a request has."""

    def __init__(self) -> None:
        super().__init__(self._find, owns_memory=False)

    async def connect(self) -> MemoryService:
        """Return the vault of the current request."""
        memory = self._find()
        await asyncio.get_running_loop().run_in_executor(self._threads, memory.check_available)
        return MemoryService(memory, self._threads)

    def _find(self) -> Muisti:
        caller = CALLER.get()
        if caller is None:
            raise MuistiError("this request has no tenant")
        return caller.memory


def make_vault(path: str | None) -> LazyVault:
    """Return the vault at this path, or the one found from the working folder.

    Only the user's own default vault is created if missing.
    """

    def open_memory() -> Muisti:
        from muisti import bootstrap  # imports the engine: not before the first call

        is_default = path is None and not find_database() and find_vault() == find_vault(environ={})
        return bootstrap.open(path, role="mcp", create=is_default)

    return LazyVault(open_memory)
