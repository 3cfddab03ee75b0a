"""Reads never take the vault's lock; opening by role; sync looks at the paths it is given (contract
E11, I1, B5).
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from muisti import Muisti, bootstrap
from muisti.engine.search import Search
from muisti.errors import InvalidRequest, VaultBusy, VaultNotFound
from muisti.storage.files.lock import FileLock
from tests.conftest import Opener, file_store

HOLD = """
import sys
from muisti import bootstrap
memory = bootstrap.open(sys.argv[1], role="cli", settings={"sync_on_open": False})
with memory._services.store.lock():
    print("held", flush=True)
    sys.stdin.readline()
"""

READS: dict[str, Callable[[Muisti, str], object]] = {
    "get": lambda memory, id_: memory.get(id_),
    "list": lambda memory, id_: memory.list(),
    "search": lambda memory, id_: memory.search("Redis sessions"),
    "search by keyword": lambda memory, id_: memory.search("Redis", mode="keyword"),
    "context": lambda memory, id_: memory.context("Redis sessions"),
    "timeline": lambda memory, id_: memory.timeline(id_),
    "details": lambda memory, id_: memory.details([id_]),
    "related": lambda memory, id_: memory.related(id_),
    "explain": lambda memory, id_: memory.explain("Redis", id_),
    "search_by_keywords": lambda memory, id_: memory.search_by_keywords(["redis"]),
    "links": lambda memory, id_: memory.links(id_),
    "history": lambda memory, id_: memory.history(id_),
    "window": lambda memory, id_: memory.window("cli_main"),
    "chats": lambda memory, id_: memory.list_conversations(),
    "core_get": lambda memory, id_: memory.core_get(),
    "get_stats": lambda memory, id_: memory.get_stats(),
    "list_sessions": lambda memory, id_: memory.list_sessions(),
    "export": lambda memory, id_: memory.export_memories(),
    "trashed": lambda memory, id_: memory.list_trash(),
}


@contextmanager
def locked_by_another_process(vault: Path) -> Iterator[None]:
    command = [sys.executable, "-c", HOLD, str(vault)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    try:
        yield
    finally:
        process.communicate("\n", timeout=60)


@pytest.fixture
def tries(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of threads that try to take the lock."""
    names: list[str] = []
    hold = FileLock.hold

    def noted(lock: FileLock, timeout: float | None = None) -> object:
        names.append(threading.current_thread().name)
        return hold(lock, timeout)

    monkeypatch.setattr(FileLock, "hold", noted)
    return names


def test_E11_reads_complete_while_another_process_holds_the_lock(
    opened: Opener, vault: Path, tries: list[str]
) -> None:
    memory = opened(embedder="none")
    saved = memory.save("Redis holds the sessions", keywords=["redis"])
    memory.append_message("cli_main", "user", "Redis was restarted")
    memory.core_update("user", "name", "Anna")
    with locked_by_another_process(vault):
        tries.clear()
        for name, read in READS.items():
            assert read(memory, saved.id) is not None, name
            assert threading.main_thread().name not in tries, name
        # What the searches recorded is written by the thread that records recalls, as soon as it
        # can.
        assert set(tries) <= {"muisti-recall"}
    memory.flush()
    found = memory.get(saved.id)
    assert found is not None
    assert found.access_count >= 3


def test_E11_a_search_does_not_wait_to_store_vectors(opened: Opener, vault: Path) -> None:
    memory = opened(embedder="hashing", embed_on_save=False)
    memory.save("Redis holds the sessions")
    memory.search("warm up, and make the space")
    memory.save("Nginx ends TLS")  # waits for its vectors
    with locked_by_another_process(vault):
        assert [one.memory.content for one in memory.search("Nginx")] == ["Nginx ends TLS"]


