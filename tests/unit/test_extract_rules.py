"""The extractor by rules: what is kept of a talk, how it reads, and that nothing makes it stumble."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muisti.model import Extracted, Utterance
from muisti.remember.extract.answers import restate_answer
from muisti.remember.extract.rules import LONGEST, extract
from muisti.remember.extract.scoring import MODES

MONDAY = datetime(2023, 5, 8, 14, 0, tzinfo=UTC)
KEPT = 0.3


def kept(*said: str | Utterance, mode: str = "default") -> list[Extracted]:
    utterances = [one if isinstance(one, Utterance) else Utterance(one, at=MONDAY) for one in said]
    return [memory for memory in extract(utterances, mode=mode) if memory.importance >= KEPT]


def contents(*said: str | Utterance) -> list[str]:
    return [memory.content for memory in kept(*said)]


def assistant(text: str) -> Utterance:
    return Utterance(text, "Assistant", "assistant", MONDAY)


# What is kept -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "content", "kind"),
    [
        ("I'm allergic to peanuts.", "User is allergic to peanuts.", "preference"),
        ("I love Thai food.", "User loves Thai food.", "preference"),
        ("I prefer tabs over spaces.", "User prefers tabs over spaces.", "preference"),
        ("My favorite editor is Helix.", "User's favorite editor is Helix.", "preference"),
        (
            "I live in Berlin and work at Siemens.",
            "User lives in Berlin and works at Siemens.",
            "fact",
        ),
        ("I was born in 1985 in Turku.", "User was born in 1985 in Turku.", "fact"),
        ("I'm 34 years old.", "User is 34 years old.", "fact"),
        ("My sister Aino is a nurse in Oulu.", "User's sister Aino is a nurse in Oulu.", "fact"),
        ("The deadline is March 15.", "The deadline is March 15.", "fact"),
        (
            "The release is due in two weeks.",
            "The release is due in the week of 2023-05-22.",
            "fact",
        ),
        (
            "We decided to use Postgres instead of MySQL.",
            "We decided to use Postgres instead of MySQL.",
            "decision",
        ),
        (
            "We'll go with Redis for the queue.",
            "We'll go with Redis for the queue.",
            "decision",
        ),
        (
            "I learned that the cache must be warm first.",
            "User learned that the cache must be warm first.",
            "insight",
        ),
        ("im on a mac with zsh", "User is on a mac with zsh.", "fact"),
        ("i live in berlin and i dont drive", "User lives in berlin and they don't drive.", "fact"),
        ("My email is anna@example.com.", "User's email is anna@example.com.", "fact"),
    ],
)
def test_facts_preferences_and_decisions_are_kept(said: str, content: str, kind: str) -> None:
    (memory,) = kept(said)
    assert (memory.content, memory.kind, memory.source_text) == (content, kind, said)


@pytest.mark.parametrize(
    "said",
    [
        "",
        "   \n\n ",
        "Hi!",
        "Hello there.",
        "lol",
        "ok thanks",
        "Thanks so much!",
        "That's awesome!",
        "Sounds good to me.",
        "Good luck with it!",
        "You're doing great.",
        "Can't wait!",
        "What time is it?",
        "How do I reset my password?",
        "do you have time today",
        "Do you remember my name?",
        "https://example.com/a/b?c=d",
        "```python\nmy_name = 'I like tea and I live in Berlin'\n```",
        "~~~\nI live in Berlin.\n~~~",
        "```\nI live in Berlin since the fence was never closed",
        "> I live in Berlin, he wrote.",
        "| I live | in Berlin |\n|---|---|\n| my cat | is called Miu |",
        '{"name": "I live in Berlin", "my": [1, 2, 3]}',
        "def my_function(self):\n    return self.my_name;",
        '"I live in Berlin and I like it there."',
        "# My notes on Berlin",
        "![my cat in Berlin](cat.png)",
        "[image: my cat sits in Berlin]",
        "Let me know.",
        "Write a poem about my cat.",
        "Fix the bug in my parser.",
        "Feel free to change my text.",
        "I want you to act as my lawyer.",
        "Read my file first.",
        "...",
        "🙂🙂🙂",
    ],
)
def test_questions_small_talk_code_and_quotations_are_dropped(said: str) -> None:
    assert kept(said) == []


@pytest.mark.parametrize(
    ("said", "content"),
    [
        (
            "Remember that my daughter's birthday is on 3 June.",
            "User's daughter's birthday is on 3 June.",
        ),
        ("Please remember: the staging server is 10.0.0.5.", "The staging server is 10.0.0.5."),
        ("note: use pnpm, not npm", "Use pnpm, not npm."),
        ("Don't forget that I hate mushrooms.", "User hates mushrooms."),
        ("Don't forget I'm allergic to nuts.", "User is allergic to nuts."),
        ("Don't forget to run the linter.", "User asks: run the linter."),
        ("Keep in mind that we ship on Fridays.", "We ship on Fridays."),
        ("Can you remember that I take my coffee black?", "User takes their coffee black."),
        ("For future reference, the door code is 4711.", "The door code is 4711."),
        ("From now on, answer in Finnish.", "User asks: answer in Finnish."),
    ],
)
def test_an_order_to_remember_weighs_most(said: str, content: str) -> None:
    (memory,) = kept(said)
    assert (memory.content, memory.importance) == (content, 0.9)


@pytest.mark.parametrize(
    ("said", "content"),
    [
        ("Always use tabs.", "User asks: always use tabs."),
        ("Never commit to main directly.", "User asks: never commit to main directly."),
        ("dont use emojis in commit messages", "User asks: don't use emojis in commit messages."),
        ("use pytest, not unittest", "User asks: use pytest, not unittest."),
        ("Please don't add comments everywhere.", "User asks: don't add comments everywhere."),
    ],
)
def test_a_way_of_working_is_a_preference(said: str, content: str) -> None:
    (memory,) = kept(said)
    assert (memory.content, memory.kind) == (content, "preference")


def test_between_people_remember_is_advice() -> None:
    assert (
        kept(Utterance("Remember, I'm always here for you!", "Gina", at=MONDAY, addressee="Jon"))
        == []
    )


# Corrections --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "correction",
    [
        "No, I meant Friday.",
        "Sorry, I meant Friday.",
        "Correction: it is Friday.",
        "Scratch that, it is Friday.",
    ],
)
def test_a_correction_takes_the_place_of_what_it_corrects(correction: str) -> None:
    (memory,) = kept("The deadline is Thursday.", correction)
    assert (memory.content, memory.importance) == ("The deadline is Friday.", 0.75)
    assert (memory.source_text, memory.corrects) == (correction, False)


def test_a_correction_of_something_else_takes_nothing_back() -> None:
    decision, correction = kept(
        "I decided to drop Python 3.9.",
        "No, I meant that the slow tests belong in tests/integration.",
    )
    assert decision.content == "User decided to drop Python 3.9."
    assert correction.content == "User meant: that the slow tests belong in tests/integration."


def test_actually_it_is_leans_on_what_was_said_before() -> None:
    *_, memory = kept("The meeting starts at 4 pm today.", "Actually it is at 5 pm, not 4.")
    assert memory.content == "The meeting starts at 5 pm on 2023-05-08."


def test_actually_alone_corrects_nothing() -> None:
    assert contents("Actually, I took my family camping in Nuuksio.") == [
        "User took their family camping in Nuuksio."
    ]


# Answers ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "answer", "content"),
    [
        ("When is the deadline?", "March 15.", "The deadline is March 15."),
        ("What's your favorite color?", "Blue.", "User's favorite color is Blue."),
        ("Who is your manager?", "Pekka Virtanen.", "User's manager is Pekka Virtanen."),
        ("Where do you live?", "Berlin.", "User lives in Berlin."),
        ("Where do you live?", "In Berlin.", "User lives in Berlin."),
        ("Where are you from?", "Finland", "User is from Finland."),
        ("How many kids do you have?", "Two.", "User has two kids."),
        ("Are you vegetarian?", "Yes.", "User is vegetarian."),
        ("Are you vegetarian?", "No.", "User is not vegetarian."),
        ("Do you have any pets?", "Yes, two cats.", "User has pets: two cats."),
        ("Do you eat meat?", "Nope.", "User does not eat meat."),
        ("How much is the rent?", "900 euros.", "The rent is 900 euros."),
        (
            "Which editor do you use?",
            "Neovim.",
            'Asked "Which editor do you use?", User answered: Neovim.',
        ),
    ],
)
def test_a_bare_answer_becomes_a_sentence_with_its_question(
    question: str, answer: str, content: str
) -> None:
    assert contents(assistant(f"Sure! {question}"), answer) == [content]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How are you?", "Fine."),
        ("Anything else?", "No."),
        ("Does that make sense?", "Yes."),
        ("Really?", "Yes, Berlin."),
    ],
)
def test_polite_questions_have_no_answers(question: str, answer: str) -> None:
    assert contents(assistant(question), answer) == []


def test_an_assistant_that_answers_tells_nothing_of_anyone() -> None:
    assert contents("Where do penguins live?", assistant("Antarctica.")) == []


def test_an_asker_with_a_name_is_named() -> None:
    assert (
        restate_answer("Who is my mentor?", "Liisa", speaker="Jon", asker="Gina")
        == "Gina's mentor is Liisa."
    )


# Joining, roles, modes ----------------------------------------------------------------------------


def test_sentences_that_belong_together_are_one_memory() -> None:
    (memory,) = kept(
        "Hey! I bought a cabin in Lapland last year. It has a sauna and two rooms, and my kids love it."
    )
    assert (
        memory.content
        == "User bought a cabin in Lapland in 2022. It has a sauna and two rooms, and User's kids love it."
    )
    assert memory.about == datetime(2022, 1, 1, tzinfo=UTC)
    assert memory.source_text.startswith("I bought")


def test_a_named_speaker_stands_before_what_does_not_name_them() -> None:
    said = Utterance("The dance floor is from Italy and costs 900 euros.", "Gina", at=MONDAY)
    assert contents(said) == ["Gina: The dance floor is from Italy and costs 900 euros."]


def test_an_order_stands_alone() -> None:
    assert contents("I live in Berlin. Remember that I hate mushrooms. I work at Siemens.") == [
        "User lives in Berlin.",
        "User hates mushrooms.",
        "User works at Siemens.",
    ]


@pytest.mark.parametrize(
    ("said", "content"),
    [
        ("I've fixed the bug in parser.py.", "Assistant has fixed the bug in parser.py."),
        ("We agreed to use SQLite for storage.", "We agreed to use SQLite for storage."),
        ("The fix was to lock the row first.", "The fix was to lock the row first."),
    ],
)
def test_an_assistants_results_are_kept_with_less_weight(said: str, content: str) -> None:
    (memory,) = kept(assistant(said))
    assert memory.content == content
    assert memory.importance < 0.6


@pytest.mark.parametrize(
    "said",
    [
        "I can help you with that!",
        "You should always use a linter.",
        "Berlin is the capital of Germany.",
        "Remember that plants need water.",
        "Here are three ideas for your trip.",
        "I love that idea.",
    ],
)
def test_an_assistants_offers_and_lectures_are_dropped(said: str) -> None:
    assert kept(assistant(said)) == []


def _importance(said: str, mode: str) -> float:
    return max((memory.importance for memory in extract([Utterance(said)], mode=mode)), default=0.0)


@pytest.mark.parametrize(
    ("said", "mode"),
    [
        ("The config is in settings/prod.toml.", "coding"),
        ("`make test` runs the suite.", "coding"),
        ("The study by Virtanen found 34 percent fewer errors.", "research"),
    ],
)
def test_a_mode_weighs_its_own_more(said: str, mode: str) -> None:
    assert _importance(said, mode) > _importance(said, "default")


def test_coding_weighs_family_less() -> None:
    said = "My sister adopted a dog with her family."
    assert _importance(said, "coding") < _importance(said, "default")


def test_an_unknown_mode_names_the_known() -> None:
    with pytest.raises(ValueError, match="default, coding, research"):
        extract([], mode="poetry")


def test_a_pasted_text_is_not_its_senders_own() -> None:
    article = (
        "The city of Turku was founded in the thirteenth century. The river Aura runs through it. "
        * 20
    )
    assert kept(article) == []
    assert contents(f"{article}\n\nI moved to Turku in 2019.") == ["User moved to Turku in 2019."]


def test_a_speaker_without_a_name_is_called_by_the_role() -> None:
    assert contents(Utterance("I live in Berlin.", speaker=" ")) == ["User lives in Berlin."]


# Other languages ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("Muista, että kokous on perjantaina.", "note"),
        ("Älä unohda maitoa.", "note"),
        ("Pidän kahvista enemmän kuin teestä.", "preference"),
        ("Päätimme käyttää PostgreSQL:ää.", "decision"),
        ("Asun Turussa ja työskentelen Nokialla.", "fact"),
        ("Запомни: мой день рождения 5 мая.", "note"),
        ("Мне нравится чай.", "preference"),
        ("Мы решили использовать Rust.", "decision"),
        ("Я живу в Москве.", "fact"),
        ("请记住我的生日是5月3日。", "note"),
        ("我喜欢喝茶。", "preference"),
        ("我们决定用Python。", "decision"),
        ("我住在北京。", "fact"),
        ("Wir haben uns für Rust entschieden.", "decision"),
        ("Ich mag keinen Kaffee.", "preference"),
    ],
)
def test_other_languages_are_kept_as_they_are(said: str, kind: str) -> None:
    (memory,) = kept(said)
    assert (memory.content, memory.kind) == (f"User: {said}", kind)


@pytest.mark.parametrize(
    "said", ["Mitä kuuluu?", "Как дела?", "你好吗？", "Привет!", "谢谢。", "Kiitos!"]
)
def test_questions_and_greetings_in_other_languages_are_dropped(said: str) -> None:
    assert kept(said) == []


# Nothing makes it stumble -------------------------------------------------------------------------

WORDS = st.sampled_from(
    "I my we you me I'm we'd and but not yesterday last next week ago in two remember that no meant actually is was the a like "
    'love Berlin . ! ? , " ` ``` > | - # \n 我喜欢 мне нравится pidän https://x.y/z ( ) 12 : ; * _'.split(
        " "
    )
)
TEXTS = st.text(max_size=200) | st.lists(WORDS, max_size=40).map(" ".join)
MOMENTS = st.none() | st.datetimes() | st.datetimes(timezones=st.just(UTC))
UTTERANCES = st.builds(
    Utterance, TEXTS, st.sampled_from(["User", "Anna", "", "A\nB"]), st.sampled_from(["user", "assistant"]), MOMENTS,
    st.sampled_from(["", "Ben"]),
)  # fmt: skip


@given(st.lists(UTTERANCES, max_size=4), st.sampled_from(MODES))
def test_any_talk_gives_short_memories_of_its_own_words(
    utterances: list[Utterance], mode: str
) -> None:
    for memory in extract(utterances, mode=mode):
        assert 0 < len(memory.content) <= LONGEST
        assert 0 <= memory.importance <= 1
        assert memory.kind
        assert memory.about is None or memory.about.tzinfo is not None


@given(st.lists(UTTERANCES, max_size=3))
def test_the_same_talk_gives_the_same_memories(utterances: list[Utterance]) -> None:
    assert extract(utterances) == extract(utterances)


@given(TEXTS)
def test_what_is_fenced_in_is_never_kept(text: str) -> None:
    assert (
        extract([Utterance("```\n" + text.replace("```", "").replace("~~~", "") + "\n```")]) == []
    )


@pytest.mark.exhaustive(keep=8)
@pytest.mark.parametrize(
    "piece",
    [
        "a", " ", "I ", "my_", "www.", "https://", '"', "`", "``", "![", "[a](", "so, ", "no, ", "I and ", "1.", ". ", "a.b", "a-", "/a",
        "last week ", "in two ", "yes, yeah, ", "|", "> ", "\n", "- ", "我", "é", "'", "{", "I'd ", "remember ", "not ", "e.g. ", "@", "_*",
    ],
)  # fmt: skip
def test_hostile_text_takes_no_longer_than_its_length(piece: str) -> None:
    began = time.process_time()
    for end in ("", ".", "?", "!x"):
        extract([Utterance(piece * (100_000 // len(piece)) + end, at=MONDAY, addressee="Ben")])
        extract(
            [
                Utterance(
                    f"I have {piece * (500 // len(piece))}{end} " * 30, at=MONDAY, addressee="Ben"
                )
            ]
        )
    assert time.process_time() - began < 5
