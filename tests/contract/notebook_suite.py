"""What every notebook must do."""

from __future__ import annotations

import stat

import pytest

from muisti.ports import Location, Notebook


def list_names(notes: Notebook, path: str = "") -> list[tuple[str, bool]]:
    return [(entry.name, entry.is_folder) for entry in notes.entries(path)]


class NotebookContract:
    """Subclasses give the fixture `location`, of a vault that is there."""

    @pytest.fixture
    def notes(self, location: Location) -> Notebook:
        notes = location.notebook("memories/anna")
        with notes.lock():
            notes.prepare()
        return notes

    def test_it_is_created_once(self, location: Location) -> None:
        notes = location.notebook("memories/anna")
        assert (notes.status(""), notes.entries("")) == (None, [])
        with notes.lock():
            notes.prepare()
            notes.prepare()
        status = notes.status("")
        assert status is not None
        assert stat.S_ISDIR(status.st_mode)
        assert notes.place.parts[-2:] == ("memories", "anna")

    def test_notes_keep_their_bytes(self, notes: Notebook) -> None:
        with notes.lock():
            notes.create("people/dog.md", b"Musti\r\n\xff")
            notes.create("a.txt", b"")
        assert notes.read("people/dog.md", 100) == b"Musti\r\n\xff"
        assert notes.read("people/dog.md", 2) == b"Mus", "one byte more tells that there is more"
        assert notes.read("a.txt", 0) == b""
        status = notes.status("people/dog.md")
        assert status is not None
        assert stat.S_ISREG(status.st_mode)
        assert status.st_size == 8
        assert list_names(notes) == [("a.txt", False), ("people", True)]
        assert [(one.name, one.size) for one in notes.entries("people")] == [("dog.md", 8)]

    @pytest.mark.parametrize("path", ["nobody.md", "people/nobody.md", "a.txt/x"])
    def test_what_is_missing(self, notes: Notebook, path: str) -> None:
        with notes.lock():
            notes.create("b.md", b"x")
        assert notes.status(path) is None
        assert notes.entries(path) == []
        with pytest.raises(FileNotFoundError):
            notes.read(path, 10)

    def test_a_note_that_exists_is_not_replaced(self, notes: Notebook) -> None:
        with notes.lock():
            notes.create("a.md", b"first")
        with pytest.raises(Exception, match="exists"), notes.lock():
            notes.create("a.md", b"second")
        assert notes.read("a.md", 100) == b"first"

    def test_a_replaced_note(self, notes: Notebook) -> None:
        with notes.lock():
            notes.create("a.md", b"first")
            notes.replace("a.md", b"second")
            notes.replace("a.md", b"third")
        assert notes.read("a.md", 100) == b"third"

    def test_folders_move_with_their_notes_and_stay_when_empty(self, notes: Notebook) -> None:
        with notes.lock():
            notes.create("people/ben/likes.md", b"tea")
            notes.create("peopled.md", b"another name with the same beginning")
            notes.move("people/ben", "friends/ben")
        assert notes.read("friends/ben/likes.md", 10) == b"tea"
        assert list_names(notes) == [("friends", True), ("people", True), ("peopled.md", False)]
        assert list_names(notes, "people") == []
        with notes.lock():
            notes.move("friends/ben/likes.md", "likes.md")
        assert list_names(notes, "friends/ben") == []
        assert notes.status("friends/ben/likes.md") is None

    def test_the_trash_keeps_all(self, notes: Notebook) -> None:
        trashed = []
        for _ in range(2):
            with notes.lock():
                notes.create("dog.md", b"Musti")
                trashed.append(notes.trash("dog.md"))
        assert len(set(trashed)) == 2
        for path in trashed:
            assert path.startswith(".trash/memories/anna/dog.")
            assert path.endswith("Z.md")
        with notes.lock():
            notes.create("people/ben.md", b"x")
            assert notes.trash("people").startswith(".trash/memories/anna/people.")
            notes.trash("")
            notes.prepare()
        assert list_names(notes) == []

    def test_each_notebook_has_its_own_notes(self, location: Location, notes: Notebook) -> None:
        other = location.notebook("memories/annabel")
        with other.lock():
            other.prepare()
            other.create("a.md", b"hers")
        assert (notes.entries(""), notes.status("a.md")) == ([], None)
        assert list_names(location.notebook("memories")) == [("anna", True), ("annabel", True)]
