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
from muisti.surfaces.mcp.vault import Vault

T = TypeVar("T")
Ctx = Context[Any, Any]
PULSE = 1.0
"""Seconds after which, and then every so often, a client that wants to know is told that a call goes on."""
LIKE_AN_ID = range(8, 36)
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

    def __init__(self, vault: Vault, project: str = "") -> None:
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
    ) -> Annotated[CallToolResult, results.Kept]:
        """Remember one thing for later sessions: a decision and its reason, a preference of the user, a fix that worked.
        One or two sentences that can be understood alone. Search first if it may be known already.
        """
        memory = await self._memory(ctx)
        begun = datetime.now(UTC)
        saved = await patiently(
            ctx,
            memory.save(
                content,
                title=title,
                kind=kind,
                project=self._of(project),
                importance=importance,
                files=files or (),
                source=writer(ctx),
                trusted=False,  # whatever made the agent write it, no person has looked at it yet
            ),
            "saving",
        )
        known = ["It was known already, and counts more now."] if saved.created_at < begun else []
        return results.kept(saved, "Saved as", [*known, *await _remarks(memory, saved, content)])

    async def search(
        self,
        ctx: Ctx,
        query: Annotated[
            str, Field(description="A question or words. “last week”, “in March” are understood")
        ],
        limit: Limit = 10,
        kind: str | None = None,
        project: SearchProject | None = None,
    ) -> Annotated[CallToolResult, results.Listed]:
        """Find what is remembered, best first: ids and titles. Use it before answering about earlier work, decisions or the
        user's preferences. Then `get` what looks useful.
        """
        options: FilterOptions = {"kind": kind, **in_project(self._of(project))}
        memory = await self._memory(ctx)
        options["source"] = (EntryType.MEMORY, EntryType.DOCUMENT)
        found = await patiently(
            ctx, memory.search(query, limit=limit, record=False, **options), "searching"
        )
        if not found:  # what was said, and nothing was made of
            options["source"] = None
            found = await patiently(
                ctx, memory.search(query, limit=limit, record=False, **options), "searching"
            )
        return results.listed([result.memory for result in found], note=found.degraded)

    async def timeline(
        self, ctx: Ctx, id: str, before: Around = 3, after: Around = 3
    ) -> Annotated[CallToolResult, results.Listed]:
        """See what was remembered just before and after a memory: how something came about, what followed."""
        memory = await self._memory(ctx)
        whole = await whole_id(memory, id)
        around = await patiently(ctx, memory.timeline(whole, before=before, after=after), "reading")
        found = [await memory.get(one.id) for one in around]
        return results.listed([one for one in found if one is not None], here=whole)

    async def get(self, ctx: Ctx, ids: Ids) -> Annotated[CallToolResult, results.Read]:
        """Read memories whole, by the ids that search, timeline or save gave."""
        memory = await self._memory(ctx)
        wanted = list(dict.fromkeys([await whole_id(memory, one) for one in ids]))
        return results.read(await patiently(ctx, memory.details(wanted), "reading"))

    async def update(
        self,
        ctx: Ctx,
        id: str,
        content: str | None = None,
        title: str | None = None,
        kind: str | None = None,
        project: str | None = None,
        importance: Weight | None = None,
    ) -> Annotated[CallToolResult, results.Kept]:
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
            changes |= {"source": writer(ctx), "trusted": False}  # the words are the agent's now
        memory = await self._memory(ctx)
        whole = await whole_id(memory, id)
        changed = await patiently(
            ctx, memory.update(whole, **cast("UpdateOptions", changes)), "saving"
        )
        return results.kept(changed, "Updated", await _remarks(memory, changed, content or ""))

    async def forget(self, ctx: Ctx, id: str) -> Annotated[CallToolResult, results.Gone]:
        """Move a memory to the trash, when it is wrong or the user wants it gone. The user can bring it back."""
        memory = await self._memory(ctx)
        whole = await whole_id(memory, id)
        if not await patiently(ctx, memory.delete(whole), "deleting"):
            raise MemoryNotFound(id)
        note = f"In the trash. `muisti restore {whole}` brings it back."
        return results.answered(results.Gone(id=whole, note=note), f"Forgot {whole}. {note}")

    async def link(
        self, ctx: Ctx, source: str, target: str, type: LinkName = "RELATED_TO"
    ) -> Annotated[CallToolResult, results.Linked]:
        """Say how the memory `source` stands to the memory `target`. SUPERSEDES: target is true no longer, source replaces it."""
        memory = await self._memory(ctx)
        ends = await whole_id(memory, source), await whole_id(memory, target)
        made = await patiently(ctx, memory.link(*ends, type, extracted_by="llm"), "linking")
        value = results.Linked(source=made.source, type=made.type.value, target=made.target)
        return results.answered(value, f"Linked: {made.source} {results.described(made)}")

    async def core_get(self, ctx: Ctx) -> Annotated[CallToolResult, results.Core]:
        """Read core memory: what always holds of the user, and how the agent is to behave. Use it at the start of a task."""
        memory = await self._memory(ctx)
        return results.core(await patiently(ctx, memory.core_get(), "reading"))

    async def core_update(
        self, ctx: Ctx, section: Section, key: str, value: str
    ) -> Annotated[CallToolResult, results.Entry]:
        """Set one short entry of core memory, such as user/name or agent/language. Only what the user said, and always holds."""
        memory = await self._memory(ctx)
        await patiently(ctx, memory.core_update(section, key, value), "saving")
        return results.answered(results.Entry(section=section, key=key), f"Set {section}/{key}.")

    async def core_delete(
        self, ctx: Ctx, section: Section, key: str
    ) -> Annotated[CallToolResult, results.Entry]:
        """Remove one entry of core memory that holds no longer."""
        memory = await self._memory(ctx)
        await patiently(ctx, memory.core_delete(section, key), "saving")
        return results.answered(
            results.Entry(section=section, key=key), f"Deleted {section}/{key}."
        )

    async def _memory(self, ctx: Ctx) -> MemoryService:
        return await patiently(ctx, self._vault.use(), "opening the vault")

    def _of(self, project: str | None) -> str | None:
        return project if project is not None else self._project or None


