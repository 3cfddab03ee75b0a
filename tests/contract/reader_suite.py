"""What every reader of memories must do."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import get_args

import pytest

from muisti.errors import MuistiError
from muisti.model import Event, Filter, Sector, Tier
from muisti.ports import Order
from tests.contract.making import Parts, filed, ids
from tests.unit.making import NOON, faded

DAY = timedelta(days=1)
ALL = Filter(all_sessions=True, include_deleted=True)
STORE = [
    filed(1, "plain", created_at=NOON - 5 * DAY, keywords=("SQL", "db"), files=("src/A.py",), salience=0.2),
    filed(2, "of a project", created_at=NOON - 4 * DAY, project="app", kind="decision", keywords=("db",), salience=0.9),
    filed(3, "of a session", created_at=NOON - 3 * DAY, project="app", tier=Tier.SESSION, session_id="s", salience=0.5),
    filed(
        4,
        "for all",
        created_at=NOON - 2 * DAY,
        project="other",
        tier=Tier.GLOBAL,
        sector=Sector.EMOTIONAL,
        keywords=("sql",),
        user="bo",
        agent="codex",
    ),
    filed(5, "in the trash", created_at=NOON - DAY, deleted_at=NOON),
    filed(
        6,
        "true for a while",
        created_at=NOON - DAY,
        valid_from=NOON - 10 * DAY,
        valid_until=NOON - 7 * DAY,
        kind="fact",
        user="anna",
    ),
]


class ReaderContract:
    """Subclasses give a fixture `parts`: an open, empty index."""

    @pytest.fixture
    def store(self, parts: Parts) -> Parts:
        parts.add(*STORE)
        return parts

    @pytest.mark.parametrize(
        ("where", "expected"),
        [
            (Filter(), "1246"),
            (Filter(all_sessions=True), "12346"),
            (Filter(include_deleted=True), "12456"),
            (ALL, "123456"),
            (Filter(project="app"), "24"),
            (Filter(project="app", session_id="s"), "234"),
            (Filter(project="app", unfiled=True), "1246"),
            (Filter(unfiled=True), "1246"),
            (Filter(project="app", session_id="t"), "24"),
            (Filter(project=""), "146"),
            (Filter(project="nowhere"), "4"),
            (Filter(session="s"), "3"),
            (Filter(kinds=("decision", "fact")), "26"),
            (Filter(sectors=("emotional",)), "4"),
            (Filter(tiers=("global",)), "4"),
            (Filter(user="anna"), "126"),
            (Filter(user="bo"), "124"),
            (Filter(user=""), "12"),
            (Filter(user="an"), "12"),
            (Filter(agent="codex"), "4"),
            (Filter(agent="codex", user="anna"), ""),
            (Filter(agent=""), "126"),
            (Filter(keywords=("sql",)), "14"),
            (Filter(keywords=("SQL", "DB")), "1"),
            (Filter(keywords=("sq",)), ""),
            (Filter(files=("src/a.py",)), "1"),
            (Filter(min_salience=0.9), "246"),
            (Filter(since=NOON - 4 * DAY), "246"),
            (Filter(until=NOON - 4 * DAY), "1"),
            (Filter(since=NOON - 4 * DAY, until=NOON - 2 * DAY), "2"),
            (Filter(as_of=NOON - 8 * DAY), "6"),
            (Filter(as_of=NOON - 7 * DAY), ""),
            (Filter(as_of=NOON), "124"),
            (Filter(ids=(STORE[0].id, STORE[4].id)), "1"),
            (Filter(kinds=("decision",), sectors=("emotional",)), ""),
        ],
        ids=repr,
    )
    def test_filters(self, store: Parts, where: Filter, expected: str) -> None:
        found = store.reader.select(where, order="created_at", limit=None)
        assert "".join(sorted(memory.id[-1] for memory in found)) == expected

    @pytest.mark.parametrize(
        ("order", "expected"),
        [
            ("created_at", "123456"),
            ("created_at_desc", "654321"),
            ("salience", "653421"),
            ("salience_asc", "124356"),
            ("last_accessed", "165432"),
            ("last_accessed_asc", "234561"),
        ],
    )
    def test_orders_and_pages(self, parts: Parts, order: Order, expected: str) -> None:
        saliences = (0.2, 0.3, 0.7, 0.5, 0.8, 0.9)
        parts.add(*(filed(n, f"text {n}", created_at=NOON + n * DAY, salience=s) for n, s in enumerate(saliences, start=1)))
        parts.happen(Event("touched", NOON + 9 * DAY, (STORE[0].id,)))
        found = ids(parts.reader.select(ALL, order=order, limit=None))
        assert "".join(memory_id[-1] for memory_id in found) == expected
        assert ids(parts.reader.select(ALL, order=order, limit=2, offset=1)) == found[1:3]
        assert ids(parts.reader.select(ALL, order=order, limit=0)) == []
        assert ids(parts.reader.select(ALL, order=order, limit=5, offset=9)) == []

    def test_every_order_is_known(self, store: Parts) -> None:
        for order in get_args(Order):
            assert len(store.reader.select(ALL, order=order, limit=None)) == len(STORE)

    def test_get_and_many(self, store: Parts) -> None:
        assert store.reader.get(STORE[0].id) == faded(STORE[0])
        assert store.reader.get(STORE[4].id) is None
        assert store.reader.get(STORE[4].id, include_deleted=True) == faded(STORE[4])
        assert store.reader.get("none") is None
        wanted = [STORE[3].id, "none", STORE[4].id, STORE[0].id]
        assert ids(store.reader.many(wanted)) == [STORE[3].id, STORE[0].id]
        assert store.reader.many([]) == []

    @pytest.mark.parametrize("odd", ["", "'", '"; DROP TABLE memories; --', "\0", "%", "ä" * 5000])
    def test_odd_ids_are_just_not_there(self, store: Parts, odd: str) -> None:
        assert store.reader.get(odd) is None
        assert store.reader.many([odd]) == []
        assert store.reader.session(odd) is None

    def test_what_is_no_text_is_refused_in_our_words(self, store: Parts) -> None:
        with pytest.raises(MuistiError, match="surrogate"):
            store.reader.get("\ud800")

    @pytest.mark.parametrize(
        ("keywords", "match_all", "expected"),
        [
            (["sql"], False, {1, 4}),
            (["SQL", "db"], False, {1, 2, 4}),
            (["sql", "DB"], True, {1}),
            (["sql", "SQL"], True, {1, 4}),
            (["none"], False, set()),
            (["sq"], False, set()),
        ],
    )
    def test_by_keywords(self, store: Parts, keywords: list[str], match_all: bool, expected: set[int]) -> None:
        found = store.reader.by_keywords(keywords, match_all=match_all, where=Filter(), limit=10)
        assert {int(memory.id[-1]) for memory in found} == expected

    def test_most_keywords_first_and_limits_after_filters(self, store: Parts) -> None:
        found = store.reader.by_keywords(["sql", "db"], match_all=False, where=Filter(), limit=1)
        assert ids(found) == [STORE[0].id]
        found = store.reader.by_keywords(["sql", "db"], match_all=False, where=Filter(tiers=("global",)), limit=1)
        assert ids(found) == [STORE[3].id]

    @pytest.mark.parametrize(
        ("changes", "is_twin"),
        [
            ({}, True),
            ({"content": "  of a\nproject "}, True),
            ({"content": "of another project"}, False),
            ({"project": "other"}, False),
            ({"tier": Tier.GLOBAL}, False),
            ({"session_id": "another"}, True),
        ],
    )
    def test_twins(self, store: Parts, changes: dict[str, object], is_twin: bool) -> None:
        fields = {"content": "of a project", "project": "app", **changes}
        twin = store.twins.twin(filed(99, str(fields.pop("content")), **fields))
        assert (twin is not None and twin.id == STORE[1].id) is is_twin

    def test_the_dead_and_the_outdated_have_no_twins_and_sessions_only_their_own(self, store: Parts) -> None:
        assert store.twins.twin(filed(99, "in the trash")) is None
        assert store.twins.twin(filed(99, "true for a while")) is None
        assert store.twins.twin(replace(STORE[2], id="x", session_id="t")) is None
        assert store.twins.twin(replace(STORE[2], id="x")) is not None

    def test_around(self, parts: Parts) -> None:
        parts.add(*(filed(n, f"text {n}", created_at=NOON + n * DAY) for n in range(1, 8)), filed(9, "elsewhere", project="app"))
        middle = parts.reader.get(filed(4, "x").id)
        assert middle is not None
        assert [m.id[-1] for m in parts.reader.around(middle, 2, 1)] == ["2", "3", "4", "5"]
        assert [m.id[-1] for m in parts.reader.around(middle, 0, 0)] == ["4"]
        assert [m.id[-1] for m in parts.reader.around(middle, 99, 99)] == list("1234567")

    def test_neighbours_of_one_moment_appear_once(self, parts: Parts) -> None:
        parts.add(*(filed(n, f"text {n}") for n in range(1, 6)))
        middle = parts.reader.get(filed(3, "x").id)
        assert middle is not None
        assert [m.id[-1] for m in parts.reader.around(middle, 5, 5)] == list("12345")

    def test_sessions_latest_first(self, parts: Parts) -> None:
        for n, project in enumerate(("app", "", "app")):
            parts.happen(Event("session_started", NOON + n * DAY, (), f"s{n}", {"project": project}))
        assert [session.id for session in parts.reader.sessions(None, 10)] == ["s2", "s1", "s0"]
        assert [session.id for session in parts.reader.sessions("app", 10)] == ["s2", "s0"]
        assert [session.id for session in parts.reader.sessions("", 10)] == ["s1"]
        assert len(parts.reader.sessions(None, 1)) == 1

    def test_stats(self, store: Parts) -> None:
        stats = store.census.stats()
        assert (stats.total_count, stats.deleted_count, stats.session_count) == (5, 1, 0)
        assert dict(stats.by_kind) == {"note": 3, "decision": 1, "fact": 1}
        assert dict(stats.by_project) == {"": 2, "app": 2, "other": 1}
        assert dict(stats.by_sector) == {"semantic": 4, "emotional": 1}
        assert stats.avg_salience == pytest.approx(sum(faded(STORE[n]).salience for n in (0, 1, 2, 3, 5)) / 5)
        assert (stats.oldest_memory, stats.newest_memory) == (NOON - 5 * DAY, NOON - DAY)
        assert stats.index_size_bytes > 0

    def test_stats_of_nothing(self, parts: Parts) -> None:
        stats = parts.census.stats()
        assert (stats.total_count, stats.avg_salience, stats.oldest_memory) == (0, 0.0, None)

    def test_matching_ids(self, store: Parts) -> None:
        assert store.reader.matching_ids("000000000001", 10) == [STORE[0].id]
        assert len(store.reader.matching_ids("0195", 10)) == len(STORE)
        assert len(store.reader.matching_ids("0195", 2)) == 2
        assert store.reader.matching_ids("zzz", 10) == []
        assert store.reader.matching_ids("%", 10) == []
