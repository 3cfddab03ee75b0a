"""Standard streams that are closed, and readers of the output that have exited (contract J2)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from muisti import bootstrap

MUISTI = [sys.executable, "-P", "-m", "muisti"]
COMMANDS = {
    "search": ["search", "--mode", "keyword", "which database"],
    "list": ["list"],
    "search, JSON": ["search", "--json", "--mode", "keyword", "which database"],
    "context": ["context", "which database"],
    "stats": ["stats"],
    "settings": ["settings"],
    "verify": ["verify"],
    "help": ["--help"],
    "version": ["--version"],
    "save": ["save", "The office is in Turku"],
}
CLOSED = {"output": ">&-", "errors": "2>&-", "all": "<&- >&- 2>&-"}


@pytest.fixture
def vault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MUISTI_WARM", "0")
    monkeypatch.setenv("MUISTI_EMBEDDER", "none")
    monkeypatch.setenv("MUISTI_VAULT", str(tmp_path / "vault"))
    monkeypatch.chdir(tmp_path)
    with bootstrap.open(tmp_path / "vault", role="library") as memory:
        memory.save("We chose PostgreSQL as our database", kind="decision")
    return tmp_path / "vault"


def check_vault(vault: Path, count: int) -> None:
    """Assert that nothing was written into a file that got the descriptor of a stream."""
    with bootstrap.open(vault, role="library") as memory:
        report = memory.verify(deep=True)
        assert (report.ok, report.memories) == (True, count), report.problems


@pytest.mark.parametrize("closed", CLOSED.values(), ids=CLOSED)
@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS)
def test_J2_a_closed_stream_is_like_the_null_device(
    vault: Path, arguments: list[str], closed: str
) -> None:
    done = subprocess.run(
        ["sh", "-c", f'exec "$0" "$@" {closed}', *MUISTI, *arguments],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert b"Traceback" not in done.stderr
    assert bool(done.stdout) is (closed == "2>&-")
    check_vault(vault, 1 + (arguments[0] == "save"))


@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS)
def test_J2_a_reader_that_has_exited_is_no_error(vault: Path, arguments: list[str]) -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [*MUISTI, *arguments],
        stdout=write,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    os.close(write)
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr
    assert b"BrokenPipe" not in done.stderr
    check_vault(vault, 1 + (arguments[0] == "save"))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("arguments", [["list"], ["search", "database"], ["stats"]])
def test_J2_output_that_cannot_be_written_is_an_error(vault: Path, arguments: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*MUISTI, *arguments], stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode == 1
    assert done.stderr.startswith(b"error: ")
    assert b"Traceback" not in done.stderr
