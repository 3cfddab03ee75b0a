"""`muisti push` and `muisti pull` as commands, and what they refuse."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from muisti import Muisti
from muisti.bootstrap_moving import pull, push
from muisti.errors import (
    InvalidRequest,
    StoreUnavailable,
    VaultNotFound,
    VaultNotTrusted,
    VaultUnusable,
)
from muisti.ports.moving import Part, VaultFile
from muisti.settings import Settings
from muisti.storage.files.moving import FolderMover
from muisti.storage.postgres.moving import PostgresMover
from muisti.surfaces.cli.group import cli
from muisti.trust import withdraw_consent
from tests.postgres.server import make_location
from tests.postgres.test_L2_moving import interrupt, read_tree


@pytest.fixture(autouse=True)
def without_embedder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUISTI_EMBEDDER", "none")


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    with Muisti.open(tmp_path / "vault") as memory:
        memory.save("We chose PostgreSQL")
    return tmp_path / "vault"


def test_L2_a_store_with_another_vault_is_left_alone(tmp_path: Path, vault: Path) -> None:
    store = make_location()
    with Muisti.open(store) as memory:
        memory.save("Another vault")
    with pytest.raises(VaultUnusable, match=r"has another vault.*empty database"):
        push(store, vault)
    other = make_location()
    push(other, vault)
    with pytest.raises(VaultUnusable, match="has this vault already"):
        push(other, vault)
    with Muisti.open(store) as memory:
        assert [one.content for one in memory.list()] == ["Another vault"]


def test_L2_a_folder_with_other_files_is_left_alone(tmp_path: Path, vault: Path) -> None:
    store = make_location()
    push(store, vault)
    before = read_tree(vault)
    with pytest.raises(VaultUnusable, match=r"is not empty \(it has \.?\w+.*another folder"):
        pull(store, vault)
    assert read_tree(vault) == before
    (tmp_path / "file").write_text("")
    with pytest.raises(VaultUnusable, match="is a file"):
        pull(store, tmp_path / "file")
    other = make_location()
    with Muisti.open(other) as memory:
        memory.save("Another vault")
    (tmp_path / "copy/.muisti").mkdir(parents=True)
    (tmp_path / "copy/.muisti/pulling").write_text("8f9c3a4e-0000-4000-8000-000000000000\n")
    with pytest.raises(VaultUnusable, match="incomplete copy of another vault"):
        pull(other, tmp_path / "copy")


def test_L2_settings_stay(tmp_path: Path, vault: Path) -> None:
    (vault / "muisti.toml").write_text('project = "app"\n')
    store = make_location()
    push(store, vault)
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / "muisti.toml").write_text('project = "mine"\n')
    pull(store, copy)
    assert (copy / "muisti.toml").read_text() == 'project = "mine"\n'


def test_L2_wrong_locations(tmp_path: Path, vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = make_location()
    secret = "postgresql://u:hunter2@localhost:1/x"
    with pytest.raises(VaultNotFound, match="no vault at"):
        push(store, tmp_path / "nothing")
    with pytest.raises(VaultNotFound, match="nothing to pull"):
        pull(store, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()
    for call in (
        lambda: push(str(vault), vault),
        lambda: push(store, secret),
        lambda: pull(str(vault), tmp_path / "copy"),
        lambda: pull(store, secret),
        lambda: push(store, ":memory:"),
    ):
        with pytest.raises(InvalidRequest, match="must be") as raised:
            call()
        assert "hunter2" not in str(raised.value)
    for call in (lambda: push(secret, vault), lambda: pull(secret, tmp_path / "copy")):
        with pytest.raises(StoreUnavailable, match="the connection failed") as unavailable:
            call()
        assert "hunter2" not in str(unavailable.value)
    monkeypatch.chdir(vault)
    shutil.rmtree(vault / ".muisti")
    with Muisti.open(tmp_path / "own"):
        pass
    withdraw_consent(vault)
    with pytest.raises(VaultNotTrusted, match="muisti trust"):
        push(store)


def test_L2_a_store_cannot_write_outside_of_a_vault(tmp_path: Path, vault: Path) -> None:
    mover = FolderMover(tmp_path / "copy", Settings())
    mover.begin("8f9c3a4e-0000-4000-8000-000000000000")
    paths = ["../x.md", "/etc/x.md", "muisti.toml", ".git/hooks/x", ".muisti/x", "a/../../x.md",
             ".bashrc", "x.py", "notes/.hidden.md", "C:\\x.md"]  # fmt: skip
    mover.write([VaultFile(Part.OTHER, path, b"x") for path in paths])
    for path in paths:
        mover.write_lines(path, iter([b"x"]))
    assert [problem.path for problem in mover.problems] == paths * 2
    assert not read_tree(tmp_path / "copy")
    assert not (tmp_path / "x.md").exists()


# -- The command line


def run_cli(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "muisti", *arguments]
    return subprocess.run(command, check=False, capture_output=True, text=True)


def test_L2_the_commands(tmp_path: Path, vault: Path) -> None:
    store, copy = make_location(), str(tmp_path / "copy")
    pushed = run_cli("push", store, "--vault", str(vault))
    assert (pushed.returncode, pushed.stderr) == (0, "")
    assert "Pushed 1 file and 1 file of conversations and the journal." in pushed.stdout
    pulled = run_cli("pull", store, copy, "--json")
    assert '"files": 1' in pulled.stdout
    assert read_tree(tmp_path / "copy") == read_tree(vault)
    again = run_cli("push", store, "--vault", str(vault))
    assert again.returncode == 1
    assert "has this vault already" in again.stderr
    wrong = run_cli("pull", copy, store)
    assert wrong.returncode == 1
    assert "must be an address" in wrong.stderr


def test_L2_a_command_that_is_interrupted_says_how_to_continue(
    vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = make_location()
    monkeypatch.setattr(PostgresMover, "write_queue", interrupt)
    stopped = CliRunner().invoke(cli, ["push", store, "--vault", str(vault)])
    assert "Run the same command again to continue." in stopped.output
    monkeypatch.undo()
    assert CliRunner().invoke(cli, ["push", store, "--vault", str(vault)]).exit_code == 0


def test_L2_an_export_as_a_vault_opens_as_one(tmp_path: Path) -> None:
    store, folder = make_location(), tmp_path / "exported"
    with Muisti.open(store, embedder="hashing") as memory:
        saved = memory.save("We chose PostgreSQL for its JSON support.", project="app")
        memory.append_message("web_1", "user", "Which database?")
        memory.core_update("user", "name", "Anna")
        memory.extract_and_save("chat", "I prefer tea with lemon.")
        memory.flush()
        expected = {one.id: one.content for one in memory.list(limit=None)}
    command = ["export", "--format", "vault", "--vault", store]
    done = CliRunner().invoke(cli, [*command, "--output", str(folder)])
    assert done.exit_code == 0, done.output
    assert "Exported" in done.output
    again = CliRunner().invoke(cli, [*command, "--output", str(folder)])
    assert "nothing is overwritten" in str(again.exception)
    with Muisti.open(folder, embedder="hashing") as memory:
        assert {one.id: one.content for one in memory.list(limit=None)} == expected
        assert memory.verify(deep=True).ok
        assert memory.search("postgresql json")[0].memory.id == saved.id
        assert memory.core_get().user == {"name": "Anna"}
        assert memory.get_stats().waiting_count == 0
    for wrong in ([*command], [*command, "-o", str(folder), "--project", "app"],
                  ["export", "--format", "vault", "--vault", str(folder), "-o", "x"]):  # fmt: skip
        refused = CliRunner().invoke(cli, wrong)
        assert isinstance(refused.exception, InvalidRequest), wrong


def test_L2_verify_counts_what_a_database_has(vault: Path) -> None:
    store = make_location()
    push(store, vault)
    on_rows = CliRunner().invoke(cli, ["verify", "--vault", store])
    on_files = CliRunner().invoke(cli, ["verify", "--vault", str(vault)])
    assert on_rows.output.startswith("1 memory, ")
    assert on_files.output == f"1 file, {on_rows.output}"
