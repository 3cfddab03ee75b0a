"""The portable file system, through its seam: without `O_*`, and with names that are not kept."""

from __future__ import annotations

import errno
import os
import stat
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from muisti import bootstrap, filesystem, whole_sync
from muisti.errors import VaultError
from muisti.filesystem import FileSystem, Tree, UnsafeFile, fold_name, is_portable_name
from muisti.processes import is_running
from muisti.settings import Settings
from muisti.storage.files.core_memory import make_user_folder
from muisti.storage.files.disk import TOGETHER, Disk
from muisti.storage.files.file_names import make_file_name
from tests.unit.making import a_memory


class Plain(FileSystem):
    """A system without any of the flags, and without names relative to an open folder."""

    no_follow = never_wait = folder_only = 0
    search = os.O_RDONLY
    common = 0
    can_walk = False
    can_sync_folders = False

    def open(self, name: str, flags: int, folder: int | None = None, mode: int = 0o600) -> int:
        assert folder is None
        portable = os.O_RDWR | os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_TRUNC
        assert not flags & ~portable
        return super().open(name, flags, folder, mode)

    def rename_new(self, *_: object) -> bool:
        return False

    def exchange(self, *_: object) -> bool:
        return False


class Folding(Plain):
    """A system that lists names in form NFD, and finds them in any case and form."""

    def find(self, name: str, *, new: bool = False) -> str:
        place = Path(name).anchor
        for part in Path(name).parts[1:]:
            names = os.listdir(place) if os.path.isdir(place) else []
            same = [one for one in names if fold_name(one) == fold_name(part)]
            kept = unicodedata.normalize("NFD", part) if new else part
            place = os.path.join(place, same[0] if same else kept)
        return place

    def open(self, name: str, flags: int, folder: int | None = None, mode: int = 0o600) -> int:
        return super().open(self.find(name, new=bool(flags & os.O_CREAT)), flags, folder, mode)

    def lstat(self, name: str, folder: int | None = None) -> os.stat_result:
        return super().lstat(self.find(name), folder)

    def mkdir(self, name: str, folder: int | None = None) -> None:
        super().mkdir(self.find(name, new=True), folder)

    def rmdir(self, name: str, folder: int | None = None) -> None:
        super().rmdir(self.find(name), folder)

    def unlink(self, name: str, folder: int | None = None) -> None:
        super().unlink(self.find(name), folder)

    def link(self, name: str, folder: int | None, new: str, new_folder: int | None) -> None:
        super().link(self.find(name), folder, self.find(new, new=True), new_folder)

    def rename(self, name: str, folder: int | None, new: str, new_folder: int | None) -> None:
        super().rename(self.find(name), folder, self.find(new, new=True), new_folder)

    def chmod(self, name: str, mode: int, folder: int | None = None) -> None:
        super().chmod(self.find(name), mode, folder)

    def scandir(self, folder: int | str) -> list[os.DirEntry[str]]:
        return super().scandir(self.find(str(folder)))


@pytest.fixture(params=[FileSystem, Plain, Folding])
def system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> FileSystem:
    one: FileSystem = request.param()
    monkeypatch.setattr(filesystem, "system", one)
    return one


@pytest.fixture
def folding(monkeypatch: pytest.MonkeyPatch) -> Folding:
    one = Folding()
    monkeypatch.setattr(filesystem, "system", one)
    return one


# -- Links and special files


def test_K7_a_link_is_followed_nowhere_below_the_root(system: FileSystem, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / "below").mkdir(parents=True)
    (outside / "below" / "a.md").write_text("secret")
    root = tmp_path / "root"
    (root / "b").mkdir(parents=True)
    (root / "first").symlink_to(outside)
    (root / "b" / "second").symlink_to(outside / "below")
    (root / "b" / "third.md").symlink_to(outside / "below" / "a.md")
    tree, disk = Tree(root), Disk().confine(root)
    for path in ("first/below/a.md", "b/second/a.md", "b/third.md"):
        with pytest.raises(UnsafeFile, match="symbolic link") as caught:
            tree.read(path, 100)
        assert path.startswith(caught.value.path), "it names the link, not the file behind it"
        with pytest.raises(OSError):
            disk.append(root / path, b"x", durable=True)
        with pytest.raises(OSError):
            disk.truncate(root / path, 0)
        if not path.endswith("third.md"):
            new = root / path.replace("a.md", "new/n.md")
            with pytest.raises(UnsafeFile):
                disk.make_folder(new.parent)
            with pytest.raises(UnsafeFile):
                disk.write_new(root / path.replace("a.md", "n.md"), b"x")
            with pytest.raises(UnsafeFile):
                disk.remove(root / path)
            with pytest.raises(UnsafeFile):
                disk.move(root / path, root / "stolen.md")
            assert tree.lstat(path) is None
            assert not tree.is_file(path)
    for folder in ("first", "first/below", "b/second"):
        assert tree.list_names(folder) == tree.list_files(folder, "") == []
        with pytest.raises(UnsafeFile), tree.scan(folder):
            pass
        assert not tree.is_folder(folder)
    assert {path.name for path in outside.rglob("*")} == {"below", "a.md"}
    assert (outside / "below" / "a.md").read_text() == "secret"


