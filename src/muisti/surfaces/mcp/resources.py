"""What a client may read without a tool: one memory, the latest ones, core memory. All of it is fenced as data."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

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

from muisti.errors import MuistiError, NotFound
from muisti.recall.fence import fence_text
from muisti.surfaces.mcp import results
from muisti.surfaces.mcp.errors import describe_error
from muisti.surfaces.mcp.tools import make_project_filter, resolve_id
from muisti.surfaces.mcp.vault import LazyVault

T = TypeVar("T")
Reference = PromptReference | ResourceTemplateReference
RECENT = 20


def add_resources(server: MCPServer, vault: LazyVault, project: str) -> None:
    """Offer them. Project: whose latest memories are shown; "": those of all."""

    @server.resource(
        "memory://recent", name="recent", title="Latest memories", mime_type="text/plain"
    )
    async def recent() -> str:
        """The memories that were made last, newest first: ids and titles."""
        return await _translate_errors(lambda: _recent(vault, project))

    @server.resource("memory://core", name="core", title="Core memory", mime_type="text/plain")
    async def core() -> str:
        """What always holds: of the user, and of how the agent is to behave."""
        return await _translate_errors(lambda: _core(vault))

    @server.resource("memory://{id}", name="memory", title="One memory", mime_type="text/plain")
    async def memory(id: str) -> str:
        """A whole memory by its id, with its source and whether it is trusted."""
        return await _translate_errors(lambda: _memory(vault, id))

    @server.completion()  # type: ignore[no-untyped-call, untyped-decorator]  # the SDK leaves it untyped
    async def complete(
        ref: Reference, argument: CompletionArgument, _: CompletionContext | None
    ) -> Completion:
        """The ids that begin or end with what somebody has typed of one."""
        if not isinstance(ref, ResourceTemplateReference) or not argument.value:
            return Completion(values=[])
        return Completion(values=await _translate_errors(lambda: _ids(vault, argument.value)))


async def _recent(vault: LazyVault, project: str) -> str:
    shown = results.render_list(
        await (await vault.connect()).list(limit=RECENT, **make_project_filter(project or None))
    ).content[0]
    assert isinstance(shown, TextContent)
    return shown.text


async def _core(vault: LazyVault) -> str:
    return results.format_core(await (await vault.connect()).core_get())


async def _memory(vault: LazyVault, given: str) -> str:
    memory = await vault.connect()
    return fence_text(await memory.details([await resolve_id(memory, given)]))


async def _ids(vault: LazyVault, part: str) -> list[str]:
    return await (await vault.connect()).find_ids(part)


async def _translate_errors(reading: Callable[[], Awaitable[T]]) -> T:
    """What was read; an error of ours as the protocol tells errors of resources."""
    try:
        return await reading()
    except NotFound as error:
        raise ResourceNotFoundError(describe_error(error)) from error
    except (MuistiError, OSError) as error:
        raise ResourceError(describe_error(error)) from error
