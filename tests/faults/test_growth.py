"""K3 · No text is slow to parse: time grows in proportion to length, whatever is repeated."""

from __future__ import annotations

import pytest

from muisti.text.redact import redact_text
from tests.faults.growth import MOST, fit_exponent, measure_growth
from tests.faults.hostile import derive_pieces
from tests.faults.parsers import PARSERS, SETTINGS, Parser, list_secret_pieces
from tests.tiers import amount, spread


def find_slow(parser: Parser, pieces: list[str]) -> list[str]:
    """Return the pieces for which time grows faster than the text, four times in a row."""
    slow = []
    for piece in pieces:
        for _ in range(4):  # other processes disturb the measurement
            growth = measure_growth(parser.function, piece)
            if growth.exponent <= MOST:
                break
        else:
            slow.append(f"{parser.name} of {piece!r}: {growth}")
    return slow


@pytest.mark.exhaustive(keep=100)
@pytest.mark.parametrize("parser", PARSERS, ids=lambda parser: parser.name)
def test_C1_K3_every_parser_takes_linear_time(parser: Parser) -> None:
    assert find_slow(parser, spread(parser.list_pieces(), amount(quick=2, all=9, long=10**6))) == []


def test_C1_the_secret_scanner_takes_linear_time() -> None:
    """The pieces come from every row of the table of secrets."""
    parser = Parser("secrets", lambda text: redact_text(text, SETTINGS))
    pieces = list_secret_pieces()
    assert len(pieces) > 500
    assert find_slow(parser, spread(pieces, amount(quick=20, all=200, long=10**6))) == []


def test_C1_what_was_quadratic_is_linear() -> None:
    parser = Parser("secrets", lambda text: redact_text(text, SETTINGS))
    assert find_slow(parser, ["pwd=", "token: ", "password= ", "senha pwd="]) == []


def test_K3_the_measure_finds_what_is_quadratic() -> None:
    def search_again(text: str) -> None:
        for start in range(0, len(text), 10):
            text[start:].lower()

    assert measure_growth(search_again, "pwd=").exponent > MOST
    assert fit_exponent({1: 1.0, 2: 4.0, 4: 16.0}) == pytest.approx(2)
    assert {"BEGIN ", "BEGIN aaa KE", "BEGIN aaa KEY"} <= set(derive_pieces("BEGIN [a-z]{3,} KEY"))