def test_K7_the_root_itself_may_be_behind_a_link(system: FileSystem, tmp_path: Path) -> None:
    (tmp_path / "real" / "a").mkdir(parents=True)
    (tmp_path / "real" / "a" / "file").write_text("inside")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    for root in (tmp_path / "link", tmp_path / "link" / "a"):
        path = (tmp_path / "link" / "a" / "file").relative_to(root).as_posix()
        assert Tree(root).read(path, 100)[0] == b"inside"


@pytest.mark.parametrize("path", ["../x", "a/../../x", "/etc/passwd", "a//b"])
def test_K3_a_path_that_leads_out_is_refused(tmp_path: Path, path: str) -> None:
    with pytest.raises(UnsafeFile):
        Tree(tmp_path).read(path, 100)
    with pytest.raises(UnsafeFile):
        Tree(tmp_path / "vault").read(tmp_path / "x", 100)


def test_K7_only_regular_files_are_opened(system: FileSystem, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "folder"):
        with pytest.raises(UnsafeFile, match="not a regular file"):
            Tree(tmp_path).read(name, 100)
        with pytest.raises(UnsafeFile, match="not a regular file"):
            Disk().append(tmp_path / name, b"x", durable=False)


def test_K7_a_large_file_is_not_read(system: FileSystem, tmp_path: Path) -> None:
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(UnsafeFile, match="the limit is 100") as caught:
        Tree(tmp_path).read("huge", 100)
    assert caught.value.errno == errno.EFBIG


def test_no_descriptor_is_left_open(system: FileSystem, tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "link").symlink_to("/")
    tree = Tree(tmp_path)
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    for path in ("a/b/missing", "a/link/etc/passwd", "a/b", "nothing/at/all"):
        with pytest.raises(OSError):
            tree.read(path, 10)
        tree.list_names(path)
        tree.lstat(path)
    if before:
        assert len(os.listdir("/proc/self/fd")) == before


def test_K7_a_held_folder_that_becomes_a_link_is_not_followed(
    system: FileSystem, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "note.md").write_text("theirs")
    root = tmp_path / "root"
    (root / "a" / "b").mkdir(parents=True)
    (root / "a" / "b" / "note.md").write_text("mine")
    tree = Tree(root)
    with tree.folders.hold(), tree.folders.hold():
        assert tree.read("a/b/note.md", 100)[0] == b"mine"
        (root / "a" / "b").rename(root / "a" / "c")
        (root / "a" / "b").symlink_to(outside)
        try:
            assert tree.read("a/b/note.md", 100)[0] == b"mine"
        except UnsafeFile:
            assert not system.can_walk
        tree.folders.release(("a", "b"))
        with pytest.raises(UnsafeFile):
            tree.read("a/b/note.md", 100)
    with pytest.raises(UnsafeFile):
        tree.read("a/b/note.md", 100)


def test_a_folder_that_was_made_again_is_written_to(tmp_path: Path) -> None:
    disk = Disk().confine(tmp_path)
    folder = tmp_path / "a"
    disk.make_folder(folder)
    with disk.tree(folder).folders.hold():
        disk.write_new(folder / "1.md", b"one")
        disk.remove(folder / "1.md")
        folder.rmdir()
        disk.make_folder(folder)
        disk.write_new(folder / "2.md", b"two")
    assert (folder / "2.md").read_bytes() == b"two"


