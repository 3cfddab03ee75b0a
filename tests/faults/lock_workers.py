"""A process that wants the vault's lock again and again. Run by its path:
`lock_workers.py FOLDER NAME COUNT`.

It appends to FOLDER/order a line `wait NAME` when it has begun to wait, and `grant NAME` while it
holds the lock. It prints how many milliseconds each wait took.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

from muisti.storage.files import lock

folder, name, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
order = os.open(folder / "order", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
really_sleep = time.sleep
announced: list[bool] = []


def note(what: str) -> None:
    os.write(order, f"{what} {name}\n".encode())


def sleep(seconds: float) -> None:
    """The lock pauses: it has its place in the queue by now."""
    if not announced:
        note("wait")
        announced.append(True)
    really_sleep(seconds)


def main() -> None:
    lock.CALM = 0.0  # strict from the first moment
    vault_lock = lock.FileLock(folder / "lock", 300)
    print("ready", flush=True)
    sys.stdin.readline()
    time.sleep = sleep  # type: ignore[assignment]
    waits = []
    for _ in range(count):
        announced.clear()
        begun = time.perf_counter()
        with vault_lock.hold():
            waits.append(1000 * (time.perf_counter() - begun))
            note("grant")
            really_sleep(0.002)
    print(json.dumps(waits), flush=True)


if __name__ == "__main__":
    main()
