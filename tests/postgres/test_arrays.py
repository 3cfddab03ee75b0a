"""Arrays are sent as PostgreSQL writes them."""

from __future__ import annotations

import psycopg
import pytest

from muisti.storage.postgres.rows import format_numbers, format_words
from tests.postgres.server import make_location


@pytest.mark.parametrize("words", [[], ["one"], ["a\\b", 'say"so"', "{x,y}", "NULL", "日本", "'"]])
def test_words_are_what_the_server_reads(words: list[str]) -> None:
    sql = "SELECT %s::text[], %s::real[]"
    numbers = [1.5 * place for place in range(len(words))]
    with psycopg.connect(make_location().partition("&options")[0]) as db:
        row = db.execute(sql, (format_words(words), format_numbers(numbers))).fetchone()
    assert row == (words, numbers)