def test_many_folders_do_not_use_up_the_descriptors(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    for number in range(100):
        (tmp_path / f"f{number}").mkdir()
        (tmp_path / f"f{number}" / "note.md").write_text(str(number))
    before = set(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else set()
    with tree.folders.hold():
        for number in range(100):
            assert tree.read(f"f{number}/note.md", 100)[0] == str(number).encode()
        if before:
            assert len(os.listdir("/proc/self/fd")) - len(before) <= 65
    if before:
        assert set(os.listdir("/proc/self/fd")) == before


def test_a_junction_counts_as_a_link() -> None:
    class Status:
        st_mode = stat.S_IFDIR | 0o700
        st_reparse_tag = 0xA0000003

    assert filesystem.is_link(Status())
    Status.st_reparse_tag = 0x9000001A  # a file of OneDrive that is not downloaded
    assert not filesystem.is_link(Status())


# -- Names


@pytest.mark.parametrize(
    "name", ["CON", "nul", "Aux.md", "com1", "LPT9.txt", "con ", "name.", "name ", "COM¹", "CONIN$"]
)
def test_names_that_windows_cannot_have(name: str) -> None:
    assert not is_portable_name(name)
    assert is_portable_name(make_user_folder(name))
    memory = a_memory(project=name)
    folders = make_file_name(memory, Settings()).split("/")
    assert all(map(is_portable_name, folders))


@pytest.mark.parametrize(
    "name", ["console", "null", "common", "a.con", "Anna", "2026", "лес", "con_"]
)
def test_names_that_every_system_can_have(name: str) -> None:
    assert is_portable_name(name)
    assert make_user_folder(name) == name
    assert make_file_name(a_memory(project=name), Settings()).startswith(f"projects/{name}/")


def test_a_project_called_con_is_found_again(tmp_path: Path) -> None:
    settings = {"embedder": "none"}
    with bootstrap.open(tmp_path / "vault", settings=settings) as memory:
        saved = memory.save("The walrus", project="con", kind="fact")
        assert str(saved.file_path).startswith("projects/con_/facts/")
        memory.reindex()
        again = memory.get(saved.id)
        assert again is not None
        assert again.project == "con"
        assert memory.verify(deep=True).ok


def test_B5_a_vault_on_a_system_that_changes_names(folding: Folding, tmp_path: Path) -> None:
    """The path in the index stays the one that the file has, whatever form it is listed in."""
    vault, settings = tmp_path / "vault", {"embedder": "none"}
    with bootstrap.open(vault, settings=settings) as memory:
        first = memory.save("Ääkköset ovat täällä", kind="fact", project="Kauppa")
        second = memory.save("Öljy on loppu", kind="fact", project="kauppa")
        memory.append_message("web_äiti", "user", "Hyvää päivää")
        assert Tree(vault).ignores_case
        assert str(second.file_path).startswith("projects/Kauppa/"), "as the folder is listed"
        assert not memory.sync().moved
    listed = [path.name for path in vault.rglob("*.md")]
    assert any(unicodedata.normalize("NFC", name) != name for name in listed), "the test can fail"
    with bootstrap.open(vault, settings=settings) as memory:
        report = memory.sync()
        assert (report.added, report.changed, report.moved, report.removed) == (0, 0, 0, 0)
        assert {one.id: one.project for one in memory.list()} == {
            first.id: "Kauppa",
            second.id: "kauppa",
        }
        assert memory.verify(deep=True).ok
        memory.update(first.id, content="Ääkköset ovat siellä")
        memory.delete(first.id)
        memory.restore(first.id)
        memory.append_message("web_äiti", "user", "Hyvää yötä")
        assert len(memory.window("web_äiti")) == 2
        assert memory.verify(deep=True).ok
        assert len(memory.list()) == 2


def test_B5_a_rename_that_only_changes_the_case(folding: Folding, tmp_path: Path) -> None:
    vault, settings = tmp_path / "vault", {"embedder": "none"}
    with bootstrap.open(vault, settings=settings) as memory:
        saved = memory.save("The walrus", kind="fact")
        old = vault / str(saved.file_path)
        old.rename(old.with_name(old.name.upper().replace(".MD", ".md")))
        assert memory.sync().moved == 1
        assert memory.sync().moved == 0
        assert memory.verify(deep=True).ok
        found = memory.get(saved.id)
        assert found is not None
        assert "THE_WALRUS" in str(found.file_path)


def test_a_name_in_form_nfd_stays_where_it_is_another_file(tmp_path: Path) -> None:
    name = unicodedata.normalize("NFD", "ä.md")
    (tmp_path / name).write_text("as a Mac named it")
    assert Tree(tmp_path).make_known_name("", name) == name
    assert not Tree(tmp_path).ignores_case


# -- The system


def test_the_whole_way_of_a_memory_without_any_flag(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(filesystem, "system", Plain())
    with bootstrap.open(tmp_path / "vault", settings={"embedder": "none"}) as memory:
        one, two = memory.save_batch(["The walrus sings", "The seal sleeps"])
        memory.update(one.id, content="The walrus sings no more")
        memory.delete(two.id)
        memory.restore(two.id)
        memory.append_message("web_1", "user", "hello")
        memory.core_update("user", "name", "Anna")
        memory.delete(two.id, hard=True)
        assert memory.verify(deep=True).ok
    with bootstrap.open(tmp_path / "vault", settings={"embedder": "none"}) as memory:
        assert [found.content for found in memory.list()] == ["The walrus sings no more"]


def test_macos_syncs_past_the_cache_of_the_disk(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    calls: list[tuple[int, int]] = []

    class Control:
        F_FULLFSYNC = 51

        @staticmethod
        def fcntl(fd: int, command: int) -> None:
            calls.append((fd, command))
            if len(calls) > 1:
                raise OSError(errno.ENOTSUP, "not supported")

    monkeypatch.setattr(filesystem, "fcntl", Control)
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    FileSystem().sync(7)
    assert (calls, synced) == ([(7, 51)], [])
    FileSystem().sync(8)
    assert synced == [8], "a file system that does not know it"


class Together(FileSystem):
    """A system that syncs all files at once, or does not, or fails."""

    def __init__(self, answer: bool | OSError) -> None:
        self.answer = answer
        self.whole: list[int] = []
        self.synced: list[int] = []

    def sync(self, fd: int) -> None:
        self.synced.append(os.fstat(fd).st_ino)
        super().sync(fd)

    def sync_all(self, folder: int) -> bool:
        self.whole.append(len(os.listdir(folder)))
        if isinstance(self.answer, OSError):
            raise self.answer
        return self.answer


@pytest.mark.parametrize("answer", [True, False])
def test_many_files_are_synced_at_once_or_one_by_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, answer: bool
) -> None:
    system = Together(answer)
    monkeypatch.setattr(filesystem, "system", system)
    disk = Disk().confine(tmp_path)
    files = {f"{number}.md": b"x" * number for number in range(TOGETHER)}
    statuses = disk.write_all(tmp_path, files)
    inodes = [(tmp_path / name).stat().st_ino for name in files]
    assert [status.st_ino for status in statuses] == inodes
    assert [status.st_size for status in statuses] == list(range(TOGETHER))
    assert system.whole == [TOGETHER], "once, after all files were written"
    assert sorted(system.synced) == ([] if answer else sorted(inodes))


def test_few_files_are_synced_one_by_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    system = Together(True)
    monkeypatch.setattr(filesystem, "system", system)
    Disk().confine(tmp_path).write_all(tmp_path, {"1.md": b"one", "2.md": b"two"})
    assert (system.whole, len(system.synced)) == ([], 2)


def test_files_are_synced_without_threads_if_there_are_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    system = Together(True)
    monkeypatch.setattr(filesystem, "system", system)
    monkeypatch.setattr(ThreadPoolExecutor, "submit", refuse)
    Disk().confine(tmp_path).write_all(tmp_path, {"1.md": b"one", "2.md": b"two"})
    assert len(system.synced) == 2


def test_an_error_of_one_sync_is_an_error_of_all(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    class Failing(Together):
        def sync(self, fd: int) -> None:
            super().sync(fd)
            if len(self.synced) >= 2:  # other threads may sync at the same time
                raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(filesystem, "system", Failing(False))
    with pytest.raises(OSError, match="Input/output error"):
        Disk().confine(tmp_path).write_all(tmp_path, {f"{n}.md": b"x" for n in range(5)})


def test_nothing_is_saved_if_syncing_all_files_fails(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    vault = tmp_path / "vault"
    texts = [f"Walrus number {number} sings" for number in range(TOGETHER)]
    with bootstrap.open(vault, settings={"embedder": "none"}) as memory:
        system = Together(OSError(errno.EIO, "Input/output error"))
        monkeypatch.setattr(filesystem, "system", system)
        with pytest.raises(VaultError, match="Input/output error"):
            memory.save_batch(texts)
        assert not list(vault.rglob("*walrus*"))
        assert not memory.list()
        system.answer = True
        assert len(memory.save_batch(texts)) == TOGETHER
        assert len(list(vault.rglob("*walrus*"))) == TOGETHER


def test_a_whole_file_system_is_only_synced_where_that_is_reliable(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        assert whole_sync.sync_file_system(folder) in (True, False)
        monkeypatch.setattr(whole_sync, "MOST_UNWRITTEN", -1)
        assert not whole_sync.sync_file_system(folder), "other programs have written much"
    finally:
        os.close(folder)
    network = os.open("/proc", os.O_RDONLY)
    try:
        monkeypatch.setattr(whole_sync, "MOST_UNWRITTEN", 1 << 60)
        assert not whole_sync.sync_file_system(network), "an unknown type"
    finally:
        os.close(network)


def test_a_process_that_runs_and_one_that_does_not() -> None:
    assert is_running(os.getpid())
    ended = os.fork()
    if ended == 0:
        os._exit(0)
    os.waitpid(ended, 0)
    assert not is_running(ended)
    assert is_running(2**70), "not a process of this system: left alone"
