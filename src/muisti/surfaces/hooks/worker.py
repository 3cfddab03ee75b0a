"""The worker: a background process that stores what hooks captured.

Only one runs at a time for each user. It may be killed at any moment: an entry is removed only
when it is stored, messages have IDs that make storing them again harmless, and exchanges to
extract from wait in the vault's own queue.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path

from muisti.locations import restore_password
from muisti.settings import get_own_vault
from muisti.surfaces import detached
from muisti.surfaces.hooks import spool
from muisti.surfaces.hooks.log import Run, record
from muisti.surfaces.hooks.paths import create_folder
from muisti.trust import is_trusted

KEEP_DAYS = 30.0
"""How long entries that cannot be stored are kept, and files of sessions."""
FLUSH_TIMEOUT = 300.0
"""Seconds that extraction may take; the rest waits in the vault."""
Waiting = tuple[Path, spool.Entry]


def start(vault: str = "", *, foreign: bool = False) -> None:
    """Start a detached worker and return at once. Raises OSError.

    Vault: also update the index of this vault.
    """
    arguments = [vault, "foreign"] if vault and foreign else [vault] if vault else []
    folder = create_folder(spool.get_spool_folder())
    detached.start_process("muisti.surfaces.hooks.worker", *arguments, folder=folder)


def main() -> None:
    """Process all waiting entries, with a low priority."""
    detached.lower_priority()
    process_entries(sys.argv[1] if len(sys.argv) > 1 else "", foreign=sys.argv[2:] == ["foreign"])


def process_entries(vault: str = "", *, foreign: bool = False) -> None:
    """Process all waiting entries, unless another worker is running: it will find them too."""
    lock = create_folder(spool.get_spool_folder()) / "worker.lock"
    failed: set[Path] = set()
    while True:
        with detached.hold_lock(lock) as is_only_one:
            if not is_only_one:
                return
            failed |= _process_vaults(vault, foreign)
            spool.delete_old_files(KEEP_DAYS)
        vault = ""
        # An entry may have been added by a hook whose worker found this one running.
        if not set(spool.list_entries()) - failed:
            return


def _process_vaults(vault: str, foreign: bool) -> set[Path]:
    """Process the entries of each vault, and return those that have to wait."""
    entries: list[Waiting] = []
    for path in spool.list_entries():
        try:
            entries.append((path, spool.read_entry(path)))
        except ValueError:
            spool.delete_file(path)
        except OSError:
            continue
    for _, entry in entries:
        if entry.foreign and not is_trusted(Path(entry.vault)):  # replaced since the hook ran
            entry.vault, entry.foreign = str(get_own_vault()), False
    entries.sort(key=lambda waiting: waiting[1].vault)
    failed: set[Path] = set()
    for name, group in groupby(entries, key=lambda waiting: waiting[1].vault):
        of_vault = list(group)
        failed |= _process_vault(name, of_vault, any(entry.foreign for _, entry in of_vault))
        if name == vault:
            vault = ""
    if vault:
        _process_vault(vault, [], foreign)
    return failed


def _process_vault(vault: str, entries: list[Waiting], foreign: bool) -> set[Path]:
    """Store the entries and return those that have to wait. Errors are logged, never raised."""
    started = time.monotonic()
    waiting = {path for path, _ in entries}

    def log_run(outcome: str, detail: str) -> None:
        run = Run(
            at=datetime.now(UTC),
            event="Worker",
            agent=entries[0][1].agent if entries else "",
            vault=vault,
            project=entries[0][1].project if entries else "",
            milliseconds=(time.monotonic() - started) * 1000,
            outcome=outcome,
            detail=detail,
        )
        record(run)

    try:
        _store_entries(vault, entries, foreign, waiting, log_run)
    except Exception as error:  # the log is the only place to report it
        if waiting:
            what = f"{_count(len(waiting))} not stored yet"
        else:
            what = "extraction not finished" if entries else "index not updated"
        log_run("error", f"{type(error).__name__}: {what}")
        return waiting
    if entries:
        log_run("ok", f"{_count(len(entries) - len(waiting))} stored")
    return waiting


def _store_entries(
    vault: str,
    entries: list[Waiting],
    foreign: bool,
    waiting: set[Path],
    log_run: Callable[[str, str], None],
) -> None:
    """Store the entries and discard them from `waiting`. Raises MuistiError for the vault."""
    from muisti import bootstrap
    from muisti.errors import InvalidMemory, InvalidRequest, MuistiError, NotFound
    from muisti.surfaces.hooks.capture import capture

    # Embedding is left to the next search, which loads the model anyway.
    settings = {"embed_on_save": False}
    place = restore_password(vault)
    with bootstrap.open(place, create=bool(entries), settings=settings, foreign=foreign) as memory:
        for path, entry in entries:
            try:
                capture(memory, entry)
            except (InvalidRequest, InvalidMemory, NotFound) as error:
                # It would be rejected the next time, too.
                log_run("error", f"{type(error).__name__}: 1 entry rejected")
            except MuistiError:
                raise  # a problem of the vault, the same for all entries
            except Exception as error:
                log_run("error", f"{type(error).__name__}: 1 entry not stored yet")
                continue
            spool.delete_file(path)
            waiting.discard(path)
        memory.flush(timeout=FLUSH_TIMEOUT)
        if memory.is_writable:
            memory.end_idle_sessions()  # of agents that were killed, for example


def _count(entries: int) -> str:
    return "1 entry" if entries == 1 else f"{entries} entries"


if __name__ == "__main__":
    main()
