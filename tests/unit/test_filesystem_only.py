"""No module but `muisti.filesystem` opens files of a vault by itself, or asks for what only some
systems have.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import muisti

SOURCE = Path(muisti.__file__).parent
OWN = "filesystem.py"
PORTABLE = {"O_RDONLY", "O_WRONLY", "O_RDWR", "O_CREAT", "O_EXCL", "O_APPEND", "O_TRUNC"}
"""Flags that every system has."""
NEVER = {"kill", "fsync", "truncate", "link", "symlink", "readlink", "getuid", "geteuid", "mkfifo"}
"""Calls of `os` that some systems lack, or that mean something else there."""
OPENING = {"open", "read_text", "read_bytes", "write_text", "write_bytes"}
CHANGING = {
    "mkdir",
    "rmdir",
    "rename",
    "unlink",
    "touch",
    "replace",
    "rmtree",
    "makedirs",
    "remove",
}
LISTING = {"glob", "rglob", "iterdir", "listdir", "scandir", "walk"}
VAULT = ("storage/files/", "importers/", "settings.py", "engine/", "lifecycle/", "remember/")
"""Modules that work with files of a vault, or with those that a user names for it."""
ALLOWED = {
    "processes.py": {"os.kill"},  # signal 0, and not on Windows
    "surfaces/hooks/run.py": {"os.open"},  # os.devnull
    "surfaces/cli/exits.py": {"os.open"},  # os.devnull
    "surfaces/setup/apply.py": {"os.fsync"},  # the configuration of an agent
    "surfaces/hooks/spool.py": {"os.fsync"},  # the user's state folder
    # Unix sockets and inotify: only on Linux, and not files of a vault.
    "surfaces/warm/protocol.py": {
        "os.open",
        "os.geteuid",
        "os.O_CLOEXEC",
        "os.O_DIRECTORY",
        "os.O_NOFOLLOW",
    },
    "surfaces/warm/client.py": {"os.geteuid", "os.open"},
    "storage/files/inotify.py": {"os.O_CLOEXEC", "os.O_NONBLOCK"},
    "storage/files/location.py": {"scandir"},  # adds up sizes, without following links
    "remember/similarity/spelling.py": {"read_text"},  # a word list of the package
}


def list_calls(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield the calls that a module makes, as `os.name`, or as a method's name with a dot."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id, node.lineno
        elif isinstance(node, ast.Attribute):
            owner = node.value.id if isinstance(node.value, ast.Name) else ""
            yield f"{owner if owner in ('os', 'shutil') else ''}.{node.attr}", node.lineno


def find_faults(path: str, text: str) -> list[str]:
    found = []
    for call, line in list_calls(ast.parse(text)):
        owner, _, name = call.rpartition(".")
        is_flag = owner == "os" and name.startswith("O_") and name not in PORTABLE
        is_special = owner == "os" and (name in NEVER or name == "open")
        in_vault = path.startswith(VAULT)
        is_method = "." in call and not owner
        is_opened = in_vault and (call == "open" or (is_method and name in OPENING - {"open"}))
        is_changed = in_vault and owner in ("os", "shutil") and name in CHANGING
        is_listed = in_vault and name in LISTING and (owner == "os" or is_method)
        if not (is_flag or is_special or is_opened or is_changed or is_listed):
            continue
        if {call, name} & ALLOWED.get(path, set()):
            continue
        found.append(f"{path}:{line}: {call}")
    return found


def test_only_one_module_knows_the_system() -> None:
    found = []
    for file in sorted(SOURCE.rglob("*.py")):
        path = file.relative_to(SOURCE).as_posix()
        if path != OWN:
            found += find_faults(path, file.read_text("utf-8"))
    assert not found, "use muisti.filesystem:\n" + "\n".join(found)


@pytest.mark.parametrize(
    "text",
    [
        "import os\nos.open('x', os.O_RDONLY)",
        "import os\nflags = os.O_NOFOLLOW",
        "import os\nos.kill(1, 0)",
        "open('x')",
        "path.read_bytes()",
        "(root / 'x').read_text('utf-8')",
        "import os\nos.replace('a', 'b')",
        "folder.glob('*.md')",
    ],
)
def test_the_test_can_fail(text: str) -> None:
    assert find_faults("storage/files/x.py", text)
