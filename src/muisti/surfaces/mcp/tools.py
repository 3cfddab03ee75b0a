"""The tools: each takes what a model gave, calls the engine once or twice, and renders the answer."""

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
"""Seconds after which, and then every so often, a client that wants to know is told that a call goes on."""
PARTIAL_ID_LENGTHS = range(8, 36)
"""Lengths of what may be a part of an id."""

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
        description="decision, fact, preference, insight, bugfix, discovery, note … Default: guessed"
    ),
]
SaveProject = Annotated[str, Field(description='Default: the current one. "": none, seen in all')]
SearchProject = Annotated[str, Field(description='Default: the current one. "*": all')]


class Tools:
    """What an agent can do with a vault. Raises MuistiError; the server tells it to the model."""

    def __init__(self, vault: LazyVault, project: str = "") -> None:
        """Project: where saves and searches happen unless they name another; "": what the vault's settings say."""
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
        """Remember one thing for later sessions: a decision and its reason, a preference of the user, a fix that worked.
        One or two sentences that can be understood alone. Search first if it may be known already.
        """
        memory = await self._memory(ctx)
        begun = datetime.now(UTC)
        saved = await report_progress(
            ctx,
            memory.save(
                content,
                title=title,
                kind=kind,
                project=self._of(project),
                importance=importance,
                files=files or (),
                source=name_source(ctx),
                trusted=False,  # whatever made the agent write it, no person has looked at it yet
            ),
            "saving",
        )
        known = ["It was known already, and counts more now."] if saved.created_at < begun else []
        return results.render_saved(
            saved, "Saved as", [*known, *await _list_remarks(memory, saved, content)]
        )

    async def search(
        self,
        ctx: Ctx,
        query: Annotated[
            str, Field(description="A question or words. “last week”, “in March” are understood")
        ],
        limit: Limit = 10,
        kind: str | None = None,
        project: SearchProject | None = None,
    ) -> Annotated[CallToolResult, results.MemoryList]:
        """Find what is remembered, best first: ids and titles. Use it before answering about earlier work, decisions or the
        user's preferences. Then `get` what looks useful.
        """
        options: FilterOptions = {"kind": kind, **make_project_filter(self._of(project))}
        memory = await self._memory(ctx)
        options["source"] = (EntryType.MEMORY, EntryType.DOCUMENT)
        found = await report_progress(
            ctx, memory.search(query, limit=limit, record=False, **options), "searching"
        )
        if not found:  # what was said, and nothing was made of
            options["source"] = None
            found = await report_progress(
                ctx, memory.search(query, limit=limit, record=False, **options), "searching"
            )
        return results.render_list([result.memory for result in found], note=found.degraded)

    async def timeline(
        self, ctx: Ctx, id: str, before: Around = 3, after: Around = 3
    ) -> Annotated[CallToolResult, results.MemoryList]:
        """See what was remembered just before and after a memory: how something came about, what followed."""
        memory = await self._memory(ctx)
        whole = await resolve_id(memory, id)
        around = await report_progress(
            ctx, memory.timeline(whole, before=before, after=after), "reading"
        )
        found = [await memory.get(one.id) for one in around]
        return results.render_list([one for one in found if one is not None], here=whole)

    async def get(self, ctx: Ctx, ids: Ids) -> Annotated[CallToolResult, results.FullMemories]:
        """Read memories whole, by the ids that search, timeline or save gave."""
        memory = await self._memory(ctx)
        wanted = list(dict.fromkeys([await resolve_id(memory, one) for one in ids]))
        return results.render_full(await report_progress(ctx, memory.details(wanted), "reading"))

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
        """Correct or complete a memory; the old version is kept. If a new fact replaced an old one, save the new one and link
        it with SUPERSEDES instead.
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
            raise InvalidRequest("update", "no change", f"give at least one of {', '.join(given)}")
        if "content" in changes or "title" in changes:
            changes |= {
                "source": name_source(ctx),
                "trusted": False,
            }  # the words are the agent's now
        memory = await self._memory(ctx)
        whole = await resolve_id(memory, id)
        changed = await report_progress(
            ctx, memory.update(whole, **cast("UpdateOptions", changes)), "saving"
        )
        return results.render_saved(
            changed, "Updated", await _list_remarks(memory, changed, content or "")
        )

    async def forget(self, ctx: Ctx, id: str) -> Annotated[CallToolResult, results.ForgottenMemory]:
        """Move a memory to the trash, when it is wrong or the user wants it gone. The user can bring it back."""
        memory = await self._memory(ctx)
        whole = await resolve_id(memory, id)
        if not await report_progress(ctx, memory.delete(whole), "deleting"):
            raise MemoryNotFound(id)
        note = f"In the trash. `muisti restore {whole}` brings it back."
        return results.make_result(
            results.ForgottenMemory(id=whole, note=note), f"Forgot {whole}. {note}"
        )

    async def link(
        self, ctx: Ctx, source: str, target: str, type: LinkName = "RELATED_TO"
    ) -> Annotated[CallToolResult, results.CreatedLink]:
        """Say how the memory `source` stands to the memory `target`. SUPERSEDES: target is true no longer, source replaces it."""
        memory = await self._memory(ctx)
        ends = await resolve_id(memory, source), await resolve_id(memory, target)
        made = await report_progress(ctx, memory.link(*ends, type, extracted_by="llm"), "linking")
        value = results.CreatedLink(source=made.source, type=made.type.value, target=made.target)
        return results.make_result(value, f"Linked: {made.source} {results.format_link(made)}")

    async def core_get(self, ctx: Ctx) -> Annotated[CallToolResult, results.CoreSections]:
        """Read core memory: what always holds of the user, and how the agent is to behave. Use it at the start of a task."""
        memory = await self._memory(ctx)
        return results.render_core(await report_progress(ctx, memory.core_get(), "reading"))

    async def core_update(
        self, ctx: Ctx, section: Section, key: str, value: str
    ) -> Annotated[CallToolResult, results.CoreEntry]:
        """Set one short entry of core memory, such as user/name or agent/language. Only what the user said, and always holds."""
        memory = await self._memory(ctx)
        await report_progress(ctx, memory.core_update(section, key, value), "saving")
        return results.make_result(
            results.CoreEntry(section=section, key=key), f"Set {section}/{key}."
        )

    async def core_delete(
        self, ctx: Ctx, section: Section, key: str
    ) -> Annotated[CallToolResult, results.CoreEntry]:
        """Remove one entry of core memory that holds no longer."""
        memory = await self._memory(ctx)
        await report_progress(ctx, memory.core_delete(section, key), "saving")
        return results.make_result(
            results.CoreEntry(section=section, key=key), f"Deleted {section}/{key}."
        )

    async def _memory(self, ctx: Ctx) -> MemoryService:
        return await report_progress(ctx, self._vault.connect(), "opening the vault")

    def _of(self, project: str | None) -> str | None:
        return project if project is not None else self._project or None


async def report_progress(ctx: Ctx, work: Awaitable[T], what: str) -> T:
    """Wait for work. What takes long (a first look at a large vault, loading the model) tells every second that it goes on."""
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
    """Return the filter of a read in a project: it sees what belongs to no project too. None: the vault's own."""
    return (
        {"project": project}
        if project in (None, ALL_PROJECTS)
        else {"project": project, "unfiled": True}
    )


