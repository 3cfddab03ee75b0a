"""G3, B3 · What upkeep put away and somebody wants back: it stays, and an index that is built anew
says so too.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from muisti import Muisti
from tests.acceptance.test_G_upkeep import ids, numbered, size
from tests.conftest import FakeClock, Opener


@pytest.fixture
def memory(opened: Opener) -> Muisti:
    return opened(embedder="none")


def rebuilt(memory: Muisti) -> dict[str, float]:
    """How strong each is by an index that is made from files and journal alone."""
    memory.reindex()
    assert memory.verify(deep=True).ok
    return {one.id: one.salience for one in memory.list()}


def test_G3_what_is_restored_after_a_cleanup_stays(opened: Opener, clock: FakeClock) -> None:
    memory = opened(embedder="none", cleanup_below=0.2)
    weak = memory.save("A weak one", kind="note", salience=0.15)
    assert ids(memory.upkeep().cleaned) == [weak.id]
    clock.forward(days=1)
    assert memory.restore(weak.id).salience == pytest.approx(0.5)
    assert memory.upkeep().cleaned == ()
    clock.forward(days=7)
    assert memory.upkeep().cleaned == ()
    found = memory.get(weak.id)
    assert found is not None
    assert rebuilt(memory) == {weak.id: pytest.approx(found.salience)}
    assert memory.history(weak.id)[-1].note == "from cleanup, salience 0.5"


def test_G3_restoring_makes_nothing_weaker(memory: Muisti) -> None:
    saved = memory.save("Rather strong", kind="note", salience=0.8)
    assert ids(memory.cleanup(0.9)) == [saved.id]
    assert memory.restore(saved.id).salience == pytest.approx(0.8)


def test_G3_what_a_person_deleted_comes_back_as_it_was(memory: Muisti, clock: FakeClock) -> None:
    weak = memory.save("A weak one", kind="note", salience=0.15)
    memory.cleanup(0.2)
    memory.restore(weak.id)
    memory.deemphasize(weak.id, 0.4)
    before = memory.get(weak.id)
    clock.forward(minutes=1)
    memory.delete(weak.id)
    assert memory.restore(weak.id) == before


def test_G3_what_is_restored_from_the_archive_is_not_the_next_to_go(
    memory: Muisti, clock: FakeClock
) -> None:
    saved = numbered(memory, clock, 4)
    memory.deemphasize(saved[0].id, 0.8)
    assert ids(memory.evict(size(memory) - 1, to=0.99)) == [saved[0].id]
    clock.forward(days=1)
    assert memory.restore(saved[0].id).salience == pytest.approx(0.5)
    assert ids(memory.evict(size(memory) - 1, to=0.99)) == [saved[1].id]
    assert rebuilt(memory)[saved[0].id] == pytest.approx(0.5)


@pytest.mark.parametrize("kind", ["note", "context", "unheard"])
def test_G3_the_strength_of_an_archived_one_is_known_from_the_journal(
    opened: Opener, clock: FakeClock, vault: Path, kind: str
) -> None:
    vault.mkdir()
    (vault / "muisti.toml").write_text("[kinds.unheard]\n")
    memory = opened(embedder="none")
    saved = memory.save("Remember this", kind=kind, sector="episodic", importance=0.9)
    clock.forward(days=9)
    memory.touch(saved.id)
    memory.reinforce(saved.id)
    clock.forward(days=9)
    before = memory.get(saved.id)
    assert before is not None
    assert 0.5 < before.salience < 1
    memory.evict(0)
    assert memory.restore(saved.id).salience == pytest.approx(before.salience)


@pytest.mark.parametrize("salience", ["x", 7, None, [], True])
def test_G3_a_journal_that_was_edited_badly_breaks_nothing(
    memory: Muisti, vault: Path, salience: object
) -> None:
    weak = memory.save("A weak one", kind="note", salience=0.15)
    memory.cleanup(0.2)
    memory.restore(weak.id)
    (journal,) = (vault / "journal").glob("*.jsonl")
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    edited = [
        {**line, "salience": salience} if line["event"] == "restored" else line for line in lines
    ]
    journal.write_text("".join(json.dumps(line) + "\n" for line in edited))
    memory.sync()
    assert rebuilt(memory) == {weak.id: pytest.approx(0.15)}
    assert memory.history(weak.id)[-1].what == "restored"
