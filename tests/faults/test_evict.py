"""Eviction moves whole files, none that is protected, and every one of them can be brought back
(contract G4).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from muisti import Memory, Muisti, bootstrap
from muisti.lifecycle import retention as clean
from muisti.storage.clock import SystemClock
from tests.conftest import FakeClock
from tests.tiers import amount

from .crash import killed_at
from .invariants import check_rebuild, check_sound, everything
from .test_processes import together

COUNT = amount(quick=90, all=240)
PROTECTED = ("decision", "pinned", "active")


def fill(memory: Muisti, clock: FakeClock, count: int = COUNT) -> dict[str, str]:
    """Memories of many kinds and sizes; answers why each is protected, empty if it is not."""
    session = memory.start_session("apollo", session_id="active").id
    ended = memory.start_session("apollo", session_id="ended").id
    memory.end_session(ended)
    why = {}
    drafts = []
    for n in range(count):
        reason = PROTECTED[n // 10 % 3] if n % 10 == 0 else ""
        drafts.append(
            {
                "content": f"Item {n} tells of subject{n}" + f" and of more{n}" * (n % 7) * 10,
                "kind": "decision" if reason == "decision" else ("fact", "note", "insight")[n % 3],
                "project": ("", "apollo", "gemini")[n % 3],
                "pinned": reason == "pinned",
                "session_id": session if reason == "active" else (ended if n % 4 == 1 else None),
                "tier": "session" if n % 20 == 13 and n % 4 == 1 else "project",
            }
        )
    for n, one in enumerate(memory.save_batch(drafts)):
        why[one.id] = PROTECTED[n // 10 % 3] if n % 10 == 0 else ""
    clock.forward(days=1)
    assert set(why.values()) == {*PROTECTED, ""}
    assert len(why) == count
    return why


def live_files(vault: Path) -> dict[str, bytes]:
    """The memories' files that are neither in the trash nor in the archive, by path."""
    found = {path.relative_to(vault).as_posix(): path for path in vault.rglob("*.md")}
    return {
        name: path.read_bytes()
        for name, path in found.items()
        if name[0] != "." and not name.startswith("archive/")
    }


def size(vault: Path) -> int:
    return sum(len(data) for data in live_files(vault).values())


def check_clean(memory: Muisti, archived: set[str]) -> None:
    """Nothing that looks at the files is surprised by the archive, or brings anything back from it."""
    for look in (memory.sync, memory.reindex, memory.sync):
        report = look()
        assert (report.missing, report.problems) == (0, ())
        assert {m.id for m in memory.list_archive()} == archived
        assert not archived & {m.id for m in everything(memory)}
    check_sound(memory)


def test_G4_everything_is_evicted_but_what_is_protected(vault: Path, clock: FakeClock) -> None:
    with bootstrap.open(vault, clock=clock) as memory:
        why = fill(memory, clock)
        files = live_files(vault)
        was = {m.id: m.file_path for m in memory.list(limit=None)}
        told = memory.evict(0)
        free = {id_ for id_, reason in why.items() if not reason}
        assert {m.id for m in told} == free
        assert Counter(m.id for m in memory.list_archive()) == Counter(free)
        assert {m.id for m in memory.list(limit=None)} == why.keys() - free
        assert live_files(vault).items() <= files.items()
        assert memory.evict(0) == [], "what is left is protected"
        check_clean(memory, free)
        for id_ in free:
            assert memory.restore(id_).file_path == was[id_]
        assert live_files(vault) == files, "byte for byte and at its old path"
        assert memory.list_archive() == []
        assert {hit.memory.id for hit in memory.search("Item tells", limit=1000)} & free
        check_sound(memory)
    check_rebuild(vault, clock)


def test_G4_no_more_than_needed_goes_and_the_longest_unused_first(
    vault: Path, clock: FakeClock
) -> None:
    """Measured on the files of live memories: the index file does not shrink, and would have
    everything evicted.
    """
    with bootstrap.open(vault, clock=clock, settings={"session_idle_hours": 1000}) as memory:
        why = fill(memory, clock)
        used = [id_ for id_, reason in why.items() if not reason][::5]
        for n, id_ in enumerate(used):
            clock.forward(minutes=n)
            memory.touch(id_)
        before = {m.id: m for m in memory.list(limit=None)}
        total = size(vault)
        assert memory.evict(total) == [], "at the limit nothing is too much"
        limit = total - 1
        dry = memory.evict(limit, to=0.6, dry_run=True)
        told = memory.evict(limit, to=0.6)
        assert [m.id for m in dry] == [m.id for m in told]
        assert size(vault) <= 0.6 * limit
        last = len((vault / "archive").joinpath(_archived_name(vault, told[-1])).read_bytes())
        assert size(vault) + last > int(0.6 * limit), "one less would not have been enough"
        gone = [m.id for m in told]
        queue = sorted(
            (id_ for id_ in before if not why[id_]), key=lambda id_: _unused_since(before[id_])
        )
        assert gone == queue[: len(gone)]
        assert memory.evict(limit, to=0.6) == [], (
            "below the limit nothing happens, though it is no more than the share"
        )
        assert memory.get_stats().total_count == COUNT - len(gone)


