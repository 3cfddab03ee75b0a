"""MemoryService: the methods of Muisti for asyncio. Each runs Muisti's own method in a thread."""

from __future__ import annotations

import asyncio
import functools
import os
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from muisti.deprecation import renamed_methods, replace_renamed
from muisti.engine import Muisti
from muisti.errors import MuistiError
from muisti.settings import Settings, ValueOrList

P = ParamSpec("P")
R = TypeVar("R")
THREADS = 4


def _threaded(
    method: Callable[Concatenate[Muisti, P], R],
) -> Callable[Concatenate[MemoryService, P], Coroutine[Any, Any, R]]:
    """Return a coroutine function that runs a method of Muisti in one of the service's threads."""

    async def call(self: MemoryService, /, *args: P.args, **kwargs: P.kwargs) -> R:
        # Not in the thread, where a warning could not point at the caller.
        present = replace_renamed(method, kwargs)
        return await self._run(functools.partial(method, self._memory, *args, **present))

    functools.update_wrapper(call, method)
    return call


@renamed_methods
class MemoryService:
    """An open vault for asyncio.

    Create one with `await MemoryService.open(path)`; `await close()` it or use `async with`.
    """

    def __init__(self, memory: Muisti, threads: ThreadPoolExecutor) -> None:
        self._memory = memory
        self._threads = threads
        self._closed = False

    @classmethod
    async def open(
        cls, path: str | os.PathLike[str] | None = None, **settings: ValueOrList
    ) -> MemoryService:
        """Open the vault at a path, or the one found from here; create it if missing."""
        threads = ThreadPoolExecutor(THREADS, thread_name_prefix="muisti")
        open_vault = functools.partial(Muisti.open, path, **settings)
        try:
            memory = await asyncio.get_running_loop().run_in_executor(threads, open_vault)
        except BaseException:
            threads.shutdown(wait=False)
            raise
        return cls(memory, threads)

    async def _run(self, work: Callable[[], R]) -> R:
        if self._closed:
            raise MuistiError("this vault has been closed; open it again")
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    @property
    def root(self) -> Path:
        """The vault's folder."""
        return self._memory.root

    @property
    def sync_postponed(self) -> bool:
        """Whether external changes are left for another process. For the command line."""
        return self._memory.sync_postponed

    @property
    def embedding_postponed(self) -> bool:
        """Whether memories are left to be embedded by another process."""
        return self._memory.embedding_postponed

    @property
    def location(self) -> str:
        """The vault's folder, as text for people."""
        return self._memory.location

    @property
    def name(self) -> str:
        """A short name of the vault, without its full path."""
        return self._memory.name

    @property
    def is_writable(self) -> bool:
        """Whether the vault was writable when it was opened."""
        return self._memory.is_writable

    @property
    def is_trusted(self) -> bool:
        """Whether the vault is the user's own or approved; otherwise it can only be read."""
        return self._memory.is_trusted

    @property
    def settings(self) -> Settings:
        """The settings of this vault."""
        return self._memory.settings

    save = _threaded(Muisti.save)
    save_batch = _threaded(Muisti.save_batch)
    update = _threaded(Muisti.update)
    delete = _threaded(Muisti.delete)
    restore = _threaded(Muisti.restore)
    touch = _threaded(Muisti.touch)
    reinforce = _threaded(Muisti.reinforce)
    deemphasize = _threaded(Muisti.deemphasize)
    get = _threaded(Muisti.get)
    list = _threaded(Muisti.list)
    search = _threaded(Muisti.search)
    context = _threaded(Muisti.context)
    get_relevant_memories = _threaded(Muisti.get_relevant_memories)
    build_memory_context = _threaded(Muisti.build_memory_context)
    find_outdated = _threaded(Muisti.find_outdated)
    find_standing = _threaded(Muisti.find_standing)
    search_compact = _threaded(Muisti.search_compact)
    scope_hint = _threaded(Muisti.scope_hint)
    timeline = _threaded(Muisti.timeline)
    details = _threaded(Muisti.details)
    search_by_keywords = _threaded(Muisti.search_by_keywords)
    related = _threaded(Muisti.related)
    word_frequencies = _threaded(Muisti.word_frequencies)
    explain = _threaded(Muisti.explain)
    start_session = _threaded(Muisti.start_session)
    end_session = _threaded(Muisti.end_session)
    end_idle_sessions = _threaded(Muisti.end_idle_sessions)
    get_session = _threaded(Muisti.get_session)
    list_sessions = _threaded(Muisti.list_sessions)
    link_to_session = _threaded(Muisti.link_to_session)
    session_uses = _threaded(Muisti.session_uses)
    get_by_session = _threaded(Muisti.get_by_session)
    get_session_context = _threaded(Muisti.get_session_context)
    get_raw_session_content = _threaded(Muisti.get_raw_session_content)
    get_session_token_count = _threaded(Muisti.get_session_token_count)
    append_message = _threaded(Muisti.append_message)
    session_break = _threaded(Muisti.session_break)
    window = _threaded(Muisti.window)
    get_conversation = _threaded(Muisti.get_conversation)
    list_conversations = _threaded(Muisti.list_conversations)
    list_summaries = _threaded(Muisti.list_summaries)
    assign_conversation = _threaded(Muisti.assign_conversation)
    search_messages = _threaded(Muisti.search_messages)
    forget = _threaded(Muisti.forget)
    delete_conversation = _threaded(Muisti.delete_conversation)
    delete_messages = _threaded(Muisti.delete_messages)
    restore_conversation = _threaded(Muisti.restore_conversation)
    find_source_messages = _threaded(Muisti.find_source_messages)
    index_path = _threaded(Muisti.index_path)
    forget_path = _threaded(Muisti.forget_path)
    list_documents = _threaded(Muisti.list_documents)
    list_document_sources = _threaded(Muisti.list_document_sources)
    extract = _threaded(Muisti.extract)
    save_extracted = _threaded(Muisti.save_extracted)
    extract_and_save = _threaded(Muisti.extract_and_save)
    resume_extraction = _threaded(Muisti.resume_extraction)
    resume_embedding = _threaded(Muisti.resume_embedding)
    work = _threaded(Muisti.work)
    retry_given_up = _threaded(Muisti.retry_given_up)
    metrics = _threaded(Muisti.metrics)
    core_get = _threaded(Muisti.core_get)
    core_update = _threaded(Muisti.core_update)
    core_delete = _threaded(Muisti.core_delete)
    core_init = _threaded(Muisti.core_init)
    link = _threaded(Muisti.link)
    unlink = _threaded(Muisti.unlink)
    links = _threaded(Muisti.links)
    find_links = _threaded(Muisti.find_links)
    wikilinks = _threaded(Muisti.wikilinks)
    unresolved_links = _threaded(Muisti.unresolved_links)
    supersede = _threaded(Muisti.supersede)
    superseding = _threaded(Muisti.superseding)
    graph = _threaded(Muisti.graph)
    history = _threaded(Muisti.history)
    unmerge = _threaded(Muisti.unmerge)
    dedupe = _threaded(Muisti.dedupe)
    review = _threaded(Muisti.review)
    count_review = _threaded(Muisti.count_review)
    confirm = _threaded(Muisti.confirm)
    replace = _threaded(Muisti.replace)
    confirm_link = _threaded(Muisti.confirm_link)
    reject_link = _threaded(Muisti.reject_link)
    decay_salience = _threaded(Muisti.decay_salience)
    cleanup = _threaded(Muisti.cleanup)
    evict = _threaded(Muisti.evict)
    upkeep = _threaded(Muisti.upkeep)
    run_due_maintenance = _threaded(Muisti.run_due_maintenance)
    list_trash = _threaded(Muisti.list_trash)
    list_archive = _threaded(Muisti.list_archive)
    count_archive = _threaded(Muisti.count_archive)
    merged = _threaded(Muisti.merged)
    merged_count = _threaded(Muisti.merged_count)
    get_stats = _threaded(Muisti.get_stats)
    export_folder = _threaded(Muisti.export_folder)
    export_memories = _threaded(Muisti.export_memories)
    import_from = _threaded(Muisti.import_from)
    import_memories = _threaded(Muisti.import_memories)
    sync = _threaded(Muisti.sync)
    reindex = _threaded(Muisti.reindex)
    reindex_missing = _threaded(Muisti.reindex_missing)
    warm_up = _threaded(Muisti.warm_up)
    verify = _threaded(Muisti.verify)
    problems = _threaded(Muisti.problems)
    find_ids = _threaded(Muisti.find_ids)
    check_available = _threaded(Muisti.check_available)
    disk_usage = _threaded(Muisti.disk_usage)
    watch_files = _threaded(Muisti.watch_files)
    notebook = _threaded(Muisti.notebook)
    queue_status = _threaded(Muisti.queue_status)
    flush = _threaded(Muisti.flush)

    async def close(self) -> None:
        """Write what is pending and close the vault."""
        if not self._closed:
            await self._run(self._memory.close)
            self._closed = True
            self._threads.shutdown(wait=False)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()
