"""B · The vault: files are the truth."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from muisti import Muisti, VaultError, bootstrap
from muisti.errors import VaultUnusable
from muisti.settings import find_vault
from muisti.storage.files.sync import differences, reconciler
from muisti.storage.files.sync.reconcile import Reconciliation
from muisti.storage.sqlite.builder import SqliteIndexBuilder
from tests.conftest import FakeClock, Opener


def test_B1_a_new_vault_is_a_folder_that_git_takes_without_its_index(
    memory: Muisti, vault: Path
) -> None:
    kept = memory.save("Kept in git", kind="decision")
    filed = memory.save("Of a project", kind="fact", project="web")
    assert (vault / "muisti.toml").is_file()
    subprocess.run(["git", "init", "-q", str(vault)], check=True)
    tracked = subprocess.run(
        ["git", "-C", vault, "add", "-An"], check=True, capture_output=True, text=True
    ).stdout
    assert f"decisions/2026-03-10_kept_in_git_{kept.id[-6:]}.md" in tracked
    assert f"projects/web/facts/2026-03-10_of_a_project_{filed.id[-6:]}.md" in tracked
    assert "journal/2026-03.jsonl" in tracked
    assert ".muisti" not in tracked


def test_B1_the_vault_is_found_in_its_order(tmp_path: Path) -> None:
    here = tmp_path / "project" / "src"
    here.mkdir(parents=True)
    nothing: dict[str, str] = {}
    assert find_vault(start=here, environ=nothing).name == "vault"
    (tmp_path / "project" / "muisti.toml").touch()
    assert find_vault(start=here, environ=nothing) == tmp_path / "project"
    assert find_vault(start=here, environ={"MUISTI_VAULT": "/named"}) == Path("/named")
    assert find_vault("/explicit", start=here, environ={"MUISTI_VAULT": "/named"}) == Path(
        "/explicit"
    )


def test_B1_only_the_owner_can_read_a_vault(memory: Muisti, vault: Path) -> None:
    saved = memory.save("Private")
    assert vault.stat().st_mode & 0o077 == 0
    assert (vault / str(saved.file_path)).stat().st_mode & 0o077 == 0


def test_B2_a_memory_is_a_readable_file(memory: Muisti, vault: Path) -> None:
    saved = memory.save(
        "# Python + FastAPI\n\n**Why:** the SDK.\n", kind="decision", keywords=["python", "no"]
    )
    text = (vault / str(saved.file_path)).read_text()
    assert saved.file_path == f"decisions/2026-03-10_python_fastapi_{saved.id[-6:]}.md"
    assert text == (
        f"---\nid: {saved.id}\ntitle: Python + FastAPI\nkind: decision\nsector: semantic\nsource: user\n"
        'importance: 0.5\nkeywords:\n  - python\n  - "no"\ncreated_at: 2026-03-10T12:00:00Z\n'
        "updated_at: 2026-03-10T12:00:00Z\n---\n\n# Python + FastAPI\n\n**Why:** the SDK.\n\n"
    )


@pytest.mark.parametrize(
    "content",
    [
        "a",
        "a\n",
        "\n\na\n\n",
        "a\r\nb",
        "---\nnot: front matter\n---\n",
        "<<<<<<< x\n=======\n>>>>>>> y",
        "  a  ",
    ],
)
def test_B2_the_body_is_kept_verbatim(opened: Opener, vault: Path, content: str) -> None:
    saved = opened().save(content)
    shutil.rmtree(vault / ".muisti")
    again = opened()
    assert [found.content for found in again.list()] == [content]
    again.reindex_missing()
    assert again.get(saved.id) == saved


def test_B2_two_memories_of_one_title_never_collide(memory: Muisti, vault: Path) -> None:
    paths = {memory.save(f"Text {n}", title="Same title", kind="note").file_path for n in range(12)}
    assert len(paths) == 12
    assert len(list(vault.glob("notes/*.md"))) == 12


def test_B2_two_clones_give_two_memories_two_names(clock: FakeClock, tmp_path: Path) -> None:
    names = set()
    for clone in ("here", "there"):
        with bootstrap.open(tmp_path / clone, clock=clock) as memory:
            names.add(memory.save(f"What was said {clone}", title="Standup").file_path)
    assert len(names) == 2


@pytest.mark.parametrize(
    "title",
    ["Päätös", "我喜欢猫", "Решение", "🚀🚀", "con", "a" * 300, "../../etc/passwd", "CON.md"],
)
def test_B2_slugs_are_unicode_and_stay_in_the_vault(
    memory: Muisti, vault: Path, title: str
) -> None:
    saved = memory.save("text", title=title)
    path = (vault / str(saved.file_path)).resolve()
    assert path.is_relative_to(vault.resolve())
    assert path.is_file()
    assert saved.title == title


def test_B2_what_a_person_added_survives_a_rewrite(
    opened: Opener, vault: Path, clock: FakeClock
) -> None:
    saved = opened().save("The old text", kind="fact")
    file = vault / str(saved.file_path)
    by_hand = file.read_text().replace(
        "source: user\n", "# a comment of mine\nmood:   'good'   # today\nsource: user  # me\n"
    )
    file.write_text(by_hand)
    clock.forward(days=1)
    opened().update(saved.id, importance=0.9)
    expected = by_hand.replace("importance: 0.5", "importance: 0.9").replace(
        "updated_at: 2026-03-10T12:00:00Z", "updated_at: 2026-03-11T12:00:00Z"
    )
    assert file.read_text() == expected


def _everything(memory: Muisti) -> tuple[object, ...]:
    found = memory.list(include_deleted=True, limit=None, order="asc")
    searches = [
        [(r.memory.id, r.score) for r in memory.search(q, include_deleted=True)]
        for q in ("memory", "Finnish", "number 3")
    ]
    return (
        found,
        searches,
        memory.list_sessions(),
        [memory.session_uses(s.id) for s in memory.list_sessions()],
    )


@pytest.mark.parametrize("many", [1, 1000], ids=["in one go", "row by row"])
def test_B3_delete_the_index_and_everything_comes_back(
    opened: Opener, vault: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch, many: int
) -> None:
    monkeypatch.setattr(reconciler, "MANY_FILES", many)
    built: list[int] = []
    swap = SqliteIndexBuilder.swap

    def count_builds(self: SqliteIndexBuilder) -> None:
        built.append(len(self.seen()))
        swap(self)

    monkeypatch.setattr(SqliteIndexBuilder, "swap", count_builds)
    first = opened(record_recall=False)
    session = first.start_session("web")
    for n in range(8):
        clock.forward(minutes=1)
        first.save(
            f"Memory number {n} about Finnish lakes", session_id=session.id if n % 2 else None
        )
    ids = [found.id for found in first.list(order="asc")]
    first.reinforce(ids[0], session_id=session.id)
    first.deemphasize(ids[1], 0.5)
    first.touch(ids[2])
    first.link_to_session(ids[4], session.id, "recalled")
    first.delete(ids[3])
    first.end_session(session.id, "Talked about lakes", tool_calls=7)
    before = _everything(first)
    first.close()
    shutil.rmtree(vault / ".muisti")
    again = opened(record_recall=False)
    assert built == ([8] if many == 1 else [])
    again.reindex_missing()  # vectors come with the next search; who wants them now, says so
    assert _everything(again) == before
    again.reindex()
    assert _everything(again) == before
    assert again.verify(deep=True).ok


def test_B3_an_index_that_has_documents_is_not_replaced(
    opened: Opener, vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reconciler, "MANY_FILES", 1)
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_text("# A\n\nthe walrus\n")
    memory = opened()
    memory.index_path(docs, "docs")
    docs.rename(tmp_path / "unmounted")
    (vault / "notes").mkdir(exist_ok=True)
    for number in range(3):
        (vault / "notes" / f"{number}.md").write_text(f"note {number}\n")
    assert memory.sync().added == 3
    assert len(memory.search("walrus", source="docs")) == 1


def test_B4_what_was_saved_is_on_the_disk_before_save_returns(opened: Opener, vault: Path) -> None:
    first = opened()
    saved = first.save("Acknowledged")
    assert "Acknowledged" in (vault / str(saved.file_path)).read_text()
    assert opened().get(saved.id) == saved  # another process would see it too


def test_B5_a_moved_file_stays_if_a_sync_dies_before_it_forgets_the_old_path(
    opened: Opener, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is indexed at its new path then: its old path is gone, the memory is not."""
    monkeypatch.setattr(differences, "TICK_NS", 0)  # or the file would be read again
    first = opened()
    moved = first.save("A moved memory", kind="fact")
    first.close()
    (vault / "insights").mkdir(exist_ok=True)
    (vault / str(moved.file_path)).rename(vault / "insights" / "moved.md")
    with monkeypatch.context() as dying, pytest.raises(RuntimeError, match="killed"):

        def die(*_: object) -> None:
            raise RuntimeError("killed")

        dying.setattr(Reconciliation, "_forget", die)
        opened()
    found = opened().get(moved.id)
    assert found is not None
    assert (found.kind, found.file_path) == ("insight", "insights/moved.md")


