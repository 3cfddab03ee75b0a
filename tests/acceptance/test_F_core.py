"""F4 · Core memory: what an agent always knows."""

from __future__ import annotations

import errno
import json
import logging
import threading
from pathlib import Path

import pytest

from muisti import CoreEntryNotFound, InvalidRequest, Muisti
from muisti.errors import BrokenFile, VaultFull
from muisti.lifecycle.core_memory import parse_entries
from tests.conftest import Opener
from tests.faults.starve import FailingDisk

USER_MD = "# About me\n\n- **Name**: Anna\n- Location: Turku: by the river\n\n## Projects\n\nA boat\n- and a garden\n"


def test_F4_a_new_vault_has_none(memory: Muisti, vault: Path) -> None:
    found = memory.core_get()
    assert (dict(found.user), dict(found.agent)) == ({}, {})
    assert not (vault / "core_memory.json").exists()


def test_F4_get_update_delete_and_read_again(opened: Opener, vault: Path) -> None:
    first = opened()
    first.core_update("user", "name", "Anna")
    first.core_update("agent", "tone", "short answers")
    assert dict(first.core_update("user", "name", "Anna K.").user) == {"name": "Anna K."}
    first.close()
    second = opened()
    assert dict(second.core_get().agent) == {"tone": "short answers"}
    second.core_delete("agent", "tone")
    assert json.loads((vault / "core_memory.json").read_text("utf-8")) == {
        "user": {"name": "Anna K."},
        "agent": {},
    }
    assert json.loads((vault / ".history" / "core_memory.json").read_text("utf-8"))["agent"] == {}


@pytest.mark.parametrize(
    ("section", "key", "value", "named"),
    [
        ("world", "name", "x", "section"), ("", "name", "x", "section"), ("user", "", "x", "key"), ("user", "a\nb", "x", "key"),
        ("user", "k" * 101, "x", "key"), ("user", "name", " ", "value"), ("user", "name", None, "value"), ("user", "name", "x" * 30_000, "value"),
        ("user", "pin", "<private>4711</private>", "value"),
    ],
)  # fmt: skip
def test_F4_bad_input_names_the_field_and_changes_nothing(
    memory: Muisti, vault: Path, section: str, key: str, value: str, named: str
) -> None:
    memory.core_update("user", "name", "Anna")
    before = (vault / "core_memory.json").read_bytes()
    with pytest.raises(InvalidRequest, match=f"^{named} "):
        memory.core_update(section, key, value)
    assert (vault / "core_memory.json").read_bytes() == before


def test_F4_a_key_that_is_missing_on_delete(memory: Muisti) -> None:
    with pytest.raises(CoreEntryNotFound, match="'name' in section user; the section is empty"):
        memory.core_delete("user", "name")
    memory.core_update("user", "nickname", "Ann")
    with pytest.raises(CoreEntryNotFound, match="its entries are: nickname"):
        memory.core_delete("user", "name")


def test_F4_first_filled_from_user_md_and_never_again(opened: Opener, vault: Path) -> None:
    vault.mkdir()
    (vault / "USER.md").write_text(USER_MD, "utf-8")
    first = opened()
    assert dict(first.core_get().user) == {
        "name": "Anna",
        "location": "Turku: by the river",
        "projects": "A boat and a garden",
    }
    first.core_update("user", "name", "Bea")
    first.close()
    (vault / "USER.md").write_text("- Name: Carla\n", "utf-8")
    assert opened().core_get().user["name"] == "Bea"


def test_F4_init_from_a_text_or_a_file(memory: Muisti, tmp_path: Path) -> None:
    assert dict(memory.core_init("- Name: Anna").user) == {"name": "Anna"}
    (tmp_path / "other.md").write_text("- Name: Bea", "utf-8")
    assert memory.core_init(tmp_path / "other.md").user["name"] == "Anna", "what is there wins"
    with pytest.raises(InvalidRequest, match="^source .*missing.md"):
        memory.core_init(tmp_path / "missing.md")
    with pytest.raises(InvalidRequest, match="^text must have lines like"):
        memory.core_init("\n\n")


@pytest.mark.parametrize("text", ["", "x" * 300_000, "\ud800".encode("utf-8", "surrogatepass")])
def test_F4_a_user_md_that_cannot_be_used_is_told_of_and_the_vault_opens(
    opened: Opener, vault: Path, text: str | bytes, caplog: pytest.LogCaptureFixture
) -> None:
    vault.mkdir()
    (vault / "USER.md").write_bytes(text if isinstance(text, bytes) else text.encode())
    with caplog.at_level(logging.WARNING, "muisti"):
        memory = opened()
    assert not memory.core_get().user
    assert bool(text) == ("core memory is not filled from USER.md" in caplog.text)


@pytest.mark.parametrize("text", ["{", "[]", '{"user": []}', '{"user": {}, "agent": "x"}'])
def test_F4_a_broken_file_is_told_of_and_left_alone(memory: Muisti, vault: Path, text: str) -> None:
    (vault / "core_memory.json").write_text(text, "utf-8")
    for call in (
        memory.core_get,
        lambda: memory.core_update("user", "name", "x"),
        lambda: memory.core_delete("user", "name"),
    ):
        with pytest.raises(BrokenFile, match=r"core_memory.json: .*\.history"):
            call()
    assert (vault / "core_memory.json").read_text("utf-8") == text


