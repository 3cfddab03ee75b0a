"""Core memory, and what is learned from conversations."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from muisti.engine.memories import Memories
from muisti.errors import InvalidRequest
from muisti.lifecycle import core_memory as core
from muisti.model import CoreMemory, Exchange, Extracted, Memory, Metrics, Utterance
from muisti.ports import Services
from muisti.remember.extraction_worker import ExtractionWorker, extract_from, to_drafts
from muisti.remember.identity import make_id
from muisti.remember.validate import validate_line, validate_name, validate_project, validate_time
from muisti.text.redact import redact_text

PATIENCE = 5.0
"""Seconds that closing waits for extraction; what is not done by then waits on the disk."""
log = logging.getLogger("muisti")


class Extraction(Memories):
    """Core memory, which stands at the head of every context, and what a talk teaches."""

    def __init__(self, services: Services, root: Path) -> None:
        super().__init__(services, root)
        self._learner = ExtractionWorker(services, self._meter, self._write)

    def flush(self, timeout: float | None = None) -> bool:
        """Return once everything that searches recorded is written, and everything that was accepted is extracted.

        False if extraction takes longer than so many seconds: without a limit this waits for a server that is down.
        """
        self._recall_log.flush()
        return self._learner.flush(timeout)

    def metrics(self) -> Metrics:
        """What happened since the vault was opened here, in numbers."""
        return replace(self._meter.metrics(), waiting=self._services.store.queue.status().waiting)

    def close(self) -> None:
        """Extract what was accepted, as far as that is quick, and close the vault."""
        if not self._closed:
            self._learner.flush(timeout=PATIENCE)
            self._learner.close()
        super().close()

    def core_get(self) -> CoreMemory:
        """Both sections, `user` and `agent`. Raises BrokenFile if a hand edit broke the file."""
        return self._read(lambda services: services.store.core())

    def core_update(self, section: str, key: str, value: str) -> CoreMemory:
        """Set one entry. Raises InvalidRequest for another section, an empty value, or more than fits."""
        safe = redact_text(value, self.settings) if isinstance(value, str) else value
        if isinstance(value, str) and value.strip() and not safe.strip():
            raise InvalidRequest(
                "value", "<private>…", "nothing of it is left outside of <private>"
            )
        if isinstance(key, str) and redact_text(key, self.settings) != key:
            raise InvalidRequest(
                "key",
                "…",
                "it holds something private or a secret, and names are not redacted: choose another",
            )
        return self._write(core.core_update, section, key, safe)

    def core_delete(self, section: str, key: str) -> CoreMemory:
        """Remove one entry. Raises CoreEntryNotFound, and InvalidRequest for another section."""
        return self._write(core.core_delete, section, key)

    def core_init(self, source: str | os.PathLike[str]) -> CoreMemory:
        """Fill the section `user`, if it is empty, from a text like that of a `USER.md`, or from that file.

        Raises InvalidRequest if it says nothing, or too much.
        """
        if isinstance(source, os.PathLike):
            source = _text_of(Path(source).expanduser())
        return self._write(core.core_init, redact_text(source, self.settings))

    def extract(self, talk: Sequence[Utterance], *, mode: str = "default") -> list[Extracted]:
        """What of a talk is worth keeping, found by rules, or by the model of the settings. Nothing is stored.

        Mode: `default`, `coding` or `research`, which changes what counts more. Raises InvalidRequest, ExtractorProblem.
        """
        if (
            isinstance(talk, str)
            or not isinstance(talk, Sequence)
            or not all(isinstance(one, Utterance) for one in talk)
        ):
            raise InvalidRequest(
                "talk", type(talk).__name__, "must be a list of Utterance(text, speaker, role)"
            )
        return extract_from(self._services, talk, _checked_mode(mode))

    def save_extracted(
        self,
        found: Sequence[Extracted],
        *,
        session_id: str | None = None,
        project: str | None = None,
        said_at: datetime | None = None,
    ) -> list[Memory]:
        """Keep what was extracted, as of when it was said. It is not trusted until somebody looked at it: agents are told so."""
        drafts = to_drafts(found, session_id=session_id, project=project, said_at=said_at)
        return self._remember(drafts) if drafts else []

    def extract_and_save(
        self,
        session_id: str,
        user_message: str,
        assistant_response: str = "",
        mode: str = "default",
        *,
        speaker: str = "User",
        project: str | None = None,
        at: datetime | None = None,
    ) -> bool:
        """Learn from an exchange, in the background. Returns as soon as the exchange is on the disk, and so outlives a crash.

        False, with a warning, if it cannot be taken: the queue or the disk is full. Nothing that happens later is the chat's
        concern; `metrics` counts it. Raises InvalidRequest and InvalidMemory for what no exchange can be.
        """
        for name, text in (
            ("user_message", user_message),
            ("assistant_response", assistant_response),
            ("speaker", speaker),
        ):
            if not isinstance(text, str):
                raise InvalidRequest(name, text, "must be a text")
        if not user_message.strip() and not assistant_response.strip():
            raise InvalidRequest("user_message", user_message, "one of the two must say something")
        now = self._services.clock.now()
        exchange = Exchange(
            id=make_id(now),
            at=now if at is None else validate_time("at", at),
            session_id=validate_name("session_id", session_id),
            user=user_message,
            assistant=assistant_response,
            mode=_checked_mode(mode),
            speaker=validate_line("speaker", speaker, 100),
            project=None if project is None else validate_project(project),
        )
        return self._learner.accept(exchange)

    def resume_extraction(self) -> None:
        """Go on with exchanges that processes which have ended left behind. `Muisti.open` does so by itself."""
        self._learner.take_over()


def _checked_mode(mode: str) -> str:
    from muisti.remember.extract.scoring import (
        MODES,
    )  # its tables are read only if they are needed

    if mode not in MODES:
        raise InvalidRequest("mode", mode, f"must be one of {', '.join(MODES)}")
    return mode


def _text_of(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidRequest(
            "source", str(path), f"it cannot be read ({error}); name a readable UTF-8 text file"
        ) from error
