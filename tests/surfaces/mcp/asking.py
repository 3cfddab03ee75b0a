"""Agents for the tests: the SDK's own client, over a real process or within this one."""

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
    "save",
    "search",
    "timeline",
    "get",
    "update",
    "forget",
    "link",
    "core_get",
    "core_update",
    "core_delete",
}


def spawned(vault: Path | None, *arguments: str, cwd: Path | None = None) -> StdioServerParameters:
    """`muisti mcp` as an agent starts it."""
    named = [] if vault is None else ["--vault", str(vault)]
    environment = {name: os.environ[name] for name in ("HOME", "XDG_DATA_HOME")} | {
        "MUISTI_EMBEDDER": "none"
    }
    args = ["-W", "error::ResourceWarning", "-m", "muisti", "mcp", *named, *arguments]
    return StdioServerParameters(command=sys.executable, args=args, env=environment, cwd=cwd)


@asynccontextmanager
async def agent(
    vault: Path | None, *arguments: str, cwd: Path | None = None, mode: str = "auto"
) -> AsyncIterator[Client]:
    """A client of a process of its own."""
    async with Client(spawned(vault, *arguments, cwd=cwd), client_info=AGENT, mode=mode) as client:
        yield client


@asynccontextmanager
async def inside(vault: LazyVault | Path, **options: Any) -> AsyncIterator[Client]:
    """A client of a server in this process."""
    held = make_vault(str(vault)) if isinstance(vault, Path) else vault
    try:
        async with Client(build_server(held, **options), client_info=AGENT) as client:
            yield client
    finally:
        await held.close()


def run(work: Callable[[], Awaitable[T]]) -> T:
    return anyio.run(work)


async def said(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """What a tool answered, as a value. It must not be an error."""
    answer = await client.call_tool(tool, arguments)
    assert isinstance(answer, CallToolResult)
    assert not answer.is_error, text_of(answer)
    assert answer.structured_content is not None
    return dict(answer.structured_content)


async def refusal(client: Client, tool: str, **arguments: Any) -> str:
    """What a tool said against it; and the server goes on."""
    answer = await client.call_tool(tool, arguments)
    assert isinstance(answer, CallToolResult)
    assert answer.is_error, text_of(answer)
    assert {one.name for one in (await client.list_tools()).tools} == TOOLS
    return text_of(answer)


def text_of(answer: CallToolResult) -> str:
    block = answer.content[0]
    assert isinstance(block, TextContent)
    return block.text


async def read(client: Client, uri: str) -> str:
    found = (await client.read_resource(uri)).contents[0]
    assert isinstance(found, TextResourceContents)
    return found.text


def as_sent(answer: CallToolResult) -> tuple[str, str]:
    """What a model may be shown: the text, or the structured content as JSON."""
    return text_of(answer), json.dumps(
        answer.structured_content, ensure_ascii=False, separators=(",", ":")
    )


@contextmanager
def serving(vault: Path) -> Iterator[str]:
    """The address of a real `muisti serve`, which must end well."""
    command = [
        sys.executable,
        "-m",
        "muisti",
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