def test_B5_edits_renames_moves_additions_and_deletions_are_picked_up(
    opened: Opener, vault: Path
) -> None:
    first = opened()
    edited, renamed, moved, gone = (
        first.save(f"{word} memory", kind="fact") for word in ("edited", "renamed", "moved", "gone")
    )
    rest = [first.save(f"another {n}") for n in range(8)]
    first.close()
    file = vault / str(edited.file_path)
    file.write_text(file.read_text().replace("edited memory\n", "a memory about walruses\n"))
    (vault / str(renamed.file_path)).rename(vault / "facts" / "my own name.md")
    (vault / "projects" / "zoo" / "decisions").mkdir(parents=True)
    (vault / str(moved.file_path)).rename(vault / "projects/zoo/decisions/moved.md")
    (vault / str(gone.file_path)).unlink()
    (vault / "insights").mkdir(exist_ok=True)
    (vault / "insights" / "new one.md").write_text("Penguins do not fly.\n")
    again = opened()
    assert [r.memory.id for r in again.search("walruses")][:1] == [edited.id]
    assert [r.memory.id for r in again.search("walruses", mode="keyword")] == [edited.id]
    assert again.get(renamed.id).file_path == "facts/my own name.md"  # type: ignore[union-attr]
    followed = again.get(moved.id)
    assert followed is not None
    assert (followed.kind, followed.project) == ("decision", "zoo")
    assert again.get(gone.id) is None
    penguins = again.search("penguins")[0].memory
    assert (penguins.kind, penguins.content) == ("insight", "Penguins do not fly.")
    assert f"id: {penguins.id}" in (vault / "insights" / "new one.md").read_text()
    kept = again.get(rest[0].id)
    assert kept is not None
    assert (kept.content, kept.file_path, kept.created_at) == (
        rest[0].content,
        rest[0].file_path,
        rest[0].created_at,
    )
    assert again.verify(deep=True).ok


