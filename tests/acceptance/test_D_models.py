"""D6 · The model changes: the old vectors serve until the new ones are complete, and the two never
mix.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from muisti.errors import EmbedderProblem, SettingsError
from muisti.models.embedders.hashing import HashingEmbedder
from tests.acceptance.test_D_embeddings import DOWN, TEXTS, lengths, remote, spaces, until
from tests.conftest import Opener, file_store
from tests.embed_server import EmbedServer, changed, serving


@pytest.fixture
def server() -> Iterator[EmbedServer]:
    with serving() as running:
        yield running


@pytest.mark.needs_files("opens the vault again")
def test_D6_a_changed_model_takes_over_when_it_is_complete(opened: Opener) -> None:
    first = opened(embedder="hashing")
    first.save_batch(TEXTS)
    assert first.get_stats().embedding_model == "hashing"
    first.close()
    memory = opened(embedder="onnx", model="minilm", embed_on_save=False)
    assert memory.get_stats().embedding_model == "hashing", "the old vectors serve"
    seen: list[tuple[object, ...]] = []
    done = memory.reindex_missing(progress=lambda *at: seen.append(at))
    assert (done, seen[-1]) == (len(TEXTS), (len(TEXTS), len(TEXTS)))
    assert memory.get_stats().embedding_model == "minilm"
    assert spaces(memory) == [("minilm", 384, 1)]
    assert lengths(memory) == {("minilm", 384)}
    assert {one.embedding_model for one in memory.list()} == {"minilm"}
    assert memory.search("feline", mode="vector")[0].memory.content == TEXTS[3]
    assert memory.verify(deep=True).ok


@pytest.mark.needs_files("opens the vault again")
def test_D6_the_old_vectors_stay_while_the_new_ones_cannot_be_made(
    opened: Opener, server: EmbedServer
) -> None:
    first = opened(embedder="onnx", model="minilm")
    first.save_batch(TEXTS)
    first.close()
    server.script = [DOWN] * 1000
    memory = remote(opened, server.url, model="new", embedder_retry=60.0)
    assert memory.search("cat sofa")[0].memory.content == TEXTS[3]
    assert memory.get_stats().embedding_model == "minilm"
    assert lengths(memory) == {("minilm", 384)}
    memory.close()
    back = opened(embedder="onnx", model="minilm")
    assert back.reindex_missing() == 0
    assert back.search("feline", mode="vector")[0].memory.content == TEXTS[3]


@pytest.mark.needs_files("opens the vault again")
def test_D6_half_of_the_new_vectors_are_never_searched(opened: Opener, server: EmbedServer) -> None:
    first = opened(embedder="onnx", model="minilm")
    first.save_batch([*TEXTS, *(f"Remark number {n} on nothing" for n in range(35))])
    first.close()
    memory = remote(opened, server.url, model="new", embedder_timeout=5.0, embedder_retry=60.0)
    good = changed(lambda found: found)
    server.script = [good, good, *[DOWN] * 1000]  # the dimensions and one batch
    with pytest.raises(EmbedderProblem):
        memory.reindex_missing()
    assert spaces(memory) == [("minilm", 384, 1), ("new", 64, 0)]
    assert lengths(memory) == {("minilm", 384), ("new", 64)}
    found = memory.search("feline", mode="vector")
    assert (found[0].memory.content, found.mode) == (TEXTS[3], "vector")
    assert file_store(memory).index.check() == []
    memory.close()
    server.script.clear()
    again = remote(opened, server.url, model="new", embedder_timeout=5.0)
    assert again.reindex_missing() == 40 - 32
    assert spaces(again) == [("new", 64, 1)]
    assert lengths(again) == {("new", 64)}
    assert file_store(again).index.check() == []


@pytest.mark.needs_files("opens the vault again")
@pytest.mark.parametrize(("before", "after"), [(384, 768), (768, 384), (384, 384)])
def test_D6_from_one_server_model_to_another(
    opened: Opener, server: EmbedServer, before: int, after: int
) -> None:
    server.hasher = HashingEmbedder(before)
    first = remote(opened, server.url, model="old", embedder_timeout=5.0)
    first.save_batch(TEXTS)
    assert spaces(first) == [("old", before, 1)]
    first.close()
    server.hasher = HashingEmbedder(after)
    memory = remote(opened, server.url, model="new", embedder_timeout=5.0)
    assert memory.search("walrus")[0].memory.content == TEXTS[0]
    memory.reindex_missing()
    assert spaces(memory) == [("new", after, 1)]
    assert lengths(memory) == {("new", after)}
    found = memory.search("docker compose deploys", mode="vector")
    assert (found[0].memory.content, found.mode, found.degraded) == (TEXTS[2], "vector", "")
    assert file_store(memory).index.check() == []


@pytest.mark.needs_files("opens the vault again")
def test_D6_the_same_name_with_other_dimensions_is_another_model(
    opened: Opener, server: EmbedServer
) -> None:
    first = remote(opened, server.url, embedder_timeout=5.0)
    first.save_batch(TEXTS)
    first.close()
    server.hasher = HashingEmbedder(96)
    memory = remote(opened, server.url, embedder_timeout=5.0)
    assert memory.reindex_missing() == len(TEXTS)
    assert lengths(memory) == {("m", 96)}


@pytest.mark.needs_files("opens the vault again")
def test_D6_a_model_changed_twice_leaves_nothing_of_the_one_between(
    opened: Opener, server: EmbedServer
) -> None:
    first = opened(embedder="hashing")
    first.save_batch([f"Text {n} of many" for n in range(40)])
    first.close()
    between = remote(opened, server.url, model="between", embedder_timeout=5.0, embedder_retry=60.0)
    good = changed(lambda found: found)
    server.script = [good, good, *[DOWN] * 1000]
    with pytest.raises(EmbedderProblem):
        between.reindex_missing()
    between.close()
    last = opened(embedder="onnx", model="minilm")
    assert last.reindex_missing() == 40
    assert lengths(last) == {("minilm", 384)}
    assert spaces(last) == [("minilm", 384, 1)]
    assert file_store(last).index.check() == []


@pytest.mark.needs_files("opens the vault again")
def test_D6_what_is_saved_during_the_change_is_in_both(opened: Opener, server: EmbedServer) -> None:
    first = opened(embedder="hashing")
    first.save_batch(TEXTS[:3])
    first.close()
    server.script = [DOWN] * 1000
    memory = remote(opened, server.url, embedder_retry=60.0)
    late = memory.save(TEXTS[3])
    assert memory.search("cat sofa")[0].memory.id == late.id
    memory.close()
    server.script.clear()
    again = remote(opened, server.url, embedder_timeout=5.0)
    assert again.reindex_missing() == 4
    assert spaces(again) == [("m", 64, 1)]
    assert again.search("cat sofa").degraded == ""


@pytest.mark.needs_files("opens the vault again")
def test_D5_a_process_that_began_while_the_server_was_down_gets_its_vectors_back(
    opened: Opener, server: EmbedServer
) -> None:
    first = remote(opened, server.url, embedder_timeout=5.0)
    first.save_batch(TEXTS)
    first.close()
    server.script = [DOWN] * 1000
    memory = remote(opened, server.url, embedder_timeout=5.0, embedder_retry=0.2)
    answer = memory.search("walrus")
    assert answer[0].memory.content == TEXTS[0]
    assert "out of order" in answer.degraded
    server.script = []
    assert until(lambda: memory.search("walrus").mode == "hybrid")
    assert memory.search("walrus").degraded == ""


@pytest.mark.parametrize(
    "wrong",
    [{"embedder": "magic"}, {"embedder": "openai"}, {"model": "no-such"}],
    ids=["kind", "no address", "model"],
)
def test_D_an_embedder_that_cannot_be_is_refused_before_anything_is_saved(
    opened: Opener, wrong: dict[str, str]
) -> None:
    with pytest.raises(SettingsError, match="embedder|^model must be one of"):
        opened(**wrong)


def test_D1_a_server_loads_the_model_in_the_background(opened: Opener) -> None:
    memory = opened()
    embedder = memory._services.embedders(None)
    assert embedder is not None
    embedder.close()
    assert not embedder.is_ready()
    memory.warm_up()
    assert until(embedder.is_ready)


_NEVER_CLOSES = """
import sys
import threading
from muisti import Muisti
memory = Muisti.open(sys.argv[1], embed_on_save=False)
memory.save_batch([f"Fact number {n} about {n * 7} other things" for n in range(300)])
print(len(memory.search("things")))
"""


def test_D5_a_program_that_never_closes_ends_well_while_vectors_are_made(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _NEVER_CLOSES, str(tmp_path / "vault")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "10", "")


def test_D5_the_thread_may_be_the_last_to_let_go() -> None:
    from muisti.remember.embedding_worker import _end

    raised: list[BaseException] = []

    def last() -> None:
        try:
            _end(threading.current_thread(), threading.Event(), threading.Event())
        except RuntimeError as error:
            raised.append(error)

    thread = threading.Thread(target=last)
    thread.start()
    thread.join()
    assert not raised
