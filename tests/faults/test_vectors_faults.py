"""What happens to vectors when the index is lost, processes die or work at once: B3, K1, K2."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import numpy as np
import pytest

from muisti import Muisti
from muisti.ports import Embedded, Piece
from muisti.remember.embed import hash_source
from tests.conftest import Opener, file_store
from tests.embed_server import EmbedServer, Handler, good, serving

TEXTS = [
    "Our cat sleeps on the sofa all day",
    "The budget for the third quarter was approved",
    "Deploys happen with docker compose on Fridays",
    "The bridge is closed for repairs until further notice",
    "Anna plays the violin in an orchestra",
]
QUERIES = [
    "feline",
    "money plans",
    "cat sofa",
    "closed bridge",
    "musician of the orchestra",
    "submarine",
]


@pytest.fixture
def server() -> Iterator[EmbedServer]:
    with serving() as running:
        yield running


def remote(opened: Opener, server: EmbedServer, **options: object) -> Muisti:
    return opened(
        **{
            "embedder": "ollama",
            "embedder_url": server.url,
            "model": "m",
            "embedder_timeout": 5.0,
            **options,
        }
    )


def rows(memory: Muisti, sql: str) -> list[tuple[object, ...]]:
    """Straight from the index file."""
    db = apsw.Connection(str(file_store(memory).index._db.path), flags=apsw.SQLITE_OPEN_READONLY)  # type: ignore[attr-defined]
    try:
        return [tuple(row) for row in db.execute(sql)]
    finally:
        db.close()


def answers(memory: Muisti) -> dict[tuple[str, str], list[tuple[str, float, str]]]:
    """What every query finds, in every mode."""
    return {
        (query, mode): [
            (r.memory.id, round(r.score, 6), r.matched_snippet)
            for r in memory.search(query, mode=mode)
        ]  # type: ignore[arg-type]
        for query in QUERIES
        for mode in ("hybrid", "vector", "keyword")
    }


def until(happened: Callable[[], object]) -> bool:
    """Whether it happens, within a time that only a broken program needs."""
    for _ in range(800):
        if happened():
            return True
        time.sleep(0.025)
    return False


def check_vectors(memory: Muisti, count: int) -> None:
    """Every memory has its vectors once, and nothing is left over."""
    assert file_store(memory).index.check() == []
    assert rows(memory, "SELECT count(*) FROM spaces") == [(1,)]
    assert rows(memory, "SELECT count(*) FROM unembedded") == [(0,)]
    assert rows(memory, "SELECT count(*), count(DISTINCT n) FROM embedded") == [(count, count)]
    assert rows(memory, "SELECT count(*) FROM vectors") == rows(
        memory, "SELECT sum(pieces) FROM embedded"
    )
    report = memory.verify(deep=True)
    assert report.ok, report.problems


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("how", ["reindex", "open"])
def test_B3_without_the_index_the_same_searches_give_the_same_answers(
    opened: Opener, vault: Path, how: str
) -> None:
    memory = opened(record_recall=False)
    memory.save_batch(TEXTS)
    memory.save(
        "# Long\n\n" + "\n\n".join(f"## Part {n}\n\n" + "Of this and that. " * 60 for n in range(2))
    )
    memory.save("Private", tier="session", session_id="s")
    before = answers(memory)
    memory.close()
    shutil.rmtree(vault / ".muisti")
    again = opened(record_recall=False)
    if how == "reindex":
        again.reindex()
    assert answers(again) == before
    check_vectors(again, 7)


def test_B3_reindex_keeps_the_vectors_without_asking_for_them_again(
    opened: Opener, server: EmbedServer
) -> None:
    memory = remote(opened, server)
    saved = memory.save_batch(TEXTS)
    memory.delete(saved[0].id)
    before = rows(
        memory,
        "SELECT m.id, v.first, v.last, v.scale, v.codes FROM vectors v JOIN memories m USING (n) ORDER BY m.id",
    )
    asked = len(server.requests)
    memory.reindex()
    memory.reindex()
    assert len(server.requests) == asked
    after = rows(
        memory,
        "SELECT m.id, v.first, v.last, v.scale, v.codes FROM vectors v JOIN memories m USING (n) ORDER BY m.id",
    )
    assert after == before
    check_vectors(memory, 5)
    assert memory.search("docker compose", mode="vector")[0].memory.content == TEXTS[2]
    assert memory.save("Saved after the rebuild").embedding_model == "m"
    check_vectors(memory, 6)


def test_B3_reindex_embeds_only_what_was_changed_by_hand(
    opened: Opener, server: EmbedServer, vault: Path
) -> None:
    memory = remote(opened, server)
    saved = memory.save_batch(TEXTS)
    path = vault / str(saved[1].file_path)
    path.write_text(path.read_text().replace(TEXTS[1], "A platypus was seen in the canteen"))
    asked = len(server.requests)
    memory.reindex()
    sent = [text for request in server.requests[asked:] for text in request["input"]]  # type: ignore[attr-defined]
    assert len(sent) == 1
    assert "platypus" in sent[0]
    check_vectors(memory, 5)


def test_B3_reindex_keeps_what_waits_for_vectors(
    opened: Opener, vault: Path, server: EmbedServer
) -> None:
    """Messages and documents as much as memories: an index that forgets them cannot be healed."""
    memory = remote(opened, server, record_recall=False)
    memory.save_batch(TEXTS[:2])
    server.script = [lambda handler, _: handler.answer("down", 500)] * 1000
    (vault / "docs").mkdir()
    (vault / "docs" / "house.md").write_text("# House\n\nThe roof is made of slate.\n")
    memory.index_path(str(vault / "docs"))
    memory.append_message("cli_main", "user", "The violin needs new strings")
    memory.save(TEXTS[2])
    waiting = memory.get_stats().waiting_count
    assert waiting == 3
    memory.reindex()
    assert memory.get_stats().waiting_count == waiting
    assert memory.verify().ok, memory.verify().problems


def test_B3_a_hand_edit_is_embedded_before_the_next_search(opened: Opener, vault: Path) -> None:
    memory = opened()
    saved = memory.save_batch(TEXTS)
    path = vault / str(saved[1].file_path)
    path.write_text(path.read_text().replace(TEXTS[1], "A platypus was seen in the canteen"))
    memory.sync()
    found = memory.search("duck-billed mammal", mode="vector")
    assert (found[0].memory.id, found.degraded) == (saved[1].id, "")
    check_vectors(memory, 5)


def _bytes_of(vault: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(vault.rglob("*")) if path.is_file())


def test_K2_a_hard_delete_leaves_no_vector_and_no_signs(opened: Opener, vault: Path) -> None:
    memory = opened()
    saved = memory.save_batch(TEXTS)
    ((number,),) = rows(memory, f"SELECT n FROM memories WHERE id = '{saved[0].id}'")
    ((v, codes),) = rows(memory, f"SELECT v, codes FROM vectors WHERE n = {number}")
    ((bits,),) = rows(memory, f"SELECT bits FROM signs WHERE v = {v}")
    assert isinstance(codes, bytes)
    assert isinstance(bits, bytes)
    memory.delete(saved[0].id, hard=True)
    for table in ("vectors", "embedded", "unembedded"):
        assert rows(memory, f"SELECT count(*) FROM {table} WHERE n = {number}") == [(0,)]
    assert rows(memory, f"SELECT count(*) FROM signs WHERE v = {v}") == [(0,)]
    check_vectors(memory, 4)
    memory.close()
    left = _bytes_of(vault)
    assert codes not in left
    assert codes[:48] not in left
    assert bits not in left


def test_K2_a_hard_delete_reaches_into_full_blocks(opened: Opener) -> None:
    memory = opened(embedder="hashing")
    parts = memory._services
    embedder = parts.embedders(None)
    assert embedder is not None
    gone, kept = memory.save_batch(TEXTS[:2])
    chance = np.random.default_rng(7)
    for saved, count in ((gone, 10), (kept, 4200)):
        found = chance.standard_normal((count, 256)).astype(np.float32)
        found /= np.linalg.norm(found, axis=1, keepdims=True)
        pieces = tuple(Piece(0, 1 + n % 20) for n in range(count))
        with parts.store.lock():
            parts.vectors.add(
                [Embedded(saved.id, hash_source(saved), embedder.identity(), pieces, found)]
            )
    numbers = {
        v
        for (v,) in rows(
            memory, f"SELECT v FROM vectors JOIN memories USING (n) WHERE id = '{gone.id}'"
        )
    }

    def in_blocks() -> set[object]:
        blocks = rows(memory, "SELECT numbers FROM sign_blocks")
        return {
            v
            for (block,) in blocks
            if isinstance(block, bytes)
            for v in np.frombuffer(block, np.int64).tolist()
        }

    assert len(numbers) == 10
    assert numbers <= in_blocks()
    memory.delete(gone.id, hard=True)
    assert not numbers & in_blocks()
    assert [result.memory.id for result in memory.search("anything", mode="vector")] == [kept.id]
    check_vectors(memory, 1)


FILL = """
import sys
from muisti import bootstrap

