"""The yardstick of `benchmarks.postgres`: SQL written by hand for the same job, and nothing else.

Ten rows for a question, by words and by vectors, on the tables of the store: bm25 from `postings`,
distances of all vectors of the tenant, both lists added, the ten rows joined. It has no filter, no
neighbours, no time, no confidence and no reasons.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import psycopg

from muisti.ports import Vector
from muisti.recall.query import POSTINGS, split_query

LIMIT = 10
POOL = 50
NEAREST = 500
BATCH = 5000

PREPARE = """
CREATE SCHEMA IF NOT EXISTS bench;
CREATE TABLE IF NOT EXISTS bench.vectors (
    tenant integer NOT NULL, v bigint NOT NULL, n bigint NOT NULL, vector halfvec(384) NOT NULL,
    PRIMARY KEY (tenant, v)
);
"""

# The rarest words first, until they have so many texts: as muisti does, so that both do the same.
WORDS = f"""
sought AS MATERIALIZED (
    SELECT w.word, ln((t.texts - w.texts + 0.5) / (w.texts + 0.5)) AS idf,
        t.length::float8 / t.texts AS average
    FROM (
        SELECT word, texts, sum(texts) OVER (ORDER BY texts, word) AS total
        FROM lexicon WHERE tenant = %(tenant)s AND word = ANY(%(words)s)
    ) w, totals t
    WHERE t.tenant = %(tenant)s AND (w.total <= {POSTINGS} OR w.total = w.texts)
), by_words AS (
    SELECT p.n, sum(s.idf * p.times * 2.2 / (p.times + 1.2 * (0.25 + 0.75 * p.length / s.average)))
        AS score
    FROM sought s JOIN postings p ON p.tenant = %(tenant)s AND p.word = s.word
    GROUP BY p.n ORDER BY score DESC LIMIT {POOL}
)"""
EXACT = f"""
by_vectors AS (
    SELECT n, 1 - (vector <=> %(vector)s::halfvec(384)) AS score FROM bench.vectors
    WHERE tenant = %(tenant)s ORDER BY vector <=> %(vector)s::halfvec(384) LIMIT {POOL}
)"""
SIGNS = f"""
near AS MATERIALIZED (
    SELECT v FROM signs_{{space}} WHERE tenant = %(tenant)s
    ORDER BY signs <~> %(signs)s::bit(384) LIMIT {NEAREST}
), by_vectors AS (
    SELECT b.n, 1 - (b.vector <=> %(vector)s::halfvec(384)) AS score
    FROM near JOIN bench.vectors b ON b.tenant = %(tenant)s AND b.v = near.v
    ORDER BY score DESC LIMIT {POOL}
)"""
TEN = f"""
SELECT e.id, e.title, e.content, e.created_at, f.score FROM (
    SELECT n, sum(score) AS score FROM ({{lists}}) l GROUP BY n ORDER BY score DESC LIMIT {LIMIT}
) f JOIN entries e ON e.tenant = %(tenant)s AND e.n = f.n ORDER BY f.score DESC
"""
BOTH = "SELECT n, score / 20 AS score FROM by_words UNION ALL SELECT n, score FROM by_vectors"


class HandWritten:
    """One connection that asks one statement for each question."""

    def __init__(self, dsn: str, tenant: int = 1) -> None:
        self.db = psycopg.connect(dsn, autocommit=True, application_name="by hand")
        self.db.execute("SET search_path = muisti, public; SET jit = off", prepare=False)
        # An HNSW index returns no more than this; the default is 40.
        self.db.execute(f"SET hnsw.ef_search = {NEAREST}".encode(), prepare=False)
        self._tenant = tenant
        row = self.db.execute(
            "SELECT space, centre FROM spaces WHERE tenant = %s AND serving", (tenant,)
        ).fetchone()
        assert row is not None, "there are no vectors"
        self._space, centre = row
        self._centre = 0 if centre is None else np.frombuffer(centre, np.float32)
        lists = {
            "keyword": (WORDS, "SELECT n, score FROM by_words"),
            "exact": (f"{WORDS}, {EXACT}", BOTH),
            "signs": (f"{WORDS}, {SIGNS.format(space=self._space)}", BOTH),
        }
        self._sql = {
            name: f"WITH {parts} {TEN.format(lists=both)}".encode()
            for name, (parts, both) in lists.items()
        }

    def prepare(self) -> None:
        """Keep the vectors as pgvector's own type too, once: a person would store them so."""
        from muisti.storage.vector_codes import decode_vectors

        self.db.execute(PREPARE, prepare=False)
        sql = f"""SELECT v, scale, codes, rest, n FROM vectors_{self._space} WHERE tenant = %s
                  AND v > coalesce((SELECT max(v) FROM bench.vectors WHERE tenant = %s), 0)
                  ORDER BY v LIMIT {BATCH}"""
        both = (self._tenant, self._tenant)
        while rows := self.db.execute(sql.encode(), both, binary=True).fetchall():
            vectors = decode_vectors(rows, 384)
            with (
                self.db.cursor() as cursor,
                cursor.copy("COPY bench.vectors (tenant, v, n, vector) FROM STDIN") as copy,
            ):
                for (v, *_, n), vector in zip(rows, vectors, strict=True):
                    copy.write_row((self._tenant, v, n, write_vector(vector)))
        self.db.execute("VACUUM ANALYZE bench.vectors")

    def ask(self, how: str, question: str, vector: Vector) -> list[tuple[Any, ...]]:
        """Return ten rows: by words alone, with all vectors, or with those of similar signs."""
        values: dict[str, Any] = {"tenant": self._tenant, "words": split_query(question)}
        if how != "keyword":
            values["vector"] = write_vector(vector)
        if how == "signs":
            values["signs"] = "".join("1" if x > 0 else "0" for x in vector - self._centre)
        return self.db.execute(self._sql[how], values).fetchall()

    def close(self) -> None:
        self.db.close()


def write_vector(vector: Sequence[float] | Vector) -> str:
    """Return a vector as pgvector reads it."""
    return "[" + ",".join(f"{x:.6g}" for x in vector) + "]"
