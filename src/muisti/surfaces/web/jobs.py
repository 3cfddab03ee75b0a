"""The reindex job: it runs in the background while the page shows its progress."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass, replace

from muisti.engine import Muisti
from muisti.errors import MuistiError

log = logging.getLogger("muisti")


@dataclass(frozen=True, slots=True)
class JobState:
    """The progress and outcome of the job."""

    running: bool = False
    done: int = 0
    total: int = 0
    outcome: str = ""
    """A sentence, once the job has ended."""
    failed: bool = False


class ReindexJob:
    """Rebuilds the index of one vault in a thread, at most once at a time."""

    def __init__(self, memory: Muisti) -> None:
        self._memory = memory
        self._lock = threading.Lock()
        self._state = JobState()

    @property
    def state(self) -> JobState:
        """The current progress, or the outcome of the last run."""
        return self._state

    def start(self) -> None:
        """Start the job, unless it is already running."""
        with self._lock:
            if self._state.running:
                return
            self._state = JobState(running=True)
        threading.Thread(target=self._run, name="muisti-web-reindex", daemon=True).start()

    def _report_progress(self, done: int, total: int) -> None:
        self._state = replace(self._state, done=done, total=total)

    def _run(self) -> None:
        failed = True
        try:
            report = self._memory.reindex(progress=self._report_progress)
            count = self._memory.get_stats().total_count
            outcome = f"Index rebuilt: {count:,} {'memory' if count == 1 else 'memories'}."
            if unreadable := len(report.problems):
                files = "1 file" if unreadable == 1 else f"{unreadable} files"
                outcome += f" {files} could not be read."
            failed = False
        except MuistiError as error:
            outcome = f"The index was not rebuilt: {error}"
        except Exception:
            log.exception("rebuilding the index from the page failed")
            outcome = "The index was not rebuilt; see the server log."
        self._state = replace(self._state, running=False, outcome=outcome, failed=failed)
