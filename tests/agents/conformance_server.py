"""`muisti serve` with the tools, resources and prompts that scenarios of the conformance suite call.

They show that the endpoint (transport, middleware, limits) carries every kind of content. The
names and contents are those that the suite's scenarios describe.
"""

from __future__ import annotations

import asyncio
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context, UserMessage
from mcp_types import (
    AudioContent,
    EmbeddedResource,
    ImageContent,
    TextContent,
    TextResourceContents,
)

from muisti.surfaces.cli.main import main
from muisti.surfaces.mcp import server as mcp_server

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA="
SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": {"type": "object", "properties": {"city": {"type": "string"}}}},
    "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
    "additionalProperties": False,
}
IMAGE = ImageContent(type="image", data=PNG, mime_type="image/png")
TEXT = TextContent(type="text", text="This is a simple text response for testing.")


def embed(uri: str, kind: str = "text/plain", text: str = "Embedded.") -> EmbeddedResource:
    resource = TextResourceContents(uri=uri, mime_type=kind, text=text)
    return EmbeddedResource(type="resource", resource=resource)


def add_tools(server: MCPServer) -> None:
    audio = AudioContent(type="audio", data=WAV, mime_type="audio/wav")
    mixed = embed("test://mixed-content-resource", "application/json", "{}")
    contents: dict[str, list[Any]] = {
        "test_simple_text": [TEXT],
        "test_image_content": [IMAGE],
        "test_audio_content": [audio],
        "test_embedded_resource": [embed("test://embedded-resource")],
        "test_multiple_content_types": [TEXT, IMAGE, mixed],
        "json_schema_2020_12_tool": [TEXT],
    }
    for name, content in contents.items():
        server.add_tool(lambda content=content: content, name, description=name)

    async def report(context: Context[Any, Any]) -> str:
        for done in (0, 50, 100):
            await context.report_progress(done, 100)
            await asyncio.sleep(0.05)
        return "done"

    server.add_tool(report, "test_tool_with_progress", description="Reports progress.")
    listed = server._tool_manager.get_tool("json_schema_2020_12_tool")
    assert listed is not None
    listed.parameters = SCHEMA


def add_others(server: MCPServer) -> None:
    @server.resource("test://static-text", mime_type="text/plain")
    def static_text() -> str:
        return TEXT.text

    @server.resource("test://static-binary", mime_type="image/png")
    def static_binary() -> bytes:
        return b"\x89PNG"

    @server.resource("test://template/{id}/data", mime_type="application/json")
    def template(id: str) -> str:
        return f'{{"id": "{id}"}}'

    @server.prompt(description="A text.")
    def test_simple_prompt() -> str:
        return "This is a simple prompt for testing."

    @server.prompt(description="A text with arguments.")
    def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
        return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"

    @server.prompt(description="A resource.")
    def test_prompt_with_embedded_resource(resourceUri: str) -> list[UserMessage]:
        return [UserMessage(embed(resourceUri)), UserMessage("Please process it.")]

    @server.prompt(description="An image.")
    def test_prompt_with_image() -> list[UserMessage]:
        return [UserMessage(IMAGE), UserMessage("Please analyze it.")]


def build_server(*arguments: Any, **options: Any) -> MCPServer:
    """Return muisti's own server with what the suite calls."""
    server = original(*arguments, **options)
    add_tools(server)
    add_others(server)
    return server


original = mcp_server.build_server
mcp_server.build_server = build_server
if __name__ == "__main__":
    main()
