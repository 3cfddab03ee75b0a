"""C1 · Each text is searched for secrets once, at the door through which it comes in."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from muisti import Muisti, Utterance
from muisti.settings import Settings
from muisti.storage.files import frontmatter
from muisti.storage.files.memory_codec import parse_memory
from muisti.text import private_tags, redact, secrets
from tests.chat_server import serving
from tests.conftest import Opener

KEY = "AKIA" + "A2B3C4D5" + "E6F7G2H3"
"""Made up. Each text holds it, so that none is passed over for being harmless."""
SAID = f"I decided to use PostgreSQL for the shop, my key is {KEY}."
ANSWERED = f"Noted: PostgreSQL it is, with {KEY}."


class Scanned(list[str]):
    """What was searched, in order."""

    def about(self, word: str) -> list[str]:
        return [text for text in self if word in text]


@pytest.fixture
def scanned(monkeypatch: pytest.MonkeyPatch) -> Scanned:
    found = Scanned()
    remove_private, may_hold = private_tags.remove_private, secrets.may_hold_secrets

    def one(text: str) -> str:
        found.append(text)
        return remove_private(text)

    def many(texts: Sequence[str]) -> list[bool]:
        found.extend(texts)
        return may_hold(texts)

    monkeypatch.setattr(redact, "remove_private", one)
    monkeypatch.setattr(secrets, "may_hold_secrets", many)
    return found


@pytest.fixture
def memory(opened: Opener) -> Muisti:
    return opened(embedder="none")


def test_C1_a_save_is_scanned_once(memory: Muisti, scanned: Scanned) -> None:
    memory.save(SAID, summary="The shop's database")
    assert scanned.about("PostgreSQL") == [SAID]
    assert scanned.about("database") == ["The shop's database"]


def test_C1_a_change_is_scanned_once(memory: Muisti, scanned: Scanned) -> None:
    saved = memory.save("We use SQLite.")
    memory.update(saved.id, content=SAID)
    assert scanned.about("PostgreSQL") == [SAID]


def test_C1_an_import_is_scanned_once(memory: Muisti, scanned: Scanned, tmp_path: Path) -> None:
    file = tmp_path / "memories.jsonl"
    file.write_text(json.dumps({"content": SAID}) + "\n")
    assert memory.import_memories(file) == 1
    assert scanned.about("PostgreSQL") == [SAID]


def test_C1_a_message_is_scanned_once(memory: Muisti, scanned: Scanned) -> None:
    memory.append_message("telegram_1", "user", SAID, meta={"note": f"about Berlin {KEY}"})
    memory.append_message("telegram_1", "assistant", ANSWERED)
    assert scanned.about("PostgreSQL") == [SAID, ANSWERED]
    assert len(scanned.about("Berlin")) == 1
    assert [
        one.content.count("[redacted:aws-access-key]") for one in memory.window("telegram_1")
    ] == [1, 1]


def test_C1_what_others_write_into_a_conversation_is_still_scanned(
    memory: Muisti, scanned: Scanned, vault: Path
) -> None:
    memory.append_message("telegram_1", "user", "Hello there")
    file = next((vault / "conversations" / "telegram_1").iterdir())
    line = {"id": "x", "ts": "2026-03-10T12:00:00Z", "role": "user", "content": SAID, "meta": {}}
    file.write_text(file.read_text() + json.dumps(line) + "\n")
    memory.append_message("telegram_1", "assistant", ANSWERED)
    memory.sync()
    assert KEY not in "".join(one.content for one in memory.window("telegram_1"))


def test_C1_an_exchange_and_what_it_teaches_are_scanned_once(
    memory: Muisti, scanned: Scanned
) -> None:
    memory.extract_and_save("chat", SAID, ANSWERED)
    assert memory.flush()
    learnt = [one.content for one in memory.list()]
    assert learnt
    assert sorted(scanned.about("PostgreSQL")) == sorted([SAID, ANSWERED, *learnt])


def test_C1_what_a_model_writes_is_a_new_text(opened: Opener, scanned: Scanned) -> None:
    written = f"Anna decided to use PostgreSQL with {KEY}"
    told = {"kind": "fact", "content": written, "importance": 0.9, "about": None}
    with serving() as server:
        server.reply = json.dumps({"memories": [told]})
        memory = opened(
            embedder="none", extractor="openai", extractor_url=server.url, extractor_model="m"
        )
        memory.extract_and_save("chat", SAID)
        assert memory.flush()
    assert scanned.about("PostgreSQL") == [SAID, written]
    assert [KEY in one.content for one in memory.list()] == [False]


def test_C1_a_talk_is_scanned_once(memory: Muisti, scanned: Scanned) -> None:
    found = memory.extract([Utterance(SAID, "Anna", "user", datetime(2026, 3, 10, tzinfo=UTC))])
    assert scanned.about("PostgreSQL") == [SAID]
    scanned.clear()
    memory.save_extracted(found)
    assert sorted(scanned.about("PostgreSQL")) == sorted(one.content for one in found)


def test_C1_core_memory_is_scanned_once(memory: Muisti, scanned: Scanned) -> None:
    memory.core_update("user", "database", SAID)
    assert scanned.about("PostgreSQL") == [SAID]


def test_C1_a_file_that_is_read_is_scanned_once(scanned: Scanned) -> None:
    document = frontmatter.parse(f"---\nid: one\ntags: shop, {KEY}\n---\n{SAID}\n")
    read = parse_memory("notes/one.md", document, Settings(), datetime(2026, 3, 10, tzinfo=UTC))
    assert len(scanned.about(SAID)) == 1
    assert KEY not in f"{read.content}{read.title}{read.keywords}"
