"""`/mcp` of `muisti serve`: the same tools over HTTP, with the same access control (J4, K3)."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from muisti import Muisti
from muisti.surfaces.rest.config import ServerConfig
from tests.rest.conftest import check_problem, client_of, served
from tests.surfaces.mcp.clients import (
    AGENT,
    TOOLS,
    call_failing_tool,
    call_tool,
    read_resource,
    run,
)

TOKEN = "correct-horse-battery-staple"
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
ACCEPT = {"Accept": "application/json, text/event-stream"}


@pytest.fixture
def memory(vault: Path) -> Iterator[Muisti]:
    with Muisti.open(vault) as memory:
        yield memory


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_J4_the_same_tools_over_http(memory: Muisti, mode: str) -> None:
    async def work(url: str) -> None:
        async with Client(f"{url}/mcp", client_info=AGENT, mode=mode) as client:
            assert {tool.name for tool in (await client.list_tools()).tools} == TOOLS
            saved = await call_tool(
                client, "memory_save", content="The lamp is green", project="shop"
            )
            assert saved["project"] == "shop"
            assert (
                len(
                    (await call_tool(client, "memory_search", query="lamp", project="shop"))[
                        "results"
                    ]
                )
                == 1
            )
            outside = await call_tool(client, "memory_search", query="lamp")
            assert outside["results"] == []
            assert "Not in a project" in outside["note"]
            found = await call_tool(client, "memory_search", query="lamp", scope="everywhere")
            assert len(found["results"]) == 1
            assert "green" in await read_resource(client, f"memory://{saved['id']}")
            assert "Search for it" in await call_failing_tool(client, "memory_get", ids=["nothing"])
            assert "no argument 'text'" in await call_failing_tool(client, "memory_save", text="x")

    with served(memory) as url:
        run(lambda: work(url))
        assert httpx2.get(f"{url}/api/stats", timeout=60).json()["totalCount"] == 1
    kept = memory.list()[0]
    assert kept.trusted is False
    assert kept.source.startswith("agent")


def test_K3_the_token_is_required(memory: Muisti) -> None:
    async def work(url: str) -> None:
        shown = httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"})
        async with (
            shown,
            Client(
                streamable_http_client(f"{url}/mcp", http_client=shown), client_info=AGENT
            ) as client,
        ):
            await call_tool(client, "memory_save", content="The lamp is green")

    with served(memory, token=TOKEN) as url:
        for headers in ({}, {"Authorization": "Bearer wrong"}):
            check_problem(
                httpx2.post(f"{url}/mcp", json=PING, headers={**ACCEPT, **headers}, timeout=60),
                401,
                "wrong-token",
            )
        check_problem(
            httpx2.get(f"{url}/mcp?token={TOKEN}", headers=ACCEPT, timeout=60), 401, "wrong-token"
        )
        run(lambda: work(url))
    assert memory.get_stats().total_count == 1


@pytest.mark.parametrize(
    ("headers", "status", "name"),
    [
        ({"Host": "evil.example"}, 421, "wrong-host"),
        ({"Origin": "http://evil.example"}, 403, "wrong-origin"),
        ({"Origin": "null"}, 403, "wrong-origin"),
        ({"Sec-Fetch-Site": "cross-site"}, 403, "wrong-origin"),
        ({"Content-Type": "text/plain"}, 415, "not-json"),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415, "not-json"),
    ],
)
def test_K3_access_control_is_the_servers(
    memory: Muisti, headers: dict[str, str], status: int, name: str
) -> None:
    with client_of(memory) as client:
        answer = client.post("/mcp", json=PING, headers={**ACCEPT, **headers})
        check_problem(answer, status, name)


def test_K3_a_body_over_the_limit_is_refused(memory: Muisti) -> None:
    with client_of(memory, body_limit=10_000) as client:
        check_problem(
            client.post("/mcp", json={**PING, "params": {"x": "y" * 10_000}}, headers=ACCEPT),
            413,
            "too-large",
        )
        assert client.post("/mcp", json=PING, headers=ACCEPT).status_code == 200


def test_K3_an_allowed_origin_can_use_it(memory: Muisti) -> None:
    page = {"Origin": "http://localhost:3000"}
    with client_of(memory, allowed_origins=("http://localhost:3000",)) as client:
        asked = client.options("/mcp", headers={**page, "Access-Control-Request-Method": "POST"})
        assert asked.status_code == 204
        assert "Mcp-Protocol-Version" in asked.headers["access-control-allow-headers"]
        answer = client.post("/mcp", json=PING, headers={**ACCEPT, **page})
        assert answer.status_code == 200
        assert answer.headers["access-control-allow-origin"] == "http://localhost:3000"


def test_J4_clients_survive_a_restart(
    memory: Muisti,
) -> None:
    headers = {**ACCEPT, "Mcp-Protocol-Version": "2025-11-25"}
    for number in range(2):
        call = {"name": "memory_save", "arguments": {"content": f"Said to server {number}"}}
        with served(memory) as url:
            answer = httpx2.post(
                f"{url}/mcp",
                json={**PING, "method": "tools/call", "params": call},
                headers=headers,
                timeout=60,
            )
            assert "Saved as" in answer.text
    assert memory.get_stats().total_count == 2


def test_J4_a_listening_agent_does_not_block_shutdown(memory: Muisti) -> None:
    with (
        served(memory) as url,
        httpx2.Client(timeout=30) as http,
    ):  # `served` asserts that the server ends
        httpx2.post(f"{url}/mcp", json=PING, headers=ACCEPT, timeout=60)
        listening = http.build_request("GET", f"{url}/mcp", headers={"Accept": "text/event-stream"})
        answer = http.send(listening, stream=True)
        assert answer.status_code in (200, 405)


def test_J4_the_server_works_without_the_sdk(
    memory: Muisti, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name, *rest: None if name == "mcp" else real(name, *rest),
    )
    with client_of(memory) as client:
        assert client.get("/api/stats").status_code == 200
        check_problem(client.post("/mcp", json=PING), 404, "no-such-address")


def test_J4_the_sdk_is_imported_on_first_use() -> None:
    code = (
        "import sys, tempfile; from muisti import Muisti; from muisti.surfaces.rest.app import create_app\n"
        "with tempfile.TemporaryDirectory() as folder, Muisti.open(folder + '/v', embedder='none') as memory:\n"
        "    create_app(memory)\n"
        "sys.exit('mcp.server' in sys.modules or 'mcp' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=120).returncode == 0


def test_K3_another_address_needs_a_token() -> None:
    with pytest.raises(Exception, match="set a token"):
        ServerConfig(host="0.0.0.0")
