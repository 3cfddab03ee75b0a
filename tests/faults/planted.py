"""Uses a vault with every verb, in a process of its own, and prints what came of it as JSON.

    python -m tests.faults.planted VAULT DOCUMENTS IMPORTS

A verb that hangs is ended by the one who started the process; one that takes gigabytes fails here.
"""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from muisti import Muisti, bootstrap
from muisti.errors import MuistiError
from muisti.surfaces.setup.check_vault import check_vault
from tests.showing import show_all

CHAT = "web_1"
MOST_MEMORY = 1_500_000_000
"""Bytes of address space. Libraries take a third of it; a file of 2 GB read whole does not fit."""


def run(  # shape: one line for each verb
    vault: Path, documents: Path, imports: Path
) -> dict[str, object]:
    outcome: dict[str, str] = {}
    saved: list[str] = []
    shown: list[str] = []

    def attempt(verb: str, act: Callable[[], object]) -> None:
        try:
            result = act()
            outcome[verb] = "ok"
            shown.append(show_all(result))
        except MuistiError as error:
            outcome[verb] = f"{type(error).__name__}: {error}"

    def save(**options: object) -> str:
        one = memory.save(f"Fact {len(saved)} of the walrus {options}", kind="fact", **options)
        saved.append(one.id)
        return one.id

    try:
        memory = bootstrap.open(vault, settings={"embedder": "none"})
    except MuistiError as error:
        outcome["open"] = f"{type(error).__name__}: {error}"
        attempt("doctor", lambda: [str(one) for one in check_vault(str(vault))])
        return {"outcome": outcome, "saved": saved, "shown": shown}
    outcome["open"] = "ok"
    with memory:
        known = [one.id for one in memory.list(limit=None)]
        attempt("search", lambda: memory.search("walrus"))
        attempt("search_messages", lambda: memory.search_messages("walrus"))
        attempt("get", lambda: [memory.get(id_) for id_ in known])
        attempt("context", lambda: memory.context("walrus"))
        attempt("history", lambda: [memory.history(id_) for id_ in known])
        attempt("list_trash", memory.list_trash)
        attempt("list_archive", memory.list_archive)
        attempt("core_get", lambda: memory.core_get(user="anna"))
        attempt("core_get of all", lambda: memory.core_get(user=""))
        attempt("save", save)
        attempt("save in a project", lambda: save(project="shop"))
        attempt("save in a new project", lambda: save(project="garden"))
        attempt("save of a new kind", lambda: memory.save("We chose the walrus", kind="decision"))
        for id_ in known[:2]:
            attempt("update", partial(memory.update, id_, title="Changed"))
            attempt("delete", partial(memory.delete, id_))
            attempt("restore", partial(memory.restore, id_))
        attempt("append_message", lambda: memory.append_message(CHAT, "user", "The walrus sings"))
        attempt("window", lambda: memory.window(CHAT))
        attempt("delete_conversation", lambda: memory.delete_conversation(CHAT))
        attempt("restore_conversation", lambda: memory.restore_conversation(CHAT))
        attempt("core_update", lambda: memory.core_update("user", "pet", "a dog"))
        attempt("core_update of anna", lambda: memory.core_update("user", "a", "b", user="anna"))
        attempt("index_path", lambda: memory.index_path(documents))
        attempt("search of documents", lambda: memory.search("walrus documents", limit=50))
        attempt("import", lambda: memory.import_memories(imports))
        attempt("export", memory.export_memories)
        attempt("forget", lambda: memory.forget(project="garden", hard=True, dry_run=True))
        attempt("stats", memory.get_stats)
        attempt("sync", memory.sync)
        attempt("sync of paths", lambda: _sync_paths(memory, vault))
        attempt("reindex", memory.reindex)
        attempt("verify", lambda: [(one.path, one.reason) for one in memory.verify().problems])
        found = [id_ for id_ in saved if memory.get(id_) is None]
        outcome["acknowledged"] = "ok" if not found else f"lost: {found}"
    attempt("doctor", lambda: [str(one) for one in check_vault(str(vault))])
    return {"outcome": outcome, "saved": saved, "shown": shown}


def _sync_paths(memory: Muisti, vault: Path) -> object:
    paths = [path.relative_to(vault).as_posix() for path in vault.rglob("*")]
    return memory.sync(paths=[path for path in paths if path.endswith((".md", ".jsonl"))])


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    print(json.dumps(run(*map(Path, sys.argv[1:4]))))
