"""Many tenants in one PostgreSQL database: `python -m benchmarks.tenants [--memories 1000000]
[--tenants 1000] [--questions 60] [--cache FOLDER]`.

The tenants have sizes by Zipf (`benchmarks.tenant_rows`) and are kept in the cache folder. Measured
are searches and saves by the size of the tenant, the cost of row-level security (the same questions
in turn, by the servers' role and by a superuser, who is not subject to it), the time to add and to
drop a tenant, the bytes of tables and indexes, and how many connections and locks a server of all
tenants takes. The embedder is `hashing`, so that the model takes no part.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import platformdirs
import psycopg

from benchmarks import tenant_rows
from benchmarks.kept_server import run_kept_server
from benchmarks.timing import Times
from muisti import Muisti
from muisti.bootstrap_postgres import administer_tenants, name_tenant
from muisti.bootstrap_tenants import TenantVaults

CACHE = Path(platformdirs.user_cache_path("muisti-bench", appauthor=False)) / "tenants"
ROLE = "bench_server"
QUIET = {"embedder": "hashing", "record_recall": False}


def prepare(dsn: str, memories: int, tenants: int, held: int) -> list[int]:
    """Fill the database, unless it is, and let the servers' role use it. Return the sizes."""
    sizes = tenant_rows.choose_sizes(memories, tenants)
    administer_tenants(dsn).get("default")
    with psycopg.connect(dsn, autocommit=True) as db:
        [saved] = db.execute("SELECT count(*) FROM muisti.entries WHERE tenant = 1").fetchone() or [
            0
        ]
        if not db.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (ROLE,)).fetchone():
            db.execute(f"CREATE ROLE {ROLE} LOGIN".encode())
    if not saved:
        tenant_rows.save_pattern(dsn, held)
    tenant_rows.fill(dsn, sizes, lambda text: print(text, file=sys.stderr))
    administer_tenants(dsn).grant(ROLE)
    return sizes


def make_questions(count: int) -> list[str]:
    """Return questions with a few words of the texts."""
    chance = random.Random(11)
    texts = tenant_rows.write_texts(500)
    return [" ".join(chance.sample(chance.choice(texts).split(), 4)) for _ in range(count)]


def measure(actions: dict[str, Callable[[str], object]], given: Sequence[str]) -> dict[str, Any]:
    """Do each action with each text, in turn. Return p50, p95 and processor time in milliseconds."""
    times: dict[str, list[float]] = {name: [] for name in actions}
    work: dict[str, float] = dict.fromkeys(actions, 0.0)
    for action in actions.values():  # plans and caches
        action(given[0])
    for number, text in enumerate(given):
        for name in [*actions][:: 1 if number % 2 else -1]:
            begun, busy = time.perf_counter(), time.process_time()
            actions[name](text)
            work[name] += time.process_time() - busy
            times[name].append(time.perf_counter() - begun)
    return {
        name: {
            "p50_ms": 1000 * Times(tuple(found)).p50,
            "p95_ms": 1000 * Times(tuple(found)).p95,
            "client_cpu_ms": 1000 * work[name] / len(found),
        }
        for name, found in times.items()
    }


