"""The benchmark of commands and hooks in a process of their own runs, and leaves no process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.surfaces.warm.conftest import find_processes, wait_for


@pytest.mark.exhaustive
def test_cold_measures_warm_and_cold(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    command = [sys.executable, "-m", "benchmarks.cold", "--quick", "--vault", str(vault)]
    root = Path(__file__).parents[3]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=root)
    assert done.returncode == 0, done.stderr
    names = ("muisti search, warm", "muisti search, cold", "UserPromptSubmit, warm")
    for name in (*names, "muisti search, which answers first", "bare walk"):
        assert name in done.stdout
    wait_for(lambda: not find_processes(tmp_path))
