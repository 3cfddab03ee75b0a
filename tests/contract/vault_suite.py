"""What the files of memories must do."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import timedelta
from pathlib import PurePosixPath

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from muisti.errors import BrokenFile, Conflict, InvalidMemory
from muisti.model import Memory
from muisti.storage.files.vault import FileVault, compare_files
from tests.tiers import amount
from tests.unit.making import NOON, a_memory
from tests.unit.test_memory_codec import memories


class Bytes:
    """The stored files, past the vault: what a person or another program does."""

    def get(self, path: str) -> bytes:
        raise NotImplementedError

    def put(self, path: str, data: bytes) -> None:
        raise NotImplementedError

    def paths(self) -> set[str]:
        raise NotImplementedError


_QUICK = settings(
    max_examples=amount(quick=10, all=40),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


class VaultContract:
    """Subclasses give the fixtures `vault` (empty) and `raw` (its bytes)."""

    def test_what_is_created_is_read_and_scanned(self, vault: FileVault, raw: Bytes) -> None:
        (file,) = vault.create([a_memory(title="A title", keywords=("a",))])
        path = str(file.memory.file_path)
        assert path == "notes/2026-03-10_a_title_000001.md"
        again = vault.read(path)
        assert again is not None
        assert (again.memory, again.seen.sha, again.seen.stat) == (
            file.memory,
            file.seen.sha,
            file.seen.stat,
        )
        assert dict(vault.scan()) == {path: file.seen.stat}
        assert raw.get(path).startswith(b"---\n")

    @_QUICK
    @given(drawn=st.lists(memories(), min_size=1, max_size=4, unique_by=lambda memory: memory.id))
    def test_any_memories_come_back(self, vault: FileVault, drawn: list[Memory]) -> None:
        for file in vault.create(drawn):
            found = vault.read(str(file.memory.file_path))
            assert found is not None
            assert found.memory == file.memory
            assert found.memory in [
                replace(memory, file_path=found.memory.file_path) for memory in drawn
            ]
            vault.erase(str(file.memory.file_path))

    @pytest.mark.parametrize("together", [True, False])
    def test_memories_of_one_title_never_collide(self, vault: FileVault, together: bool) -> None:
        same = [a_memory(number, f"Text {number}", title="Same") for number in range(12)]
        files = vault.create(same) if together else [vault.create([memory])[0] for memory in same]
        assert len({file.memory.file_path for file in files}) == 12
        assert {path for path, _ in vault.scan()} == {file.memory.file_path for file in files}
        for memory, file in zip(same, files, strict=True):
            found = vault.read(str(file.memory.file_path))
            assert found is not None
            assert found.memory.content == memory.content

    def test_a_strangers_file_is_never_overwritten(self, vault: FileVault, raw: Bytes) -> None:
        raw.put("notes/2026-03-10_a_title_000001.md", b"mine")
        (file,) = vault.create([a_memory(title="A title")])
        assert file.memory.file_path != "notes/2026-03-10_a_title_000001.md"
        assert raw.get("notes/2026-03-10_a_title_000001.md") == b"mine"

    def test_nothing_to_create(self, vault: FileVault) -> None:
        assert vault.create([]) == []

    @pytest.mark.parametrize("field", ["summary", "keywords", "files"])
    def test_what_could_not_be_read_again_is_not_written(
        self, vault: FileVault, field: str
    ) -> None:
        value = (
            "x" * 200_000
            if field == "summary"
            else tuple(f"{number} {'x' * 290}" for number in range(400))
        )
        with pytest.raises(InvalidMemory) as raised:
            vault.create([a_memory(1), a_memory(2, **{field: value})])
        assert raised.value.field == field
        assert list(vault.scan()) == []
        (file,) = vault.create([a_memory(1)])
        with pytest.raises(InvalidMemory):
            vault.rewrite(replace(file.memory, **{field: value}), file.seen.sha)
        assert vault.read(str(file.memory.file_path)) is not None

    def test_the_largest_content_with_much_around_it_is_read_again(self, vault: FileVault) -> None:
        full = a_memory(
            1,
            "ä" * 524_288,
            title="x",
            summary="记" * 15_000,
            keywords=tuple(f"词{number}" for number in range(200)),
        )
        (file,) = vault.create([full])
        found = vault.read(str(file.memory.file_path))
        assert found is not None
        assert found.memory == file.memory

    # -- Rewriting

    def test_a_rewrite_keeps_what_a_person_added(self, vault: FileVault, raw: Bytes) -> None:
        (file,) = vault.create([a_memory(title="Old", keywords=("k",))])
        path = str(file.memory.file_path)
        mine = raw.get(path).replace(
            b"title: Old\n", b"title: Old # my title\n# my note\nmood: 'good'\n"
        )
        raw.put(path, mine)
        found = vault.read(path)
        assert found is not None
        changed = vault.rewrite(
            replace(found.memory, title="New", content="New text"), found.seen.sha
        )
        body = file.memory.content.encode()
        assert raw.get(path) == mine.replace(b"title: Old", b"title: New").replace(
            body, b"New text"
        )
        again = vault.read(path)
        assert again is not None
        assert (again.seen.sha, again.memory.title, again.memory.content) == (
            changed.seen.sha,
            "New",
            "New text",
        )

    @pytest.mark.parametrize(
        "head",
        [
            "title:\n",
            "title: # why\n",
            "title: |\n  long\n",
            "keywords:\n  -\n  - a\nsummary: >\n  s\n",
        ],
    )
    def test_a_rewrite_of_whatever_a_person_wrote_is_readable(
        self, vault: FileVault, raw: Bytes, head: str
    ) -> None:
        raw.put("notes/x.md", f"---\nid: x\n{head}source: me\n---\n\nText\n".encode())
        found = vault.read("notes/x.md")
        assert found is not None
        vault.rewrite(
            replace(found.memory, title="New: one", keywords=("b", "c"), summary="s: t"),
            found.seen.sha,
        )
        again = vault.read("notes/x.md")
        assert again is not None
        assert (again.memory.title, again.memory.keywords, again.memory.summary) == (
            "New: one",
            ("b", "c"),
            "s: t",
        )

    def test_a_rewrite_of_something_else_is_refused(self, vault: FileVault, raw: Bytes) -> None:
        (file,) = vault.create([a_memory()])
        path = str(file.memory.file_path)
        raw.put(path, raw.get(path) + b"more\n")
        with pytest.raises(Conflict):
            vault.rewrite(replace(file.memory, title="New"), file.seen.sha)
        assert raw.get(path).endswith(b"more\n")

    def test_a_memory_moves_with_its_kind_and_project(self, vault: FileVault, raw: Bytes) -> None:
        (file,) = vault.create([a_memory(title="T")])
        raw.put("projects/app/decisions/2026-03-10_t_000001.md", b"taken")
        moved = vault.rewrite(replace(file.memory, kind="decision", project="app"), file.seen.sha)
        path = str(moved.memory.file_path)
        assert PurePosixPath(path).parent == PurePosixPath("projects/app/decisions")
        assert raw.get("projects/app/decisions/2026-03-10_t_000001.md") == b"taken"
        assert str(file.memory.file_path) not in raw.paths()
        found = vault.read(path)
        assert found is not None
        assert (found.memory.kind, found.memory.project) == ("decision", "app")

    # -- Trash

    def test_trash_and_restore(self, vault: FileVault, raw: Bytes) -> None:
        (file,) = vault.create([a_memory(project="app")])
        path = str(file.memory.file_path)
        data = raw.get(path)
        trashed = vault.trash(path, NOON + timedelta(microseconds=7))
        found = vault.read(trashed)
        assert found is not None
        assert found.memory.deleted_at == NOON + timedelta(microseconds=7)
        assert (found.memory.project, found.memory.kind) == ("app", "note")
        assert {p for p, _ in vault.scan()} == {trashed}
        assert vault.restore(trashed) == path
        assert raw.get(path) == data
        back = vault.read(path)
        assert back is not None
        assert back.memory.deleted_at is None

    def test_the_same_name_goes_to_the_trash_twice_in_one_moment(self, vault: FileVault) -> None:
        trashed = []
        for number in (1, 2):
            (file,) = vault.create([a_memory(number, f"Text {number}", title="Same")])
            trashed.append(vault.trash(str(file.memory.file_path), NOON))
        texts = [found.memory.content for path in trashed if (found := vault.read(path))]
        assert texts == ["Text 1", "Text 2"]
        restored = [vault.restore(path) for path in trashed]
        assert len(set(restored)) == 2
        back = [found.memory.content for path in restored if (found := vault.read(path))]
        assert back == texts

    def test_erased_is_gone_and_erasing_again_is_fine(self, vault: FileVault, raw: Bytes) -> None:
        (file,) = vault.create([a_memory()])
        for _ in range(2):
            vault.erase(str(file.memory.file_path))
        assert raw.paths() == set()
        with pytest.raises(BrokenFile, match="no longer exists"):
            vault.read(str(file.memory.file_path))

    @pytest.mark.parametrize(
        "act",
        [
            lambda vault: vault.trash("notes/none.md", NOON),
            lambda vault: vault.restore(".trash/notes/none.md"),
        ],
    )
    def test_moving_what_is_not_there(self, vault: FileVault, act) -> None:
        with pytest.raises(Conflict, match="renamed or deleted"):
            act(vault)

    # -- Reading what people wrote

    def test_a_file_without_an_id_is_adopted_once(self, vault: FileVault, raw: Bytes) -> None:
        raw.put("decisions/by hand.md", b"We chose SQLite.\r\nIt is enough.\r\n")
        seen = vault.read("decisions/by hand.md")
        assert seen is not None
        assert raw.get("decisions/by hand.md") == b"We chose SQLite.\r\nIt is enough.\r\n"
        adopted = vault.parse(vault.load("decisions/by hand.md"), adopt=True)
        assert adopted is not None
        assert (adopted.memory.kind, adopted.memory.content) == (
            "decision",
            "We chose SQLite.\r\nIt is enough.",
        )
        assert raw.get("decisions/by hand.md").endswith(
            b"\r\n\r\nWe chose SQLite.\r\nIt is enough.\r\n"
        )
        again = vault.parse(vault.load("decisions/by hand.md"), adopt=True)
        assert again is not None
        assert (again.memory.id, again.seen.sha) == (adopted.memory.id, adopted.seen.sha)

    def test_a_file_outside_the_folders_is_no_memory_unless_it_has_an_id_of_ours(
        self, vault: FileVault, raw: Bytes
    ) -> None:
        raw.put("README.md", b"# Read me\n")
        raw.put("docs/intro.md", b"---\nid: intro\n---\n\nA page of another program\n")
        raw.put("docs/broken.md", b"---\n: [\n---\n")
        raw.put(
            "drafts/x.md",
            b"---\nid: 01a1e155-2941-7f7c-b20c-b05c3e2449d3\nkind: fact\n---\n\nText\n",
        )
        assert vault.parse(vault.load("docs/intro.md"), adopt=True) is None
        assert vault.parse(vault.load("docs/broken.md"), adopt=True) is None
        assert vault.parse(vault.load("README.md"), adopt=True) is None
        assert raw.get("README.md") == b"# Read me\n"
        found = vault.read("drafts/x.md")
        assert found is not None
        assert found.memory.kind == "fact"

    @pytest.mark.parametrize(
        ("data", "reason"),
        [
            (b"---\ntitle: [\n---\n\nx\n", "not valid YAML"),
            (b"\xff\xfe", "not UTF-8"),
            (b"---\nkind: nonsense\n---\n\nx\n", "kind"),
            (b"---\nid: x\n---\n", "must not be empty"),
            (b"<<<<<<< a\nx\n=======\ny\n>>>>>>> b\n", "conflict markers"),
            (b"x" * 3_000_000, "limit"),
        ],
    )
    def test_a_broken_file_is_reported_and_left_alone(
        self, vault: FileVault, raw: Bytes, data: bytes, reason: str
    ) -> None:
        raw.put("notes/x.md", data)
        with pytest.raises(BrokenFile, match=reason) as raised:
            vault.parse(vault.load("notes/x.md"), adopt=True)
        assert raised.value.path == "notes/x.md"
        assert raw.get("notes/x.md") == data

    def test_a_scan_finds_memories_and_nothing_else(self, vault: FileVault, raw: Bytes) -> None:
        wanted = {
            "notes/a.md",
            "projects/p/facts/b.md",
            ".trash/notes/c.md",
            "d.md",
            "notes/sub/e.md",
            "notes/journal/f.md",
        }
        others = {
            "notes/.hidden.md",
            ".muisti/x.md",
            "journal/y.md",
            "archive/z.md",
            "conversations/w.md",
            "notes/a.txt",
            ".git/q.md",
        }
        for path in wanted | others:
            raw.put(path, b"x")
        assert {path for path, _ in vault.scan()} == wanted

    def test_a_comparison_tells_unchanged_files_from_others(
        self, vault: FileVault, raw: Bytes
    ) -> None:
        names = ("notes/a.md", "notes/b.md", "notes/sub/ä.md", ".trash/notes/c.md", "notes/d.txt")
        for path in names:
            raw.put(path, b"x")
        known = dict(vault.scan())
        settled: dict[str, tuple[int, int, int]] = {**known, "notes/gone.md": (1, 2, 3)}
        settled["notes/b.md"] = known["notes/b.md"]._replace(size=7)
        del settled[".trash/notes/c.md"]
        same, others = compare_files(vault, settled)
        assert sorted(same) == ["notes/a.md", "notes/sub/ä.md"]
        assert others == {path: known[path] for path in ("notes/b.md", ".trash/notes/c.md")}

    def test_front_matter_follows_a_person_who_moves_a_file(
        self, vault: FileVault, raw: Bytes
    ) -> None:
        (file,) = vault.create([a_memory(title="T")])
        old = str(file.memory.file_path)
        raw.put("projects/app/decisions/t.md", raw.get(old))
        vault.erase(old)
        moved = vault.read("projects/app/decisions/t.md")
        assert moved is not None
        followed = vault.follow_move(moved, old)
        assert (followed.memory.kind, followed.memory.project) == ("decision", "app")
        again = vault.read("projects/app/decisions/t.md")
        assert again is not None
        assert (again.memory, again.seen.sha) == (followed.memory, followed.seen.sha)

    # -- The lock

    def test_the_lock_keeps_threads_apart_and_is_reentrant(self, vault: FileVault) -> None:
        inside: list[int] = []
        most: list[int] = []

        def work() -> None:
            for _ in range(10):
                with vault.lock(), vault.lock():
                    inside.append(1)
                    most.append(len(inside))
                    inside.pop()

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert most == [1] * 30

    def test_nothing_is_left_over(self, vault: FileVault) -> None:
        with vault.lock():
            files = vault.create([a_memory(1), a_memory(2)])
            vault.rewrite(replace(files[0].memory, title="New"), files[0].seen.sha)
            assert not vault.has_incomplete_writes()
            vault.recover()
        assert len(list(vault.scan())) == 2
