"""The connection is cut before every statement of every verb that writes: all of it or nothing is
stored, and the same call succeeds afterwards.

A call may fail though all is stored, if its result could not be read any more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from muisti import Muisti, bootstrap
from muisti.errors import StoreUnavailable
from tests.conftest import FakeClock
from tests.postgres.server import make_location, start_server
from tests.tiers import steps

Verb = Callable[[Muisti, list[str]], object]
DOCUMENT = Path(__file__).parents[2] / "SECURITY.md"
VERBS: dict[str, Verb] = {
    "save": lambda memory, ids: memory.save("Apples are red", project="app", keywords=["fruit"]),
    "save a duplicate": lambda memory, ids: memory.save("We chose PostgreSQL for JSON."),
    "save_batch": lambda memory, ids: memory.save_batch(["One memory", "Another memory"]),
    "update": lambda memory, ids: memory.update(ids[0], content="We chose SQLite."),
    "delete": lambda memory, ids: memory.delete(ids[0]),
    "erase": lambda memory, ids: memory.delete(ids[0], hard=True),
    "restore": lambda memory, ids: memory.restore(ids[2]),
    "link": lambda memory, ids: memory.link(ids[0], ids[1], "BUILDS_ON"),
    "supersede": lambda memory, ids: memory.supersede(ids[0], ids[1]),
    "reinforce": lambda memory, ids: memory.reinforce(ids[0]),
    "append_message": lambda memory, ids: memory.append_message("irc_1", "user", "Hello again"),
    "core_update": lambda memory, ids: memory.core_update("user", "name", "Ann"),
    "start_session": lambda memory, ids: memory.start_session("app", session_id="s"),
    "evict": lambda memory, ids: memory.evict(1, to=0.0),
    "forget": lambda memory, ids: memory.forget(project="app", hard=True),
    "reindex": lambda memory, ids: memory.reindex(),
    "index_path": lambda memory, ids: memory.index_path(DOCUMENT, "guide", trusted=True),
    "move a note": lambda memory, ids: move_note(memory),
}


def move_note(memory: Muisti) -> None:
    notes = memory.notebook("memories")
    with notes.lock():
        notes.move("dog.md", "animals/dog.md")


@contextmanager
def cut(step: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Cut the connection of the thread before its statement with this number. Yield the count."""
    count = [0]
    server = start_server()
    with monkeypatch.context() as patched:
        for name in ("execute", "executemany"):
            original = getattr(psycopg.Cursor, name)

            def run(self: Any, *args: Any, call: Any = original, **options: Any) -> Any:
                count[0] += 1
                if count[0] == step:
                    pid = self.connection.info.backend_pid
                    other = psycopg.connect(server, autocommit=True)
                    other.pgconn.exec_(f"SELECT pg_terminate_backend({pid}, 5000)".encode())
                    other.close()
                return call(self, *args, **options)

            patched.setattr(psycopg.Cursor, name, run)
        yield count


def look(memory: Muisti) -> object:
    """Return all that is stored, without IDs and times."""
    found = memory.list(include_deleted=True, limit=100)
    return (
        sorted(
            (one.content, one.deleted_at is not None, len(one.links), one.valid_until is not None)
            for one in found
        ),
        sorted(round(one.salience, 6) for one in found),
        sorted(one.content for one in memory.list_archive()),
        [one.content for one in memory.window("irc_1", whole=True)],
        dict(memory.core_get().user),
        [one.id for one in memory.list_sessions()],
        sorted(len(memory.history(one.id)) for one in found),
        memory.list_documents(),
        memory.notebook("memories").entries("animals"),
    )


@pytest.mark.parametrize("name", VERBS)
def test_all_or_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    verb = VERBS[name]
    made: list[Muisti] = []

    def prepare() -> tuple[Muisti, list[str]]:
        memory = bootstrap.open(
            make_location(), clock=FakeClock(), settings={"embedder": "none", "lock_timeout": 5}
        )
        made.append(memory)
        texts = ("We chose PostgreSQL for JSON.", "The deadline is March 15", "To be restored")
        ids = [memory.save(text, project="" if at else "app").id for at, text in enumerate(texts)]
        memory.delete(ids[2])
        memory.append_message("irc_1", "user", "Hello")
        if "note" in name:
            notes = memory.notebook("memories")
            with notes.lock():
                notes.create("dog.md", b"The dog is called Musti")
            memory.index_path("memories")
        memory.flush()
        return memory, ids

    try:
        memory, ids = prepare()
        before = look(memory)
        verb(memory, ids)
        memory.flush()
        after = look(memory)
        for step in steps(500):
            memory, ids = prepare()
            with cut(step, monkeypatch) as count:
                try:
                    verb(memory, ids)
                    failed = False
                except StoreUnavailable:
                    failed = True
            found = look(memory)
            if failed and found != after:  # else only reading the result failed
                assert found == before, (name, step)
                verb(memory, ids)
            memory.flush()
            assert look(memory) == after, (name, step)
            assert memory.verify(deep=True).ok
            memory.close()
            if count[0] < step:
                break
        else:
            pytest.fail("there is no end to the statements")
    finally:
        for memory in made:
            memory.close()