async def resolve_id(memory: MemoryService, given: str) -> str:
    """The id that is meant by its last or first characters; what fits none, or several, is left as it is."""
    wanted = given.strip().removeprefix("memory://").lstrip("…")
    if len(wanted) not in PARTIAL_ID_LENGTHS:
        return wanted
    fits = await memory.find_ids(wanted, limit=2)
    return fits[0] if len(fits) == 1 else wanted


def name_source(ctx: Ctx) -> str:
    """Who writes, as the source of a memory: an agent, and which one if it said so."""
    name = ""
    with suppress(AttributeError, ValueError):  # clients need not say who they are
        name = ctx.request_context.session.client_params.client_info.name  # type: ignore[union-attr]
    clean = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-")[:40]
    return f"agent:{clean}" if clean else "agent"


async def _list_remarks(memory: MemoryService, saved: Memory, given: str) -> list[str]:
    """What the agent should know of what became of its text."""
    remarks = []
    if "[redacted:" in saved.content and "[redacted:" not in given:
        remarks.append("A secret in it was redacted; secrets are never stored.")
    for link in (link for link in saved.links if link.proposed):
        other = await memory.get(link.target)
        title = f" ({results.truncate(other.title, results.TITLE_TOKENS)})" if other else ""
        remarks.append(
            f"It may replace or contradict {link.target}{title}: if it does, call link with SUPERSEDES."
        )
    if saved.index_pending:
        remarks.append("It is safe, and can be found a little later: the index is busy.")
    return remarks
