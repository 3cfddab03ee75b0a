"""The sixteen acceptance criteria at the end of specification 4, one test each, and `touch`."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from muisti import Memory, Muisti
from tests.conftest import FakeClock, Opener

AUTH = "The auth module is in src/auth/index.ts"
AUTHENTICATION = "The authentication module is located in src/auth/index.ts"


@pytest.fixture
def memory(opened: Opener) -> Muisti:
    return opened(embedder="none", project="proj1")


def known(memory: Muisti, saved: Memory) -> Memory:
    found = memory.get(saved.id)
    assert found is not None
    return found


def after(memory: Muisti, clock: FakeClock, saved: list[Memory], days: int = 30) -> list[float]:
    clock.forward(days=days)
    return [known(memory, one).salience for one in saved]


def test_memory_crud_operations_work_correctly(memory: Muisti) -> None:
    saved = memory.save("Test", project="proj1")
    assert known(memory, saved) == saved
    assert memory.update(saved.id, content="Another test").content == "Another test"
    assert [one.id for one in memory.list()] == [saved.id]
    assert memory.delete(saved.id)
    assert memory.list() == []
    assert [one.id for one in memory.list(include_deleted=True)] == [saved.id]


@pytest.mark.parametrize(
    ("content", "sector"),
    [
        ("User asked about the authentication flow earlier", "episodic"),
        ("The auth handler is located in src/auth/handler.ts", "semantic"),
        ("To deploy: first run build, then push to main", "procedural"),
        ("Frustrated by the slow test suite", "emotional"),
        ("This codebase favors composition over inheritance", "reflective"),
        ("The function returns a string", "semantic"),
        ("The API endpoint is /api/users", "semantic"),
    ],
)
def test_auto_classification_assigns_appropriate_sectors(
    memory: Muisti, content: str, sector: str
) -> None:
    saved = memory.save(content)
    assert (saved.sector, saved.salience) == (sector, 1.0)


def test_simhash_deduplication_prevents_duplicates(memory: Muisti) -> None:
    first = memory.save(AUTH)
    assert len(first.simhash) == 16
    assert memory.save(AUTHENTICATION).id == first.id
    assert len(memory.list()) == 1


def test_similar_content_reinforces_existing_memory_salience(memory: Muisti) -> None:
    first = memory.save(AUTH)
    memory.deemphasize(first.id, 0.5)
    assert memory.save(AUTHENTICATION).salience == pytest.approx(0.55)


def test_concepts_extracted_from_content(memory: Muisti) -> None:
    assert "authentication flow" in memory.save("User asked about the authentication flow").concepts


def test_decay_reduces_salience_over_time_based_on_sector(memory: Muisti, clock: FakeClock) -> None:
    sectors = ("emotional", "semantic", "reflective", "procedural", "episodic")
    saved = [
        memory.save(f"Test number {n}", sector=sector, kind="note")
        for n, sector in enumerate(sectors)
    ]
    found = after(memory, clock, saved, days=7)
    assert found == sorted(found, reverse=True)
    assert len(set(found)) == 5
    assert max(found) < 1
    assert min(after(memory, clock, saved, days=3650)) >= 0.05


def test_importance_modulates_decay_rate(memory: Muisti, clock: FakeClock) -> None:
    high, low = (memory.save(f"Test number {n}", importance=n / 10, kind="note") for n in (9, 1))
    found = after(memory, clock, [high, low])
    assert found[0] > found[1]


def test_access_count_protects_from_decay(memory: Muisti, clock: FakeClock) -> None:
    often, once = (memory.save(f"Test number {n}", salience=0.5, kind="note") for n in (50, 1))
    for saved, times in ((often, 50), (once, 1)):
        for _ in range(times):
            memory.details([saved.id])
    found = after(memory, clock, [often, once])
    assert found[0] > found[1]
    assert known(memory, often).access_count == 50


def test_reinforce_and_deemphasize_adjust_salience_correctly(memory: Muisti) -> None:
    saved = memory.save("Test")
    assert memory.reinforce(saved.id, 0.5).salience == 1.0
    assert memory.deemphasize(saved.id, 0.5).salience == 0.5
    assert memory.reinforce(saved.id, 0.5).salience == 0.75
    assert memory.deemphasize(saved.id, 2.0).salience == 0.05


def test_soft_delete_works(memory: Muisti, clock: FakeClock) -> None:
    saved = memory.save("Test")
    assert memory.delete(saved.id)
    assert memory.get(saved.id) is None
    found = memory.get(saved.id, include_deleted=True)
    assert found is not None
    assert found.deleted_at == clock.now()


def test_hard_delete_removes_permanently(memory: Muisti, vault: Path) -> None:
    saved = memory.save("Plughxyzzy")
    assert memory.delete(saved.id, hard=True)
    assert memory.get(saved.id, include_deleted=True) is None
    assert not [
        path for path in vault.rglob("*") if path.is_file() and b"lughxyzzy" in path.read_bytes()
    ]


def test_restore_recovers_soft_deleted_memories(memory: Muisti) -> None:
    saved = memory.save("Test")
    memory.delete(saved.id)
    assert memory.restore(saved.id).deleted_at is None
    assert known(memory, saved) == saved


def test_session_memory_links_track_usage_types(memory: Muisti) -> None:
    saved = memory.save("Test", session_id="sess1")
    other = memory.save("Something else")
    for use in ("recalled", "updated", "reinforced"):
        memory.link_to_session(other.id, "sess1", use)
    assert {one.id for one in memory.get_by_session("sess1")} == {saved.id, other.id}
    assert {(one.memory_id, one.use.value) for one in memory.session_uses("sess1")} == {
        (saved.id, "created"),
        *((other.id, use) for use in ("recalled", "updated", "reinforced")),
    }


def test_supersede_creates_relationship_and_marks_valid_until(
    memory: Muisti, clock: FakeClock
) -> None:
    old, new = memory.save("Old fact"), memory.save("Something newer")
    memory.supersede(old.id, new.id)
    assert known(memory, old).valid_until == clock.now()
    (link,) = memory.links(old.id)
    assert (link.source, link.type, link.target, link.confidence) == (
        new.id,
        "SUPERSEDES",
        old.id,
        1.0,
    )


def test_get_superseding_memory_returns_newer_version(memory: Muisti) -> None:
    old, new = memory.save("Old fact"), memory.save("Something newer")
    memory.supersede(old.id, new.id)
    assert memory.superseding(old.id) == known(memory, new)
    assert memory.superseding(new.id) is None


def test_bi_temporal_queries_work(memory: Muisti, clock: FakeClock) -> None:
    start, day = clock.now(), timedelta(days=1)
    old = memory.save("The fee is ten euros", valid_from=start - 10 * day)
    clock.forward(days=5)
    new = memory.save("Twelve are to be paid")
    memory.supersede(old.id, new.id)

    def at(**when: object) -> list[str]:
        return [one.id for one in memory.list(**when)]  # type: ignore[arg-type]

    assert at(as_of=start - 11 * day) == []
    assert at(as_of=start) == at(as_of=start + 4 * day) == [old.id]
    assert at(as_of=start + 5 * day) == [new.id]
    assert at(as_of=start + 6 * day, known_at=start + day) == [old.id]
    assert at(known_at=start - day) == []


def test_touch_counts_an_access(memory: Muisti, clock: FakeClock) -> None:
    saved = memory.save("The API endpoint is /api/users")
    clock.forward(hours=1)
    touched = memory.touch(saved.id)
    assert (touched.access_count, touched.last_accessed) == (1, clock.now())
    assert (touched.salience, touched.updated_at) == (saved.salience, saved.updated_at)
    memory.reindex()
    assert known(memory, saved) == touched
