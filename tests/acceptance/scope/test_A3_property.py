"""No read shows a text from outside its scope, on any surface (contract A3).

A case is one verb with one scope. A failure names its seed: put that into SEEDS to run it again.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from muisti import Muisti, bootstrap
from muisti.settings import Settings
from tests import tiers
from tests.rest.conftest import client_of

from . import asking
from .agents import ask_agents
from .surfaces import Ask, CommandLine, Hooks, Rest
from .world import TOPIC, World, build_world

SEEDS = [f"recorded {number}" for number in range(40)]
"""What `make test-long` asks: 20,000 cases that are always the same."""
CASES = tiers.amount(quick=100, all=250, long=500)
"""Cases in one world."""
CASES_OF_MODEL = tiers.amount(quick=40, all=80, long=500)
"""The same with the default model, which takes seconds to embed a world."""
NEW = tiers.amount(quick=2, all=4)
"""Worlds with a new seed."""


@contextmanager
def make_world(seed: object, folder: Path, embedder: str) -> Iterator[tuple[World, Path | None]]:
    """A vault with texts in random scopes, and its folder; every fourth world is not on disk."""
    if random.Random(f"store {seed}").random() < 0.25:
        with bootstrap.open(":memory:", settings={"embedder": embedder}) as memory:
            yield build_world(memory, seed, None), None
    else:
        with bootstrap.open(folder / "vault", settings={"embedder": embedder}) as memory:
            yield build_world(memory, seed, folder / "documents"), folder / "vault"


def ask_cases(seed: object, folder: Path, embedder: str, cases: int = CASES) -> int:
    """Build a world and ask all surfaces. Returns the number of cases."""
    chance = random.Random(f"cases {seed}")
    with make_world(seed, folder, embedder) as (world, vault), ExitStack() as stack:
        world.memory.reindex_missing()
        mode = world.memory.search(TOPIC, mode="vector").mode
        assert mode == ("keyword" if embedder == "none" else "vector")
        rest = Rest(stack.enter_context(client_of(world.memory)))
        surfaces: list[tuple[str, Ask | None, float]] = [
            ("python", None, 10),
            ("service", None, 1),
            ("rest", rest.ask_random, 5),
        ]
        if vault is not None:
            command_line = CommandLine(vault, folder / "work")
            hooks = Hooks(vault, folder / "work")
            surfaces += [
                ("command line", command_line.ask_random, 2),
                ("command line, lists", command_line.ask_lists, 0.5),
                ("hooks", hooks.ask_random, 1.5),
            ]
        shown: Counter[str] = Counter()
        counts: Counter[str] = Counter()
        of_agents = cases // 10
        try:
            shown["agents"] = ask_agents(world, chance, of_agents)
        except BaseException as error:
            error.add_note(f"seed {seed!r}")
            raise
        counts["agents"] = of_agents
        for number in range(cases - of_agents):
            scope = world.random_scope(chance)
            [(surface, ask, _)] = chance.choices(surfaces, [weight for *_, weight in surfaces])
            name = surface
            try:
                if ask is not None:
                    asked = ask(world, chance, scope)
                else:
                    name = chance.choice([*asking.PYTHON])
                    if surface == "python":
                        asked = asking.PYTHON[name](world, chance, scope)
                    else:
                        asked = asking.ask_service(name, world, chance, scope)
                asking.check(world, asked)
                shown[surface] += sum(item.secret in asked.text for item in world.items)
                counts[surface] += 1
            except BaseException as error:
                error.add_note(f"seed {seed!r}, case {number}: {surface}, {name} in {scope}")
                raise
    silent = [surface for surface in counts if counts[surface] > 10 and not shown[surface]]
    assert not silent, f"no answer has a text, so that nothing is checked: {silent}"
    return cases


@pytest.fixture
def embedder(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> str:
    """The embedder of all processes of a test."""
    monkeypatch.setattr("muisti.surfaces.hooks.worker.start", lambda *_, **__: None)
    monkeypatch.setenv("MUISTI_EMBEDDER", request.param)
    return str(request.param)


@pytest.mark.exhaustive(keep=NEW)
@pytest.mark.parametrize("embedder", ["none", "hashing"] * 2, indirect=True)
def test_A3_no_read_leaves_its_scope(tmp_path: Path, embedder: str) -> None:
    seed = os.environ.get("MUISTI_SCOPE_SEED") or random.SystemRandom().randrange(10**9)
    assert ask_cases(seed, tmp_path, embedder) == CASES


@pytest.mark.exhaustive
@pytest.mark.parametrize("embedder", [Settings().embedder], indirect=True)
def test_A3_no_read_leaves_its_scope_with_the_default_model(tmp_path: Path, embedder: str) -> None:
    """Vectors of a real model are near each other, also across scopes."""
    seed = os.environ.get("MUISTI_SCOPE_SEED") or random.SystemRandom().randrange(10**9)
    assert ask_cases(seed, tmp_path, embedder, CASES_OF_MODEL) == CASES_OF_MODEL


@pytest.mark.skipif(not tiers.LONG, reason="20,000 cases take minutes: `make test-long`")
@pytest.mark.parametrize("embedder", ["none"], indirect=True)
@pytest.mark.parametrize("seed", SEEDS)
def test_A3_no_read_leaves_its_scope_in_recorded_worlds(
    tmp_path: Path, embedder: str, seed: str
) -> None:
    assert ask_cases(seed, tmp_path, embedder) == CASES
    assert len(SEEDS) * CASES >= 20_000


OWNER = {
    "find_ids": "completes IDs for whoever has a part of one; shows no text",
    "word_frequencies": "counts words; shows no text",
    "list_document_sources": "the owner's list of what is indexed, to change or remove it",
    "list_trash": "the owner's list, to restore from",
    "list_archive": "the owner's list, to restore from",
    "dedupe": "the owner's: it shows and merges pairs of one scope, in all scopes",
    "merged": "the owner's list, to undo merges",
    "merged_count": "a number",
    "count_archive": "a number",
    "find_source_messages": "asked before a hard delete, which is the owner's",
    "get_stats": "numbers of the whole vault",
    "problems": "broken files, for the owner to fix",
    "verify": "numbers, and broken files",
    "metrics": "numbers",
    "disk_usage": "a number",
    "queue_status": "numbers",
    "extract": "reads only what it is given",
    "notebook": "files of an agent in a folder of its own, which it names",
    "watch_files": "tells that files changed, not what is in them",
}
"""Reads without a scope, each with the reason."""
WRITES = {
    "append_message assign_conversation cleanup close confirm confirm_link core_delete core_init core_update"
    " decay_salience deemphasize delete delete_conversation delete_messages end_idle_sessions"
    " end_session evict"
    " extract_and_save flush forget forget_path import_from import_memories index_path link link_to_session"
    " open reindex reindex_missing reject_link reinforce replace restore restore_conversation resume_embedding"
    " resume_extraction retry_given_up run_due_maintenance save"
    " save_batch save_extracted session_break start_session supersede sync touch unlink unmerge"
    " update upkeep warm_up work check_available"
}
RENAMED = {"archived", "archived_count", "chats", "shelves", "trashed"}
"""Old names of other methods."""


def test_A3_every_method_that_reads_is_asked_or_is_the_owners() -> None:
    asked = {method.strip() for name in asking.PYTHON for method in name.split(", ")}
    writes = {name for names in WRITES for name in names.split()}
    known = asked | OWNER.keys() | writes | RENAMED
    methods = {
        name for name in dir(Muisti) if not name.startswith("_") and callable(getattr(Muisti, name))
    }
    assert methods <= known, "ask these in `asking.py`, or name them in OWNER with the reason"
    assert not asked & OWNER.keys()
