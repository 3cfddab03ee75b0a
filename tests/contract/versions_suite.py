"""What the files of earlier versions, merged texts and the archive must do."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import PurePosixPath

import pytest
from hypothesis import HealthCheck, given, settings

from muisti.errors import BrokenFile
from muisti.model import Link, LinkType, Memory
from muisti.storage.files.vault import FileVault
from muisti.storage.files.versions import FileVersions
from tests.contract.vault_suite import Bytes
from tests.tiers import amount
from tests.unit.making import NOON, a_memory
from tests.unit.test_memory_codec import memories

HOUR = timedelta(hours=1)
_QUICK = settings(
    max_examples=amount(quick=10, all=40),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def created(
    vault: FileVault, number: int = 1, content: str = "Some text", **fields: object
) -> Memory:
    return vault.create([a_memory(number, content, **fields)])[0].memory


class VersionsContract:
    """Subclasses give the fixtures `versions`, `vault` and `raw` (the bytes of both)."""

    def test_which_memories_have_merged_texts(
        self, versions: FileVersions, vault: FileVault
    ) -> None:
        assert versions.merged_ids() == []
        changed = created(vault)
        versions.keep_version(str(changed.file_path), changed.id, NOON + 4 * HOUR)
        for number, into, hours in ((2, "a", 2), (3, "b", 1), (4, "c", 0), (5, "c", 3)):
            versions.keep_merged(a_memory(number, f"text {number}"), into, NOON + hours * HOUR)
        assert versions.merged_ids() == ["c", "a", "b"]
        versions.forget("c")
        assert versions.merged_ids() == ["a", "b"]

    def test_nothing_is_kept_of_anything_at_first(self, versions: FileVersions) -> None:
        assert versions.versions("0195f000-0000-7000-8000-000000000001") == []
        assert versions.archived() == []
        assert versions.archived_path("nobody") is None
        versions.forget("nobody")

    def test_a_version_is_the_file_as_it_is_now(
        self, versions: FileVersions, vault: FileVault, raw: Bytes
    ) -> None:
        one = created(vault)
        path = str(one.file_path)
        mine = raw.get(path).replace(b"---\n", b"---\nmine: stays  # so\n", 1)
        raw.put(path, mine)
        versions.keep_version(path, one.id, NOON)
        raw.put(path, b"changed in place")
        (kept,) = versions.versions(one.id)
        assert (kept.at, kept.merged, kept.memory.content) == (NOON, False, "Some text")
        assert raw.get(kept.reference) == mine

    @_QUICK
    @given(memory=memories())
    def test_any_merged_text_comes_back_whole(self, versions: FileVersions, memory: Memory) -> None:
        versions.keep_merged(memory, "into", NOON)
        (kept,) = versions.versions("into")
        assert (kept.at, kept.merged) == (NOON, True)
        assert kept.memory == replace(memory, file_path=kept.reference)
        versions.forget("into")
        assert versions.versions("into") == []

    def test_links_of_a_merged_text_are_kept_too(self, versions: FileVersions) -> None:
        memory = a_memory(2, "It says so")
        link = Link(
            source=memory.id,
            type=LinkType.CONFIRMS,
            target="other",
            created_at=NOON,
            confidence=0.5,
        )
        versions.keep_merged(replace(memory, links=(link,)), "into", NOON)
        assert versions.versions("into")[0].memory.links == (link,)

    def test_oldest_first_even_if_the_clock_stands_still(
        self, versions: FileVersions, vault: FileVault
    ) -> None:
        one = created(vault)
        versions.keep_merged(a_memory(2, "later"), one.id, NOON + HOUR)
        versions.keep_merged(a_memory(3, "first"), one.id, NOON)
        versions.keep_version(str(one.file_path), one.id, NOON)
        versions.keep_merged(a_memory(4, "third"), one.id, NOON)
        found = versions.versions(one.id)
        assert [kept.memory.content for kept in found] == ["first", "Some text", "third", "later"]
        assert [kept.merged for kept in found] == [True, False, True, True]
        assert len({kept.at for kept in found}) == 4

    def test_drop_takes_one_and_forget_all_of_one_memory(
        self, versions: FileVersions, raw: Bytes
    ) -> None:
        for number, into in ((2, "a"), (3, "a"), (4, "b")):
            versions.keep_merged(a_memory(number, f"text {number}"), into, NOON)
        first, second = versions.versions("a")
        versions.drop(first.reference)
        versions.drop(first.reference)  # that it is gone already is fine
        assert versions.versions("a") == [second]
        versions.forget("a")
        assert versions.versions("a") == []
        assert len(versions.versions("b")) == 1
        assert len(raw.paths()) == 1

    def test_what_cannot_be_read_is_left_out_and_left_alone(
        self, versions: FileVersions, raw: Bytes
    ) -> None:
        versions.keep_merged(a_memory(2, "fine"), "a", NOON)
        folder = PurePosixPath(versions.versions("a")[0].reference).parent
        for name, data in (
            ("20260101T000000000000Z.md", b"\xff\xfe"),
            ("notes.md", b"mine"),
            ("20269901T000000000000Z.md", b"x"),
        ):
            raw.put(f"{folder}/{name}", data)
        assert [kept.memory.content for kept in versions.versions("a")] == ["fine"]
        assert raw.get(f"{folder}/notes.md") == b"mine"

    @pytest.mark.parametrize(
        "odd", ["", ".", "..", "../notes", "a/b", "*", "[a-z]*", "\0", "x" * 300, "ä"]
    )
    def test_an_odd_id_leads_nowhere(
        self, versions: FileVersions, vault: FileVault, raw: Bytes, odd: str
    ) -> None:
        one = created(vault)
        versions.archive({str(created(vault, 2, "Archived").file_path): a_memory(2).id})
        assert versions.versions(odd) == []
        assert versions.archived_path(odd) is None
        versions.forget(odd)
        assert raw.get(str(one.file_path))

    # -- The archive

    def test_there_and_back(self, versions: FileVersions, vault: FileVault, raw: Bytes) -> None:
        one = created(vault, project="app", keywords=("a",))
        path = str(one.file_path)
        before = raw.get(path)
        assert not versions.is_archived(path, one.id)
        versions.archive({path: one.id})
        assert versions.is_archived(path, one.id)
        assert not versions.is_archived(path, "another")
        assert path not in raw.paths()
        assert path not in dict(vault.scan())
        archived = str(versions.archived_path(one.id))
        assert raw.get(archived) == before
        (found,) = versions.archived()
        assert replace(found, file_path=path, project="app") == one
        assert versions.unarchive(archived, one.id) == path
        assert raw.get(path) == before
        assert versions.archived() == []
        assert versions.archived_path(one.id) is None

    def test_the_latest_first(self, versions: FileVersions, vault: FileVault) -> None:
        for number in (2, 3, 1):
            one = created(vault, number, f"text {number}", created_at=NOON + number * HOUR)
            versions.archive({str(one.file_path): one.id})
        assert [found.content for found in versions.archived()] == ["text 3", "text 2", "text 1"]

    def test_a_page_at_a_time(self, versions: FileVersions, vault: FileVault) -> None:
        for number in range(1, 6):
            one = created(
                vault,
                number,
                f"text {number}",
                project="app" if number % 2 else "",
                created_at=NOON + number * 24 * HOUR,
            )
            versions.archive({str(one.file_path): one.id})
        assert [found.content for found in versions.archived(2)] == ["text 5", "text 4"]
        assert [found.content for found in versions.archived(2, 2)] == ["text 3", "text 2"]
        assert [found.content for found in versions.archived(2, 4)] == ["text 1"]
        assert versions.archived(0) == versions.archived(2, 9) == []
        assert [found.content for found in versions.archived(None, 3)] == ["text 2", "text 1"]

    def test_one_of_it(self, versions: FileVersions, vault: FileVault, raw: Bytes) -> None:
        one, other = created(vault, 1, "One"), created(vault, 2, "Other")
        versions.archive({str(one.file_path): one.id})
        found = versions.archived_memory(one.id)
        assert found is not None
        assert (found.id, found.content, found.file_path) == (
            one.id,
            "One",
            versions.archived_path(one.id),
        )
        assert versions.archived_memory(other.id) is None
        assert versions.archived_memory("*") is None
        raw.put(str(versions.archived_path(one.id)), b"\xff")
        with pytest.raises(BrokenFile):
            versions.archived_memory(one.id)

    def test_its_place_may_have_been_taken(
        self, versions: FileVersions, vault: FileVault, raw: Bytes
    ) -> None:
        old = created(vault, 1, "Old", title="Same")
        versions.archive({str(old.file_path): old.id})
        raw.put(str(old.file_path), b"New\n")
        back = versions.unarchive(str(versions.archived_path(old.id)), old.id)
        assert back != old.file_path
        assert raw.get(str(old.file_path)).endswith(b"New\n")
        assert raw.get(back).endswith(b"Old\n")
        found = vault.read(back)
        assert found is not None
        assert found.memory.id == old.id

    def test_there_is_always_a_place_for_it(
        self, versions: FileVersions, vault: FileVault, raw: Bytes
    ) -> None:
        old = created(vault, 1, "Old")
        versions.archive({str(old.file_path): old.id})
        archived = str(versions.archived_path(old.id))
        data = raw.get(archived)
        places = []
        for _ in range(4):
            raw.put(archived, data)  # it is there again, and all the places where it was are taken
            places.append(versions.unarchive(archived, old.id))
        assert places[0] == old.file_path
        assert len(set(places)) == 4
        assert all(raw.get(place) == data for place in places)

    @pytest.mark.parametrize("title", ["ä" * 120, "x" * 250, "a.b.c", "日本語" * 60])
    def test_long_and_odd_names(self, versions: FileVersions, vault: FileVault, title: str) -> None:
        one = created(vault, title=title)
        versions.archive({str(one.file_path): one.id})
        assert versions.is_archived(str(one.file_path), one.id)
        archived = str(versions.archived_path(one.id))
        found = vault.read(versions.unarchive(archived, one.id))
        assert found is not None
        assert found.memory.title == title

    def test_a_file_in_the_archive_that_cannot_be_read_hides_no_other(
        self, versions: FileVersions, vault: FileVault, raw: Bytes
    ) -> None:
        one = created(vault)
        versions.archive({str(one.file_path): one.id})
        raw.put("archive/notes/broken.md", b"\xff")
        assert [found.id for found in versions.archived()] == [one.id]
