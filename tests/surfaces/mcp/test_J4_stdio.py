"""`muisti mcp`: every tool, resource and prompt over stdio, as an agent uses them (J4)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from mcp.shared.exceptions import MCPError

from muisti import Muisti
from tests.surfaces.mcp.clients import (
    TOOLS,
    call_failing_tool,
    call_tool,
    connect_in_process,
    get_text,
    read_resource,
    run,
    spawn_agent,
    stdio_parameters,
)

HELLO = [
    {
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}},
    },
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
]  # fmt: skip
SAVING = {
    "jsonrpc": "2.0", "id": 2, "method": "tools/call",
    "params": {"name": "memory_save", "arguments": {"content": "Deploys happen on Thursdays"}},
}  # fmt: skip


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_J4_every_tool_works(vault: Path, mode: str) -> None:
    async def work() -> None:
        async with spawn_agent(vault, mode=mode) as client:
            assert {tool.name for tool in (await client.list_tools()).tools} == TOOLS
            decided = {"content": "We chose PostgreSQL for the orders", "kind": "decision"}
            moved = {"content": "The orders moved to CockroachDB in May", "title": "Orders moved"}
            first = await call_tool(client, "memory_save", **decided, importance=0.9)
            second = await call_tool(client, "memory_save", **moved)
            assert first["kind"] == "decision"
            assert second["title"] == "Orders moved"
            again = await call_tool(client, "memory_save", **decided)
            assert again["id"] == first["id"]
            assert "Already known" in again["note"]
            found = await call_tool(client, "memory_search", query="where are the orders?", limit=5)
            assert {one["id"] for one in found["results"]} == {first["id"], second["id"]}
            around = await call_tool(client, "memory_timeline", id=first["id"], before=0, after=1)
            assert [one["id"] for one in around["results"]] == [first["id"], second["id"]]
            whole = await call_tool(client, "memory_get", ids=[second["id"], first["id"][-12:]])
            contents = [one["content"] for one in whole["memories"]]
            assert contents == [moved["content"], decided["content"]]
            linked = await call_tool(
                client, "memory_link", source=second["id"], target=first["id"], type="SUPERSEDES"
            )
            assert linked == {"source": second["id"], "type": "SUPERSEDES", "target": first["id"]}
            old = (await call_tool(client, "memory_get", ids=[first["id"]]))["memories"][0]
            assert old["valid_until"]
            changed = await call_tool(
                client,
                "memory_update",
                id=second["id"],
                content="The orders moved to CockroachDB in June",
            )
            assert changed["id"] == second["id"]
            assert (
                "June"
                in (await call_tool(client, "memory_get", ids=second["id"]))["memories"][0][
                    "content"
                ]
            )
            await call_tool(client, "memory_core_update", section="user", key="name", value="Anna")
            assert (await call_tool(client, "memory_core_get"))["user"] == {"name": "Anna"}
            await call_tool(client, "memory_core_update", section="user", key="name", value="")
            assert (await call_tool(client, "memory_core_get"))["user"] == {}
            gone = await call_tool(client, "memory_forget", id=first["id"])
            assert gone["note"] == "Moved to the trash; the user can restore it."
            assert [
                one["id"]
                for one in (await call_tool(client, "memory_search", query="orders"))["results"]
            ] == [second["id"]]

    run(work)


def test_J4_annotations_say_what_a_tool_may_do(vault: Path) -> None:
    async def work() -> None:
        async with connect_in_process(vault) as client:
            hints = {one.name: one.annotations for one in (await client.list_tools()).tools}
            assert all(one is not None and one.open_world_hint is False for one in hints.values())
            assert {name for name, one in hints.items() if one and one.read_only_hint} == {
                "memory_search",
                "memory_get",
                "memory_timeline",
                "memory_core_get",
            }
            harmless = {
                name
                for name, one in hints.items()
                if one and not one.read_only_hint and not one.destructive_hint
            }
            assert harmless == {"memory_save"}
            assert all(one.title and one.description for one in (await client.list_tools()).tools)

    run(work)


def test_J4_resources_and_prompts(vault: Path) -> None:
    async def work() -> None:
        async with spawn_agent(vault) as client:
            saved = await call_tool(
                client, "memory_save", content="The staging server is called Kaisla"
            )
            await call_tool(
                client, "memory_core_update", section="agent", key="tone", value="brief"
            )
            assert {str(one.uri) for one in (await client.list_resources()).resources} == {
                "memory://recent",
                "memory://core",
            }
            assert [
                one.uri_template
                for one in (await client.list_resource_templates()).resource_templates
            ] == ["memory://{id}"]
            assert "Kaisla" in await read_resource(client, "memory://recent")
            assert "tone: brief" in await read_resource(client, "memory://core")
            whole = await read_resource(client, f"memory://{saved['id']}")
            assert 'trust="unverified"' in whole
            assert "Kaisla" in whole
            with pytest.raises(MCPError, match="Search for it"):
                await client.read_resource("memory://nothing-like-it")
            prompts = {one.name: one for one in (await client.list_prompts()).prompts}
            assert {one.title for one in prompts.values()} == {
                "Recall before answering",
                "Save what matters",
            }
            recalled = await client.get_prompt(
                "recall_before_answering", {"question": "What is the staging server called?"}
            )
            assert recalled.messages[0].role == "user"
            assert "Kaisla" in recalled.messages[0].content.text  # type: ignore[union-attr]
            saving = await client.get_prompt("save_what_matters", {"about": "deploys"})
            assert "deploys" in saving.messages[0].content.text  # type: ignore[union-attr]

    run(work)


def test_J4_errors_say_what_to_do_next(vault: Path) -> None:
    async def work() -> None:
        async with spawn_agent(vault) as client:
            assert "there is no argument 'text'" in await call_failing_tool(
                client, "memory_save", text="x"
            )
            assert "Arguments: content, title" in await call_failing_tool(
                client, "memory_save", content="x", colour="red"
            )
            assert "Search for it" in await call_failing_tool(
                client, "memory_get", ids=["no-such-memory"]
            )
            assert "Search for it" in await call_failing_tool(
                client, "memory_timeline", id="01a1e3f4-56a5-7eb0-88a4-75f4e0a2e806"
            )
            assert "1048576" in (
                told := await call_failing_tool(client, "memory_save", content="x" * 1_048_577)
            )
            assert "several smaller memories" in told
            assert "kind must be one of decision" in await call_failing_tool(
                client, "memory_save", content="x", kind="poem"
            )
            assert "at least one of content" in await call_failing_tool(
                client, "memory_update", id="anything"
            )
            assert "memory_core_get returns the entries" in await call_failing_tool(
                client, "memory_core_update", section="user", key="shoe size", value=" "
            )
            assert "Input should be 'user' or 'agent'" in await call_failing_tool(
                client, "memory_core_update", section="x", key="a", value="b"
            )
            assert "Unknown tool" in await call_failing_tool(client, "remember", content="x")
            assert (await call_tool(client, "memory_save", content="It still works"))["id"]

    run(work)


@pytest.mark.parametrize(
    "arguments", [{"ids": []}, {"ids": ["x"] * 21}, {"ids": [7]}, {}, {"ids": None}]
)
def test_J4_ids_are_a_short_list_of_texts(vault: Path, arguments: dict[str, object]) -> None:
    async def work() -> None:
        async with connect_in_process(vault) as client:
            assert "ids" in await call_failing_tool(client, "memory_get", **arguments)

    run(work)


def test_J4_the_project_is_that_of_the_folder(vault: Path, tmp_path: Path) -> None:
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    with Muisti.open(vault) as memory:
        memory.save("The lamp is green, for everybody", tier="global")
        memory.save("The lamp is grey in no project")
        memory.save("The lamp is red in the other project", project="other")

    async def work() -> None:
        async with spawn_agent(vault, cwd=tmp_path / "shop") as client:
            saved = await call_tool(client, "memory_save", content="The lamp is blue in the shop")
            assert saved["project"] == "shop"
            everywhere = await call_tool(
                client, "memory_save", content="Lamps are switched off at night, always", project=""
            )
            assert "project" not in everywhere
            titles = [
                one["title"]
                for one in (await call_tool(client, "memory_search", query="lamp"))["results"]
            ]
            assert any("blue" in one for one in titles)
            assert any("green" in one for one in titles)
            assert not any("red" in one or "grey" in one for one in titles)
            all_of_them = (await call_tool(client, "memory_search", query="lamp", project="*"))[
                "results"
            ]
            assert any("red" in one["title"] for one in all_of_them)
        async with spawn_agent(vault, "--project", "other", cwd=tmp_path / "shop") as client:
            assert any(
                "red" in one["title"]
                for one in (await call_tool(client, "memory_search", query="lamp"))["results"]
            )

    run(work)


def test_J4_read_only_offers_no_tool_that_changes_anything(vault: Path) -> None:
    async def work() -> None:
        async with spawn_agent(vault, "--read-only") as client:
            offered = {one.name for one in (await client.list_tools()).tools}
            assert offered == {
                "memory_search",
                "memory_get",
                "memory_timeline",
                "memory_core_get",
            }
            for name in ("memory_save", "save"):
                answer = await client.call_tool(name, {"content": "x"})
                assert answer.is_error
                assert "Unknown tool" in get_text(answer)

    run(work)


def raw(vault: Path) -> subprocess.Popen[str]:
    server = stdio_parameters(vault)
    pipe = subprocess.PIPE
    command = [server.command, *server.args]
    return subprocess.Popen(
        command,
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        text=True,
        env={**os.environ, **(server.env or {})},
    )


def ask(process: subprocess.Popen[str], *messages: object) -> None:
    assert process.stdin is not None
    process.stdin.write("".join(json.dumps(message) + "\n" for message in messages))
    process.stdin.flush()


def answer(process: subprocess.Popen[str]) -> dict[str, object]:
    assert process.stdout is not None
    told: dict[str, object] = json.loads(process.stdout.readline())
    return told


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="looks at /proc")
def test_J4_it_starts_before_vault_and_model_are_open(tmp_path: Path) -> None:
    process = raw(tmp_path / "not yet")
    try:
        ask(process, *HELLO)
        assert "result" in answer(process)
        loaded = Path(f"/proc/{process.pid}/maps").read_text()
        assert "onnxruntime" not in loaded
        ask(process, SAVING)
        assert "there is no vault" in str(answer(process))
        assert not (tmp_path / "not yet").exists()
        with Muisti.open(tmp_path / "not yet", embedder="none"):
            ask(process, {**SAVING, "id": 3})
            assert "Saved as" in str(answer(process))
    finally:
        process.kill()
        process.communicate()


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("end", ["close", signal.SIGTERM, signal.SIGINT])
def test_J4_it_stops_cleanly_and_keeps_everything(vault: Path, end: str | signal.Signals) -> None:
    process = raw(vault)
    ask(process, *HELLO)
    answer(process)
    ask(process, SAVING)
    assert "Saved as" in str(answer(process))
    if isinstance(end, signal.Signals):
        process.send_signal(end)
        process.wait(timeout=60)
    out, errors = process.communicate(timeout=60)
    assert (process.returncode, out, errors) == (0, "", "")
    with Muisti.open(vault) as memory:
        assert [one.content for one in memory.list()] == ["Deploys happen on Thursdays"]
        assert memory.verify().ok


def test_J4_invalid_lines_do_not_stop_it(vault: Path) -> None:
    process = raw(vault)
    try:
        ask(process, *HELLO)
        answer(process)
        assert process.stdin is not None
        process.stdin.write('this is no JSON\n{"jsonrpc": "2.0"}\n[]\n')
        ask(process, {"jsonrpc": "2.0", "id": 9, "method": "ping"})
        while (told := answer(process)).get("id") != 9:
            assert "error" in told
        assert "result" in told
    finally:
        process.kill()
        process.communicate()


def test_J4_a_missing_sdk_is_named(vault: Path) -> None:
    code = "import importlib.util as u, sys; real = u.find_spec; u.find_spec = lambda n, *a: None if n == 'mcp' else real(n, *a)\n"
    code += f"sys.argv = ['muisti', 'mcp', '--vault', {str(vault)!r}]; from muisti.surfaces.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 1
    assert "pip install 'muisti[mcp]'" in done.stderr
    assert done.stdout == ""


def test_J7_wikilinks_are_links(vault: Path) -> None:
    async def work() -> None:
        async with spawn_agent(vault) as client:
            text = "We sign tokens as in [[Auth design]] and [[Nowhere]]"
            source = await call_tool(client, "memory_save", content=text, title="Log")
            other = "The design of the login page"
            target = await call_tool(client, "memory_save", content=other, title="Auth design")
            full = await call_tool(client, "memory_get", ids=[source["id"]])
            assert full["memories"][0]["links"] == [f"RELATED_TO {target['id']} (wikilink)"]

    run(work)