def compare_security(
    dsn: str, sizes: Sequence[int], questions: Sequence[str]
) -> list[dict[str, Any]]:
    """Search and save with and without row-level security, in tenants of several sizes."""
    found = []
    for rank in (1, 3, 10, 30, 100, 300, 1000):
        if rank > len(sizes):
            continue
        with ExitStack() as stack:
            vaults = {
                who: stack.enter_context(Muisti.open(name_tenant(address, 1000 + rank), **QUIET))
                for who, address in (
                    ("with", dsn.replace("//postgres@", f"//{ROLE}@")),
                    ("without", dsn),
                )
            }
            searches = {
                who: (lambda text, v=v: v.search(text, limit=10)) for who, v in vaults.items()
            }
            keywords = {
                who: (lambda text, v=v: v.search(text, limit=10, mode="keyword"))
                for who, v in vaults.items()
            }
            saves = {
                who: (lambda text, v=v: v.save(f"{text} {time.time_ns()}"))
                for who, v in vaults.items()
            }
            found.append({
                "rank": rank, "memories": sizes[rank - 1],
                "search": measure(searches, questions), "keyword": measure(keywords, questions),
                "save": measure(saves, questions[: max(10, len(questions) // 3)]),
            })  # fmt: skip
        print(json.dumps(found[-1]), file=sys.stderr)
    return found


def measure_adding(dsn: str) -> dict[str, Any]:
    """Return how long adding and dropping tenants takes."""
    administration = administer_tenants(dsn)
    tag = f"{os.getpid()}-{int(time.time())}"
    adding = []
    for number in range(20):
        begun = time.perf_counter()
        administration.add(f"added-{tag}-{number}")
        adding.append(time.perf_counter() - begun)
    dropping = {}
    begun = time.perf_counter()
    administration.drop(f"added-{tag}-0")
    dropping["0"] = time.perf_counter() - begun
    for size in (100, 1000, 10_000):
        name = f"copy-{tag}-{size}"
        number = administration.add(name).number
        tenant_rows.copy_tenant(dsn, number, size)
        begun = time.perf_counter()
        rows = administration.drop(name)
        dropping[str(size)] = time.perf_counter() - begun
        with psycopg.connect(dsn) as db:
            [left] = db.execute(
                "SELECT count(*) FROM muisti.postings WHERE tenant = %s", (number,)
            ).fetchone() or [1]
        assert left == 0
        print(f"dropped {size} memories, {rows} rows, {dropping[str(size)]:.2f} s", file=sys.stderr)
    for number in range(1, 20):
        administration.drop(f"added-{tag}-{number}")
    begun = time.perf_counter()
    count = len(administration.list_tenants())
    return {
        "add_p50_ms": 1000 * Times(tuple(adding)).p50,
        "drop_s": dropping,
        "list_s": time.perf_counter() - begun,
        "listed": count,
    }


def measure_space(dsn: str) -> dict[str, Any]:
    """Return the bytes of tables and indexes, of all and of the largest."""
    sql = """SELECT relname, pg_table_size(oid), pg_indexes_size(oid) FROM pg_class
             WHERE relnamespace = 'muisti'::regnamespace AND relkind = 'r' ORDER BY 2 + 3 DESC"""
    with psycopg.connect(dsn) as db:
        rows = db.execute(sql).fetchall()
        [memories] = db.execute("SELECT sum(memories) FROM muisti.stored").fetchone() or [0]
    rows.sort(key=lambda row: -row[1] - row[2])
    return {
        "memories": int(memories),
        "table_bytes": sum(row[1] for row in rows),
        "index_bytes": sum(row[2] for row in rows),
        "largest": {name: [table, index] for name, table, index in rows[:8]},
    }


def watch_server(dsn: str, stop: threading.Event, most: dict[str, int]) -> None:
    """Note the most connections and locks of the servers' role until it is to stop."""
    locks = """SELECT coalesce(sum(n), 0)::integer, coalesce(max(n), 0)::integer FROM
        (SELECT count(*) n FROM pg_locks l JOIN pg_stat_activity a USING (pid)
         WHERE a.usename = %s GROUP BY pid) x"""
    count = "SELECT count(*) FROM pg_stat_activity WHERE usename = %s"
    with psycopg.connect(dsn, autocommit=True) as db:
        is_last = False
        while not is_last:
            is_last = stop.wait(0.05)  # once more at the end, while the vaults are still open
            values = [*db.execute(count, (ROLE,)).fetchall()[0]]
            values += db.execute(locks, (ROLE,)).fetchall()[0]
            for name, value in zip(most, values, strict=True):
                most[name] = max(most[name], value)


def measure_server(dsn: str, sizes: Sequence[int], questions: Sequence[str]) -> dict[str, Any]:
    """Search in every tenant through one server's vaults; return the most connections and locks."""
    administration = administer_tenants(dsn)
    tokens = [
        administration.add_token(f"zipf-{rank}", "read").secret for rank in range(1, len(sizes) + 1)
    ]
    most = {"connections": 0, "locks": 0, "locks of one": 0}
    stop = threading.Event()
    vaults = TenantVaults(dsn.replace("//postgres@", f"//{ROLE}@"), settings=QUIET)
    watcher = threading.Thread(target=watch_server, args=(dsn, stop, most))
    watcher.start()
    opened, searched = [], []
    threads = 0
    chance = random.Random(3)

    def ask(part: Sequence[str]) -> None:
        nonlocal threads
        for token in part:
            begun = time.perf_counter()
            memory = vaults.acquire(vaults.admit(token))
            opened.append(time.perf_counter() - begun)
            begun = time.perf_counter()
            memory.search(chance.choice(questions), limit=10)
            searched.append(time.perf_counter() - begun)
            threads = max(threads, threading.active_count())
            vaults.release(memory)

    clients = [threading.Thread(target=ask, args=(tokens[at::4],)) for at in range(4)]
    begun = time.perf_counter()
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    seconds = time.perf_counter() - begun
    stop.set()
    watcher.join()
    open_vaults = vaults.count_open()
    vaults.close()
    with psycopg.connect(dsn) as db:
        [limit] = db.execute(
            """SELECT current_setting('max_locks_per_transaction')::integer
               * current_setting('max_connections')::integer"""
        ).fetchone() or [0]
    return {
        "tenants": len(tokens), "seconds": seconds, "open_vaults": open_vaults, "threads": threads,
        "open_p50_ms": 1000 * Times(tuple(opened)).p50, "open_p95_ms": 1000 * Times(tuple(opened)).p95,
        "search_p50_ms": 1000 * Times(tuple(searched)).p50, "search_p95_ms": 1000 * Times(tuple(searched)).p95,
        **{f"most {name}": value for name, value in most.items()}, "lock table": limit,
    }  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Fill the database, measure, and print JSON."""
    parser = argparse.ArgumentParser(prog="benchmarks.tenants", description=__doc__)
    parser.add_argument("--memories", type=int, default=1_000_000)
    parser.add_argument("--tenants", type=int, default=1000)
    parser.add_argument("--held", type=int, default=4000, help="memories of the pattern")
    parser.add_argument("--questions", type=int, default=60)
    parser.add_argument("--cache", type=Path, default=CACHE)
    options = parser.parse_args(arguments)
    with run_kept_server(options.cache) as dsn:
        sizes = prepare(dsn, options.memories, options.tenants, options.held)
        questions = make_questions(options.questions)
        found = {
            "load": os.getloadavg()[0],
            "space": measure_space(dsn),
            "adding": measure_adding(dsn),
            "server": measure_server(dsn, sizes, questions),
            "by size": compare_security(dsn, sizes, questions),
            "load at the end": os.getloadavg()[0],
        }
    print(json.dumps(found, indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