def test_E11_a_vault_opens_while_another_process_holds_the_lock(
    opened: Opener, vault: Path
) -> None:
    saved = opened(embedder="none").save("Redis holds the sessions")
    path = vault / str(saved.file_path)
    with locked_by_another_process(vault):
        path.write_text(path.read_text().replace("Redis", "Valkey"))
        with bootstrap.open(vault, role="cli", settings={"embedder": "none"}) as memory:
            assert memory.search("sessions")  # what is known; the edit is picked up later
    with bootstrap.open(vault, role="cli", settings={"embedder": "none"}) as memory:
        assert memory.search("Valkey")


def test_E11_a_write_still_waits_and_says_for_whom(opened: Opener, vault: Path) -> None:
    memory = opened(embedder="none", lock_timeout=0.2)
    with locked_by_another_process(vault), pytest.raises(VaultBusy, match="process"):
        memory.save("Redis holds the sessions")


def test_B5_a_reader_catches_up_with_a_stale_index_without_waiting(
    opened: Opener, vault: Path
) -> None:
    memory = opened(embedder="none")
    saved = memory.save("Redis holds the sessions")
    path = vault / str(saved.file_path)
    path.write_text(path.read_text().replace("Redis", "Valkey"))
    file_store(memory).index.stale = True
    with locked_by_another_process(vault):
        assert [one.content for one in memory.list()] == ["Redis holds the sessions"]
    assert [one.content for one in memory.list()] == ["Valkey holds the sessions"]


# -- Roles and locations


@pytest.mark.parametrize("role", ["admin", "", "Library"])
def test_A4_an_unknown_role_is_refused(vault: Path, role: str) -> None:
    known = "library, cli, search, warm, server, worker, mcp, hook"
    with pytest.raises(InvalidRequest, match=f"role.*{known}"):
        bootstrap.open(vault, role=role)  # type: ignore[call-overload]
    assert not vault.exists()


