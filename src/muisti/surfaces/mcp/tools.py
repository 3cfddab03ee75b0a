"""The tools: each parses arguments, calls the engine once or twice, and renders the result."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable
from contextlib import suppress
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, TypeVar, cast

from mcp.server.mcpserver import Context
from mcp_types import CallToolResult
from pydantic import BeforeValidator, Field

from muisti.aio import MemoryService
from muisti.errors import InvalidRequest, MemoryNotFound
from muisti.model import EntryType, Memory, SearchResults
from muisti.recall.fence import quote_text
from muisti.recall.filters import FilterOptions
from muisti.remember.options import UpdateOptions
from muisti.surfaces.mcp import results
from muisti.surfaces.mcp.errors import drop_commands
from muisti.surfaces.mcp.reads import (
    describe_long_sessions,
    list_overview,
    list_standing,
    make_entries,
    make_hit_entries,
    only_unverified,
    read_details,
    read_visible,
    resolve_id,
)
from muisti.surfaces.mcp.scope import AgentScope, ScopeName, describe_project
from muisti.surfaces.mcp.vault import LazyVault

T = TypeVar("T")
CALL: ContextVar[Context[Any, Any]] = ContextVar("call")
"""The call that is served: the client's name, and where to report progress."""
PROGRESS_SECONDS = 1.0
"""Seconds between two progress notifications of a call."""

Ids = Annotated[
    list[str],
    Field(min_length=1, max_length=20),
    BeforeValidator(lambda given: [given] if isinstance(given, str) else given),
]
Around = Annotated[int, Field(ge=0, le=20)]
Limit = Annotated[int, Field(ge=1, le=30)]
Weight = Annotated[float, Field(ge=0, le=1)]
Section = Literal["user", "agent"]
LinkName = Literal[
    "SUPERSEDES",
    "CONTRADICTS",
    "RELATED_TO",
    "BUILDS_ON",
    "CONFIRMS",
    "APPLIES_TO",
    "DEPENDS_ON",
    "ALTERNATIVE_TO",
]
Kind = Annotated[
    str,
    Field(
        description="decision, fact, preference, insight, bugfix, discovery, note … "
        "Default: inferred"
    ),
]
Project = Annotated[str, Field(description="Default: the current one")]
SearchScope = Annotated[
    ScopeName, Field(description="project (default): the current one and global memories")
]
SaveScopeName = Annotated[ScopeName, Field(description="Default: project; preferences: everywhere")]


