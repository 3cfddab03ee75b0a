"""What every attic must do."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import PurePosixPath

import pytest
from hypothesis import HealthCheck, given, settings

from muisti.errors import BrokenFile
from muisti.model import Link, LinkType, Memory
from muisti.ports import Attic, Vault
from tests.contract.vault_suite import Bytes
from tests.unit.making import NOON, a_memory
from tests.unit.test_fields import memories

HOUR = timedelta(hours=1)
_QUICK = settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


def created(vault: Vault, number: int = 1, content: str = "Some text", **fields: object) -> Memory:
    return vault.create([a_memory(number, content, **fields)])[0].memory


class AtticContract:
    """Subclasses give the fixtures `attic`, `vault` and `raw` (the bytes of both)."""

    def test_nothing_is_kept_of_anything_at_first(self, attic: Attic) -> None:
        assert attic.kept("0195f000-0000-7000-8000-000000000001") == []
        assert attic.archived() == []
        assert attic.archived_path("nobody") is None
        attic.forget("nobody")

    def test_a_version_is_the_file_as_it_is_now(self, attic: Attic, vault: Vault, raw: Bytes) -> None:
        one = created(vault)
        path = str(one.file_path)
        mine = raw.get(path).replace(b"---\n", b"---\nmine: stays  # so\n", 1)
        raw.put(path, mine)
        attic.keep_version(path, one.id, NOON)
        raw.put(path, b"changed in place")
        (kept,) = attic.kept(one.id)
        assert (kept.at, kept.merged, kept.memory.content) == (NOON, False, "Some text")
        assert raw.get(kept.path) == mine

    @_QUICK
    @given(memory=memories())
    def test_any_merged_text_comes_back_whole(self, attic: Attic, memory: Memory) -> None:
        attic.keep_merged(memory, "into", NOON)
        (kept,) = attic.kept("into")
        assert (kept.at, kept.merged) == (NOON, True)
        assert kept.memory == replace(memory, file_path=kept.path)
        attic.forget("into")
        assert attic.kept("into") == []

    def test_links_of_a_merged_text_are_kept_too(self, attic: Attic) -> None:
        memory = a_memory(2, "It says so")
        link = Link(source=memory.id, type=LinkType.CONFIRMS, target="other", created_at=NOON, confidence=0.5)
        attic.keep_merged(replace(memory, links=(link,)), "into", NOON)
        assert attic.kept("into")[0].memory.links == (link,)

    def test_oldest_first_even_if_the_clock_stands_still(self, attic: Attic, vault: Vault) -> None:
        one = created(vault)
        attic.keep_merged(a_memory(2, "later"), one.id, NOON + HOUR)
        attic.keep_merged(a_memory(3, "first"), one.id, NOON)
        attic.keep_version(str(one.file_path), one.id, NOON)
        attic.keep_merged(a_memory(4, "third"), one.id, NOON)
        found = attic.kept(one.id)
        assert [kept.memory.content for kept in found] == ["first", "Some text", "third", "later"]
        assert [kept.merged for kept in found] == [True, False, True, True]
        assert len({kept.at for kept in found}) == 4

    def test_which_memories_have_merged_texts(self, attic: Attic, vault: Vault) -> None:
        assert attic.merged_ids() == []
        changed = created(vault)
        attic.keep_version(str(changed.file_path), changed.id, NOON + 4 * HOUR)
        for number, into, hours in ((2, "a", 2), (3, "b", 1), (4, "c", 0), (5, "c", 3)):
            attic.keep_merged(a_memory(number, f"text {number}"), into, NOON + hours * HOUR)
        assert attic.merged_ids() == ["c", "a", "b"]
        attic.forget("c")
        assert attic.merged_ids() == ["a", "b"]

    def test_drop_takes_one_and_forget_all_of_one_memory(self, attic: Attic, raw: Bytes) -> None:
        for number, into in ((2, "a"), (3, "a"), (4, "b")):
            attic.keep_merged(a_memory(number, f"text {number}"), into, NOON)
        first, second = attic.kept("a")
        attic.drop(first.path)
        attic.drop(first.path)  # that it is gone already is fine
        assert attic.kept("a") == [second]
        attic.forget("a")
        assert attic.kept("a") == []
        assert len(attic.kept("b")) == 1
        assert len(raw.paths()) == 1

    def test_what_cannot_be_read_is_left_out_and_left_alone(self, attic: Attic, raw: Bytes) -> None:
        attic.keep_merged(a_memory(2, "fine"), "a", NOON)
        folder = PurePosixPath(attic.kept("a")[0].path).parent
        for name, data in (
            ("20260101T000000000000Z.md", b"\xff\xfe"),
            ("notes.md", b"mine"),
            ("20269901T000000000000Z.md", b"x"),
        ):
            raw.put(f"{folder}/{name}", data)
        assert [kept.memory.content for kept in attic.kept("a")] == ["fine"]
        assert raw.get(f"{folder}/notes.md") == b"mine"

    @pytest.mark.parametrize("odd", ["", ".", "..", "../notes", "a/b", "*", "[a-z]*", "\0", "x" * 300, "ä"])
    def test_an_odd_id_leads_nowhere(self, attic: Attic, vault: Vault, raw: Bytes, odd: str) -> None:
        one = created(vault)
        attic.archive({str(created(vault, 2, "Archived").file_path): a_memory(2).id})
        assert attic.kept(odd) == []
        assert attic.archived_path(odd) is None
        attic.forget(odd)
        assert raw.get(str(one.file_path))

    # -- The archive

    def test_there_and_back(self, attic: Attic, vault: Vault, raw: Bytes) -> None:
        one = created(vault, project="app", keywords=("a",))
        path = str(one.file_path)
        before = raw.get(path)
        assert not attic.is_archived(path, one.id)
        attic.archive({path: one.id})
        assert attic.is_archived(path, one.id)
        assert not attic.is_archived(path, "another")
        assert path not in raw.paths()
        assert path not in dict(vault.scan())
        archived = str(attic.archived_path(one.id))
        assert raw.get(archived) == before
        (found,) = attic.archived()
        assert replace(found, file_path=path, project="app") == one
        assert attic.unarchive(archived, one.id) == path
        assert raw.get(path) == before
        assert attic.archived() == []
        assert attic.archived_path(one.id) is None

    def test_the_latest_first(self, attic: Attic, vault: Vault) -> None:
        for number in (2, 3, 1):
            one = created(vault, number, f"text {number}", created_at=NOON + number * HOUR)
            attic.archive({str(one.file_path): one.id})
        assert [found.content for found in attic.archived()] == ["text 3", "text 2", "text 1"]

    def test_a_page_at_a_time(self, attic: Attic, vault: Vault) -> None:
        for number in range(1, 6):
            one = created(
                vault, number, f"text {number}", project="app" if number % 2 else "", created_at=NOON + number * 24 * HOUR
            )
            attic.archive({str(one.file_path): one.id})
        assert [found.content for found in attic.archived(2)] == ["text 5", "text 4"]
        assert [found.content for found in attic.archived(2, 2)] == ["text 3", "text 2"]
        assert [found.content for found in attic.archived(2, 4)] == ["text 1"]
        assert attic.archived(0) == attic.archived(2, 9) == []
        assert [found.content for found in attic.archived(None, 3)] == ["text 2", "text 1"]

    def test_one_of_it(self, attic: Attic, vault: Vault, raw: Bytes) -> None:
        one, other = created(vault, 1, "One"), created(vault, 2, "Other")
        attic.archive({str(one.file_path): one.id})
        found = attic.archived_memory(one.id)
        assert found is not None
        assert (found.id, found.content, found.file_path) == (one.id, "One", attic.archived_path(one.id))
        assert attic.archived_memory(other.id) is None
        assert attic.archived_memory("*") is None
        raw.put(str(attic.archived_path(one.id)), b"\xff")
        with pytest.raises(BrokenFile):
            attic.archived_memory(one.id)

    def test_its_place_may_have_been_taken(self, attic: Attic, vault: Vault, raw: Bytes) -> None:
        old = created(vault, 1, "Old", title="Same")
        attic.archive({str(old.file_path): old.id})
        new = created(vault, 2, "New", title="Same")
        assert new.file_path == old.file_path
        back = attic.unarchive(str(attic.archived_path(old.id)), old.id)
        assert back != new.file_path
        assert raw.get(str(new.file_path)).endswith(b"New\n")
        assert raw.get(back).endswith(b"Old\n")
        found = vault.read(back)
        assert found is not None
        assert found.memory.id == old.id

    def test_there_is_always_a_place_for_it(self, attic: Attic, vault: Vault, raw: Bytes) -> None:
        old = created(vault, 1, "Old")
        attic.archive({str(old.file_path): old.id})
        archived = str(attic.archived_path(old.id))
        data = raw.get(archived)
        places = []
        for _ in range(4):
            raw.put(archived, data)  # it is there again, and all the places where it was are taken
            places.append(attic.unarchive(archived, old.id))
        assert places[0] == old.file_path
        assert len(set(places)) == 4
        assert all(raw.get(place) == data for place in places)

    @pytest.mark.parametrize("title", ["ä" * 120, "x" * 250, "a.b.c", "日本語" * 60])
    def test_long_and_odd_names(self, attic: Attic, vault: Vault, title: str) -> None:
        one = created(vault, title=title)
        attic.archive({str(one.file_path): one.id})
        assert attic.is_archived(str(one.file_path), one.id)
        archived = str(attic.archived_path(one.id))
        found = vault.read(attic.unarchive(archived, one.id))
        assert found is not None
        assert found.memory.title == title

    def test_a_file_in_the_archive_that_cannot_be_read_hides_no_other(self, attic: Attic, vault: Vault, raw: Bytes) -> None:
        one = created(vault)
        attic.archive({str(one.file_path): one.id})
        raw.put("archive/notes/broken.md", b"\xff")
        assert [found.id for found in attic.archived()] == [one.id]
