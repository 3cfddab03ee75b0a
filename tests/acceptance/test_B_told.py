"""What a watcher tells of files: muisti's own writes are nothing new, a person's edits are
(contract B5).
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest

from muisti import Muisti
from muisti.errors import IndexCorrupt, VaultFull
from muisti.storage.files.sync import reconciler
from muisti.storage.files.vault import FileVault, LoadedFile, compare_files
from tests.conftest import Opener, file_store


def looks(memory: Muisti, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Each time that all files are walked through from here on."""
    walked: list[str] = []
    vault = file_store(memory).vault
    scan = vault.scan

    def noted_scan(*where: str) -> object:
        walked.append("scan")
        return scan(*where)

    def noted_compare(vault: FileVault, settled: Mapping[str, tuple[int, int, int]]) -> object:
        walked.append("compare")
        return compare_files(vault, settled)

    monkeypatch.setattr(vault, "scan", noted_scan)
    monkeypatch.setattr(reconciler, "compare_files", noted_compare)
    return walked


@pytest.mark.needs_files("syncs")
def test_B5_own_writes_are_nothing_new(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    memory, other = opened(), opened()
    walked = looks(memory, monkeypatch)
    mine, theirs = memory.save("Redis holds the sessions"), other.save("Nginx ends TLS")
    gone = memory.save("The office is in Oulu")
    memory.delete(gone.id)
    paths = [str(one.file_path) for one in (mine, theirs, gone)]
    trashed = memory.get(gone.id, include_deleted=True)
    assert trashed is not None
    report = memory.sync(
        paths=[
            *paths[:2],
            str(trashed.file_path),
            paths[2],
            "core_memory.json",
            "facts/there-for-a-moment.md",
        ]
    )
    assert (report.added, report.changed, report.moved, report.removed) == (0, 0, 0, 0)
    assert walked == []


@pytest.mark.needs_files("syncs")
def test_B5_messages_of_our_own_are_nothing_new(
    opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = opened()
    memory.append_message("cli_main", "user", "Redis holds the sessions")
    file = next((memory.root / "conversations").rglob("*.jsonl"))
    os.utime(file, (1e9, 1e9))
    memory.sync()  # looked at long after it was written
    walked = looks(memory, monkeypatch)
    memory.sync(paths=[file.relative_to(memory.root).as_posix()])
    assert walked == []
    file.write_text(
        file.read_text() + file.read_text().replace("Redis", "Valkey").replace('"id":"', '"id":"x')
    )
    memory.sync(paths=[file.relative_to(memory.root).as_posix()])
    assert memory.search_messages("Valkey")


@pytest.mark.parametrize("how", ["edited", "added", "removed", "folder"])
def test_B5_what_a_person_did_is_taken_in(opened: Opener, tmp_path: Path, how: str) -> None:
    memory = opened()
    saved = memory.save("Redis holds the sessions")
    path = memory.root / str(saved.file_path)
    told = str(saved.file_path)
    if how == "edited":
        path.write_text(path.read_text().replace("Redis", "Valkey"))
    elif how == "removed":
        path.unlink()
    elif how == "added":
        told = "facts/mine.md"
        (memory.root / "facts").mkdir(exist_ok=True)
        (memory.root / told).write_text("Valkey holds the sessions\n")
    else:
        (tmp_path / "x").mkdir()
        (tmp_path / "x" / "mine.md").write_text("Valkey holds the sessions\n")
        shutil.move(tmp_path / "x", memory.root / "facts")
        told = "facts"
    report = memory.sync(paths=[told])
    assert report.added + report.changed + report.removed == 1
    assert bool(memory.search("Valkey", mode="keyword")) is (how != "removed")


def test_B5_a_copied_vault_is_compared_by_its_bytes(
    opened: Opener, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_times = opened()
    saved = [
        with_times.save(text)
        for text in ("Redis holds the sessions", "Nginx ends TLS", "The office is in Oulu")
    ]
    with_times.close()
    for one in saved:
        os.utime(vault / str(one.file_path), (1.7e9, 1.7e9))  # as a checkout or a copy leaves them
    edited = vault / str(saved[0].file_path)
    edited.write_text(edited.read_text().replace("Redis", "Valkey"))
    memory = opened(sync_on_open=False)
    parsed: list[str] = []
    parse = file_store(memory).vault.parse

    def noted(file: LoadedFile, **how: bool) -> object:
        parsed.append(file.path)
        return parse(file, **how)

    monkeypatch.setattr(file_store(memory).vault, "parse", noted)
    report = memory.sync()
    assert (report.changed, parsed) == (1, [saved[0].file_path])
    assert memory.sync().changed == 0


def test_E7_flushing_does_not_wait_for_what_others_note_meanwhile(
    opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = opened()
    saved = memory.save("Redis holds the sessions")
    recorder = memory._recall_log
    write, rounds = recorder._write, []

    def write_and_note(events: list[object]) -> None:
        rounds.append(len(events))
        if len(rounds) < 50:
            recorder.record([saved.id])  # somebody searches all the time
        write(events)

    monkeypatch.setattr(recorder, "_write", write_and_note)
    memory.search("Redis", mode="keyword")
    recorder.flush()
    assert len(rounds) < 10
    monkeypatch.setattr(recorder, "_write", write)
    found = memory.get(saved.id)
    assert found is not None
    assert found.access_count >= 1


@pytest.mark.needs_files("breaks the journal's file")
def test_E7_a_recall_that_cannot_be_noted_holds_nobody_up(
    opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = opened()
    memory.save("Redis holds the sessions")

    def damaged(*_: object, **__: object) -> None:
        raise IndexCorrupt("damaged")

    def full(*_: object, **__: object) -> None:
        raise VaultFull("full")

    monkeypatch.setattr(file_store(memory), "commit", damaged)
    monkeypatch.setattr(file_store(memory).journal, "append", full)
    for _ in range(3):
        memory.search("Redis", mode="keyword")
        flushing = threading.Thread(target=memory._recall_log.flush, daemon=True)
        flushing.start()
        flushing.join(timeout=60)
        assert not flushing.is_alive()
    monkeypatch.undo()
    memory.close()
