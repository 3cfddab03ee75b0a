"""Runs an example in a process of its own, without a network."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "examples" / "frameworks"
MOST_LINES = 40


def run_example(name: str, folder: Path) -> list[str]:
    """Return the lines that an example prints in this folder. It must be short."""
    path = FOLDER / name
    assert len(path.read_text().splitlines()) <= MOST_LINES
    done = subprocess.run(
        [sys.executable, str(path)],
        cwd=folder,
        env={**os.environ, "MUISTI_EMBEDDER": "none", "HTTPS_PROXY": "http://127.0.0.1:9"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()
