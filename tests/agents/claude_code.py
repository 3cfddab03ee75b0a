"""The real Claude Code, as npm brings it, without a terminal, a key or the network."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from muisti import Message, Muisti, Session, bootstrap

from .messages_api import MessagesApi

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "plugin"
PACKAGES = ROOT / ".venv" / "node" / "agents" / "node_modules" / "@anthropic-ai"
MISSING = "Claude Code is not installed: python scripts/node.py agents"
PATIENCE = 90.0
"""Seconds until a test stops waiting for a process in the background. It says nothing of how long
that should take.
"""


@cache
def program() -> Path | None:
    """npm brings a package for each platform that may be this one; the one that runs is."""
    for found in sorted(PACKAGES.glob("claude-code-*/claude*")):
        try:
            done = subprocess.run(
                [found, "--version"], capture_output=True, text=True, check=False, timeout=60
            )
        except OSError:
            continue
        if "Claude Code" in done.stdout:
            return found
    return None


@dataclass
class Agent:
    """Claude Code with a home, a folder to work in and a vault of its own."""

    folder: Path
    api: MessagesApi
    environment: dict[str, str] = field(default_factory=dict)
    """What is other than usual."""
    before: tuple[str, ...] = ()
    """What is started with the program behind it."""

    def __post_init__(self) -> None:
        for name in ("home", "work"):
            (self.folder / name).mkdir(exist_ok=True)

    @property
    def vault(self) -> Path:
        return self.folder / "vault"

    def opened(self) -> Muisti:
        return bootstrap.open(self.vault, settings={"embedder": "none"})

    def ask(self, prompt: str, *arguments: str) -> str:
        """What Claude Code answers to a prompt, all tools of muisti allowed."""
        done = self.run(
            "-p",
            prompt,
            "--plugin-dir",
            str(PLUGIN),
            "--allowedTools",
            "mcp__plugin_muisti_muisti",
            *arguments,
        )
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        return done.stdout.strip()

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        found = program()
        if found is None:
            pytest.skip(MISSING)
        return subprocess.run(
            [*self.before, str(found), *arguments],
            cwd=self.folder / "work", env=self.surroundings(), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
            timeout=240,
        )  # fmt: skip

    def muisti(self, *arguments: str) -> Any:
        """What a verb of muisti answers, as this user."""
        command = [*self.before, str(ROOT / ".venv" / "bin" / "muisti"), *arguments, "--json"]
        work = self.folder / "work"
        done = subprocess.run(
            command, cwd=work, env=self.surroundings(), capture_output=True, text=True, check=False
        )
        return json.loads(done.stdout)

    def surroundings(self) -> dict[str, str]:
        """Nothing of this process but the way to the programs. The proxy refuses everybody who is
        not on this machine.
        """
        home = str(self.folder / "home")
        return {
            "PATH": f"{ROOT / '.venv' / 'bin'}{os.pathsep}{os.defpath}",
            "HOME": home,
            "CLAUDE_CONFIG_DIR": f"{home}/.claude",
            "MUISTI_VAULT": str(self.vault),
            "ANTHROPIC_BASE_URL": self.api.url,
            "ANTHROPIC_API_KEY": "made-up-for-a-test",
            "HTTP_PROXY": self.api.url,
            "HTTPS_PROXY": self.api.url,
            "NO_PROXY": "127.0.0.1,localhost",
            "ENABLE_TOOL_SEARCH": "false",
            "MCP_CONNECTION_NONBLOCKING": "0",
            "MCP_TIMEOUT": "60000",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            **self.environment,
        }

    # -- What is in the vault afterwards: written by a worker that outlives the agent

    def ended_sessions(self, count: int) -> list[Session]:
        """The sessions, as soon as so many of them are summed up, the first one first."""

        def found() -> list[Session]:
            with self.opened() as memory:
                return [one for one in memory.list_sessions() if one.ended_at is not None]

        return sorted(
            waited(found, lambda sessions: len(sessions) >= count), key=lambda one: one.started_at
        )

    def said(self, session: str) -> list[Message]:
        with self.opened() as memory:
            return memory.window(f"claude-code_{session}", 100, whole=True)

    def remembered(self) -> list[str]:
        with self.opened() as memory:
            return sorted(one.content for one in memory.list())


def waited(look: Callable[[], Any], enough: Callable[[Any], bool]) -> Any:
    """What is there as soon as it is enough, or after a long time as it is."""
    until = time.monotonic() + PATIENCE
    while not enough(found := look()) and time.monotonic() < until:
        time.sleep(0.2)
    return found
