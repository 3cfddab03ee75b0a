"""Work in the background that several processes of one vault share."""

from __future__ import annotations

import threading

from muisti.engine.extraction import Extraction
from muisti.engine.lifecycle import Lifecycle
from muisti.errors import InvalidRequest
from muisti.model import UpkeepReport, WorkReport
from muisti.remember.embedding_worker import Stopped, embed_missing


class Background(Extraction, Lifecycle):
    """Extraction, embedding and maintenance for all processes of a vault."""

    def work(self, stop: threading.Event | None = None) -> WorkReport:
        """Extract and embed until nothing is left that no other process works on.

        Returns what was done; setting `stop` ends it early. What failed is tried again later.
        Raises EmbedderProblem.
        """
        extracted = embedded = 0

        def check() -> None:
            if stop is not None and stop.is_set():
                raise Stopped

        try:
            while True:
                check()
                taken = self._extraction_worker.work(check)
                extracted += taken
                more = self._write(lambda services: embed_missing(services, between=check))
                embedded += more
                if not taken and not more:
                    break
        except Stopped:
            pass
        return WorkReport(extracted=extracted, embedded=embedded)

    def resume_embedding(self) -> None:
        """Embed in the background what other processes left. `Muisti.save` does it for its own."""
        if self.settings.embedder != "none":
            self._embedding_worker.wake()

    def run_due_maintenance(self, every: float) -> UpkeepReport | None:
        """Run maintenance, unless another process has done so in the last `every` seconds.

        Returns None if it is not due. The processes that use a folder do not coordinate this.
        Raises InvalidRequest.
        """
        if not isinstance(every, int | float) or not every >= 0:
            raise InvalidRequest("every", every, "must be a number of seconds")
        work = self._services.store.work
        if not work.begin_maintenance(every):
            return None
        complete = False
        try:
            report = self.upkeep()
            complete = True
        finally:
            work.end_maintenance(complete=complete)
        return report

    def retry_given_up(self) -> int:
        """Retry everything that was given up after repeated failures, and return how much.

        `problems` lists it. Only a database gives something up.
        """
        return self._services.store.work.retry()
