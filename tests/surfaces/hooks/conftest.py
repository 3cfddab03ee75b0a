"""What the tests of hooks share: real processes on a vault of their own, and waiting for the worker."""

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
        """One call, in a process of its own; it must end well and say nothing but its answer."""
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
        """The context that a call answers; "" if none."""
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
        """A prompt and its answer; what the prompt recalled."""
        recalled = self("UserPromptSubmit", prompt=prompt, session=session)
        self("Stop", last_assistant_message=answer, session=session)
        return recalled

    def open(self, **settings: Any) -> Muisti:
        """The vault, for a look."""
        return bootstrap.open(self.vault, settings={"embedder": "none", **settings})

    def until(self, holds: Callable[[], object]) -> None:
        """Wait for something that the worker brings about."""
        end = time.monotonic() + PATIENCE
        while not holds():
            assert time.monotonic() < end, f"it did not come about; the log: {read_recent(10)}"
            time.sleep(0.05)

    def settled(self) -> list[Run]:
        """Wait until everything is dealt with; the log."""
        self.until(lambda: not spool.list_entries() and not _busy())
        return read_recent(100)


def _busy() -> bool:
    """Whether a worker is at it."""
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
