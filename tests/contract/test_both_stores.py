"""The vault of files, the one in memory and the one in PostgreSQL answer every question the same:
ids, scores and order, after any operations.
"""

# mypy: disable-error-code="misc"

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from muisti import Muisti, bootstrap
from muisti.errors import MuistiError
from muisti.model import Memory, SearchResults, Stats, VerifyReport
from muisti.remember import identity
from tests.conftest import FakeClock
from tests.postgres.server import make_location
from tests.tiers import amount

TEXTS = [
    "We chose PostgreSQL for its JSON support.",
    "We choose PostgreSQL for its JSON support!",
    "The authentication module is located in src/auth/index.ts",
    "The auth module is in src/auth/index.ts",
    "The deadline is March 15",
    "The deadline is March 16",
    "I prefer tabs, and I always have.",
    "Fixed the login bug: the token had expired.",
    "# Release\n\nThe server is restarted at night.\n\n## How\n\nBy cron, with `make release`.",
    "Auth-moduuli sijaitsee kansiossa, ja Osuuspankkikortti on hukassa",
    "我们决定使用数据库",
    "Решение о базах данных принято",
    "party 🎉 time :-)",
]
QUERIES = [
    "postgres json",
    "postgresqll",
    "auth module",
    "deadline in march",
    "pankki",
    "数据",
    "базы данных",
    ":-)",
    "server token",
]
KINDS = ["note", "decision", "context", "summary", "fact"]
CHATS = ["telegram_1", "irc_2"]
SAME = 1e-9

Operation = tuple[Any, ...]
NTH = st.integers(0, 5)
TEXT = st.sampled_from(TEXTS)
PROJECT = st.sampled_from(["", "app"])
OPERATIONS = st.one_of(
    st.tuples(
        st.just("save"),
        TEXT,
        PROJECT,
        st.sampled_from(KINDS),
        st.sampled_from(["project", "global", "session"]),
    ),
    st.tuples(st.just("save"), TEXT, PROJECT, st.sampled_from(KINDS), st.just("project")),
    st.tuples(st.just("update"), NTH, TEXT),
    st.tuples(st.just("label"), NTH, st.sampled_from(["sql", "auth", "SQL"])),
    st.tuples(
        st.sampled_from(
            [
                "delete",
                "erase",
                "restore",
                "touch",
                "reinforce",
                "deemphasize",
                "unmerge",
                "pin",
                "distrust",
                "confirm",
            ]
        ),
        NTH,
    ),
    st.tuples(st.sampled_from(["link", "supersede", "suggest", "settle", "reject"]), NTH, NTH),
    st.tuples(st.just("replace"), NTH, TEXT),
    st.tuples(st.just("date"), NTH, st.one_of(st.none(), st.integers(-30, 30))),
    st.tuples(st.just("say"), st.sampled_from(CHATS), TEXT),
    st.tuples(st.just("break"), st.sampled_from(CHATS)),
    st.tuples(
        st.just("core"),
        st.sampled_from(["user", "agent"]),
        st.sampled_from(["name", "tone"]),
        st.sampled_from(["", "x", "y"]),
    ),
    st.tuples(st.sampled_from(["start", "end"]), st.sampled_from(["s", "t"])),
    st.tuples(st.sampled_from(["search", "evict", "cleanup", "decay", "reindex"])),
    st.tuples(st.just("wait"), st.sampled_from([1, 30, 24 * 40])),
)


OTHER_STORES = pytest.mark.parametrize("other", ["memory", "postgres"])


