"""Whether another process runs, and what this one may use, the same on every platform."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path


def is_running(process: int) -> bool:
    """Return whether a process exists."""
    if os.name == "nt":  # os.kill would send it Ctrl+C
        return _is_running_on_windows(process)
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def count_cores() -> int:
    """Return how many cores this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def measure_memory() -> int:
    """Return how many bytes of memory this process may use; 0 if that is not known."""
    try:
        most = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # Windows has no sysconf
        return 0
    for limit in ("memory.max", "memory/memory.limit_in_bytes"):  # of a container
        with suppress(OSError, ValueError):
            most = min(most, int(Path("/sys/fs/cgroup", limit).read_text()))
    return most


def release_memory() -> None:
    """Return freed memory to the system. glibc keeps it, much of it after one large job."""
    if sys.platform == "linux":
        import ctypes

        with suppress(AttributeError, OSError):  # other C libraries return it by themselves
            ctypes.CDLL(None).malloc_trim(0)


def _is_running_on_windows(process: int) -> bool:
    import ctypes

    library = ctypes.windll.kernel32  # type: ignore[attr-defined]
    handle = library.OpenProcess(0x00100000, False, process)  # SYNCHRONIZE
    if not handle:
        return library.GetLastError() == 5  # type: ignore[no-any-return]  # access denied: it runs
    try:
        return library.WaitForSingleObject(handle, 0) == 258  # type: ignore[no-any-return]
    finally:
        library.CloseHandle(handle)
