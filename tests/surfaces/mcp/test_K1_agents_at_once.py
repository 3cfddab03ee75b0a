"""Four agents, each with its own server, and `muisti serve` on one vault: no write lost (K1).

The long version (`make test-long`) makes 1,000 calls each.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path

import anyio
from mcp.client import Client
from mcp_types import CallToolResult

from muisti import Muisti
from tests.surfaces.mcp.clients import (
    AGENT,
    call_tool,
    get_text,
    run_server,
    spawn_agent,
    stdio_parameters,
)
from tests.tiers import amount

CALLS = amount(quick=6, all=60, long=1_000)
AGENTS = amount(quick=2, all=4)
WORDS = (
    "anchor basil copper drum ember fjord granite harbour iris juniper kettle lantern meadow nickel otter pepper quartz "
    "ribbon saddle timber umber violin willow xylem yarrow zinc amber birch cedar dune elm fern glacier hazel indigo jade"
).split()


@dataclass
class Kept:
    """What one agent was told that it had done."""

    contents: dict[str, str] = field(default_factory=dict)
    forgotten: set[str] = field(default_factory=set)
    links: set[tuple[str, str]] = field(default_factory=set)
    core: dict[str, str] = field(default_factory=dict)


async def talk(client: Client, number: int, calls: int) -> Kept:
    """A mix of everything, by the weights of a working day."""
    kept, chance = Kept(), random.Random(number)
    for step in range(calls):
        own = sorted(set(kept.contents) - kept.forgotten)
        do = chance.choices(
            ["save", "search", "get", "update", "timeline", "link", "core", "forget"],
            [30, 30, 10, 8, 6, 6, 5, 5],
        )[0]
        text = f"agent{number} step{step} {' '.join(chance.sample(WORDS, 8))}"
        if do == "save" or len(own) < 2:
            kept.contents[(await call_tool(client, "memory_save", content=text))["id"]] = text
        elif do == "search":
            await call_tool(client, "memory_search", query=" ".join(chance.sample(WORDS, 2)))
        elif do == "get":
            wanted = chance.sample(own, 2)
            found = (await call_tool(client, "memory_get", ids=wanted))["memories"]
            assert [one["content"] for one in found] == [kept.contents[one] for one in wanted]
        elif do == "update":
            changed = chance.choice(own)
            await call_tool(client, "memory_update", id=changed, content=text)
            kept.contents[changed] = text
        elif do == "timeline":
            await call_tool(client, "memory_timeline", id=chance.choice(own))
        elif do == "link":
            ends = chance.sample(own, 2)
            await call_tool(
                client, "memory_link", source=ends[0], target=ends[1], type="RELATED_TO"
            )
            kept.links.add((ends[0], ends[1]))
        elif do == "core":
            key = f"key-{number}-{step % 20}"
            await call_tool(client, "memory_core_update", section="agent", key=key, value=text[:40])
            kept.core[key] = text[:40]
        else:
            gone = chance.choice(own)
            await call_tool(client, "memory_forget", id=gone)
            kept.forgotten.add(gone)
    return kept


def test_K1_four_agents_and_a_server_lose_nothing(vault: Path) -> None:
    done: list[Kept] = []

    async def one(number: int, server: object) -> None:
        async with Client(server, client_info=AGENT) as client:
            done.append(await talk(client, number, CALLS))

    async def work(url: str) -> None:
        async with anyio.create_task_group() as group:
            for number in range(AGENTS):
                group.start_soon(one, number, stdio_parameters(vault))
            group.start_soon(one, AGENTS, f"{url}/mcp")

    with run_server(vault) as url:
        anyio.run(work, url)
    assert len(done) == AGENTS + 1
    check(vault, done)


def check(vault: Path, done: list[Kept]) -> None:
    with Muisti.open(vault) as memory:
        live = {
            id_: text
            for kept in done
            for id_, text in kept.contents.items()
            if id_ not in kept.forgotten
        }
        assert len(live) + sum(len(kept.forgotten) for kept in done) == sum(
            len(kept.contents) for kept in done
        )
        assert {one.id: one.content for one in memory.list(limit=None)} == live
        trash = {one.id for one in memory.list(limit=None, include_deleted=True)} - set(live)
        assert trash == {id_ for kept in done for id_ in kept.forgotten}
        linked = {
            (link.source, link.target)
            for id_ in live
            for link in memory.links(id_)
            if not link.proposed
        }
        assert linked >= {
            ends for kept in done for ends in kept.links if not set(ends) & kept.forgotten
        }
        assert dict(memory.core_get().agent) == {
            key: value for kept in done for key, value in kept.core.items()
        }
        assert memory.verify().ok, memory.verify().problems


def test_K1_concurrent_calls_of_one_agent(vault: Path) -> None:
    async def work() -> list[str]:
        ids: list[str] = []

        async def save(client: Client, number: int) -> None:
            answer = await client.call_tool(
                "memory_save",
                {"content": f"{number} {' '.join(random.Random(number).sample(WORDS, 8))}"},
            )
            assert isinstance(answer, CallToolResult)
            assert not answer.is_error, get_text(answer)
            assert answer.structured_content is not None
            ids.append(answer.structured_content["id"])

        async with spawn_agent(vault) as client, anyio.create_task_group() as group:
            for number in range(40):
                group.start_soon(save, client, number)
        return ids

    ids = anyio.run(work)
    with Muisti.open(vault) as memory:
        assert {one.id for one in memory.list(limit=None)} == set(ids)
        assert len(set(ids)) == 40
