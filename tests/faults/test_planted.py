"""K7: links, named pipes, sockets, devices and huge files, in every place where a vault has files.

Each is planted in a vault, which is then used with every verb by another process: nothing hangs,
nothing outside is read or changed, what was acknowledged is there after opening it again, and
`verify` and `doctor` name the place.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from muisti import bootstrap
from tests.tiers import LONG

CANARY = "canary7f3a"
HUGE = 2_200_000_000
FOLDERS = (
    "facts",
    "decisions",
    "projects",
    "projects/shop",
    "projects/shop/facts",
    "projects/garden",
    "users",
    "users/anna",
    "conversations",
    "conversations/web_1",
    "journal",
    ".trash",
    ".trash/facts",
    ".trash/conversations",
    ".trash/conversations/web_1",
    "archive",
    "archive/facts",
    ".history",
    ".history/ID",
    ".muisti",
    ".muisti/tmp",
    "memory",
    "DOCS/sub",
    "IMPORTS/sub",
)
FILES = (
    "facts/FACT.md",
    "facts/new.md",
    "projects/shop/facts/SHOP.md",
    "conversations/web_1/DAY.jsonl",
    "conversations/web_2/2026-01-01.jsonl",
    "journal/MONTH.jsonl",
    "journal/2026-01.jsonl",
    "core_memory.json",
    "users/anna/core_memory.json",
    "muisti.toml",
    "USER.md",
    ".trash/facts/TRASHED.md",
    ".trash/conversations/web_1/DAY.jsonl",
    "archive/facts/2026-01-01_old.ID.md",
    ".history/ID/20260101T000000000000Z.md",
    ".history/core_memory.json",
    ".muisti/lock",
    ".muisti/current",
    ".muisti/tmp/left",
    ".queue/left.jsonl",
    "MEMORY.md",
    "DOCS/sub/page.md",
    "IMPORTS/sub/note.md",
)
QUIET = (
    "DOCS",
    "IMPORTS",
    "MEMORY.md",
    "memory",
    ".muisti/tmp/left",
    ".muisti/current",
    ".muisti/lock",
    ".history",
)
"""Places that `verify` need not name: other errors do, they heal, or they only keep copies."""


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A vault that has everything, with documents and a folder to import beside it."""
    root = tmp_path_factory.mktemp("template")
    vault = root / "vault"
    with bootstrap.open(vault, settings={"embedder": "none"}) as memory:
        fact = memory.save("The walrus lives in the north", kind="fact")
        memory.save("The walrus of the shop", kind="fact", project="shop")
        memory.update(fact.id, content="The walrus lives in the far north")
        gone = memory.save("The walrus was deleted", kind="fact")
        memory.delete(gone.id)
        memory.append_message("web_1", "user", "The walrus was here")
        memory.append_message("web_1", "user", "The walrus was deleted here")
        memory.delete_messages("web_1", [memory.window("web_1")[-1].id])
        memory.core_update("user", "name", "Anna")
        memory.core_update("user", "city", "Turku")
        memory.core_update("user", "name", "Anna", user="anna")
    _write(
        vault / "archive/facts" / f"2026-01-01_old.{gone.id}.md", "---\nid: x\n---\nold walrus\n"
    )
    _write(vault / "memory/page.md", "the walrus in memory\n")
    _write(root / "docs/sub/page.md", "the walrus in documents\n")
    _write(root / "docs/other.md", "the walrus in other documents\n")
    _write(root / "imports/sub/note.md", "the walrus in imports\n")
    _write(root / "imports/other.md", "the other walrus in imports\n")
    return root


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def locate(root: Path, place: str) -> Path:
    """Return the path of a place: names in capitals stand for what is there."""
    vault = root / "vault"
    for name, folder in (("DOCS/", root / "docs"), ("IMPORTS/", root / "imports")):
        if place.startswith(name):
            return folder / place.removeprefix(name)
    above = place.rpartition("/")[0]
    shown = sorted(vault.glob(f"{above}/*")) if above and "ID" not in above else []
    for standing in ("FACT.md", "SHOP.md", "DAY.jsonl", "MONTH.jsonl", "TRASHED.md"):
        if place.endswith(standing):
            suffix = standing.partition(".")[2]
            return next(path for path in shown if path.suffix == f".{suffix}")
    if "ID" in place:
        top = place.partition("/")[0]
        ids = sorted(path for path in (vault / top).rglob("*") if path.suffix == ".md")
        return ids[0] if place.endswith(".md") else ids[0].parent
    return vault / place


def plant(root: Path, place: str, kind: str) -> Path:
    """Put a link to a copy with a canary, or something that is not a file, in a place."""
    path = locate(root, place)
    outside = root / "outside"
    outside.mkdir()
    _write(outside / "untouched.txt", CANARY)
    is_folder = place in FOLDERS
    if kind == "link":
        target = outside / path.name
        _copy_with_canary(path, target, is_folder=is_folder)
        _remove(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target, target_is_directory=is_folder)
        return path
    _remove(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as one, contextlib.chdir(path.parent):
            one.bind(path.name)  # an address has at most 108 bytes
    elif kind == "device":
        os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 5))  # /dev/zero: reading never ends
    else:
        with path.open("wb") as file:
            file.truncate(HUGE)
    return path


