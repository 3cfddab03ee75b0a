"""Several processes on one vault at once: nothing lost, nothing doubled, nobody sees an error."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from muisti import bootstrap
from muisti.storage.clock import SystemClock
from tests.tiers import amount

from .invariants import check_rebuild, check_sound, everything, markdown_files

WORKER = Path(__file__).with_name("workers.py")
SAVES = amount(quick=10, all=250)
MIXED = amount(quick=30, all=120)
REINDEXES = amount(quick=5, all=25)


def together(vault: Path, *roles: tuple[str, int]) -> list[dict[str, Any]]:
    """Start one process for each role, let them begin at once; answers what each of them said."""
    started = [
        subprocess.Popen(
            [sys.executable, "-W", "error", str(WORKER), role, str(vault), str(number), str(count)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for number, (role, count) in enumerate(roles)
    ]  # fmt: skip
    for process in started:
        assert process.stdout is not None
        process.stdout.readline()
    for process in started:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    said = [(*process.communicate(timeout=300), process.returncode) for process in started]
    for out, errors, code in said:
        assert code == 0, errors or out
        assert not errors, errors
    return [json.loads(out) for out, _, _ in said]


def test_K1_eight_processes_save_at_once(vault: Path) -> None:
    """They also make the vault: it does not exist when they start."""
    said = together(vault, *[("save", SAVES)] * 8)
    acknowledged = [id_ for one in said for id_ in one["ids"]]
    assert len(set(acknowledged)) == 8 * SAVES
    assert len(markdown_files(vault)) == 8 * SAVES
    with bootstrap.open(vault) as memory:
        found = everything(memory)
        assert {m.id for m in found} == set(acknowledged)
        wanted = {
            f"Process {p} noted item {n} about subject{p}x{n}"
            for p in range(8)
            for n in range(SAVES)
        }
        assert Counter(m.content for m in found) == Counter(wanted)
        check_sound(memory)
    check_rebuild(vault, SystemClock())


def test_K1_same_text_from_many_processes_is_one_memory(vault: Path) -> None:
    said = together(vault, *[("same", 5)] * 4)
    ids = {id_ for one in said for id_ in one["ids"]}
    with bootstrap.open(vault) as memory:
        assert {m.id for m in everything(memory)} == ids
        assert len(ids) == 5
        assert sum(m.access_count for m in everything(memory)) == 15, (
            "every repetition counts, the first does not"
        )
        check_sound(memory)


def test_K1_mixed_operations_of_four_processes(vault: Path) -> None:
    with bootstrap.open(vault) as memory:
        memory.save("The shared memory", salience=0.5)
    said = together(vault, *[("mixed", MIXED)] * 4)
    _check_mixed(vault, said)


@pytest.mark.exhaustive
def test_K1_reindex_in_a_loop_while_others_write_and_read(vault: Path) -> None:
    with bootstrap.open(vault) as memory:
        memory.save("The shared memory", salience=0.5)
    said = together(
        vault,
        ("reindex", REINDEXES),
        ("reindex", REINDEXES),
        ("mixed", MIXED),
        ("mixed", MIXED),
        ("read", 200),
    )
    _check_mixed(vault, [one for one in said if "mine" in one])


@pytest.mark.exhaustive
def test_K2_verify_while_others_write(vault: Path) -> None:
    with bootstrap.open(vault) as memory:
        memory.save("The shared memory", salience=0.5)
    said = together(vault, ("verify", 10), ("mixed", MIXED), ("mixed", MIXED), ("read", 50))
    _check_mixed(vault, [one for one in said if "mine" in one])


def _check_mixed(vault: Path, said: list[dict[str, Any]]) -> None:
    mine = {id_: text for one in said for id_, text in one["mine"].items()}
    gone = {id_ for one in said for id_ in one["gone"]}
    with bootstrap.open(vault) as memory:
        living = {m.id: m.content for m in memory.list(limit=None)}
        shared = next(id_ for id_, text in living.items() if text == "The shared memory")
        assert living == {**mine, shared: "The shared memory"}
        assert not gone & living.keys()
        kept = memory.get(shared)
        assert kept is not None
        assert kept.access_count >= sum(one["reinforced"] for one in said)
        check_sound(memory)
    check_rebuild(vault, SystemClock())
