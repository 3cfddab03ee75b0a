"""The check-up of a vault: looks, and neither makes a vault nor mends an index nor loads a model."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from muisti.bootstrap import list_models
from muisti.errors import IndexTooNew, MuistiError
from muisti.settings import SETTINGS_FILE, Settings, find_vault, load_settings
from muisti.storage.files.queue import FOLDER as QUEUE
from muisti.storage.files.queue import queue_status
from muisti.surfaces.extras import NEEDS, how_to_install, missing_packages
from muisti.surfaces.setup.findings import Finding, Level, count_noun, run_check

OK, NOTE, PROBLEM = Level.OK, Level.NOTE, Level.PROBLEM
MOST_PROBLEMS = 5
"""Files that are named; `muisti verify` names all."""


def check_vault(vault: str | None) -> list[Finding]:
    """The vault, its index, embedder and queue, and what is installed. Never raises."""
    found = run_check("extras", _check_extras)
    try:
        root = find_vault(vault)
    except (MuistiError, OSError, RuntimeError) as error:
        return [Finding("vault", PROBLEM, str(error)), *found]
    named = vault is not None or root != find_vault(environ={})
    first = run_check("vault", lambda: _check_folder(root, named=named))
    if not (root / SETTINGS_FILE).is_file():
        return [*first, *run_check("embedder", lambda: _check_embedder(Settings())), *found]
    index = run_check("index", lambda: _check_index(root))
    usable = (
        not any(one.level is PROBLEM for one in (*first, *index))
        and (root / ".muisti" / "current").is_file()
    )
    counts = run_check("index", lambda: _check_counts(root)) if usable else []
    embedder = run_check("embedder", lambda: _check_embedder(load_settings(root)))
    return [
        *first,
        *index,
        *counts,
        *embedder,
        *run_check("queue", lambda: _check_queue(root)),
        *found,
    ]


def _check_folder(root: Path, *, named: bool) -> Iterator[Finding]:
    """The folder. One that was named must be there; yours need not be, before the first memory."""
    if not os.path.lexists(root):
        level = PROBLEM if named else NOTE
        yield Finding(
            "vault", level, f"there is none at {root}", "muisti init, or muisti save, makes one"
        )
        return
    if not root.is_dir():
        yield Finding(
            "vault",
            PROBLEM,
            f"{root} is no folder",
            "name another path with --vault or MUISTI_VAULT",
        )
        return
    if not os.access(root, os.R_OK | os.X_OK):
        yield Finding(
            "vault", PROBLEM, f"{root} cannot be read", f"make it readable: chmod u+rx {root}"
        )
        return
    if not (root / SETTINGS_FILE).is_file():
        yield Finding(
            "vault",
            NOTE,
            f"{root} is no vault yet, it has no {SETTINGS_FILE}",
            f"muisti init {root}",
        )
        return
    try:
        load_settings(root)
    except MuistiError as error:
        yield Finding(
            "vault", PROBLEM, str(error), f"correct {root / SETTINGS_FILE}, or the variable"
        )
    if os.access(root, os.W_OK):
        yield Finding("vault", OK, str(root))
    else:
        yield Finding(
            "vault",
            PROBLEM,
            f"{root} can be read, but not written",
            f"make it writable: chmod u+w {root}",
        )


def _check_index(root: Path) -> Iterator[Finding]:
    """The index as it lies there, opened for reading alone: opening it otherwise would mend it, and hide what was wrong."""
    import apsw  # half of what starting takes

    folder = root / ".muisti"
    pointer = folder / "current"
    if not pointer.is_file():
        yield Finding(
            "index",
            NOTE,
            "there is none yet",
            "the next command builds it from the files: muisti sync",
        )
        return
    file = folder / pointer.read_text("ascii", "replace").strip()[:100]
    if file.parent != folder or not file.is_file():
        yield Finding("index", PROBLEM, f"{pointer} names no index", "muisti reindex")
        return
    try:
        db = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY)
        db.set_busy_timeout(2000)
        version, damage = (
            db.pragma("user_version"),
            [str(row[0]) for row in db.execute("PRAGMA quick_check(1)")],
        )
        db.close()
    except apsw.BusyError:
        yield Finding("index", NOTE, "another process holds it", "try again in a moment")
        return
    except apsw.Error as error:
        yield Finding(
            "index", PROBLEM, f"it is damaged ({error}); your files are safe", "muisti reindex"
        )
        return
    if damage != ["ok"]:
        yield Finding(
            "index",
            PROBLEM,
            f"it is damaged ({damage[0][:100]}); your files are safe",
            "muisti reindex",
        )
        return
    yield Finding("index", OK, f"schema {version}, {file.stat().st_size / 1e6:.1f} MB")


def _check_counts(root: Path) -> Iterator[Finding]:
    """What is in the vault, as the index has it."""
    from muisti import bootstrap

    try:
        with bootstrap.open(root, role="cli", settings={"sync_on_open": False}) as memory:
            stats = memory.get_stats()
    except IndexTooNew as error:
        yield Finding("index", PROBLEM, str(error))
        return
    others = f"{stats.deleted_count} in the trash, {count_noun(stats.session_count, 'session', 'sessions')}"
    yield Finding("vault", OK, f"{count_noun(stats.total_count, 'memory', 'memories')}, {others}")
    waiting = stats.total_count if stats.embedding_model is None else stats.waiting_count
    if waiting and memory.settings.embedder != "none":
        cure = "the next search makes them; or muisti reindex --vectors"
        yield Finding(
            "index", NOTE, f"without vectors yet: {count_noun(waiting, 'memory', 'memories')}", cure
        )
    for problem in stats.problems[:MOST_PROBLEMS]:
        yield Finding(
            "vault",
            PROBLEM,
            f"{problem.path}: {problem.reason}",
            "correct the file, then muisti sync",
        )
    if len(stats.problems) > MOST_PROBLEMS:
        more = count_noun(len(stats.problems) - MOST_PROBLEMS, "more file", "more files")
        yield Finding("vault", PROBLEM, f"{more} like these", "muisti verify")


def _check_embedder(settings: Settings) -> Iterator[Finding]:
    """Whether vectors can be had. A server is not asked: that would take time, and may cost."""
    if settings.embedder == "none":
        yield Finding("embedder", NOTE, "switched off: searches go by keyword alone")
        return
    if settings.embedder != "onnx":
        yield Finding("embedder", OK, f"{settings.embedder} (not asked)")
        return
    for model in list_models(settings):
        if model.in_use and model.installed:
            yield Finding("embedder", OK, f"{model.name}, on this machine")
            return
        if model.in_use:
            cure = f"muisti model install {model.name}"
            yield Finding(
                "embedder",
                PROBLEM,
                f"the model {model.name} is not on this machine: searches go by keyword",
                cure,
            )
            return
    yield Finding(
        "embedder",
        PROBLEM,
        f"no model is called {settings.model!r}",
        "muisti model list shows those that exist",
    )


def _check_queue(root: Path) -> Iterator[Finding]:
    """Exchanges that wait to be made memories of. Read without opening the vault, which may be broken."""
    folder = root / QUEUE
    status = queue_status(folder)
    if status.waiting:
        what = f"{count_noun(status.waiting, 'exchange waits', 'exchanges wait')} to be made memories of"
        yield Finding("queue", NOTE, what, "the next server or agent does it")
    else:
        yield Finding("queue", OK, "nothing waits to be extracted")
    if status.broken:
        what = f"lines that are no exchanges were set aside: {count_noun(status.broken, 'file', 'files')} in {folder}"
        yield Finding("queue", NOTE, what, "look at them, then delete them")


def _check_extras() -> Iterator[Finding]:
    for command in NEEDS:
        missing = missing_packages(command)
        if missing:
            what = f"{command} cannot run: {', '.join(missing)} is not installed"
            yield Finding("extras", NOTE, what, how_to_install(command))
        else:
            yield Finding("extras", OK, f"{command} can run")
