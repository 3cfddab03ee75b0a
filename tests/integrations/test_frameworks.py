"""J8 · What the integrations share: which versions they need, checkpoint files, items of a vault.
None of it needs a framework.
"""

from __future__ import annotations

from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from muisti import Muisti, VaultError
from muisti.errors import SessionNotFound
from muisti.integrations.checkpoint_file import CheckpointFile, CheckpointRow, WriteRow
from muisti.integrations.frameworks import require
from muisti.integrations.message_items import MessageItems
from muisti.integrations.vault_items import Change, VaultItems, decode_value, encode_value

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(-9, 9) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
VALUES = st.dictionaries(st.sampled_from(["text", "content", "memory", "x", "\0"]), JSON)


@pytest.mark.parametrize(
    ("installed", "message"),
    [
        ("0.6.11", "langgraph 0.6.11 is too old, 1.2 or later is needed: pip install -U 'muisti[langgraph]'"),
        ("1.1.99", "langgraph 1.1.99 is too old, 1.2 or later"),
        (None, "langgraph 1.2 or later is not installed: pip install -U 'muisti[langgraph]'"),
        ("1.2", ""),
        ("1.2.0rc1", ""),
        ("10.0", ""),
    ],
)  # fmt: skip
def test_J8_a_missing_or_old_framework_is_named(
    installed: str | None, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_version(package: str) -> str:
        if installed is None:
            raise metadata.PackageNotFoundError(package)
        return installed

    monkeypatch.setattr(metadata, "version", read_version)
    if not message:
        require("langgraph", "1.2", "langgraph")
        return
    with pytest.raises(ImportError) as caught:
        require("langgraph", "1.2", "langgraph")
    assert message in str(caught.value)


@given(VALUES)
@example({"text": "a", "x": "```json\n{}\n```"})
@example({"text": "\ud800", "x": "\ud800"})
@example({"content": "a\0b"})
def test_J8_a_value_is_read_as_it_was_written(value: dict[str, Any]) -> None:
    text, field = encode_value(value)
    text.encode()
    assert "\0" not in text
    assert decode_value(text, field) == value


def test_J8_items_with_the_same_text_stay_apart(memory: Muisti) -> None:
    items = VaultItems(memory, "example")
    items.apply([Change(("a",), key, {"text": "Anna likes pizza"}) for key in ("one", "two")])
    memory.save("Anna likes pizza")
    assert [item.key for item in items.select()] == ["one", "two"]
    items.apply([Change(("a",), "one", {"text": "Anna likes rice"}), Change(("a",), "two", None)])
    assert [(item.key, item.value) for item in items.select()] == [("one", {"text": "Anna likes rice"})]  # fmt: skip
    assert len(memory.list_trash()) == 1


def test_J8_a_checkpoint_file_is_read_again_and_locked(tmp_path: Path) -> None:
    path = tmp_path / "checkpoints.sqlite"
    file = CheckpointFile(path)
    row = CheckpointRow("thread", "", "1", None, "run", "json", b"{}", "json", b"{}")
    write = WriteRow("thread", "", "1", "task", 0, "", "channel", "json", b"1")
    file.put(row)
    file.put_writes([write, write._replace(data=b"2"), write._replace(position=-1)])
    file.put_writes([write._replace(position=-1, data=b"3")])
    file.close()
    file = CheckpointFile(path)
    assert file.select({"thread = ?": "thread"}) == [row]
    assert [one.data for one in file.select_writes(row.key)] == [b"3", b"1"]
    file.copy_thread("thread", "other")
    file.delete([row.key])
    assert [one.thread for one in file.select({})] == ["other"]
    file._db.execute("PRAGMA user_version = 99")
    file.close()
    with pytest.raises(VaultError, match="written by a later version"):
        CheckpointFile(path)


@pytest.mark.parametrize(
    ("module", "package"), [("crewai", "crewai"), ("langgraph", "langgraph-checkpoint")]
)
def test_J8_an_integration_without_its_framework_says_what_to_install(
    module: str, package: str
) -> None:
    try:
        metadata.version(package)
    except metadata.PackageNotFoundError:
        with pytest.raises(ImportError, match=rf"pip install -U 'muisti\[{module}\]'"):
            __import__(f"muisti.integrations.{module}")


def test_J8_a_history_of_another_user_is_not_cleared(memory: Muisti) -> None:
    item = {"role": "user", "content": "My dog is called Musti."}
    annas = MessageItems(memory, "openai-agents_1", user="anna")
    annas.append(item, "user")
    bens = MessageItems(memory, "openai-agents_1", user="ben")
    for use in (bens.latest, bens.pop, bens.clear):
        with pytest.raises(SessionNotFound):
            use()
    assert annas.latest() == [item]
    annas.clear()
    assert annas.latest() == []


def test_J8_items_of_another_vault_are_neither_seen_nor_changed(tmp_path: Path) -> None:
    with Muisti.open(tmp_path / "team", embedder="none") as team:
        VaultItems(team, "langgraph").apply([Change(("a",), "k", {"text": "of the team"})])
    with Muisti.open(tmp_path / "own", embedder="none", vaults=["../team"]) as memory:
        items = VaultItems(memory, "langgraph")
        assert items.get(("a",), "k") is None
        assert items.search("team") == []
        items.apply([Change(("a",), "k", {"text": "mine"})])
        assert [item.value for item in items.select()] == [{"text": "mine"}]
        items.apply([Change(("a",), "k", None)])
        assert [one.content for one in memory.list()] == ["of the team"]