vault, url, batch = sys.argv[1:]
memory = bootstrap.open(vault, settings={"embedder": "ollama", "embedder_url": url, "model": "m", "embedder_timeout": 30.0})
print("ready", flush=True)
if batch == "wait":
    sys.stdin.readline()
print(memory.reindex_missing(), flush=True)
memory.close()
"""


def _process(vault: Path, server: EmbedServer, how: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", FILL, str(vault), server.url, how],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def _waiting(opened: Opener, count: int) -> None:
    """A vault whose memories have no vectors."""
    with opened(embedder="none") as memory:
        memory.save_batch([f"Remark {n} on subject {n * 7919}" for n in range(count)])


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("batches", [0, 1, 2])
def test_K2_killed_while_vectors_are_made(
    opened: Opener, vault: Path, server: EmbedServer, batches: int
) -> None:
    _waiting(opened, 80)

    def held(handler: Handler, texts: list[str]) -> None:
        handler.server.released.wait(30)

    server.script = [good, *[good] * batches, *[held] * 10]
    process = _process(vault, server, "go")
    try:
        assert until(lambda: len(server.requests) >= 2 + batches)
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    server.released.set()
    with server.lock:
        server.script.clear()
    memory = remote(opened, server)
    report = memory.verify(deep=True)
    assert report.ok, report.problems
    assert file_store(memory).index.check() == []
    assert memory.reindex_missing() == 80 - 32 * batches
    check_vectors(memory, 80)


@pytest.mark.exhaustive
def test_K2_killed_at_any_moment_of_filling(
    opened: Opener, vault: Path, server: EmbedServer
) -> None:
    """Again and again, each time a little later: in the end everything is there."""
    _waiting(opened, 150)
    for number in range(3):
        process = _process(vault, server, "go")
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.02 * number)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        with remote(opened, server, embed_on_save=False) as memory:
            report = memory.verify(deep=True)
            assert report.ok, report.problems
    memory = remote(opened, server)
    memory.reindex_missing()
    check_vectors(memory, 150)


@pytest.mark.exhaustive
def test_K1_two_processes_fill_at_once(opened: Opener, vault: Path, server: EmbedServer) -> None:
    _waiting(opened, 150)
    both = [_process(vault, server, "wait") for _ in range(2)]
    for process in both:
        assert process.stdout is not None
        process.stdout.readline()
    for process in both:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    said = [(*process.communicate(timeout=60), process.returncode) for process in both]
    for out, errors, code in said:
        assert code == 0, errors or out
    memory = remote(opened, server)
    assert memory.reindex_missing() == 0
    check_vectors(memory, 150)


def test_K1_saves_during_a_fill_are_embedded_too(
    opened: Opener, vault: Path, server: EmbedServer
) -> None:
    _waiting(opened, 100)
    process = _process(vault, server, "wait")
    assert process.stdout is not None
    process.stdout.readline()
    memory = remote(opened, server)
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()
    for n in range(10):
        memory.save(f"Saved meanwhile, number {n}")
        memory.search("remark")
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    memory.reindex_missing()
    check_vectors(memory, 110)


@pytest.mark.parametrize("what", ["folder", "file", "pointer"])
def test_K2_an_index_deleted_while_open_is_healed_by_the_next_search(
    opened: Opener, vault: Path, what: str
) -> None:
    memory = opened(record_recall=False)
    memory.save_batch(TEXTS)
    before = answers(memory)
    index = vault / ".muisti"
    if what == "folder":
        shutil.rmtree(index)
    elif what == "pointer":
        (index / "current").unlink()
    else:
        for file in index.glob("index-*.db*"):
            file.unlink()
        (index / "current").unlink()
    assert memory.search("feline")[0].memory.content == TEXTS[0]
    assert answers(memory) == before
    check_vectors(memory, 5)


@pytest.mark.parametrize(
    "damage",
    [
        "DROP TABLE signs",
        "DROP TABLE vectors",
    ],
)
def test_K2_a_damaged_index_is_healed_or_told_of(opened: Opener, damage: str) -> None:
    memory = opened(record_recall=False)
    memory.save_batch(TEXTS)
    path = file_store(memory).index._db.path  # type: ignore[attr-defined]
    memory.close()
    db = apsw.Connection(str(path))
    db.execute(damage)
    db.close()
    again = opened(record_recall=False)
    assert again.search("cat sofa")[0].memory.content == TEXTS[0], "words are found at once"
    if not again.verify(deep=True).ok:
        again.reindex()
    assert again.search("feline")[0].memory.content == TEXTS[0]
    check_vectors(again, 5)


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM vectors WHERE v = 2",
        "DELETE FROM signs WHERE v = 2",
        "DELETE FROM entries WHERE n = 2",
    ],
)
def test_K2_lost_rows_are_told_of_by_verify_and_made_again_by_reindex(
    opened: Opener, damage: str
) -> None:
    memory = opened(record_recall=False)
    memory.save_batch(TEXTS)
    path = file_store(memory).index._db.path  # type: ignore[attr-defined]
    memory.close()
    db = apsw.Connection(str(path))
    db.execute(damage)
    db.close()
    again = opened(record_recall=False)
    assert not again.verify().ok
    again.reindex()
    assert again.search("money plans", mode="vector")[0].memory.content == TEXTS[1]
    check_vectors(again, 5)