@pytest.mark.parametrize("by_name", [False, True])
@pytest.mark.parametrize(
    "location",
    [
        "mysql://ann:hunter2@localhost/muisti",
        "s3://bucket/vault",
        "postgresqll://ann:hunter2@db/notes",
        "host=db dbname=notes password=hunter2",
    ],
)
def test_A4_an_address_without_a_store_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, location: str, by_name: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    if by_name:
        monkeypatch.setenv("MUISTI_STORE", location)
    reason = "must be a folder or a postgresql:// address"
    with pytest.raises(InvalidRequest, match=reason) as raised:
        Muisti.open(None if by_name else location)
    assert "hunter2" not in str(raised.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("role", ["cli", "server", "mcp", "hook"])
def test_B1_only_a_library_makes_a_missing_vault(vault: Path, role: str) -> None:
    with pytest.raises(VaultNotFound, match="muisti init"):
        bootstrap.open(vault, role=role)  # type: ignore[call-overload]
    assert not vault.exists()


def test_J6_a_hook_gets_a_vault_that_is_only_searched(opened: Opener, vault: Path) -> None:
    opened(embedder="none").save("Redis holds the sessions")
    memory = bootstrap.open(vault, role="hook")
    assert type(memory) is Search
    assert memory.search("Redis", mode="keyword")
    memory.close()


# -- Sync of paths


class FileCalls:
    """Counts calls to the file system."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.counts: Counter[str] = Counter()
        for name in ("stat", "lstat", "scandir", "listdir", "open"):
            self._count(monkeypatch, name)

    def _count(self, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
        real = getattr(os, name)

        def counted(*args: object, **kwargs: object) -> object:
            self.counts[name] += 1
            return real(*args, **kwargs)

        monkeypatch.setattr(os, name, counted)


def calls_for_one_edit(vault: Path, size: int, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    with bootstrap.open(vault, settings={"embedder": "none", "merge_duplicates": False}) as memory:
        memory.save_batch(
            [f"Fact number {number} is about subject {number * 7}" for number in range(size)]
        )
        edited = memory.list(limit=1)[0]
        memory.get_stats()
        path = vault / str(edited.file_path)
        path.write_text(path.read_text().replace("Fact number", "Changed fact"))
        with monkeypatch.context() as patched:
            calls = FileCalls(patched)
            report = memory.sync(paths=[str(edited.file_path)])
        assert report.changed == 1
        assert memory.search("Changed", mode="keyword")
    return calls.counts


def test_B5_an_edit_of_one_file_costs_the_same_in_any_vault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = calls_for_one_edit(tmp_path / "small", 20, monkeypatch)
    large = calls_for_one_edit(tmp_path / "large", 400, monkeypatch)
    assert small == large
    assert (
        small["scandir"] + small["listdir"] <= 4
    )  # the journal's folder and the temporary files, not the vault


@pytest.mark.needs_files("edits a file by hand")
def test_B5_an_edited_file_is_read_once(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = opened(embedder="none")
    saved = memory.save("Redis holds the sessions")
    path = memory.root / str(saved.file_path)
    path.write_text(path.read_text().replace("Redis", "Valkey"))
    os.utime(path, (1.7e9, 1.7e9))
    vault = file_store(memory).vault
    loaded: list[str] = []
    load = vault.load

    def noted(wanted: str) -> object:
        loaded.append(wanted)
        return load(wanted)

    monkeypatch.setattr(vault, "load", noted)
    memory.sync(paths=[str(saved.file_path)])
    assert loaded == [saved.file_path]
    assert memory.search("Valkey", mode="keyword")


@pytest.mark.needs_files("edits and removes files by hand")
def test_B5_an_edit_and_a_deletion_told_together_are_both_recorded(opened: Opener) -> None:
    memory = opened(embedder="none")
    edited, removed = memory.save("Redis holds the sessions"), memory.save("Nginx ends TLS")
    path = memory.root / str(edited.file_path)
    path.write_text(path.read_text().replace("Redis", "Valkey"))
    (memory.root / str(removed.file_path)).unlink()
    report = memory.sync(paths=[str(edited.file_path), str(removed.file_path)])
    assert (report.changed, report.removed) == (1, 1)
    assert [one.what for one in memory.history(edited.id)] == ["saved", "edited"]
    assert [one.what for one in memory.history(removed.id)] == ["saved", "vanished"]


@pytest.mark.needs_files("renames a file")
@pytest.mark.parametrize("told", ["both", "old", "new"])
def test_B5_a_renamed_file_is_followed_whatever_was_told(opened: Opener, told: str) -> None:
    memory = opened(embedder="none")
    saved = memory.save("Redis holds the sessions", kind="fact")
    memory.save("Nginx ends TLS", kind="fact")
    old = memory.root / str(saved.file_path)
    new = old.with_name("renamed.md")
    old.rename(new)
    names = {"old": [old], "new": [new], "both": [old, new]}[told]
    report = memory.sync(paths=[name.relative_to(memory.root).as_posix() for name in names])
    assert (report.moved, report.removed) == (1, 0)
    found = memory.get(saved.id)
    assert found is not None
    assert found.file_path == "facts/renamed.md"


def test_I1_serve_goes_on_with_exchanges_that_were_accepted_before_a_crash(vault: Path) -> None:
    """The server opens with this role; `tests/rest` kills a real one."""
    accept = (
        "import os, sys; from muisti import Muisti\n"
        "memory = Muisti.open(sys.argv[1], embedder='none', extractor='ollama', "
        "extractor_model='none', extractor_url='http://127.0.0.1:9')\n"
        "assert memory.extract_and_save('s1', 'I moved to Turku last month.')\n"
        "os.kill(os.getpid(), 9)\n"
    )
    assert subprocess.run([sys.executable, "-c", accept, str(vault)], check=False).returncode == -9
    with bootstrap.open(vault, role="server", settings={"embedder": "none"}) as memory:
        assert memory.flush(timeout=60)
        assert [one.session_id for one in memory.list()] == ["s1"]
