"""Fills a database with tenants of very different sizes, for `benchmarks.tenants`.

A few thousand memories are saved by muisti itself, in a tenant that serves as a pattern. The others
are copies of its rows, made by the server, with IDs and numbers of their own.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence

import psycopg

from benchmarks.texts import vocabulary
from muisti import Muisti

PATTERN = 1
"""The tenant whose rows are copied."""
WORDS = 20
"""Words of a memory."""
STEP = 1_000_000
"""Added to the numbers of texts for each copy of the pattern."""
ID = "overlay({0} placing lpad(to_hex(c), 4, '0') from 10 for 4)"
BY_TEXT = ("entries", "bands", "words", "postings", "embedded", "vectors_1", "signs_1")
BY_ID = {"memories": "id", "usage": "id"}


def choose_sizes(total: int, tenants: int) -> list[int]:
    """Return how many memories each tenant has, by Zipf: the first has the most."""
    harmonic = sum(1 / rank for rank in range(1, tenants + 1))
    return [max(1, round(total / harmonic / rank)) for rank in range(1, tenants + 1)]


def write_texts(count: int) -> list[str]:
    """Return texts of common and rare words, the same in every run."""
    chance = random.Random(7)
    words = vocabulary()[1]
    weights = [1 / (rank + 20) for rank in range(len(words))]
    return [" ".join(chance.choices(words, weights, k=WORDS)) for _ in range(count)]


def save_pattern(dsn: str, count: int) -> None:
    """Save the memories that the others are copied from."""
    texts = write_texts(count)
    options = {"embedder": "hashing", "record_recall": False, "merge_duplicates": False,
               "propose_links": False}  # fmt: skip
    with Muisti.open(dsn, **options) as memory:
        for at in range(0, count, 500):
            memory.save_batch(texts[at : at + 500])
        memory.reindex_missing()


def fill(dsn: str, sizes: Sequence[int], report: Callable[[str], None]) -> None:
    """Copy the pattern into one tenant of each size, named `zipf-RANK`; continue where it ended."""
    with psycopg.connect(dsn, autocommit=True) as db:
        copy = _prepare_copies(db)
        known = {number for (number,) in db.execute("SELECT tenant FROM muisti.tenants")}
        started = time.monotonic()
        done = 0
        for rank, size in enumerate(sizes, 1):
            done += size
            tenant = 1000 + rank
            if tenant in known:
                continue
            with db.transaction():
                name = f"zipf-{rank}"
                sql = "INSERT INTO muisti.tenants (tenant, name) VALUES (%s, %s)"
                db.execute(sql, (tenant, name))
                copy(tenant, size)
            if rank in (1, 2, 5, 10) or rank % 50 == 0:
                report(f"{rank} tenants, {done:,} memories, {time.monotonic() - started:.0f} s")
        if known.isdisjoint(range(1001, 1001 + len(sizes))):
            return
        for table, column in (("entries", "n"), ("vectors_1", "v")):
            sequence = f"pg_get_serial_sequence('muisti.{table}', '{column}')"
            db.execute(
                f"SELECT setval({sequence}, greatest(1000 * {STEP}, nextval({sequence})))".encode()
            )


def copy_tenant(dsn: str, tenant: int, size: int) -> None:
    """Copy the pattern into one tenant, which exists."""
    with psycopg.connect(dsn, autocommit=True) as db:
        _prepare_copies(db)(tenant, size)


def _prepare_copies(db: psycopg.Connection) -> Callable[[int, int], None]:
    """Return a function that copies the pattern to a tenant of a size."""
    db.execute("SET synchronous_commit = off; SET work_mem = '256MB'; SET muisti.admin = 'on'")
    db.execute("SET search_path = muisti, public; SET muisti.tenant = 1")
    db.execute(
        """CREATE TEMP TABLE pattern AS SELECT n, id, row_number() OVER (ORDER BY n) - 1 AS rank
           FROM muisti.entries WHERE tenant = 1 ORDER BY n"""
    )
    db.execute("CREATE INDEX ON pattern (n); CREATE INDEX ON pattern (id); ANALYZE pattern")
    [held] = db.execute("SELECT count(*) FROM pattern").fetchone() or [0]
    statements = [
        *(_make_copy(db, table, "n", "n") for table in BY_TEXT),
        *(_make_copy(db, table, key, "id") for table, key in BY_ID.items()),
        *_SUMS,
    ]

    def copy(tenant: int, size: int) -> None:
        values = {"tenant": tenant, "copies": -(-size // held), "held": held, "size": size}
        for sql in statements:
            db.execute(sql.encode(), values)

    return copy


def _make_copy(db: psycopg.Connection, table: str, key: str, pattern_key: str) -> str:
    """Return the statement that copies the rows of a table to a tenant."""
    rows = db.execute(
        """SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0
           AND NOT attisdropped AND attgenerated = '' ORDER BY attnum""",
        (f"muisti.{table}",),
    ).fetchall()
    made = {
        "tenant": "%(tenant)s",
        "n": f"s.n + c * {STEP}",
        "v": f"s.v + c * {STEP}",
        "id": ID.format("s.id"),
        "path": "replace(s.path, '.md', '_' || c || '.md')",
        "file": f"""convert_to(replace(convert_from(s.file, 'UTF8'), s.id, {ID.format("s.id")}),
                    'UTF8')""",
    }
    names = ", ".join(f'"{name}"' for (name,) in rows)
    values = ", ".join(made.get(name, f's."{name}"') for (name,) in rows)
    return f"""INSERT INTO muisti.{table} ({names}) OVERRIDING SYSTEM VALUE
        SELECT {values} FROM generate_series(0, %(copies)s - 1) c
        CROSS JOIN pattern p JOIN muisti.{table} s ON s.{key} = p.{pattern_key}
        WHERE s.tenant = {PATTERN} AND c * %(held)s + p.rank < %(size)s"""


_SUMS = (
    """INSERT INTO muisti.lexicon (tenant, word, texts) SELECT %(tenant)s, word, count(*)
       FROM muisti.postings WHERE tenant = %(tenant)s GROUP BY word""",
    """INSERT INTO muisti.lexicon_parts (tenant, part, word) SELECT %(tenant)s, part, word
       FROM muisti.lexicon_parts WHERE tenant = 1 AND word IN
       (SELECT word FROM muisti.lexicon WHERE tenant = %(tenant)s)""",
    """INSERT INTO muisti.totals (tenant, texts, length) SELECT %(tenant)s, count(*), sum(length)
       FROM muisti.words WHERE tenant = %(tenant)s""",
    """INSERT INTO muisti.spaces (tenant, space, serving, centre, centred_on)
       SELECT %(tenant)s, space, serving, centre, centred_on FROM muisti.spaces WHERE tenant = 1""",
    """INSERT INTO muisti.vault (tenant, id, partial) VALUES (%(tenant)s, 'v%(tenant)s', false)
       ON CONFLICT DO NOTHING""",
)
