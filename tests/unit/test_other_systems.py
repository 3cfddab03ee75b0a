"""The whole way of a memory on a system without what only POSIX has, as Windows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = """
import os, sys, types
locked = {}
windows = types.ModuleType("msvcrt")
windows.LK_NBLCK = 2
windows.locking = lambda fd, mode, size: None
sys.modules["msvcrt"] = windows
sys.modules["fcntl"] = None  # importing it fails
for name in [name for name in dir(os) if name.startswith("O_")]:
    if name not in {"O_RDONLY", "O_WRONLY", "O_RDWR", "O_CREAT", "O_EXCL", "O_APPEND", "O_TRUNC"}:
        delattr(os, name)
for name in ("kill", "pread", "pwrite", "getuid", "geteuid", "fork", "mkfifo", "nice"):
    delattr(os, name)
os.supports_dir_fd = os.supports_fd = os.supports_follow_symlinks = set()
real = os.open
def no_folders(path, *rest, dir_fd=None, **more):
    assert dir_fd is None
    if os.path.isdir(path):
        raise PermissionError(13, "Permission denied", path)
    return real(path, *rest, **more)
os.open = no_folders
sys.platform = "win32"
import pathlib, platformdirs
data = pathlib.Path(sys.argv[1]).parent / "data"
platformdirs.user_data_path = lambda *_, **__: data  # it would call Windows itself

from muisti import bootstrap, filesystem
assert not filesystem.system.can_walk
filesystem.system.can_sync_folders = False
settings = {"embedder": "none"}
with bootstrap.open(sys.argv[1], settings=settings) as memory:
    one, two = memory.save_batch(["The walrus sings", "The seal sleeps"])
    memory.update(one.id, content="The walrus sings no more")
    memory.delete(two.id)
    memory.restore(two.id)
    memory.append_message("web_1", "user", "hello")
    memory.core_update("user", "name", "Anna")
    memory.reindex()
    assert memory.verify(deep=True).ok
    assert len(memory.search("walrus")) == 1
os.symlink(os.path.dirname(sys.argv[1]), os.path.join(sys.argv[1], "decisions"))
with bootstrap.open(sys.argv[1], settings=settings) as memory:
    assert len(memory.list()) == 2
    try:
        memory.save("Through a link", kind="decision")
    except Exception as error:
        assert "symbolic link" in str(error), error
    else:
        raise AssertionError("followed")
print("done")
"""


def test_a_memory_without_anything_that_only_posix_has(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "vault")],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.stdout.strip() == "done", done.stderr[-3000:]
