"""When two texts are one memory (contract C3): the new one would be dropped, so what stays apart
matters most.
"""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from muisti.remember.similarity.near_duplicate import compare
from muisti.remember.similarity.normal_form import normalize
from muisti.remember.similarity.numbers import join_numbers, parse_number
from muisti.remember.similarity.spelling import is_same_present, is_same_word

ONE = [
    (
        "The auth module is in src/auth/index.ts",
        "The authentication module is located in src/auth/index.ts",
    ),
    ("The deadline is March 15, 2025", "The deadline is 15 March 2025"),
    ("The deadline is 2025-03-15", "the deadline is the 15th of March, 2025."),
    ("We do not use tabs", "We don’t use tabs"),
    ("We cannot deploy", "we can't deploy!"),
    ("“Hello” — he said", '"Hello" - he said'),
    ("U.S. sales rose ten percent in January", "US sales rose 10% in Jan."),
    ("$5 million was paid", "5,000,000 dollars was paid"),
    ("5 GB of RAM is needed", "5GB of RAM is needed"),
    ("Twenty-five people came", "25 people came"),
    ("`foo.py` has the code", "foo.py has the code"),
    ("_Bold_ text is here", "Bold text is here"),
    ("I HAVE A DOG", "I have a dog"),
    ("**Bold** text is here", "Bold text is here"),
    ("- item one\n- item two", "* item one\n* item two"),
    ("The data base is slow now", "The database is slow now"),
    ("The database is slow today", "The databse is slow today"),
    ("The colour is red for the user", "The color is red for the user"),
    ("Alice met Martin in Rome on Monday", "alice met martin in rome monday"),
    ("The user wants a big report", "The users wants a big report"),
    # moved
    ("In 2020, Alice moved to Rome", "Alice moved to Rome in 2020"),
    ("When it rains, we stay home", "We stay home when it rains"),
    (
        "The company said on Tuesday that it would close.",
        "On Tuesday, the company said that it would close.",
    ),
    ("Alice lives in Rome. Bob lives in Oslo.", "Bob lives in Oslo. Alice lives in Rome."),
    ("The boy went home and the girl stayed here", "The girl stayed here and the boy went home"),
    # Finnish, Russian, Chinese, Japanese, German
    (
        "Auth-moduuli on tiedostossa src/auth/index.ts",
        "Auth-moduuli sijaitsee tiedostossa src/auth/index.ts.",
    ),
    ("Määräaika on 15.3.2025", "määräaika on 15.3.2025."),
    ("Käyttäjä suosii tummaa teemaa", "KÄYTTÄJÄ SUOSII  TUMMAA TEEMAA!"),
    ("Модуль находится в src/auth", "Модуль расположен в src/auth"),
    ("Пользователь ещё любит кофе", "пользователь еще любит кофе."),
    ("认证模块在 src/auth/index.ts 中。", "认证模块位于 src/auth/index.ts 中"),
    ("用户喜欢咖啡", "用户喜欢咖啡。"),
    ("认证模块在src/auth/index.ts中", "认证模块位于src/auth/index.ts中。"),
    ("テストは成功した。", "テストは成功した"),
    ("Das ist gut.", "das ist gut"),
]

