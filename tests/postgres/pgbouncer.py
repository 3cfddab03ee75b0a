"""PgBouncer in front of a PostgreSQL server, for tests.

`python scripts/pgbouncer.py` installs it; MUISTI_PGBOUNCER names another program. It refuses to run
as root: then it runs as `nobody`, from a copy that `nobody` can read.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.postgres.server import NOBODY

INSTALLED = Path(__file__).parents[2] / ".venv" / "pgbouncer" / "root"
WAIT = 20.0


class PgBouncer:
    """A pooler in transaction mode, reached by a socket in its folder."""

    def __init__(
        self, folder: Path, server: str, users: Sequence[str], *, size: int = 2, statements: int = 0
    ) -> None:
        """Server: the folder of the socket. Size: connections to the server for each user and
        database. Statements: `max_prepared_statements`, where the version knows it.

        Skips the test if PgBouncer is not installed.
        """
        self.folder = folder
        self._as: dict[str, Any] = {}
        self._environment: dict[str, str] = {}
        program = os.environ.get("MUISTI_PGBOUNCER")
        if program is None:
            if not (INSTALLED / "usr" / "sbin" / "pgbouncer").is_file():
                pytest.skip("no PgBouncer; `python scripts/pgbouncer.py` installs it")
            copied = shutil.copytree(INSTALLED / "usr", folder / "usr", symlinks=True)
            [libraries] = (copied / "lib").iterdir()
            self._environment = {"LD_LIBRARY_PATH": str(libraries)}
            program = str(copied / "sbin" / "pgbouncer")
        self._command = [program, str(folder / "pgbouncer.ini")]
        told = subprocess.run(
            [program, "--version"],
            env=self._environment,
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        self.version = tuple(map(int, re.findall(r"\d+", told)[:2]))
        settings = {
            "unix_socket_dir": folder,
            "auth_type": "trust",
            "auth_file": folder / "users.txt",
            "pool_mode": "transaction",
            "default_pool_size": size,
            "max_client_conn": 200,
        }
        if self.version >= (1, 21):
            settings["max_prepared_statements"] = statements
        lines = [f"{name} = {value}" for name, value in settings.items()]
        (folder / "users.txt").write_text("".join(f'"{user}" ""\n' for user in users))
        (folder / "pgbouncer.ini").write_text(
            "\n".join(["[databases]", f"* = host={server}", "[pgbouncer]", *lines]) + "\n"
        )
        folder.chmod(0o755)
        if os.geteuid() == 0:
            os.chown(folder, NOBODY, NOBODY)
            self._as = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        self._process: subprocess.Popen[bytes] | None = None

    def name(self, address: str) -> str:
        """Return the address that leads to the same database through the pooler."""
        return re.sub(r"host=[^&]*", f"host={self.folder}&port=6432", address)

    def start(self) -> None:
        """Start it, and wait until it accepts connections."""
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/",
                env=self._environment, **self._as,
            )  # fmt: skip
        until = time.monotonic() + WAIT
        while True:
            try:
                psycopg.connect(self.name("postgresql://postgres@/postgres?host=")).close()
                return
            except psycopg.OperationalError as error:
                if self._process.poll() is not None or time.monotonic() > until:
                    told = (self.folder / "log").read_text(errors="replace")
                    raise AssertionError(f"PgBouncer did not start: {told}") from error
            time.sleep(0.02)

    def stop(self) -> None:
        """Stop it at once: all connections of clients are lost."""
        if self._process is not None:
            # From 1.23 on, SIGTERM waits until all clients have left.
            at_once = signal.SIGQUIT if self.version >= (1, 23) else signal.SIGTERM
            self._process.send_signal(at_once)
            self._process.wait(WAIT)
            self._process = None

    def restart(self) -> None:
        """Stop it and start it again."""
        self.stop()
        self.start()
