"""F3 · Conversations: lines of JSON in files that anybody may write, a window on the present talk,
and search.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import pytest

from muisti import InvalidMemory, InvalidRequest, MemoryService, Muisti
from muisti.model import ROLES, Message
from tests.conftest import FakeClock, Opener
from tests.faults.invariants import fingerprint

CHAT = "telegram_123456"
DAY = "2026-03-10"
SECRET = "AKIAIOSFODNN7EXAMPLQ"


@pytest.fixture(autouse=True)
def _no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUISTI_EMBEDDER", "none")


def day_file(vault: Path, day: str = DAY, chat: str = CHAT) -> Path:
    return vault / "conversations" / chat / f"{day}.jsonl"


def line(content: object, **fields: object) -> bytes:
    """A line as another program writes it."""
    given = {"ts": "2026-03-10T12:00:00Z", "role": "user", "content": content, **fields}
    return (
        json.dumps({key: value for key, value in given.items() if value is not ...}).encode()
        + b"\n"
    )


def write(vault: Path, *lines: bytes, day: str = DAY, chat: str = CHAT) -> Path:
    """Another program writes a file. It looks as if nobody had touched it for a while."""
    path = day_file(vault, day, chat)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(lines))
    settled(path)
    return path


def settled(path: Path) -> None:
    """Let the last change be older than a tick of the file system's clock, within which files are
    read once more anyway.
    """
    status = path.stat()
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns - 10**9))


def said(memory: Muisti, chat: str = CHAT, limit: int = 100) -> list[str]:
    return [message.content for message in memory.window(chat, limit)]


def found(memory: Muisti, query: str, **options: object) -> list[str]:
    """What holds the words; what was said right before and after is an answer too, but not asked
    for here.
    """
    hits = memory.search_messages(query, mode="keyword", **options)
    return [
        hit.memory.content for hit in hits if any(signal.name == "keyword" for signal in hit.why)
    ]


def check_rebuilt(memory: Muisti) -> None:
    """The index is what a rebuild makes of the files; files that have a problem may have it still."""
    told = {problem.path for problem in memory.verify(deep=True).problems}
    assert not [path for path in told if not path.startswith("conversations/")], memory.verify(
        deep=True
    ).problems


# -- The files


def test_F3_the_line_has_the_fields_of_spec_2(memory: Muisti, vault: Path) -> None:
    meta = {"model": "gpt", "tokens_in": 3, "tool": None}
    one = memory.append_message(
        CHAT, "assistant", "Hyvää päivää\n“x”", type="subagent_result", meta=meta, id="msg_001"
    )
    [raw] = day_file(vault).read_text("utf-8").splitlines()
    assert list(json.loads(raw).items()) == [
        ("id", "msg_001"), ("ts", "2026-03-10T12:00:00Z"), ("role", "assistant"), ("content", "Hyvää päivää\n“x”"),
        ("type", "subagent_result"), ("meta", {"channel": "telegram", "chat_id": "123456", **meta}),
    ]  # fmt: skip
    assert "päivää" in raw, "people read these files"
    assert memory.window(CHAT) == [one]
    memory.append_message(CHAT, "user", "no more than that")
    parsed = json.loads(day_file(vault).read_text("utf-8").splitlines()[1])
    assert (parsed["type"], parsed["meta"]) == (None, {"channel": "telegram", "chat_id": "123456"})


def test_F3_a_session_break_is_a_line(memory: Muisti, vault: Path) -> None:
    memory.session_break(CHAT)
    parsed = json.loads(day_file(vault).read_bytes())
    assert (parsed["role"], parsed["content"], parsed["type"]) == ("system", "", "session_break")
    assert memory.window(CHAT) == []


@pytest.mark.parametrize(
    "chat",
    [
        "telegram_-100123",
        "scheduler_daily-report",
        "mail_anna@example.org",
        "työ_keskustelu.2",
        "a_b_c",
    ],
)
def test_F3_one_file_a_day_and_chat(
    memory: Muisti, vault: Path, clock: FakeClock, chat: str
) -> None:
    memory.append_message(chat, "user", "today")
    clock.forward(hours=12)
    memory.append_message(chat, "user", "tomorrow")
    assert [path.name for path in sorted((vault / "conversations" / chat).iterdir())] == [
        "2026-03-10.jsonl",
        "2026-03-11.jsonl",
    ]
    assert said(memory, chat) == ["today", "tomorrow"]


@pytest.mark.parametrize("year", [1, 999, 1960, 9999])
def test_F3_the_name_of_a_day_sorts(memory: Muisti, vault: Path, year: int) -> None:
    memory.append_message(CHAT, "user", "long ago", at=datetime(year, 1, 2, tzinfo=UTC))
    assert [path.name for path in day_file(vault).parent.iterdir()] == [f"{year:04}-01-02.jsonl"]
    assert memory.window(CHAT)[0].at.year == year
    check_rebuilt(memory)


def test_F3_channel_and_chat_id_come_from_the_name(memory: Muisti) -> None:
    given = memory.append_message(
        CHAT, "user", "a", meta={"channel": "telegram", "chat_id": "123456", "model": "x"}
    )
    other = memory.append_message(CHAT, "user", "b", meta={"channel": "elsewhere"})
    assert [dict(m.meta) for m in memory.window(CHAT)] == [{"model": "x"}, {"channel": "elsewhere"}]
    assert memory.window(CHAT) == [given, other]


# -- The window


def test_F3_the_window_begins_after_the_last_break(memory: Muisti) -> None:
    for number in range(3):
        memory.append_message(CHAT, "user", f"before {number}")
    memory.session_break(CHAT)
    assert said(memory) == []
    for number in range(5):
        memory.append_message(CHAT, "assistant", f"after {number}")
    assert said(memory) == [f"after {number}" for number in range(5)]
    assert said(memory, limit=2) == ["after 3", "after 4"]
    [chat] = memory.list_conversations()
    assert (chat.name, chat.messages, chat.since_break) == (CHAT, 8, 5)
    memory.session_break(CHAT)
    memory.session_break(CHAT)
    memory.append_message(CHAT, "user", "third talk")
    assert said(memory) == ["third talk"]


def test_F3_order_is_the_order_of_lines(memory: Muisti, clock: FakeClock) -> None:
    """Equal times, a clock that steps back, midnight, ids that do not sort as numbers."""
    steps = [0, 0, 5, -3600, 60, 12 * 3600, 0, -86400 * 40, 86400 * 41]
    for number, seconds in enumerate(steps, start=5):
        clock.forward(seconds=seconds)
        memory.append_message(CHAT, "user", f"word{number}", id=f"msg_{number}")
    expected = [f"word{number}" for number in range(5, 5 + len(steps))]
    assert said(memory) == expected
    assert said(memory, limit=4) == expected[-4:]
    memory.reindex()
    assert said(memory) == expected
    check_rebuilt(memory)


def test_F3_a_break_counts_where_it_stands_not_when(memory: Muisti, clock: FakeClock) -> None:
    memory.append_message(CHAT, "user", "old")
    clock.forward(days=1)
    memory.session_break(CHAT)
    clock.forward(days=-3)
    memory.append_message(CHAT, "user", "new")
    assert said(memory) == ["new"]


def test_F3_chats_are_apart_and_the_latest_is_first(memory: Muisti, clock: FakeClock) -> None:
    memory.append_message("a_1", "user", "one", id="same")
    clock.forward(minutes=1)
    memory.append_message("b_1", "user", "two", id="same")
    memory.session_break("a_1")
    assert (said(memory, "a_1"), said(memory, "b_1"), said(memory, "c_1")) == ([], ["two"], [])
    clock.forward(minutes=1)
    memory.append_message("a_1", "user", "three")
    assert [(chat.name, chat.messages) for chat in memory.list_conversations()] == [
        ("a_1", 2),
        ("b_1", 1),
    ]
    assert memory.list_conversations()[0].last_at == clock.now()


# -- Search


def test_F3_search_by_word_in_one_chat_and_in_all(memory: Muisti) -> None:
    memory.append_message("a_1", "user", "The ferry leaves at noon")
    memory.append_message("b_1", "assistant", "Ferries to Nagu run hourly")
    memory.save("A memory about the ferry")
    assert set(found(memory, "ferry")) == {"The ferry leaves at noon", "Ferries to Nagu run hourly"}
    assert found(memory, "ferry", conversation="b_1") == ["Ferries to Nagu run hourly"]
    [hit] = memory.search_messages("noon", mode="keyword", conversation="a_1")
    assert hit.source == "message"
    assert hit.message == memory.window("a_1")[0]
    assert {hit.source for hit in memory.search("ferry", mode="keyword")} == {"memory", "message"}
    with pytest.raises(InvalidRequest, match="^conversation must "):
        memory.search_messages("ferry", conversation="nonsense")


def test_F3_hybrid_search_finds_the_answer_beside_the_question(opened: Opener) -> None:
    memory = opened(embedder="onnx")
    for number in range(12):
        memory.append_message(CHAT, "user", f"Small talk about topic{number} and weather{number}")
    memory.append_message(CHAT, "user", "When does the ferry to Nagu leave?")
    memory.append_message(CHAT, "assistant", "At nine, from the northern pier.")
    memory.reindex_missing()
    by_meaning = [hit.memory.content for hit in memory.search_messages("a boat to the island")[:2]]
    assert "When does the ferry to Nagu leave?" in by_meaning
    hits = memory.search_messages("ferry Nagu", limit=6)
    assert hits.mode == "hybrid"
    assert not hits.degraded
    assert hits[0].memory.content == "When does the ferry to Nagu leave?"
    assert "At nine, from the northern pier." in [hit.memory.content for hit in hits]


def test_F3_search_by_time(memory: Muisti, clock: FakeClock) -> None:
    start = clock.now()
    for number in range(4):
        memory.append_message(CHAT, "user", f"ferry number{number}")
        clock.forward(hours=1)
    assert found(memory, "ferry", since=start + timedelta(hours=3)) == ["ferry number3"]
    assert found(memory, "ferry", until=start + timedelta(hours=1)) == ["ferry number0"]


def test_F3_search_by_time_goes_by_the_time_of_the_message(memory: Muisti) -> None:
    """One that is written down late, or by a clock that was set back, was still said when it says
    so.
    """
    memory.append_message(CHAT, "user", "Now it is about gardens")
    memory.append_message(
        CHAT, "user", "Then it was about gardens", at=datetime(2025, 1, 1, tzinfo=UTC)
    )
    assert found(memory, "gardens", until=datetime(2025, 6, 1, tzinfo=UTC)) == [
        "Then it was about gardens"
    ]
    assert found(memory, "gardens", since=datetime(2026, 1, 1, tzinfo=UTC)) == [
        "Now it is about gardens"
    ]


# -- What is private


def test_C1_private_text_and_secrets_are_in_no_file(memory: Muisti, vault: Path) -> None:
    memory.append_message(
        CHAT,
        "user",
        f"The code is <private>canary4711</private>, the key {SECRET}.",
        meta={"deep": [{"k": SECRET}]},
    )
    memory.append_message(CHAT, "user", "<private>canary4711</private>")
    assert said(memory) == ["The code is , the key [redacted:aws-access-key].", "[private]"]
    assert memory.window(CHAT)[0].meta == {"deep": [{"k": "[redacted:aws-access-key]"}]}
    assert found(memory, "canary4711") == []
    memory.flush()
    left = [
        path
        for path in vault.rglob("*")
        if path.is_file() and any(w in path.read_bytes() for w in (b"canary4711", SECRET.encode()))
    ]
    assert not left


@pytest.mark.parametrize("field", ["conversation", "id", "type"])
def test_C1_a_name_that_is_a_secret_is_refused(memory: Muisti, vault: Path, field: str) -> None:
    fields = {"conversation": CHAT, field: f"x_{SECRET}"}
    with pytest.raises(InvalidMemory, match=f"^{field} "):
        memory.append_message(role="user", content="hello", **fields)
    assert not (vault / "conversations").exists()


# -- Once


def test_F3_the_same_id_is_written_once(memory: Muisti, vault: Path, clock: FakeClock) -> None:
    first = memory.append_message(CHAT, "user", "hello", id="msg_1")
    clock.forward(hours=1)
    assert memory.append_message(CHAT, "user", "hello", id="msg_1") == first
    for role, content in (("user", "another"), ("assistant", "hello")):
        with pytest.raises(InvalidRequest, match=r"^id belongs to another message.*'msg_1'"):
            memory.append_message(CHAT, role, content, id="msg_1")
    assert len(day_file(vault).read_bytes().splitlines()) == 1
    assert memory.append_message("other_1", "user", "another", id="msg_1").content == "another"


# -- Delete the index: the files bring it back


def test_B3_without_the_index_everything_is_as_before(
    opened: Opener, vault: Path, clock: FakeClock
) -> None:
    memory = opened()
    for number in range(12):
        memory.append_message(
            f"chat_{number % 3}", ROLES[number % 4], f"ferry subject{number}", meta={"n": number}
        )
        clock.forward(hours=5)
        if number == 7:
            memory.session_break("chat_1")
    write(vault, line("from elsewhere about the ferry"), b"broken\n", chat="mail_x")
    memory.sync()

    def seen(one: Muisti) -> tuple[object, ...]:
        hits = [
            (hit.memory.id, hit.score, hit.message)
            for hit in one.search_messages("ferry", limit=50)
        ]
        return (
            one.list_conversations(),
            [one.window(chat.name) for chat in one.list_conversations()],
            hits,
            one.problems(),
            fingerprint(one),
        )

    before = seen(memory)
    memory.reindex()
    assert seen(memory) == before
    check_rebuilt(memory)
    memory.close()
    shutil.rmtree(vault / ".muisti")
    assert seen(opened()) == before


# -- Bad input

_BAD: list[tuple[str, object]] = [
    *(("role", bad) for bad in (None, "", "robot", "User", 5, ["user"])),
    *(("conversation", bad) for bad in ("", "telegram", "_1", "telegram_", "a_b/c", "a/b_c", "a_..", "../a_b", "a_b..c", "a\\b_c", "a_b\\c", "a_b\0", ".a_b", "a_.b",
                                "a_b\n", " a_b", "a_b.", "a_b c", "a_" + "x" * 300, "ä" * 59 + "_" + "ä" * 110, "a_\ud800", None, 5, b"a_b", ["a_b"])),
    *(("content", bad) for bad in ("", "  \n", "x" * 3_000_000, "a\0b", "\ud800", None, 5, b"x", ["x"])),
    *(("meta", bad) for bad in ("x", 5, [1], {"a": object()}, {"a": float("nan")}, {"a": float("inf")}, {"a": "x" * 70_000}, {"a": "\ud800"}, {(1, 2): 3}, {"a": b"x"})),
    *(("at", bad) for bad in (datetime(2026, 3, 10), "2026-03-10", 5)),
    *(("id", bad) for bad in ("", "  ", "a\nb", "x" * 200, 5, "a\0", "\ud800")),
    *(("type", bad) for bad in (5, "a\nb", "x" * 100, "\0")),
]  # fmt: skip


@pytest.mark.parametrize(
    ("field", "bad"), _BAD, ids=[f"{field}-{number}" for number, (field, _) in enumerate(_BAD)]
)
def test_F3_bad_input_names_the_field_and_writes_nothing(
    memory: Muisti, vault: Path, field: str, bad: object
) -> None:
    with pytest.raises((InvalidRequest, InvalidMemory), match=f"^{field} ") as caught:
        memory.append_message(
            **{"conversation": CHAT, "role": "user", "content": "hello", field: bad}
        )
    assert len(str(caught.value)) < 600, "an error is for reading"
    assert not (vault / "conversations").exists()


def test_F3_meta_that_is_too_deep(memory: Muisti, vault: Path) -> None:
    deep: dict[str, object] = {}
    for _ in range(900):
        deep = {"a": deep}
    with pytest.raises(InvalidRequest, match=r"^meta .*deep|recursion"):
        memory.append_message(CHAT, "user", "hello", meta=deep)
    assert not (vault / "conversations").exists()


@pytest.mark.parametrize("limit", [0, -1, True, "5", 1.5, 10_000])
def test_F3_a_limit_that_makes_no_sense(memory: Muisti, limit: int) -> None:
    with pytest.raises(InvalidRequest, match="^limit "):
        memory.window(CHAT, limit)


@pytest.mark.parametrize("chat", ["", "telegram", "../x_y", None])
def test_F3_a_chat_that_makes_no_sense(memory: Muisti, chat: str) -> None:
    for call in (lambda: memory.window(chat), lambda: memory.session_break(chat)):
        with pytest.raises(InvalidRequest, match="^conversation must "):
            call()


# -- Messages are no memories


CALLS: list[Callable[[Muisti, str, str], object]] = [
    lambda m, id_, other: m.delete(id_), lambda m, id_, other: m.delete(id_, hard=True), lambda m, id_, other: m.update(id_, content="x"),
    lambda m, id_, other: m.link(id_, other, "BUILDS_ON"), lambda m, id_, other: m.link(other, id_, "BUILDS_ON"),
    lambda m, id_, other: m.supersede(id_, other), lambda m, id_, other: m.supersede(other, id_),
    lambda m, id_, other: m.touch(id_), lambda m, id_, other: m.reinforce(id_), lambda m, id_, other: m.deemphasize(id_),
]  # fmt: skip


@pytest.mark.parametrize("call", CALLS, ids=range(len(CALLS)))
def test_F3_a_message_cannot_be_changed_like_a_memory(
    memory: Muisti, vault: Path, call: Callable[[Muisti, str, str], object]
) -> None:
    memory.append_message(CHAT, "user", "The ferry leaves at noon", id="m1")
    other = memory.save("A memory").id
    [hit] = memory.search_messages("ferry", mode="keyword")
    before = day_file(vault).read_bytes()
    with pytest.raises(InvalidRequest, match=r"is a message"):
        call(memory, hit.memory.id, other)
    assert day_file(vault).read_bytes() == before
    assert said(memory) == ["The ferry leaves at noon"]
    assert memory.verify(deep=True).ok


def _numbers(memory: Muisti) -> tuple[object, ...]:
    return (
        replace(memory.get_stats(), index_size_bytes=0),
        memory.export_memories(format="json"),
        memory.list(limit=None),
    )


def test_F3_lists_numbers_export_and_upkeep_leave_messages_alone(
    memory: Muisti, vault: Path, clock: FakeClock
) -> None:
    memory.save("A memory about the ferry", kind="note")
    numbers = _numbers(memory)
    for number in range(5):
        memory.append_message(CHAT, "user", f"ferry number{number}", meta={"project": "apollo"})
    assert _numbers(memory) == numbers
    before = (day_file(vault).read_bytes(), memory.window(CHAT))
    clock.forward(days=4000)
    memory.decay_salience()
    memory.cleanup(1.0)
    memory.evict(0)
    memory.upkeep()
    assert (day_file(vault).read_bytes(), memory.window(CHAT)) == before
    assert len(memory.search_messages("ferry", mode="keyword")) == 5
    check_rebuilt(memory)


def test_J1_the_service_has_the_same(vault: Path) -> None:
    async def talk() -> tuple[list[Message], list[str], list[str]]:
        async with await MemoryService.open(vault, embedder="none") as service:
            await service.append_message(CHAT, "user", "before")
            await service.session_break(CHAT)
            await service.append_message(CHAT, "user", "The ferry leaves at noon", id="m1")
            hits = await service.search_messages("ferry", mode="keyword", limit=1)
            return (
                await service.window(CHAT),
                [hit.memory.content for hit in hits],
                [chat.name for chat in await service.list_conversations()],
            )

    window, hits, chats = anyio.run(talk)
    assert ([m.content for m in window], hits, chats) == (
        ["The ferry leaves at noon"],
        ["The ferry leaves at noon"],
        [CHAT],
    )