TWO = [
    # numbers, dates, units
    ("The deadline is March 15", "The deadline is March 16"),
    ("Version 1.10 is out", "Version 1.1 is out"),
    ("The value is .5", "The value is 5"),
    ("x=-5", "x=5"),
    ("10² units", "102 units"),
    ("2½ cups", "21/2 cups"),
    ("The meeting is at 5 am", "The meeting is at 5 pm"),
    ("The meeting is at 5", "The meeting is at 5 am"),
    ("The price is $5", "The price is €5"),
    ("We need 5 GB of memory", "We need 5 MB of memory"),
    ("Cut it by 100%", "Cut it by 100"),
    ("~5 people came over", "5 people came over"),
    ("5 < x", "5 > x"),
    ("5 of 10 tests fail", "10 of 5 tests fail"),
    ("two hundred users", "two thousand users"),
    # names, paths, code
    ("I met Martin at the office", "I met Marvin at the office"),
    ("I met Andersen at the office", "I met Anderson at the office"),
    ("Maria likes the office", "Mario likes the office"),
    ("open src/Foo.ts now", "open src/foo.ts now"),
    ("use getUser here please", "use getuser here please"),
    ("The API key is abc123XYZ", "The API key is abc123xyz"),
    ("see https://a.com/?q=1", "see https://a.com/?q=2"),
    ("Run it with --force", "Run it with --dry-run"),
    ("run `git push a`", "run `git push b`"),
    ("Run ```if a:\n    b()\n    c()```", "Run ```if a:\n    b()\nc()```"),
    ("set `Foo` here", "set `foo` here"),
    ("the table is `user` here", "the table is `users` here"),
    ("call __init__ first", "call init first"),
    ("~~Use tabs here~~", "Use tabs here"),
    ("The patient takes vitamin A daily", "The patient takes vitamin daily"),
    ("plan a is good", "plan is good"),
    ("x² is the area", "x2 is the area"),
    ("C# is used", "C is used"),
    ("a != b", "a == b"),
    ("[ ] write tests", "[x] write tests"),
    ("The user answered 👍", "The user answered 👎"),
    # negation, other words, tense, questions
    ("Tests are enabled", "Tests aren't enabled"),
    ("Deploy with tests", "Deploy without tests"),
    ("User prefers dark mode", "User prefers light mode"),
    ("The deploy is on Friday", "The staging deploy is on Friday"),
    ("The rate increased in May", "The rate decreased in May"),
    ("The build is green", "The build was green"),
    ("We agree on the terms", "We agreed on the terms"),
    ("The trial starts on Monday", "The trail starts on Monday"),
    ("Contact the client about it", "Contract the client about it"),
    ("The cat is in the box", "The cat is on the box"),
    ("The light is on", "The light is off"),
    ("Call me at 10", "Call me in 10"),
    ("The news is good", "The new is good"),
    ("my key is here", "your key is here"),
    ("Is the deadline March 15?", "The deadline is March 15"),
    ("Is the deadline March 15", "The deadline is March 15"),
    ("User plays guitar", "User is playing guitar"),  # without a cosine
    # order
    ("Alice told Bob", "Bob told Alice"),
    ("Move it from A to B", "Move it from B to A"),
    ("The parent of Alice is Bob", "The parent of Bob is Alice"),
    ("Sales rose in 1998, profits fell in 1999", "In 1999 sales rose, in 1998 profits fell"),
    ("Team A scored 3 in 10 games", "In 10 Team A scored 3 games"),
    ("Alice left after Bob arrived", "After Alice left Bob arrived"),
    ("only Alice eats fish", "Alice eats only fish"),
    (
        "Alice, Bob and Carol won gold, silver and bronze",
        "Bob, Alice and Carol won gold, silver and bronze",
    ),
    # Finnish, Russian, Chinese
    ("Käyttäjä ei pidä kahvista", "Käyttäjä pitää kahvista"),
    ("Menen huomenna kouluun bussilla", "Menet huomenna kouluun bussilla"),
    ("Tapaan hänet huomenna", "Tapan hänet huomenna"),
    ("Talossa asuu vanha mies", "Talosta asuu vanha mies"),
    ("Пользователь не любит кофе", "Пользователь любит кофе"),
    ("Сервер работает быстро", "Сервер работал быстро"),
    ("книга лежит на столе", "книги лежит на столе"),
    ("用户喜欢咖啡", "用户不喜欢咖啡"),
    ("温度是-5", "温度是5"),
    ("会议在三点", "会议在四点"),
    ("用户没有车", "用户有车"),
    ("हिन्दी में लिखें", "हिन्दी मे लिखें"),
    # nothing to go by
    ("!", "?"),
    ("a", "the"),
]


@pytest.mark.parametrize(("mine", "theirs"), ONE)
def test_one_memory(mine, theirs):
    assert compare(mine, theirs).same
    assert compare(theirs, mine).same
    assert compare(mine, theirs).differences == ()


@pytest.mark.parametrize(("mine", "theirs"), TWO)
def test_two_memories(mine, theirs):
    assert not compare(mine, theirs).same
    assert not compare(theirs, mine).same


