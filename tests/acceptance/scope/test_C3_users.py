"""Memories of two users never merge, and each finds their own (contract C3, A3)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from muisti import Muisti
from muisti.errors import InvalidMemory

SENTENCE = "The weekly report module is in src/reports/index.ts"
NEAR = "The weekly report module is located in src/reports/index.ts"
USERS = ("anna", "ben", "")

Save = Callable[[Muisti, str, str], object]


def _save(memory: Muisti, text: str, user: str) -> object:
    return memory.save(text, user=user, project="shop")


def _save_global(memory: Muisti, text: str, user: str) -> object:
    return memory.save(text, user=user, tier="global")


def _save_in_session(memory: Muisti, text: str, user: str) -> object:
    memory.start_session("shop", session_id=f"of-{user}", user=user)
    return memory.save(text, session_id=f"of-{user}")


def _extract(memory: Muisti, text: str, user: str) -> object:
    memory.extract_and_save(f"talk-{user}", f"Remember: {text}.", project="shop", user=user)
    return memory.flush()


SAVES = [_save, _save_global, _save_in_session, _extract]


@pytest.mark.parametrize("second", [SENTENCE, NEAR])
@pytest.mark.parametrize("save", SAVES)
def test_C3_two_users_who_save_the_same_sentence_have_two_memories(
    chat: Muisti, save: Save, second: str
) -> None:
    for user, text in zip(USERS, (SENTENCE, second, SENTENCE), strict=True):
        save(chat, text, user)
        save(chat, text, user)  # again: it is merged with the user's own
    found = chat.list(limit=None)
    assert sorted(one.user for one in found) == sorted(USERS)
    for user in ("anna", "ben"):
        own = [one.memory.user for one in chat.search("weekly report", user=user)]
        assert sorted(own) == ["", user]
    assert [one.memory.user for one in chat.search("weekly report", user="")] == [""]


def test_C3_a_batch_keeps_users_apart(chat: Muisti) -> None:
    texts = [(SENTENCE, user) for user in USERS] + [(NEAR, user) for user in USERS]
    drafts = [{"content": text, "user": user} for text, user in texts]
    saved = chat.save_batch(drafts)
    assert len({one.id for one in saved}) == len(USERS)
    assert sorted(one.user for one in chat.list()) == sorted(USERS)


def test_C3_an_import_keeps_users_apart(chat: Muisti, tmp_path: Path) -> None:
    chat.save(SENTENCE, user="anna")
    source = tmp_path / "import.json"
    drafts = [{"content": SENTENCE, "user": user} for user in ("anna", "ben", "")]
    source.write_text(json.dumps(drafts))
    assert chat.import_memories(source) == 2
    assert chat.import_memories(source) == 0
    assert sorted(one.user for one in chat.list()) == sorted(USERS)


def test_C3_no_link_is_suggested_between_two_users(chat: Muisti) -> None:
    chat.save("Anna's office is in Turku", user="anna")
    chat.save("Anna's office is in Espoo", user="ben")
    chat.save("Anna's office is in Oulu")
    assert [one.links for one in chat.list()] == [(), (), ()]
    own = chat.save("Anna's office is in Vaasa", user="anna")
    assert own.links, "a suggestion that is expected is not made, so that nothing is shown"


def test_C3_a_changed_user_or_text_does_not_merge(chat: Muisti) -> None:
    chat.save(SENTENCE, user="anna")
    other = chat.save("Something else entirely, about boats", user="ben")
    chat.update(other.id, content=SENTENCE)
    assert sorted(one.user for one in chat.list()) == ["anna", "ben"]


def test_C3_a_session_of_a_user_takes_no_memory_of_another(chat: Muisti) -> None:
    chat.start_session("shop", session_id="s", user="anna")
    with pytest.raises(InvalidMemory, match="user"):
        chat.save(SENTENCE, session_id="s", user="ben")
    assert chat.list() == []
