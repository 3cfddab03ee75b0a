"""MCP clients for the tests: the SDK's own, with a server in a process or in this one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import anyio
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp_types import CallToolResult, Implementation, TextContent, TextResourceContents

from muisti.surfaces.mcp.server import build_server
from muisti.surfaces.mcp.vault import LazyVault, make_vault

T = TypeVar("T")
AGENT = Implementation(name="test agent", version="1")
TOOLS = {
    "memory_save",
    "memory_search",
    "memory_timeline",
    "memory_get",
    "memory_update",
    "memory_forget",
    "memory_link",
    "memory_core_get",
    "memory_core_update",
}


def stdio_parameters(
    vault: Path | None, *arguments: str, cwd: Path | None = None
) -> StdioServerParameters:
    """The command `muisti mcp` as an agent starts it."""
    named = [] if vault is None else ["--vault", str(vault)]
    passed = ("HOME", "XDG_DATA_HOME", "PYTHONPATH")
    environment = {name: os.environ[name] for name in passed if name in os.environ}
    environment["MUISTI_EMBEDDER"] = "none"
    args = ["-W", "error::ResourceWarning", "-m", "muisti", "mcp", *named, *arguments]
    return StdioServerParameters(command=sys.executable, args=args, env=environment, cwd=cwd)


@asynccontextmanager
async def spawn_agent(
    vault: Path | None, *arguments: str, cwd: Path | None = None, mode: str = "auto"
) -> AsyncIterator[Client]:
    """A client of a server in its own process."""
    async with Client(
        stdio_parameters(vault, *arguments, cwd=cwd), client_info=AGENT, mode=mode
    ) as client:
        yield client


@asynccontextmanager
async def connect_in_process(vault: LazyVault | Path, **options: Any) -> AsyncIterator[Client]:
    """A client of a server in this process."""
    held = make_vault(str(vault)) if isinstance(vault, Path) else vault
    try:
        async with Client(build_server(held, **options), client_info=AGENT) as client:
            yield client
    finally:
        await held.close()


def run(work: Callable[[], Awaitable[T]]) -> T:
    return anyio.run(work)


async def call_tool(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool, which must succeed. Returns its structured result."""
    answer = await client.call_tool(tool, arguments)
    assert isinstance(answer, CallToolResult)
    assert not answer.is_error, get_text(answer)
    assert answer.structured_content is not None
    return dict(answer.structured_content)


async def call_failing_tool(client: Client, tool: str, **arguments: Any) -> str:
    """Call a tool, which must fail. Returns its message; the server keeps running."""
    answer = await client.call_tool(tool, arguments)
    assert isinstance(answer, CallToolResult)
    assert answer.is_error, get_text(answer)
    assert {one.name for one in (await client.list_tools()).tools} == TOOLS
    return get_text(answer)


def get_text(answer: CallToolResult) -> str:
    block = answer.content[0]
    assert isinstance(block, TextContent)
    return block.text


async def read_resource(client: Client, uri: str) -> str:
    found = (await client.read_resource(uri)).contents[0]
    assert isinstance(found, TextResourceContents)
    return found.text


def render_both(answer: CallToolResult) -> tuple[str, str]:
    """The two forms that a client may show its model: text and JSON."""
    return get_text(answer), json.dumps(
        answer.structured_content, ensure_ascii=False, separators=(",", ":")
    )


@contextmanager
def run_server(vault: Path, module: str = "muisti") -> Iterator[str]:
    """Run `muisti serve`, or another module's, which must exit with 0. The URL."""
    command = [
        sys.executable,
        "-m",
        module,
        "serve",
        "--vault",
        str(vault),
        "--port",
        "0",
        "--json",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        told = ""
        while not told.endswith("}\n"):
            line = process.stdout.readline()
            assert line
            told += line
        try:
            yield json.loads(told)["url"]
        finally:
            process.terminate()
            assert process.wait(timeout=60) == 0