class Both:
    """The same operations on a vault of files and on another store, with the same ids and the same
    time.
    """

    def __init__(
        self, folder: Path, other: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        second = ":memory:" if other == "memory" else make_location()
        self._monkeypatch = monkeypatch
        self.clocks = FakeClock(), FakeClock()
        self.vaults = tuple(
            bootstrap.open(location, clock=clock, settings=options)  # type: ignore[call-overload]
            for location, clock in zip((folder, second), self.clocks, strict=True)
        )
        self.ids: list[str] = []
        self.steps = 0

    def close(self) -> None:
        for vault in self.vaults:
            vault.close()

    def run(self, operation: Operation) -> None:
        """Do the same in both, and compare what they answer or refuse."""
        self.steps += 1
        answers = []
        for vault, clock in zip(self.vaults, self.clocks, strict=True):
            source = random.Random(self.steps)
            self._monkeypatch.setattr(identity, "os", SimpleNamespace(urandom=source.randbytes))
            self._monkeypatch.setattr(identity, "_clock", identity._Clock())
            clock.forward(minutes=1)
            try:
                answers.append(_do(vault, clock, self.ids, operation))
            except MuistiError as error:
                answers.append(type(error))
            vault.flush()
        assert _plain(answers[0]) == _plain(answers[1]), operation
        if isinstance(answers[0], Memory) and answers[0].id not in self.ids:
            self.ids.append(answers[0].id)

    def ask(self, question: Callable[[Muisti], Any], rounding: float = SAME) -> None:
        """Compare what both answer."""
        answers = []
        for vault in self.vaults:
            try:
                answers.append(_plain(question(vault)))
            except MuistiError as error:
                answers.append(type(error))
        _check_equal(answers[0], answers[1], rounding)


def _do(
    vault: Muisti, clock: FakeClock, ids: Sequence[str], operation: Operation
) -> Any:  # shape: a table
    name, *rest = operation
    if rest and isinstance(rest[0], int) and name != "wait":
        if not ids:
            return None
        rest[0] = ids[rest[0] % len(ids)]
    match name:
        case "save":
            content, project, kind, tier = rest
            return vault.save(
                content,
                project=project,
                kind=kind,
                tier=tier,
                session_id="s" if tier == "session" else None,
            )
        case "update":
            return vault.update(rest[0], content=rest[1], by_session="s")
        case "label":
            return vault.update(rest[0], keywords=(rest[1],), files=("src/auth",))
        case "date":
            start = None if rest[1] is None else FakeClock().now() + timedelta(days=rest[1])
            return vault.update(rest[0], valid_from=start)
        case "pin":
            return vault.update(rest[0], pinned=True)
        case "distrust":
            return vault.update(rest[0], trusted=False)
        case "delete" | "erase":
            return vault.delete(rest[0], hard=name == "erase")
        case "restore" | "touch" | "reinforce" | "deemphasize" | "unmerge" | "confirm":
            return getattr(vault, name)(rest[0])
        case "link":
            return vault.link(rest[0], ids[rest[1] % len(ids)], "BUILDS_ON")
        case "suggest":
            other = ids[rest[1] % len(ids)]
            how = {"confidence": 0.5, "extracted_by": "system"}
            return vault.link(rest[0], other, "CONTRADICTS", **how)
        case "settle":
            return vault.confirm_link(rest[0], ids[rest[1] % len(ids)], "CONTRADICTS")
        case "reject":
            return vault.reject_link(rest[0], ids[rest[1] % len(ids)], "CONTRADICTS")
        case "replace":
            return vault.replace(rest[0], rest[1])
        case "supersede":
            return vault.supersede(rest[0], ids[rest[1] % len(ids)])
        case "say":
            return vault.append_message(rest[0], "user", rest[1])
        case "break":
            return vault.session_break(rest[0])
        case "core":
            section, key, value = rest
            return (
                vault.core_update(section, key, value) if value else vault.core_delete(section, key)
            )
        case "start":
            return vault.start_session("app", session_id=rest[0])
        case "end":
            return vault.end_session(rest[0], "done", tool_calls=3)
        case "search":
            vault.search("auth module", session_id="s")
            return vault.flush()
        case "evict":
            return len(vault.evict(1, to=0.0))
        case "cleanup":
            return vault.cleanup(0.5)
        case "decay":
            return vault.decay_salience()
        case "reindex":
            return vault.reindex().paused
        case _:
            clock.forward(hours=rest[0])
            return None


def _plain(value: Any) -> Any:
    """The value without what must differ: paths, sizes, and how many files there are."""
    if isinstance(value, Memory):
        value = replace(value, file_path=None)
    elif isinstance(value, Stats):
        value = replace(value, index_size_bytes=0, database=None)  # only PostgreSQL has one
    elif isinstance(value, VerifyReport):
        return value.ok, value.problems
    if isinstance(value, SearchResults):
        return value.mode, value.degraded, [_plain(one) for one in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: _plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value


def _check_equal(first: Any, second: Any, rounding: float) -> None:
    """Equal, numbers up to the rounding."""
    if isinstance(first, float) and isinstance(second, float):
        assert first == pytest.approx(second, rel=rounding, abs=rounding)
    elif isinstance(first, dict) and isinstance(second, dict):
        assert first.keys() == second.keys()
        for key in first:
            _check_equal(first[key], second[key], rounding)
    elif isinstance(first, list | tuple) and isinstance(second, list | tuple):
        assert len(first) == len(second), (first, second)
        for one, other in zip(first, second, strict=True):
            _check_equal(one, other, rounding)
    else:
        assert first == second


def questions(  # shape: a table of calls
    ids: Sequence[str], now: datetime
) -> Iterator[Callable[[Muisti], Any]]:
    """Every verb that reads."""
    for query in QUERIES:
        for options in (
            {},
            {"project": "app"},
            {"source": "message"},
            {"trusted": False},
            {"trusted": True},
            {"session_id": "s", "include_deleted": True},
        ):
            yield lambda vault, q=query, o=options: vault.search(q, record=False, **o)
        yield lambda vault, q=query: vault.search_compact(q, limit=3)
        yield lambda vault, q=query: vault.search_messages(q, conversation=CHATS[0])
    for order in (
        "created_at",
        "created_at_desc",
        "salience",
        "salience_asc",
        "last_accessed",
        "last_accessed_asc",
    ):
        yield lambda vault, o=order: vault.list(order_by=o, include_deleted=True, limit=50)
    for moment in (now, now - timedelta(days=20), now + timedelta(days=20)):
        yield lambda vault, at=moment: vault.list(as_of=at)
        yield lambda vault, at=moment: vault.list(known_at=at, as_of=now)
        yield lambda vault, at=moment: vault.list(since=at)
    for filters in (
        {"keywords": ("sql",)},
        {"min_salience": 0.5},
        {"kind": "decision"},
        {"tier": "session"},
        {"trusted": False},
        {"trusted": True},
        {"session": "s"},
    ):
        yield lambda vault, f=filters: vault.list(limit=50, **f)
    for filters in ({}, {"project": "app"}, {"kind": "fact"}, {"order_by": "importance"}):
        yield lambda vault, f=filters: vault.review(**f)
        yield lambda vault, f=filters: vault.review(limit=2, offset=1, **f)
    yield lambda vault: vault.count_review(project="app")
    for id_ in (*ids, "nobody"):
        for name in ("get", "links", "superseding", "graph", "timeline", "related"):
            yield lambda vault, i=id_, n=name: getattr(vault, n)(i)
        yield lambda vault, i=id_: _told(vault.history(i))
        yield lambda vault, i=id_: vault.get(i, include_deleted=True)
        yield lambda vault, i=id_: vault.explain("auth module postgres", i)
        yield lambda vault, i=id_: vault.find_ids(i[-8:])
    for session in ("s", "t", "nobody"):
        for name in (
            "get_session",
            "get_by_session",
            "get_session_context",
            "session_uses",
            "get_raw_session_content",
        ):
            yield lambda vault, s=session, n=name: getattr(vault, n)(s)
    for chat in CHATS:
        yield lambda vault, c=chat: vault.window(c)
        yield lambda vault, c=chat: vault.window(c, whole=True)
    for name in (
        "list_conversations",
        "core_get",
        "list_sessions",
        "list_trash",
        "list_archive",
        "count_archive",
        "get_stats",
        "list_document_sources",
        "list_documents",
        "problems",
    ):
        yield lambda vault, n=name: getattr(vault, n)()
    yield lambda vault: vault.verify(deep=True)
    yield lambda vault: vault.decay_salience(dry_run=True)
    yield lambda vault: vault.cleanup(0.9, dry_run=True)
    yield lambda vault: vault.word_frequencies(["postgresql", "auth", "march"])


def _told(history: Sequence[Any]) -> list[Any]:
    return [replace(one, what=str(one.what)) for one in history]


@OTHER_STORES
@settings(
    max_examples=amount(quick=2, all=20), deadline=None, suppress_health_check=list(HealthCheck)
)
@given(operations=st.lists(OPERATIONS, min_size=1, max_size=25))
def test_L4_every_read_verb_answers_the_same(
    tmp_path_factory: pytest.TempPathFactory, other: str, operations: list[Operation]
) -> None:
    options = {"embedder": "none", "record_recall": True, "sync_on_open": False}
    with pytest.MonkeyPatch.context() as monkeypatch:
        both = Both(tmp_path_factory.mktemp("both") / "vault", other, options, monkeypatch)
        try:
            for operation in operations:
                both.run(operation)
            for question in questions(both.ids, both.clocks[0].now()):
                both.ask(question)
        finally:
            both.close()


@OTHER_STORES
@settings(
    max_examples=amount(quick=3, all=8), deadline=None, suppress_health_check=list(HealthCheck)
)
@given(texts=st.lists(TEXT, min_size=1, max_size=13, unique=True), query=st.sampled_from(QUERIES))
def test_L4_hybrid_searches_find_the_same(
    tmp_path_factory: pytest.TempPathFactory, other: str, texts: list[str], query: str
) -> None:
    """SQLite and PostgreSQL keep vectors in two bytes a number: scores agree to four digits."""
    options = {"embedder": "hashing", "sync_on_open": False}
    with pytest.MonkeyPatch.context() as monkeypatch:
        both = Both(tmp_path_factory.mktemp("both") / "vault", other, options, monkeypatch)
        try:
            for text in texts:
                both.run(("save", text, "", "note", "project"))
            for mode in ("hybrid", "vector"):
                both.ask(
                    lambda vault, m=mode: [
                        (r.memory.id, r.score) for r in vault.search(query, mode=m, record=False)
                    ],
                    1e-3,
                )
        finally:
            both.close()
