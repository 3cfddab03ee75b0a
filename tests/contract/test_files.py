"""The parts of the file store: memories, versions, journal and conversations on disk."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from muisti.errors import VaultNotFound
from muisti.filesystem import Tree
from muisti.ports import Location
from muisti.settings import Settings
from muisti.storage.files.conversations import FileConversations
from muisti.storage.files.disk import Disk
from muisti.storage.files.init import create_vault
from muisti.storage.files.journal import FileJournal
from muisti.storage.files.location import FileLocation
from muisti.storage.files.vault import FileVault
from muisti.storage.files.versions import FileVersions
from tests.conftest import FakeClock
from tests.contract.conversations_suite import ConversationsContract
from tests.contract.journal_suite import JournalContract, Rewriting
from tests.contract.location_suite import LocationContract
from tests.contract.notebook_suite import NotebookContract
from tests.contract.vault_suite import Bytes, VaultContract
from tests.contract.versions_suite import VersionsContract
from tests.unit.making import NOON, a_memory


class OnDisk(Bytes):
    def __init__(self, root: Path) -> None:
        self.root = root

    def get(self, path: str) -> bytes:
        return (self.root / path).read_bytes()

    def put(self, path: str, data: bytes) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_bytes(data)

    def paths(self) -> set[str]:
        found = {path.relative_to(self.root).as_posix() for path in self.root.rglob("*.md")}
        return {path for path in found if not path.startswith(".muisti/")}


def noted(monkeypatch: pytest.MonkeyPatch, name: str) -> list[Path]:
    """The paths of which this is asked from now on; they go on answering."""
    asked: list[Path] = []
    answer = getattr(Tree, name)

    def noting(tree: Tree, path: Path, *rest: object) -> object:
        asked.append(tree.root.joinpath(*tree.split(path)))
        return answer(tree, path, *rest)

    monkeypatch.setattr(Tree, name, noting)
    return asked


class TestFileVault(VaultContract):
    @pytest.fixture
    def root(self, tmp_path: Path) -> Path:
        create_vault(tmp_path / "vault", Disk())
        (tmp_path / "vault" / ".muisti" / "tmp").mkdir(parents=True)
        return tmp_path / "vault"

    @pytest.fixture
    def vault(self, root: Path, clock: FakeClock) -> FileVault:
        return FileVault(root, Settings(), clock)

    @pytest.fixture
    def raw(self, root: Path) -> OnDisk:
        return OnDisk(root)


class TestFileVersions(VersionsContract):
    root, vault, raw = TestFileVault.root, TestFileVault.vault, TestFileVault.raw

    @pytest.fixture
    def versions(self, root: Path) -> FileVersions:
        return FileVersions(root, Settings())

    def test_thousands_of_texts_at_one_moment(
        self, versions: FileVersions, root: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Of each only a few names are tried, however many there are; and no other program's file
        is overwritten.
        """
        tried = noted(monkeypatch, "exists")
        other = FileVersions(root, Settings())
        for number in range(200):
            into = "one" if number % 2 else "other"
            (other if number % 20 == 0 else versions).keep_merged(
                a_memory(number, f"text {number}"), into, NOON
            )
        named = [path for path in tried if ".history" in path.parts]
        assert len(named) <= 200 * 10
        kept = [one.memory.content for into in ("one", "other") for one in versions.versions(into)]
        assert sorted(kept) == sorted(f"text {number}" for number in range(200))

    def test_only_the_files_of_a_page_are_read(
        self, versions: FileVersions, vault: FileVault, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for number in range(1, 9):
            one = vault.create(
                [a_memory(number, f"text {number}", created_at=NOON + timedelta(days=number))]
            )[0].memory
            versions.archive({str(one.file_path): one.id})
        read = noted(monkeypatch, "read")
        assert [one.content for one in versions.archived(2, 3)] == ["text 5", "text 4"]
        assert len(read) == 2
        assert versions.archived_memory(a_memory(7).id) is not None
        assert len(read) == 3


class TestFileLocation(LocationContract, NotebookContract):
    root = TestFileVault.root

    @pytest.fixture
    def location(self, root: Path, clock: FakeClock) -> Location:
        return FileLocation(root, Settings(), clock)

    def test_its_address_is_the_folder(self, location: Location, root: Path) -> None:
        assert (str(location), location.name) == (str(root), root.name)

    @pytest.mark.parametrize(
        "harm", [shutil.rmtree, lambda root: (root / "muisti.toml").unlink()], ids=["gone", "empty"]
    )
    def test_B5_a_folder_that_is_gone_is_told(
        self, location: Location, root: Path, harm: Callable[[Path], None]
    ) -> None:
        harm(root)
        with pytest.raises(VaultNotFound, match="mount it"):
            location.check_available()
        assert location.disk_usage() >= 0

    def test_its_size_is_that_of_the_files_without_the_index(
        self, location: Location, root: Path
    ) -> None:
        before = location.disk_usage()
        (root / "facts").mkdir()
        (root / "facts" / "a.md").write_bytes(b"x" * 1000)
        (root / ".muisti" / "index.db").write_bytes(b"x" * 5000)
        (root / "elsewhere").symlink_to("/")
        assert location.disk_usage() == before + 1000

    def test_notes_keep_to_their_folder(self, location: Location, root: Path) -> None:
        notes = location.notebook("memories/anna")
        with notes.lock():
            notes.prepare()
            notes.create("dog.md", b"Musti")
        assert notes.place == root / "memories" / "anna"
        assert [(one.name, one.size) for one in notes.entries("")] == [("dog.md", 5)]


class TestFileJournal(JournalContract):
    @pytest.fixture
    def journal(self, tmp_path: Path, clock: FakeClock) -> FileJournal:
        return FileJournal(tmp_path, clock)

    @pytest.fixture
    def rewrite(self, tmp_path: Path) -> Rewriting:
        def change(journal: FileJournal) -> None:
            path = tmp_path / "journal" / "2026-03.jsonl"
            path.write_bytes(path.read_bytes().replace(b'"two"', b'"rewritten"'))

        return change


class TestFileConversations(ConversationsContract):
    @pytest.fixture
    def conversations(self, tmp_path: Path) -> FileConversations:
        return FileConversations(tmp_path, Settings())

    @pytest.fixture
    def rewrite(self, tmp_path: Path) -> Callable[[str, bytes, bytes], None]:
        def change(path: str, old: bytes, new: bytes) -> None:
            """The last that is so; written in place."""
            before, found, after = (tmp_path / path).read_bytes().rpartition(old)
            assert found
            (tmp_path / path).write_bytes(before + new + after)

        return change
