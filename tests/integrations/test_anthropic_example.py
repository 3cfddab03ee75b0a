"""The example runs with the real SDK, against a Messages API on loopback that says what is written
here.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import anyio
import pytest
from anthropic import AsyncAnthropic

from muisti import MemoryService
from muisti.integrations.anthropic import AsyncVaultMemoryTool
from tests.agents.messages_api import MessagesApi, calls, says, serving

EXAMPLE = Path(__file__).parents[2] / "examples" / "anthropic_memory.py"


def run(api: MessagesApi, vault: Path, said: str) -> str:
    environment = {
        **os.environ,
        "ANTHROPIC_BASE_URL": api.url,
        "ANTHROPIC_API_KEY": "made-up",
        "MUISTI_EMBEDDER": "none",
    }
    done = subprocess.run(
        [sys.executable, str(EXAMPLE), str(vault), said],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.exhaustive
def test_J6_the_example_remembers_across_runs(vault: Path) -> None:
    with serving() as api:
        api.script = [
            calls("memory", command="view", path="/memories"),
            calls(
                "memory",
                command="create",
                path="/memories/dog.md",
                file_text="The dog is called Musti.\n",
            ),
            calls("memory", command="view", path="/memories/cat.md"),
            says("I have noted that."),
        ]
        assert run(api, vault, "Remember that my dog is called Musti.") == (
            "I have noted that.\n  memories/dog.md: The dog is called Musti.\n"
        )
        assert api.asked[0].body["tools"] == [{"type": "memory_20250818", "name": "memory"}]
        (empty, _), (made, _), (missing, failed) = api.asked[-1].results()
        assert empty.startswith(
            "Here're the files and directories up to 2 levels deep in /memories"
        )
        assert made == "File created successfully at: /memories/dog.md"
        assert failed
        assert missing == "The path /memories/cat.md does not exist. Please provide a valid path."
        api.script = [calls("memory", command="view", path="/memories/dog.md"), says("Musti.")]
        assert run(api, vault, "What is my dog called?").startswith("Musti.\n")
        assert "The dog is called Musti." in api.asked[-1].results()[-1][0]
    assert vault.joinpath("memories", "dog.md").read_text("utf-8") == "The dog is called Musti.\n"


def test_the_async_client_uses_the_async_tool(vault: Path) -> None:
    async def talk(api: MessagesApi) -> str:
        async with await MemoryService.open(vault, embedder="none") as service:
            client = AsyncAnthropic(base_url=api.url, api_key="made-up")
            runner = client.beta.messages.tool_runner(
                model="m",
                max_tokens=100,
                tools=[AsyncVaultMemoryTool(service)],
                messages=[{"role": "user", "content": "Remember that my cat is called Misu."}],
            )
            last = await runner.until_done()
            await client.close()
            found = await service.search("Misu")
            assert [str(result.memory.file_path) for result in found] == ["memories/cat.md"]
            return "".join(block.text for block in last.content if block.type == "text")

    with serving() as api:
        api.script = [
            calls(
                "memory",
                command="create",
                path="/memories/cat.md",
                file_text="The cat is called Misu.\n",
            ),
            calls("memory", command="create", path="/memories/cat.md"),
            says("Noted."),
        ]
        assert anyio.run(talk, api) == "Noted."
        assert api.asked[-1].results()[1] == (
            "Invalid `file_text` parameter: None. It should be a text.",
            True,
        )
