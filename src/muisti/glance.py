"""A glance at an index: one or two questions by keyword, in a process that is gone in a moment.

Hooks run with every prompt. Loading the whole engine takes many times as long as the search itself; this loads what a search
reads and nothing else, takes no lock, writes nothing, and leaves whatever is not in order to those who have the time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Unpack

from muisti.errors import IndexCorrupt
from muisti.ports import Parts
from muisti.recall.options import FilterOptions, to_filter
from muisti.recall.pipeline import search
from muisti.settings import load_settings
from muisti.storage.clock import SystemClock
from muisti.storage.sqlite.connect import Database
from muisti.storage.sqlite.lexical import SqliteLexical
from muisti.storage.sqlite.links import SqliteLinks
from muisti.storage.sqlite.reader import SqliteReader
from muisti.storage.sqlite.salience_sql import salience_sql
from muisti.text.redact import redact_text

if TYPE_CHECKING:
    from muisti.engine import Muisti
    from muisti.model import SearchResults
    from muisti.ports import Frequencies
    from muisti.settings import Value


class _Absent:
    """A part that no search by keyword needs."""

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a glance has no {name}")


class Glance:
    """What can be asked of a vault without opening all of it. If anything is not in order, all is opened, which mends it."""

    def __init__(self, root: Path, arguments: Mapping[str, Value], *, foreign: bool = False) -> None:
        self._root, self._arguments, self._foreign = root, arguments, foreign
        self._parts = _lean(root, arguments, foreign=foreign)
        self._whole: Muisti | None = self._opened() if self._parts is None else None

    def search(self, query: str, limit: int, **options: Unpack[FilterOptions]) -> SearchResults:
        """As `Muisti.search` by keyword, but nothing is noted. Raises MuistiError."""
        if self._whole is None and self._parts is not None:
            settings = self._parts.settings
            try:
                return search(self._parts, redact_text(query, settings), to_filter(settings, options), limit, "keyword")
            except IndexCorrupt:
                self._whole = self._opened()
        assert self._whole is not None
        return self._whole.search(query, limit=limit, mode="keyword", record=False, **options)

    def frequencies(self, words: Sequence[str]) -> Frequencies:
        """In how many texts each word stands."""
        parts = self._parts if self._whole is None else self._whole._parts
        assert parts is not None
        return parts.lexical.frequencies(words)

    def close(self) -> None:
        """Let go of what had to be opened as a whole; for the rest, the end of the process does."""
        if self._whole is not None:
            self._whole.close()

    def _opened(self) -> Muisti:
        from muisti.bootstrap import open_vault

        return open_vault(self._root, create=False, arguments=self._arguments, foreign=self._foreign)


def _lean(root: Path, arguments: Mapping[str, Value], *, foreign: bool) -> Parts | None:
    """Only what a search by keyword reads; None if there is no index that is complete. Raises SettingsError."""
    settings = load_settings(root, arguments=arguments, foreign=foreign)
    clock = SystemClock()
    database = Database(root / ".muisti", settings.index_timeout, clock, salience_sql(settings.kinds, settings.decay_rates))
    if not database.open_complete():
        return None
    needed: dict[str, Any] = {
        "reader": SqliteReader(database),
        "lexical": SqliteLexical(database),
        "links": SqliteLinks(database),
        "clock": clock,
        "settings": settings,
    }
    absent: dict[str, Any] = dict.fromkeys(Parts.__slots__, _Absent())
    return Parts(**{**absent, **needed})
