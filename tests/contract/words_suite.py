"""What every search index must do: find texts by their words (contract E1, E4)."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muisti.model import Filter, Sector, Tier
from muisti.ports import IndexChanges, SearchIndex, Term, Words
from muisti.recall.matching import find_similar_words
from muisti.remember.index_rows import project_memory
from tests.contract.making import SHARED_SUITE, add, filed, find, find_ids, ident, remove
from tests.tiers import sample
from tests.unit.making import NOON

NAUGHTY = next(
    (
        path
        for parent in Path(__file__).parents
        if (path := parent / "shared" / "data" / "blns.json").is_file()
    ),
    None,
)
SYNTAX = [
    '"', '""', '"unclosed', "AND", "OR NOT", "a AND", "NEAR(a b)", "a*", "*", "^a", "a:b", "title:x", "(", ")", "((a)", "-a", "+", "{a b}:c",
    "'", "';--", "\\", "a\0b", "\0", "a\nb", "rank:", "word_index", "-", "--", ":-)", "%", "_", "[]", "a NOT b", "\ufeff", "\u202e", "🎉",
]  # fmt: skip


class WordsContract:
    """Subclasses give a fixture `index`: an open, empty index."""

    def test_words_are_found_in_text_title_keywords_files_and_summary(
        self, index: SearchIndex
    ) -> None:
        add(
            index,
            filed(1, "the body says apples"),
            filed(2, "x", title="About apples"),
            filed(3, "x y", keywords=("apples",)),
            filed(4, "x y z", summary="of apples"),
            filed(5, "w", files=("src/apples.py",)),
            filed(6, "only pears"),
        )
        assert sorted(memory_id[-1] for memory_id in find_ids(index, "Apple")) == list("12345")

    def test_the_index_is_in_step_with_inserts_updates_and_deletes(
        self, index: SearchIndex
    ) -> None:
        memory = filed(1, "first version about zebras")
        add(index, memory)
        assert find_ids(index, "zebras") == [memory.id]
        add(index, filed(1, "second version about lions"))
        assert find_ids(index, "zebras") == []
        assert find_ids(index, "lions") == [memory.id]
        assert index.frequencies(["zebra", "lion"]).counts == {"lion": 1}
        remove(index, 1)
        assert find_ids(index, "lions") == []
        assert index.frequencies(["lion"]).documents == 0
        assert find_similar_words(index, "lions", 5) == []

    @settings(max_examples=20, suppress_health_check=SHARED_SUITE)
    @given(
        steps=st.lists(
            st.tuples(st.integers(1, 4), st.sampled_from(["apple fig", "fig", "pear 记忆", ""])),
            max_size=10,
        )
    )
    def test_any_changes_leave_it_in_step(
        self, index: SearchIndex, steps: list[tuple[int, str]]
    ) -> None:
        alive: dict[int, str] = {}
        remove(index, *range(1, 5))
        for number, content in steps:
            if content:
                add(index, filed(number, content))
                alive[number] = content
            else:
                remove(index, number)
                alive.pop(number, None)
        for word in ("apple", "fig", "pear", "记忆"):
            expected = sorted(ident(number) for number, content in alive.items() if word in content)
            assert sorted(find_ids(index, word)) == expected
        assert index.frequencies([]).documents == len(alive)

    @pytest.mark.parametrize(
        "where",
        [
            Filter(project="small"), Filter(kinds=("decision",)), Filter(sectors=("emotional",)), Filter(tiers=("global",)),
            Filter(session="s"), Filter(keywords=("k",)), Filter(files=("f",)), Filter(min_salience=0.9), Filter(ids=(ident(1000),)),
            Filter(trusted=False),
        ],
        ids=repr,
    )  # fmt: skip
    def test_filters_work_inside_so_that_results_come_back_when_they_exist(
        self, index: SearchIndex, where: Filter
    ) -> None:
        crowd = [
            filed(n, "apple apple apple", project="crowd", salience=0.1) for n in range(1, 200)
        ]
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
            trusted=False,
        )
        add(index, *crowd, rare)
        assert find_ids(index, "apple", where, limit=1) == [rare.id]
        assert len(find_ids(index, "apple", Filter(project="crowd"), limit=50)) == 50

    def test_the_deleted_are_not_found_unless_asked_for(self, index: SearchIndex) -> None:
        add(index, filed(1, "apple", deleted_at=NOON))
        assert find_ids(index, "apple") == []
        assert len(find_ids(index, "apple", Filter(include_deleted=True))) == 1

    def test_better_matches_come_first(self, index: SearchIndex) -> None:
        add(
            index,
            filed(1, "apple pear"),
            filed(
                2,
                "apple and a great many other words that have nothing to do with it at all, on and on they go",
            ),
            filed(3, "pear"),
            *(filed(n, f"filler number {n}") for n in range(10, 30)),
        )
        hits = find(index, "apple pear")
        assert hits[0].memory_id == ident(1)
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
        assert all(0 < hit.score <= 1 for hit in hits)
        assert find_ids(index, "apple") == [ident(1), ident(2)]

    def test_a_title_of_its_own_weighs_more_than_the_body(self, index: SearchIndex) -> None:
        filler = [filed(n, f"filler number {n}") for n in range(10, 30)]
        add(
            index,
            filed(1, "one word: apple"),
            filed(2, "one word: something", title="The apple"),
            *filler,
        )
        assert find_ids(index, "apple")[0] == ident(2)

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
    def test_languages_identifiers_and_slips_of_the_pen(
        self, index: SearchIndex, content: str, queries: list[str]
    ) -> None:
        add(
            index,
            filed(1, content),
            filed(2, "Something else entirely"),
            filed(3, "Другое 别的 その他"),
        )
        for query in queries:
            assert find_ids(index, query)[:1] == [ident(1)], query

    def test_stand_ins_are_told_apart(self, index: SearchIndex) -> None:
        add(index, filed(1, "pankki"), filed(2, "osuuspankki"))
        assert {hit.memory_id[-1] for hit in find(index, "pankki")} == {"1", "2"}
        assert find_similar_words(index, "pankki", 5) == ["osuuspankki"]

    def test_queries_without_words_look_for_their_characters(self, index: SearchIndex) -> None:
        add(index, filed(1, "smile :-) please"), filed(2, "none"), filed(3, "[100%] sure"))
        assert find_ids(index, ":-)") == [ident(1)]
        assert find_ids(index, "%]") == [ident(3)]
        assert find_ids(index, "':-)") == []
        assert find_ids(index, ":-)", Filter(kinds=("fact",))) == []

    def test_the_words_of_one_memory(self, index: SearchIndex) -> None:
        add(index, filed(1, "apple apple pear", keywords=("fig",)))
        add(index, filed(2, "only pears", title="Fruit"))
        assert index.get_words([ident(1), "none", ident(2)]) == {
            ident(1): Words("", "fig", "appl appl pear"),
            ident(2): Words("fruit", "", "onli pear"),
        }
        assert index.get_words([]) == {}

    def test_words_that_contain_another(self, index: SearchIndex) -> None:
        add(index, filed(1, "bank bankbook riverbank bankbook"), filed(2, "riverbank overbanking"))
        assert index.find_words_containing("bank", 5) == ["bankbook", "overbank", "riverbank"]
        assert index.find_words_containing("bank", 1) == ["bankbook"]
        assert index.find_words_containing("zzz", 5) == []

    @pytest.mark.parametrize(
        ("word", "near"),
        [
            ("postgresql", "postgreslq"),  # two letters swapped
            ("postgresql", "postgresq"),  # one left out
            ("postgresql", "postgresqll"),  # one added
            ("postgresql", "xostgresql"),  # the first one changed
            ("postgresql", "postgrexql"),  # one in the middle changed
            ("replicate", "replicator"),  # another form
        ],
    )
    def test_words_near_another_are_among_the_candidates(
        self, index: SearchIndex, word: str, near: str
    ) -> None:
        """A superset of other forms and misspellings; `muisti.recall.matching` decides."""
        row = project_memory(filed(1, "x"))
        index.apply(
            IndexChanges(memories=[row._replace(words=Words(body=f"{near} something else"))])
        )
        assert near in index.find_similar_words(word)
        assert "else" not in index.find_similar_words(word)

    def test_words_are_counted_by_field(self, index: SearchIndex) -> None:
        add(index, filed(1, "apple apple pear", keywords=("apple",)), filed(2, "pear", title="Fig"))
        ids = [ident(2), "none", ident(1)]
        lengths, bodies, counts = index.count_words(ids, ["appl", "pear", "fig", "plum"])
        assert list(lengths) == [2, -1, 4]
        assert list(bodies) == [1, -1, 3]
        assert {word: places for word, places in counts.items() if places} == {
            "appl": {2: 4.0},
            "pear": {0: 1.0, 2: 1.0},
            "fig": {0: 3.0},
        }
        assert index.count_words([], ["appl"]).lengths == []

    def test_a_match_tells_the_opening(self, index: SearchIndex) -> None:
        content = "apples " + "and more " * 20
        add(index, filed(1, content, title="Fruit", keywords=("fig",)))
        (match,) = index.match([Term("appl")], Filter(), 5)
        assert (match.memory_id, match.opening) == (ident(1), content[:80])

    def test_bm25_is_as_fts5_counts_it(self, index: SearchIndex) -> None:
        """k1 1.2, b 0.75; title, labels and body weigh 3, 2 and 1; the length is that of all three
        together.
        """
        add(
            index,
            filed(1, "apple pear"),
            filed(2, "some thing", title="Apple", keywords=("fig",)),
            filed(3, "a b c d e f g"),
        )
        add(index, *(filed(n, "nothing here") for n in range(4, 9)))
        lengths = {
            id_: sum(len(one.split()) for one in row)
            for id_, row in index.get_words([ident(n) for n in range(1, 9)]).items()
        }
        average = sum(lengths.values()) / 8
        idf = math.log((8 - 2 + 0.5) / (2 + 0.5))
        for number, times in ((1, 1.0), (2, 3.0)):
            tempered = times + 1.2 * (1 - 0.75 + 0.75 * lengths[ident(number)] / average)
            (match,) = index.match([Term("appl")], Filter(ids=(ident(number),)), 5)
            assert match.bm25 == pytest.approx(idf * times * 2.2 / tempered, rel=1e-9)

    def test_words_that_are_everywhere_count_for_next_to_nothing(self, index: SearchIndex) -> None:
        add(index, *(filed(n, "apple") for n in range(1, 4)))
        assert all(0 < match.bm25 < 1e-5 for match in index.match([Term("appl")], Filter(), 5))

    def test_a_prefix_and_alternatives_match_as_terms_of_their_own(
        self, index: SearchIndex
    ) -> None:
        add(
            index,
            filed(1, "东京"),
            filed(2, "apple"),
            filed(3, "pear"),
            *(filed(n, "filler") for n in range(4, 9)),
        )
        assert [
            match.memory_id for match in index.match([Term("东", prefix=True)], Filter(), 5)
        ] == [ident(1)]
        assert index.match([Term("东")], Filter(), 5) == []
        found = index.match([Term("none", alternatives=("appl", "pear"))], Filter(), 5)
        assert [match.memory_id for match in found] == [ident(2), ident(3)]

    def test_words_that_are_not_sought_find_nothing_by_themselves(self, index: SearchIndex) -> None:
        add(index, filed(1, "apple pear"), filed(2, "pear"))
        found = index.match([Term("appl"), Term("pear", sought=False)], Filter(), 5)
        assert [match.memory_id for match in found] == [ident(1)]
        assert len(index.match([Term("pear", sought=False)], Filter(), 5)) == 2

    def test_frequencies(self, index: SearchIndex) -> None:
        add(index, filed(1, "apple apple"), filed(2, "apple pear"))
        found = index.frequencies(["appl", "pear", "none"])
        assert (found.documents, dict(found.counts)) == (2, {"appl": 2, "pear": 1})

    @pytest.mark.parametrize("query", SYNTAX, ids=repr)
    def test_nothing_that_a_person_types_is_syntax(self, index: SearchIndex, query: str) -> None:
        add(index, filed(1, "a b title x near"))
        find(index, query)
        raw = Term(query, 1.0, (query, f"{query}x"), prefix=True)
        index.match([raw], Filter(), 5)
        index.match_literal(query, Filter(), 5)
        find_similar_words(index, query * 2, 5)

    @settings(max_examples=100, suppress_health_check=SHARED_SUITE)
    @given(query=st.text(st.characters(exclude_categories=["Cs"]), max_size=30))
    def test_any_text_is_a_safe_query_and_finds_the_text_itself(
        self, index: SearchIndex, query: str
    ) -> None:
        if query.strip() and "\0" not in query:
            add(index, filed(1, query))
            assert ident(1) in find_ids(index, query)

    @pytest.mark.skipif(
        NAUGHTY is None,
        reason="needs the Big List of Naughty Strings at shared/data/blns.json beside the project",
    )
    def test_every_naughty_string_is_a_safe_query_and_is_found(self, index: SearchIndex) -> None:
        assert NAUGHTY is not None
        naughty = [text for text in json.loads(NAUGHTY.read_text("utf-8")) if text.strip()]
        assert len(naughty) > 400
        naughty = sample(naughty, 80)
        add(index, *(filed(n, text) for n, text in enumerate(naughty)))
        missed = [
            text
            for n, text in enumerate(naughty)
            if ident(n) not in find_ids(index, text, limit=len(naughty))
        ]
        assert missed == []

    def test_an_endless_query(self, index: SearchIndex) -> None:
        add(index, filed(1, "needle"))
        endless = "".join(
            chr(0x4E00 + n % 20_000) + chr(0x4E00 + n // 20_000) for n in range(50_000)
        )
        assert find_ids(index, endless) == []
        assert find_ids(index, "needle " + " ".join(f"w{n}" for n in range(20_000))) == [ident(1)]
