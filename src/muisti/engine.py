"""Muisti: the whole product as one object. It holds the parts and delegates; the rules live elsewhere."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar, Unpack

from muisti.errors import EmbedderProblem, IndexBusy, IndexCorrupt, InvalidRequest, MuistiError, VaultFull
from muisti.keep import reindex as rebuilding
from muisti.keep import sessions, use
from muisti.keep.sync import sync
from muisti.keep.verify import verify
from muisti.model import (
    CompactResult,
    Draft,
    Explanation,
    Memory,
    Problem,
    SearchResult,
    SearchResults,
    Session,
    SessionUse,
    Stats,
    SyncReport,
    Use,
    VerifyReport,
)
from muisti.ports import Parts, Progress
from muisti.recall import layers
from muisti.recall import pipeline as recalling
from muisti.recall.explain import explain
from muisti.recall.options import FilterOptions, Mode, to_filter, to_moment, to_order
from muisti.recall.record import Recorder
from muisti.remember import change
from muisti.remember.bring import import_memories
from muisti.remember.fill import Filler, fill, halves
from muisti.remember.identity import new_id
from muisti.remember.options import SaveOptions, UpdateOptions, as_draft, to_draft
from muisti.remember.pipeline import remember
from muisti.remember.validate import checked_name, checked_project
from muisti.settings import Settings
from muisti.usage import DEEMPHASIZE, REINFORCE

log = logging.getLogger("muisti")
P = ParamSpec("P")
R = TypeVar("R")
Listed = list
"""The built-in type: inside the class `list` is the method."""


class Muisti:
    """A vault, open for use from any number of threads. `Muisti.open(path)` makes one; `close` it, or use `with`."""

    def __init__(self, parts: Parts, root: Path) -> None:
        self.root = root
        self._parts = parts
        self._recorder = Recorder(parts)
        self._filler = Filler(parts)
        self._making_ready = threading.Lock()
        self._closed = False

    @classmethod
    def open(cls, path: str | os.PathLike[str] | None = None, **settings: str | int | float | bool) -> Muisti:
        """Open the vault at this path, or the one that is found from here; a missing one is created."""
        from muisti.bootstrap import open_vault  # the only import upwards: this is where a caller begins

        return open_vault(path, arguments=settings)

    @property
    def settings(self) -> Settings:
        """How this vault behaves."""
        return self._parts.settings

    # -- Remember

    def save(self, content: str, **options: Unpack[SaveOptions]) -> Memory:
        """Remember a text. Raises InvalidMemory. Saying the same again reinforces what is there."""
        return self._remember([to_draft(content, options)])[0]

    def save_batch(self, items: Iterable[Draft | str | dict[str, Any]], *, progress: Progress | None = None) -> list[Memory]:
        """Remember many texts at once: all of them or, if one is not acceptable, none."""
        if isinstance(items, str):
            raise InvalidRequest("items", items[:40], "it must be a list; `save` takes one text")
        drafts = [as_draft(item) for item in items]
        return self._remember(drafts, progress) if drafts else []

    def _remember(self, drafts: Listed[Draft], progress: Progress | None = None) -> Listed[Memory]:
        first, second = halves(progress) if self.settings.embed_on_save else (progress, None)
        return self._with_vectors(self._change(remember, drafts, first), second)

    def _with_vectors(self, memories: Listed[Memory], progress: Progress | None = None) -> Listed[Memory]:
        """What was saved, with its vectors. If they cannot be had now, they are made later: the memories are safe."""
        waiting = [m for m in memories if m.embedding_model is None and not m.index_pending]
        if not waiting or not self.settings.embed_on_save or self.settings.embedder == "none":
            progress and progress(len(memories), len(memories))
            return memories
        self._filler.embed_now(waiting, progress)
        known = {memory.id: memory for memory in self._parts.reader.many([memory.id for memory in waiting])}
        return [known.get(memory.id, memory) for memory in memories]

    def update(
        self, memory_id: str, *, expected_hash: str | None = None, by_session: str | None = None, **changes: Unpack[UpdateOptions]
    ) -> Memory:
        """Change some fields. With `expected_hash` (a `content_hash`), only if nobody changed the content since."""
        given: dict[str, Any] = dict(changes)
        for name in ("keywords", "files"):
            if isinstance(given.get(name), list):
                given[name] = tuple(given[name])
        changed = self._change(change.update, memory_id, given, expected_hash=expected_hash, by_session=by_session)
        return self._with_vectors([changed])[0]

    def delete(self, memory_id: str, *, hard: bool = False) -> bool:
        """Move to the trash; hard: leave no byte. False if there is no such memory."""
        return self._change(change.delete, memory_id, hard=hard)

    def restore(self, memory_id: str) -> Memory:
        """Bring back from the trash. Raises MemoryNotFound."""
        return self._change(change.restore, memory_id)

    def touch(self, memory_id: str) -> Memory:
        """Note that a memory was looked at."""
        return self._change(use.touch, memory_id)

    def reinforce(self, memory_id: str, amount: float = REINFORCE, *, session_id: str | None = None) -> Memory:
        """Make a memory stronger, with diminishing returns."""
        return self._change(use.reinforce, memory_id, amount, session_id)

    def deemphasize(self, memory_id: str, amount: float = DEEMPHASIZE) -> Memory:
        """Make a memory weaker, never below 0.05."""
        return self._change(use.deemphasize, memory_id, amount)

    # -- Recall

    def get(self, memory_id: str, *, include_deleted: bool = False) -> Memory | None:
        """One memory, or None."""
        return self._call(lambda parts: parts.reader.get(memory_id, include_deleted=include_deleted))

    def list(
        self,
        *,
        limit: int | None = 100,
        offset: int = 0,
        order_by: str = "created_at",
        order: str = "desc",
        **options: Unpack[FilterOptions],
    ) -> Listed[Memory]:
        """Memories of all sessions, sorted. Raises InvalidRequest."""
        if (limit is not None and limit < 0) or offset < 0:
            raise InvalidRequest("limit, offset", (limit, offset), "neither may be below 0")
        where, by = to_filter(self.settings, options, all_sessions=True), to_order(order_by, order)
        return self._call(lambda parts: parts.reader.select(where, order=by, limit=limit, offset=offset))

    def search(
        self,
        query: str,
        *,
        limit: int | None = None,
        mode: Mode = "hybrid",
        asked_at: datetime | None = None,
        **options: Unpack[FilterOptions],
    ) -> SearchResults:
        """The memories that answer a query, best first, each with a score, a snippet and the reasons.

        `asked_at` says from when on "yesterday" and "last week" count back; unset: from now.
        Where the vectors cannot be asked, the answer goes by keyword, and its `degraded` says why.
        """
        results = self._searched(query, limit, mode, options, to_moment("asked_at", asked_at))
        self._recorder.note([result.memory.id for result in results], options.get("session_id"))
        return results

    def _searched(
        self, query: str, limit: int | None, mode: str, options: FilterOptions, asked_at: datetime | None = None
    ) -> SearchResults:
        where = to_filter(self.settings, options)
        if recalling.checked_mode(mode) != "keyword":
            self._catch_up()
        return self._look(recalling.search, query, where, limit, mode, asked_at)

    def _catch_up(self) -> None:
        with suppress(EmbedderProblem):  # the answer says so
            self._look(_nothing)
            self._filler.catch_up()

    def search_compact(
        self, query: str, *, limit: int | None = None, mode: Mode = "hybrid", **options: Unpack[FilterOptions]
    ) -> Listed[CompactResult]:
        """The first of three layers: ids, titles and scores to choose from. Counts as no recall."""
        return layers.compact(self._searched(query, limit, mode, options))

    def timeline(self, memory_id: str, *, before: int = 5, after: int = 5) -> Listed[CompactResult]:
        """The second layer: what came before and after in the same project."""
        return self._call(layers.timeline, memory_id, before, after)

    def details(self, ids: Sequence[str], *, session_id: str | None = None) -> Listed[Memory]:
        """The third layer: whole memories. Raises MemoryNotFound."""
        found = self._call(layers.details, ids)
        self._recorder.note([memory.id for memory in found], session_id)
        return found

    def search_by_keywords(
        self, keywords: Sequence[str], /, *, match_all: bool = False, limit: int = 10, **options: Unpack[FilterOptions]
    ) -> Listed[Memory]:
        """Memories that carry any, or all, of these keywords."""
        where = to_filter(self.settings, options)
        found = self._call(layers.search_by_keywords, keywords, where, match_all=match_all, limit=limit)
        self._recorder.note([memory.id for memory in found], options.get("session_id"))
        return found

    def related(self, memory_id: str, *, limit: int = 10, **options: Unpack[FilterOptions]) -> Listed[SearchResult]:
        """Memories that share the most telling words with this one, or are near it in meaning."""
        return self._call(recalling.related, memory_id, to_filter(self.settings, options), limit)

    def explain(self, query: str, memory_id: str, *, mode: Mode = "hybrid", **options: Unpack[FilterOptions]) -> Explanation:
        """Why this memory is, or is not, an answer to the query."""
        where = to_filter(self.settings, options)
        self._catch_up()
        return self._call(explain, query, memory_id, where, mode)

    # -- Sessions

    def start_session(self, project: str | None = None, *, session_id: str | None = None) -> Session:
        """Begin a session; without an id it gets a new one."""
        name = checked_project(self.settings.project if project is None else project)
        given = checked_name("session_id", session_id) if session_id is not None else new_id(self._parts.clock.now())
        return self._change(sessions.start_session, given, name)

    def end_session(self, session_id: str, summary: str | None = None, *, tool_calls: int | None = None) -> Session:
        """Complete a session; what is not said stays as it was. Raises SessionNotFound."""
        return self._change(sessions.end_session, session_id, summary, tool_calls)

    def get_session(self, session_id: str) -> Session:
        """One session. Raises SessionNotFound."""
        return self._call(sessions.existing_session, session_id)

    def list_sessions(self, project: str | None = None, *, limit: int = 50) -> Listed[Session]:
        """The latest sessions first."""
        return self._call(lambda parts: parts.reader.sessions(project, limit))

    def link_to_session(self, memory_id: str, session_id: str, use: str = "recalled") -> None:
        """Note what a session did with a memory: created, recalled, updated or reinforced."""
        if use not in tuple(Use):
            raise InvalidRequest("use", use, f"it must be one of {', '.join(Use)}")
        self._change(sessions.link_to_session, memory_id, checked_name("session_id", session_id), Use(use))

    def session_uses(self, session_id: str) -> Listed[SessionUse]:
        """What a session did with memories, in the order of time."""
        return self._call(sessions.session_uses, session_id)

    def get_by_session(self, session_id: str) -> Listed[Memory]:
        """The memories that a session made or used."""
        return self._call(sessions.get_by_session, session_id)

    def get_session_context(self, session_id: str) -> Listed[Memory]:
        """The memories that a session made, in the order of time."""
        return self._call(sessions.session_context, session_id)

    def get_raw_session_content(self, session_id: str) -> str:
        """Their contents as one text, for a summary."""
        return sessions.raw_content(self.get_session_context(session_id))

    def get_session_token_count(self, session_id: str) -> int:
        """Roughly how many tokens that text has."""
        return sessions.token_count(self.get_session_context(session_id))

    # -- Upkeep

    def get_stats(self) -> Stats:
        """The vault in numbers."""
        return self._call(lambda parts: parts.reader.stats())

    def export_memories(self, *, format: str = "markdown", **options: Unpack[FilterOptions]) -> str:
        """All memories, or those a filter lets through, as one text that `import_memories` reads."""
        where = to_filter(self.settings, options, all_sessions=True)
        memories = self._call(lambda parts: parts.reader.select(where, order="created_at", limit=None))
        return self._parts.exchange.dump(memories, format)

    def import_memories(
        self,
        source_path: str | os.PathLike[str],
        *,
        kind: str | None = None,
        project: str | None = None,
        progress: Progress | None = None,
    ) -> int:
        """Take in a file or folder; answers how many memories were new. Raises ImportFailed; then nothing was."""
        source = Path(source_path).expanduser()
        return self._call(import_memories, source, kind=kind, project=project, progress=progress)

    def sync(self, *, confirm: bool = False) -> SyncReport:
        """Look for what was changed by hand. Confirm: forget files that vanished, however many."""
        return self._call(sync, confirm=confirm)

    def reindex(self, *, progress: Progress | None = None) -> SyncReport:
        """Rebuild the index from the files, while others keep reading, and make the vectors that are missing."""
        report = self._call(rebuilding.reindex, progress)
        try:
            self.reindex_missing(progress=progress)
        except EmbedderProblem as error:
            log.warning("the index is rebuilt; vectors follow when they can be made: %s", error)
        return report

    def reindex_missing(self, *, progress: Progress | None = None) -> int:
        """Make the vectors that are missing, all of them after a change of the model. Answers how many memories got theirs.

        Raises EmbedderProblem.
        """
        return self._call(lambda parts: fill(parts, progress=progress))

    def warm_up(self) -> None:
        """Load the model in the background, so that the first search does not wait for it."""
        self._filler.warm_up()

    def verify(self, *, deep: bool = False, progress: Progress | None = None) -> VerifyReport:
        """Prove that files and index agree. Deep: compare with an index built anew."""
        return self._call(verify, deep=deep, progress=progress)

    def problems(self) -> Listed[Problem]:
        """Files that could not be read at the last look, each with what to do."""
        return self._call(lambda parts: parts.index.problems())

    def find_ids(self, part: str, *, limit: int = 10) -> Listed[str]:
        """Ids that begin or end with this text: what people type instead of a whole id."""
        return self._call(lambda parts: parts.reader.matching_ids(part.strip().lower(), limit))

    def flush(self) -> None:
        """Return once everything that searches noted is written."""
        self._recorder.flush()

    def close(self) -> None:
        """Write what is left and let go of the vault. Closing twice is fine."""
        if not self._closed:
            self._closed = True
            self._filler.close()
            self._recorder.close()
            self._parts.embedders.close()
            self._parts.index.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    # -- The one way to the parts

    def _call(self, operation: Callable[Concatenate[Parts, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run an operation that sees what earlier searches noted."""
        self._recorder.flush()
        return self._look(operation, *args, **kwargs)

    def _change(self, operation: Callable[Concatenate[Parts, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run an operation that writes files: it goes on even while the index cannot take in what it lacks."""
        self._recorder.flush()
        try:
            self._look(_nothing)
        except (IndexBusy, VaultFull) as error:
            if not self._parts.index.is_current() or self._parts.index.open():
                raise  # an index that was never filled knows no twins: a retry would make a double
            log.warning("the index is behind the files and catches up later: %s", error)
            return operation(self._parts, *args, **kwargs)
        return self._look(operation, *args, **kwargs)

    def _look(self, operation: Callable[Concatenate[Parts, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run an operation on an index that is ready. A damaged index is rebuilt from the files, once."""
        if self._closed:
            raise MuistiError("this vault has been closed; open it again")
        try:
            self.make_ready()
            return operation(self._parts, *args, **kwargs)
        except IndexCorrupt:
            self._heal()
            return operation(self._parts, *args, **kwargs)

    def make_ready(self) -> None:
        """Follow the index if it was swapped or deleted, and catch up if it fell behind."""
        if self._parts.index.is_current() and not self._parts.index.behind:
            return
        with self._making_ready:
            with self._parts.vault.lock():
                self._parts.index.open()
            if self._parts.index.behind:
                sync(self._parts)

    def _heal(self) -> None:
        """Set the damaged index aside and build it anew."""
        with self._making_ready, self._parts.vault.lock():
            self._parts.index.set_aside()
            self._parts.index.open()
            sync(self._parts)


def _nothing(parts: Parts) -> None:
    """Only makes ready."""