def _copy_with_canary(path: Path, target: Path, *, is_folder: bool) -> None:
    if path.is_dir():
        shutil.copytree(path, target)
    elif path.exists():
        shutil.copy(path, target)
    elif is_folder:
        target.mkdir()
    else:
        target.write_text("")
    for file in [target] if target.is_file() else sorted(target.rglob("*")):
        if file.is_file():
            text = file.read_bytes().replace(b"walrus", f"{CANARY} walrus".encode())
            file.write_bytes(text.replace(b"Anna", CANARY.encode()))
    if is_folder:
        _write(target / "page.md", f"the {CANARY} walrus\n")
    elif target.suffix == ".md" and CANARY not in target.read_text():
        _write(target, f"the {CANARY} walrus\n")


def _remove(path: Path) -> None:
    if path.name == "core_memory.json" or not path.is_dir():
        path.unlink(missing_ok=True)
    else:
        shutil.rmtree(path)


def fingerprint(folder: Path) -> dict[str, str]:
    """Return a digest of every file below a folder, and its times."""
    found = {}
    for path in sorted(folder.rglob("*")):
        data = path.read_bytes() if path.is_file() else b""
        found[str(path)] = f"{hashlib.sha256(data).hexdigest()} {path.stat().st_mtime_ns}"
    return found


def use(root: Path) -> dict[str, dict[str, str]]:
    """Use a vault with every verb in a process that is ended if it hangs."""
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "tests.faults.planted",
            *(str(root / name) for name in ("vault", "docs", "imports")),
        ],
        capture_output=True,
        timeout=300,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    result: dict[str, dict[str, str]] = json.loads(done.stdout.splitlines()[-1])
    return result


def _list_cases() -> Iterator[tuple[str, str]]:
    for place in FOLDERS:
        yield place, "link"
        yield place, "fifo"
    for place in FILES:
        for kind in ("link", "fifo", "socket", "device", "huge"):
            yield place, kind


CASES = list(_list_cases())
if not LONG:  # every place is tried with a link, and each kind in every fourth place
    others = [case for case in CASES if case[1] != "link"]
    CASES = [case for case in CASES if case[1] == "link" or case in others[:: len(FILES) // 4]]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
@pytest.mark.exhaustive(keep=6)
@pytest.mark.parametrize(("place", "kind"), CASES, ids=[f"{p} {k}" for p, k in CASES])
def test_K7_nothing_leaves_the_vault_hangs_or_is_lost(
    template: Path, tmp_path: Path, place: str, kind: str
) -> None:
    if kind == "device" and os.getuid() != 0:
        pytest.skip("only root can make a device")
    root = tmp_path / "root"
    shutil.copytree(template, root, symlinks=True)
    path = plant(root, place, kind)
    before = fingerprint(root / "outside")
    result = use(root)
    outcome = result["outcome"]
    assert fingerprint(root / "outside") == before, "nothing outside is changed"
    if kind == "link":
        assert CANARY not in json.dumps(result), "nothing outside is read"
        for file in (root / "vault").rglob("*"):
            if file.is_file() and not any(one.is_symlink() for one in (file, *file.parents)):
                assert CANARY.encode() not in file.read_bytes(), file
    if not place.startswith(".muisti/tmp/"):  # temporary files are muisti's to remove
        assert os.path.lexists(path), f"it is left alone: {outcome}"
    assert outcome.get("acknowledged", "ok") == "ok"
    lost = _find_lost(root, list(result["saved"]))
    assert not lost, f"{lost} were acknowledged: {outcome}"
    if not place.startswith(QUIET):
        name = path.relative_to(root / "vault").as_posix()
        assert name in str(result["shown"]), f"verify or doctor names {name}: {outcome}"


def _find_lost(root: Path, saved: list[str]) -> list[str]:
    """Return what is not there after deleting the index and opening the vault again."""
    if not saved:
        return []
    index = root / "vault" / ".muisti"
    if index.is_dir() and not index.is_symlink():
        shutil.rmtree(index)
    with bootstrap.open(root / "vault", settings={"embedder": "none"}) as memory:
        return [id_ for id_ in saved if memory.get(id_) is None]


def test_K7_an_unharmed_vault_has_nothing_to_name(template: Path, tmp_path: Path) -> None:
    """The other tests can fail: every verb works, and finds what links lead away from."""
    root = tmp_path / "root"
    shutil.copytree(template, root)
    result = use(root)
    failed = {verb: what for verb, what in result["outcome"].items() if what != "ok"}
    assert not failed
    shown = str(result["shown"])
    for text in ("walrus in imports", "walrus in documents", "walrus was here", "Turku"):
        assert text in shown, text
    assert len(result["saved"]) == 3
