"""J1: `Muisti.open(":memory:")` is a vault that ends with the process and leaves nothing on the
disk.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from muisti import MemoryService, Muisti, bootstrap
from muisti.errors import InvalidRequest, SettingsError, Unsupported
from muisti.settings import find_vault, load_settings
from tests.conftest import FakeClock


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder and home."""
    folder = tmp_path / "empty"
    (folder / "home").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(folder / "home"))
    monkeypatch.setenv("XDG_DATA_HOME", str(folder / "home" / "data"))
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.chdir(folder)
    return folder


def test_J1_nothing_is_ever_written_to_the_disk(empty: Path) -> None:
    with Muisti.open(":memory:", embedder="hashing") as memory:
        saved = memory.save(
            "We chose PostgreSQL for its JSON support.", kind="decision", project="app"
        )
        memory.save_batch([f"Note number {number} about apples" for number in range(5)])
        memory.update(saved.id, content="We chose SQLite, for it needs no server.")
        memory.append_message("telegram_1", "user", "Do you remember what we chose?")
        memory.core_update("user", "name", "Anna")
        memory.start_session("app", session_id="s")
        memory.extract_and_save("s", "I always use tabs, and I live in Turku.", "Noted.")
        assert memory.flush(10)
        assert memory.search("what did we choose?", project="app")
        memory.evict(1, to=0.0)
        memory.reindex()
        assert memory.verify(deep=True).ok
    assert list(empty.rglob("*")) == [empty / "home"]


def test_J1_two_vaults_in_memory_know_nothing_of_each_other(clock: FakeClock) -> None:
    with (
        Muisti.open(":memory:", embedder="none") as one,
        Muisti.open(":memory:", embedder="none") as other,
    ):
        one.save("Apples")
        assert other.list() == []
    with Muisti.open(":memory:", embedder="none") as again:
        assert again.list() == []


@pytest.mark.parametrize("role", ["library", "cli", "server", "mcp"])
@pytest.mark.parametrize("create", [None, False])
def test_J1_every_role_opens_it(role: str, create: bool | None) -> None:
    with bootstrap.open(  # type: ignore[call-overload]
        ":memory:", role=role, create=create, settings={"embedder": "none"}
    ) as memory:
        memory.save("Apples")
        assert [result.memory.content for result in memory.search("apples")] == ["Apples"]
        assert str(memory.root) == ":memory:"


def test_J1_settings_come_from_the_environment_and_the_arguments(
    empty: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (empty / "muisti.toml").write_text('project = "of the folder"\n')
    monkeypatch.setenv("MUISTI_SEARCH_LIMIT", "3")
    with Muisti.open(":memory:", embedder="none") as memory:
        assert (memory.settings.search_limit, memory.settings.project) == (
            3,
            load_settings(environ={}).project,
        )
    with pytest.raises(SettingsError, match="unknown setting 'nonsense'"):
        Muisti.open(":memory:", nonsense=1)
    with pytest.raises(SettingsError):
        Muisti.open(":memory:", embedder="nonsense")


def test_J1_the_environment_may_name_it(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUISTI_VAULT", ":memory:")
    assert find_vault() == find_vault(":memory:") == Path(":memory:")
    with Muisti.open(embedder="none") as memory:
        memory.save("Apples")
    assert list(empty.rglob("*")) == [empty / "home"]


def test_J1_what_needs_files_says_so(empty: Path) -> None:
    with Muisti.open(":memory:", embedder="none") as memory:
        for needs_files in (
            memory.sync,
            lambda: memory.index_path(empty),
            lambda: memory.forget_path(empty),
        ):
            with pytest.raises(Unsupported, match=r"is not supported: a vault in memory .+"):
                needs_files()
        assert memory.list_document_sources() == []
        memory.save("It goes on")


def test_J1_another_address_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="location"):
        bootstrap.open("sqlite://:memory:")


def test_J1_for_asyncio_too(empty: Path) -> None:
    async def talk() -> list[str]:
        async with await MemoryService.open(":memory:", embedder="none") as memory:
            await asyncio.gather(*(memory.save(f"Text number {number}") for number in range(5)))
            return sorted(one.content for one in await memory.list())

    assert asyncio.run(talk()) == [f"Text number {number}" for number in range(5)]
    assert list(empty.rglob("*")) == [empty / "home"]
