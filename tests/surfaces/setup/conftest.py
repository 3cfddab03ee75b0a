"""A home of its own for each test, with agents in it as people have them."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from muisti.surfaces.setup.agents import Machine
from tests.surfaces.cli.forking import run_command


class Home:
    """Runs the real command as somebody whose home this is."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.folder = home / "project"
        self.folder.mkdir(parents=True)
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("MUISTI_", "XDG_", "CLAUDE", "CODEX", "GEMINI"))
        }
        self.environment = {**kept, "HOME": str(home), "NO_COLOR": "1", "COLUMNS": "100"}

    def run(
        self, *arguments: str, code: int = 0, given: str = ""
    ) -> subprocess.CompletedProcess[str]:
        done = run_command(arguments, self.environment, self.folder, given)
        assert done.returncode == code, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        return done

    def json(self, *arguments: str, code: int = 0) -> dict[str, Any]:
        said: dict[str, Any] = json.loads(self.run(*arguments, "--json", code=code).stdout)
        return said

    def write(self, path: str, content: str | bytes) -> Path:
        file = self.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        return file

    def files(self) -> dict[str, bytes]:
        """All that is in it, but for what muisti keeps for itself, and copies."""
        return {
            str(file.relative_to(self.home)): file.read_bytes()
            for file in sorted(self.home.rglob("*"))
            if file.is_file() and ".local/" not in str(file) and ".muisti-backup" not in file.name
        }

    @property
    def machine(self) -> Machine:
        return Machine(self.home, self.folder, {}, "linux")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setenv("MUISTI_STATE", str(tmp_path / "home" / ".local" / "state" / "muisti"))
    made = Home(tmp_path / "home")
    made.environment["MUISTI_STATE"] = os.environ["MUISTI_STATE"]
    return made