MERGE = '{"user": {\n<<<<<<< HEAD\n"name": "Anna"\n=======\n"name": "Bea"\n>>>>>>> other\n}}\n'


@pytest.mark.parametrize("user", ["", "anna"])
@pytest.mark.parametrize(
    ("text", "line"), [(MERGE, "line 2"), ('{"user": {\n"name" "x"}}', "line 2"), ("[]", "object")]
)
def test_F4_a_broken_file_is_left_out_of_context_and_reported(
    opened: Opener, vault: Path, user: str, text: str, line: str
) -> None:
    memory = opened(embedder="none")
    path = "users/anna/core_memory.json" if user else "core_memory.json"
    memory.core_update("agent", "tone", "short answers")
    memory.core_update("user", "name", "Anna", user="anna")
    memory.save("The ferry leaves at noon", user="anna")
    (vault / path).write_text(text, "utf-8")
    context = memory.context("ferry noon", user="anna")
    assert "The ferry leaves at noon" in context
    assert path in context
    assert line in context
    assert ("short answers" in context) == bool(user)
    assert ("Anna" in context) == (not user)
    assert memory.context("ferry noon", user="anna") == context, "byte-stable"
    for problems in (memory.verify().problems, memory.get_stats().problems, memory.problems()):
        [problem] = problems
        assert problem.path == path
        assert line in problem.reason
        assert ".history" in problem.reason
    (vault / path).unlink()
    assert memory.verify().ok


@pytest.mark.parametrize("user", ["", "anna"])
def test_F4_a_deleted_value_is_gone_from_every_file(memory: Muisti, vault: Path, user: str) -> None:
    memory.core_update("user", "name", "Anna", user=user)
    memory.core_update("user", "pin", "first-4711", user=user)
    memory.core_update("user", "pin", "second-4711", user=user)
    memory.core_delete("user", "pin", user=user)
    found = [path for path in vault.rglob("*") if path.is_file() and b"4711" in path.read_bytes()]
    assert found == []
    assert dict(memory.core_get(user=user).user) == {"name": "Anna"}


def test_F4_what_a_person_adds_by_hand_stays(memory: Muisti, vault: Path) -> None:
    (vault / "core_memory.json").write_text(
        '{"note": "mine", "user": {"age": 7, "tags": ["a"]}}', "utf-8"
    )
    assert dict(memory.core_get().user) == {"age": "7", "tags": '["a"]'}
    memory.core_update("agent", "tone", "kind")
    assert json.loads((vault / "core_memory.json").read_text("utf-8")) == {
        "note": "mine", "user": {"age": 7, "tags": ["a"]}, "agent": {"tone": "kind"},
    }  # fmt: skip


def test_C1_what_is_private_does_not_enter_it(memory: Muisti, vault: Path) -> None:
    memory.core_update("user", "door", "left <private>canary4711</private> of the gate")
    memory.core_init("- Name: Anna")
    assert memory.core_get().user["door"] == "left  of the gate"
    assert not [
        path for path in vault.rglob("*") if path.is_file() and b"canary4711" in path.read_bytes()
    ]


@pytest.mark.needs_files("opens the vault several times")
def test_K1_writers_of_different_keys_all_survive(opened: Opener) -> None:
    several = [opened() for _ in range(4)]

    def write(number: int) -> None:
        for n in range(10):
            several[number].core_update("user", f"key {number} {n}", "x")

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(several[0].core_get().user) == 40


def test_K2_on_a_full_disk_it_is_whole_old_or_whole_new(opened: Opener, vault: Path) -> None:
    disk = FailingDisk(errno.ENOSPC, forever=True)
    memory = opened(disk=disk)
    memory.core_update("user", "name", "Anna")
    failed = 0
    for step in range(1, 40):
        disk.arm(step)
        try:
            memory.core_update("user", "name", "Bea")
        except VaultFull:
            failed += 1
        finally:
            disk.mend()
        assert json.loads((vault / "core_memory.json").read_text("utf-8"))["user"]["name"] in (
            "Anna",
            "Bea",
        )
        if not disk.failed:
            break
    assert memory.core_get().user["name"] == "Bea"
    assert failed > 3


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- Name: Anna", {"name": "Anna"}),
        ("**Name:** Anna\n__Town__: Turku", {"name": "Anna", "town": "Turku"}),
        ("Just a sentence.\nAnd one more.", {"about": "Just a sentence. And one more."}),
        ("## Likes ##\n* tea\n* rain", {"likes": "tea rain"}),
        ("Työ: merikapteeni", {"työ": "merikapteeni"}),
        ("see https://example.org", {"about": "see https://example.org"}),
    ],
)
def test_F4_how_a_user_md_is_read(text: str, expected: dict[str, str]) -> None:
    assert parse_entries(text) == expected
