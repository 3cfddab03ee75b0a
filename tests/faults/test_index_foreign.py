"""An index that is not this vault's, or not of this schema: set aside and built anew, or checked."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from muisti import Muisti, bootstrap
from muisti.ports import Clock
from muisti.storage.sqlite.migrations import NEWEST
from tests.conftest import file_store

from .invariants import check_found, check_rebuild, check_sound, state
from .test_index_locked import index_file


def _fill(memory: Muisti, subject: str) -> None:
    memory.save_batch([f"Memory {n} about {subject}{n}" for n in range(8)])
    memory.append_message("cli_main", "user", f"We talked about {subject}")


def _make_two(tmp_path: Path, clock: Clock) -> tuple[Path, Path]:
    for name in ("first", "second"):
        with bootstrap.open(tmp_path / name, clock=clock) as memory:
            _fill(memory, name)
    return tmp_path / "first", tmp_path / "second"


def _swap_folder(first: Path, second: Path) -> None:
    shutil.rmtree(first / ".muisti")
    shutil.copytree(second / ".muisti", first / ".muisti")


def _swap_file(first: Path, second: Path) -> None:
    """The pointer stays, the file that it names is another vault's."""
    target = index_file(first)
    for suffix in ("-wal", "-shm"):
        target.with_name(target.name + suffix).unlink(missing_ok=True)
    shutil.copy(index_file(second), target)


def _check_own(memory: Muisti, own: str, foreign: str) -> None:
    assert memory.get_stats().total_count == 8
    assert len(memory.search(own, limit=20, mode="keyword")) > 0
    texts = [hit.memory.content for hit in memory.search(f"{own} {foreign}", limit=50)]
    assert texts
    assert not [text for text in texts if foreign in text]
    assert memory.search_messages(foreign) == []


@pytest.mark.parametrize("swap", [_swap_folder, _swap_file])
@pytest.mark.parametrize("sync_on_open", [True, False], ids=["sync", "no sync"])
def test_K2_an_index_of_another_vault_is_rebuilt_on_opening(
    tmp_path: Path, clock: Clock, swap: Callable[[Path, Path], None], sync_on_open: bool
) -> None:
    first, second = _make_two(tmp_path, clock)
    with bootstrap.open(first, clock=clock) as memory:
        held = state(memory)
    swap(first, second)
    with bootstrap.open(first, clock=clock, settings={"sync_on_open": sync_on_open}) as memory:
        assert state(memory) == held
        _check_own(memory, "first", "second")
        check_found(memory)
        check_sound(memory)
    check_rebuild(first, clock)


def test_K2_an_index_of_another_vault_is_noticed_by_a_hook(tmp_path: Path, clock: Clock) -> None:
    first, second = _make_two(tmp_path, clock)
    _swap_folder(first, second)
    hook = bootstrap.open(first, role="hook")
    try:
        contents = [hit.memory.content for hit in hook.search("first3 second3")]
    finally:
        hook.close()
    assert contents[0] == "Memory 3 about first3"
    assert not [content for content in contents if "second" in content]


def test_K2_an_index_of_another_vault_is_noticed_while_the_vault_is_open(
    tmp_path: Path, clock: Clock
) -> None:
    first, second = _make_two(tmp_path, clock)
    with bootstrap.open(first, clock=clock) as memory:
        _check_own(memory, "first", "second")
        _swap_folder(first, second)
        _check_own(memory, "first", "second")
        check_sound(memory)


def test_K2_an_index_from_a_backup_is_older_than_the_files(tmp_path: Path, clock: Clock) -> None:
    """Also while the vault is open: the next call reads what the old index lacks."""
    vault = tmp_path / "vault"
    with bootstrap.open(vault, clock=clock) as memory:
        _fill(memory, "early")
    shutil.copytree(vault / ".muisti", tmp_path / "backup")
    with bootstrap.open(vault, clock=clock) as memory:
        memory.reindex()  # the backup has another file name
        late = memory.save("Saved after the backup")
        memory.append_message("cli_main", "user", "Said after the backup")
        shutil.rmtree(vault / ".muisti")
        shutil.copytree(tmp_path / "backup", vault / ".muisti")
        assert memory.get(late.id) is not None
        assert memory.search_messages("said after")
        check_sound(memory)
    check_rebuild(vault, clock)


