"""Long work that goes on while pages show how far it is."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass, replace

from muisti.engine import Muisti
from muisti.errors import MuistiError

log = logging.getLogger("muisti")


@dataclass(frozen=True, slots=True)
class State:
    """How far the work is."""

    running: bool = False
    done: int = 0
    total: int = 0
    outcome: str = ""
    """A sentence, once it has ended."""
    failed: bool = False


class Jobs:
    """Rebuilds the index of one vault, one time at once."""

    def __init__(self, memory: Muisti) -> None:
        self._memory = memory
        self._lock = threading.Lock()
        self._state = State()

    @property
    def state(self) -> State:
        """How far it is now."""
        return self._state

    def start(self) -> None:
        """Begin, unless it is going on already."""
        with self._lock:
            if self._state.running:
                return
            self._state = State(running=True)
        threading.Thread(target=self._run, name="muisti-web-reindex", daemon=True).start()

    def _progress(self, done: int, total: int) -> None:
        self._state = replace(self._state, done=done, total=total)

    def _run(self) -> None:
        try:
            report = self._memory.reindex(progress=self._progress)
            count = self._memory.get_stats().total_count
            outcome, failed = f"The index was rebuilt from the files: {count:,} memories.", False
            if report.problems:
                outcome += f" {len(report.problems)} files could not be read."
        except MuistiError as error:
            outcome, failed = f"The index was not rebuilt: {error}", True
        except Exception:
            log.exception("the index could not be rebuilt from the page")
            outcome, failed = "The index was not rebuilt; the log of the server tells why.", True
        self._state = replace(self._state, running=False, outcome=outcome, failed=failed)
