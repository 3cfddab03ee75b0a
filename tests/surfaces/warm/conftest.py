"""A vault, and real processes: the warm one, and commands that ask it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from muisti import bootstrap
from muisti.surfaces.warm import client, protocol

MAIN = "from muisti.surfaces.cli.main import main; main()"
PATIENT = f"""
from muisti.surfaces.hooks import dispatch
from muisti.surfaces.warm import client

client.CONNECT_SECONDS = client.SEARCH_SECONDS = dispatch.WARM_TIMEOUT = 30.0
{MAIN}
"""
"""The same, but on a busy machine too the warm process answers before it is given up."""
SERVER = "from muisti.surfaces.warm import server; server.BEAT_SECONDS = {beat}; server.main()"
TEXTS = (
    "We chose PostgreSQL as our database because of its extensions",
    "The deployment runs every Friday evening from the main branch",
    "Sanna prefers green tea over coffee in the morning",
)
LIMIT = 60.0
"""Seconds after which a test gives up; nothing is expected to take so long."""

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only on Linux")


def wait_for(what: Callable[[], object]) -> None:
    until = time.monotonic() + LIMIT
    while not what():
        assert time.monotonic() < until, "it did not happen"
        time.sleep(0.02)


class World:
    """One user's vault, and how to run things in it."""

    def __init__(self, vault: Path) -> None:
        self.vault = vault
        self.code = MAIN
        self.processes: list[subprocess.Popen[bytes]] = []

    def start(
        self, *arguments: str, beat: float = 0.2, wait: bool = True
    ) -> subprocess.Popen[bytes]:
        """Start a warm process, not detached, and wait until it answers."""
        code = SERVER.format(beat=beat)
        command = [sys.executable, "-P", "-c", code, str(self.vault), *arguments]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
        self.processes.append(process)
        if wait:
            wait_for(lambda: process.poll() is not None or self.status())
            assert process.poll() is None, "it has left"
        return process

    def status(self) -> dict[str, object] | None:
        """What the warm process says about itself; None if there is none."""
        try:
            return client.ask(str(self.vault), {"do": "status"}, 5.0)
        except client.NoAnswer:
            return None

    def answered(self) -> int:
        status = self.status()
        assert status is not None
        return int(str(status["answered"]))

    def run(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[bytes]:
        """Run `muisti` in a process of its own."""
        command = [sys.executable, "-P", "-c", self.code, *arguments]
        environment = {**os.environ, **variables}
        return subprocess.run(
            command,
            check=False,
            capture_output=True,
            env=environment,
            stdin=subprocess.DEVNULL,
            timeout=LIMIT,
        )

    def search(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[bytes]:
        return self.run("search", "--vault", str(self.vault), *arguments, **variables)

    def cold(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[bytes]:
        """The same command without the warm process."""
        return self.search(*arguments, MUISTI_WARM="0", **variables)

    def recalls(self) -> int:
        """How many recalls the journal has."""
        lines: list[str] = []
        for path in sorted((self.vault / "journal").rglob("*.jsonl")):
            lines += path.read_text("utf-8").splitlines()
        return sum(json.loads(line).get("event") == "recalled" for line in lines)


@pytest.fixture
def world(vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    for name in ("CI", "MUISTI_WARM"):
        monkeypatch.delenv(name, raising=False)
    state = tempfile.mkdtemp(prefix="muisti-")  # short: tests use its sockets by their full path
    monkeypatch.setenv("MUISTI_STATE", state)
    monkeypatch.setenv("MUISTI_EMBEDDER", "hashing")
    monkeypatch.chdir(tmp_path)  # of no project
    with bootstrap.open(vault) as memory:
        for text in TEXTS:
            memory.save(text)
    made = World(vault)
    yield made
    for process in made.processes:
        process.terminate()
        process.wait(timeout=LIMIT)
    for process_id in find_processes(tmp_path):  # started by a command that ran without one
        os.kill(process_id, signal.SIGTERM)
    wait_for(lambda: not find_processes(tmp_path))
    shutil.rmtree(state)


def find_processes(folder: Path) -> list[int]:
    """The warm processes of vaults below a folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if b"warm" in command and os.fsencode(folder) in command:
                found.append(int(entry.name))
    return found


def socket_path(vault: Path) -> Path:
    """Where the socket of a vault is."""
    name = protocol.make_socket_name(os.path.realpath(vault))
    return Path(protocol.get_socket_folder()) / name