async def patiently(ctx: Ctx, work: Awaitable[T], what: str) -> T:
    """Wait for work. What takes long (a first look at a large vault, loading the model) tells every second that it goes on."""
    task = asyncio.ensure_future(work)
    seconds = 0.0
    try:
        while not (await asyncio.wait({task}, timeout=PULSE))[0]:
            seconds += PULSE
            await ctx.report_progress(seconds, message=what)
    except asyncio.CancelledError:
        task.cancel()
        raise
    return task.result()


def in_project(project: str | None) -> FilterOptions:
    """Return the filter of a read in a project: it sees what belongs to no project too. None: the vault's own."""
    return (
        {"project": project}
        if project in (None, ALL_PROJECTS)
        else {"project": project, "unfiled": True}
    )


async def whole_id(memory: MemoryService, given: str) -> str:
    """The id that is meant by its last or first characters; what fits none, or several, is left as it is."""
    wanted = given.strip().removeprefix("memory://").lstrip("…")
    if len(wanted) not in LIKE_AN_ID:
        return wanted
    fits = await memory.find_ids(wanted, limit=2)
    return fits[0] if len(fits) == 1 else wanted


def writer(ctx: Ctx) -> str:
    """Who writes, as the source of a memory: an agent, and which one if it said so."""
    name = ""
    with suppress(AttributeError, ValueError):  # clients need not say who they are
        name = ctx.request_context.session.client_params.client_info.name  # type: ignore[union-attr]
    clean = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-")[:40]
    return f"agent:{clean}" if clean else "agent"


async def _remarks(memory: MemoryService, saved: Memory, given: str) -> list[str]:
    """What the agent should know of what became of its text."""
    remarks = []
    if "[redacted:" in saved.content and "[redacted:" not in given:
        remarks.append("A secret in it was redacted; secrets are never stored.")
    for link in (link for link in saved.links if link.proposed):
        other = await memory.get(link.target)
        title = f" ({results.shortened(other.title, results.TITLE)})" if other else ""
        remarks.append(
            f"It may replace or contradict {link.target}{title}: if it does, call link with SUPERSEDES."
        )
    if saved.index_pending:
        remarks.append("It is safe, and can be found a little later: the index is busy.")
    return remarks
