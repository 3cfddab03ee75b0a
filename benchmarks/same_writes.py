"""Whether two checkouts write the same: `python -m benchmarks.same_writes --against CHECKOUT`.

Each scenario runs in a process of each checkout, with the same clock and the same IDs. Then every
file of the two vaults is compared byte by byte, and the two indexes row by row, before and after
they are rebuilt. Inodes and times of files are left out.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

import apsw

from benchmarks import datasets
from benchmarks.texts import Writer, vocabulary
from benchmarks.workers import ROOT, Worker, serve
from muisti import Muisti, bootstrap
from muisti.remember import identity

VOLATILE = {"inode", "mtime_ns", "seen_ns"}
"""Columns that differ between two runs of the same code."""
UNNUMBERED = {"lexicon"}
"""Tables whose rows are numbered as a set was iterated over."""
LEFT_OUT = {"snapshots", "changed"}
"""What is built in the background, and what changed since."""
SOME = 400


class SteadyClock:
    """A clock that stands still, but for `tick`: the same in every process."""

    def __init__(self) -> None:
        self._now = datetime(2026, 3, 1, tzinfo=UTC)

    def now(self) -> datetime:
        return self._now

    def tick(self) -> None:
        self._now += timedelta(seconds=1)


class _SeededRandom:
    """Stands for `os` in the module that makes IDs."""

    def __init__(self) -> None:
        self._random = random.Random(5)

    def urandom(self, size: int) -> bytes:
        return self._random.randbytes(size)


# Scenarios ----------------------------------------------------------------------------------------


def load_turns(number: int) -> list[str]:
    """Return turns of conversations, or generated texts without the data."""
    folder = datasets.DEFAULT_FOLDER
    if datasets.missing(folder, ["locomo_dev.json", "longmemeval_dev.json"]):
        return [text.content for text in Writer(vocabulary()[1]).texts(number)]
    stores = [*datasets.locomo(folder), datasets.longmemeval(folder)]
    # From every conversation, so that long texts with Markdown and code are among them.
    turns = [document.text for store in stores for document in store.documents]
    return turns[:: max(1, len(turns) // number)][:number]


def load_pairs(number: int) -> Iterator[str]:
    """Yield sentences of which each two say about the same."""
    path = datasets.DEFAULT_FOLDER / "mrpc_train.tsv"
    lines = path.read_text("utf-8").splitlines()[1:] if path.is_file() else []
    for line in islice(lines, number):
        yield from line.split("\t")[3:5]


def load_foreign() -> Iterator[str]:
    """Yield texts in other scripts, and strings that programs often handle badly."""
    folder = datasets.DEFAULT_FOLDER
    for name in ("xquad.ru.json", "xquad.zh.json"):
        if (folder / name).is_file():
            data = json.loads((folder / name).read_text("utf-8"))["data"]
            for article in data[:15]:
                yield from (paragraph["context"] for paragraph in article["paragraphs"])
    if (folder / "blns.json").is_file():
        yield from json.loads((folder / "blns.json").read_text("utf-8"))


def save_batches(memory: Muisti) -> None:
    turns = load_turns(3 * SOME)
    for start in range(0, len(turns), 300):
        memory.save_batch(turns[start : start + 300])


def save_singly(memory: Muisti) -> None:
    for text in load_turns(SOME // 2):
        memory.save(text)


def save_generated(memory: Muisti) -> None:
    memory.save_batch([text.content for text in Writer(vocabulary()[1], seed=3).texts(SOME)])


def save_near_duplicates(memory: Muisti) -> None:
    sentences = list(load_pairs(SOME))
    memory.save_batch(sentences[: len(sentences) // 2])
    for text in sentences[len(sentences) // 2 :]:
        memory.save(text)
    for text in FACTS:
        memory.save(text)
        memory.save(text.replace("is", "was", 1))


def save_foreign(memory: Muisti) -> None:
    for text in load_foreign():
        if text.strip() and "\0" not in text:
            memory.save(text)


def save_fields(memory: Muisti) -> None:
    items = []
    for number, text in enumerate(load_turns(SOME)):
        items.append(
            {
                "content": text,
                "title": f"Note {number}: “{text[:30].splitlines()[0]}”" if number % 3 else None,
                "kind": ("decision", "fact", "context", None)[number % 4],
                "keywords": ["Alpha", f"key {number % 7}"] if number % 2 else [],
                "files": [f"src/part_{number % 5}/main.py"] if number % 5 == 0 else [],
                "project": ("", "web shop", "ääkköset")[number % 3],
                "user": ("", "maija")[number % 2],
                "session_id": f"s{number // 20}-{number % 2}-{number % 3}",
                "importance": round(number % 10 / 9, 3),
                "created_at": datetime(2024, 1, 1, tzinfo=UTC) + timedelta(hours=number),
                "valid_until": datetime(2027, 1, 1, tzinfo=UTC) if number % 11 == 0 else None,
                "tier": ("project", "session", "global")[number % 3],
            }
        )
    memory.save_batch(items)


def save_secrets(memory: Muisti) -> None:
    for number, text in enumerate(load_turns(60)):
        memory.save(f"{text} <private>pin {number}</private> the wifi password is hunter{number}22")
        memory.save(f"{text[:200]} AKIAIOSFODNN7EXAMPLE token: ghp_{number:036d}", title="pw: ab12")


def write_by_hand(memory: Muisti) -> None:
    root = Path(memory.location)
    for number, text in enumerate(load_turns(200)):
        folder = root / ("facts", "notes", "projects/garden/decisions", "elsewhere")[number % 4]
        folder.mkdir(parents=True, exist_ok=True)
        head = HEADS[number % len(HEADS)].format(number=number)
        newline = "\r\n" if number % 9 == 0 else "\n"
        body = (head + text + "\n").replace("\n", newline)
        (folder / f"2025-02-0{1 + number % 9}_page-{number}.md").write_bytes(body.encode())
    memory.sync()
    for number, path in enumerate(sorted(root.glob("facts/*.md"))):
        if number % 3 == 0:
            path.write_text(path.read_text("utf-8") + f"Edited {number}.\n", "utf-8")
        elif number % 3 == 1:
            path.rename(root / "notes" / path.name)
    memory.sync()


def change_memories(memory: Muisti) -> None:
    saved = memory.save_batch(load_turns(SOME // 2))
    for number, one in enumerate(saved):
        if number % 7 == 0:
            memory.update(one.id, content=f"{one.content} Changed.", importance=0.8)
        elif number % 7 == 1:
            memory.update(one.id, kind="decision", keywords=["moved"])
        elif number % 7 == 2:
            memory.delete(one.id)
        elif number % 7 == 3:
            memory.reinforce(one.id)
        elif number % 7 == 4:
            memory.supersede(one.id, memory.save(f"{one.content} No longer.").id)
        elif number % 21 == 5:
            memory.delete(one.id, hard=True)
    for one in saved[2:60:14]:
        memory.restore(one.id)


def talk_and_index(memory: Muisti) -> None:
    session = memory.start_session(project="garden")
    for text in load_turns(80):
        memory.append_message("cli_main", "user", text)
        memory.save(text, session_id=session.id)
    memory.end_session(session.id, summary="All said")
    pages = Path(memory.location).parent / "pages"
    pages.mkdir()
    for number, text in enumerate(load_turns(40)):
        page = pages / f"{number}.md"
        page.write_text(f"# Page {number}\n\n{text}\n\n## More\n\n{text[::-1]}", "utf-8")
        os.utime(page, (1_700_000_000, 1_700_000_000))
    memory.index_path(str(pages))


def export_and_import(memory: Muisti) -> None:
    memory.save_batch(load_turns(SOME // 2))
    exported = Path(memory.location).parent / "export.json"
    exported.write_text(memory.export_memories(format="json"), "utf-8")
    for one in memory.list(limit=50):
        memory.delete(one.id, hard=True)
    memory.import_memories(exported)


FACTS = (
    "The deadline of the launch is March 15",
    "The auth module is in src/auth/index.ts",
    "Maija is moving to Rome in June",
    "Always use type hints in new code",
    "The server is called `neptune` and it listens on port 8080",
)
HEADS = (
    "",
    "---\ntitle: By hand {number}\ntags: [a, b]\n---\n",
    "---\nkind: facts\nimportance: 0.7\n# a comment\nkeywords: one, two\n---\n\n",
    "---\ntitle: 'quoted: {number}'\ncreated_at: 2025-01-02\nlinks: []\n---\n\n",
    "---\nsector: procedural\nconcepts:\n  - bread\n  - oven {number}\nown_key: x\n---\n\n",
)
SCENARIOS: dict[str, Callable[[Muisti], None]] = {
    run.__name__: run
    for run in (
        save_batches,
        save_singly,
        save_generated,
        save_near_duplicates,
        save_foreign,
        save_fields,
        save_secrets,
        write_by_hand,
        change_memories,
        talk_and_index,
        export_and_import,
    )
}


# The process that writes --------------------------------------------------------------------------


def run_scenario(name: str, folder: str) -> dict[str, Any]:
    """Run a scenario in a new vault and return what it wrote."""
    identity.os = _SeededRandom()  # type: ignore[assignment,attr-defined]
    identity._clock._last = 0
    vault = Path(folder) / "vault"
    clock = SteadyClock()
    with bootstrap.open(vault, clock=clock, settings={"embedder": "none"}) as memory:
        write: Any = memory._write

        def tick_and_write(*arguments: Any, **options: Any) -> Any:
            clock.tick()
            return write(*arguments, **options)

        memory._write = tick_and_write  # type: ignore[method-assign]
        SCENARIOS[name](memory)
        written = {"index": read_index(vault)}
        memory.reindex()
        written["rebuilt"] = read_index(vault)
    written["files"] = {
        path.relative_to(vault).as_posix(): hash_bytes(path.read_bytes())
        for path in sorted(vault.rglob("*"))
        if path.is_file() and ".muisti" not in path.parts
    }
    return written


def hash_bytes(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def read_index(vault: Path) -> dict[str, Any]:
    """Return the number of rows of each table and a hash of each row, in order."""
    [path] = (vault / ".muisti").glob("index-*.db")
    db = apsw.Connection(str(path))
    tables = [
        name
        for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
        if name not in LEFT_OUT and not name.startswith(("word_index", "lexicon_parts", "sqlite_"))
    ]
    for own, table in (("terms", "word_index"), ("parts", "lexicon_parts")):
        db.execute(f"CREATE VIRTUAL TABLE temp.{own} USING fts5vocab ('main', '{table}', 'row')")
        tables.append(f"temp.{own}")
    found = {}
    for table in tables:
        cursor = db.execute(f"SELECT * FROM {table}")
        rows = []
        for row in cursor:
            names = [column[0] for column in cursor.description]
            left_out = VOLATILE | {"n"} if table in UNNUMBERED else VOLATILE
            kept = [v for name, v in zip(names, row, strict=True) if name not in left_out]
            if kept[0] not in ("owner", "file"):
                rows.append(hash_bytes(repr(kept).encode("utf-8", "surrogatepass"))[:16])
        found[table] = sorted(rows)
    db.close()
    return found


# Comparing ----------------------------------------------------------------------------------------


def compare_written(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Return a line for each file or table that differs."""
    before, after = old["files"], new["files"]
    paths = sorted(before.keys() | after.keys())
    lines = [f"file {path}" for path in paths if before.get(path) != after.get(path)]
    for part in ("index", "rebuilt"):
        for table in sorted(old[part].keys() | new[part].keys()):
            rows = [Counter(one[part].get(table, ())) for one in (old, new)]
            differing = (rows[0] - rows[1]).total() + (rows[1] - rows[0]).total()
            if differing:
                lines.append(f"{part} {table}: {differing} rows of {rows[1].total()}")
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.same_writes", description=__doc__)
    parser.add_argument("--against", type=Path, required=True, help="the other checkout")
    parser.add_argument("--only", choices=SCENARIOS, action="append", help="some scenarios")
    options = parser.parse_args(arguments)
    differences = 0
    for name in options.only or SCENARIOS:
        written = []
        for source in (options.against.resolve() / "src", ROOT / "src"):
            folder = Path(tempfile.gettempdir(), f"muisti-same-{os.getpid()}")  # the same for both
            folder.mkdir()
            try:
                with Worker("same_writes", "--serve", source=source) as worker:
                    answer = worker.ask("run_scenario", name=name, folder=str(folder))
            finally:
                shutil.rmtree(folder)
            written.append(answer.result)
        found = compare_written(*written)
        differences += len(found)
        rows = sum(map(len, written[1]["index"].values()))
        print(f"{name}: {len(written[1]['files'])} files, {rows} rows, {len(found)} differences")
        print("".join(f"  {line}\n" for line in found[:10]), end="", flush=True)
    print(f"{differences} differences")
    return int(differences > 0)


if __name__ == "__main__":
    if "--serve" in sys.argv:
        serve({"run_scenario": run_scenario})
    else:
        raise SystemExit(main())
