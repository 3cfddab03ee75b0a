"""J4 · The MCP Inspector, which is not made with our SDK, calls every tool over stdio and over
HTTP.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.surfaces.mcp.clients import run_server

from .mcp_clients import new_vault, package, run

pytestmark = pytest.mark.exhaustive
Inspect = Callable[..., dict[str, Any]]


@pytest.fixture(params=["stdio", "http", "http-modern"])
def inspect(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Inspect]:
    """Asks the Inspector for one method; answers the result."""
    program = package("inspector", "clients", "launcher", "build", "index.js")
    vault = new_vault(tmp_path / "vault")

    def ask(*options: str, fails: bool = False, to: list[str]) -> dict[str, Any]:
        era = ["--protocol-era", "modern"] if request.param == "http-modern" else []
        done = run(
            program,
            "--cli",
            *era,
            "--quiet",
            "--format",
            "json",
            *options,
            *to,
            home=tmp_path / "home",
        )
        assert fails or done.returncode == 0, done.stdout + done.stderr
        told = json.loads(done.stdout)
        return dict(told.get("result", told))

    if request.param == "stdio":
        to = [
            "--transport",
            "stdio",
            "--",
            sys.executable,
            "-m",
            "muisti",
            "mcp",
            "--vault",
            str(vault),
        ]
        yield lambda *options, **how: ask(*options, **how, to=to)
    else:
        with run_server(vault) as url:
            yield lambda *options, **how: ask(
                "--transport", "http", "--server-url", f"{url}/mcp", *options, **how, to=[]
            )


def call(inspect: Inspect, tool: str, **arguments: Any) -> dict[str, Any]:
    answer = inspect(
        "--method", "tools/call", "--tool-name", tool, "--tool-args-json", json.dumps(arguments)
    )
    assert not answer.get("isError"), answer
    return dict(answer["structuredContent"])


def test_J4_every_tool_from_the_inspector(inspect: Inspect) -> None:
    tools = {one["name"]: one for one in inspect("--method", "tools/list", "--strict")["tools"]}
    assert len(tools) == 9
    assert all(name.startswith("memory_") for name in tools)
    old = call(inspect, "memory_save", content="The lamp is green", kind="fact")["id"]
    new = call(inspect, "memory_save", content="Since March the lantern of the harbour is blue")[
        "id"
    ]
    assert old in {
        one["id"] for one in call(inspect, "memory_search", query="lamp", limit=5)["results"]
    }
    assert [
        one["id"] for one in call(inspect, "memory_timeline", id=old, before=1, after=1)["results"]
    ] == [old, new]
    assert call(inspect, "memory_get", ids=[new])["memories"][0]["trust"] == "unverified"
    assert (
        call(inspect, "memory_update", id=new, title="The harbour's lantern")["title"]
        == "The harbour's lantern"
    )
    assert call(inspect, "memory_link", source=new, target=old, type="RELATED_TO")["target"] == old
    assert call(inspect, "memory_core_update", section="user", key="name", value="Anna") == {
        "section": "user",
        "key": "name",
    }
    assert call(inspect, "memory_core_get")["user"] == {"name": "Anna"}
    assert (
        call(inspect, "memory_core_update", section="user", key="name", value="")["key"] == "name"
    )
    assert call(inspect, "memory_forget", id=old)["id"] == old


def test_J4_resources_prompts_and_errors_from_the_inspector(inspect: Inspect) -> None:
    saved = call(inspect, "memory_save", content="The staging server is called Kaisla")["id"]
    assert {one["uri"] for one in inspect("--method", "resources/list")["resources"]} == {
        "memory://recent",
        "memory://core",
    }
    assert (
        inspect("--method", "resources/templates/list")["resourceTemplates"][0]["uriTemplate"]
        == "memory://{id}"
    )
    for uri in ("memory://recent", f"memory://{saved}"):
        assert (
            "Kaisla" in inspect("--method", "resources/read", "--uri", uri)["contents"][0]["text"]
        )
    assert len(inspect("--method", "prompts/list")["prompts"]) == 2
    asked = ("--prompt-name", "recall_before_answering", "--prompt-args", "question=staging server")
    assert "Kaisla" in inspect("--method", "prompts/get", *asked)["messages"][0]["content"]["text"]
    wrong = inspect(
        "--method",
        "tools/call",
        "--tool-name",
        "memory_get",
        "--tool-args-json",
        '{"ids": ["nothing"]}',
        fails=True,
    )
    assert wrong["isError"]
    assert "Search for it" in wrong["content"][0]["text"]
