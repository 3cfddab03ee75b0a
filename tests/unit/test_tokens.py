"""From text to index words (contract E1)."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muisti.text.normalize import MOST_MARKS, to_nfkc
from muisti.text.tokens import MAX_WORD, is_spaceless, split_words, stem, tokenize
from tests.unit.timing import grows_linearly

TABLE = {
    "chinese": ("决定使用数据库", ["决定", "定使", "使用", "用数", "数据", "据库", "库"]),
    "one chinese character": ("日", ["日"]),
    "japanese, three scripts": ("東京タワーへ", ["東京", "京タ", "タワ", "ワー", "ーへ", "へ"]),
    "korean": ("한국어 검색", ["한국", "국어", "어", "검색", "색"]),
    "thai": ("ไทย", ["ไท", "ทย", "ย"]),
    "chinese and latin": ("用PostgreSQL库", ["用", "postgresql", "postgr", "sql", "库"]),
    "finnish": ("päätös päätökset", ["paato", "paatokset"]),
    "finnish, capital": ("Päätöksiä Hämeenlinna", ["paatoksia", "hameenlinna"]),
    "german, capital": ("Müller Köln", ["muller", "koln"]),
    "russian": ("решили решение базы", ["реш", "решен", "баз"]),
    "greek": ("Ελλάδα", ["ελλαδ"]),
    "arabic": ("العربية", ["عرب"]),
    "hebrew": ("שלום", ["שלום"]),
    "english stems": ("Running tests connected", ["run", "test", "connect"]),
    "diacritics": ("Émile café naïve naive", ["emil", "cafe", "naiv"]),
    "hindi": ("हिन्दी में", ["हिन्दी", "में"]),
    "arabic, with and without vowels": ("كِتَاب كتاب", ["كتاب"]),
    "compatible forms": ("ﬁne ＦＵＬＬ x²", ["fine", "full", "x2"]),
    "sharp s": ("Straße STRASSE", ["strass", "strass"]),
    "path": ("src/auth/index.ts", ["src/auth/index.ts", "src", "auth", "index", "ts"]),
    "backslashes": ("C:\\Users\\x.txt", ["c:\\users\\x.txt", "c", "user", "x", "txt"]),
    "snake case": ("snake_case", ["snake_case", "snake", "case"]),
    "camel case": ("camelCase", ["camelcase", "camel", "case"]),
    "abbreviation in camel case": ("HTTPServer", ["httpserver", "http", "server"]),
    "dunder": ("__init__", ["__init__", "init"]),
    "version": ("v1.2.3", ["v1.2.3", "v1", "2", "3"]),
    "address": ("user@example.com", ["user@example.com", "user", "exampl", "com"]),
    "plus and sharp": ("C++ C#", ["c++", "c", "c#", "c"]),
    "apostrophes": ("don't it's Anna’s O'Brien", ["dont", "it", "anna", "obrien"]),
    "emoji": ("🎉 done", ["🎉", "done"]),
    "symbols": ("$5 100%", ["$", "5", "100"]),
    "flags": ("--dry-run -x", ["dry-run", "dri", "run", "x"]),
    "punctuation only": (":-) ... !?", []),
    "white space only": (" \n\t\u3000", []),
    "nothing": ("", []),
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), TABLE.values(), ids=TABLE.keys())
def test_words(text: str, expected: list[str]) -> None:
    found = tokenize(text)
    assert list(dict.fromkeys(found)) == list(dict.fromkeys(expected))


@pytest.mark.parametrize(
    "pair",
    [
        ("päätös", "PÄÄTÖS"),
        ("café", "cafe\u0301"),
        ("ｆｕｌｌ", "full"),
        ("Ёлка", "ёлка"),
        ("ǅ", "ǆ"),
    ],
)
def test_forms_of_one_word_are_one_word(pair: tuple[str, str]) -> None:
    assert tokenize(pair[0]) == tokenize(pair[1])


@pytest.mark.parametrize(
    ("text", "asked"), [("记忆", ["记忆"]), ("忆", ["忆"]), ("记忆库", ["记忆", "忆库"])]
)
def test_a_question_names_no_lone_last_characters(text: str, asked: list[str]) -> None:
    assert tokenize(text, query=True) == asked


@pytest.mark.parametrize(
    ("text", "expected"),
    [("记忆", True), ("データ", True), ("한국", True), ("a记", False), ("", False), ("é", False)],
)
def test_is_spaceless(text: str, expected: bool) -> None:
    assert is_spaceless(text) is expected


@settings(max_examples=300)
@given(st.text())
def test_any_text_has_words_and_always_the_same(text: str) -> None:
    found = tokenize(text)
    assert found == tokenize(text)
    assert all(word and not any(char.isspace() for char in word) for word in found)
    assert all(len(word) <= 4 * MAX_WORD for word in found)


_ASKED = st.text() | st.sampled_from([text for text, _ in TABLE.values()])


@settings(max_examples=300)
@given(_ASKED)
def test_a_text_that_contains_a_question_has_its_words(question: str) -> None:
    assert set(tokenize(question, query=True)) <= set(tokenize(f"before {question} after"))


@given(st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=100))
def test_stems_are_short_and_never_empty(word: str) -> None:
    assert 0 < len(stem(word)) <= 4 * MAX_WORD


HOSTILE = {
    "letters": lambda n: "a" * n,
    "parts": lambda n: "a-" * (n // 2),
    "a word and dashes": lambda n: "a" + "-" * n,
    "underscores": lambda n: "_" * n,
    "dots and underscores": lambda n: "a" + "._" * (n // 2),
    "apostrophes": lambda n: "a'" * (n // 2),
    "humps": lambda n: "aA" * (n // 2),
    "pluses": lambda n: "a+" * (n // 2),
    "chinese": lambda n: "记" * (n // 3),
    "ligatures": lambda n: "\ufdfa" * (n // 3),
    "combining marks": lambda n: "a" + "\u0301\u0316" * (n // 4),
    "marks and spaces": lambda n: ("e" + "\u0316\u0301" * 20 + " ") * (n // 82),
    "distinct words": lambda n: " ".join(str(number) for number in range(n // 7)),
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_texts_take_linear_time(text) -> None:
    assert grows_linearly(tokenize, text, 250_000)


@given(st.text())
def test_nfkc_is_that_of_unicode_for_texts_that_people_write(text: str) -> None:
    assert to_nfkc(text) == unicodedata.normalize("NFKC", text)


def test_nfkc_leaves_out_only_the_marks_that_nobody_can_read() -> None:
    assert to_nfkc("x" + "\u0301" * 1000 + "y") == "x" + "\u0301" * MOST_MARKS + "y"
    assert to_nfkc("🎉" * 1000) == "🎉" * 1000


def test_words_as_they_are_written() -> None:
    assert split_words("Use snake_case, don't 你好") == ["Use", "snake_case", "don", "t", "你好"]
    assert split_words("snake_case_", identifiers=False) == ["snake", "case"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('"Lamps," (LAMPS) [lamps]: lamps!?', "lamp lamp lamp lamp"),
        ("camelCase, ABCs. McCoy; I a", "camelcase camel case abcs ab cs mccoy mc coy i a"),
        ("don't. (it's) C++, x-ray: a.b;", "dont it c++ c x-ray x ray a.b a b"),
        ("naïve, Straße.", "naiv strass"),
    ],
)
def test_punctuation_beside_a_word_does_not_belong_to_it(text: str, words: str) -> None:
    assert " ".join(tokenize(text)) == words
