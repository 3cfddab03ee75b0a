"""Opening a vault in PostgreSQL by its address."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from muisti import Muisti, bootstrap
from muisti.errors import InvalidRequest, StoreUnavailable, Unsupported
from muisti.settings import find_vault
from tests.postgres.server import make_location

PASSWORD = "hunter2"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, in which nothing may appear."""
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    return here


def test_L1_what_one_process_saves_another_finds(folder: Path) -> None:
    location = make_location()
    with Muisti.open(location) as first, Muisti.open(location) as second:
        saved = first.save("We chose PostgreSQL for its JSON support.", project="app")
        assert [hit.memory.id for hit in second.search("postgresql json")] == [saved.id]
        assert saved.file_path is not None
        assert saved.file_path.startswith("projects/app/decisions/")
    with Muisti.open(location) as again:
        assert again.get(saved.id) is not None
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("variable", ["MUISTI_STORE", "MUISTI_VAULT"])
@pytest.mark.parametrize("scheme", ["postgresql://", "postgres://"])
def test_L1_the_environment_names_it(
    monkeypatch: pytest.MonkeyPatch, variable: str, scheme: str
) -> None:
    monkeypatch.setenv(variable, make_location().replace("postgresql://", scheme))
    with Muisti.open() as memory:
        assert memory.location == "postgresql://postgres@/postgres"


def test_a_folder_that_is_named_is_used_instead(
    monkeypatch: pytest.MonkeyPatch, vault: Path
) -> None:
    monkeypatch.setenv("MUISTI_STORE", f"postgresql://u:{PASSWORD}@localhost:1/x")
    with Muisti.open(vault) as memory:
        assert memory.location == str(vault)


@pytest.mark.parametrize("role", ["library", "cli", "search", "server", "mcp"])
def test_L1_a_server_that_is_not_there(folder: Path, role: str) -> None:
    with pytest.raises(StoreUnavailable, match="localhost:1/x: the connection failed") as raised:
        bootstrap.open(f"postgresql://u:{PASSWORD}@localhost:1/x", role=role)  # type: ignore[call-overload]
    assert PASSWORD not in f"{raised.value!r} {raised.value.__cause__!r}"
    assert list(folder.iterdir()) == []


def test_a_path_is_no_address(folder: Path) -> None:
    with pytest.raises(InvalidRequest, match="location must begin with postgresql://") as raised:
        Muisti.open(Path(f"postgresql://u:{PASSWORD}@localhost/x"))
    assert PASSWORD not in str(raised.value)
    assert list(folder.iterdir()) == []


def test_without_its_packages() -> None:
    code = """import sys
sys.modules["psycopg"] = None
from muisti import Muisti
Muisti.open("postgresql://localhost/x")"""
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert "SettingsError" in done.stderr
    assert "pip install 'muisti[postgres]'" in done.stderr


def test_L1_what_needs_a_folder_says_so() -> None:
    with pytest.raises(Unsupported, match="needs a vault in a folder") as raised:
        find_vault(f"postgresql://u:{PASSWORD}@localhost/x")
    assert PASSWORD not in str(raised.value)
    with Muisti.open(make_location()) as memory:
        with pytest.raises(Unsupported, match="a vault in a database"):
            memory.sync()
        assert memory.verify(deep=True).ok
        assert not memory.reindex().paused


@pytest.mark.parametrize("scheme", ["mysql", "postgresql+psycopg"])
def test_an_address_of_another_kind_is_no_folder(folder: Path, scheme: str) -> None:
    with pytest.raises(InvalidRequest, match="a folder or a postgresql:// address") as raised:
        Muisti.open(f"{scheme}://u:{PASSWORD}@localhost/x")
    assert PASSWORD not in str(raised.value)
    assert list(folder.iterdir()) == []
