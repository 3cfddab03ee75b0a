"""Every command, route, tool, page and hook on a vault in PostgreSQL: it works, or says what to do.

The lists come from the registries, so that a new one cannot be forgotten.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from fastapi.routing import APIRoute
from starlette.testclient import TestClient

from muisti import Muisti, MuistiError, bootstrap
from muisti.storage.postgres.connect import Database
from muisti.surfaces.cli.group import cli
from muisti.surfaces.cli.main import MODULES
from muisti.surfaces.mcp.vault import LazyVault
from tests.postgres.event_loop import record_calls
from tests.postgres.server import make_location
from tests.rest.conftest import client_of
from tests.surfaces.mcp.clients import connect_in_process, run

LONG_RUNNING = {"serve", "mcp", "worker", "hook", "demo"}
"""Commands that run until they are stopped, or have tests of their own below."""
DEFECT = re.compile(
    r"Traceback|failed unexpectedly|NotImplementedError|AttributeError|TypeError|AssertionError"
)


@pytest.fixture
def location() -> str:
    location = make_location()
    with Muisti.open(location, embedder="hashing") as memory:
        memory.save("We chose PostgreSQL for its JSON support.", project="app")
        memory.append_message("web_1", "user", "Which database did we choose?")
        memory.start_session("app", session_id="s1")
    return location


def list_commands() -> Iterator[tuple[str, ...]]:
    """Every command, and every one of a group."""
    context = click.Context(cli)
    for name in MODULES:
        command = cli.get_command(context, name)
        if isinstance(command, click.Group):
            yield from ((name, below) for below in command.list_commands(context))
        elif name not in LONG_RUNNING:
            yield (name,)


def make_arguments(names: tuple[str, ...], memory_id: str, folder: Path) -> list[str]:
    """Return a value for each required argument and option of a command."""
    command: click.Command | None = cli
    context = click.Context(cli)
    for name in names:
        assert isinstance(command, click.Group)
        command = command.get_command(context, name)
    assert command is not None
    values = {"shell": "bash", "format": "markdown", "content": "Apples are red", "agent": "codex",
              "conversation": "web_1", "chat": "web_1", "session_id": "s1", "role": "user",
              "section": "user", "key": "name", "value": "Anna", "store": "", "folder": ""}  # fmt: skip
    files = {"source", "path", "paths", "file"}
    arguments: list[str] = []
    for parameter in command.params:
        if not parameter.required:
            continue
        name = parameter.name or ""
        value = values.get(name, memory_id if "id" in name or name in ("old", "new") else "x")
        if name in files:
            value = str(folder / "notes.md")
        if isinstance(parameter, click.Option):
            arguments.append(parameter.opts[0])
        arguments.append(value)
    return arguments


@pytest.mark.parametrize("names", list(list_commands()), ids=" ".join)
def test_L1_commands(
    names: tuple[str, ...], location: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "notes.md").write_text("# Notes\n\nUser: I prefer tea.\n")
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("MUISTI_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("MUISTI_STORE", location)
    monkeypatch.setenv("MUISTI_EMBEDDER", "hashing")
    monkeypatch.chdir(tmp_path)
    with Muisti.open(location, embedder="none") as memory:
        memory_id = memory.list()[0].id
    done = CliRunner().invoke(cli, [*names, *make_arguments(names, memory_id, tmp_path)], input="")
    allowed = (SystemExit, MuistiError, click.ClickException, click.exceptions.Exit, click.Abort)
    assert done.exception is None or isinstance(done.exception, allowed), done.exception
    assert not DEFECT.search(done.output), done.output


@pytest.fixture
def client(location: str) -> Iterator[TestClient]:
    with (
        Muisti.open(location, embedder="hashing") as memory,
        client_of(memory, web_page=True) as client,
    ):
        yield client


def test_L1_routes_and_pages(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = record_calls(monkeypatch, Database, "_begin")
    found = client.post("/api/memories", json={"content": "Pears are green"}).json()
    memory_id = found["id"]
    values = {"memory_id": memory_id, "session_id": "s1", "conversation": "web_1", "chat": "web_1"}
    seen = 0
    routers = [getattr(one, "original_router", None) for one in client.app.routes]  # type: ignore[attr-defined]
    routes = [route for router in routers if router is not None for route in router.routes]
    for route in routes:
        if not isinstance(route, APIRoute) or route.path.endswith("/events"):
            continue
        path = re.sub(r"{(\w+)(?::\w+)?}", lambda m: values.get(m[1], memory_id), route.path)
        for method in sorted(route.methods):
            body: dict[str, str] | None = {} if method in ("POST", "PUT", "PATCH") else None
            answer = client.request(method, path, json=body)
            assert answer.status_code != 500, (method, path, answer.text)
            assert not DEFECT.search(answer.text), (method, path)
            assert not any(begun), (method, path)
            seen += 1
    assert seen > 60
    assert len(begun) > 60


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/api/sync", None),
        ("POST", "/api/documents", {"path": "notes.md"}),
    ],
)
def test_L1_routes_that_need_files_say_so(
    client: TestClient, method: str, path: str, body: object
) -> None:
    answer = client.request(method, path, json=body)
    assert answer.status_code in (403, 501), answer.text
    if answer.status_code == 501:
        assert "a vault in a database" in answer.text


def test_L1_tools(location: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUISTI_STORE", location)
    monkeypatch.setenv("MUISTI_EMBEDDER", "hashing")

    vault = LazyVault(lambda: bootstrap.open(location, role="mcp"))

    async def call_all() -> None:
        async with connect_in_process(vault) as session:
            values = {"content": "Apples are red", "query": "postgres", "id": "x", "ids": ["x"],
                      "source": "x", "target": "y", "section": "user", "key": "k",
                      "value": "v"}  # fmt: skip
            tools = (await session.list_tools()).tools
            assert tools
            for tool in tools:
                needed = tool.input_schema.get("required", [])
                result = await session.call_tool(tool.name, {n: values.get(n, "x") for n in needed})
                text = json.dumps([one.model_dump(mode="json") for one in result.content])
                assert not DEFECT.search(text), (tool.name, text)
            saved = await session.call_tool("memory_save", {"content": "Plums are blue"})
            assert not saved.is_error

    run(call_all)


@pytest.mark.parametrize("event", ["SessionStart", "UserPromptSubmit", "Stop"])
def test_L1_hooks_fail_softly(event: str, location: str, tmp_path: Path) -> None:
    """A hook never disturbs the agent; what it cannot do on a database is in its log."""
    given = {"hook_event_name": event, "session_id": "s", "cwd": str(tmp_path), "prompt": "Hello",
             "transcript_path": str(tmp_path / "t.jsonl")}  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "muisti", "hook", "claude-code"],
        input=json.dumps(given), capture_output=True, text=True, check=False, cwd=tmp_path,
        env={**os.environ, "MUISTI_STORE": location, "MUISTI_STATE": str(tmp_path / "state")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert not DEFECT.search(done.stdout + done.stderr)


def test_L1_documents_on_every_surface(location: str, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "care.md").write_text("# Walrus\n\nClams, twice a day.\n")
    docs = str(tmp_path / "docs")
    with (
        Muisti.open(location, embedder="none") as memory,
        client_of(memory, document_folders=(tmp_path,)) as client,
    ):
        answer = client.post("/api/documents", json={"path": docs, "source": "handbook"})
        assert (answer.status_code, answer.json()["documents"]) == (201, 1), answer.text
        found = client.post("/api/search", json={"query": "clams", "source": ["handbook"]}).json()
        [hit] = found["results"]
        assert hit["memory"]["id"] == f"{docs}/care.md#walrus"
        [document] = client.get("/api/documents/files").json()
        assert document["version"] == hit["documentVersion"] != ""
        assert client.delete("/api/documents", params={"path": docs}).status_code == 204
        assert memory.search("clams") == []
        assert memory.verify(deep=True).ok