@pytest.mark.parametrize("how", ["rename", "copy", "copy without times"])
def test_K2_a_moved_or_copied_vault_keeps_its_index(tmp_path: Path, clock: Clock, how: str) -> None:
    vault, there = tmp_path / "vault", tmp_path / "there"
    with bootstrap.open(vault, clock=clock) as memory:
        _fill(memory, "kept")
        held = state(memory)
    if how == "rename":
        vault.rename(there)
    else:
        copy = shutil.copy2 if how == "copy" else shutil.copyfile
        shutil.copytree(vault, there, copy_function=copy)
    before = index_file(there).name
    with bootstrap.open(there, clock=clock) as memory:
        assert state(memory) == held
        check_sound(memory)
    assert index_file(there).name == before
    assert not list((there / ".muisti").glob("damaged-*"))


def test_B5_a_vault_that_lost_most_files_still_asks(tmp_path: Path, clock: Clock) -> None:
    """The index is this vault's own: nothing is forgotten without a confirmation."""
    vault = tmp_path / "vault"
    with bootstrap.open(vault, clock=clock) as memory:
        _fill(memory, "kept")
    for file in list(vault.glob("*/*.md"))[:6]:
        file.unlink()
    with bootstrap.open(vault, clock=clock) as memory:
        assert memory.get_stats().total_count == 8
        assert memory.sync().paused


@pytest.mark.parametrize("version", range(NEWEST))
def test_K2_a_lowered_schema_version_is_healed(vault: Path, clock: Clock, version: int) -> None:
    with bootstrap.open(vault, clock=clock) as memory:
        _fill(memory, "kept")
        held = state(memory)
    _execute(vault, f"PRAGMA user_version = {version}")
    with bootstrap.open(vault, clock=clock) as memory:
        assert state(memory) == held
        check_found(memory)
        check_sound(memory)
    check_rebuild(vault, clock)


WRONG_SCHEMAS = [
    "DROP TABLE messages",
    "DROP TABLE totals",
    "DROP TABLE seen; CREATE TABLE seen (path TEXT PRIMARY KEY, sha TEXT)",
    "DROP TABLE usage; CREATE TABLE usage (id TEXT PRIMARY KEY)",
    "DROP TABLE problems; CREATE TABLE problems (path TEXT, reason TEXT, more TEXT)",
    "DROP TABLE word_index",
    "ALTER TABLE labels RENAME COLUMN value TO label",
]


@pytest.mark.parametrize("sql", WRONG_SCHEMAS)
def test_K2_the_right_version_with_wrong_tables_is_healed_or_reported(
    vault: Path, clock: Clock, sql: str
) -> None:
    with bootstrap.open(vault, clock=clock) as memory:
        _fill(memory, "kept")
        held = state(memory)
    _execute(vault, sql)
    with bootstrap.open(vault, clock=clock) as memory:
        assert state(memory) == held
        memory.search("kept", keywords=["none"])
        saved = memory.save("Saved on wrong tables", keywords=["label"])
        memory.touch(saved.id)
        assert memory.search_messages("talked")
        if not memory.verify().ok:
            memory.reindex()
        check_found(memory)
        check_sound(memory)
    check_rebuild(vault, clock)


@pytest.mark.parametrize(
    "sql", ["DROP TRIGGER words_deleted", "DROP INDEX labels_by_memory", "CREATE TABLE more (n)"]
)
def test_K2_verify_reports_another_schema(vault: Path, clock: Clock, sql: str) -> None:
    with bootstrap.open(vault, clock=clock) as memory:
        _fill(memory, "kept")
        _execute(vault, sql)
        [problem] = memory.verify().problems
        assert problem.path == ".muisti"
        assert sql.split()[2] in problem.reason
        memory.reindex()
        check_sound(memory)


def test_K2_offsets_beyond_the_end_of_files(vault: Path, clock: Clock) -> None:
    with bootstrap.open(vault, clock=clock) as memory:
        _fill(memory, "kept")
        memory.touch(memory.list()[0].id)
        held = state(memory)
    _execute(vault, "UPDATE marks SET offset = offset + 1000")
    _execute(vault, "UPDATE talk SET offset = offset + 1000, size = size + 1000")
    with bootstrap.open(vault, clock=clock) as memory:
        assert state(memory) == held
        assert memory.search_messages("talked")
        check_sound(memory)
        assert file_store(memory).index.journal_offsets()
    check_rebuild(vault, clock)


def _execute(vault: Path, sql: str) -> None:
    db = apsw.Connection(str(index_file(vault)))
    db.execute(sql)
    db.close()