BROKEN = {
    "not YAML": "---\n: : [\n---\n\nbody\n",
    "an alias": "---\na: &x 1\nb: *x\n---\n\nbody\n",
    "never closed": "---\ntitle: x\n\nbody\n",
    "a duplicate key": "---\ntitle: x\ntitle: y\n---\n\nbody\n",
    "conflict markers": "---\ntitle: x\n---\n\n<<<<<<< HEAD\none\n=======\ntwo\n>>>>>>> branch\n",
    "an unknown kind": "---\nkind: rumour\n---\n\nbody\n",
    "importance 7": "---\nimportance: 7\n---\n\nbody\n",
    "no time": "---\ncreated_at: tomorrow\n---\n\nbody\n",
    "10 MB of front matter": "---\n" + "key: value\n" * 900_000 + "---\n\nbody\n",
    "an empty body": "---\ntitle: x\n---\n",
}


@pytest.mark.parametrize("what", BROKEN)
def test_B5_a_broken_file_is_reported_and_left_alone(
    opened: Opener, vault: Path, what: str
) -> None:
    opened().save("A sound memory")
    bad = vault / "facts" / "bad.md"
    bad.parent.mkdir(exist_ok=True)
    bad.write_text(BROKEN[what])
    again = opened()
    assert [found.content for found in again.list()] == ["A sound memory"]
    (problem,) = again.problems()
    assert problem.path == "facts/bad.md"
    assert len(problem.reason) > 20
    assert bad.read_text() == BROKEN[what]
    assert not again.verify().ok
    again.save("Saving still works")
    bad.write_text("Mended by hand\n")
    assert "Mended by hand" in {found.content for found in opened().list()}
    assert opened().verify(deep=True).ok


