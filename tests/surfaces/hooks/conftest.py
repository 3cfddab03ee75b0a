"""Call hooks in real processes on a temporary vault, and wait for the worker."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from muisti import Muisti, bootstrap
from muisti.surfaces.hooks import spool
from muisti.surfaces.hooks.log import Run, read_recent

COMMAND = [sys.executable, "-P", "-c", "from muisti.surfaces.cli.main import main; main()", "hook"]
PATIENCE = 60.0


@dataclass(frozen=True)
class Hook:
    """Calls hooks as an agent does."""

    vault: Path
    repository: Path
    named: bool = True
    """Whether the vault is named on the command line."""

    def raw(
        self, event: str, given: bytes, *options: str, **environment: str
    ) -> subprocess.CompletedProcess[bytes]:
        """Run one hook in a process; it must exit with 0 and print nothing to standard error."""
        command = [*COMMAND, event, *(["--vault", str(self.vault)] if self.named else []), *options]
        done = subprocess.run(
            command,
            input=given,
            capture_output=True,
            cwd=self.repository,
            timeout=PATIENCE,
            env={**os.environ, **environment},
            check=False,
        )
        assert done.returncode == 0
        assert done.stderr == b""
        return done

    def __call__(
        self,
        event: str,
        *options: str,
        session: str = "s1",
        env: dict[str, str] | None = None,
        **said: Any,
    ) -> str:
        """Return the context that the hook replies; "" if none."""
        message = {
            "session_id": session,
            "cwd": str(self.repository),
            "hook_event_name": event,
            **said,
        }
        answered = self.raw(event, json.dumps(message).encode(), *options, **(env or {})).stdout
        if not answered:
            return ""
        output = json.loads(answered)["hookSpecificOutput"]
        assert set(output) == {"hookEventName", "additionalContext"}
        assert output["hookEventName"] == event
        return str(output["additionalContext"])

    def exchange(self, prompt: str, answer: str, session: str = "s1") -> str:
        """Send a prompt and its reply, and return what the prompt recalled."""
        recalled = self("UserPromptSubmit", prompt=prompt, session=session)
        self("Stop", last_assistant_message=answer, session=session)
        return recalled

    def open(self, **settings: Any) -> Muisti:
        """Open the vault."""
        return bootstrap.open(self.vault, settings={"embedder": "none", **settings})

    def until(self, holds: Callable[[], object]) -> None:
        """Wait until a condition holds."""
        end = time.monotonic() + PATIENCE
        while not holds():
            assert time.monotonic() < end, f"timed out; the log: {read_recent(10)}"
            time.sleep(0.05)

    def settled(self) -> list[Run]:
        """Wait until all entries are processed, and return the log."""
        self.until(lambda: not spool.list_entries() and not _busy())
        return read_recent(100)


def _busy() -> bool:
    """Return whether a worker is running."""
    import fcntl

    lock = spool.get_spool_folder() / "worker.lock"
    if not lock.exists():
        return False
    with lock.open("r+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
    return False


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUISTI_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("MUISTI_EMBEDDER", "none")
    monkeypatch.delenv("MUISTI_HOOKS", raising=False)


@pytest.fixture
def hook(tmp_path: Path) -> Hook:
    repository = tmp_path / "otters"
    (repository / ".git").mkdir(parents=True)
    return Hook(tmp_path / "vault", repository)
