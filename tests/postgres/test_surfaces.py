"""Commands, the REST API and the page on a vault in PostgreSQL."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from muisti import Muisti
from tests.postgres.server import make_location
from tests.rest.conftest import client_of

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def muisti(tmp_path: Path) -> Command:
    """Runs a command on a vault of its own, in an empty folder."""
    here = tmp_path / "here"
    here.mkdir()
    environment = {**os.environ, "MUISTI_STORE": make_location(), "MUISTI_EMBEDDER": "none"}

    def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", "muisti", *arguments],
            check=False,
            capture_output=True,
            text=True,
            cwd=here,
            env={**environment, **variables},
        )
        assert list(here.iterdir()) == []
        return done

    return run


def test_commands(muisti: Command) -> None:
    assert "Saved decision" in muisti("save", "We chose PostgreSQL for its JSON support.").stdout
    found = json.loads(muisti("search", "postgres json", "--json").stdout)
    assert len(found) == 1
    assert "1 memory" in muisti("doctor").stdout
    assert "no problems" in muisti("verify").stdout
    assert "1 memory" in muisti("reindex").stdout
    assert muisti("settings").returncode == 0
    assert muisti("model", "list").returncode == 0


def test_a_folder_of_documents_is_indexed_and_forgotten(muisti: Command, tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "deploy.md").write_text("# Deploying\n\nThe walrus pipeline runs on Fridays.\n")
    assert muisti("index", str(docs)).returncode == 0
    [found] = json.loads(muisti("search", "walrus", "--json").stdout)
    assert found["memory"]["file_path"] == f"{docs}/deploy.md"
    assert muisti("index", str(docs), "--forget").returncode == 0
    assert json.loads(muisti("search", "walrus", "--json").stdout) == []
    missing = muisti("index", str(tmp_path / "missing"))
    assert missing.returncode == 1
    assert "path cannot be read" in missing.stderr


@pytest.mark.parametrize("command", [["sync"], ["trust"]])
def test_commands_that_need_files_say_so(muisti: Command, command: list[str]) -> None:
    done = muisti(*command)
    assert done.returncode == 1
    assert "is not supported" in done.stderr


@pytest.mark.parametrize("option", ["--vault", "--store"])
def test_an_option_names_the_vault(muisti: Command, option: str) -> None:
    other = make_location()
    muisti("save", "Apples are red", option, other)
    assert "Apples" in muisti("list", option, other).stdout
    assert "Apples" not in muisti("list").stdout


def test_a_server_that_is_down(muisti: Command) -> None:
    down = "postgresql://u:hunter2@127.0.0.1:1/x"
    for command in (["list"], ["save", "x"], ["doctor"], ["serve"]):
        done = muisti(*command, MUISTI_STORE=down)
        assert done.returncode == 1, command
        assert "127.0.0.1:1/x: the connection failed" in done.stdout + done.stderr
        assert "hunter2" not in done.stdout + done.stderr


def test_the_rest_api_and_the_page() -> None:
    with (
        Muisti.open(make_location(), embedder="none") as memory,
        client_of(memory, web_page=True) as client,
    ):
        made = client.post("/api/memories", json={"content": "Apples are red"})
        assert made.status_code == 201, made.text
        found = client.get("/api/search", params={"query": "apples"})
        assert [hit["memory"]["id"] for hit in found.json()["results"]] == [made.json()["id"]]
        assert client.post("/api/sync").status_code == 501
        assert "Apples are red" in client.get("/").text
        ready = client.get("/ready").json()
        database = ready["database"]
        assert database["isPrimary"]
        assert (database["replicas"], database["readLagSeconds"]) == (0, None)
        assert 1 <= database["connectionsUsed"] <= database["connections"]
        assert ready["queuedExchanges"] == database["waitingRequests"] == 0
        assert "\nmuisti_database_primary 1.0\n" in client.get("/metrics").text
