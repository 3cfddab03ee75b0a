"""`hard=True` leaves no byte of the text below `.muisti/` (contract B6)."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from muisti import Muisti, bootstrap
from muisti.ports import Clock
from tests.tiers import steps

from .crash import ACKNOWLEDGED, killed_at
from .invariants import check_sound, leaks
from .test_index_locked import index_file


def canary(n: int) -> str:
    chance = random.Random(n)
    return "qx" + "".join(chance.choices("bcdfghjklmnpqrstvwz", k=14))


CANARIES = [canary(n) for n in range(60)]


def _text(n: int) -> str:
    return f"The {CANARIES[n]} of item {n}\n\nwith a longer body: {' '.join([CANARIES[n]] * 20)}"


def _saved(memory: Muisti) -> list[str]:
    """Singles and a batch, some updated, so that old versions have existed; canaries in every
    field.
    """
    ids = [
        memory.save(_text(n), keywords=[CANARIES[n]], files=[f"src/{CANARIES[n]}.py"]).id
        for n in range(20)
    ]
    ids += [
        m.id
        for m in memory.save_batch(
            [{"content": _text(n), "summary": CANARIES[n]} for n in range(20, 40)]
        )
    ]
    for n in range(40, 60):
        memory.update(ids[n - 40], content=_text(n), title=f"Title {CANARIES[n]}")
    return ids


def test_B6_hard_delete_leaves_no_byte(vault: Path, clock: Clock) -> None:
    with bootstrap.open(vault, clock=clock) as memory:
        kept = [memory.save(f"Bystander {n}").id for n in range(50)]
        ids = _saved(memory)
        assert leaks(vault, CANARIES), "the search for canaries does not find them"
        for canary_ in CANARIES[::7]:
            memory.search(canary_)
        for one in ids[::3]:
            memory.delete(one)  # from the trash, too
        for one in ids:
            assert memory.delete(one, hard=True)
        memory.flush()
        assert leaks(vault, CANARIES) == []
        assert len(memory.list(limit=None)) == len(kept)
        check_sound(memory)
        assert leaks(vault, CANARIES) == []
    assert not [p for p in vault.rglob("*.md") if any(c in p.read_text() for c in CANARIES)]


def test_B6_one_by_one(vault: Path, clock: Clock) -> None:
    """Right after each call, with everything else still there."""
    with bootstrap.open(vault, clock=clock) as memory:
        for n, one in enumerate(_saved(memory)):
            memory.delete(one, hard=True)
            gone = [CANARIES[n], *([CANARIES[n + 40]] if n < 20 else [])]
            assert leaks(vault, gone) == [], n


def test_B6_other_connections_are_open(vault: Path, clock: Clock) -> None:
    with bootstrap.open(vault, clock=clock) as memory, bootstrap.open(vault, clock=clock) as other:
        ids = _saved(memory)
        other.search(CANARIES[3])
        other.flush()
        for one in ids:
            memory.delete(one, hard=True)
        assert other.search(CANARIES[3]) == []
        assert leaks(vault, CANARIES) == []


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("k", range(1, 12, 2))
def test_B6_what_a_killed_rebuild_left_goes_too(vault: Path, clock: Clock, k: int) -> None:
    with bootstrap.open(vault, clock=clock) as memory:
        ids = _saved(memory)
    killed_at(k, vault, clock, lambda m: m.verify(deep=True))
    killed_at(k, vault, clock, lambda m: m.reindex())
    _check_erased(vault, clock, ids)


def test_B6_a_damaged_index_that_was_set_aside_goes_too(vault: Path, clock: Clock) -> None:
    with bootstrap.open(vault, clock=clock) as memory:
        ids = _saved(memory)
    index = index_file(vault)
    index.write_bytes(bytes(100) + index.read_bytes()[100:])
    bootstrap.open(vault, clock=clock).close()
    assert list((vault / ".muisti").glob("damaged-*"))
    _check_erased(vault, clock, ids)


def _check_erased(vault: Path, clock: Clock, ids: list[str]) -> None:
    with bootstrap.open(vault, clock=clock) as memory:
        for one in ids:
            memory.delete(one, hard=True)
        assert leaks(vault, CANARIES) == []
        check_sound(memory)


def test_B6_versions_and_merged_texts_go_whenever_it_is_killed(
    tmp_path: Path, clock: Clock
) -> None:
    """What was killed and asked for again leaves nothing in `.history` either."""
    template, vault = tmp_path / "template", tmp_path / "vault"
    with bootstrap.open(template, clock=clock) as memory:
        one = memory.save(f"The {CANARIES[0]} is kept in the second drawer from above", kind="fact")
        memory.save(f"the {CANARIES[0]} is kept in second drawer from above.", kind="fact")
        memory.update(one.id, content=f"Nobody knows any more where the {CANARIES[1]} is")
        assert len(list(template.glob(".history/*/*.md"))) == 2
    for k in steps(100):
        shutil.copytree(template, vault)
        answer = killed_at(k, vault, clock, lambda m: m.delete(one.id, hard=True))
        with bootstrap.open(vault, clock=clock) as memory:
            memory.delete(one.id, hard=True)
            left = [
                p
                for p in vault.rglob("*")
                if p.is_file() and any(c.encode() in p.read_bytes() for c in CANARIES[:2])
            ]
            assert not left, f"killed at step {k}: {left}"
        shutil.rmtree(vault)
        if answer == ACKNOWLEDGED:
            return


def test_B6_what_was_archived_goes_too(vault: Path, clock: Clock) -> None:
    with bootstrap.open(vault, clock=clock) as memory:
        memory.save("A decision that stays", kind="decision")
        ids = _saved(memory)
        assert len(memory.evict(0)) == len(ids)
        for one in ids:
            assert memory.delete(one, hard=True)
        assert leaks(vault, CANARIES) == []
        assert not [p for p in vault.rglob("*.md") if any(c in p.read_text() for c in CANARIES)]
        check_sound(memory)


def test_B6_erased_while_a_shadow_of_another_process_is_built(vault: Path, clock: Clock) -> None:
    """A rebuild that saw the text before it was erased must not bring it back."""
    with bootstrap.open(vault, clock=clock) as memory, bootstrap.open(vault, clock=clock) as other:
        ids = _saved(memory)

        def erase(_: int, __: int) -> None:
            for one in ids:
                other.delete(one, hard=True)

        memory.reindex(progress=erase)
        assert memory.list() == []
        assert leaks(vault, CANARIES) == []
        check_sound(memory)
    shutil.rmtree(vault)


def _copy(path: Path, name: str, *, edit: bool = True) -> Path:
    copy = path.parent / name
    text = path.read_text("utf-8")
    copy.write_text(text.replace(CANARIES[0], f"{CANARIES[0]} {CANARIES[1]}") if edit else text)
    return copy


def _put_copies(vault: Path, memory: Muisti, where: str) -> str:
    """A memory with a copy of the same ID, as programs that synchronize folders leave it."""
    saved = memory.save(_text(0), kind="fact")
    path = vault / str(saved.file_path)
    if where == "beside":
        _copy(path, f"{path.stem}.sync-conflict-20260310.md")
    elif where == "shorter name":
        _copy(path, "a.md")
    elif where == "other folder":
        (vault / "decisions").mkdir()
        _copy(path, "../decisions/copy.md")
    elif where == "broken":
        copy = _copy(path, "merge.md")
        copy.write_text(copy.read_text().replace("\nid:", "\n<<<<<<< HEAD\nid:", 1) + ">>>>>>> b\n")
    elif where == "archive":
        (vault / "archive").mkdir()
        _copy(path, "../archive/by hand.md")
    elif where == "renamed":
        path.rename(path.with_name("renamed.md"))
        return saved.id
    elif where == "trash":
        (vault / ".trash").mkdir()
        _copy(path, "../.trash/by hand.md")
    return saved.id


COPIES = ["beside", "shorter name", "other folder", "broken", "archive", "trash", "renamed"]


@pytest.mark.parametrize("where", COPIES)
@pytest.mark.parametrize("synced", [True, False])
def test_B6_hard_delete_reaches_copies_with_the_same_id(
    vault: Path, clock: Clock, where: str, synced: bool
) -> None:
    with bootstrap.open(vault, clock=clock) as memory:
        kept = memory.save("A bystander")
        memory_id = _put_copies(vault, memory, where)
        if synced:
            memory.sync()
        assert memory.delete(memory_id, hard=True)
        memory.sync()
        assert [one.id for one in memory.list(include_deleted=True)] == [kept.id]
        assert memory.list_archive() == []
        check_sound(memory)
    left = [
        path
        for path in vault.rglob("*")
        if path.is_file() and CANARIES[0].encode() in path.read_bytes()
    ]
    assert left == []
    with bootstrap.open(vault, clock=clock) as memory:
        memory.reindex()
        assert memory.get(memory_id, include_deleted=True) is None


@pytest.mark.parametrize("where", ["beside", "shorter name", "other folder"])
@pytest.mark.parametrize("verb", ["delete", "evict"])
def test_B6_a_copy_goes_where_the_memory_goes(
    vault: Path, clock: Clock, where: str, verb: str
) -> None:
    """Otherwise the memory would come back from it."""
    with bootstrap.open(vault, clock=clock) as memory:
        memory_id = _put_copies(vault, memory, where)
        memory.sync()
        memory.delete(memory_id) if verb == "delete" else memory.evict(max_bytes=1)
        memory.sync()
        assert memory.get(memory_id) is None
        assert memory.list() == []
        both = [path for path in vault.rglob("*.md") if CANARIES[0] in path.read_text()]
        assert len(both) == 2
        memory.restore(memory_id)
        assert memory.get(memory_id) is not None
        if verb == "delete":
            memory.delete(memory_id, hard=True)
            check_sound(memory)
            assert [path for path in vault.rglob("*.md") if CANARIES[0] in path.read_text()] == []
