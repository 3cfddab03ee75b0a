"""Resources that a client reads without a tool: a memory, recent memories, core memory.

All of them are fenced as data.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError
from mcp_types import (
    Completion,
    CompletionArgument,
    CompletionContext,
    PromptReference,
    ResourceTemplateReference,
    TextContent,
)

from muisti.aio import MemoryService
from muisti.errors import MuistiError, NotFound
from muisti.recall.fence import fence_text
from muisti.surfaces.mcp import results
from muisti.surfaces.mcp.errors import describe_error
from muisti.surfaces.mcp.reads import (
    describe_long_sessions,
    list_overview,
    make_entries,
    read_visible,
    resolve_id,
)
from muisti.surfaces.mcp.scope import AgentScope
from muisti.surfaces.mcp.vault import LazyVault

Reference = PromptReference | ResourceTemplateReference
RECENT = 20


def add_resources(
    server: MCPServer, vault: LazyVault, project: str, user: str | None = None
) -> None:
    """Add the resources to a server. Project and user: see AgentScope."""

    @server.resource(
        "memory://recent", name="recent", title="Recent memories", mime_type="text/plain"
    )
    async def recent() -> str:
        """Pinned memories and the latest ones: IDs and titles."""
        with _translate_errors():
            memory = await _connect(vault)
            agent = AgentScope(memory.settings, project, user)
            filters = agent.make_filter(agent.project)
            found = await list_overview(memory, agent, filters, RECENT)
            note = await describe_long_sessions(memory, agent, agent.project)
            content = results.render_list(await make_entries(memory, found), note=note).content[0]
            assert isinstance(content, TextContent)
            return content.text

    @server.resource("memory://core", name="core", title="Core memory", mime_type="text/plain")
    async def core() -> str:
        """Permanent facts about the user and standing instructions for the agent."""
        with _translate_errors():
            memory = await _connect(vault)
            agent = AgentScope(memory.settings, project, user)
            core = results.format_core(await memory.core_get(user=agent.user))
            return results.mark_stranger(core)

    @server.resource("memory://{id}", name="memory", title="One memory", mime_type="text/plain")
    async def memory(id: str) -> str:
        """A full memory by its ID, with its source and trust."""
        with _translate_errors():
            memory = await _connect(vault)
            agent = AgentScope(memory.settings, project, user)
            full_id = await resolve_id(memory, id)
            found = await read_visible(memory, agent, full_id)
            return results.mark_stranger(fence_text(await memory.details([found.id])))

    # The SDK leaves this decorator untyped.
    @server.completion()  # type: ignore[no-untyped-call, untyped-decorator]
    async def complete(
        ref: Reference, argument: CompletionArgument, _: CompletionContext | None
    ) -> Completion:
        """Complete an ID from its first or last characters."""
        if not isinstance(ref, ResourceTemplateReference) or not argument.value:
            return Completion(values=[])
        with _translate_errors():
            memory = await _connect(vault)
            agent = AgentScope(memory.settings, project, user)
            ids = await memory.find_ids(argument.value)
            scope = agent.make_scope(agent.project)
            found = [await memory.get(one, **scope) for one in ids]
            return Completion(values=[one.id for one in found if one and agent.shows(one)])


async def _connect(vault: LazyVault) -> MemoryService:
    memory = await vault.connect()
    results.IS_STRANGER.set(not memory.is_trusted)
    return memory


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Raise our errors as the protocol's resource errors."""
    try:
        yield
    except NotFound as error:
        raise ResourceNotFoundError(describe_error(error)) from error
    except (MuistiError, OSError) as error:
        raise ResourceError(describe_error(error)) from error
