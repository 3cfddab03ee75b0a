"""The worker: makes messages, memories and session summaries of what hooks left, in a process of its own.

One at a time for a user. It may be killed whenever: an entry is removed when it is dealt with, messages have ids that make
them safe to repeat, and what is to be extracted waits in the vault's own queue.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path

from muisti.surfaces.hooks import spool
from muisti.surfaces.hooks.log import Run, record
from muisti.surfaces.hooks.paths import create_folder

KEPT_DAYS = 30.0
"""How long entries of a vault that cannot be written wait, and how long a session's own files stay."""
PATIENCE = 300.0
"""Seconds that extraction may take; the rest waits in the vault."""
Waiting = tuple[Path, spool.Entry]


def start(vault: str = "", *, foreign: bool = False) -> None:
    """Start a worker that outlives this process, its terminal and its agent, and return at once. Raises OSError.

    Vault: have its index catch up with its files, too.
    """
    import subprocess

    folder = create_folder(spool.get_spool_folder())
    wanted = [vault, *(["foreign"] if foreign else [])] if vault else []
    # -P: whatever lies in the folder that the agent works in is not imported.
    command = [sys.executable, "-P", "-m", "muisti.surfaces.hooks.worker", *wanted]
    quiet = subprocess.DEVNULL
    subprocess.Popen(
        command,
        stdin=quiet,
        stdout=quiet,
        stderr=quiet,
        cwd=folder,
        start_new_session=True,
        close_fds=True,
    )


def main() -> None:
    """Deal with everything that waits."""
    with suppress(AttributeError, ValueError, OSError):
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        os.nice(5)
    process_entries(sys.argv[1] if len(sys.argv) > 1 else "", foreign=sys.argv[2:] == ["foreign"])


def process_entries(vault: str = "", *, foreign: bool = False) -> None:
    """Deal with everything that waits, unless another worker does: it looks again when it has done."""
    left: set[Path] = set()
    while True:
        with _alone() as alone:
            if not alone:
                return
            left |= _deal_with_all(vault, foreign)
            spool.delete_old_files(KEPT_DAYS)
        vault = ""
        if not set(spool.list_entries()) - left:
            return


@contextmanager
def _alone() -> Iterator[bool]:
    from muisti.storage.files.lock import try_lock

    fd = os.open(
        create_folder(spool.get_spool_folder()) / "worker.lock",
        os.O_RDWR | os.O_CREAT | os.O_CLOEXEC,
        0o600,
    )
    try:
        yield try_lock(fd)
    finally:
        os.close(fd)


def _deal_with_all(vault: str, foreign: bool) -> set[Path]:
    """Answers the entries that have to wait."""
    entries = _entries()
    left: set[Path] = set()
    for name, group in groupby(
        sorted(entries, key=lambda one: one[1].vault), key=lambda one: one[1].vault
    ):
        left |= _deal_with_vault(
            name, waiting := list(group), any(one.foreign for _, one in waiting)
        )
        vault = "" if name == vault else vault
    if vault:
        _deal_with_vault(vault, [], foreign)
    return left


def _entries() -> list[Waiting]:
    found = []
    for path in spool.list_entries():
        try:
            found.append((path, spool.read_entry(path)))
        except ValueError:
            _remove(path)
        except OSError:
            continue
    return found


def _deal_with_vault(vault: str, entries: list[Waiting], foreign: bool) -> set[Path]:
    """Raises nothing: what went wrong is in the log, and what could not be done waits."""
    began = time.monotonic()
    agent = entries[0][1].agent if entries else ""
    project = entries[0][1].project if entries else ""
    waiting = {path for path, _ in entries}

    def note(outcome: str, detail: str) -> None:
        record(
            Run(
                datetime.now(UTC),
                "Worker",
                agent,
                vault,
                project,
                (time.monotonic() - began) * 1000,
                outcome,
                detail,
            )
        )

    try:
        for path in _captured(vault, entries, foreign, note):
            waiting.discard(path)
    except Exception as error:  # the worker has no one to tell but the log
        note(
            "error",
            f"{type(error).__name__}: {'entries wait' if entries else 'the index was not brought up to date'}",
        )
        return waiting
    if entries:
        note("ok", f"{len(entries) - len(waiting)} entries")
    return waiting


def _captured(vault: str, entries: list[Waiting], foreign: bool, note) -> Iterator[Path]:  # type: ignore[no-untyped-def]
    from muisti import bootstrap
    from muisti.errors import InvalidMemory, InvalidRequest, MuistiError, NotFound
    from muisti.surfaces.hooks.capture import capture

    # Vectors are left to the next search that needs the model anyway.
    wanted = {"embed_on_save": False}
    with bootstrap.open(vault, create=bool(entries), settings=wanted, foreign=foreign) as memory:
        for path, entry in entries:
            try:
                capture(memory, entry)
            except (
                InvalidRequest,
                InvalidMemory,
                NotFound,
            ) as error:  # it would not be accepted the next time either
                note("error", f"{type(error).__name__}: an entry was given up")
            except MuistiError:
                raise  # of the vault: it is the same for all of them
            except Exception as error:
                note("error", f"{type(error).__name__}: an entry waits")
                continue
            _remove(path)
            yield path
        memory.flush(timeout=PATIENCE)


def _remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink()


if __name__ == "__main__":
    main()
