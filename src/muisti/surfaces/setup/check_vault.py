"""Check a vault without changing it: no vault is created, no index repaired, no model loaded."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from muisti.bootstrap_models import list_models, split_embedders
from muisti.engine import Muisti
from muisti.errors import IndexTooNew, MuistiError
from muisti.filesystem import Tree, is_occupied
from muisti.locations import find_database
from muisti.recall.filters import ALL
from muisti.settings import (
    SETTINGS_FILE,
    Settings,
    find_vault,
    get_own_vault,
    is_foreign,
    list_ignored_settings,
    load_settings,
)
from muisti.storage.files.queue import FOLDER as QUEUE
from muisti.storage.files.queue import read_queue_status
from muisti.storage.files.unsafe_files import find_unsafe_files
from muisti.surfaces.extras import NEEDS, how_to_install, missing_packages
from muisti.surfaces.setup.check_git import check_git
from muisti.surfaces.setup.findings import Finding, Level, count_noun, run_check
from muisti.surfaces.warm import client, protocol
from muisti.trust import is_trusted, list_consents

if TYPE_CHECKING:
    import apsw

LEAST_FREE = 1_000_000
"""Bytes. With less, writing a memory and its index rows may fail."""
OK, NOTE, PROBLEM = Level.OK, Level.NOTE, Level.PROBLEM
WARM_TIMEOUT = 3.0
MOST_PROBLEMS = 5
"""The number of files listed; `muisti verify` lists all."""


def check_vault(vault: str | None) -> list[Finding]:
    """Check the vault, its index, embedder and queue, and the installed extras. Never raises."""
    found = [*run_check("trust", _check_consents), *run_check("extras", _check_extras)]
    if (database := find_database(vault)) is not None:
        from muisti.surfaces.setup.check_store import check_store

        store = run_check("store", lambda: check_store(database))
        embedder = run_check("embedder", lambda: _check_embedder(load_settings()))
        return [*store, *embedder, *found]
    try:
        root = find_vault(vault)
    except (MuistiError, OSError, RuntimeError) as error:
        return [Finding("vault", PROBLEM, str(error)), *found]
    named = vault is not None or root != find_vault(environ={})
    first = run_check("vault", lambda: _check_folder(root, named=named))
    if not is_occupied(root / SETTINGS_FILE):
        return [*first, *run_check("embedder", lambda: _check_embedder(Settings())), *found]
    if is_foreign(root, vault) and not is_trusted(root):
        stranger = run_check("vault", lambda: _check_stranger(root))
        return [*stranger, *run_check("embedder", lambda: _check_embedder(Settings())), *found]
    index = run_check("index", lambda: _check_index(root))
    usable = (
        not any(one.level is PROBLEM for one in (*first, *index))
        and (root / ".muisti" / "current").is_file()
    )
    counts = run_check("index", lambda: _check_counts(root)) if usable else []
    embedder = run_check("embedder", lambda: _check_embedder(load_settings(root)))
    return [
        *first,
        *run_check("vault", lambda: _check_files(root)),
        *index,
        *counts,
        *embedder,
        *run_check("queue", lambda: _check_queue(root)),
        *run_check("warm", lambda: _check_warm(root)),
        *run_check("git", lambda: check_git(root)),
        *found,
    ]


def _check_warm(root: Path) -> Iterator[Finding]:
    """Report the process that keeps the vault open."""
    if protocol.is_disabled() or not load_settings(root).warm:
        return
    try:
        found = client.ask(str(root), {"do": "status"}, WARM_TIMEOUT)
    except client.NotRunning:
        return
    except client.NoAnswer as error:
        what = f"the warm process does not answer ({error}); searches and hooks do without it"
        yield Finding("warm", NOTE, what)
    else:
        yield Finding("warm", OK, protocol.describe_status(found))


def _check_stranger(root: Path) -> Iterator[Finding]:
    """Report a vault that is not trusted. Of its own files only the settings are read."""
    yield Finding(
        "vault",
        NOTE,
        f"{root} is not trusted: it is only read, and hooks use {get_own_vault()} instead",
        f"if it is yours: muisti trust {root}",
    )
    if ignored := list_ignored_settings(root):
        yield Finding("vault", NOTE, f"its settings do not count: {', '.join(ignored)}")


def _check_consents() -> Iterator[Finding]:
    """Report a damaged list of trusted vaults."""
    count = sum(os.path.lexists(consent.path) for consent in list_consents())
    if count:
        vaults = count_noun(count, "trusted vault", "trusted vaults")
        yield Finding("trust", OK, f"{vaults} besides your own; `muisti trust --list` lists them")


def _check_folder(root: Path, *, named: bool) -> Iterator[Finding]:
    """Check the folder. The default vault need not exist before the first memory."""
    if not os.path.lexists(root):
        level = PROBLEM if named else NOTE
        yield Finding(
            "vault", level, f"no vault at {root}", "muisti init or muisti save creates one"
        )
        return
    if not root.is_dir():
        yield Finding(
            "vault",
            PROBLEM,
            f"{root} is not a folder",
            "choose another path with --vault or MUISTI_VAULT",
        )
        return
    if not os.access(root, os.R_OK | os.X_OK):
        yield Finding(
            "vault", PROBLEM, f"{root} cannot be read", f"make it readable: chmod u+rx {root}"
        )
        return
    if not is_occupied(root / SETTINGS_FILE):
        yield Finding(
            "vault",
            NOTE,
            f"{root} is not a vault yet (no {SETTINGS_FILE})",
            f"muisti init {root}",
        )
        return
    try:
        load_settings(root)
    except MuistiError as error:
        yield Finding(
            "vault", PROBLEM, str(error), f"fix {root / SETTINGS_FILE} or the environment variable"
        )
    if os.access(root, os.W_OK):
        yield Finding("vault", OK, str(root))
        free = shutil.disk_usage(root).free
        if free < LEAST_FREE:
            yield Finding(
                "vault",
                PROBLEM,
                f"the disk is full ({free:,} bytes free): searching works, saving does not",
                "free some space",
            )
    else:
        yield Finding(
            "vault",
            PROBLEM,
            f"{root} is not writable",
            f"make it writable: chmod u+w {root}",
        )


def _check_files(root: Path) -> Iterator[Finding]:
    """Report links and special files, which muisti does not open."""
    try:
        settings = load_settings(root)
    except MuistiError:  # reported already
        settings = Settings()
    unsafe = find_unsafe_files(root, settings)
    for problem in unsafe[:MOST_PROBLEMS]:
        reason, _, fix = problem.reason.partition(": ")
        yield Finding("vault", PROBLEM, f"{problem.path} {reason}", fix)
    if len(unsafe) > MOST_PROBLEMS:
        more = count_noun(len(unsafe) - MOST_PROBLEMS, "more file", "more files")
        yield Finding("vault", PROBLEM, f"{more} like these", "muisti verify")


def _check_index(root: Path) -> Iterator[Finding]:
    """Check the index read-only: opening it normally would repair it and hide the problem."""
    import apsw  # slow to import

    folder = root / ".muisti"
    pointer = folder / "current"
    tree = Tree(root)
    if not tree.is_file(pointer):
        yield Finding(
            "index",
            NOTE,
            "no index yet",
            "the next command builds it; or run muisti sync",
        )
        return
    file = folder / tree.read(pointer, 1000)[0].decode("ascii", "replace").strip()[:100]
    if file.parent != folder or not tree.is_file(file):
        yield Finding("index", PROBLEM, f"{pointer} does not name an index file", "muisti reindex")
        return
    try:
        try:
            version, damage = _read_index(
                apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY)
            )
        except apsw.IOError:  # a full disk, where there is no space for a log beside it
            from muisti.storage.sqlite.connect import connect_immutable

            version, damage = _read_index(connect_immutable(file))
    except apsw.BusyError:
        yield Finding("index", NOTE, "locked by another process", "try again in a moment")
        return
    except apsw.Error as error:
        yield Finding("index", PROBLEM, f"damaged ({error}); your files are safe", "muisti reindex")
        return
    if damage != ["ok"]:
        yield Finding(
            "index",
            PROBLEM,
            f"damaged ({damage[0][:100]}); your files are safe",
            "muisti reindex",
        )
        return
    yield Finding("index", OK, f"schema {version}, {file.stat().st_size / 1e6:.1f} MB")


def _read_index(db: apsw.Connection) -> tuple[int, list[str]]:
    """Return the schema version of an index, and what is wrong with it or ["ok"]."""
    db.set_busy_timeout(2000)
    try:
        damage = [str(row[0]) for row in db.execute("PRAGMA quick_check(1)")]
        return db.pragma("user_version"), damage
    finally:
        db.close()


def _check_counts(root: Path) -> Iterator[Finding]:
    """Report the counts of the index."""
    from muisti import bootstrap

    try:
        with bootstrap.open(root, role="cli", settings={"sync_on_open": False}) as memory:
            stats = memory.get_stats()
            unowned = _find_unowned(memory)
            unresolved = memory.unresolved_links(project=ALL, user=ALL)
    except IndexTooNew as error:
        yield Finding("index", PROBLEM, str(error))
        return
    memories = count_noun(stats.total_count, "memory", "memories")
    sessions = count_noun(stats.session_count, "session", "sessions")
    yield Finding("vault", OK, f"{memories}, {stats.deleted_count} in the trash, {sessions}")
    if "," in memory.settings.embedder:
        used = stats.embedding_model or "none yet"
        by = f" ({stats.embedder})" if stats.embedder else ""
        yield Finding("embedder", OK, f"embeddings in use: {used}{by}")
    waiting = stats.total_count if stats.embedding_model is None else stats.waiting_count
    if waiting and memory.settings.embedder != "none":
        fix = "the next search embeds them; or run muisti reindex --vectors"
        yield Finding(
            "index",
            NOTE,
            f"{count_noun(waiting, 'memory is', 'memories are')} not embedded yet",
            fix,
        )
    if unowned:
        count = count_noun(len(unowned), "conversation has", "conversations have")
        names = ", ".join(unowned[:MOST_PROBLEMS]) + (", …" if len(unowned) > MOST_PROBLEMS else "")
        yield Finding(
            "vault",
            NOTE,
            f"{count} no project or user: {names}; searches in a project or for a user skip them",
            f"muisti conversation assign {unowned[0]} --user NAME, or --project NAME",
        )
    if unresolved:
        count = count_noun(len(unresolved), "wikilink leads", "wikilinks lead")
        yield Finding("vault", NOTE, f"{count} to no memory", "muisti links --unresolved")
    for problem in stats.problems[:MOST_PROBLEMS]:
        yield Finding(
            "vault",
            PROBLEM,
            f"{problem.path}: {problem.reason}",
            "muisti sync --confirm forgets them"
            if problem.is_missing
            else "fix the file, then run muisti sync",
        )
    if len(stats.problems) > MOST_PROBLEMS:
        more = count_noun(len(stats.problems) - MOST_PROBLEMS, "more file", "more files")
        yield Finding("vault", PROBLEM, f"{more} like these", "muisti verify")


def _find_unowned(memory: Muisti) -> list[str]:
    """Return the conversations that belong to nobody, if the vault has projects or users."""
    conversations = memory.list_conversations()
    unowned = [one.name for one in conversations if not one.project and not one.user]
    sessions = memory.list_sessions(limit=100_000)
    is_shared = (
        not unowned
        or any(one.project or one.user for one in conversations)
        or any(one.project or one.user for one in sessions)
        or any(memory.get_stats().by_project)
        or any(one.user for one in memory.list(limit=None))
    )
    return unowned if is_shared else []


def _check_embedder(settings: Settings) -> Iterator[Finding]:
    """Check the embedder. A remote server is not contacted: that takes time and may cost money."""
    chain = split_embedders(settings)
    if not chain:
        yield Finding("embedder", NOTE, "disabled: searches use keywords only")
    for number, one in enumerate(chain, start=1):
        place = f"{number}. " if len(chain) > 1 else ""
        if one.embedder != "onnx":
            name = f"{one.embedder} {one.model}".rstrip()
            yield Finding("embedder", OK, f"{place}{name} (not contacted)")
            continue
        model = next(model for model in list_models(one) if model.in_use)
        if model.installed:
            yield Finding("embedder", OK, f"{place}{model.name}, local")
            continue
        others = [other.embedder for other in chain[number:]]
        result = f"{others[0]} is tried next" if others else "searches use keywords only"
        yield Finding(
            "embedder",
            NOTE if others else PROBLEM,
            f"{place}the model {model.name} is not installed: {result}",
            f"muisti model install {model.name}",
        )


def _check_queue(root: Path) -> Iterator[Finding]:
    """Check the extraction queue without opening the vault, which may be broken."""
    folder = root / QUEUE
    status = read_queue_status(folder)
    if status.waiting:
        what = (
            f"{count_noun(status.waiting, 'exchange is', 'exchanges are')} waiting for extraction"
        )
        yield Finding("queue", NOTE, what, "the next server or agent extracts them")
    else:
        yield Finding("queue", OK, "empty")
    if status.broken:
        what = f"{count_noun(status.broken, 'file', 'files')} with invalid lines in {folder}"
        yield Finding("queue", NOTE, what, "check and delete them")


def _check_extras() -> Iterator[Finding]:
    for command in NEEDS:
        missing = missing_packages(command)
        if missing:
            what = f"{command} is not available: {', '.join(missing)} is not installed"
            yield Finding("extras", NOTE, what, how_to_install(command))
        else:
            yield Finding("extras", OK, f"{command} is available")
