"""I2 · What of a talk is worth keeping, by rules and without a model, through the public interface."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from muisti import InvalidRequest, Muisti, Utterance

TALK = [
    Utterance(
        "I moved to Turku last month. How are you?", "Anna", at=datetime(2026, 3, 10, tzinfo=UTC)
    ),
    Utterance("Nice! Thanks for telling me.", "Assistant", "assistant"),
    Utterance(
        "Remember that my dentist is called Eero. We decided to use PostgreSQL for the shop.",
        "Anna",
    ),
]


def test_I2_rules_keep_what_matters_and_drop_the_rest(memory: Muisti) -> None:
    found = memory.extract(TALK)
    texts = " ".join(one.content for one in found)
    assert all(word in texts for word in ("Turku", "Eero", "PostgreSQL", "Anna", "February 2026"))
    assert "How are you" not in texts
    assert "Thanks" not in texts
    assert {one.kind for one in found} >= {"decision"}
    assert memory.list() == [], "nothing is stored by looking"


def test_I2_what_is_kept_is_not_trusted_and_said_twice_is_one(memory: Muisti) -> None:
    first = memory.save_extracted(memory.extract(TALK), session_id="chat", project="home")
    assert {(one.source, one.trusted, one.session_id, one.project) for one in first} == {
        ("extracted", False, "chat", "home")
    }
    again = memory.save_extracted(memory.extract(TALK), session_id="chat", project="home")
    assert {one.id for one in again} == {one.id for one in first}


def test_I2_an_unknown_mode_is_named(memory: Muisti) -> None:
    with pytest.raises(InvalidRequest, match=r"^mode must be one of .*coding.*'poetry'"):
        memory.extract(TALK, mode="poetry")
    assert memory.extract([]) == []
    assert memory.save_extracted([]) == []


def test_C1_private_parts_of_a_talk_are_not_extracted(memory: Muisti, vault: Path) -> None:
    memory.save_extracted(
        memory.extract(
            [Utterance("Remember that my code is <private>canary4711</private> for the door.")]
        )
    )
    assert not [
        path for path in vault.rglob("*") if path.is_file() and b"canary4711" in path.read_bytes()
    ]
