"""K7: nothing follows a link out of the vault. `tests/faults/test_planted.py` tries every place."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from muisti import Muisti, bootstrap
from muisti.errors import ImportFailed, SettingsError, VaultReadOnly, VaultUnusable
from muisti.storage.files.disk import Disk
from muisti.surfaces.setup.check_vault import check_vault
from tests.conftest import Opener
from tests.tiers import steps

pytestmark = pytest.mark.needs_files("puts links into a vault")
SETTINGS = {"embedder": "none"}


@pytest.fixture
def memory(opened: Opener) -> Muisti:
    return opened(embedder="none")


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    return folder


def reasons(memory: Muisti) -> dict[str, str]:
    return {problem.path: problem.reason for problem in memory.verify().problems}


@pytest.mark.parametrize(
    ("link", "options"),
    [
        ("notes", {"kind": "note"}),
        ("projects", {"kind": "note", "project": "shop"}),
        ("projects/shop", {"kind": "note", "project": "shop"}),
        ("projects/shop/notes", {"kind": "note", "project": "shop"}),
        ("journal", {"kind": "note"}),
    ],
)
def test_K7_a_save_below_a_link_is_refused_and_the_link_is_named(
    memory: Muisti, outside: Path, link: str, options: dict[str, str]
) -> None:
    path = memory.root / link
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        shutil.rmtree(path)
    path.symlink_to(outside)
    with pytest.raises(VaultUnusable, match=f"{link} is a symbolic link.*replace it"):
        memory.save("The walrus sings", **options)
    assert list(outside.iterdir()) == []
    assert memory.search("walrus") == []
    assert "replace it" in reasons(memory)[link]
    told = [one for one in check_vault(str(memory.root)) if one.what.startswith(f"{link} is a")]
    assert [one.fix.startswith("replace it") for one in told] == [True]
    path.unlink()
    assert memory.save("The walrus sings", **options)
    assert memory.verify(deep=True).ok


def test_K7_everything_else_works_beside_a_link(memory: Muisti, outside: Path) -> None:
    kept = memory.save("The walrus sings", kind="fact")
    (memory.root / "notes").symlink_to(outside)
    with bootstrap.open(memory.root, settings=SETTINGS) as again:
        other = again.save("The seal sleeps", kind="decision")
        again.update(kept.id, title="Songs")
        again.delete(other.id)
        again.restore(other.id)
        again.append_message("web_1", "user", "hello")
        again.reindex()
        assert {one.id for one in again.list()} == {kept.id, other.id}
        assert list(reasons(again)) == ["notes"]


def test_K7_the_trash_is_not_looked_for_elsewhere(memory: Muisti, outside: Path) -> None:
    kept = memory.save("The walrus sings", kind="fact")
    (memory.root / ".trash").symlink_to(outside)
    with pytest.raises(VaultUnusable, match=r"\.trash is a symbolic link"):
        memory.delete(kept.id)
    assert list(outside.iterdir()) == []
    assert memory.get(kept.id) is not None


def test_K7_an_import_reads_nothing_from_outside(memory: Muisti, tmp_path: Path) -> None:
    (tmp_path / "passwd").write_text("root:x:0:0 is outside")
    source = tmp_path / "source"
    (source / "sub").mkdir(parents=True)
    (source / "good.md").write_text("The walrus sings\n")
    (source / "sub" / "a.md").symlink_to(tmp_path / "passwd")
    with pytest.raises(ImportFailed, match=r"sub/a\.md is a symbolic link"):
        memory.import_memories(source)
    assert memory.list() == []
    (source / "sub" / "a.md").unlink()
    (source / "linked").symlink_to(tmp_path)
    with pytest.raises(ImportFailed, match="linked: is a symbolic link to a folder"):
        memory.import_memories(source)
    assert memory.import_from(source).imported == 1
    (tmp_path / "named.md").symlink_to(source / "good.md")
    assert memory.import_memories(tmp_path / "named.md") == 0, "a link that is named is followed"


def test_K7_a_told_path_below_a_link_is_not_read(memory: Muisti, outside: Path) -> None:
    """As a watcher that follows links tells it."""
    (memory.root / "handbook").mkdir()
    (memory.root / "handbook" / "a.md").write_text("the walrus inside\n")
    memory.index_path(memory.root / "handbook")
    (outside / "s.md").write_text(
        "---\nid: 0197c0de-0000-7000-8000-000000000001\n---\nsecret walrus\n"
    )
    (memory.root / "handbook" / "link").symlink_to(outside)
    (memory.root / "facts").symlink_to(outside)
    (memory.root / "conversations").symlink_to(outside)
    memory.sync(paths=["handbook/link/s.md", "facts/s.md", "conversations/web_1/s.jsonl"])
    assert [found.memory.content for found in memory.search("walrus")] == ["the walrus inside"]


def test_K7_settings_behind_a_link_are_not_read(memory: Muisti, outside: Path) -> None:
    memory.close()
    (memory.root / "muisti.toml").rename(outside / "muisti.toml")
    (memory.root / "muisti.toml").symlink_to(outside / "muisti.toml")
    with pytest.raises(SettingsError, match=r"muisti\.toml cannot be read: it is a symbolic link"):
        bootstrap.open(memory.root, settings=SETTINGS)
    assert any("symbolic link" in one.what for one in check_vault(str(memory.root)))


def test_K7_an_index_behind_a_link_is_searched_in_a_copy(memory: Muisti, outside: Path) -> None:
    memory.save("The walrus sings")
    memory.close()
    shutil.move(memory.root / ".muisti", outside / "index")
    (memory.root / ".muisti").symlink_to(outside / "index")
    before = {
        path.name: path.read_bytes() for path in (outside / "index").glob("*") if path.is_file()
    }
    with bootstrap.open(memory.root, settings=SETTINGS) as again:
        assert len(again.search("walrus")) == 1
        with pytest.raises(VaultReadOnly, match=r"\.muisti is a symbolic link"):
            again.save("The seal sleeps")
    after = {
        path.name: path.read_bytes() for path in (outside / "index").glob("*") if path.is_file()
    }
    assert after == before


def test_K7_the_vault_itself_may_be_behind_a_link(tmp_path: Path) -> None:
    (tmp_path / "real" / "deep").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    for root in (tmp_path / "link", tmp_path / "link" / "deep" / "vault"):
        with bootstrap.open(root, settings=SETTINGS) as memory:
            saved = memory.save("The walrus sings", project="shop")
            memory.delete(saved.id)
            memory.restore(saved.id)
            assert memory.verify(deep=True).ok
        with bootstrap.open(root, settings=SETTINGS) as memory:
            assert [one.id for one in memory.list()] == [saved.id]


class SwappingDisk(Disk):
    """Somebody replaces a folder by a link just before the k-th step."""

    def __init__(self, folder: Path, outside: Path) -> None:
        self.folder, self.outside = folder, outside
        self.left = 0

    def step(self, what: str, path: Path) -> None:
        self.left -= 1
        if self.left == 0:
            self.folder.mkdir(exist_ok=True)
            self.folder.rename(self.folder.with_name("real"))
            self.folder.symlink_to(self.outside)


@pytest.mark.parametrize("name", ["facts", "journal", ".trash"])
def test_K7_a_link_that_is_put_there_meanwhile_is_not_followed(
    tmp_path: Path, outside: Path, name: str
) -> None:
    vault = tmp_path / "vault"
    disk = SwappingDisk(vault / name, outside)
    for step in steps(60):
        disk.left = 0
        with bootstrap.open(vault, settings=SETTINGS, disk=disk) as memory:
            for one in memory.list():
                memory.delete(one.id)
            first = memory.save(f"The walrus sings song {step}", kind="fact")
            saved = ""
            disk.left = step
            try:
                saved = memory.save(f"The seal sleeps {step} nights", kind="fact").id
                memory.delete(first.id)
            except VaultUnusable as error:
                assert f"{name} is a symbolic link" in str(error)
            except Exception as error:
                assert name in str(error) or "gone" in str(error), error
            finished = disk.left > 0
            disk.left = 0
        assert list(outside.iterdir()) == [], f"at step {step}"
        if (vault / name).is_symlink():
            (vault / name).unlink()
            (vault / name).with_name("real").rename(vault / name)
        with bootstrap.open(vault, settings=SETTINGS) as memory:
            assert not saved or memory.get(saved) is not None, f"lost at step {step}"
            assert memory.get(first.id, include_deleted=True) is not None
            assert memory.verify(deep=True).ok
        if finished:
            return
    pytest.fail("it has more steps than were tried")