def test_B5_a_copied_file_is_reported_and_becomes_a_memory_without_its_id(
    opened: Opener, vault: Path
) -> None:
    saved = opened().save("The original", kind="fact")
    copy = vault / "facts" / "the copy of the file of the original memory.md"
    shutil.copy(vault / str(saved.file_path), copy)
    again = opened()
    assert [found.file_path for found in again.list()] == [saved.file_path]
    assert "same ID" in again.problems()[0].reason
    (vault / str(saved.file_path)).unlink()
    assert [found.file_path for found in opened().list()] == [
        "facts/the copy of the file of the original memory.md"
    ]


def test_B5_many_vanished_files_are_not_forgotten_without_a_confirmation(
    opened: Opener, vault: Path
) -> None:
    opened().save_batch([f"Memory {n}" for n in range(10)])
    for path in sorted(vault.rglob("*.md"))[:4]:
        path.unlink()
    again = opened()
    assert len(again.list()) == 10
    report = again.sync()
    assert (report.paused, report.missing) == (True, 4)
    assert again.sync(confirm=True).removed == 4
    assert len(again.list()) == 6
    assert again.verify(deep=True).ok


def test_B6_delete_goes_to_the_trash_and_restore_brings_it_back(
    memory: Muisti, vault: Path
) -> None:
    saved = memory.save("Throw me away", kind="decision", project="web")
    assert memory.delete(saved.id)
    assert memory.get(saved.id) is None
    assert memory.search("throw") == []
    trashed = memory.get(saved.id, include_deleted=True)
    assert trashed is not None
    assert trashed.deleted_at is not None
    assert str(trashed.file_path).startswith(".trash/projects/web/decisions/")
    assert [r.memory.id for r in memory.search("throw", include_deleted=True)] == [saved.id]
    assert not memory.delete(saved.id)
    restored = memory.restore(saved.id)
    assert (restored.content, restored.file_path, restored.deleted_at) == (
        saved.content,
        saved.file_path,
        None,
    )
    assert (vault / str(saved.file_path)).is_file()


def test_B6_a_restored_file_does_not_overwrite_its_successor(memory: Muisti) -> None:
    first = memory.save("One", title="Same")
    memory.delete(first.id)
    second = memory.save("Two", title="Same")
    assert memory.restore(first.id).file_path != second.file_path
    assert {found.content for found in memory.list()} == {"One", "Two"}


def test_B6_hard_delete_leaves_no_byte_in_the_index(memory: Muisti, vault: Path) -> None:
    memory.save_batch([f"Ordinary memory {n}" for n in range(20)])
    saved = memory.save("The password of the safe is xyzzyplugh", keywords=["quuxkey"])
    memory.update(saved.id, content="The password of the safe is plughxyzzy now")
    memory.search("plughxyzzy")
    assert memory.delete(saved.id, hard=True)
    assert memory.get(saved.id, include_deleted=True) is None
    left = b"".join(path.read_bytes() for path in vault.rglob("*") if path.is_file())
    for canary in (b"xyzzyplugh", b"plughxyzzy", b"quuxkey"):
        assert canary not in left.lower()
    assert memory.verify(deep=True).ok


def test_B_a_path_that_is_a_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("x")
    with pytest.raises(VaultUnusable, match="is a file"):
        bootstrap.open(file)


@pytest.mark.needs_files("opens the vault twice")
def test_B_a_vault_may_be_opened_twice(opened: Opener) -> None:
    one, two = opened(), opened()
    saved = one.save("Seen by both")
    assert two.get(saved.id) == saved
    two.delete(saved.id)
    assert one.get(saved.id) is None


def test_B_links_out_of_the_vault_are_not_followed(
    opened: Opener, vault: Path, tmp_path: Path
) -> None:
    opened().save("Inside")
    (tmp_path / "secret.md").write_text("outside the vault")
    (vault / "facts").mkdir(exist_ok=True)
    os.symlink(tmp_path / "secret.md", vault / "facts" / "link.md")
    os.symlink(tmp_path, vault / "facts" / "folder")
    again = opened()
    assert [found.content for found in again.list()] == ["Inside"]
    assert [problem.path for problem in again.problems()] == ["facts/link.md"]


