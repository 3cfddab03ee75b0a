"""Runs commands in processes that are forked from one that has imported everything.

Importing takes most of the time of a short command. `make test` starts the interpreter once for each
worker of pytest; `make test-all` starts it for every command.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import pkgutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests import tiers

PATIENCE = 120
ROOT = Path(__file__).parents[3]
"""The folder that the package `tests` is in."""
_FOR_THE_INTERPRETER = ("PYTHON", "LC_", "LANG")
"""Variables that only count when an interpreter starts."""


def run_command(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    cwd: Path | None = None,
    given: str = "",
) -> subprocess.CompletedProcess[str]:
    """Run `muisti` in a process of its own, and return what it printed."""
    if not tiers.ALL and _forks.can_run(environment):
        return _forks.run(arguments, environment, cwd or Path.cwd(), given.encode())
    return subprocess.run(
        [sys.executable, "-m", "muisti", *arguments],
        input=given,
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        cwd=cwd,
    )


class ForkServer:
    """The process that forks, for one worker of pytest."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._environment = dict(os.environ)
        self._process: subprocess.Popen[str] | None = None

    def can_run(self, environment: Mapping[str, str]) -> bool:
        """Return whether a forked process would be like one that is started."""
        changed = environment.items() ^ self._environment.items()
        return not any(name.startswith(_FOR_THE_INTERPRETER) for name, _ in changed)

    def run(
        self, arguments: Sequence[str], environment: Mapping[str, str], cwd: Path, given: bytes
    ) -> subprocess.CompletedProcess[str]:
        """Run `muisti` with these arguments, and return what it printed."""
        with self._lock, tempfile.TemporaryDirectory() as folder:
            files = [str(Path(folder, name)) for name in ("in", "out", "err")]
            Path(files[0]).write_bytes(given)
            order = {"arguments": arguments, "env": dict(environment), "cwd": str(cwd)}
            process = self._start()
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(json.dumps(order | {"files": files}) + "\n")
            process.stdin.flush()
            killer = threading.Timer(PATIENCE, process.kill)
            killer.start()
            code = process.stdout.readline()
            killer.cancel()
            assert code, f"muisti {arguments} did not end"
            output, errors = (Path(name).read_bytes().decode() for name in files[1:])
        return subprocess.CompletedProcess(arguments, int(code), output, errors)

    def _start(self) -> subprocess.Popen[str]:
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=self._environment,
                cwd=ROOT,  # the test that starts it may be in another folder
            )
        return self._process

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.communicate()
            self._process = None


_forks = ForkServer()
atexit.register(_forks.close)


def serve() -> None:
    """Fork a process for each line of standard input. Returns in each of them, and at the end."""
    from muisti.surfaces import cli

    for module in pkgutil.iter_modules(cli.__path__, f"{cli.__name__}."):
        importlib.import_module(module.name)
    for name in _USED_BY_MOST:
        importlib.import_module(f"muisti.{name}")
    gc.freeze()
    orders, results = (os.fdopen(os.dup(fd), mode) for fd, mode in ((0, "r"), (1, "w")))
    while line := orders.readline():
        pid = os.fork()
        if pid == 0:
            _prepare(**json.loads(line))
            from muisti.surfaces.cli.main import main

            main()
            return
        results.write(f"{os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])}\n")
        results.flush()


_USED_BY_MOST = ("bootstrap", "storage.files.location", "storage.sqlite.index", "recall.pipeline")


def _prepare(
    arguments: Sequence[str], env: Mapping[str, str], cwd: str, files: Sequence[str]
) -> None:
    """Be as a process that was just started."""
    for descriptor, path in enumerate(files):
        flags = os.O_WRONLY | os.O_CREAT if descriptor else os.O_RDONLY
        opened = os.open(path, flags, 0o600)
        os.dup2(opened, descriptor)
        os.close(opened)
    os.environ.clear()
    os.environ.update(env)
    time.tzset()
    os.chdir(cwd)
    sys.argv = ["muisti", *arguments]


if __name__ == "__main__":
    serve()
