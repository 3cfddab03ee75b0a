"""Set up git to merge a vault with muisti, and see whether it is set up."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from muisti.errors import MuistiError, VaultUnusable
from muisti.filesystem import Tree
from muisti.storage.files.atomic_write import AtomicWriter
from muisti.storage.files.disk import Disk, disk_errors
from muisti.surfaces.git.driver import CONFLICT

ATTRIBUTES = ".gitattributes"
MAX_ATTRIBUTES = 1_000_000
TIMEOUT = 20.0
"""Seconds for one call of git."""
_FIRST = "# Begin of `muisti git setup`"
_LAST = "# End of `muisti git setup`"
_RULES = """\
# Memories and core memory are merged field by field, logs by keeping the lines of both sides.
*.md merge=muisti
core_memory.json merge=muisti
*.jsonl merge=union
"""
_NAME = "muisti: fields, core memory and logs of a vault"


@dataclass(frozen=True, slots=True)
class SetUp:
    """How git is set up to merge a vault."""

    top: Path
    """The repository's folder."""
    driver: str
    """The command in the repository's configuration; empty if there is none."""
    has_rules: bool
    """Whether `.gitattributes` names the driver."""

    @property
    def is_runnable(self) -> bool:
        """Whether the program that the driver starts exists."""
        try:
            words = shlex.split(self.driver.partition(";")[0])
        except ValueError:
            return False
        return bool(words) and shutil.which(words[0].replace("%%", "%")) is not None


def run_git(folder: Path, *arguments: str, allowed: Sequence[int] = (0,)) -> str:
    """Return what a git command prints. Raises MuistiError if it exits with another code.

    A path is that file alone, even if its name has `*`. Line ends are as in the file.
    """
    try:
        done = subprocess.run(
            ["git", "--literal-pathspecs", *arguments],
            cwd=folder,
            capture_output=True,
            check=False,
            timeout=TIMEOUT,
        )
    except FileNotFoundError as error:
        raise MuistiError("git is not installed") from error
    except subprocess.TimeoutExpired as error:
        raise MuistiError(f"git {arguments[0]} did not finish in {TIMEOUT:g} seconds") from error
    if done.returncode not in allowed:
        reason = done.stderr.decode("utf-8", "replace").strip() or done.returncode
        raise MuistiError(f"git {arguments[0]} failed: {reason}")
    return done.stdout.decode("utf-8", "surrogateescape")


def find_set_up(root: Path) -> SetUp | None:
    """Return how git is set up for a vault; None outside a repository, and without git."""
    if shutil.which("git") is None:
        return None
    top = run_git(root, "rev-parse", "--show-toplevel", allowed=(0, 128)).removesuffix("\n")
    if not top:
        return None
    driver = run_git(root, "config", "--get", "merge.muisti.driver", allowed=(0, 1)).strip()
    return SetUp(Path(top), driver, _FIRST in _read_attributes(root))


def set_up(root: Path, program: Sequence[str]) -> list[str]:
    """Let git merge this vault with muisti, and return what was changed; empty if nothing.

    Program: the command that starts muisti. Raises MuistiError.
    """
    top = _require_repository(root)
    done = []
    if _write_attributes(root, _make_block(_RULES)):
        done.append(str(root / ATTRIBUTES))
    done += _write_local_rules(root, top)
    for key, value in (("name", _NAME), ("driver", make_driver(program))):
        name = f"merge.muisti.{key}"
        current = run_git(root, "config", "--local", "--get", name, allowed=(0, 1))
        if current.removesuffix("\n") != value:
            run_git(root, "config", "--local", name, value)
            done.append(f"{name} in the configuration of {top}")
    return done


