"""I1, H3 · A correction in a later exchange replaces what the session said before, and only that."""

from __future__ import annotations

import pytest

from muisti import Memory, Muisti, Utterance
from tests.acceptance.background import tell
from tests.conftest import Opener

PORT, RIGHT = "The server runs on port 8080.", "The server runs on port 9090."


@pytest.fixture
def memory(opened: Opener) -> Muisti:
    return opened(embedder="none")


def find(memory: Muisti, content: str) -> Memory:
    (found,) = [one for one in memory.list(limit=50) if content in one.content]
    return found


@pytest.mark.parametrize(
    ("wrong", "correction", "right"),
    [
        (PORT, "no, it's 9090", "runs on port 9090"),
        ("The demo is on Wednesday.", "Sorry, I meant Thursday.", "The demo is on Thursday."),
        ("We meet every Monday at 9.", "wait, no: we meet at 10, not 9", "We meet at 10, not 9."),
    ],
)
def test_I1_H3_an_explicit_correction_supersedes(
    memory: Muisti, wrong: str, correction: str, right: str
) -> None:
    tell(memory, wrong, "My cat is called Miisu.", correction)
    new = find(memory, right)
    (link,) = memory.links(new.id)
    old = memory.get(link.target)
    assert old is not None
    assert (old.content[-len(wrong) :], link.type, link.proposed) == (wrong, "SUPERSEDES", False)
    assert old.valid_until is not None
    successor = memory.superseding(old.id)
    assert successor is not None
    assert successor.id == new.id


def test_I1_H3_what_somebody_saved_is_only_proposed(memory: Muisti) -> None:
    saved = memory.save(PORT, session_id="chat")
    tell(memory, "no, it's 9090")
    (link,) = memory.links(find(memory, RIGHT).id)
    assert (link.target, link.proposed) == (saved.id, True)
    assert memory.superseding(saved.id) is None


def test_I1_H3_what_somebody_confirmed_is_only_proposed(memory: Muisti) -> None:
    (old,) = tell(memory, PORT)
    memory.update(old.id, trusted=True)
    tell(memory, "no, it's 9090")
    assert memory.superseding(old.id) is None


def test_I1_a_correction_of_nothing_is_not_stored(memory: Muisti) -> None:
    tell(memory, "My cat is called Miisu.", "no, it's 9090", "no, that's all")
    assert len(memory.list()) == 1


def test_I1_H3_another_session_is_not_corrected(memory: Muisti) -> None:
    tell(memory, PORT, session="a")
    tell(memory, "no, it's 9090", session="b")
    assert [one.content for one in memory.list()] == [find(memory, PORT).content]


def test_I1_H3_a_correction_survives_a_rebuilt_index(memory: Muisti) -> None:
    tell(memory, PORT, "no, it's 9090")
    old, new = find(memory, PORT), find(memory, RIGHT)
    memory.reindex()
    successor = memory.superseding(old.id)
    assert successor is not None
    assert successor.id == new.id


def test_I1_save_extracted_skips_a_correction_of_nothing(memory: Muisti) -> None:
    found = memory.extract([Utterance("no, it's 9090"), Utterance("My cat is called Miisu.")])
    assert [one.content for one in memory.save_extracted(found)] == ["User's cat is called Miisu."]
