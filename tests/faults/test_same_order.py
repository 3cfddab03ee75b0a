"""A rebuilt index gives the same answers in the same order, also among equals (contract B3)."""

from __future__ import annotations

import random
import shutil
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from muisti import Muisti, bootstrap
from muisti.recall.filters import ALL
from tests.conftest import FakeClock
from tests.tiers import amount

ORDERS = [
    (name, order)
    for name in ("created_at", "salience", "last_accessed")
    for order in ("asc", "desc")
]


def _live(memory: Muisti, vault: Path, clock: FakeClock, seed: int) -> None:
    """Equal texts but for a number, at equal times, in an order that the files do not have."""
    chance = random.Random(seed)
    numbers = list(range(60))
    chance.shuffle(numbers)
    session = memory.start_session("apollo").id
    ids = []
    for n in numbers:
        saved = memory.save(
            f"Note {n:03} about the harbour",
            keywords=["harbour", "boat"],
            session_id=session if n % 3 == 0 else None,
        )
        ids.append(saved.id)
        if chance.random() < 0.1:
            clock.forward(seconds=1)
    for id_ in chance.sample(ids, 10):
        memory.update(id_, title=f"Note {chance.randrange(100):03} on the harbour")
    for id_ in chance.sample(ids, 5):
        memory.delete(id_)
        if chance.random() < 0.5:
            memory.restore(id_)
    for number in range(6):
        (vault / "facts").mkdir(exist_ok=True)
        name = f"{chance.randrange(1000)} by hand.md"
        (vault / "facts" / name).write_text(f"Note {700 + number} about the harbour\n", "utf-8")
        memory.sync()
    for number in range(8):
        chat = f"cli_{chance.choice('ab')}"
        memory.append_message(chat, "user", f"Message {number} about the harbour")
    docs = vault.parent / "docs"
    docs.mkdir()
    (docs / "z.md").write_text("# One\n\nThe harbour\n\n# Two\n\nThe harbour\n", "utf-8")
    (docs / "a.md").write_text("# One\n\nThe harbour\n", "utf-8")
    memory.index_path(docs)
    memory.link(ids[0], ids[1], "RELATED_TO")
    memory.link(ids[0], ids[2], "RELATED_TO")


def _answers(memory: Muisti) -> dict[str, object]:
    found: dict[str, object] = {}
    everything = memory.list(limit=None)
    for name, order in ORDERS:
        listed = memory.list(order_by=name, order=order, limit=None)  # type: ignore[arg-type]
        found[f"{name} {order}"] = [m.id for m in listed]
    for limit in (1, 3, 10, 200):
        for mode in ("keyword", "hybrid", "vector"):
            for query in ("harbour", "note about harbour", "harbor", "harb", "700"):
                results = memory.search(
                    query, limit=limit, mode=mode, record=False, source=ALL_SOURCES, project=ALL
                )
                found[f"{query} {mode} {limit}"] = [
                    (one.memory.id, round(one.score, 9)) for one in results
                ]
        found[f"keywords {limit}"] = [
            m.id for m in memory.search_by_keywords(["harbour"], limit=limit)
        ]
        found[f"messages {limit}"] = [
            one.memory.id for one in memory.search_messages("harbour", limit=limit)
        ]
        found[f"ids {limit}"] = memory.find_ids("0", limit=limit)
    some = everything[len(everything) // 2].id
    found["timeline"] = [m.id for m in memory.timeline(some)]
    found["related"] = [one.memory.id for one in memory.related(some)]
    found["windows"] = [m.id for chat in ("cli_a", "cli_b") for m in memory.window(chat)]
    found["conversations"] = memory.list_conversations()
    found["sessions"] = memory.list_sessions()
    for session in memory.list_sessions():
        found[session.id] = [m.id for m in memory.get_by_session(session.id)]
    return found


ALL_SOURCES = ("memory", "message", "document")


@settings(max_examples=amount(quick=1, all=4, long=40), deadline=None)
@given(seed=st.integers(0, 2**32))
def test_B3_a_rebuilt_index_orders_equals_alike(seed: int) -> None:
    folder = Path(tempfile.mkdtemp(prefix="muisti-order-"))
    try:
        vault, clock = folder / "vault", FakeClock()
        options = {"embedder": "hashing", "record_recall": False}
        with bootstrap.open(vault, clock=clock, settings=options) as memory:
            _live(memory, vault, clock, seed)
            memory.reindex_missing()
            live = _answers(memory)
        shutil.rmtree(vault / ".muisti")
        with bootstrap.open(vault, clock=clock, settings=options) as memory:
            memory.reindex_missing()
            rebuilt = _answers(memory)
        for name, answer in live.items():
            assert rebuilt[name] == answer, name
    finally:
        shutil.rmtree(folder)