def _unused_since(memory: Memory) -> tuple[object, ...]:
    return memory.last_accessed or memory.created_at, memory.created_at, memory.id


def _archived_name(vault: Path, memory: Memory) -> str:
    found = next((vault / "archive").rglob(f"*{memory.id}.md"))
    return found.relative_to(vault / "archive").as_posix()


def _pin(other: Muisti, id_: str) -> None:
    other.update(id_, pinned=True)


def _decide(other: Muisti, id_: str) -> None:
    other.update(id_, kind="decision")


def _go_on(other: Muisti, id_: str) -> None:
    other.start_session("apollo", session_id="ended")


def _trash(other: Muisti, id_: str) -> None:
    other.delete(id_)


def _erase(other: Muisti, id_: str) -> None:
    other.delete(id_, hard=True)


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize(
    "change", [_pin, _decide, _go_on, _trash, _erase], ids=lambda change: change.__name__
)
def test_G4_what_changes_between_choosing_and_moving_stays(
    vault: Path,
    clock: FakeClock,
    change: Callable[[Muisti, str], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with bootstrap.open(vault, clock=clock) as memory, bootstrap.open(vault, clock=clock) as other:
        why = fill(memory, clock, 120)
        of_ended = [m.id for m in memory.list(limit=None, session="ended") if not why[m.id]]
        chosen = of_ended[0]
        choose = clean._choose_evicted

        def chosen_and_changed(*args: object) -> list[str]:
            ids = choose(*args)  # type: ignore[arg-type]
            assert chosen in ids
            change(other, chosen)
            return ids

        monkeypatch.setattr(clean, "_choose_evicted", chosen_and_changed)
        told = {m.id for m in memory.evict(0)}
        stays = set(of_ended) if change is _go_on else {chosen}
        assert not told & stays
        assert (
            {m.id for m in memory.list_archive()}
            == told
            == {id_ for id_ in why if not why[id_]} - stays
        )
        check_clean(memory, told)


def test_G4_a_file_that_a_person_pins_while_the_vault_is_open_stays(
    vault: Path, clock: FakeClock
) -> None:
    """The file is the truth: it counts what it says now, not what the index saw of it."""
    with bootstrap.open(vault, clock=clock) as memory:
        one = memory.save("A person pins this by hand", kind="note")
        memory.save("Nobody cares for this one", kind="note")
        path = vault / str(one.file_path)
        text = path.read_text()
        path.write_text(text.replace("\n", "\npinned: true\n", 1))
        memory.evict(0)
        assert path.exists()
        report = memory.sync()
        assert report.problems == ()
        kept = memory.get(one.id)
        assert kept is not None
        assert kept.pinned


@pytest.mark.parametrize("way", ["evict", "cleanup"])
def test_G4_a_file_that_a_person_removed_while_the_vault_is_open_stops_nothing(
    vault: Path, clock: FakeClock, way: str
) -> None:
    with bootstrap.open(vault, clock=clock) as memory:
        ids = [memory.save(f"Item {n} tells of subject{n}", salience=0.05).id for n in range(10)]
        gone = memory.get(ids[3])
        assert gone is not None
        (vault / str(gone.file_path)).unlink()
        told = memory.evict(0) if way == "evict" else memory.cleanup(0.1)
        assert {m.id for m in told} == set(ids) - {ids[3]}
        check_sound(memory)


def test_G4_edited_by_hand_and_archived_before_anybody_looked(
    vault: Path, clock: FakeClock
) -> None:
    """Whatever a person wrote goes along, and comes back as they wrote it."""
    with bootstrap.open(vault, clock=clock) as memory:
        one = memory.save("The kettle is blue", kind="note")
        path = vault / str(one.file_path)
        path.write_text(path.read_text().replace("blue", "green, and whistles"))
        data = path.read_bytes()
        memory.evict(0)
        assert not path.exists()
        assert memory.restore(one.id).content == "The kettle is green, and whistles"
        assert path.read_bytes() == data
        check_sound(memory)


def test_G4_its_place_is_taken_when_it_comes_back(vault: Path, clock: FakeClock) -> None:
    with bootstrap.open(vault, clock=clock) as memory:
        ids = []
        for n in range(3):
            ids.append(
                memory.save(f"Text {n} under the same title", title="The title", kind="note").id
            )
            memory.evict(0)
        assert len(memory.list_archive()) == 3
        restored = [memory.restore(id_) for id_ in ids]
        assert len({m.file_path for m in restored}) == 3
        assert {m.content for m in memory.list()} == {
            f"Text {n} under the same title" for n in range(3)
        }
        memory.evict(0)
        assert {m.id for m in memory.list_archive()} == set(ids)
        check_clean(memory, set(ids))


@pytest.mark.parametrize("length", [40, 200])
def test_G4_a_long_name_that_a_person_gave_comes_back(
    vault: Path, clock: FakeClock, length: int
) -> None:
    with bootstrap.open(vault, clock=clock) as memory:
        (vault / "notes").mkdir()
        paths = [vault / "notes" / f"{'n' * length}{end}.md" for end in ("a", "b")]
        for path in paths:
            path.write_text(f"Under a long name that ends with {path.stem[-1]}\n")
        memory.sync()
        files = live_files(vault)
        ids = [m.id for m in memory.evict(0)]
        for id_ in ids:
            memory.restore(id_)
        assert live_files(vault) == files


def _copied_back(vault: Path, memory: Muisti, id_: str) -> Path:
    """A person, or git, puts a copy of an archived file where it was."""
    archived = next((vault / "archive").rglob(f"*.{id_}.md"))
    back = vault / "notes" / f"{archived.name.removesuffix(f'.{id_}.md')}.md"
    back.write_bytes(archived.read_bytes())
    memory.sync()
    return back


def test_G4_what_was_copied_back_is_evicted_again(vault: Path, clock: FakeClock) -> None:
    """It does not stand in the way of the others, and neither of the two is lost."""
    with bootstrap.open(vault, clock=clock) as memory:
        one = memory.save("Archived, and then copied back by hand", kind="note")
        memory.evict(0)
        _copied_back(vault, memory, one.id)
        memory.update(
            one.id, content="Archived, copied back, and then changed: now about lighthouses"
        )
        memory.save("Another one about harbours", kind="note")
        assert len(memory.evict(0)) == 2
        assert memory.list() == []
        texts = " ".join(path.read_text() for path in vault.rglob("*.md"))
        assert "copied back by hand" in texts
        assert "lighthouses" in memory.restore(one.id).content, "the later one comes back"


def test_G4_what_was_copied_back_is_erased_at_both_places(vault: Path, clock: FakeClock) -> None:
    with bootstrap.open(vault, clock=clock) as memory:
        one = memory.save("The flamingocanary, archived and then copied back", kind="note")
        memory.evict(0)
        _copied_back(vault, memory, one.id)
        assert memory.delete(one.id, hard=True)
        assert [
            p for p in vault.rglob("*") if p.is_file() and b"flamingocanary" in p.read_bytes()
        ] == []


@pytest.mark.parametrize("k", [3, 5, 9, 14, 19, 24])
def test_G4_killed_after_some_were_moved(vault: Path, clock: FakeClock, k: int) -> None:
    """In a vault so small that so many vanished files would otherwise stop a sync and ask a person."""
    with bootstrap.open(vault, clock=clock) as memory:
        ids = {memory.save(f"Item {n} tells of subject{n}", kind="note").id for n in range(6)}
    killed_at(k, vault, clock, lambda m: m.evict(0))
    moved = {path.name[-39:-3] for path in vault.glob("archive/**/*.md")}
    with bootstrap.open(vault, clock=clock, settings={"sync_on_open": False}) as memory:
        report = memory.sync()
        assert (report.missing, report.problems) == (0, ())
        assert {m.id for m in memory.list()} == ids - moved
        assert {m.id for m in memory.list_archive()} == moved
        memory.evict(0)
        check_clean(memory, ids)
        for id_ in ids:
            memory.restore(id_)
        assert {m.id for m in memory.list()} == ids
    check_rebuild(vault, clock)


@pytest.mark.exhaustive
def test_G4_two_processes_evict_while_another_pins(vault: Path) -> None:
    """Each memory goes once or stays, and none goes that was pinned."""
    with bootstrap.open(vault) as memory:
        ids = {
            m.id for m in memory.save_batch([f"Item {n} tells of subject{n}" for n in range(COUNT)])
        }
    said = together(vault, ("evict", 12), ("evict", 12), ("pin", 80))
    evicted = [id_ for one in said for id_ in one.get("ids", ())]
    pinned = set(said[2]["pinned"])
    assert pinned, "nothing was pinned: the test tells nothing"
    assert len(evicted) == len(set(evicted)), "one was archived twice"
    assert not pinned & set(evicted)
    assert {*pinned, *evicted} == ids
    with bootstrap.open(vault) as memory:
        assert {m.id for m in memory.list(limit=None)} == pinned
        check_clean(memory, set(evicted))
        back = evicted[::8]
        for id_ in back:
            memory.restore(id_)
        assert {m.id for m in memory.list(limit=None)} == pinned.union(back)
    check_rebuild(vault, SystemClock())
