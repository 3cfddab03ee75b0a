"""What an agent always knows, and what it learns from a talk."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from muisti.engine.remembering import Remembering
from muisti.errors import InvalidRequest, MuistiError
from muisti.keep import core
from muisti.model import CoreMemory, Draft, Extracted, Memory, Utterance
from muisti.remember.screen import screened_text

log = logging.getLogger("muisti")


class Knowing(Remembering):
    """Core memory, which stands at the head of every context, and what a talk teaches."""

    def core_get(self) -> CoreMemory:
        """Both sections, `user` and `agent`. Raises BrokenFile if a hand edit broke the file."""
        return core.core_get(self._parts)

    def core_update(self, section: str, key: str, value: str) -> CoreMemory:
        """Set one entry. Raises InvalidRequest for another section, an empty value, or more than fits."""
        safe = screened_text(value, self.settings) if isinstance(value, str) else value
        if isinstance(value, str) and value.strip() and not safe.strip():
            raise InvalidRequest("value", "<private>…", "nothing of it is left outside of <private>")
        if isinstance(key, str) and screened_text(key, self.settings) != key:
            raise InvalidRequest("key", "…", "it holds something private or a secret, and names are not redacted: choose another")
        return self._change(core.core_update, section, key, safe)

    def core_delete(self, section: str, key: str) -> CoreMemory:
        """Remove one entry. Raises CoreEntryNotFound, and InvalidRequest for another section."""
        return self._change(core.core_delete, section, key)

    def core_init(self, source: str | os.PathLike[str]) -> CoreMemory:
        """Fill the section `user`, if it is empty, from a text like that of a `USER.md`, or from that file.

        Raises InvalidRequest if it says nothing, or too much.
        """
        if isinstance(source, os.PathLike):
            source = _text_of(Path(source).expanduser())
        return self._change(core.core_init, screened_text(source, self.settings))

    def fill_core(self) -> None:
        """Fill core memory from the vault's own `USER.md`, once."""
        try:
            if text := self._parts.core.first_text():
                self.core_init(text)
        except MuistiError as error:
            log.warning("core memory is not filled from USER.md: %s", error)

    def extract(self, talk: Sequence[Utterance], *, mode: str = "default") -> list[Extracted]:
        """What of a talk is worth keeping, found by rules and without a model. Nothing is stored. Raises InvalidRequest.

        Mode: `default`, `coding` or `research`, which changes what counts more.
        """
        from muisti.remember.extract.rules import extract  # its tables are read only if they are needed

        if isinstance(talk, str) or not isinstance(talk, Sequence) or not all(isinstance(one, Utterance) for one in talk):
            raise InvalidRequest("talk", type(talk).__name__, "it must be a list of Utterance(text, speaker, role)")
        safe = [replace(one, text=screened_text(one.text, self.settings)) for one in talk]
        try:
            return extract(safe, mode=mode)
        except ValueError as error:
            raise InvalidRequest("mode", mode, str(error)) from error

    def save_extracted(
        self,
        found: Sequence[Extracted],
        *,
        session_id: str | None = None,
        project: str | None = None,
        said_at: datetime | None = None,
    ) -> list[Memory]:
        """Keep what was extracted, as of when it was said. It is not trusted until somebody looked at it: agents are told so."""
        drafts = [
            Draft(
                content=one.content,
                kind=one.kind,
                importance=one.importance,
                created_at=said_at,
                valid_from=one.about,
                session_id=session_id,
                project=project,
                source="extracted",
                trusted=False,
            )
            for one in found
        ]
        return self._remember(drafts) if drafts else []


def _text_of(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidRequest("source", str(path), f"it cannot be read ({error}); name a readable UTF-8 text file") from error