def test_what_forbids_it_is_named():
    found = compare("User prefers dark mode", "User prefers light mode in all places")
    assert ("dark", "light") in found.differences
    assert ("", "not") in compare(
        "Tests are enabled here", "Tests are not enabled here"
    ).differences


def test_by_tells_which_nearness_was_met():
    assert compare("We use tabs", "we use tabs.").by == "levenshtein"
    assert (
        compare(
            "In May of this year, Alice finally moved to Rome",
            "Alice finally moved to Rome in May of this year",
        ).by
        == "simhash"
    )
    assert compare("User plays guitar", "User is playing guitar", cosine=0.97).by == "embedding"
    assert (
        compare(
            "The cat sleeps all day long on the mat", "Quantum physics is a strange field of study"
        ).by
        == ""
    )


def test_a_cosine_excuses_two_forms_of_the_present_and_nothing_else():
    assert compare("User plays guitar", "User is playing guitar", cosine=0.97).same
    assert not compare("User plays guitar", "User is playing guitar", cosine=0.8).same
    assert not compare("User plays guitar", "User was playing guitar", cosine=0.99).same
    for mine, theirs in TWO:
        if mine != "User plays guitar":
            assert not compare(mine, theirs, cosine=0.999).same


@pytest.mark.parametrize(
    ("mine", "theirs", "name", "english", "one"),
    [
        ("database", "databse", False, True, True),
        ("configure", "confgiure", False, True, True),
        ("reports", "report", False, True, True),
        ("policy", "policies", False, True, True),
        ("agreed", "agree", False, True, False),
        ("planner", "planned", False, True, False),
        ("healthy", "health", False, True, False),
        ("server", "sever", False, True, False),
        ("form", "from", False, True, False),
        ("xylograph", "wylograph", False, True, False),
        ("Stegman".lower(), "stegmen", True, True, False),
        ("stegman", "setgman", True, True, True),
        ("menen", "menet", False, False, False),
        ("tietokanta", "tietkkanta", False, False, True),
        ("tietokanta", "tietokannat", False, False, False),
        ("word", "word", False, True, False),
    ],
)
def test_one_word_typed_twice(mine, theirs, name, english, one):
    assert is_same_word(mine, theirs, name=name, english=english) is one
    assert is_same_word(theirs, mine, name=name, english=english) is one


@pytest.mark.parametrize(
    ("mine", "theirs", "same"),
    [("plays", "playing", True), ("run", "running", True), ("uses", "using", True), ("carries", "carrying", True),
     ("played", "playing", False), ("king", "kings", False), ("going", "playing", False)],
)  # fmt: skip
def test_two_forms_of_the_present(mine, theirs, same):
    assert is_same_present(mine, theirs) is same
    assert is_same_present(theirs, mine) is same


@pytest.mark.parametrize(
    ("raw", "tokens"),
    [("1,000", ["1000"]), ("5m", ["5000000"]), ("2.5bn", ["2500000000"]), ("15th", ["15th"]), ("10gb", ["10", "gb"]),
     ("1990s", ["1990s"]), ("1.10", ["1.10"]), (".5", ["0.5"]), ("1,5", ["1,5"]), ("3d", ["3d"]), ("9" * 40 + "k", ["9" * 40 + "e3"])],
)  # fmt: skip
def test_numbers_have_one_form(raw, tokens):
    assert list(parse_number(raw)) == tokens


@pytest.mark.parametrize(
    ("tokens", "settled_as"),
    [(["20", "5"], ["25"]), (["2", "hundred", "thousand"], ["200000"]), (["$", "5", "million"], ["5000000", "$"]),
     (["march", "15", ",", "2024"], ["@2024-03-15"]), (["15th", "of", "march"], ["@03-15"]), (["2024", "03", "15"], ["@2024-03-15"]),
     (["march", "99"], ["march", "99"]), (["20"], ["20"]), (["1", "may"], ["@05-01"])],
)  # fmt: skip
def test_dates_and_compound_numbers(tokens, settled_as):
    assert join_numbers(tokens) == settled_as


