"""What was lost or cut is told by every report, not only in the log (invariant F)."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from muisti import Muisti, bootstrap
from muisti.ports import Clock
from muisti.surfaces.setup.check_vault import check_vault

from .invariants import check_sound


def _reports(memory: Muisti) -> dict[str, str]:
    """What each report says of problems."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MUISTI_EMBEDDER", "none")
        findings = check_vault(str(memory.root))
    return {
        "verify": str(memory.verify().problems),
        "stats": str(memory.get_stats().problems),
        "problems": str(memory.problems()),
        "doctor": str([one.what for one in findings if one.level == "problem"]),
    }


def test_B5_missing_files_are_reported(vault: Path, tmp_path: Path, clock: Clock) -> None:
    with bootstrap.open(vault, clock=clock) as memory:
        memory.save_batch([{"content": f"Memory {n}", "kind": "fact"} for n in range(20)])
        shutil.move(vault / "facts", tmp_path / "facts")
        assert memory.sync().missing == 20
        for name, report in _reports(memory).items():
            assert "20 of 20 files are missing" in report, name
            assert "sync --confirm" in report, name
        assert memory.search("memory"), "they are still searched"
        shutil.move(tmp_path / "facts", vault / "facts")
        memory.sync()
        for name, report in _reports(memory).items():
            assert "missing" not in report, name
        check_sound(memory)
        shutil.rmtree(vault / "facts")
        memory.sync()
        assert memory.sync(confirm=True).removed == 20
        for name, report in _reports(memory).items():
            assert "missing" not in report, name
        check_sound(memory)


def test_B5_missing_conversations_are_reported(vault: Path, tmp_path: Path, clock: Clock) -> None:
    with bootstrap.open(vault, clock=clock) as memory:
        for n in range(5):
            memory.append_message(f"cli_{n}", "user", f"Message {n}")
        shutil.move(vault / "conversations", tmp_path / "conversations")
        assert memory.sync().missing == 5
        for name, report in _reports(memory).items():
            assert "5 of 5 files are missing" in report, name
        memory.sync(confirm=True)
        assert memory.problems() == []


@pytest.mark.parametrize("cut", [1, 10, 40])
def test_F_a_cut_journal_is_reported(vault: Path, clock: Clock, cut: int) -> None:
    with bootstrap.open(vault, clock=clock) as memory:
        saved = memory.save("A memory")
        memory.touch(saved.id)
    [journal] = (vault / "journal").glob("*.jsonl")
    journal.write_bytes(journal.read_bytes()[:-cut])
    with bootstrap.open(vault, clock=clock) as memory:
        for name, report in _reports(memory).items():
            assert f"journal/{journal.name}" in report, name
            assert "incomplete" in report, name
        memory.touch(saved.id)  # moves the rest of the line aside
        corrupt = journal.with_name(f"{journal.name}.corrupt")
        assert corrupt.exists()
        for name, report in _reports(memory).items():
            assert corrupt.name in report, name
        corrupt.unlink()
        assert memory.problems() == []
        check_sound(memory)


def test_F_readiness_and_page_say_what_is_missing(
    vault: Path, tmp_path: Path, clock: Clock
) -> None:
    from muisti.surfaces.rest.app import create_app

    with bootstrap.open(vault, clock=clock) as memory:
        memory.save_batch([{"content": f"Memory {n}", "kind": "fact"} for n in range(20)])
        shutil.move(vault / "facts", tmp_path / "facts")
        memory.sync()
        (vault / "core_memory.json").write_text("{", "utf-8")
        client = TestClient(create_app(memory), base_url="http://127.0.0.1")
        ready = client.get("/ready").json()
        assert ready["status"] == "degraded"
        assert any("20 of 20 files are missing" in note for note in ready["notes"])
        assert "1 file cannot be read" in ready["notes"]
        assert "20 of 20 files are missing" in str(client.get("/api/stats").json())
        page = client.get("/status").text
        assert "20 of 20 files are missing" in page
        assert "core_memory.json" in page
