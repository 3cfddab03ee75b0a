"""J4 · Tools of a vault that names further vaults."""

from __future__ import annotations

from pathlib import Path

from muisti import Muisti
from tests.surfaces.mcp.clients import call_failing_tool, call_tool, run, spawn_agent


def test_J4_a_search_finds_memories_of_further_vaults(vault: Path, tmp_path: Path) -> None:
    with Muisti.open(tmp_path / "team", embedder="none") as team:
        saved = team.save("The team deploys with Ansible", tier="global").id
    (tmp_path / "team" / "muisti.toml").write_text('embedder = "none"\nread_only = true\n')
    (vault / "muisti.toml").write_text('embedder = "none"\nvaults = ["../team"]\n')

    async def work() -> None:
        async with spawn_agent(vault) as client:
            [found] = (await call_tool(client, "memory_search", query="team deploys"))["results"]
            assert (found["id"], found["vault"]) == (saved, "team")
            [full] = (await call_tool(client, "memory_get", ids=[saved]))["memories"]
            assert full["content"] == "The team deploys with Ansible"
            problem = await call_failing_tool(client, "memory_update", id=saved, title="x")
            assert "read_only" in problem

    run(work)
