"""What every search index must do: read memories and sessions."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import get_args

import pytest

from muisti.errors import MuistiError
from muisti.model import Event, Filter, Link, LinkType, Sector, Tier
from muisti.ports import Order, SearchIndex
from tests.contract.making import add, filed, happen, ident, ids
from tests.unit.making import NOON, faded

DAY = timedelta(days=1)
EVERY = Filter(all_sessions=True)
ALL = Filter(all_sessions=True, include_deleted=True)
STORE = [
    filed(
        1,
        "plain",
        created_at=NOON - 5 * DAY,
        keywords=("SQL", "db"),
        files=("src/A.py",),
        salience=0.2,
    ),
    filed(
        2,
        "of a project",
        created_at=NOON - 4 * DAY,
        project="app",
        kind="decision",
        keywords=("db",),
        salience=0.9,
    ),
    filed(
        3,
        "of a session",
        created_at=NOON - 3 * DAY,
        project="app",
        tier=Tier.SESSION,
        session_id="s",
        salience=0.5,
    ),
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
        trusted=False,
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
        conversation="cli_main",
    ),
]


class ReaderContract:
    """Subclasses give a fixture `index`: an open, empty index."""

    @pytest.fixture
    def stocked(self, index: SearchIndex) -> SearchIndex:
        add(index, *STORE)
        return index

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
            (Filter(conversation="cli_main"), "6"),
            (Filter(conversation="cli_main", project="app"), ""),
            (Filter(conversation="cli"), ""),
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
            (Filter(trusted=False), "4"),
            (Filter(trusted=True), "126"),
            (Filter(trusted=False, include_deleted=True), "4"),
            (Filter(trusted=False, user="anna"), ""),
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
    def test_filters(self, stocked: SearchIndex, where: Filter, expected: str) -> None:
        found = stocked.select(where, order="created_at", limit=None)
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
    def test_orders_and_pages(self, index: SearchIndex, order: Order, expected: str) -> None:
        saliences = (0.2, 0.3, 0.7, 0.5, 0.8, 0.9)
        add(
            index,
            *(
                filed(n, f"text {n}", created_at=NOON + n * DAY, salience=s)
                for n, s in enumerate(saliences, start=1)
            ),
        )
        happen(index, Event("touched", NOON + 9 * DAY, (STORE[0].id,)))
        found = ids(index.select(ALL, order=order, limit=None))
        assert "".join(memory_id[-1] for memory_id in found) == expected
        assert ids(index.select(ALL, order=order, limit=2, offset=1)) == found[1:3]
        assert ids(index.select(ALL, order=order, limit=0)) == []
        assert ids(index.select(ALL, order=order, limit=5, offset=9)) == []

    def test_every_order_is_known(self, stocked: SearchIndex) -> None:
        for order in get_args(Order):
            assert len(stocked.select(ALL, order=order, limit=None)) == len(STORE)

    def test_get_and_many(self, stocked: SearchIndex) -> None:
        assert stocked.get(STORE[0].id) == faded(STORE[0])
        assert stocked.get(STORE[4].id) is None
        assert stocked.get(STORE[4].id, include_deleted=True) == faded(STORE[4])
        assert stocked.get("none") is None
        wanted = [STORE[3].id, "none", STORE[4].id, STORE[0].id]
        assert ids(stocked.get_many(wanted)) == [STORE[3].id, STORE[0].id]
        assert stocked.get_many([]) == []

    @pytest.mark.parametrize("odd", ["", "'", '"; DROP TABLE memories; --', "\0", "%", "ä" * 5000])
    def test_odd_ids_are_just_not_there(self, stocked: SearchIndex, odd: str) -> None:
        assert stocked.get(odd) is None
        assert stocked.get_many([odd]) == []
        assert stocked.session(odd) is None

    def test_what_is_no_text_is_refused_in_our_words(self, stocked: SearchIndex) -> None:
        with pytest.raises(MuistiError, match="surrogate"):
            stocked.get("\ud800")

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
    def test_by_keywords(
        self, stocked: SearchIndex, keywords: list[str], match_all: bool, expected: set[int]
    ) -> None:
        found = stocked.find_by_keywords(keywords, match_all=match_all, where=Filter(), limit=10)
        assert {int(memory.id[-1]) for memory in found} == expected

    def test_most_keywords_first_and_limits_after_filters(self, stocked: SearchIndex) -> None:
        found = stocked.find_by_keywords(["sql", "db"], match_all=False, where=Filter(), limit=1)
        assert ids(found) == [STORE[0].id]
        found = stocked.find_by_keywords(
            ["sql", "db"], match_all=False, where=Filter(tiers=("global",)), limit=1
        )
        assert ids(found) == [STORE[3].id]

    def test_tags_are_keywords(self, index: SearchIndex) -> None:
        tagged = filed(1, "Deploy on #Friday", keywords=("friday", "weekly"))
        add(index, tagged, filed(2, "Rest on #Sunday"))
        assert tagged.hashtags == ("Friday",)
        assert ids(index.select(Filter(keywords=("friday",)), order="created_at", limit=None)) == [
            ident(1)
        ]
        found = index.find_by_keywords(["SUNDAY"], match_all=True, where=Filter(), limit=5)
        assert [(one.id, one.keywords, one.hashtags) for one in found] == [
            (ident(2), (), ("Sunday",))
        ]
        words = index.get_words([ident(1), ident(2)])
        assert words[ident(1)].labels.split().count("friday") == 1
        assert words[ident(2)].labels == "sunday"

    @pytest.mark.parametrize(
        ("changes", "is_same"),
        [
            ({}, True),
            ({"content": "  of a\nproject "}, True),
            ({"content": "of another project"}, False),
            ({"project": "other"}, False),
            ({"tier": Tier.GLOBAL}, False),
            ({"session_id": "another"}, True),
        ],
    )
    def test_same_content(
        self, stocked: SearchIndex, changes: dict[str, object], is_same: bool
    ) -> None:
        fields = {"content": "of a project", "project": "app", **changes}
        found = stocked.find_same_content(filed(99, str(fields.pop("content")), **fields))
        assert (found is not None and found.id == STORE[1].id) is is_same

    def test_deleted_and_outdated_memories_are_no_duplicates_and_sessions_have_only_their_own(
        self, stocked: SearchIndex
    ) -> None:
        assert stocked.find_same_content(filed(99, "in the trash")) is None
        assert stocked.find_same_content(filed(99, "true for a while")) is None
        assert stocked.find_same_content(replace(STORE[2], id="x", session_id="t")) is None
        assert stocked.find_same_content(replace(STORE[2], id="x")) is not None

    def test_around(self, index: SearchIndex) -> None:
        add(
            index,
            *(filed(n, f"text {n}", created_at=NOON + n * DAY) for n in range(1, 8)),
            filed(9, "elsewhere", project="app"),
        )
        middle = index.get(ident(4))
        assert middle is not None
        assert [m.id[-1] for m in index.get_neighbours(middle, 2, 1, EVERY)] == ["2", "3", "4", "5"]
        assert [m.id[-1] for m in index.get_neighbours(middle, 0, 0, EVERY)] == ["4"]
        assert [m.id[-1] for m in index.get_neighbours(middle, 99, 99, EVERY)] == list("1234567")

    def test_neighbours_of_one_moment_appear_once(self, index: SearchIndex) -> None:
        add(index, *(filed(n, f"text {n}") for n in range(1, 6)))
        middle = index.get(ident(3))
        assert middle is not None
        assert [m.id[-1] for m in index.get_neighbours(middle, 5, 5, EVERY)] == list("12345")

    def test_candidates_are_those_asked_for_and_their_neighbours_in_the_session(
        self, index: SearchIndex
    ) -> None:
        add(
            index,
            *(
                filed(n, f"text {n}", created_at=NOON + n * DAY, session_id="s", importance=n / 10)
                for n in range(1, 8)
            ),
        )
        add(
            index,
            filed(8, "y" * 200, valid_from=NOON, valid_until=NOON + DAY),
            filed(9, "gone", session_id="s", deleted_at=NOON),
        )
        found = index.candidates([ident(4), ident(8), "none"], Filter(ids=(ident(4), ident(3))))
        assert sorted(one[-1] for one in found) == list("234568")
        middle = found[ident(4)]
        assert (middle.before, middle.after) == ((ident(3), ident(2)), (ident(5), ident(6)))
        assert (middle.created_at, middle.importance, middle.session_id) == (
            (NOON + 4 * DAY).timestamp(),
            0.4,
            "s",
        )
        assert (middle.opening, middle.content_hash, middle.origin) == (
            "text 4",
            filed(4, "text 4").content_hash,
            "memory",
        )
        assert {one[-1] for one, candidate in found.items() if candidate.allowed} == {"3", "4"}
        assert found[ident(6)].after == (ident(7),)
        lone = found[ident(8)]
        assert (lone.before, lone.after, lone.opening, lone.session_id) == ((), (), "y" * 80, None)
        assert (lone.valid_from, lone.valid_until) == (NOON.timestamp(), (NOON + DAY).timestamp())

    @pytest.mark.parametrize(
        ("where", "expected"),
        [
            (Filter(as_of=NOON), "2"),
            (Filter(as_of=NOON - 3 * DAY), "1"),
            (Filter(as_of=NOON, known_at=NOON - 2 * DAY), "1"),
            (Filter(as_of=NOON, known_at=NOON), "2"),
            (Filter(known_at=NOON - 2 * DAY), "1"),
            (Filter(known_at=NOON - 9 * DAY), ""),
        ],
        ids=repr,
    )
    def test_what_was_true_and_what_was_known(
        self, index: SearchIndex, where: Filter, expected: str
    ) -> None:
        """The second took the place of the first a day ago."""
        link = Link(
            source=ident(2), type=LinkType.SUPERSEDES, target=ident(1), created_at=NOON - DAY
        )
        add(
            index,
            filed(1, "old", created_at=NOON - 5 * DAY),
            filed(2, "new", created_at=NOON - DAY, links=(link,)),
        )
        found = index.select(where, order="created_at", limit=None)
        assert "".join(memory.id[-1] for memory in found) == expected

    def test_sessions_latest_first(self, index: SearchIndex) -> None:
        for n, project in enumerate(("app", "", "app")):
            happen(
                index, Event("session_started", NOON + n * DAY, (), f"s{n}", {"project": project})
            )
        assert [session.id for session in index.sessions(None, 10)] == ["s2", "s1", "s0"]
        assert [session.id for session in index.sessions("app", 10)] == ["s2", "s0"]
        assert [session.id for session in index.sessions("", 10)] == ["s1"]
        assert len(index.sessions(None, 1)) == 1

    def test_active_sessions_are_those_that_nobody_ended(self, index: SearchIndex) -> None:
        for n, (project, user) in enumerate((("app", ""), ("", "anna"), ("app", "anna"), ("", ""))):
            data = {"project": project, "user": user}
            happen(index, Event("session_started", NOON - n * DAY, (), f"s{n}", data))
        happen(index, Event("session_ended", NOON, (), "s3"))

        def find(project: str | None = None, user: str | None = None) -> str:
            return " ".join(session.id for session in index.active_sessions(project, user))

        assert find() == "s2 s1 s0"
        assert (find("app"), find(""), find("other")) == ("s2 s0", "s1", "")
        assert (find(user="anna"), find("app", "anna"), find("", "")) == ("s2 s1", "s2", "")

    def test_the_last_use_of_a_session_is_stored(self, index: SearchIndex) -> None:
        happen(index, Event("session_started", NOON, (), "s"))
        happen(
            index,
            Event("used", NOON + DAY, (), "s"),
            Event("session_ended", NOON + 2 * DAY, (), "s"),
        )
        session = index.session("s")
        assert session is not None
        assert (session.started_at, session.last_used) == (NOON, NOON + DAY)

    def test_stats(self, stocked: SearchIndex) -> None:
        stats = stocked.stats()
        assert (stats.total_count, stats.deleted_count, stats.session_count) == (5, 1, 0)
        assert dict(stats.by_kind) == {"note": 3, "decision": 1, "fact": 1}
        assert dict(stats.by_project) == {"": 2, "app": 2, "other": 1}
        assert dict(stats.by_sector) == {"semantic": 4, "emotional": 1}
        assert stats.avg_salience == pytest.approx(
            sum(faded(STORE[n]).salience for n in (0, 1, 2, 3, 5)) / 5
        )
        assert (stats.oldest_memory, stats.newest_memory) == (NOON - 5 * DAY, NOON - DAY)
        assert stats.index_size_bytes > 0

    def test_stats_of_nothing(self, index: SearchIndex) -> None:
        stats = index.stats()
        assert (stats.total_count, stats.avg_salience, stats.oldest_memory) == (0, 0.0, None)

    def test_matching_ids(self, stocked: SearchIndex) -> None:
        assert stocked.find_ids("000000000001", 10) == [STORE[0].id]
        assert len(stocked.find_ids("0195", 10)) == len(STORE)
        assert len(stocked.find_ids("0195", 2)) == 2
        assert stocked.find_ids("zzz", 10) == []
        assert stocked.find_ids("%", 10) == []
