"""The vault behind the tools: opened by the first call that needs it, in a worker thread, and again if that failed."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from muisti.aio import THREADS, MemoryService
from muisti.engine import Muisti
from muisti.errors import MuistiError
from muisti.settings import find_vault

log = logging.getLogger("muisti")
SYNC_SECONDS = 30.0
"""Seconds after which a call looks for edits made by hand first; a tenth of a second with some thousands of files."""


class LazyVault:
    """A memory that may not be there yet, or not any more: each call finds out anew, so that the server outlives it."""

    def __init__(self, opening: Callable[[], Muisti], *, closes: bool = True) -> None:
        """Closes: the memory is ours to look after and to close; else whoever made it does so."""
        self._opening, self._closes = opening, closes
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="muisti-mcp")
        self._lock = threading.Lock()
        self._memory: Muisti | None = None
        self._looked = 0.0
        self._ended = False

    async def connect(self) -> MemoryService:
        """The memory, open and in its place. Raises MuistiError that says why it cannot be had now."""
        if self._ended:
            raise MuistiError("the server is stopping")
        memory = await asyncio.get_running_loop().run_in_executor(self._threads, self._ready)
        return MemoryService(memory, self._threads)

    def _ready(self) -> Muisti:
        """In a thread of its own; whoever asked may have gone away by the time it is open, and it is kept all the same."""
        with self._lock:
            if self._memory is None:
                self._memory, self._looked = self._opening(), time.monotonic()
            self._memory.check_available()
            if self._closes:
                self._look(self._memory)
            return self._memory

    def _look(self, memory: Muisti) -> None:
        """Take in what was edited by hand since the last look. If it cannot be done now, the answer goes by what is known."""
        if memory.settings.sync_on_open and time.monotonic() - self._looked >= SYNC_SECONDS:
            try:
                memory.sync()
            except MuistiError as error:
                log.warning("edits are taken in later: %s", error)
            self._looked = time.monotonic()

    async def close(self) -> None:
        """Let calls that run end, write what is left, and let go of the vault. Closing twice is fine."""
        self._ended = True
        await asyncio.to_thread(self._threads.shutdown, wait=True)
        memory, self._memory = self._memory, None
        if memory is not None and self._closes:
            await asyncio.to_thread(memory.close)


def make_vault(path: str | None) -> LazyVault:
    """The vault at this path, or the one that is found from here. Only your own, which nobody has to name, is made if missing."""

    def opening() -> Muisti:
        from muisti import bootstrap  # imports the engine: not before the first call

        return bootstrap.open(
            path, role="mcp", create=path is None and find_vault() == find_vault(environ={})
        )

    return LazyVault(opening)
