"""Extraction from everyday talk with an assistant: the team, names, status, decisions, corrections."""

from __future__ import annotations

import pytest
from benchmarks.everyday import measure_sentences

from muisti.model import Utterance
from muisti.remember.extract.rules import extract
from tests.unit.test_extract_rules import KEPT, MONDAY, assistant, contents, kept


def test_the_table_of_everyday_messages() -> None:
    """The half that the rules were written with."""
    found = measure_sentences("development")
    assert found["right"] >= 0.97 * found["kept"], found["wrong"]
    assert found["found"] >= 0.95 * found["expected"], found["wrong"]
    assert found["kinds_right"] >= 0.95 * found["kinds"], found["wrong"]


def test_the_half_that_was_held_out() -> None:
    """It says nothing of what goes wrong: the rules are not written with this half."""
    found = measure_sentences("held_out")
    assert found["right"] / found["kept"] >= 0.9
    assert found["found"] / found["expected"] >= 0.9


@pytest.mark.parametrize(
    ("said", "content"),
    [
        ("Hi, I'm Bob", "User's name is Bob."),
        ("Hey I'm Tom", "User's name is Tom."),
        ("Hi! I'm Laura.", "User's name is Laura."),
        ("My name is Anna Berg.", "User's name is Anna Berg."),
        ("Please call me Sam.", "User's name is Sam."),
        ("hello, this is Marco from the data team", "User's name is Marco, from the data team."),
    ],
)
def test_a_name_is_learned_and_the_greeting_dropped(said: str, content: str) -> None:
    assert contents(said) == [content]


@pytest.mark.parametrize(
    "said", ["I'm Finnish.", "It's Friday again.", "Hi, I'm back.", "This is Sparta.", "I'm Sure."]
)
def test_not_every_capital_is_a_name(said: str) -> None:
    assert not any("name" in content for content in contents(said))


def test_a_speaker_with_a_name_is_not_renamed() -> None:
    assert contents(Utterance("Hi, I'm Bob", "Anna")) == []


@pytest.mark.parametrize("role", ["user", "assistant"])
@pytest.mark.parametrize(
    "said",
    [
        "All 212 tests pass.",
        "The build is green again.",
        "ok it compiles now",
        "The tests pass now and the linter is happy.",
        "2 passed, 1 failed in 3.20s",
        "I've updated the file.",
        "I just ran the tests.",
        "Maybe we could try MongoDB.",
        "We haven't decided on a database yet.",
        "I get a TypeError on line 12.",
    ],
)
def test_status_and_suppositions_are_dropped(said: str, role: str) -> None:
    assert kept(Utterance(said, role.capitalize(), role, MONDAY)) == []


@pytest.mark.parametrize(
    "said",
    [
        "The tests fail on Windows because of path separators.",
        "I might buy a lamp for my balcony in Turku.",
        "I ran the Helsinki marathon in May.",
    ],
)
def test_what_tells_more_than_a_status_is_kept(said: str) -> None:
    assert len(contents(said)) == 1


@pytest.mark.parametrize(
    ("said", "is_kept"),
    [
        ("Let's go with Redis", True),
        ("let's not use globals", True),
        ("Alright, Tailwind it is.", True),
        ("Going with the blue logo.", True),
        ("fine, we'll keep the monolith for now", True),
        ("Let's see.", False),
        ("Let's run the tests first.", False),
        ("Leave it as it is.", False),
        ("Let's keep going.", False),
    ],
)
def test_decisions_said_in_passing(said: str, is_kept: bool) -> None:
    assert [memory.kind for memory in kept(said)] == ["decision"] * is_kept


def test_we_are_the_team_for_an_assistant_and_the_speaker_for_a_friend() -> None:
    said = "We went to Lapland with our kids last year."
    assert contents(said) == ["We went to Lapland with our kids in 2022."]
    to_a_friend = Utterance(said, "Gina", at=MONDAY, addressee="Jon")
    assert contents(to_a_friend) == ["Gina went to Lapland with their kids in 2022."]
    of_two = (Utterance(said, "Gina", at=MONDAY), Utterance("Nice!", "Jon", at=MONDAY))
    assert contents(*of_two) == ["Gina went to Lapland with their kids in 2022."]


@pytest.mark.parametrize(
    ("wrong", "correction", "content"),
    [
        ("The server runs on port 8080.", "no, it's 9090", "The server runs on port 9090."),
        ("The server runs on port 8080.", "no, use port 3000", "The server runs on port 3000."),
        ("We deploy on Tuesday.", "Not Tuesday, Wednesday.", "We deploy on Wednesday."),
        ("We retry 3 times.", "9, not 3", "We retry 9 times."),
        (
            "Our bucket is in us-east-1.",
            "Nope, it's in eu-north-1.",
            "Our bucket is in eu-north-1.",
        ),
        ("My cat is called Miu.", "that's wrong, its name is Mia", None),
        ("Our main color is blue.", "no, it's green", "Our main color is green."),
        ("The limit is 10 MB.", "that's not right, the limit is 20 MB", "The limit is 20 MB."),
        ("The daily is at 9:00.", "Sorry, 9:30.", None),
        ("I moved from Turku to Espoo in 2019.", "no, it's Oulu", None),
    ],
)
def test_a_value_replaces_one_of_its_class(wrong: str, correction: str, content: str) -> None:
    found = kept(wrong, correction)
    assert [memory.content for memory in found] == [content or kept(wrong)[0].content]


def test_a_correction_of_an_earlier_conversation_is_marked() -> None:
    (memory,) = extract([Utterance("no, it's 9090")])
    assert (memory.content, memory.corrects) == ("9090.", True)
    assert memory.importance < KEPT


def test_no_after_a_question_is_an_answer() -> None:
    found = contents("The server runs on port 8080.", assistant("Is that the API?"), "No, 9090.")
    assert "The server runs on port 8080." in found
