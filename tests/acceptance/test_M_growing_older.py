"""M1 · Vaults that earlier code wrote stay as they are, open, and give the same answers."""

from __future__ import annotations

import hashlib
import math
import re
import shutil
import tarfile
from pathlib import Path
from typing import Any

import pytest
from scripts.make_fixture_vault import build, pack, settle

from muisti import Muisti
from tests.acceptance.fixture_vault import (
    NAME,
    NEWEST,
    collect_answers,
    open_fixture,
    recorded,
    unpack,
)

OUTDATED = "019b9ab0-3d80-7000-87ba-b4a19d2f2a84"
"""It was superseded on February 8 by a memory of January 8."""
UNENDED = "019c3a58-20a0-7000-a6b7-eeeea770a313"
"""It belongs to a session that was never ended."""
WEAKER = "019c39e8-6ee0-7000-b0b8-aa8e70b305b4"
"""The memory with the next lower salience."""
SAID_AGAIN = "019bd3c4-0e80-7000-b180-207cbf28b775"
"""The session that was never ended reinforced it."""


def revise(expected: dict[str, Any]) -> dict[str, Any]:
    """Return the recorded answers with what contracts A3, E5, F2, G3 and H4 have changed since.

    A superseded memory ends when its successor starts, and is left out of a context. A read in a
    project or a session no longer sees messages of nobody and memories of other projects:
    tests/acceptance/scope has those reads. A session that nobody ended protects its memories for
    a day. Its context includes what it said again.
    """
    for details in expected["session_details"].values():
        del details["relevant"]
    for asked in expected["searches"]:
        if asked["options"].keys() & {"project", "session_id"}:
            del asked["results"]
    expected["memories"][OUTDATED]["valid_until"] = "2026-01-08T18:00:00+00:00"
    for one in expected["exported"]:
        if one["id"] == OUTDATED:
            one["valid_until"] = "2026-01-08T18:00:00Z"
    for asked in expected["searches"]:
        if (
            "results" in asked
            and asked["query"] == "port of the API"
            and "2026-02-01" in asked["options"].get("as_of", "")
        ):
            # One candidate less changes the scores of the others.
            asked["results"] = [
                {"id": result["id"], "source": result["source"]}
                for result in asked["results"]
                if result["id"] != OUTDATED
            ]
    active = expected["session_details"]["s-active"]
    active["context"].append(SAID_AGAIN)
    active["raw"] += "\n\nFrustrated by the slow test suite"
    active["tokens"] = 18
    cleaned = expected["lists"]["would be cleaned"]
    cleaned.insert(cleaned.index(WEAKER) + 1, UNENDED)
    fenced = re.compile(rf'<memory id="{OUTDATED}".*?</memory>\n', re.DOTALL)
    expected["contexts"] = [fenced.sub("", expected["contexts"][0])]
    return expected


EXPECTED = {NAME: revise(recorded()), NEWEST: recorded(NEWEST)}
HASHING = "hashing"
"""The model of the fixture's vectors."""


@pytest.fixture(params=EXPECTED)
def name(request: pytest.FixtureRequest) -> str:
    """The fixture; the quick tier has the first and the last."""
    return str(request.param)


@pytest.fixture
def old_vault(tmp_path: Path, name: str) -> Path:
    return unpack(tmp_path, name)


def file_hashes(vault: Path) -> dict[str, str]:
    """The hash of every file that is not part of the index."""
    files = [path for path in sorted(vault.rglob("*")) if path.is_file()]
    names = {path: path.relative_to(vault) for path in files}
    return {
        name.as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path, name in names.items()
        if name.parts[0] != ".muisti"
    }


SCORES = {"score", "signals", "distance", "why"}
BY_ID = {".memories", ".links", ".history", ".session_details", ".windows", ".stats.by_kind"}
"""Objects whose keys are names: one more of them is another answer, not a new field."""
REWORDED = {"took the place of": "replaced", "taken apart from": "unmerged from"}
"""Names of history entries that the recorded code gave in other words."""


