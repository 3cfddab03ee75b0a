"""Independent MCP clients from npm (the Inspector, the conformance suite), and a server for them to
speak with.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from muisti import Muisti

ROOT = Path(__file__).parents[2]
PACKAGES = ROOT / ".venv" / "node" / "agents" / "node_modules" / "@modelcontextprotocol"
NODE = Path(sys.executable).with_name("node")
MISSING = "not installed: python scripts/node.py agents"


def package(*parts: str) -> Path:
    """A program of a package. Skips the test where it is not installed."""
    found = PACKAGES.joinpath(*parts)
    if not found.is_file() or not NODE.is_file():
        pytest.skip(f"{parts[0]} is {MISSING}")
    return found


def run(program: Path, *arguments: str, home: Path) -> subprocess.CompletedProcess[str]:
    """Run it with a home of its own, and out of reach of any network."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("MUISTI_", "MCP_"))
    }
    alone = {
        "HOME": str(home),
        "HTTPS_PROXY": "http://127.0.0.1:9",
        "HTTP_PROXY": "",
        "NO_COLOR": "1",
        "MUISTI_EMBEDDER": "none",
    }
    home.mkdir(exist_ok=True)
    command = [str(NODE), str(program), *arguments]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
        cwd=home,
        env={**kept, **alone},
    )


def new_vault(path: Path) -> Path:
    """An empty vault that needs no model."""
    Muisti.open(path, embedder="none").close()
    (path / "muisti.toml").write_text('embedder = "none"\n')
    return path
