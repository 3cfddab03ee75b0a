"""Core memory, and extraction of memories from conversations."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from muisti.engine.memories import Memories
from muisti.errors import IndexProblem, InvalidRequest, VaultError, describe_reading
from muisti.filesystem import read_file
from muisti.lifecycle import core_memory as core
from muisti.lifecycle.links import end_replaced
from muisti.lifecycle.sessions import make_scope_error, start_session
from muisti.model import CoreMemory, Exchange, Extracted, Memory, Metrics, Utterance
from muisti.ports import Services
from muisti.remember.extracted import EVERYWHERE, extract_from, to_drafts
from muisti.remember.extraction_worker import ExtractionWorker
from muisti.remember.identity import make_id
from muisti.remember.validate import (
    validate_line,
    validate_name,
    validate_project,
    validate_time,
    validate_user,
)
from muisti.text.redact import check_name, redact_exchange, redact_text

PATIENCE = 5.0
"""Seconds that closing waits for extraction, unless the extractor is down. The rest stays in the
queue on disk.
"""
MAX_WAIT = 0.3
"""Seconds that accepting an exchange may wait for the vault's lock: a chat is not held up (I1)."""
MAX_SOURCE = 1_000_000
"""The most bytes of a file that core memory is filled from."""
log = logging.getLogger("muisti")


