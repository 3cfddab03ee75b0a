"""What must hold after every fault: the invariants A to F of the fault table, as functions."""

from __future__ import annotations

import shutil
from pathlib import Path

import apsw

from muisti import Memory, Muisti, bootstrap
from muisti.ports import Clock
from muisti.storage.files import frontmatter
from muisti.storage.files.store import FileStore
from muisti.storage.sqlite.owner import IndexOwner
from tests.conftest import file_store

State = tuple[tuple[object, ...], ...]


def everything(memory: Muisti) -> list[Memory]:
    """All memories, those in the trash too."""
    return memory.list(limit=None, include_deleted=True)


def state(memory: Muisti) -> State:
    """What the vault holds, without ids and use: the same for a first try and for its repetition.

    What is in the trash or the archive is there too, marked as such, so that moved is not taken for
    lost.
    """
    found = [(m, "live" if m.deleted_at is None else "trash") for m in everything(memory)]
    found += [(m, "archive") for m in memory.list_archive()]
    contents = {m.id: m.content for m, _ in found}
    return tuple(sorted(_row(m, where, contents) for m, where in found))


def _row(m: Memory, where: str, contents: dict[str, str]) -> tuple[object, ...]:
    links = sorted(
        (link.type.value, contents.get(link.target, "?"), link.proposed) for link in m.links
    )
    return (
        m.content,
        m.title,
        m.kind,
        m.project,
        where,
        m.valid_until is None,
        m.importance,
        m.pinned,
        tuple(links),
    )


def mixed(found: State, before: State, after: State) -> bool:
    """Whether each memory is as it was or as it is to be, for operations on many of which each
    stands for itself.

    Memories that are to be new come all at once or not at all.
    """

    def rows(of: State, content: object) -> State:
        return tuple(row for row in of if row[0] == content)

    known = {row[0] for row in before}
    new = tuple(row for row in found if row[0] not in known)
    return new in ((), tuple(row for row in after if row[0] not in known)) and all(
        rows(found, content) in (rows(before, content), rows(after, content)) for content in known
    )


def usage(memory: Muisti) -> dict[str, tuple[object, ...]]:
    """How strong each memory is and how it was used."""
    return {
        m.id: (m.salience, m.access_count, m.last_accessed, m.updated_at)
        for m in everything(memory)
    }


def fingerprint(memory: Muisti) -> dict[str, str]:
    return file_store(memory).index.fingerprint()


def markdown_files(vault: Path) -> list[Path]:
    """Every memory's file; `.muisti` holds only the index and temporaries."""
    return [path for path in vault.rglob("*.md") if ".muisti" not in path.relative_to(vault).parts]


def check_files_whole(vault: Path) -> None:
    """B: every file is whole, even before anybody has repaired anything."""
    for path in markdown_files(vault):
        document = frontmatter.parse(path.read_text("utf-8"))
        assert document.body.strip(), f"{path} is not whole"


def bodies(vault: Path) -> set[str]:
    """The text of every file, wherever it lies: with the memories, in the trash, the archive or the
    history.
    """
    return {
        frontmatter.parse(path.read_text("utf-8")).body.strip() for path in markdown_files(vault)
    }


def copy_vault(template: Path, to: Path) -> Path:
    """Copy a vault, with an index that belongs to the copy: it is not read again on opening."""
    shutil.copytree(template, to)
    pointer = to / ".muisti" / "current"
    if pointer.exists():
        db = apsw.Connection(str(to / ".muisti" / pointer.read_text("ascii").strip()))
        IndexOwner(lambda: bootstrap.identify_folder(to)).stamp(db)
        db.close()
    return to


def check_sound(memory: Muisti) -> None:
    """D: the index is what a rebuild would make of the files, and nothing is left lying about."""
    memory.flush()
    report = memory.verify(deep=True)
    assert report.ok, report.problems
    if not isinstance(memory._services.store, FileStore):
        return
    left = [path.name for path in (memory.root / ".muisti" / "tmp").iterdir()]
    assert not left, f"temporaries were left: {left}"


def check_rebuild(vault: Path, clock: Clock) -> None:
    """A: without the index, the files alone bring everything back. The vault must be closed."""
    with bootstrap.open(vault, clock=clock) as memory:
        before = fingerprint(memory), state(memory), usage(memory)
    shutil.rmtree(vault / ".muisti")
    with bootstrap.open(vault, clock=clock) as memory:
        after = fingerprint(memory), state(memory), usage(memory)
        check_sound(memory)
    assert after == before


def check_found(memory: Muisti) -> None:
    """F: what is there is found."""
    for one in everything(memory):
        if one.deleted_at is None:
            hits = memory.search(one.content, limit=1000)
            assert one.id in {hit.memory.id for hit in hits}, one.content


def leaks(vault: Path, canaries: list[str]) -> list[str]:
    """Files below `.muisti` that hold a canary, in any case, in UTF-8."""
    wanted = [canary.lower().encode() for canary in canaries]
    found = []
    for path in (vault / ".muisti").rglob("*"):
        if path.is_file():
            data = path.read_bytes().lower()
            found += [f"{path.name}: {canary.decode()}" for canary in wanted if canary in data]
    return found