class Tools:
    """The tools of a vault. Their docstrings are the descriptions that models read.

    All of them raise MuistiError, which the server describes to the model.
    """

    def __init__(self, vault: LazyVault, project: str = "", user: str | None = None) -> None:
        """Project and user: see AgentScope."""
        self._vault, self._project, self._user = vault, project, user

    async def memory_save(
        self,
        content: str,
        title: str | None = None,
        kind: Kind | None = None,
        scope: SaveScopeName | None = None,
        project: Project | None = None,
        importance: Weight | None = None,
        files: list[str] | None = None,
        replaces: Annotated[str, Field(description="ID of the outdated memory")] | None = None,
    ) -> Annotated[CallToolResult, results.SavedMemory]:
        """Save one fact for later sessions: a decision and its reason, a user preference, a fix
        that worked. Write one or two sentences that can be understood on their own. Search first:
        if a fact has changed, pass the old memory's ID as `replaces`.
        """
        memory, agent = await self._open()
        old_id = None
        if replaces is not None:
            old_id = await resolve_id(memory, replaces)
            await read_visible(memory, agent, old_id)
        place = agent.choose_save_scope(scope, project, kind, content)
        started = datetime.now(UTC)
        saved = await with_progress(
            memory.save(
                content,
                replaces=old_id,
                title=title,
                kind=kind,
                project=place.project,
                tier=place.tier,
                user=agent.user,
                importance=importance,
                files=files or (),
                source=name_source(),
                trusted=False,  # no person has confirmed it yet
            ),
            "saving",
        )
        notes = ["Already known; reinforced."] if saved.created_at < started else []
        if old_id is not None:
            notes.append(f"{old_id} is outdated now.")
        remarks, others = await _list_remarks(memory, agent, saved, content)
        return results.render_saved(saved, "Saved as", [*notes, *remarks], others)

    async def memory_search(
        self,
        query: Annotated[
            str,
            Field(
                description="A question or keywords; may name a time: “last week”, “in March”. "
                "Empty: pinned and recent memories"
            ),
        ] = "",
        limit: Limit = 10,
        kind: str | None = None,
        scope: SearchScope | None = None,
        project: Project | None = None,
        unverified: Annotated[bool, Field(description="Only memories to review")] = False,
        standing: Annotated[
            bool, Field(description="Only standing instructions and preferences")
        ] = False,
    ) -> Annotated[CallToolResult, results.MemoryList]:
        """Search memories; returns IDs and titles, best first. Use it before answering about
        earlier work, decisions or the user's preferences. Then `memory_get` the useful ones.
        """
        memory, agent = await self._open()
        where = agent.choose_project(scope, project)
        options = agent.make_filter(where)
        options["kind"] = kind
        if standing:
            options["standing"] = True
        if not query.strip():
            listing = list_overview(memory, agent, options, limit, unverified=unverified)
            found = await with_progress(listing, "reading")
            notes = [describe_project(where), await describe_long_sessions(memory, agent, where)]
            return results.render_list(
                await make_entries(memory, found), note=" ".join(filter(None, notes))
            )
        options["source"] = (EntryType.MEMORY, EntryType.DOCUMENT)
        if unverified:  # documents and messages cannot be confirmed
            options = only_unverified({**options, "source": EntryType.MEMORY})
        hits = await self._search(memory, query, limit, options)
        if not hits.has_good_match and not unverified:  # fall back to messages of conversations
            options["source"] = None
            more = await self._search(memory, query, limit, options)
            hits = more if more.has_good_match or not hits else hits
        shown = [hit for hit in hits if agent.shows(hit.memory)]
        if unverified:
            shown = [hit for hit in shown if not hit.memory.trusted]
        entries = await make_hit_entries(memory, shown)
        if not unverified:
            entries += await list_standing(memory, agent, query, options, entries)
        notes = [drop_commands(hits.degraded), quote_text(hits.hint), describe_project(where)]
        return results.render_list(entries, note=" ".join(note for note in notes if note))

    async def memory_timeline(
        self,
        id: str,
        before: Around = 3,
        after: Around = 3,
        scope: ScopeName | None = None,
    ) -> Annotated[CallToolResult, results.MemoryList]:
        """List the memories saved just before and after one, to see what led to it and what
        followed. Returns IDs and titles.
        """
        memory, agent = await self._open()
        full_id = await resolve_id(memory, id)
        where = agent.choose_project(scope, None)
        await read_visible(memory, agent, full_id, where)
        neighbours = memory.timeline(full_id, before=before, after=after, **agent.make_scope(where))
        around = await with_progress(neighbours, "reading")
        found = [await memory.get(one.id) for one in around]
        shown = [one for one in found if one is not None and agent.shows(one)]
        return results.render_list(await make_entries(memory, shown), marked_id=full_id)

    async def memory_get(
        self, ids: Ids, scope: ScopeName | None = None
    ) -> Annotated[CallToolResult, results.FullMemories]:
        """Read full memories by their IDs, as returned by the other tools."""
        memory, agent = await self._open()
        wanted = list(dict.fromkeys([await resolve_id(memory, one) for one in ids]))
        where = agent.choose_project(scope, None)
        reading = read_details(memory, agent, wanted, where)
        found, missing = await with_progress(reading, "reading")
        entries = await make_entries(memory, found)
        outdated = {one.memory.id: one.replaced_by for one in entries if one.outdated}
        wikilinks = {
            one.id: await memory.wikilinks(one.id, **agent.make_scope(where))
            for one in found
            if one.wikilinks
        }
        return results.render_full(found, missing, outdated, wikilinks)

    async def memory_update(
        self,
        id: str,
        content: str | None = None,
        title: str | None = None,
        kind: str | None = None,
        project: str | None = None,
        importance: Weight | None = None,
        confirm: Annotated[bool, Field(description="The user confirmed that it is true")] = False,
    ) -> Annotated[CallToolResult, results.SavedMemory]:
        """Correct or complete a memory; omitted fields are unchanged and the old version is kept.
        If a fact has changed, use `memory_save` with `replaces` instead.
        """
        given = {
            "content": content,
            "title": title,
            "kind": kind,
            "project": project,
            "importance": importance,
        }
        changes: dict[str, Any] = {
            name: value for name, value in given.items() if value is not None
        }
        if not changes and not confirm:
            raise InvalidRequest("update", "", f"needs at least one of {', '.join(given)}, confirm")
        if "content" in changes or "title" in changes:  # the text is the agent's now
            changes |= {"source": name_source(), "trusted": False}
        if confirm:
            changes["trusted"] = True
        memory, agent = await self._open()
        full_id = await resolve_id(memory, id)
        await read_visible(memory, agent, full_id)
        changed = await with_progress(
            memory.update(full_id, **cast("UpdateOptions", changes)), "saving"
        )
        remarks, others = await _list_remarks(memory, agent, changed, content or "")
        if confirm:
            remarks.insert(0, "Confirmed.")
        return results.render_saved(changed, "Updated", remarks, others)

    async def memory_forget(self, id: str) -> Annotated[CallToolResult, results.ForgottenMemory]:
        """Move a memory to the trash if it is wrong or the user wants it gone. The user can restore
        it.
        """
        memory, agent = await self._open()
        full_id = await resolve_id(memory, id)
        await read_visible(memory, agent, full_id)
        if not await with_progress(memory.delete(full_id), "deleting"):
            raise MemoryNotFound(id)
        note = "Moved to the trash; the user can restore it."
        return results.make_result(
            results.ForgottenMemory(id=full_id, note=note), f"Forgot {full_id}. {note}"
        )

    async def memory_link(
        self, source: str, target: str, type: LinkName = "RELATED_TO"
    ) -> Annotated[CallToolResult, results.CreatedLink]:
        """Link two memories. SUPERSEDES marks target as outdated, replaced by source."""
        memory, agent = await self._open()
        ends = await resolve_id(memory, source), await resolve_id(memory, target)
        for end in ends:
            await read_visible(memory, agent, end)
        created = await with_progress(memory.link(*ends, type, extracted_by="llm"), "linking")
        value = results.CreatedLink(
            source=created.source, type=created.type.value, target=created.target
        )
        return results.make_result(
            value, f"Linked: {created.source} {results.format_link(created)}"
        )

    async def memory_core_get(self) -> Annotated[CallToolResult, results.CoreSections]:
        """Read core memory: permanent facts about the user and standing instructions. Use it at the
        start of a task.
        """
        memory, agent = await self._open()
        core = await with_progress(memory.core_get(user=agent.user), "reading")
        return results.render_core(core)

    async def memory_core_update(
        self,
        section: Section,
        key: str,
        value: Annotated[str, Field(description="Empty: delete the entry")],
    ) -> Annotated[CallToolResult, results.CoreEntry]:
        """Set or delete one short entry of core memory, such as user/name or agent/language. Only
        for what the user said and what is permanently true.
        """
        memory, agent = await self._open()
        if value.strip():
            change = memory.core_update(section, key, value, user=agent.user)
        else:
            change = memory.core_delete(section, key, user=agent.user)
        await with_progress(change, "saving")
        action = "Set" if value.strip() else "Deleted"
        return results.make_result(
            results.CoreEntry(section=section, key=key), f"{action} {section}/{quote_text(key)}."
        )

    async def _open(self) -> tuple[MemoryService, AgentScope]:
        memory = await with_progress(self._vault.connect(), "opening the vault")
        results.IS_STRANGER.set(not memory.is_trusted)
        return memory, AgentScope(memory.settings, self._project, self._user)

    async def _search(
        self, memory: MemoryService, query: str, limit: int, options: FilterOptions
    ) -> SearchResults:
        searching = memory.search(query, limit=limit, record=False, **options)
        return await with_progress(searching, "searching")


