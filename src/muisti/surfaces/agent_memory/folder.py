"""The memory folder of Claude Code: notes with front matter, and the index `MEMORY.md`.

Notes have `name`, `description` and `type`. Links are not followed, and what is neither a regular
file nor small is reported and left alone.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from muisti.errors import InvalidRequest
from muisti.filesystem import Tree, system
from muisti.model import Memory
from muisti.storage.files import frontmatter
from muisti.storage.files.errors import BadFrontMatter
from muisti.storage.files.file_names import make_slug

INDEX = "MEMORY.md"
STATE = ".muisti-sync.json"
MAX_FILE = 1_000_000
"""The most bytes of a file that is read."""
_TYPES = {"preference": "feedback", "decision": "project", "context": "project"}
_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Synced:
    """What a file and its memory were when they last agreed."""

    memory_id: str
    file_hash: str
    memory_hash: str
    written: bool
    """Whether muisti wrote the text that is in the file. Others are never removed."""
    line: str = ""
    """The line that muisti wrote into the index."""


class NoteText:
    """The text of a note."""

    def __init__(self, text: str) -> None:
        """Raises BadFrontMatter."""
        self.document = frontmatter.parse(text)
        values = self.document.values
        self.name = str(values.get("name") or "").strip()
        self.description = str(values.get("description") or "").strip()
        self.body = self.document.body.strip()


def hash_text(text: str) -> str:
    """Return a digest of a file's text."""
    return hashlib.sha256(text.encode()).hexdigest()


def hash_memory(memory: Memory) -> str:
    """Return a digest of what a note has of a memory."""
    return hash_text(json.dumps([memory.title, memory.summary, memory.content]))


def describe(memory: Memory) -> str:
    """Return the description of a note: the summary, or else the title."""
    return " ".join((memory.summary or memory.title).split())


def compose_note(memory: Memory, before: str | None) -> str:
    """Return the text of a note. Before: its present text, whose other keys are kept."""
    values = {"name": memory.title, "description": describe(memory)}
    if before is not None:
        with suppress(BadFrontMatter):
            return frontmatter.edit(frontmatter.parse(before), values, memory.content)
    values["type"] = _TYPES.get(memory.kind, "feedback" if memory.standing else "reference")
    return frontmatter.compose(values, memory.content)


def compose_line(memory: Memory, name: str) -> str:
    """Return the line of the index for a note."""
    title = re.sub(r"[\[\]]", "", memory.title)
    return f"- [{title}]({name}) — {describe(memory)[:150]}"


def split_line(line: str) -> tuple[str, str]:
    """Return the title and the description of a line that `compose_line` wrote."""
    head, _, rest = line.partition("](")
    return head.removeprefix("- ["), rest.partition(" — ")[2]


class AgentFolder:
    """Reads and writes the files of one folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problems: dict[str, str] = {}
        """Files that cannot be read, with the reason."""
        self._tree = Tree(path)

    def read(self, name: str) -> str | None:
        """Return a file's text; None if there is none, or none that can be read."""
        try:
            return self._tree.read(name, MAX_FILE)[0].decode("utf-8")
        except (FileNotFoundError, NotADirectoryError):
            return None
        except UnicodeDecodeError as error:
            self.problems[name] = f"is not UTF-8 text (byte {error.start})"
        except OSError as error:  # also a link, a named pipe, or too many bytes
            self.problems[name] = error.strerror or str(error)
        return None

    def read_notes(self) -> dict[str, str]:
        """Return the text of each note, by its file name."""
        try:
            names = self._tree.list_names()
        except FileNotFoundError:
            return {}
        found = {name: self.read(name) for name in sorted(names) if is_note(name)}
        return {name: text for name, text in found.items() if text is not None}

    def write(self, name: str, text: str, before: str | None) -> bool:
        """Write a file atomically. Return False if it is not as before, or not a regular file."""
        self.path.mkdir(parents=True, exist_ok=True)
        temporary = f".{name}.{os.getpid()}.tmp"
        with self._tree.enter(temporary) as (new, folder):
            fd = system.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | system.no_follow, folder)
            try:
                with os.fdopen(fd, "wb") as file:
                    file.write(text.encode())
                    file.flush()
                    system.sync(file.fileno())
                if self.read(name) != before or (before is None and self._tree.exists(name)):
                    return False
                if before is None and system.rename_new(new, folder, name, folder):
                    return True
                system.rename(new, folder, name, folder)
                return True
            except FileExistsError:  # it appeared meanwhile
                return False
            finally:
                with suppress(FileNotFoundError):
                    system.unlink(new, folder)

    def remove(self, name: str, before: str) -> bool:
        """Remove a file. Return False if it is not as before."""
        if self.read(name) != before:
            return False
        with self._tree.enter(name) as (last, folder):
            system.unlink(last, folder)
        return True

    def choose_name(self, memory: Memory) -> str:
        """Return the file name for a memory's note: a free one, or that of a note with its text."""
        base = f"{make_slug(memory.title)[:60].rstrip('_')}_{memory.id[-6:]}"
        number = 1
        while self._tree.exists(name := f"{base}{'' if number == 1 else f'_{number}'}.md"):
            if self.read(name) == compose_note(memory, None):
                break  # what was synced is not known any more
            number += 1
        return name

    def update_index(self, lines: Mapping[str, tuple[str, str]]) -> bool:
        """Replace lines of the index. Return False if it cannot be written.

        Lines: by file name, the line that muisti wrote before, and the new one; empty for none. A
        note that the agent lists itself gets no second line.
        """
        before = self.read(INDEX)
        if before is None and INDEX in self.problems:
            return False
        text = before or ""
        newline = "\r\n" if "\r\n" in text else "\n"
        if text and not text.endswith("\n"):
            text += newline
        for name, (old, new) in lines.items():
            own = f"{old}{newline}"
            if old and f"{newline}{text}".find(f"{newline}{own}") >= 0:
                start = f"{newline}{text}".index(f"{newline}{own}")
                text = text[:start] + (f"{new}{newline}" if new else "") + text[start + len(own) :]
            elif new and f"]({name})" not in text:
                text += f"{new}{newline}"
        return text == (before or "") or self.write(INDEX, text, before)

    # -- What was synced

    def load_state(self, vault: str) -> dict[str, Synced]:
        """Return what was synced, by file name. Raises InvalidRequest."""
        text = self.read(STATE)
        if text is None and STATE not in self.problems:
            return {}
        fix = "remove it; the next run then keeps both texts of what differs"
        try:
            state: Any = json.loads(text or "")
            if state["format"] != _FORMAT:
                raise ValueError
            found = {name: Synced(**one) for name, one in state["files"].items()}
            other = str(state["vault"])
        except (ValueError, TypeError, KeyError, AttributeError):
            raise InvalidRequest("folder", self.path / STATE, f"is not valid; {fix}") from None
        if other != vault:
            raise InvalidRequest(
                "folder", self.path, f"is kept in sync with {other}; remove {STATE} to change"
            )
        return found

    def save_state(self, vault: str, files: Mapping[str, Synced]) -> bool:
        """Write what was synced. Return whether that worked."""
        state = {
            "format": _FORMAT,
            "vault": vault,
            "files": {k: asdict(v) for k, v in files.items()},
        }
        text = json.dumps(state, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
        before = self.read(STATE)
        return text == before or (not files and before is None) or self.write(STATE, text, before)


def is_note(name: str) -> bool:
    """Return whether a file of the folder is a note."""
    return name.endswith(".md") and not name.startswith(".") and name != INDEX