def test_B_a_missing_vault_is_an_error_if_none_is_to_be_made(tmp_path: Path) -> None:
    with pytest.raises(VaultError, match="muisti init"):
        bootstrap.open(tmp_path / "none", create=False)


def test_B1_an_existing_project_is_left_alone(vault: Path) -> None:
    pages = {
        ".gitignore": "*.pyc\n",
        "README.md": "# A project\n",
        "docs/intro.md": "---\nid: intro\n---\n\nA page of another program\n",
        "docs/broken.md": "---\n: [\n---\n",
        "node_modules/x/notes/a.md": "Not ours\n",
    }
    for name, text in pages.items():
        (vault / name).parent.mkdir(parents=True, exist_ok=True)
        (vault / name).write_text(text)
    with bootstrap.open(vault / "notes" / "inner") as inner:
        inner.save("Of a vault of its own", kind="note")
    with bootstrap.open(vault) as memory:
        memory.save("The only one", kind="fact")
        assert [found.content for found in memory.list()] == ["The only one"]
        assert memory.problems() == []
        assert memory.verify(deep=True).ok
    assert {name: (vault / name).read_text() for name in pages} == pages
    subprocess.run(["git", "init", "-q", str(vault)], check=True)
    tracked = subprocess.run(
        ["git", "-C", vault, "add", "-An"], check=True, capture_output=True, text=True
    ).stdout
    assert ".muisti" not in tracked


def test_B5_a_conflict_in_the_front_matter_is_called_one(opened: Opener, vault: Path) -> None:
    saved = opened().save("Merged badly", kind="fact")
    file = vault / str(saved.file_path)
    file.write_text(
        file.read_text().replace(
            "source: user\n", "<<<<<<< HEAD\nsource: user\n=======\nsource: ai\n>>>>>>> b\n"
        )
    )
    assert "resolve the merge" in opened().problems()[0].reason


def test_B5_tags_and_dates_under_their_own_names_stay_in_use(opened: Opener, vault: Path) -> None:
    opened().close()
    file = vault / "notes" / "a.md"
    file.parent.mkdir()
    file.write_text(
        "---\ntags: [alpha]\ncreated: 2024-01-05\ncategory: facts\n---\n\nFrom another program\n"
    )
    first = opened()
    (found,) = first.list()
    assert (found.keywords, found.kind, found.created_at.year) == (("alpha",), "fact", 2024)
    file.write_text(file.read_text().replace("[alpha]", "[alpha, beta]"))
    first.sync()
    assert first.search_by_keywords(["beta"])[0].id == found.id
    first.update(found.id, keywords=["gamma"])
    text = file.read_text() if file.exists() else next(vault.rglob("a.md")).read_text()
    assert "tags: [gamma]" in text
    assert "keywords" not in text


def test_B2_the_mode_of_a_file_is_kept(opened: Opener, vault: Path) -> None:
    memory = opened()
    saved = memory.save("Readable by the group")
    file = vault / str(saved.file_path)
    file.chmod(0o640)
    memory.update(saved.id, importance=0.7)
    assert file.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_B5_a_page_that_shows_front_matter_as_an_example_is_no_memory(
    opened: Opener, vault: Path, bom: str
) -> None:
    page = f"{bom}# How it works\n\n```markdown\n---\nid: 0195801f-7d3c-7a41-9d0e-2f6b3c9f12ab\n---\n```\n"
    (vault / "docs").mkdir(parents=True)
    (vault / "docs" / "page.md").write_text(page, "utf-8")
    memory = opened()
    assert memory.list() == []
    assert (vault / "docs" / "page.md").read_text("utf-8") == page
    (vault / "docs" / "page.md").write_text(
        f"{bom}---\nid: 0195801f-7d3c-7a41-9d0e-2f6b3c9f12ab\n---\n\nMoved here\n", "utf-8"
    )
    memory.sync()
    assert [one.content for one in memory.list()] == ["Moved here"], (
        "one with an id of ours in its front matter is"
    )