async def with_progress(work: Awaitable[T], what: str) -> T:
    """Await work and notify the client every second while it runs.

    Opening a large vault or loading the model may take long.
    """
    task = asyncio.ensure_future(work)
    seconds = 0.0
    try:
        while not (await asyncio.wait({task}, timeout=PROGRESS_SECONDS))[0]:
            seconds += PROGRESS_SECONDS
            await CALL.get().report_progress(seconds, message=what)
    except asyncio.CancelledError:
        task.cancel()
        raise
    return task.result()


def name_source() -> str:
    """Return the source of what this client saves: `agent`, or `agent:NAME` if it sent its name."""
    name = ""
    with suppress(AttributeError, ValueError):  # clients need not send their name
        client = CALL.get().request_context.session.client_params
        name = client.client_info.name  # type: ignore[union-attr]
    clean = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-")[:40]
    return f"agent:{clean}" if clean else "agent"


async def _list_remarks(
    memory: MemoryService, agent: AgentScope, saved: Memory, given: str
) -> tuple[list[str], list[Memory]]:
    """Return what the agent should know about a saved memory, and the memories that it mentions."""
    remarks, others = [], []
    if "[redacted:" in saved.content and "[redacted:" not in given:
        remarks.append("A secret was redacted; secrets are never stored.")
    for link in saved.links:
        other = await memory.get(link.target) if link.proposed else None
        if other is not None and agent.shows(other):
            others.append(other)
            remarks.append(
                f"May replace or contradict {other.id}; if so, link them with SUPERSEDES."
            )
    if saved.index_pending:
        remarks.append("Searchable a little later, as the index is busy.")
    return remarks, others
