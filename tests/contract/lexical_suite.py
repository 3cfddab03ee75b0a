"""What every search by words must do (contract E1, E4)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from muisti.model import Filter, Sector, Tier
from muisti.ports import Changes, Term
from tests.contract.making import Parts, filed, stored
from tests.unit.making import NOON

NAUGHTY = next((path for parent in Path(__file__).parents if (path := parent / "shared" / "data" / "blns.json").is_file()), None)
SYNTAX = [
    '"', '""', '"unclosed', "AND", "OR NOT", "a AND", "NEAR(a b)", "a*", "*", "^a", "a:b", "title:x", "(", ")", "((a)", "-a", "+", "{a b}:c",
    "'", "';--", "\\", "a\0b", "\0", "a\nb", "rank:", "word_index", "-", "--", ":-)", "%", "_", "[]", "a NOT b", "\ufeff", "\u202e", "🎉",
]  # fmt: skip


class LexicalContract:
    """Subclasses give a fixture `parts`: an open, empty index."""

    def test_words_are_found_in_text_title_keywords_files_and_summary(self, parts: Parts) -> None:
        parts.add(
            filed(1, "the body says apples"),
            filed(2, "x", title="About apples"),
            filed(3, "x y", keywords=("apples",)),
            filed(4, "x y z", summary="of apples"),
            filed(5, "w", files=("src/apples.py",)),
            filed(6, "only pears"),
        )
        assert sorted(memory_id[-1] for memory_id in parts.ids("Apple")) == list("12345")

    def test_the_index_is_in_step_with_inserts_updates_and_deletes(self, parts: Parts) -> None:
        memory = filed(1, "first version about zebras")
        parts.add(memory)
        assert parts.ids("zebras") == [memory.id]
        parts.add(filed(1, "second version about lions"))
        assert parts.ids("zebras") == []
        assert parts.ids("lions") == [memory.id]
        assert parts.lexical.frequencies(["zebra", "lion"]).counts == {"lion": 1}
        parts.index.apply(Changes(removed=["notes/1.md"]))
        assert parts.ids("lions") == []
        assert parts.lexical.frequencies(["lion"]).documents == 0
        assert parts.lexical.similar_words("lions", 5) == []
        assert parts.index.check() == []

    @settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
    @given(steps=st.lists(st.tuples(st.integers(1, 4), st.sampled_from(["apple fig", "fig", "pear 记忆", ""])), max_size=10))
    def test_any_changes_leave_it_in_step(self, parts: Parts, steps: list[tuple[int, str]]) -> None:
        alive: dict[int, str] = {}
        with_all = Changes(removed=[f"notes/{number}.md" for number in range(1, 5)])
        parts.index.apply(with_all)
        for number, content in steps:
            if content:
                parts.add(filed(number, content))
                alive[number] = content
            else:
                parts.index.apply(Changes(removed=[f"notes/{number}.md"]))
                alive.pop(number, None)
        for word in ("apple", "fig", "pear", "记忆"):
            expected = sorted(filed(number, "x").id for number, content in alive.items() if word in content)
            assert sorted(parts.ids(word)) == expected
        assert parts.lexical.frequencies([]).documents == len(alive)
        assert parts.index.check() == []

    @pytest.mark.parametrize(
        "where",
        [
            Filter(project="small"), Filter(kinds=("decision",)), Filter(sectors=("emotional",)), Filter(tiers=("global",)),
            Filter(session="s"), Filter(keywords=("k",)), Filter(files=("f",)), Filter(min_salience=0.9), Filter(ids=(filed(1000, "x").id,)),
        ],
        ids=repr,
    )  # fmt: skip
    def test_filters_work_inside_so_that_results_come_back_when_they_exist(self, parts: Parts, where: Filter) -> None:
        crowd = [filed(n, "apple apple apple", project="crowd", salience=0.1) for n in range(1, 200)]
        rare = filed(
            1000,
            "one apple among many other words",
            project="small",
            kind="decision",
            sector=Sector.EMOTIONAL,
            tier=Tier.GLOBAL,
            session_id="s",
            keywords=("k",),
            files=("f",),
        )
        parts.add(*crowd, rare)
        assert parts.ids("apple", where, limit=1) == [rare.id]
        assert len(parts.ids("apple", Filter(project="crowd"), limit=50)) == 50

    def test_the_deleted_are_not_found_unless_asked_for(self, parts: Parts) -> None:
        parts.add(filed(1, "apple", deleted_at=NOON))
        assert parts.ids("apple") == []
        assert len(parts.ids("apple", Filter(include_deleted=True))) == 1

    def test_better_matches_come_first(self, parts: Parts) -> None:
        parts.add(
            filed(1, "apple pear"),
            filed(2, "apple and a great many other words that have nothing to do with it at all, on and on they go"),
            filed(3, "pear"),
            *(filed(n, f"filler number {n}") for n in range(10, 30)),
        )
        hits = parts.find("apple pear")
        assert hits[0].memory_id == filed(1, "x").id
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
        assert all(0 < hit.score <= 1 for hit in hits)
        assert hits[0].matched == {"appl", "pear"}
        assert parts.ids("apple") == [filed(1, "x").id, filed(2, "x").id]

    def test_a_title_of_its_own_weighs_more_than_the_body(self, parts: Parts) -> None:
        filler = [filed(n, f"filler number {n}") for n in range(10, 30)]
        parts.add(filed(1, "one word: apple"), filed(2, "one word: something", title="The apple"), *filler)
        assert parts.ids("apple")[0] == filed(2, "x").id

    @pytest.mark.parametrize(
        ("content", "queries"),
        [
            ("我们决定使用数据库", ["数据库", "数据", "库", "决定", "我"]),
            ("東京タワーに行く", ["東京", "タワー", "行"]),
            ("한국어 검색 엔진", ["한국어", "검색"]),
            ("Päätöksestä kerrottiin", ["päätöksestä", "PÄÄTÖKSESTÄ", "paatoksesta"]),
            ("Решение о базах данных", ["решения", "база", "данные"]),
            ("See src/auth/index.ts please", ["src/auth/index.ts", "index.ts", "auth", "SRC"]),
            ("the snake_case_name here", ["snake_case_name", "snake", "case"]),
            ("the camelCaseName here", ["camelCaseName", "camelcasename", "camel"]),
            ("café résumé", ["café", "cafe", "CAFÉ", "cafe\u0301"]),
            ("don't panic", ["dont", "don't", "don’t"]),
            ("party 🎉 time", ["🎉"]),
            ("written in C++ and C#", ["C++", "c#"]),
            ("connected connections", ["connecting"]),
            ("Osuuspankkikortti", ["pankki"]),
            ("PostgreSQL replication", ["PostgreSLQ", "postgres"]),
        ],
    )  # fmt: skip
    def test_languages_identifiers_and_slips_of_the_pen(self, parts: Parts, content: str, queries: list[str]) -> None:
        parts.add(filed(1, content), filed(2, "Something else entirely"), filed(3, "Другое 别的 その他"))
        for query in queries:
            assert parts.ids(query)[:1] == [filed(1, "x").id], query

    def test_stand_ins_are_told_apart(self, parts: Parts) -> None:
        parts.add(filed(1, "pankki"), filed(2, "osuuspankki"))
        loose = {hit.memory_id[-1]: bool(hit.loose) for hit in parts.find("pankki")}
        assert loose == {"1": False, "2": True}
        assert parts.lexical.similar_words("pankki", 5) == ["osuuspankki"]

    def test_queries_without_words_look_for_their_characters(self, parts: Parts) -> None:
        parts.add(filed(1, "smile :-) please"), filed(2, "none"), filed(3, "[100%] sure"))
        assert parts.ids(":-)") == [filed(1, "x").id]
        assert parts.ids("%]") == [filed(3, "x").id]
        assert parts.ids("':-)") == []
        assert parts.ids(":-)", Filter(kinds=("fact",))) == []

    def test_the_words_of_one_memory(self, parts: Parts) -> None:
        parts.add(filed(1, "apple apple pear", keywords=("fig",)))
        assert parts.lexical.words_of(filed(1, "x").id) == {"appl": 2, "pear": 1, "fig": 1}
        assert parts.lexical.words_of("none") == {}

    def test_frequencies(self, parts: Parts) -> None:
        parts.add(filed(1, "apple apple"), filed(2, "apple pear"))
        found = parts.lexical.frequencies(["appl", "pear", "none"])
        assert (found.documents, dict(found.counts)) == (2, {"appl": 2, "pear": 1})

    @pytest.mark.parametrize("query", SYNTAX, ids=repr)
    def test_nothing_that_a_person_types_is_syntax(self, parts: Parts, query: str) -> None:
        parts.add(filed(1, "a b title x near"))
        parts.find(query)
        raw = Term(query, 1.0, (query, f"{query}x"), prefix=True)
        parts.lexical.lexical([raw], Filter(), 5)
        parts.lexical.literal(query, Filter(), 5)
        parts.lexical.similar_words(query * 2, 5)

    @settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
    @given(query=st.text(st.characters(exclude_categories=["Cs"]), max_size=30))
    def test_any_text_is_a_safe_query_and_finds_the_text_itself(self, parts: Parts, query: str) -> None:
        if query.strip() and "\0" not in query:
            parts.add(filed(1, query))
            assert filed(1, "x").id in parts.ids(query)

    @pytest.mark.skipif(
        NAUGHTY is None, reason="needs the Big List of Naughty Strings at shared/data/blns.json beside the project"
    )
    def test_every_naughty_string_is_a_safe_query_and_is_found(self, parts: Parts) -> None:
        assert NAUGHTY is not None
        naughty = [text for text in json.loads(NAUGHTY.read_text("utf-8")) if text.strip()]
        files = [stored(filed(n, text)) for n, text in enumerate(naughty)]
        parts.index.apply(Changes(files=files))
        assert len(naughty) > 400
        missed = [text for n, text in enumerate(naughty) if filed(n, "x").id not in parts.ids(text, limit=len(naughty))]
        assert missed == []
        assert parts.index.check() == []

    def test_an_endless_query(self, parts: Parts) -> None:
        parts.add(filed(1, "needle"))
        endless = "".join(chr(0x4E00 + n % 20_000) + chr(0x4E00 + n // 20_000) for n in range(50_000))
        assert parts.ids(endless) == []
        assert parts.ids("needle " + " ".join(f"w{n}" for n in range(20_000))) == [filed(1, "x").id]
