"""Random operations of several writers, hand edits in between, and `kill -9` at any moment: the
invariants A to F hold every time.

`MUISTI_SEED=N` repeats the run with that seed (the moments of signals and the order of several
writers differ); a failure prints it. `MUISTI_KILLS=N` sets the number of kills.
"""

from __future__ import annotations

import os
import random
import shutil
import time
from pathlib import Path

import pytest

from muisti import Muisti, bootstrap
from muisti.storage.clock import SystemClock
from tests.tiers import ALL, LONG, amount

from .invariants import (
    check_files_whole,
    check_rebuild,
    check_sound,
    everything,
    markdown_files,
)
from .kills import Histogram, Process, check_contents, choose
from .operations import NOUNS, Contents, observe

KILLS = int(os.environ.get("MUISTI_KILLS", "0")) or amount(quick=12, all=300, long=10_000)
LIFETIME = 40
"""Kills of one vault: then a new one begins, so that it stays small."""
LEAST = 50
"""How often each step of each verb is hit in the long run, unless the verb rarely takes it."""


def test_K2_random_kills(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seed = int(os.environ.get("MUISTI_SEED", "0")) or random.SystemRandom().randrange(1, 10**9)
    chance, histogram = random.Random(seed), Histogram()
    begun = time.process_time() + sum(os.times()[2:4])
    try:
        while histogram.kills < KILLS:
            folder = tmp_path / f"vault{histogram.kills}"
            _live(folder, chance, histogram, min(KILLS, histogram.kills + LIFETIME))
            shutil.rmtree(folder)
    except BaseException as error:
        error.add_note(f"MUISTI_SEED={seed} repeats it; after {histogram.kills} kills")
        raise
    spent = time.process_time() + sum(os.times()[2:4]) - begun
    with capsys.disabled():
        print(f"\nseed {seed}, {spent:.0f} s of CPU: {histogram}")
    if ALL:  # else there are too few to judge
        assert sum(histogram.cells.values()) >= 0.6 * histogram.kills
    if LONG:
        usual = [cell for cell, n in histogram.seen.items() if n > histogram.runs[cell[0]] / 10]
        rare = {cell: n for cell in usual if (n := histogram.cells[cell]) < LEAST}
        assert not rare, f"hit less than {LEAST} times: {rare}"


def _live(folder: Path, chance: random.Random, histogram: Histogram, until: int) -> None:
    """The life of one vault: writers are killed, what they left is checked, a person edits."""
    vault, expected = folder / "vault", Contents()
    (folder / "files").mkdir(parents=True)
    with bootstrap.open(vault) as memory:
        memory.save("A bystander about the build server", kind="note")
    turn = 0
    while histogram.kills < until:
        turn += 1
        plans = [choose(histogram, chance) for _ in range(chance.choice([1, 1, 1, 2, 3]))]
        if len(plans) > 1:  # a cleanup is about everybody's memories
            plans = [plan for plan in plans if "cleanup" not in plan.verbs]
        processes = [
            Process(number, 100 * turn, chance.randrange(10**9), vault, expected, plan)
            for number, plan in enumerate(plans)
        ]
        for process in processes:
            process.follow(expected, histogram, chance)
        pending = [process.pending for process in processes if process.pending]
        try:
            _check(vault, expected, pending, turn, chance)
        except Exception as error:
            error.add_note(f"the plans were {[process.plan for process in processes]}")
            raise


def _check(
    vault: Path,
    expected: Contents,
    pending: list[dict[str, object]],
    turn: int,
    chance: random.Random,
) -> None:
    check_files_whole(vault)
    if chance.random() < 0.3:
        _edit_by_hand(vault, expected, pending, chance)
    with bootstrap.open(vault) as memory:
        memory.resume_extraction()
        memory.flush()
        check_contents(observe(memory), expected, pending)
        _repeat(memory, pending)
        expected.clear()
        expected.update(observe(memory))
        _check_found(memory, chance)
        if turn % 4 == 0:
            check_sound(memory)
    if turn % 8 == 0:
        check_rebuild(vault, SystemClock())
        with bootstrap.open(vault) as memory:
            assert observe(memory) == expected


def _repeat(memory: Muisti, pending: list[dict[str, object]]) -> None:
    """C: who got no answer says it again; there is still one."""
    for one in pending:
        changes = one["begin"]
        assert isinstance(changes, dict)
        for key, value in changes.items():
            if one["verb"] == "save" and value:
                text = value.split("|", 2)[2]
                memory.save(text, kind="note")
                found = [m for m in everything(memory) if m.content == text]
                assert len(found) == 1, f"{key} was saved twice"


def _check_found(memory: Muisti, chance: random.Random) -> None:
    """F: what is there is found."""
    living = [m for m in everything(memory) if m.deleted_at is None]
    one = chance.choice(living)
    hits = memory.search(one.content, limit=1000)
    assert one.id in {hit.memory.id for hit in hits}, one.content


def _edit_by_hand(
    vault: Path, expected: Contents, pending: list[dict[str, object]], chance: random.Random
) -> None:
    """A person changes, renames or adds a file before anything was repaired."""
    busy = " ".join(str(one["begin"]) for one in pending)
    files = []
    for path in markdown_files(vault):
        if path.relative_to(vault).parts[0] in (".trash", ".history", "archive"):
            continue
        text = path.read_text()
        for key, value in expected.items():
            if not key.startswith("memory:") or not value.startswith("live"):
                continue
            if key not in busy and key[7:] in text and value.split("|")[2] in text:
                files.append((path, key))
    if not files:
        return
    path, key = chance.choice(files)
    if chance.random() < 0.5:
        where, kind, text = expected[key].split("|")
        edited = f"{text.rsplit(' the ', 1)[0]} the {chance.choice(NOUNS)} is closed by hand"
        path.write_text(path.read_text().replace(text, edited))
        expected[key] = f"{where}|{kind}|{edited}"
    else:
        path.rename(path.with_name(f"renamed by hand {chance.randrange(10**6)}.md"))
