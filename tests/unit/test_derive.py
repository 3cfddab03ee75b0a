"""What muisti works out by itself: title, content hash, concepts, simhash."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muisti.remember.concepts import MOST, extract_concepts
from muisti.remember.derive import TITLE_LENGTH, derive_fields, derive_title, hash_content
from muisti.text.simhash import hamming_distance, simhash
from tests.unit.making import ANY_CONTENT, a_memory
from tests.unit.timing import grows_linearly


@pytest.mark.parametrize(
    ("content", "title"),
    [
        ("We chose PostgreSQL. It has JSON.", "We chose PostgreSQL."),
        ("# The heading #\n\nText. More.", "The heading"),
        ("\n\n  ## Second level\n", "Second level"),
        ("#nothing but a tag", "#nothing but a tag"),
        ("First line\nSecond line", "First line"),
        ("**Bold** and *italic* words", "Bold and italic words"),
        ("_very_ important and __so__ on", "very important and so on"),
        ("~~struck~~ out", "struck out"),
        ("- an item", "an item"),
        ("1. a step", "a step"),
        ("> a quotation", "a quotation"),
        ("Use snake_case_names here", "Use snake_case_names here"),
        ("Call `read_file` twice", "Call read_file twice"),
        ("See ~/.config/muisti", "See ~/.config/muisti"),
        ("2 * 3 * 4", "2 * 3 * 4"),
        ("Version 1.2.3 is out. Hurray", "Version 1.2.3 is out."),
        ("我们选择了数据库。它很快。", "我们选择了数据库。"),
        ("Really?! Yes.", "Really?!"),
        ("a\u2028b", "a"),
        ("tab\there", "tab here"),
        ("***", "***"),
        (
            "word " * 40,
            "word word word word word word word word word word word word word word word…",
        ),
        ("x" * 200, "x" * (TITLE_LENGTH - 1) + "…"),
    ],
)
def test_titles(content: str, title: str) -> None:
    assert derive_title(content) == title


@given(ANY_CONTENT)
def test_a_title_is_one_short_line(content: str) -> None:
    title = derive_title(content)
    assert len(title) <= TITLE_LENGTH
    assert title == " ".join(title.split())
    assert len(title.splitlines()) <= 1
    assert derive_title(content) == title


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("a b", "a  b\n", True),
        ("a b", " a\tb ", True),
        ("ﬁne", "fine", True),
        ("e\u0301", "é", True),
        ("ＡＢ", "AB", True),
        ("a b", "A b", False),
        ("March 15", "March 16", False),
        ("ab", "a b", False),
    ],
)
def test_content_hashes(first: str, second: str, same: bool) -> None:
    assert (hash_content(first) == hash_content(second)) is same


def test_completing_keeps_concepts_that_a_person_chose() -> None:
    assert derive_fields(a_memory(concepts=("mine",))).concepts == ("mine",)
    assert derive_fields(a_memory(1, "About `pg_dump`")).concepts == ("pg_dump",)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("We use `pg_dump` here", {"pg_dump"}),
        ("look at src/auth/index.ts now", {"src/auth/index.ts"}),
        ("the camelCase and snake_case names", {"camelCase", "snake_case"}),
        ("it is in settings.py", {"settings.py"}),
        ("the API over HTTP", {"API", "HTTP"}),
        ("we chose PostgreSQL then", {"PostgreSQL"}),
        ("please ask Anna Virtanen today", {"Anna Virtanen"}),
        ("Sentence starts are no names. The same here", set()),
        ("", set()),
    ],
)
def test_concepts(content: str, expected: set[str]) -> None:
    assert set(extract_concepts(content)) == expected


def test_the_most_frequent_concepts_come_first_and_there_is_a_most() -> None:
    text = "use beta_two and alpha_one and alpha_one " + " ".join(
        f"name_{number}" for number in range(50)
    )
    found = extract_concepts(text)
    assert found[:2] == ("alpha_one", "beta_two")
    assert len(found) == MOST


@given(st.text())
def test_any_text_has_concepts(content: str) -> None:
    found = extract_concepts(content)
    assert len(found) <= MOST
    assert all(concept in content for concept in found)


FOX = "The quick brown fox jumps over the lazy dog"


def test_simhash_as_in_spec_4() -> None:
    assert simhash(FOX) == simhash(FOX)
    assert (
        hamming_distance(simhash(FOX), simhash("The quick brown fox leaps over the lazy dog")) < 10
    )
    assert (
        hamming_distance(
            simhash("The quick brown fox"),
            simhash("A completely different sentence about programming"),
        )
        > 20
    )
    assert hamming_distance("0000000000000000", "0000000000000007") == 3


@pytest.mark.parametrize(
    "text", ["我们决定使用数据库", "記憶", "日", "решили", "päätös", "ไทย", "x", "7"]
)
def test_every_script_has_a_fingerprint(text: str) -> None:
    assert simhash(text) != "0" * 16
    assert hamming_distance(simhash(text), simhash(text + "!")) == 0


@pytest.mark.parametrize("text", ["", " ", "!?", "🎉"])
def test_texts_without_words_have_none(text: str) -> None:
    assert simhash(text) == "0" * 16


def test_chinese_texts_that_are_alike_are_near() -> None:
    first, second = (
        "我们决定使用PostgreSQL数据库来存储用户数据",
        "我们决定使用PostgreSQL数据库来保存用户数据",
    )
    other = "今天天气很好我们去公园散步"
    assert hamming_distance(simhash(first), simhash(second)) < hamming_distance(
        simhash(first), simhash(other)
    )


@given(st.text())
def test_fingerprints_are_sixteen_digits(text: str) -> None:
    found = simhash(text)
    assert len(found) == 16
    assert 0 <= int(found, 16) < 1 << 64
    assert hamming_distance(found, found) == 0


@given(
    st.lists(st.sampled_from(["alpha", "beta", "gamma", "delta"]), min_size=1, max_size=30),
    st.randoms(),
)
def test_fingerprints_do_not_depend_on_the_order_of_words(found: list[str], random) -> None:
    shuffled = list(found)
    random.shuffle(shuffled)
    assert simhash(" ".join(found)) == simhash(" ".join(shuffled))


@pytest.mark.parametrize("count", [32_767, 32_768, 70_000, 200_000])
def test_a_word_said_very_often_is_still_that_word(count: int) -> None:
    assert simhash("word " * count) == simhash("word")


_MEGABYTE = {
    "one word": lambda n: "a" * n,
    "many words": lambda n: " ".join(str(number) for number in range(n // 7)),
    "chinese": lambda n: "记忆库" * (n // 9),
    "marks": lambda n: "a" + "\u0301\u0316" * (n // 4),
    "backticks": lambda n: "`" * n,
    "slashes": lambda n: "a/" * (n // 2),
    "names": lambda n: "Aa " * (n // 3),
    "stars": lambda n: "*_" * (n // 2),
    "underscores": lambda n: "_a " * (n // 3),
}


@pytest.mark.exhaustive(keep=8)
@pytest.mark.parametrize("text", _MEGABYTE.values(), ids=_MEGABYTE.keys())
@pytest.mark.parametrize("function", [simhash, hash_content, derive_title, extract_concepts])
def test_a_megabyte_takes_linear_time(function, text) -> None:
    assert grows_linearly(function, text, 250_000)


@given(st.text(alphabet="ab \n\t\u00a0é\x1f", max_size=12))
def test_texts_that_need_no_folding_have_the_hash_of_folded_ones(text: str) -> None:
    assert hash_content(text) == hash_content(" ".join(text.split()))