def differences(expected: Any, actual: Any, place: str = "") -> list[str]:
    """Where an answer is not the recorded one. Only recorded keys count: new fields are fine."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        found = [f"{place}.{key}: is missing" for key in expected.keys() - actual.keys()]
        if place in BY_ID:
            found += [f"{place}.{key}: is new" for key in actual.keys() - expected.keys()]
        for key in [key for key in expected if key in actual]:
            found += differences(expected[key], actual[key], f"{place}.{key}")
        return found
    if isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        pairs = enumerate(zip(expected, actual, strict=True))
        return [one for n, (old, new) in pairs for one in differences(old, new, f"{place}[{n}]")]
    if isinstance(expected, float) and isinstance(actual, float | int):
        same = math.isclose(expected, actual, abs_tol=2e-6)
    elif place.startswith(".history.") and place.endswith(".what"):
        same = REWORDED.get(expected, expected) == actual
    else:
        same = expected == actual
    return [] if same else [f"{place}: was {expected!r}, is {actual!r}"]


def drop_scores(answers: Any) -> Any:
    """Return answers without scores and their parts: they have another meaning since (E5)."""
    if isinstance(answers, dict):
        kept = {key: value for key, value in answers.items() if key not in SCORES}
        return {key: drop_scores(value) for key, value in kept.items()}
    if isinstance(answers, list):
        is_ranked = len(answers) == 2 and isinstance(answers[1], float)
        return answers[0] if is_ranked else [drop_scores(one) for one in answers]
    return answers


def assert_same_answers(memory: Muisti, name: str) -> None:
    expected, answers = EXPECTED[name], collect_answers(memory, name)
    del answers["contexts"][len(expected["contexts"]) :]
    found = differences(drop_scores(expected), drop_scores(answers))
    assert not found, f"{len(found)} answers differ:\n" + "\n".join(found[:20])


KINDS = """\
bugfix change context decision discovery fact feature idea insight note observation preference
refactor summary
"""
FIELDS = {
    "kind": KINDS,
    "sector": "emotional episodic procedural reflective semantic",
    "tier": "global project session",
}
HAPPENED = """\
archived deemphasized deleted edited linked merged recalled reinforced restored saved superseded
touched unlinked unmerged updated
"""


def test_M1_the_fixture_has_everything(name: str) -> None:
    """What the other tests compare is there to be compared."""
    expected = EXPECTED[name]
    memories = expected["memories"].values()
    for field, values in FIELDS.items():
        assert {one[field] for one in memories} == set(values.split())
    for flag in ("trusted", "pinned"):
        assert {one[flag] for one in memories} == {True, False}
    assert {one["project"] for one in memories} == {"", "apollo", "työpöytä"}
    assert any(one["deleted_at"] for one in memories)
    assert any(one["chunk_count"] > 1 for one in memories)
    links = [link for found in expected["links"].values() for link in found]
    types = {link["type"] for link in links}
    assert types >= {"SUPERSEDES", "DEPENDS_ON", "BUILDS_ON", "CONTRADICTS"}
    happened = {one["what"] for found in expected["history"].values() for one in found}
    assert happened >= set(HAPPENED.split())
    assert {one["status"] for one in expected["sessions"]} == {"active", "completed"}
    assert expected["stats"]["embedding_model"] == HASHING
    assert len(expected["stats"]["problems"]) == 3
    assert expected["lists"]["archived count"] == 2
    if name == NEWEST:
        assert {one["user"] for one in memories} == {"", "anna"}
        assert any(one["categories"] for one in memories)
        assert all(expected[key] for key in ("standing", "summaries", "of an agent"))
        assert expected["of a user"]["core"]["user"] == {"name": "Anna"}
    hits = [hit for one in expected["searches"] for hit in one.get("results", [])]
    assert {hit["source"] for hit in hits} == {"memory", "document", "message"}


@pytest.mark.exhaustive
def test_M1_a_fixture_can_be_made_for_the_present_format(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    build(vault)
    settle(vault)
    made = tmp_path / "made.tar.gz"
    pack(vault, made)
    with tarfile.open(made) as archive:
        archive.extractall(tmp_path / "copy", filter="data")
    with open_fixture(tmp_path / "copy" / "vault") as memory:
        assert collect_answers(memory, NEWEST).keys() == EXPECTED[NEWEST].keys()


@pytest.mark.exhaustive(keep=1)
def test_M1_reading_an_older_vault_changes_no_file(old_vault: Path, name: str) -> None:
    before = file_hashes(old_vault)
    for settings in ({}, {"embedder": "none"}):
        with open_fixture(old_vault, **settings) as memory:
            collect_answers(memory, name)
            memory.sync()
        assert file_hashes(old_vault) == before


@pytest.mark.exhaustive(keep=1)
def test_M1_rebuilding_the_index_of_an_older_vault_changes_no_file(
    old_vault: Path, name: str
) -> None:
    before = file_hashes(old_vault)
    shutil.rmtree(old_vault / ".muisti")
    with open_fixture(old_vault) as memory:
        memory.reindex()
        collect_answers(memory, name)
    assert file_hashes(old_vault) == before


def test_M1_an_older_index_gives_the_same_answers(old_vault: Path, name: str) -> None:
    with open_fixture(old_vault) as memory:
        assert_same_answers(memory, name)


def test_M1_an_older_vault_without_its_index_gives_the_same_answers(
    old_vault: Path, name: str
) -> None:
    shutil.rmtree(old_vault / ".muisti")
    with open_fixture(old_vault) as memory:
        memory.reindex()
        assert_same_answers(memory, name)


@pytest.mark.exhaustive(keep=1)
def test_M1_an_older_vault_without_its_index_opens_without_being_told_to_rebuild(
    old_vault: Path, name: str
) -> None:
    shutil.rmtree(old_vault / ".muisti")
    with open_fixture(old_vault) as memory:
        memory.reindex_missing()
        assert_same_answers(memory, name)


@pytest.mark.exhaustive(keep=1)
def test_M1_rebuilding_keeps_the_vectors_of_unchanged_texts(old_vault: Path, name: str) -> None:
    """Without an embedder: every vector that is there afterwards was there before."""
    with open_fixture(old_vault, embedder="none") as memory:
        assert_all_vectors(memory)
        memory.reindex()
        assert_all_vectors(memory)
    with open_fixture(old_vault) as memory:
        assert memory.reindex_missing() == 0
        assert_same_answers(memory, name)


def assert_all_vectors(memory: Muisti) -> None:
    stats = memory.get_stats()
    assert (stats.embedding_model, stats.waiting_count) == (HASHING, 0)
    assert {one.embedding_model for one in memory.list(limit=None)} == {HASHING}


def test_M1_exchanges_that_an_older_process_left_are_extracted(old_vault: Path, name: str) -> None:
    before = len(EXPECTED[name]["lists"]["newest"])
    with Muisti.open(old_vault) as memory:
        assert memory.flush(timeout=60)
        extracted = [one.content for one in memory.list(limit=None) if one.source == "extracted"]
        assert any("dark mode" in one for one in extracted)
        assert len(memory.list(limit=None)) == before + len(extracted)
    assert not list((old_vault / ".queue").glob("*.jsonl"))


def test_M1_an_older_memory_can_be_changed_and_keeps_what_people_wrote(
    old_vault: Path, name: str
) -> None:
    with open_fixture(old_vault) as memory:
        (printer,) = [one for one in memory.list(limit=None) if one.title == "The printer"]
        path = old_vault / str(printer.file_path)
        before = path.read_text("utf-8")
        memory.update(printer.id, importance=0.6)
    old_lines, new_lines = before.splitlines(), path.read_text("utf-8").splitlines()
    changed = [line.partition(":")[0] for line in old_lines if line not in new_lines]
    assert changed == ["importance", "updated_at"]
    assert "colour: blue   # a key of my own" in new_lines
    assert "<private>The pin is 1234.</private>" in new_lines