@pytest.mark.parametrize("text", ["_note:_ see below", "_'s_ it", "_a:b:_ now", "_user:_", "_x'_"])
def test_emphasis_may_end_with_a_mark(text):
    """Nothing follows the mark inside the underscores, and no token may be empty."""
    assert all(normalize(text).tokens)
    assert compare(text, "something else").same is False
    assert compare(text, text.upper()).similarity >= 0


def test_a_reading_keeps_paths_and_code_whole():
    found = normalize(
        "See ./src/a.py, .env and `git push --force` with -v; mail a.b@c.org or http://x.org/y?z=1."
    )
    assert {
        "./src/a.py",
        ".env",
        "`git push --force",
        "-v",
        "a.b@c.org",
        "http://x.org/y?z=1",
    } <= set(found.content)


WORDS = st.sampled_from(
    "server database report Alice Bob kahvi сервер 数据 config user deadline meeting module 15 2024 src/a.py the of runs uses with".split()
)
TEXTS = st.lists(WORDS, min_size=3, max_size=12).map(" ".join)


@given(st.text(max_size=60), st.text(max_size=60))
@example("ß", "SS")
@example("İ", "i")
def test_symmetric_and_never_raises(mine, theirs):
    assert compare(mine, theirs).same == compare(theirs, mine).same


@given(TEXTS, TEXTS)
def test_symmetric_on_words(mine, theirs):
    assert compare(mine, theirs).same == compare(theirs, mine).same


@given(st.text(max_size=80))
def test_reflexive(text):
    assert compare(text, text).same
    assert compare(text, f"  {text}\t").same


@given(TEXTS, st.integers(0, 9999), st.data())
def test_another_digit_is_another_memory(text, number, data):
    digits = str(number)
    at = data.draw(st.integers(0, len(digits) - 1))
    other = data.draw(st.sampled_from([d for d in "0123456789" if d != digits[at]]))
    changed = digits[:at] + other + digits[at + 1 :]
    place = data.draw(st.integers(0, len(text.split())))
    mine, theirs = (
        [*text.split()[:place], value, *text.split()[place:]] for value in (digits, changed)
    )
    assert not compare(" ".join(mine), " ".join(theirs)).same


@given(TEXTS, st.data())
def test_case_space_and_punctuation_do_not_matter(text, data):
    typed = "".join(
        data.draw(st.sampled_from((" ", "  ", "\t", "\u00a0", ", "))) if char == " " else char
        for char in text
    )
    recased = data.draw(
        st.sampled_from((str.lower, str.upper, str, *(() if "/" in text else (str.title,))))
    )(typed)
    assert compare(text, recased + data.draw(st.sampled_from(("", ".", "!", " …")))).same


@given(TEXTS, st.data(), st.sampled_from(("not", "never", "ei", "не", "不", "without")))
def test_a_negation_more_is_another_memory(text, data, negation):
    words = text.split()
    at = data.draw(st.integers(0, len(words)))
    assert not compare(text, " ".join([*words[:at], negation, *words[at:]])).same


@settings(max_examples=25)
@given(st.lists(WORDS, min_size=6, max_size=20, unique=True))
def test_sentences_may_change_places(words):
    half = len(words) // 2
    first = f"Note seven says {' '.join(words[:half])}."
    second = f"Note nine says {' '.join(words[half:])}."
    assert compare(f"{first} {second}", f"{second} {first}").same


@pytest.mark.exhaustive(keep=8)
@pytest.mark.parametrize(
    "text",
    ["a" * 1_000_000, "word " * 200_000, "`" * 1_000_000, "a." * 500_000, "- " * 500_000, "/" * 19_000, "a/" * 9_000, "1," * 9_000,
     "x@" * 9_000, "'" * 19_000, "a_" * 9_000, "." * 19_000, "and the cat " * 1_600, "\u0301" * 19_000, "1 " * 9_000,
     "`" * 19_000, "`a" * 9_000, "x+" * 9_000, "x:" * 9_000, "```a" * 4_000, "a:/" * 6_000, "\\" * 19_000],
    ids=lambda text: f"{len(text)} of {text[:5]!r}",
)  # fmt: skip
def test_large_and_odd_texts_take_no_time(text):
    started = time.process_time()
    assert compare(text, text + " more").same is False or not text.strip("-`./', \u0301")
    assert compare(text, f" {text}").same
    assert time.process_time() - started < 3
