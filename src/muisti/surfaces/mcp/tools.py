"""The tools: each parses arguments, calls the engine once or twice, and renders the result."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, TypeVar, cast

from mcp.server.mcpserver import Context
from mcp_types import CallToolResult
from pydantic import BeforeValidator, Field

from muisti.aio import MemoryService
from muisti.errors import InvalidRequest, MemoryNotFound
from muisti.model import EntryType, Memory
from muisti.recall.filters import ALL_PROJECTS, FilterOptions
from muisti.remember.options import UpdateOptions
from muisti.surfaces.mcp import results
from muisti.surfaces.mcp.vault import LazyVault

T = TypeVar("T")
Ctx = Context[Any, Any]
PROGRESS_SECONDS = 1.0
"""Seconds between two progress notifications of a call."""
PARTIAL_ID_LENGTHS = range(8, 36)
"""Lengths of the start or end of an ID."""

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
SaveProject = Annotated[
    str, Field(description='Default: the current one. "": none, visible in all projects')
]
SearchProject = Annotated[str, Field(description='Default: the current one. "*": all projects')]


class Tools:
    """The tools of a vault. Their docstrings are the descriptions that models read.

    All of them raise MuistiError, which the server describes to the model.
    """

    def __init__(self, vault: LazyVault, project: str = "") -> None:
        """Project: of calls that name none; "": as the vault's settings say."""
        self._vault, self._project = vault, project

    async def save(
        self,
        ctx: Ctx,
        content: str,
        title: str | None = None,
        kind: Kind | None = None,
        project: SaveProject | None = None,
        importance: Weight | None = None,
        files: list[str] | None = None,
    ) -> Annotated[CallToolResult, results.SavedMemory]:
        """Save one fact for later sessions: a decision and its reason, a user preference, a fix
        that worked. Write one or two sentences that can be understood on their own. Search first
        if it may be known already.
        """
        memory = await self._memory(ctx)
        started = datetime.now(UTC)
        saved = await with_progress(
            ctx,
            memory.save(
                content,
                title=title,
                kind=kind,
                project=self._default_project(project),
                importance=importance,
                files=files or (),
                source=name_source(ctx),
                trusted=False,  # no person has confirmed it yet
            ),
            "saving",
        )
        known = ["Already known; reinforced."] if saved.created_at < started else []
        return results.render_saved(
            saved, "Saved as", [*known, *await _list_remarks(memory, saved, content)]
        )

    async def search(
        self,
        ctx: Ctx,
        query: Annotated[
            str,
            Field(description="A question or keywords; may name a time: “last week”, “in March”"),
        ],
        limit: Limit = 10,
        kind: str | None = None,
        project: SearchProject | None = None,
    ) -> Annotated[CallToolResult, results.MemoryList]:
        """Search memories; returns IDs and titles, best first. Use it before answering about
        earlier work, decisions or the user's preferences. Then `get` the useful ones.
        """
        memory = await self._memory(ctx)
        options = make_project_filter(self._default_project(project))
        options["kind"] = kind
        options["source"] = (EntryType.MEMORY, EntryType.DOCUMENT)
        searching = memory.search(query, limit=limit, record=False, **options)
        found = await with_progress(ctx, searching, "searching")
        if not found:  # fall back to messages of conversations
            options["source"] = None
            searching = memory.search(query, limit=limit, record=False, **options)
            found = await with_progress(ctx, searching, "searching")
        return results.render_list([result.memory for result in found], note=found.degraded)

    async def timeline(
        self, ctx: Ctx, id: str, before: Around = 3, after: Around = 3
    ) -> Annotated[CallToolResult, results.MemoryList]:
        """List the memories saved just before and after one, to see what led to it and what
        followed. Returns IDs and titles.
        """
        memory = await self._memory(ctx)
        full_id = await resolve_id(memory, id)
        around = await with_progress(
            ctx, memory.timeline(full_id, before=before, after=after), "reading"
        )
        found = [await memory.get(one.id) for one in around]
        return results.render_list([one for one in found if one is not None], marked_id=full_id)

    async def get(self, ctx: Ctx, ids: Ids) -> Annotated[CallToolResult, results.FullMemories]:
        """Read full memories by their IDs, as returned by search, timeline or save."""
        memory = await self._memory(ctx)
        wanted = list(dict.fromkeys([await resolve_id(memory, one) for one in ids]))
        return results.render_full(await with_progress(ctx, memory.details(wanted), "reading"))

    async def update(
        self,
        ctx: Ctx,
        id: str,
        content: str | None = None,
        title: str | None = None,
        kind: str | None = None,
        project: str | None = None,
        importance: Weight | None = None,
    ) -> Annotated[CallToolResult, results.SavedMemory]:
        """Correct or complete a memory; omitted fields are unchanged and the old version is kept.
        If a fact has changed, save the new one and link it to the old one with SUPERSEDES instead.
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
        if not changes:
            raise InvalidRequest("update", "", f"needs at least one of {', '.join(given)}")
        if "content" in changes or "title" in changes:  # the text is the agent's now
            changes |= {"source": name_source(ctx), "trusted": False}
        memory = await self._memory(ctx)
        full_id = await resolve_id(memory, id)
        changed = await with_progress(
            ctx, memory.update(full_id, **cast("UpdateOptions", changes)), "saving"
        )
        return results.render_saved(
            changed, "Updated", await _list_remarks(memory, changed, content or "")
        )

    async def forget(self, ctx: Ctx, id: str) -> Annotated[CallToolResult, results.ForgottenMemory]:
        """Move a memory to the trash if it is wrong or the user wants it gone. The user can restore
        it.
        """
        memory = await self._memory(ctx)
        full_id = await resolve_id(memory, id)
        if not await with_progress(ctx, memory.delete(full_id), "deleting"):
            raise MemoryNotFound(id)
        note = f"Moved to the trash. `muisti restore {full_id}` restores it."
        return results.make_result(
            results.ForgottenMemory(id=full_id, note=note), f"Forgot {full_id}. {note}"
        )

    async def link(
        self, ctx: Ctx, source: str, target: str, type: LinkName = "RELATED_TO"
    ) -> Annotated[CallToolResult, results.CreatedLink]:
        """Link two memories. SUPERSEDES marks target as outdated, replaced by source."""
        memory = await self._memory(ctx)
        ends = await resolve_id(memory, source), await resolve_id(memory, target)
        created = await with_progress(ctx, memory.link(*ends, type, extracted_by="llm"), "linking")
        value = results.CreatedLink(
            source=created.source, type=created.type.value, target=created.target
        )
        return results.make_result(
            value, f"Linked: {created.source} {results.format_link(created)}"
        )

    async def core_get(self, ctx: Ctx) -> Annotated[CallToolResult, results.CoreSections]:
        """Read core memory: permanent facts about the user and standing instructions. Use it at the
        start of a task.
        """
        memory = await self._memory(ctx)
        return results.render_core(await with_progress(ctx, memory.core_get(), "reading"))

    async def core_update(
        self, ctx: Ctx, section: Section, key: str, value: str
    ) -> Annotated[CallToolResult, results.CoreEntry]:
        """Set one short entry of core memory, such as user/name or agent/language. Only for what
        the user said and what is permanently true.
        """
        memory = await self._memory(ctx)
        await with_progress(ctx, memory.core_update(section, key, value), "saving")
        return results.make_result(
            results.CoreEntry(section=section, key=key), f"Set {section}/{key}."
        )

    async def core_delete(
        self, ctx: Ctx, section: Section, key: str
    ) -> Annotated[CallToolResult, results.CoreEntry]:
        """Delete an entry of core memory that is no longer true."""
        memory = await self._memory(ctx)
        await with_progress(ctx, memory.core_delete(section, key), "saving")
        return results.make_result(
            results.CoreEntry(section=section, key=key), f"Deleted {section}/{key}."
        )

    async def _memory(self, ctx: Ctx) -> MemoryService:
        return await with_progress(ctx, self._vault.connect(), "opening the vault")

    def _default_project(self, project: str | None) -> str | None:
        return project if project is not None else self._project or None


async def with_progress(ctx: Ctx, work: Awaitable[T], what: str) -> T:
    """Await work and notify the client every second while it runs.

    Opening a large vault or loading the model may take long.
    """
    task = asyncio.ensure_future(work)
    seconds = 0.0
    try:
        while not (await asyncio.wait({task}, timeout=PROGRESS_SECONDS))[0]:
            seconds += PROGRESS_SECONDS
            await ctx.report_progress(seconds, message=what)
    except asyncio.CancelledError:
        task.cancel()
        raise
    return task.result()


def make_project_filter(project: str | None) -> FilterOptions:
    """Return the filter for reads in a project, which include memories without a project.

    None: the project of the vault's settings.
    """
    if project in (None, ALL_PROJECTS):
        return {"project": project}
    return {"project": project, "unfiled": True}


async def resolve_id(memory: MemoryService, given: str) -> str:
    """Return the full ID for its first or last characters; unchanged if none or several match."""
    part = given.strip().removeprefix("memory://").lstrip("…")
    if len(part) not in PARTIAL_ID_LENGTHS:
        return part
    matches = await memory.find_ids(part, limit=2)
    return matches[0] if len(matches) == 1 else part


def name_source(ctx: Ctx) -> str:
    """Return the source of what this client saves: `agent`, or `agent:NAME` if it sent its name."""
    name = ""
    with suppress(AttributeError, ValueError):  # clients need not send their name
        client = ctx.request_context.session.client_params
        name = client.client_info.name  # type: ignore[union-attr]
    clean = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-")[:40]
    return f"agent:{clean}" if clean else "agent"


async def _list_remarks(memory: MemoryService, saved: Memory, given: str) -> list[str]:
    """Return what the agent should know about a saved memory."""
    remarks = []
    if "[redacted:" in saved.content and "[redacted:" not in given:
        remarks.append("A secret was redacted; secrets are never stored.")
    for link in saved.links:
        if link.proposed:
            other = await memory.get(link.target)
            title = f" ({results.truncate(other.title, results.TITLE_TOKENS)})" if other else ""
            remarks.append(
                f"May replace or contradict {link.target}{title}; if so, link with SUPERSEDES."
            )
    if saved.index_pending:
        remarks.append("Saved; searchable a little later, as the index is busy.")
    return remarks
