"""The commands written into configurations, and how to recognise them again."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from muisti.errors import MuistiError

NAME = "muisti"
"""The name of the MCP server in every agent's list."""
_HOOK = re.compile(r"""(?:^|[\s/\\"'])muisti(?:\.exe)?["']?\s+hook\s+\w""")


_SHELL = re.compile(r"[;&|<>`]|\$\(")


def find_program(executable: str | None = None) -> tuple[str, ...]:
    """Return the command that starts this muisti without relying on PATH. Raises MuistiError."""
    python = sys.executable if executable is None else executable
    if not python:
        raise MuistiError("sys.executable is empty; run muisti from a virtual environment")
    script = Path(os.path.abspath(python)).with_name("muisti.exe" if os.name == "nt" else "muisti")
    if script.is_file() and os.access(script, os.X_OK):
        return (str(script),)
    return (
        os.path.abspath(python),
        "-P",
        "-m",
        "muisti",
    )  # -P: nothing of the agent's folder is imported


def make_server_entry(
    command: Sequence[str], vault: Path | None, *, one_list: bool = False
) -> dict[str, str | list[str]]:
    """Return the entry for a list of MCP servers. `one_list`: the arguments follow the command."""
    if one_list:
        return {"command": [*command, "mcp", *_vault_arguments(vault)]}
    return {"command": command[0], "args": [*command[1:], "mcp", *_vault_arguments(vault)]}


def make_hook_command(
    command: Sequence[str], event: str, vault: Path | None, agent: str | None = None
) -> str:
    """Return the shell command of a hook."""
    words = make_hook_words(command, event, vault, agent)
    return shlex.join(word.replace("\\", "/") if os.name == "nt" else word for word in words)


def make_hook_words(
    command: Sequence[str], event: str, vault: Path | None, agent: str | None = None
) -> list[str]:
    """Return the program of a hook and its arguments."""
    named = [] if agent is None else ["--agent", agent]
    return [*command, "hook", event, *named, *_vault_arguments(vault)]


def is_hook_command(command: object) -> bool:
    """Whether a hook's command was written by muisti, in any version."""
    if not isinstance(command, str) or _HOOK.search(command) is None:
        return False
    try:
        words = shlex.split(command)
    except ValueError:
        return False
    started = get_program(words)
    ours = len(started) == 1 or started[-2:] == ["-m", "muisti"]
    return ours and not _SHELL.search(
        command
    )  # otherwise the user wrote it, and it also runs muisti


def is_server_entry(entry: object) -> bool:
    """Whether an entry of a list of servers starts `muisti mcp`, in any version."""
    if not isinstance(entry, Mapping):
        return False
    words = get_command(entry)
    return "mcp" in words[1:] and any(
        re.split(r"[/\\]", word)[-1] in (NAME, "muisti.exe") for word in words
    )


def get_command(entry: Mapping[str, object]) -> list[str]:
    """Return the command and its arguments; empty if they have another form."""
    command, arguments = entry.get("command"), entry.get("args", [])
    if isinstance(command, list) and command and not arguments:
        command, *arguments = command
    if not isinstance(command, str) or not isinstance(arguments, list):
        return []
    return [command, *(word for word in arguments if isinstance(word, str))]


def get_program(words: Sequence[str]) -> list[str]:
    """Return the part of a command before `mcp` or `hook`."""
    ends = [number for number, word in enumerate(words) if word in ("mcp", "hook")]
    return list(words[: ends[0]] if ends else words)


def _vault_arguments(vault: Path | None) -> list[str]:
    return [] if vault is None else ["--vault", str(vault)]
