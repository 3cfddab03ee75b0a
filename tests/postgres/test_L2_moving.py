"""`muisti push` and `muisti pull`: a vault in a folder and the same one in PostgreSQL."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from muisti import Muisti, bootstrap
from muisti.bootstrap_moving import pull, push
from muisti.errors import (
    Conflict,
    MuistiError,
    VaultUnusable,
)
from muisti.lifecycle import moving
from muisti.model import Exchange, Memory
from muisti.models.embedders.hashing import HashingEmbedder
from muisti.ports.vectors import Centre
from muisti.remember import identity
from muisti.storage import vector_codes
from muisti.storage.files.moving import FolderMover
from muisti.storage.postgres.moving import PostgresMover
from tests.conftest import FakeClock
from tests.contract.test_both_stores import (
    OPERATIONS,
    Operation,
    _check_equal,
    _do,
    _plain,
    questions,
)
from tests.postgres.roles import run
from tests.postgres.server import make_location
from tests.tiers import amount

OPTIONS = {"embedder": "none", "record_recall": True}
EXTRA = st.one_of(
    st.tuples(st.just("trash_message"), st.integers(0, 3)),
    st.tuples(st.just("user_core"), st.sampled_from(["Anna", "bob/../x", "Ünal", "con"])),
    st.tuples(st.just("forget_user"), st.sampled_from(["Anna", "Ünal"])),
    st.tuples(st.just("user_save"), st.sampled_from(["Anna", "Ünal"])),
)


@pytest.fixture(autouse=True)
def no_embedder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUISTI_EMBEDDER", "none")


def read_tree(root: Path) -> dict[str, bytes]:
    """All files of a vault but the index, with their bytes."""
    files = (path for path in root.rglob("*") if path.is_file())
    found = {path.relative_to(root).as_posix(): path.read_bytes() for path in files}
    return {path: data for path, data in found.items() if not path.startswith(".muisti/")}


def make_vault(folder: Path) -> dict[str, bytes]:
    """Make a vault with something of every kind, also by hand. Return its files."""
    with Muisti.open(folder) as memory:
        memory.save("The server is restarted at night. 数据库", kind="fact")
        assert memory.evict(1, to=0.0)
        first = memory.save("We chose PostgreSQL for its JSON support.", project="app")
        second = memory.save("We chose SQLite: it needs no server.", project="app")
        memory.supersede(first.id, second.id)
        memory.update(second.id, content="We chose SQLite: it needs no server at all.")
        merged = memory.save("The deadline is March 15", user="Ünal")
        memory.save("The deadline is March 15", user="Ünal")
        assert memory.get(merged.id)
        memory.delete(memory.save("party 🎉 time").id)
        for number in range(4):
            memory.append_message("telegram_1", "user", f"message {number} <b> ünïcode")
        memory.session_break("telegram_1")
        last = memory.append_message("telegram_1", "assistant", "bye", meta={"user": "Ünal"})
        memory.delete_messages("telegram_1", [last.id])
        memory.core_update("user", "name", "Ada")
        memory.core_update("user", "name", "Ünal", user="Ünal")
        memory.core_update("user", "name", "Anna", user="Anna")
        memory.forget(user="Anna")
        memory.start_session("app", session_id="s")
        memory.search("deadline", session_id="s")
        memory.end_session("s", "done")
    write_by_hand(folder)
    with Muisti.open(folder) as memory:
        memory.sync()
    return read_tree(folder)


def write_by_hand(folder: Path) -> None:
    """Write what people and other programs leave in a vault."""
    [journal] = (folder / "journal").glob("*.jsonl")
    text = journal.read_bytes()
    journal.write_bytes(
        b'{"at": "2026-03-10T12:00:00+02:00",  "event":"touched", "memories": []}\n'
        b"not JSON \xff\xfe\n\n\r\n" + text + b'{"event":"no time"}\r\n'
    )
    chat = next((folder / "conversations/telegram_1").glob("*.jsonl"))
    chat.write_bytes(
        b'\xef\xbb\xbf{"role":"user","content":"no id","ts":"2026-03-10T12:00:00"}\n'
        b"<<<<<<< HEAD\n" + chat.read_bytes() + b'{"role":"user", "content":["a"],'
        b'"ts":"2026-03-10T12:00:00Z","meta":{"channel":"x","b":1.0}}\n'
        b'{"role":"user","content":"<private>secret</private> said","ts":"2026-03-11T12:00:00Z"}\n'
    )
    memory = next(folder.glob("projects/app/decisions/*.md"))
    memory.write_bytes(memory.read_bytes().replace(b"---\n", b"---\n# by hand\nmood:  'good'\n", 1))
    shutil.copy(memory, memory.with_name("copy of a memory with a long name.md"))
    (folder / "decisions").mkdir(exist_ok=True)
    (folder / "decisions/broken.md").write_bytes(b"---\nid: [\n---\nx\xff")
    (folder / "decisions/2026-03-10_mine.md").write_text("A decision of mine.\r\n")
    (folder / "core_memory.json").write_text('{"agent": {}, "user": {"name": "Ada", "n": 7}}')
    (folder / "memories").mkdir()
    (folder / "memories/note.txt").write_text("a note")
    (folder / "MEMORY.md").write_text("# Notes\n\nText.\n")


def test_L2_everything_comes_back_byte_for_byte(tmp_path: Path) -> None:
    before = make_vault(tmp_path / "vault")
    store = make_location()
    seen: list[tuple[int, int]] = []
    pushed = push(store, tmp_path / "vault", progress=lambda *numbers: seen.append(numbers))
    assert seen[-1][0] == seen[-1][1] > 5
    assert not pushed.problems
    pulled = pull(store, tmp_path / "copy", progress=lambda *numbers: seen.append(numbers))
    assert not pulled.problems
    assert (pushed.files, pushed.line_files) == (pulled.files, pulled.line_files)
    assert read_tree(tmp_path / "vault") == before
    assert read_tree(tmp_path / "copy") == before
    with Muisti.open(store) as memory:
        assert memory.verify(deep=True).ok
        assert memory.core_get().user == {"name": "Ada", "n": "7"}
        assert memory.search("secret said", source="message")
        assert "secret" not in str(memory.window("telegram_1", whole=True))


@settings(
    max_examples=amount(quick=4, all=25), deadline=None, suppress_health_check=list(HealthCheck)
)
@given(operations=st.lists(st.one_of(OPERATIONS, EXTRA), min_size=5, max_size=30))
def test_L2_any_vault_answers_the_same(
    tmp_path_factory: pytest.TempPathFactory, operations: list[Operation]
) -> None:
    base = tmp_path_factory.mktemp("moving")
    clock = FakeClock()
    with (
        pytest.MonkeyPatch.context() as monkeypatch,
        bootstrap.open(base / "vault", clock=clock, settings=OPTIONS) as vault,
    ):
        ids = run_operations(vault, clock, operations, monkeypatch)
    store = make_location()
    push(store, base / "vault")
    with bootstrap.open(store, clock=clock, settings=OPTIONS) as in_store:
        if not in_store.list(include_deleted=True) and not in_store.list_conversations():
            return  # there may be nothing to pull
        pull(store, base / "copy")
        assert read_tree(base / "copy") == read_tree(base / "vault")
        with (
            bootstrap.open(base / "vault", clock=clock, settings=OPTIONS) as original,
            bootstrap.open(base / "copy", clock=clock, settings=OPTIONS) as copy,
        ):
            for question in questions(ids, clock.now()):
                expected = ask(original, question)
                _check_equal(expected, ask(in_store, question), 1e-9)
                _check_equal(expected, ask(copy, question), 1e-9)


def run_operations(
    vault: Muisti, clock: FakeClock, operations: Sequence[Operation], patch: pytest.MonkeyPatch
) -> list[str]:
    """Run operations, whose IDs are always the same. Return the IDs of memories."""
    source = random.Random(1)
    patch.setattr(identity, "os", SimpleNamespace(urandom=source.randbytes))
    patch.setattr(identity, "_clock", identity._Clock())
    ids: list[str] = []
    for operation in operations:
        clock.forward(minutes=1)
        try:
            answer = do_more(vault, operation) or _do(vault, clock, ids, operation)
        except MuistiError:
            continue
        if isinstance(answer, Memory) and answer.id not in ids:
            ids.append(answer.id)
    return ids


def do_more(vault: Muisti, operation: Operation) -> Any:
    """Run an operation of EXTRA; return None if it is another one."""
    name, *rest = operation
    if name == "trash_message":
        messages = [one.id for one in vault.window("telegram_1", whole=True) if one.id]
        if messages:
            vault.delete_messages("telegram_1", [messages[rest[0] % len(messages)]])
        return True
    if name == "user_core":
        return vault.core_update("user", "name", rest[0], user=rest[0])
    if name == "forget_user":
        return vault.forget(user=rest[0])
    return vault.save("The deadline is March 17", user=rest[0]) if name == "user_save" else None


def ask(vault: Muisti, question: Callable[[Muisti], Any]) -> Any:
    try:
        return _plain(question(vault))
    except MuistiError as error:
        return type(error)


# -- Cut short


KILLED = """
import os, signal, sys
from muisti import bootstrap_moving
from muisti.lifecycle import moving
from muisti.storage.files import moving as folder
from muisti.storage.postgres.moving import PostgresMover

