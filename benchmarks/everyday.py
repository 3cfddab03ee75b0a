"""Everyday messages and changes: `python -m benchmarks.everyday [--half HALF] [--wrong]`.

Two tables in `tests/data`, written before the rules: messages with what is worth storing of each,
and pairs of memories with whether the newer one updates the older. A fixed seed splits both into
halves: `development`, which the rules were written with, and `held_out`, which they were not.
"""

from __future__ import annotations

import argparse
import random
import re
import tomllib
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.tables import Table
from muisti.model import Extracted, Utterance
from muisti.remember.extract.rules import extract
from muisti.remember.similarity.contradict import find_contradiction

DATA = Path(__file__).parents[1] / "tests" / "data"
HALVES = ("development", "held_out")
SEED = 18
THRESHOLD = 0.3
SAID = datetime(2023, 5, 8, 14, 0, tzinfo=UTC)
Row = dict[str, Any]
Found = dict[str, Any]


def load_sentences(half: str) -> list[Row]:
    """Return the messages of one half."""
    rows = tomllib.loads((DATA / "everyday_sentences.toml").read_text("utf-8"))["sentences"]
    return _split(rows, half)


def load_updates(half: str) -> list[Row]:
    """Return the pairs of one half, each with `update`: whether the new memory updates the old."""
    tables = tomllib.loads((DATA / "everyday_updates.toml").read_text("utf-8"))
    rows = [row | {"update": True} for row in tables["updates"]]
    rows += [row | {"update": False} for row in tables["unrelated"]]
    return _split(rows, half)


def _split(rows: list[Row], half: str) -> list[Row]:
    order = list(range(len(rows)))
    random.Random(SEED).shuffle(order)
    return [rows[number] for number in sorted(order[HALVES.index(half) :: 2])]


# Measuring ----------------------------------------------------------------------------------------


def measure_sentences(half: str) -> Found:
    """Return what the rules keep of one half, counted, with the messages that went wrong."""
    counts = {"messages": 0, "expected": 0, "kept": 0, "right": 0, "found": 0}
    counts |= {"kinds": 0, "kinds_right": 0}
    wrong = []
    for row in load_sentences(half):
        kept, replaced = _extract(row)
        expected = row.get("keep", [])
        never = row.get("never", [])
        right = [
            memory
            for memory in kept
            if any(_contains(memory.content, phrases) for phrases in expected)
            and not any(_contains(memory.content, phrase) for phrase in never)
        ]
        found = [
            phrases
            for phrases in expected
            if replaced and any(_contains(memory.content, phrases) for memory in right)
        ]
        counts["messages"] += 1
        counts["expected"] += len(expected)
        counts["kept"] += len(kept)
        counts["right"] += len(right)
        counts["found"] += len(found)
        if "kind" in row:
            counts["kinds"] += len(right)
            counts["kinds_right"] += sum(memory.kind == row["kind"] for memory in right)
        is_kind = all(memory.kind == row.get("kind", memory.kind) for memory in right)
        if len(right) < len(kept) or len(found) < len(expected) or not is_kind:
            wrong.append((row["said"], [f"{memory.content} ({memory.kind})" for memory in kept]))
    return counts | {"wrong": wrong}


def _extract(row: Row) -> tuple[list[Extracted], bool]:
    """Return the memories of a message, and whether what it corrects is gone or superseded."""
    said = [_make_utterance(text, row) for text in row.get("before", ())]
    before = {memory.content for memory in extract(said)}
    said.append(_make_utterance(row["said"], row, row.get("by", "user")))
    kept = [memory for memory in extract(said) if memory.importance >= THRESHOLD]
    corrected = row.get("replaces")
    is_replaced = corrected is None or not any(
        _contains(memory.content, corrected) for memory in kept if memory.content in before
    )
    return [memory for memory in kept if memory.content not in before], is_replaced


def _make_utterance(text: str, row: Row, role: str = "user") -> Utterance:
    if text.startswith("assistant: "):
        text, role = text.removeprefix("assistant: "), "assistant"
    speaker = "Assistant" if role == "assistant" else row.get("name", "User")
    return Utterance(text, speaker, role, SAID)


def _contains(text: str, phrases: str) -> bool:
    """Whether a text has the phrases (`a|b … c`) as whole words in this order, in any case."""
    parts = [
        "(?:" + "|".join(map(re.escape, phrase.split("|"))) + ")" for phrase in phrases.split(" … ")
    ]
    return re.search(rf"(?<!\w){'.*'.join(parts)}(?!\w)", text, re.I) is not None


def measure_updates(half: str) -> Found:
    """Return how many changes of one half are noticed, with the pairs that went wrong."""
    counts = {"pairs": 0, "updates": 0, "noticed": 0, "right": 0}
    wrong = []
    for row in load_updates(half):
        found = find_contradiction(row["new"], row["old"])
        counts["pairs"] += 1
        counts["updates"] += row["update"]
        counts["noticed"] += found is not None
        counts["right"] += found is not None and row["update"]
        if row["update"] != (found is not None):
            wrong.append((row["old"], row["new"], found))
    return counts | {"wrong": wrong}


# Reporting ----------------------------------------------------------------------------------------


def tables(found: Mapping[str, tuple[Found, Found]]) -> list[Table]:
    """Return the figures of some halves."""
    said, changed = [], []
    for half, (sentences, updates) in found.items():
        said.append(
            (
                half.replace("_", " "),
                f"{sentences['messages']}",
                f"{sentences['expected']}",
                f"{sentences['kept']}",
                _share(sentences["right"], sentences["kept"]),
                _share(sentences["found"], sentences["expected"]),
                _share(sentences["kinds_right"], sentences["kinds"]),
            )
        )
        changed.append(
            (
                half.replace("_", " "),
                f"{updates['pairs']}",
                f"{updates['updates']}",
                f"{updates['noticed']}",
                _share(updates["right"], updates["noticed"]),
                _share(updates["right"], updates["updates"]),
            )
        )
    head = ("Half", "messages", "worth storing", "stored", "precision", "recall", "right kind")
    pairs = ("Half", "pairs", "updates", "suggested", "precision", "recall")
    return [
        Table("EVERYDAY_SENTENCES", "What the rules store of everyday messages", head, tuple(said)),
        Table("EVERYDAY_UPDATES", "Changes that are suggested as updates", pairs, tuple(changed)),
    ]


def _share(part: int, whole: int) -> str:
    return f"{part / max(1, whole):.2f}"


def main() -> None:
    """Print the figures; with --wrong, also what went wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--half", choices=HALVES, help="only this half")
    parser.add_argument("--wrong", action="store_true", help="list what went wrong")
    asked = parser.parse_args()
    halves = (asked.half,) if asked.half else HALVES
    found = {half: (measure_sentences(half), measure_updates(half)) for half in halves}
    print("\n\n".join(table.markdown() for table in tables(found)))
    if asked.wrong:
        for measured in found.values():
            for part in measured:
                print("\n".join(map(str, part["wrong"])))


if __name__ == "__main__":
    main()
