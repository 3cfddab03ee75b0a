"""How the extractor words what it keeps: sentences, persons, dates."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muisti.remember.extract.pronouns import complete_sentence, resolve_pronouns
from muisti.remember.extract.sentences import read_sentences
from muisti.text.time_expressions.question import parse_when
from muisti.text.time_expressions.statement import resolve_dates

MONDAY = datetime(2023, 5, 8, 14, 0, tzinfo=UTC)


# Persons ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("I am tired.", "Anna is tired."),
        ("I'm tired.", "Anna is tired."),
        ("I have a dog.", "Anna has a dog."),
        ("I've been there.", "Anna has been there."),
        ("I like tea.", "Anna likes tea."),
        ("I go, try and watch.", "Anna goes, try and watch."),
        ("I don't know.", "Anna doesn't know."),
        ("I haven't seen it.", "Anna hasn't seen it."),
        ("I was there.", "Anna was there."),
        ("We were there.", "Anna was there."),
        ("I went home.", "Anna went home."),
        ("I moved home.", "Anna moved home."),
        ("I can swim.", "Anna can swim."),
        ("I'll swim.", "Anna will swim."),
        ("I'd swim.", "Anna would swim."),
        ("I'd moved away.", "Anna had moved away."),
        ("I really need it.", "Anna really needs it."),
        ("I also usually try it.", "Anna also usually tries it."),
        ("I put it there.", "Anna put it there."),
        ("It hurt me.", "It hurt Anna."),
        ("My dog bit my hand.", "Anna's dog bit their hand."),
        ("The house is ours.", "The house is Anna's."),
        ("I hurt myself.", "Anna hurt themselves."),
        ("I think I am late.", "Anna thinks they are late."),
        ("I said I was late.", "Anna said they were late."),
        ("My wife and I like tea.", "Anna's wife and Anna like tea."),
        ("Tea is nice and I like it.", "Tea is nice and Anna likes it."),
        ("I live here and work at home.", "Anna lives here and works at home."),
        ("I don't like tea but love milk.", "Anna doesn't like tea but loves milk."),
        ("It is part of my life and I love it.", "It is part of Anna's life and they love it."),
        ("Tea tastes good and I like it.", "Tea tastes good and Anna likes it."),
        ("Tom and I are here.", "Tom and Anna are here."),
        ("It rained since we last talked.", "It rained since Anna last talked."),
        ("I might look and see.", "Anna might look and see."),
        ("I want to eat and work.", "Anna wants to eat and work."),
        ("Neither do I.", "Neither does Anna."),
        ("We all like it.", "Anna likes it."),
        ("It brings us together.", "It brings people together."),
        ('He said "I love my dog" to me.', 'He said "I love my dog" to Anna.'),
        ("The file is /home/me/my_app.py.", "The file is /home/me/my_app.py."),
        ("Run `my tool` for me.", "Run `my tool` for Anna."),
        ("It began in World War I.", "It began in World War I."),
        ("She moved to the US.", "She moved to the US."),
        ("Naïme knows me.", "Naïme knows Anna."),
    ],
)
def test_the_speaker_gets_a_name_and_verbs_agree(said: str, told: str) -> None:
    assert resolve_pronouns(said, "Anna") == told


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("You are right.", "Ben is right."),
        ("I like your dog.", "Anna likes Ben's dog."),
        ("We both like tea.", "Anna and Ben like tea."),
        ("I know you have a dog.", "Anna knows Ben has a dog."),
        ("It helps when you are tired.", "It helps when you are tired."),
    ],
)
def test_you_is_the_one_who_is_spoken_to(said: str, told: str) -> None:
    assert resolve_pronouns(said, "Anna", "Ben") == told


def test_you_stays_where_nobody_is_known() -> None:
    assert resolve_pronouns("I like your dog.", "Anna") == "Anna likes your dog."


@pytest.mark.parametrize(
    ("said", "whole"),
    [
        ("Lost my job.", "I lost my job."),
        ("Just got back from Rome.", "I just got back from Rome."),
        ("Been working on it.", "I have been working on it."),
        ("Gonna move to Oslo.", "I am going to move to Oslo."),
        ("Dyed my hair.", "I dyed my hair."),
        ("Gotta go.", "I have to go."),
        ("Love sushi!", "I love sushi!"),
        ("Looking for a flat.", "I am looking for a flat."),
        ("Glad I came.", "I am glad I came."),
        ("Don't feel like it.", "I don't feel like it."),
        ("Been a long day.", "Been a long day."),
        ("Gonna be great.", "Gonna be great."),
        ("Working from home is nice.", "Working from home is nice."),
        ("Love is blind.", "Love is blind."),
        ("Anna went home.", "Anna went home."),
        ("", ""),
    ],
)
def test_a_subject_that_was_left_out_is_put_in(said: str, whole: str) -> None:
    assert complete_sentence(said) == whole


# Dates --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "written", "about"),
    [
        ("It was yesterday.", "It was on 2023-05-07.", (2023, 5, 7)),
        ("Today it rained.", "On 2023-05-08 it rained.", (2023, 5, 8)),
        ("It is tomorrow.", "It is on 2023-05-09.", (2023, 5, 9)),
        ("It was the day before yesterday.", "It was on 2023-05-06.", (2023, 5, 6)),
        ("Ran this morning.", "Ran on the morning of 2023-05-08.", (2023, 5, 8)),
        ("Ran last night.", "Ran on the evening of 2023-05-07.", (2023, 5, 7)),
        ("Met two days ago.", "Met on 2023-05-06.", (2023, 5, 6)),
        ("Met a week ago.", "Met in the week of 2023-05-01.", (2023, 5, 1)),
        ("Met 3 months ago.", "Met in February 2023.", (2023, 2, 1)),
        ("Met three years ago.", "Met in 2020.", (2020, 1, 1)),
        ("Met a few years ago.", "Met a few years before 2023.", (2023, 1, 1)),
        ("Met last week.", "Met in the week of 2023-05-01.", (2023, 5, 1)),
        ("Met last Friday.", "Met on 2023-05-05.", (2023, 5, 5)),
        ("Met last Monday.", "Met on 2023-05-01.", (2023, 5, 1)),
        ("See you next Friday.", "See you on 2023-05-12.", (2023, 5, 12)),
        ("Met last month.", "Met in April 2023.", (2023, 4, 1)),
        ("Met last year.", "Met in 2022.", (2022, 1, 1)),
        ("Met last summer.", "Met in summer 2022.", (2022, 6, 1)),
        ("Met last weekend.", "Met on the weekend of 2023-05-06.", (2023, 5, 6)),
        ("We go next month.", "We go in June 2023.", (2023, 6, 1)),
        ("We will go in two weeks.", "We will go in the week of 2023-05-22.", (2023, 5, 22)),
        ("Sick since yesterday.", "Sick since 2023-05-07.", (2023, 5, 7)),
        ("Done by tomorrow.", "Done by 2023-05-09.", (2023, 5, 9)),
        ("Yesterday's game was fun.", "The 2023-05-07 game was fun.", (2023, 5, 7)),
        ("Last week was wild.", "The week of 2023-05-01 was wild.", (2023, 5, 1)),
        ("Due on March 15.", "Due on March 15.", (2023, 3, 15)),
        ("Due on 15 March 2024.", "Due on 15 March 2024.", (2024, 3, 15)),
        ("Due on 2024-03-15.", "Due on 2024-03-15.", (2024, 3, 15)),
        ("Due on December 30.", "Due on December 30.", (2022, 12, 30)),
    ],
)
def test_times_become_dates(said: str, written: str, about: tuple[int, int, int]) -> None:
    assert resolve_dates(said, MONDAY) == (written, datetime(*about, tzinfo=UTC))


@pytest.mark.parametrize(
    "said",
    [
        "I read it in two weeks.",
        "This is it.",
        "We came back.",
        "The past is past.",
        "On February 31.",
    ],
)
def test_what_is_no_date_stays(said: str) -> None:
    assert resolve_dates(said, MONDAY) == (said, None)


def test_without_a_clock_yesterday_stays_yesterday() -> None:
    assert resolve_dates("It was yesterday.", None) == ("It was yesterday.", None)
    assert resolve_dates("It was on 2023-05-07.", None)[1] == datetime(2023, 5, 7, tzinfo=UTC)


@pytest.mark.parametrize(
    "said",
    ["this past weekend", "last winter", "this winter", "last friday", "next june", "last month"],
)
def test_a_statement_and_a_question_mean_the_same_time(said: str) -> None:
    january = datetime(2024, 1, 15, tzinfo=UTC)
    asked = parse_when(f"what happened {said}?", january)
    written, about = resolve_dates(f"It happened {said}.", january)
    assert asked is not None
    assert about == asked.start
    assert said.split(maxsplit=1)[0] not in written


def test_a_statement_may_tell_of_a_plan() -> None:
    """Who says "next Friday" means the first to come; who asks for it, the Friday of the next week."""
    assert resolve_dates("We meet next friday.", MONDAY)[1] == datetime(2023, 5, 12, tzinfo=UTC)
    asked = parse_when("what do we do next friday?", MONDAY)
    assert asked is not None
    assert asked.start == datetime(2023, 5, 19, tzinfo=UTC)


def test_a_time_at_the_calendars_edge_stays() -> None:
    assert resolve_dates("Met three years ago.", datetime(2, 1, 1, tzinfo=UTC)) == (
        "Met three years ago.",
        None,
    )


# Sentences ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "split"),
    [
        ("One is here. Two is there!", ["One is here.", "Two is there!"]),
        ("I saw Dr. Lee at 5 p.m. today.", ["I saw Dr. Lee at 5 p.m. today."]),
        ("It ended at 5 p.m. We left.", ["It ended at 5 p.m.", "We left."]),
        ("Version 3.12 is out... Nice.", ["Version 3.12 is out...", "Nice."]),
        ("- first thing\n- second thing", ["first thing", "second thing"]),
        ("one line\nand its end.", ["one line and its end."]),
        ("我喜欢茶。我住在北京。", ["我喜欢茶。", "我住在北京。"]),
        ("It’s “fine”.", ['It\'s "fine".']),
        ("See [the docs](https://example.com/x) first.", ["See the docs first."]),
        ("This is **very** important.", ["This is very important."]),
        ("Read __init__.py and _private now.", ["Read __init__.py and _private now."]),
        ("This is _really_ so.", ["This is really so."]),
        ('"Brave" by Sara is "good".', ['"Brave" by Sara is "good".']),
        ("Set my_var and other_var.", ["Set my_var and other_var."]),
        ("Great - it works.", ["Great - it works."]),
    ],
)
def test_text_is_split_into_sentences(text: str, split: list[str]) -> None:
    assert read_sentences(text) == split


@given(st.text(max_size=200))
def test_dates_without_a_clock_change_nothing(text: str) -> None:
    assert resolve_dates(text, None)[0] == text
