"""What conversations cost: `python -m benchmarks.talk [--messages 100000] [--turns 300]`.

Rebuilding the index from the JSONL of conversations, next to a bare loop that reads the same lines
into the tables of a chat log (messages, FTS5) with the standard library and nothing else; and what
a chat waits for, next to one line that is appended to a file and synced.
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.tables import PAGE, Table, rewrite, times
from benchmarks.texts import Writer, vocabulary
from benchmarks.timing import Times, best_of, interleaved, machine, seconds
from muisti import Muisti

RESULTS = Path(__file__).with_name("results") / "talk.json"
CHATS = 20
A_DAY = 500
MOST = 2.5
"""What rebuilding may cost, to the bare loop."""


def write_talk(vault: Path, number: int, words: Sequence[str]) -> int:
    """The files of conversations as other programs write them; answers their bytes."""
    texts = Writer(words, seed=11)
    start = datetime(2025, 1, 1, 8, tzinfo=UTC)
    written = 0
    for first in range(0, number, A_DAY):
        day, chat = divmod(first // A_DAY, CHATS)
        folder = vault / "conversations" / f"telegram_{1000 + chat}"
        folder.mkdir(parents=True, exist_ok=True)
        at = start + timedelta(days=day)
        lines = []
        for place, text in enumerate(texts.texts(min(A_DAY, number - first))):
            said = (
                text.content if place % 2 else text.content[: len(text.content) // 3]
            )  # people write less than models
            line = {
                "id": f"msg_{first + place:07}",
                "ts": (at + timedelta(seconds=40 * place)).isoformat().replace("+00:00", "Z"),
                "role": "assistant" if place % 2 else "user",
                "content": said,
                "type": None,
                "meta": {"channel": "telegram", "chat_id": str(1000 + chat)},
            }
            lines.append(json.dumps(line, ensure_ascii=False))
        data = "\n".join(lines) + "\n"
        (folder / f"{at:%Y-%m-%d}.jsonl").write_text(data, "utf-8")
        written += len(data)
    return written


_SCHEMA = """
PRAGMA journal_mode = WAL;
CREATE TABLE messages (id TEXT PRIMARY KEY, channel TEXT NOT NULL, chat_id TEXT NOT NULL, role TEXT NOT NULL, type TEXT,
    content TEXT NOT NULL, metadata JSON, created_at TIMESTAMP NOT NULL);
CREATE INDEX messages_by_chat ON messages (chat_id, created_at DESC);
CREATE VIRTUAL TABLE messages_fts USING fts5 (content, content = messages, content_rowid = rowid);
"""


def bare_rebuild(vault: Path, target: Path) -> int:
    """Lines into a table, then the word index at one go: the least that can be called a rebuild."""
    target.unlink(missing_ok=True)
    db = sqlite3.connect(target)
    db.executescript(_SCHEMA)
    number = 0
    with db:
        for path in sorted((vault / "conversations").rglob("*.jsonl")):
            with path.open(encoding="utf-8") as lines:
                for line in lines:
                    said = json.loads(line)
                    meta = said["meta"]
                    cells = (
                        said["id"],
                        meta["channel"],
                        meta["chat_id"],
                        said["role"],
                        said["type"],
                        said["content"],
                    )
                    db.execute(
                        "INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                        (*cells, json.dumps(meta), said["ts"]),
                    )
                    number += 1
        db.execute("INSERT INTO messages_fts (messages_fts) VALUES ('rebuild')")
    db.close()
    return number


def rebuilding(number: int, words: Sequence[str], runs: int = 3) -> dict[str, float]:
    """Seconds of each, the least of a few runs in turn."""
    with tempfile.TemporaryDirectory() as folder:
        vault = Path(folder, "vault")
        Muisti.open(vault, embedder="none").close()
        size = write_talk(vault, number, words)
        taken: dict[str, list[float]] = {"bare": [], "muisti": []}
        with Muisti.open(vault, embedder="none") as memory:
            for _ in range(runs):
                taken["bare"].append(seconds(lambda: bare_rebuild(vault, Path(folder, "bare.db"))))
                taken["muisti"].append(seconds(memory.reindex))
            found = sum(chat.messages for chat in memory.list_conversations())
            if found != number:
                raise SystemExit(f"of {number} messages {found} are there")
    return {name: best_of(values) for name, values in taken.items()} | {
        "messages": number,
        "bytes": size,
    }


def waiting(turns: int, words: Sequence[str]) -> dict[str, Times]:
    """What a chat waits for in each turn."""
    texts = [text.content for text in Writer(words, seed=13).texts(turns)]
    with (
        tempfile.TemporaryDirectory() as folder,
        Muisti.open(Path(folder, "vault"), embedder="none") as memory,
    ):
        bare = Path(folder, "bare.jsonl")

        def append_and_sync(text: str) -> None:
            fd = os.open(bare, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            os.write(fd, json.dumps({"user": text, "assistant": "Noted."}).encode() + b"\n")
            os.fsync(fd)
            os.close(fd)

        def accept(text: str) -> None:
            if not memory.extract_and_save("benchmark", text, "Noted."):
                raise SystemExit("an exchange was refused")

        def log(text: str) -> None:
            memory.append_message("cli_benchmark", "user", text)

        accept("My dog is called Musti.")  # reads the tables of the rules, once
        memory.flush()
        found = interleaved(
            {"append and sync a line": append_and_sync, "append_message": log}, texts
        )
        memory.flush()
        return found | interleaved({"extract_and_save": accept}, texts)


def tables(rebuilt: dict[str, float], waited: dict[str, Times]) -> list[Table]:
    number = rebuilt["messages"]
    rows = tuple(
        (
            name,
            f"{rebuilt[name]:.2f} s",
            f"{number / rebuilt[name]:,.0f}",
            times(rebuilt[name] / rebuilt["bare"]),
        )
        for name in ("bare", "muisti")
    )
    least = waited["append and sync a line"]
    turns = tuple(
        (name, f"{1000 * one.p50:.2f} ms", f"{1000 * one.p95:.2f} ms", times(one.p50 / least.p50))
        for name, one in waited.items()
    )
    return [
        Table(
            "talk-rebuild",
            f"Rebuilding {number:,.0f} messages, without vectors",
            ("", "time", "a second", "to bare"),
            rows,
        ),
        Table("talk-turn", "What a chat waits for in a turn", ("", "p50", "p95", "to bare"), turns),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--turns", type=int, default=300)
    parser.add_argument("--markdown", action="store_true", help="Put the tables into the page too.")
    given = parser.parse_args()
    _, words = vocabulary()
    rebuilt, waited = rebuilding(given.messages, words), waiting(given.turns, words)
    found = tables(rebuilt, waited)
    print("\n\n".join(table.text() for table in found))
    if given.markdown:
        rewrite(PAGE, {table.name: table.markdown() for table in found})
    RESULTS.parent.mkdir(exist_ok=True)
    record = {
        "machine": machine(),
        "rebuild": rebuilt,
        "turn": {name: one.summary() for name, one in waited.items()},
    }
    RESULTS.write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    if rebuilt["muisti"] > MOST * rebuilt["bare"]:
        raise SystemExit(f"rebuilding takes more than {MOST:g} times the bare loop")


if __name__ == "__main__":
    main()