class Extraction(Memories):
    """Core memory, which begins every context, and extraction from conversations."""

    def __init__(self, services: Services, root: Path) -> None:
        super().__init__(services, root)
        self._extraction_worker = ExtractionWorker(services, self._meter, self._write, end_replaced)

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until recalls are recorded and accepted exchanges are extracted.

        Return False if extraction takes longer than `timeout` seconds. Without a timeout this also
        waits for a model server that is down. Raises InvalidRequest.
        """
        if timeout is not None and not (isinstance(timeout, int | float) and timeout >= 0):
            raise InvalidRequest("timeout", timeout, "must be a number of seconds, or None")
        self._recall_log.flush()
        return self._extraction_worker.flush(timeout)

    def metrics(self) -> Metrics:
        """Return counters and timings since the vault was opened."""
        return replace(self._meter.metrics(), waiting=self._services.store.queue.status().waiting)

    def close(self) -> None:
        """Wait a few seconds for extraction, and close the vault."""
        if not self._closed:
            self._extraction_worker.finish(PATIENCE)
            self._extraction_worker.close()
        super().close()

    def core_get(self, *, user: str | None = None) -> CoreMemory:
        """Return core memory, with the sections `user` and `agent`. Raises BrokenFile.

        For a user: the facts about this user, and the vault's section `agent`.
        """
        owner = self._choose_core(user)
        return self._read(lambda services: services.store.core(owner))

    def _choose_core(self, user: str | None) -> str:
        return self.settings.user if user is None else validate_user(user)

    def core_update(
        self, section: str, key: str, value: str, *, user: str | None = None
    ) -> CoreMemory:
        """Set one entry.

        Raises InvalidRequest for an unknown section, an empty value, or if it does not fit; with a
        user also for the section `agent`, which all users share.
        """
        owner = check_name("user", self._choose_core(user), self.settings)
        safe = redact_text(value, self.settings) if isinstance(value, str) else value
        if isinstance(value, str) and value.strip() and not safe.strip():
            raise InvalidRequest("value", "<private>…", "must have text outside of <private>")
        if isinstance(key, str) and redact_text(key, self.settings) != key:
            raise InvalidRequest(
                "key",
                "…",
                "must not contain private text or secrets",
            )
        return self._write(core.core_update, section, key, safe, user=owner)

    def core_delete(self, section: str, key: str, *, user: str | None = None) -> CoreMemory:
        """Remove one entry. Raises CoreEntryNotFound, InvalidRequest."""
        return self._write(core.core_delete, section, key, user=self._choose_core(user))

    def core_init(self, source: str | os.PathLike[str], *, user: str | None = None) -> CoreMemory:
        """Fill the section `user`, if it is empty, from a text or a file such as `USER.md`.

        Raises InvalidRequest if the text has no entries, or too many.
        """
        if isinstance(source, os.PathLike):
            path = Path(source).expanduser()
            try:
                source = read_file(path.resolve(), MAX_SOURCE)[0].decode("utf-8-sig")
            except (OSError, UnicodeDecodeError) as error:
                reason = f"must be a readable UTF-8 text file ({describe_reading(error)})"
                raise InvalidRequest("source", path, reason) from error
        owner = check_name("user", self._choose_core(user), self.settings)
        return self._write(core.core_init, redact_text(source, self.settings), user=owner)

    def extract(self, talk: Sequence[Utterance], *, mode: str = "default") -> list[Extracted]:
        """Return the memories that a conversation contains, found by rules or by a model.

        Nothing is stored; nothing is found if extraction is off. The mode `default`, `coding` or
        `research` decides what matters more.
        Raises InvalidRequest, ExtractorProblem.
        """
        is_list = isinstance(talk, Sequence) and not isinstance(talk, str)
        if not is_list or not all(isinstance(one, Utterance) for one in talk):
            raise InvalidRequest(
                "talk", type(talk).__name__, "must be a list of Utterance(text, speaker, role)"
            )
        return extract_from(self._services, talk, _validate_mode(mode))

    def save_extracted(
        self,
        found: Sequence[Extracted],
        *,
        session_id: str | None = None,
        project: str | None = None,
        user: str | None = None,
        said_at: datetime | None = None,
    ) -> list[Memory]:
        """Save extracted memories, dated when they were said. They are unconfirmed.

        Raises InvalidMemory.
        """
        if said_at is not None:
            said_at = validate_time("said_at", said_at)
        least = self.settings.extract_threshold
        # A correction of something that is not in the conversation says nothing alone.
        found = [item for item in found if not item.corrects or item.importance >= least]
        drafts = to_drafts(
            found, session_id=session_id, project=project, user=user, said_at=said_at
        )
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
        user: str | None = None,
        at: datetime | None = None,
        preferences_everywhere: bool = False,
    ) -> bool:  # shape: one argument for each option
        """Extract and save memories from one exchange, in the background.

        Returns True once the exchange is on disk, so that it survives a crash. Returns False, and
        logs a warning, if the queue or the disk is full; also, without a warning, if extraction is
        off (`extractor = "none"`). `metrics` counts later failures. An
        unknown session is started with this project and user. With `preferences_everywhere`, what
        the user prefers is saved for all projects. Raises InvalidMemory, and
        InvalidRequest, also if the session belongs to another user.
        """
        for name, text in (
            ("user_message", user_message),
            ("assistant_response", assistant_response),
            ("speaker", speaker),
        ):
            if not isinstance(text, str):
                raise InvalidRequest(name, text, "must be a text")
        if not user_message.strip() and not assistant_response.strip():
            raise InvalidRequest(
                "user_message", user_message, "must not be empty if assistant_response is"
            )
        now = self._services.clock.now()
        exchange = Exchange(
            id=make_id(now),
            at=now if at is None else validate_time("at", at),
            session_id=validate_name("session_id", session_id),
            user=user_message,
            assistant=assistant_response,
            mode=_validate_mode(mode),
            speaker=validate_line("speaker", speaker, 100),
            project=None if project is None else validate_project(project),
            owner=None if user is None else validate_user(user),
            preferences=EVERYWHERE if preferences_everywhere else "",
        )
        exchange = redact_exchange(exchange, self.settings)
        if not self.settings.extraction_enabled:
            log.info("nothing is extracted: extractor = none")
            return False
        if not self._closed:
            self._start_unknown(exchange)
        return self._extraction_worker.accept(exchange)

    def _start_unknown(self, exchange: Exchange) -> None:
        """Start the session of an exchange if it is unknown, so that reads know its scope."""
        session = self._read_index(lambda services: services.index.session(exchange.session_id))
        if session is not None:
            if session.user and exchange.owner not in (None, session.user):
                raise make_scope_error(exchange.session_id, "user", exchange.owner)
            return
        try:
            # Not `_write`, which waits as long as `lock_timeout`.
            self._read_index(
                start_session,
                exchange.session_id,
                exchange.project,
                exchange.owner,
                implicit=True,
                lock_timeout=MAX_WAIT,
            )
        except (VaultError, IndexProblem) as error:
            # The chat goes on; the session starts when its first memory is saved.
            log.warning("session %s is not started: %s", exchange.session_id, error)

    def resume_extraction(self) -> None:
        """Continue with exchanges of processes that have ended. `Muisti.open` does it itself."""
        self._extraction_worker.take_over()


def _validate_mode(mode: str) -> str:
    from muisti.remember.extract.scoring import MODES  # slow to import, and rarely needed

    if mode not in MODES:
        raise InvalidRequest("mode", mode, f"must be one of {', '.join(MODES)}")
    return mode
