"""The read tools and resources of the MCP server, asked by an agent with a project and a user."""

from __future__ import annotations

import random
from typing import Any

from mcp.client import Client
from mcp.shared.exceptions import MCPError

from muisti.surfaces.mcp.vault import LazyVault
from tests.surfaces.mcp.clients import connect_in_process, render_both, run

from .asking import Asked, check, make_query, pick
from .world import PROJECTS, USERS, Sight, World


def ask_agents(world: World, chance: random.Random, count: int) -> int:
    """Ask so many cases, as several agents. Returns how many texts the answers have."""
    shown = 0
    for _ in range(3):
        project, user = chance.choice(["", *PROJECTS]), chance.choice(["", *USERS])
        shown += run(lambda: _ask(world, chance, count // 3 + 1, project, user))  # noqa: B023
    return shown


async def _ask(world: World, chance: random.Random, count: int, project: str, user: str) -> int:
    vault = LazyVault(lambda: world.memory, owns_memory=False)
    shown = 0
    async with connect_in_process(vault, project=project, user=user) as client:
        for _ in range(count):
            name, text, sight = await _ask_once(world, chance, client, project, user)
            try:
                check(world, Asked(text, sight))
            except AssertionError as error:
                error.add_note(f"{name}, as an agent of {user!r} in {project!r}")
                raise
            shown += sum(item.secret in text for item in world.items)
    return shown


async def _ask_once(
    world: World, chance: random.Random, client: Client, project: str, user: str
) -> tuple[str, str, Sight]:
    everywhere = chance.random() < 0.3
    sight = Sight(None if everywhere else project, user)
    given: dict[str, Any] = {"scope": "everywhere"} if everywhere else {}
    match chance.randrange(7):
        case 0 | 1:
            query = chance.choice(["", make_query(world, chance)])
            name, given = "memory_search", {**given, "query": query, "limit": 30}
        case 2:
            ids = [pick(world, chance).id for _ in range(3)]
            name, given = "memory_get", {**given, "ids": ids}
        case 3:
            name, given = "memory_timeline", {**given, "id": pick(world, chance).id, "after": 20}
        case 4:
            name, given = "memory_search", {**given, "unverified": True, "limit": 30}
        case 5:
            name, given = "memory_core_get", {}
        case _:
            known = chance.choice(["core", "recent", chance.choice(world.of("memory")).id])
            uri = f"memory://{known}"
            try:
                found = await client.read_resource(uri)
                text = str(found.contents)
            except MCPError as error:
                text = str(error)
            sight = Sight(project if known == "recent" else None, user)
            return uri, text, sight
    answer: Any = await client.call_tool(name, given)
    return name, " ".join(render_both(answer)), sight
