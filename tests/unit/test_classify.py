"""Kind and sector from words: the specs' examples, with contract C2's corrections."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muisti.model import KINDS, Kind, Sector
from muisti.remember.classify import (
    _KINDS,
    _SECTORS,
    _count_cues,
    classify_kind,
    classify_sector,
)
from muisti.safe_regex import find_fault
from muisti.settings import Settings
from muisti.text.tokens import compile_whole_words
from tests.unit.timing import grows_linearly


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ("Fixed authentication bug causing login failures", "bugfix"),  # spec 3
        ("Added new export feature for CSV format", "feature"),  # spec 3
        ("We decided to use PostgreSQL instead of MySQL", "decision"),
        ("Päätettiin käyttää Postgresia", "decision"),
        ("Мы решили использовать PostgreSQL", "decision"),
        ("我们决定使用PostgreSQL", "decision"),
        ("I prefer dark mode", "preference"),
        ("Refactored the parser", "refactor"),
        ("Upgraded from 1.2 to 1.3", "change"),
        ("Discovered an undocumented endpoint", "discovery"),
        ("Lesson: tests pay off", "insight"),
        ("Summary of this session", "summary"),
        ("The deadline is March 15", "fact"),
        ("hello", "note"),
        ("prefix and suffix", "note"),
        ("debugging the addressee", "note"),
        ("", "note"),
        ("🎉", "note"),
    ],
)
def test_kinds(content: str, kind: str) -> None:
    assert classify_kind(content) == kind


@pytest.mark.parametrize(
    ("content", "sector"),
    [
        ("User asked about the authentication flow earlier", "episodic"),  # spec 4, its tests
        ("The auth handler is located in src/auth/handler.ts", "semantic"),
        ("To deploy: first run build, then push to main", "procedural"),
        ("Frustrated by the slow test suite", "emotional"),  # the contract's correction of the tie
        ("This codebase favors composition over inheritance", "reflective"),
        ("The function returns a string", "semantic"),
        ("User asked about auth flow", "episodic"),  # spec 4, its table
        ("API endpoint is /api/users", "semantic"),
        ("Deploy via `bun run deploy`", "procedural"),
        ("Frustrated by slow tests", "emotional"),
        ("This codebase favors composition", "reflective"),
        ("The API endpoint is /api/users", "semantic"),
        ("lorem ipsum", "semantic"),
        ("", "semantic"),
    ],
)
def test_sectors(content: str, sector: str) -> None:
    assert classify_sector(content) == sector


@pytest.mark.parametrize(
    ("content", "sector"),
    [
        ("happy insight", "emotional"),
        ("insight, he said", "reflective"),
        ("he said: run", "episodic"),
        ("run the module", "procedural"),
    ],
)
def test_a_tie_goes_to_the_more_specific(content: str, sector: str) -> None:
    assert classify_sector(content) == sector


@pytest.mark.parametrize(
    ("content", "kind", "sector"),
    [
        ("We decided to use PostgreSQL", "decision", "semantic"),
        ("User prefers tabs", "preference", "emotional"),
        ("User likes tabs over spaces", "preference", "emotional"),
        ("Deploy with make release", "note", "procedural"),
        ("Found that the cache is never invalidated", "discovery", "semantic"),
        ("Refactored the parser into modules", "refactor", "semantic"),
        ("TODO: fix the flaky login test", "context", "procedural"),
        ("TODO write docs", "context", "semantic"),
        ("Working on the export feature, half done", "context", "semantic"),
        ("We decided to add a new export feature", "decision", "semantic"),
        ("We chose Rust rather than Go because of memory safety", "decision", "semantic"),
        ("Going with SQLite for the index", "decision", "semantic"),
        ("Decision: all times are UTC", "decision", "semantic"),
        ("Fixed the crash when the vault is empty", "bugfix", "semantic"),
        ("The crash was caused by a race condition in the pool", "bugfix", "semantic"),
        ("Added support for Chinese", "feature", "semantic"),
        ("Implemented OAuth login", "feature", "semantic"),
        ("Renamed getUser to fetchUser", "refactor", "semantic"),
        ("Cleaned up the dead code in utils", "refactor", "semantic"),
        ("Upgraded Django from 4.2 to 5.0", "change", "semantic"),
        ("Moved the config to pyproject.toml", "change", "semantic"),
        ("Removed the legacy API", "change", "semantic"),
        ("Switched CI to GitHub Actions", "change", "semantic"),
        ("I got a new job in Berlin", "note", "semantic"),
        ("Caroline's new car is red", "fact", "semantic"),
        ("User wants short answers", "preference", "semantic"),
        ("Please use British spelling", "preference", "semantic"),
        ("Never use print in library code", "preference", "semantic"),
        ("Don't use semicolons", "preference", "semantic"),
        ("User hates long emails", "preference", "emotional"),
        ("My favourite colour is green", "preference", "semantic"),
        ("I learned that retries hide bugs", "insight", "reflective"),
        ("Lesson: never deploy on Friday", "insight", "reflective"),
        ("Turns out the token expires after an hour", "insight", "reflective"),
        ("Revenue correlates with marketing spend in Q3", "insight", "semantic"),
        ("The project deadline is March 15th", "fact", "semantic"),
        ("User prefers bullet-point summaries", "preference", "emotional"),
        ("It is better to batch the writes", "fact", "reflective"),
        ("Noticed that the tests fail only on Windows", "discovery", "reflective"),
        ("Found a memory leak in the worker", "discovery", "semantic"),
        ("Summary of this session: we migrated the database", "summary", "episodic"),
        ("TL;DR the build is green", "summary", "procedural"),
        ("Recap: three bugs closed", "summary", "semantic"),
        ("Alice works at Acme", "fact", "semantic"),
        ("Bob's birthday is on 3 May", "fact", "semantic"),
        ("How to release: bump the version, tag, push", "fact", "procedural"),
        ("Step 1: install the dependencies", "note", "procedural"),
        ("Run `make test` before every commit", "note", "procedural"),
        ("Annoyed by flaky CI", "note", "emotional"),
        ("The user is happy with the new design", "fact", "emotional"),
        ("The user struggles with async code", "note", "emotional"),
        ("Excited about the launch", "note", "emotional"),
        ("In general, small functions read better", "note", "reflective"),
        ("User asked for a dark theme yesterday", "note", "episodic"),
        ("We discussed pricing last week", "note", "episodic"),
        ("Melanie said she went to the pride parade", "note", "episodic"),
        ("Today we met the customer", "note", "episodic"),
        ("Server runs on port 8080", "note", "semantic"),
        ("Looks like the queue grows at night", "observation", "semantic"),
        ("Observed high latency on Mondays", "observation", "semantic"),
        ("Käyttäjä suosii tummaa teemaa", "preference", "emotional"),
        ("Korjattiin kirjautumisen bugi", "bugfix", "semantic"),
        ("Lisättiin uusi vientiominaisuus", "feature", "semantic"),
        ("Määräaika on 15. maaliskuuta", "fact", "semantic"),
        ("Eilen keskusteltiin julkaisusta", "note", "episodic"),
        ("Opittiin että testit kannattaa ajaa ensin", "insight", "reflective"),
        ("Huomasin että välimuisti ei tyhjene", "discovery", "reflective"),
        ("Turhautunut hitaisiin testeihin", "note", "emotional"),
        ("Ensin aja testit, sitten julkaise", "note", "procedural"),
        ("Исправили ошибку входа", "bugfix", "semantic"),
        ("Добавили экспорт в CSV", "feature", "semantic"),
        ("Пользователь предпочитает тёмную тему", "preference", "emotional"),
        ("Вчера обсудили план", "note", "episodic"),
        ("Выяснилось, что кэш не сбрасывается", "discovery", "semantic"),
        ("Сервер находится в Хельсинки", "fact", "semantic"),
        ("Сначала запусти тесты, затем скрипт", "note", "procedural"),
        ("修复了登录错误", "bugfix", "semantic"),
        ("新增导出功能", "feature", "semantic"),
        ("用户喜欢深色主题", "preference", "emotional"),
        ("昨天讨论了部署计划", "note", "episodic"),
        ("首先运行测试，然后执行脚本", "note", "procedural"),
        ("截止日期是三月十五日", "fact", "semantic"),
        ("发现缓存从未失效", "discovery", "semantic"),
        ("重构了解析器", "refactor", "semantic"),
        ("Wir haben entschieden, SQLite zu benutzen", "decision", "semantic"),
        ("Fehler beim Login behoben", "bugfix", "semantic"),
        ("Der Nutzer bevorzugt kurze Antworten", "preference", "emotional"),
        ("Der Server befindet sich in Berlin", "fact", "semantic"),
        ("Gestern haben wir den Plan besprochen", "note", "episodic"),
        ("Zusammenfassung der Sitzung", "summary", "semantic"),
    ],
)
def test_everyday_memories(content: str, kind: str, sector: str) -> None:
    assert (classify_kind(content), classify_sector(content)) == (kind, sector)


@given(st.text())
def test_any_text_has_a_kind_and_a_sector(content: str) -> None:
    assert classify_kind(content) in KINDS
    assert classify_sector(content) in tuple(Sector)
    assert classify_kind(content) == classify_kind(content)


@pytest.mark.parametrize(
    "text", [lambda n: "from a " * (n // 7), lambda n: "extracts " * (n // 9), lambda n: "决" * n]
)
def test_hostile_texts(text) -> None:
    assert grows_linearly(
        lambda content: (classify_kind(content), classify_sector(content)), text, 500_000
    )


@pytest.mark.parametrize(
    "text",
    [lambda n: "we " * (n // 3), lambda n: "found a " * (n // 8), lambda n: "new a" * (n // 5)],
)
def test_hostile_words(text) -> None:
    assert grows_linearly(
        lambda content: (classify_kind(content), classify_sector(content)), text, 500_000
    )


FORMS = [
    pytest.param(name, label, form, id=f"{label}-{form}")
    for name, listed in (("kind", _KINDS), ("sector", _SECTORS))
    for label, signs in listed.items()
    for sign in signs
    for form in sign.split("|")
]


@pytest.mark.parametrize(("name", "label", "form"), FORMS)
def test_every_form_of_the_tables_is_found(name: str, label: str, form: str) -> None:
    """A form with a capital, a group or no word to find it by would never count."""
    assert form == form.lower()
    assert not set("()[]?*") & set(form)
    example = form.replace(r"\w{1,40}", "this").replace(r"\d{1,4}", "12").replace(".{1,40}", "x")
    assert _count_cues(f"… {example.upper()}!")[name].get(label)


OWN = Settings(
    kinds={**KINDS, "idea": Kind("idea", "ideas")},
    classify={
        "kind": {
            "bugfix": ("hotfix", "post-?mortem"),
            "idea": ("what if", r"\w{0,30}idea"),
            "note": ("fyi",),
            "decision": ("拍板",),
        },
        "sector": {"emotional": ("ugh",), "semantic": ("#fact",)},
    },
)


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ("Postmortem of Monday", "bugfix"),
        ("POST-MORTEM", "bugfix"),
        ("postmortems", "note"),  # whole words
        ("What if we cached it", "idea"),
        ("What if it is new", "idea"),  # twice of ours: is
        ("Added a feature: what if", "idea"),  # 2 to 2: the person's own wins
        ("Added support for a feature: what if", "feature"),  # 3 to 2
        ("fyi: the deadline is near", "note"),
        ("老板昨天拍板了", "decision"),  # no spaces needed where none are written
        ("x" * 4000 + " hotfix", "note"),  # beyond what is read
        ("The deadline is March 15", "fact"),
        ("hello", "note"),
    ],
)
def test_own_patterns_of_kinds(content: str, kind: str) -> None:
    assert classify_kind(content, OWN) == kind


@pytest.mark.parametrize(
    ("content", "sector"),
    [
        ("Ugh, the module is a file", "emotional"),
        ("ughs", "semantic"),
        ("#fact he said earlier", "semantic"),
        ("he said so", "episodic"),
    ],
)
def test_own_patterns_of_sectors(content: str, sector: str) -> None:
    found = classify_sector(content, OWN)
    assert found == sector
    assert isinstance(found, Sector)


@given(st.text())
def test_settings_without_patterns_change_nothing(content: str) -> None:
    assert classify_kind(content, Settings()) == classify_kind(content)
    assert classify_sector(content, Settings()) == classify_sector(content)


@pytest.mark.parametrize(
    "pattern",
    ["hotfix", "post-?mortem", "what if", "C\\+\\+", "(?:mend|patch)(?:ed)?", r"\w+", r"\w{1,30} \w{1,30} \w{1,30}", "决定", "(?s:a.b)",
     r"(\w+) \1", "(?>ab|a)c", "(a)?(?(1)b|c)", "x(?=y)", "(?:ha){2,}", "a{3}", "x" * 500],
)  # fmt: skip
def test_patterns_that_may_be_used(pattern: str) -> None:
    assert find_fault(pattern) is None
    assert grows_linearly(
        lambda text: compile_whole_words(pattern).search(text, 0, 4000),
        lambda n: "a " * (n // 2),
        4000,
    )


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("", "is empty"),
        (" ", "is empty"),
        ("x" * 501, "501 characters"),
        ("(", "not a valid regular expression: missing \\), unterminated subpattern at position 0"),
        ("[a", "unterminated character set at position 0"),
        ("*a", "nothing to repeat at position 0"),
        ("a{99999999999}", "repetition number is too large"),
        ("[[a]", "nested set"),
        ("(?<=a+)b", "fixed-width"),
        ("(?i)a", "flags"),
        ("(?x)a b", "flags"),
        ("a*", "empty string"),
        ("a?|b", "empty string"),
        (r"\b", "empty string"),
        ("(?=a)", "empty string"),
        ("(.*)*", "empty string"),
        ("(a+)+b", "very long"),
        ("(a|aa)+b", "very long"),
        ("(a|ab|b)*c", "very long"),
        ("(?:a{0,50}){1,50}b", "very long"),
        (r"\w+ \w+", "very long"),
        ("a.*b.*c", "very long"),
        ("(?>a+)+b", "very long"),
        ("(?=(a+)+b)a", "very long"),
        ("(a)?(?(1)(b+)+|c)d", "very long"),
    ],
)
def test_patterns_that_are_refused(pattern: str, why: str) -> None:
    found = find_fault(pattern)
    assert found is not None
    assert re.search(why, found)
    assert ";" in found or ":" in found  # the cure


@given(st.text(alphabet="ab+*?|(){}[]1,2\\\\w.", max_size=40))
def test_any_pattern_is_refused_or_quick(pattern: str) -> None:
    if find_fault(pattern) is None:
        before = time.thread_time()
        compile_whole_words(pattern).search("ab" * 1000 + " " + "a " * 1000)
        assert time.thread_time() - before < 5
