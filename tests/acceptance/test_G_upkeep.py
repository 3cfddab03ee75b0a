"""G3, G4 · Upkeep: the weak to the trash, the longest unused to the archive, nothing erased."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from muisti import InvalidRequest, Memory, MemoryNotFound, Muisti
from tests.conftest import FakeClock, Opener


@pytest.fixture
def memory(opened: Opener) -> Muisti:
    return opened(embedder="none")


def everything(vault: Path) -> dict[str, bytes]:
    """All but the index."""
    found = {
        path.relative_to(vault).as_posix(): path for path in vault.rglob("*") if path.is_file()
    }
    return {
        name: path.read_bytes() for name, path in found.items() if not name.startswith(".muisti/")
    }


def ids(memories: object) -> list[str]:
    return [one.id for one in memories]  # type: ignore[attr-defined]


def size(memory: Muisti) -> int:
    return memory.upkeep(dry_run=True).live_bytes


def numbered(memory: Muisti, clock: FakeClock, count: int) -> list[Memory]:
    """One a day, all of one size."""
    saved = []
    for number in range(count):
        saved.append(
            memory.save(f"Remember thing number {number:03d}. " + "Filler. " * 50, kind="note")
        )
        clock.forward(days=1)
    return saved


# -- Cleanup


def test_G3_cleanup_moves_the_weak_to_the_trash_the_weakest_first(
    memory: Muisti, vault: Path
) -> None:
    kept = memory.save("Strong enough", kind="note", salience=0.2)
    weak = memory.save("A weak one", kind="note", salience=0.15)
    weaker = memory.save("A weaker thing", kind="note", salience=0.1)
    assert ids(memory.cleanup(0.2)) == [weaker.id, weak.id]
    assert ids(memory.list()) == [kept.id]
    assert len(list((vault / ".trash").rglob("*.md"))) == 2
    found = memory.get(weak.id, include_deleted=True)
    assert found is not None
    assert found.deleted_at is not None
    assert memory.verify(deep=True).ok


def test_G3_cleanup_goes_by_the_strength_now(memory: Muisti, clock: FakeClock) -> None:
    saved = memory.save("Remember this", kind="note", sector="episodic")
    assert memory.cleanup(0.5) == []
    clock.forward(days=60)
    assert ids(memory.cleanup(0.5)) == [saved.id]
    assert memory.cleanup(0.5) == []


def test_G3_cleanup_leaves_protected_kinds_pinned_ones_and_the_active_session(
    memory: Muisti,
) -> None:
    active, ended = memory.start_session(), memory.start_session()
    free = memory.save("Of a session that is over", kind="note", salience=0.05, session_id=ended.id)
    memory.save("We decided it", kind="decision", salience=0.05)
    memory.save("A pinned note", kind="note", salience=0.05, pinned=True)
    working = memory.save(
        "Of the session that runs", kind="note", salience=0.05, session_id=active.id
    )
    memory.end_session(ended.id)
    assert ids(memory.cleanup(1.0, dry_run=True)) == [free.id]
    assert ids(memory.cleanup(1.0)) == [free.id]
    memory.end_session(active.id)
    assert ids(memory.cleanup(1.0)) == [working.id]


def test_G3_unpinned_it_goes(memory: Muisti) -> None:
    saved = memory.save("A pinned note", kind="note", salience=0.05, pinned=True)
    assert memory.cleanup(1.0) == []
    memory.update(saved.id, pinned=False)
    assert ids(memory.cleanup(1.0)) == [saved.id]


def test_G3_a_dry_run_tells_the_same_and_changes_nothing(memory: Muisti, vault: Path) -> None:
    for n in range(3):
        memory.save(f"Weak thing {n}", kind="note", salience=0.05)
    before = everything(vault), memory.list()
    told = memory.cleanup(0.5, dry_run=True)
    assert (everything(vault), memory.list()) == before
    assert ids(memory.cleanup(0.5)) == ids(told)
    assert len(told) == 3


def test_G3_more_than_one_batch(memory: Muisti) -> None:
    memory.save_batch(
        [
            {"content": f"Weak thing number {n}", "kind": "note", "salience": 0.05}
            for n in range(230)
        ]
    )
    assert len(memory.cleanup(0.5)) == 230
    assert memory.get_stats().deleted_count == 230


@pytest.mark.parametrize("wrong", [-0.1, 1.1, float("nan"), True, "0.1", None])
def test_G3_a_limit_that_is_none_is_refused(memory: Muisti, wrong: float) -> None:
    memory.save("Weak thing", kind="note", salience=0.01)
    with pytest.raises(InvalidRequest, match="min_salience"):
        memory.cleanup(wrong)
    assert len(memory.list()) == 1


def test_G3_what_a_person_just_pinned_stays_and_the_index_sees_it(
    memory: Muisti, vault: Path
) -> None:
    saved = memory.save("Weak thing", kind="note", salience=0.05)
    path = vault / str(saved.file_path)
    path.write_text(path.read_text().replace("---\n", "---\npinned: true\n", 1))
    assert memory.cleanup(0.5) == []
    found = memory.get(saved.id)
    assert found is not None
    assert found.pinned


# -- Evict


def test_G3_below_the_limit_nothing_moves(memory: Muisti, clock: FakeClock) -> None:
    numbered(memory, clock, 5)
    assert memory.evict(size(memory)) == []
    assert memory.evict() == []


def test_G3_evict_archives_the_longest_unused_until_a_share_is_left(
    memory: Muisti, clock: FakeClock, vault: Path
) -> None:
    saved = numbered(memory, clock, 20)
    memory.touch(saved[0].id)
    limit = size(memory) - 1
    told = memory.evict(limit, dry_run=True)
    moved = memory.evict(limit)
    assert ids(moved) == ids(told) == ids(saved[1:5])
    assert size(memory) <= 0.85 * limit < size(memory) + limit / 19  # and not one more than needed
    assert ids(memory.list_archive()) == [saved[n].id for n in (4, 3, 2, 1)]
    assert len(list((vault / "archive").rglob("*.md"))) == 4
    for one in moved:
        assert memory.get(one.id, include_deleted=True) is None
    assert not set(ids(moved)) & {
        found.memory.id for found in memory.search("thing number 002", limit=50)
    }


def test_G3_those_of_one_use_go_by_age(memory: Muisti, clock: FakeClock) -> None:
    saved = numbered(memory, clock, 6)
    for one in reversed(saved):
        memory.touch(one.id)
    assert ids(memory.evict(size(memory) - 1, to=0.6)) == ids(saved[:3])


def test_G3_evict_leaves_decisions_pinned_ones_and_the_active_session(
    memory: Muisti, clock: FakeClock
) -> None:
    session = memory.start_session()
    memory.save("We decided it", kind="decision")
    memory.save("A pinned note", kind="note", pinned=True)
    memory.save("Of the session that runs", kind="note", session_id=session.id)
    (free,) = numbered(memory, clock, 1)
    assert ids(memory.evict(0, dry_run=True)) == [free.id]
    assert ids(memory.evict(0)) == [free.id]
    assert memory.evict(0) == []
    assert len(memory.list()) == 3


@pytest.mark.parametrize("hours", [24.0, 2.0])
def test_G3_a_session_that_nobody_ended_protects_for_a_day_after_its_last_use(
    opened: Opener, clock: FakeClock, hours: float
) -> None:
    memory = opened(embedder="none", session_idle_hours=hours)
    session = memory.start_session("web")
    first = memory.save("Of a session that never ended", kind="note", session_id=session.id)
    clock.forward(hours=0.9 * hours)
    second = memory.save("Said much later", kind="note", session_id=session.id)
    clock.forward(hours=0.9 * hours)
    assert memory.evict(0) == []
    assert memory.cleanup(1.0) == []
    clock.forward(hours=0.2 * hours)
    assert ids(memory.evict(0, dry_run=True)) == ids([first, second])
    assert ids(memory.cleanup(1.0, dry_run=True)) == ids([first, second])
    assert ids(memory.evict(0)) == ids([first, second])


USES = {
    "save": lambda memory, session, one: memory.save("More", session_id=session),
    "update": lambda memory, session, one: memory.update(one, content="Else", by_session=session),
    "search": lambda memory, session, one: memory.search("working", session_id=session),
    "reinforce": lambda memory, session, one: memory.reinforce(one, session_id=session),
    "link": lambda memory, session, one: memory.link_to_session(one, session),
    "start": lambda memory, session, one: memory.start_session(session_id=session),
    "message": lambda memory, session, one: memory.append_message(session, "user", "Hello"),
    "extract": lambda memory, session, one: memory.extract_and_save(session, "I like tea", "Fine"),
}


@pytest.mark.parametrize("use", USES)
def test_G3_every_use_of_a_session_counts(memory: Muisti, clock: FakeClock, use: str) -> None:
    session = memory.start_session(session_id="chat_1").id
    saved = memory.save("What we are working on", kind="note", session_id=session)
    clock.forward(hours=23)
    USES[use](memory, session, saved.id)
    memory.flush()
    clock.forward(hours=23)
    assert saved.id not in ids(memory.evict(0, dry_run=True))
    assert memory.get_session(session).last_used == clock.now() - timedelta(hours=23)
    clock.forward(hours=2)
    assert saved.id in ids(memory.evict(0, dry_run=True))


def test_G3_the_last_use_outlives_the_index(opened: Opener, clock: FakeClock) -> None:
    memory = opened(embedder="none")
    session = memory.start_session()
    clock.forward(hours=5)
    memory.save("Said later", session_id=session.id)
    known = memory.get_session(session.id)
    memory.reindex()
    assert memory.get_session(session.id) == known
    assert known.last_used == clock.now()


def test_G3_what_was_archived_comes_back_as_it_was(
    memory: Muisti, clock: FakeClock, vault: Path
) -> None:
    first, other = numbered(memory, clock, 2)
    memory.link(first.id, other.id, "BUILDS_ON")
    memory.deemphasize(first.id, 0.3)
    before = memory.get(first.id)
    text = (vault / str(first.file_path)).read_bytes()
    memory.touch(other.id)
    memory.update(other.id, pinned=True)
    assert before is not None
    assert ids(memory.evict(1)) == [first.id]
    assert memory.links(other.id) == []
    memory.reindex()
    assert memory.get(first.id) is None
    assert memory.restore(first.id) == replace(before, last_accessed=clock.now())
    assert (vault / str(first.file_path)).read_bytes() == text
    assert [link.target for link in memory.links(first.id)] == [other.id]
    assert memory.list_archive() == []
    assert memory.verify(deep=True).ok


@pytest.mark.needs_files("syncs")
def test_G3_archived_ones_are_no_vanished_files(opened: Opener, clock: FakeClock) -> None:
    memory = opened(embedder="none")
    numbered(memory, clock, 20)
    assert len(memory.evict(0)) == 20
    memory.close()
    memory = opened(embedder="none")
    assert not memory.sync().paused
    assert memory.list() == []
    assert len(memory.list_archive()) == 20


@pytest.mark.needs_files("compares the names of files")
def test_G3_two_of_one_name_do_not_collide_in_the_archive(memory: Muisti, vault: Path) -> None:
    first = memory.save("The first text", title="Same", kind="note")
    memory.evict(0)
    second = memory.save("Another thing altogether", title="Same", kind="note")
    (vault / str(second.file_path)).rename(vault / str(first.file_path))
    memory.sync()
    memory.evict(0)
    assert set(ids(memory.list_archive())) == {first.id, second.id}
    assert {memory.restore(one.id).content for one in (first, second)} == {
        "The first text",
        "Another thing altogether",
    }
    assert len(memory.list()) == 2


def test_G3_a_hard_delete_reaches_the_archive(memory: Muisti, vault: Path) -> None:
    saved = memory.save("Plughxyzzy to be erased", kind="note")
    memory.evict(0)
    assert memory.delete(saved.id, hard=True)
    assert not any(b"lughxyzzy to be" in data for data in everything(vault).values())
    with pytest.raises(MemoryNotFound):
        memory.restore(saved.id)


@pytest.mark.parametrize("live", [True, False])
def test_G3_a_hard_delete_reaches_every_copy_in_the_archive(
    memory: Muisti, vault: Path, *, live: bool
) -> None:
    saved = memory.save("Plughxyzzy to be erased", kind="note")
    text = (vault / str(saved.file_path)).read_bytes()
    for _ in range(3):
        memory.evict(0)
        (vault / str(saved.file_path)).write_bytes(text)  # somebody copies it back
        memory.sync()
    if not live:
        memory.evict(0)
    assert len(list((vault / "archive").rglob("*.md"))) == 3 + (not live)
    assert memory.delete(saved.id, hard=True)
    assert not any(b"lughxyzzy to be" in data for data in everything(vault).values())


def test_G3_an_archived_one_is_known_by_the_name_of_its_file(memory: Muisti, vault: Path) -> None:
    saved = memory.save("Something", kind="note")
    memory.evict(0)
    (file,) = (vault / "archive").rglob("*.md")
    assert memory.find_ids(saved.id) == memory.find_ids(saved.id[-8:]) == [saved.id]
    file.write_bytes(b"\xff")
    assert memory.find_ids(saved.id) == [saved.id]
    assert memory.find_ids("0" + saved.id[1:-1] + "*") == []


@pytest.mark.parametrize(
    ("limit", "to", "names"),
    [
        (-1, None, "max_bytes"),
        (1.5, None, "max_bytes"),
        (True, None, "max_bytes"),
        (1, 1.1, "to"),
        (1, -0.1, "to"),
        (1, "x", "to"),
    ],
)
def test_G3_an_odd_limit_is_refused(memory: Muisti, limit: int, to: float, names: str) -> None:
    memory.save("Something", kind="note")
    with pytest.raises(InvalidRequest, match=names):
        memory.evict(limit, to=to)
    assert len(memory.list()) == 1


def test_G3_a_limit_of_zero_in_the_settings_means_never(opened: Opener) -> None:
    memory = opened(embedder="none", evict_above=0)
    memory.save("Something", kind="note")
    assert memory.evict(dry_run=True) == []
    assert memory.upkeep().evicted == ()


# -- Upkeep


def test_G4_by_default_upkeep_only_notes_what_has_faded(memory: Muisti, clock: FakeClock) -> None:
    memory.save("Weak thing", kind="note", salience=0.05)
    memory.save("Strong thing", kind="note")
    clock.forward(days=100)
    report = memory.upkeep()
    assert (report.decayed, report.cleaned, report.evicted, report.limit_bytes) == (
        1,
        (),
        (),
        524_288_000,
    )
    assert memory.upkeep().decayed == 0
    assert len(memory.list()) == 2


def test_G4_upkeep_does_what_the_settings_of_the_vault_say(
    opened: Opener, clock: FakeClock, vault: Path
) -> None:
    vault.mkdir()
    (vault / "muisti.toml").write_text("cleanup_below = 0.2\nevict_above = 2000\nevict_to = 0.5\n")
    memory = opened(embedder="none")
    weak = memory.save("Weak thing", kind="note", salience=0.1)
    saved = numbered(memory, clock, 5)
    clock.forward(days=3)
    before = everything(vault)
    told = memory.upkeep(dry_run=True)
    assert everything(vault) == before
    assert memory.upkeep(dry_run=True) == told
    report = memory.upkeep()
    assert ids(report.cleaned) == ids(told.cleaned) == [weak.id]
    assert weak.id in ids(told.evicted) or ids(told.evicted) == ids(report.evicted)
    assert (told.dry_run, report.dry_run, report.decayed) == (True, False, told.decayed)
    assert ids(report.evicted)[:2] == ids(saved)[:2]
    assert size(memory) <= 1000
    assert report.live_bytes > report.limit_bytes == 2000
    again = memory.upkeep()
    assert (again.decayed, again.cleaned, again.evicted) == (0, (), ())
    assert memory.verify(deep=True).ok


OWN = """
[kinds.idea]
decay_per_day = 0.5
[kinds.law]
protected = true
"""


def test_G2_and_G3_kinds_of_ones_own(opened: Opener, clock: FakeClock, vault: Path) -> None:
    vault.mkdir()
    (vault / "muisti.toml").write_text(OWN)
    memory = opened(embedder="none")
    idea = memory.save("What if the index was in memory", kind="idea", sector="emotional")
    law = memory.save("No deploys on Fridays", kind="law", sector="episodic")
    clock.forward(days=9)
    found = {one.id: one.salience for one in memory.list()}
    assert found[idea.id] == pytest.approx(0.25)
    assert found[law.id] < 1  # protected from upkeep, not from time
    assert ids(memory.cleanup(1.0)) == [idea.id]
    assert memory.evict(0) == []
    assert ids(memory.list()) == [law.id]