def tear_down(root: Path) -> list[str]:
    """Revert `set_up`, and return what was changed. Raises MuistiError."""
    top = _require_repository(root)
    done = []
    if _write_attributes(root, ""):
        done.append(str(root / ATTRIBUTES))
    done += _write_local_rules(root, None)
    keys = run_git(root, "config", "--local", "--get-regexp", r"^merge\.muisti\.", allowed=(0, 1))
    if keys:
        run_git(root, "config", "--local", "--remove-section", "merge.muisti")
        done.append(f"merge.muisti in the configuration of {top}")
    return done


def make_driver(program: Sequence[str]) -> str:
    """Return the command of the driver. If muisti cannot run, it does what git does by itself."""
    start = shlex.join(word.replace("\\", "/") if os.name == "nt" else word for word in program)
    labels = "-L ours -L base -L theirs"
    return (
        f"{start.replace('%', '%%')} git merge-file %O %A %B %P %L; "
        f"code=$?; case $code in 0|{CONFLICT}) exit $code;; esac; "
        f"exec git merge-file --marker-size=%L {labels} %A %O %B"
    )


def _require_repository(root: Path) -> Path:
    found = find_set_up(root)
    if found is None:
        raise VaultUnusable(f"{root} is not in a git repository: run `git init` there first")
    return found.top


def _make_block(rules: str) -> str:
    return f"{_FIRST}\n{rules}{_LAST}\n"


def replace_block(text: str, block: str) -> str:
    """Return a file's text with our lines replaced, or removed; other lines are unchanged."""
    start, end = text.find(_FIRST), text.find(_LAST)
    if 0 <= start < end:
        after = text.find("\n", end) + 1 or len(text)
        return text[:start] + block + text[after:]
    gap = "" if not text or text.endswith("\n") else "\n"
    return text + gap + block if block else text


def _read_attributes(root: Path) -> str:
    tree = Tree(root)
    with disk_errors(root / ATTRIBUTES):
        if not tree.exists(ATTRIBUTES):
            return ""
        return tree.read(ATTRIBUTES, MAX_ATTRIBUTES)[0].decode("utf-8", "surrogateescape")


def _write_attributes(root: Path, block: str) -> bool:
    """Replace our lines in the vault's `.gitattributes`. Return whether it changed."""
    before = _read_attributes(root)
    after = replace_block(before, block)
    if after == before:
        return False
    writer = AtomicWriter(root, root / ".muisti" / "tmp", Disk())
    with disk_errors(root):
        writer.prepare()
    data = after.encode("utf-8", "surrogateescape")
    if Tree(root).exists(ATTRIBUTES):
        writer.replace(ATTRIBUTES, data, before.encode("utf-8", "surrogateescape"))
    else:
        writer.create([(ATTRIBUTES, data)])
    return True


def _write_local_rules(root: Path, top: Path | None) -> list[str]:
    """Replace our lines in the clone's own attributes, which go before `.gitattributes`.

    Only here the driver merges logs: a clone without muisti keeps the lines of both sides.
    """
    where = run_git(root, "rev-parse", "--git-path", "info/attributes").removesuffix("\n")
    path = root / where
    try:
        before = path.read_text("utf-8", "surrogateescape") if path.is_file() else ""
        block = ""
        if top is not None:
            inside = os.path.relpath(os.path.realpath(root), os.path.realpath(top))
            folder = "" if inside == "." else f"{inside.replace(os.sep, '/')}/"
            block = _make_block(f"{quote_pattern(f'/{folder}**/*.jsonl')} merge=muisti\n")
        after = replace_block(before, block)
        if after == before:
            return []
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(after, "utf-8", "surrogateescape")
    except OSError as error:
        raise MuistiError(f"{path} cannot be written ({error.strerror or error})") from error
    return [str(path)]


def quote_pattern(pattern: str) -> str:
    """Return a pattern for an attributes file, quoted if it has spaces or quotes."""
    folder, slash, name = pattern.rpartition("/**/")
    escaped = "".join(f"\\{char}" if char in "[]?*\\" else char for char in folder) + slash + name
    if any(char.isspace() or char in '"\\#' for char in escaped):
        return '"' + escaped.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return escaped