what, name, count, after, store, path = sys.argv[1:]
moving.BATCH = folder.BATCH = 2
owner = PostgresMover if what == "push" else folder.FolderMover
original, left = getattr(owner, name), int(count)

def call(self, *args):
    global left
    left -= 1
    if not left and after == "False":
        os.kill(os.getpid(), signal.SIGKILL)
    found = original(self, *args)
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)
    return found

setattr(owner, name, call)
if what == "push":
    bootstrap_moving.push(store, path)
else:
    bootstrap_moving.pull(store, path)
"""
PUSHES = [("begin", 1), ("write", 1), ("write", 3), ("write", 6), ("write_lines", 1),
          ("write_lines", 2), ("write_lines", 5), ("write_queue", 1)]  # fmt: skip
PULLS = [("begin", 1), ("write", 1), ("write", 2), ("write_lines", 1), ("write_lines", 2),
         ("finish", 1)]  # fmt: skip


def kill(what: str, step: tuple[str, int], after: bool, store: str, path: Path) -> None:
    """Push or pull, and be killed before or after one step."""
    arguments = [what, step[0], str(step[1]), str(after), store, str(path)]
    done = subprocess.run([sys.executable, "-c", KILLED, *arguments], check=False)
    assert done.returncode == -signal.SIGKILL


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("step", PUSHES)
def test_L2_a_push_that_was_killed_is_continued(
    tmp_path: Path, step: tuple[str, int], after: bool
) -> None:
    before = make_vault(tmp_path / "vault")
    store = make_location()
    kill("push", step, after, store, tmp_path / "vault")
    if (step, after) != (("begin", 1), False):
        with pytest.raises(VaultUnusable, match="a part of a vault only"):
            pull(store, tmp_path / "copy")
    push(store, tmp_path / "vault")
    pull(store, tmp_path / "copy")
    assert read_tree(tmp_path / "copy") == before
    with Muisti.open(store) as memory:
        assert memory.verify(deep=True).ok


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("step", PULLS)
def test_L2_a_pull_that_was_killed_is_continued(
    tmp_path: Path, step: tuple[str, int], after: bool
) -> None:
    before = make_vault(tmp_path / "vault")
    store = make_location()
    push(store, tmp_path / "vault")
    kill("pull", step, after, store, tmp_path / "copy")
    if step[0] == "write":
        with Muisti.open(store) as memory:  # it changes between the two attempts
            gone = memory.list()[0]
            memory.delete(gone.id, hard=True)
        pull(store, tmp_path / "copy")
        with Muisti.open(tmp_path / "copy") as memory:
            assert memory.get(gone.id, include_deleted=True) is None
            problems = {problem.path for problem in memory.verify(deep=True).problems}
        with Muisti.open(tmp_path / "vault") as memory:
            assert problems <= {problem.path for problem in memory.verify(deep=True).problems}
    elif (step, after) != (("finish", 1), True):
        pull(store, tmp_path / "copy")
        assert read_tree(tmp_path / "copy") == before
    else:
        with pytest.raises(VaultUnusable, match="is not empty"):
            pull(store, tmp_path / "copy")
        assert read_tree(tmp_path / "copy") == before


# -- A vault that changes meanwhile


def test_L2_what_changes_during_a_push_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_vault(tmp_path / "vault")
    changes = iter(["delete", "save", "update"])
    original = PostgresMover.write
    monkeypatch.setattr(moving, "BATCH", 3)

    def write(self: PostgresMover, *args: Any) -> int:
        found = original(self, *args)
        with Muisti.open(tmp_path / "vault") as memory:
            match next(changes, ""):
                case "delete":
                    memory.delete(memory.list()[0].id)
                case "save":
                    memory.save("Saved meanwhile, in another process")
                case "update":
                    memory.update(memory.list()[-1].id, content="Updated meanwhile")
        return found

    monkeypatch.setattr(PostgresMover, "write", write)
    store = make_location()
    assert not push(store, tmp_path / "vault").problems
    pull(store, tmp_path / "copy")
    assert read_tree(tmp_path / "copy") == read_tree(tmp_path / "vault")
    with Muisti.open(store) as memory:
        assert memory.search("saved meanwhile")
        assert memory.verify(deep=True).ok


def test_L2_a_journal_that_was_rewritten_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_vault(tmp_path / "vault")
    store = make_location()
    with monkeypatch.context() as patch:
        patch.setattr(PostgresMover, "write_queue", interrupt)
        with pytest.raises(KeyboardInterrupt):
            push(store, tmp_path / "vault")
    [journal] = (tmp_path / "vault/journal").glob("*.jsonl")
    journal.write_bytes(journal.read_bytes().replace(b"deadline", b"DEADLINE", 1))
    with Muisti.open(tmp_path / "vault") as memory:
        memory.forget(user="Ünal", hard=True)
    with pytest.raises(Conflict, match="was rewritten since the push began"):
        push(store, tmp_path / "vault")


@pytest.mark.parametrize("hard", [False, True])
def test_L2_what_is_forgotten_between_two_attempts_is_not_pushed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hard: bool
) -> None:
    vault, store = tmp_path / "vault", make_location()
    with Muisti.open(vault) as memory:
        memory.save("We chose PostgreSQL")
        memory.append_message("chat_1", "user", "My address is a secret")
        memory.append_message("chat_2", "user", "Hello")
    (vault / "conversations/chat_1/2020-01-01.jsonl").write_text("no message\n")
    at = datetime(2026, 3, 10, tzinfo=UTC)
    waiting = [
        Exchange(id=id_, at=at, session_id="chat_1", user="I like tea", assistant="")
        for id_ in ("x0", "x1")
    ]
    with monkeypatch.context() as patch:
        patch.setattr(FolderMover, "read_queue", lambda _: waiting)
        patch.setattr(PostgresMover, "finish", interrupt)
        with pytest.raises(KeyboardInterrupt):
            push(store, vault)
    with Muisti.open(vault) as memory:
        memory.forget(conversation="chat_1", hard=hard)
    shutil.rmtree(vault / "conversations/chat_1", ignore_errors=True)
    monkeypatch.setattr(FolderMover, "read_queue", lambda _: waiting[1:])
    push(store, vault)
    tenant = int(store.rpartition("%3D")[2])
    sql = f"SELECT id FROM muisti.queue WHERE tenant = {tenant}"
    assert run(store, sql, tenant) == [("x1",)]
    with Muisti.open(store) as memory:
        assert [one.name for one in memory.list_conversations()] == ["chat_2"]
        assert memory.search("address secret", mode="keyword") == []
        assert memory.verify(deep=True).problems == ()
    monkeypatch.undo()
    pull(store, tmp_path / "copy")
    shutil.rmtree(tmp_path / "copy/.queue")
    assert read_tree(tmp_path / "copy") == read_tree(vault)


@pytest.mark.parametrize("same", [False, True])
@pytest.mark.parametrize("first", [False, True])
def test_L2_of_two_pushes_at_once_one_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, same: bool, first: bool
) -> None:
    """The second one completes before or after the first one begins, which has written nothing."""
    for name in ("one", "two"):
        with Muisti.open(tmp_path / name) as memory:
            memory.save(f"This is in vault {name}")
    store = make_location()
    other = tmp_path / ("one" if same else "two")
    original = PostgresMover.begin

    def begin(self: PostgresMover, vault_id: str) -> None:
        monkeypatch.setattr(PostgresMover, "begin", original)
        if first:
            original(self, vault_id)
        push(store, other)
        if not first:
            original(self, vault_id)

    monkeypatch.setattr(PostgresMover, "begin", begin)
    with pytest.raises(Conflict, match="another `muisti push` to this database"):
        push(store, tmp_path / "one")
    with pytest.raises(VaultUnusable, match="this vault already" if same else "another vault"):
        push(store, tmp_path / "one")
    with Muisti.open(store) as memory:
        assert [one.content for one in memory.list()] == [f"This is in vault {other.name}"]
        assert memory.verify(deep=True).ok


def test_L2_a_journal_that_is_gone_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_vault(tmp_path / "vault")
    store = make_location()
    with monkeypatch.context() as patch:
        patch.setattr(PostgresMover, "write_queue", interrupt)
        with pytest.raises(KeyboardInterrupt):
            push(store, tmp_path / "vault")
    shutil.rmtree(tmp_path / "vault/journal")
    with pytest.raises(Conflict, match="was rewritten since the push began"):
        push(store, tmp_path / "vault")


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


# -- Vectors


def test_L2_vectors_of_the_same_model_are_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MUISTI_EMBEDDER", "hashing")
    make_vault(tmp_path / "vault")
    shutil.rmtree(tmp_path / "vault/memories")  # a store does not search notes
    (tmp_path / "vault/MEMORY.md").unlink()
    with Muisti.open(tmp_path / "vault") as memory:
        memory.reindex_missing()
        found = [(hit.memory.id, hit.score) for hit in memory.search("deadline", record=False)]
        memories = memory.get_stats().total_count
    embedded: list[object] = []
    monkeypatch.setattr(HashingEmbedder, "embed_documents", lambda *args: embedded.append(args))
    store = make_location()
    assert push(store, tmp_path / "vault").vectors >= memories
    assert pull(store, tmp_path / "copy").vectors >= memories
    for location in (store, tmp_path / "copy"):
        with Muisti.open(location) as memory:
            assert memory.get_stats().waiting_count == 0
            hits = memory.search("deadline", record=False)
            assert [hit.memory.id for hit in hits] == [id_ for id_, _ in found]
            assert [hit.score for hit in hits] == pytest.approx([score for _, score in found])
    assert not embedded


def test_L2_the_centre_of_the_vectors_is_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise other vectors would be compared, and results near the last place would differ."""
    monkeypatch.setenv("MUISTI_EMBEDDER", "hashing")
    monkeypatch.setattr(vector_codes, "FIRST_CENTRE", 4)
    store = make_location()
    with Muisti.open(tmp_path / "vault") as memory:
        for number in range(6):  # it is due after four
            memory.save(f"Memory number {number} is about otters")
    push(store, tmp_path / "vault")
    pull(store, tmp_path / "copy")
    centres = []
    for location in (tmp_path / "vault", store, tmp_path / "copy"):
        with Muisti.open(location) as memory:
            [space] = memory._services.vectors.spaces()
            centres.append(memory._services.vectors.get_centre(space))
            memory._services.vectors.prepare(space.identity, Centre(b"", 0))  # there are vectors
            assert memory._services.vectors.get_centre(space) == centres[-1]
            assert memory.verify(deep=True).problems == ()
    assert centres[0] is not None
    assert centres[0].vector_count == 4
    assert centres == [centres[0]] * 3
