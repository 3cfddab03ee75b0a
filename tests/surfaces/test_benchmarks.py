"""The benchmarks run and say what they promise. How fast anything is, no test asserts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks import (
    confidence,
    confidence_data,
    datasets,
    order,
    order_tables,
    order_vaults,
    quality,
    speed,
    speed_tables,
    tables,
    texts,
)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """One quick run on a tiny vault."""
    path = tmp_path_factory.mktemp("speed") / "speed.json"
    assert speed.main(["--sizes", "100,200", "--quick", "--json", str(path)]) == 0
    return json.loads(path.read_text())


@pytest.mark.exhaustive
def test_speed_says_where_the_figures_come_from(found: Any) -> None:
    assert {"processor", "cores", "load", "python", "sqlite", "muisti"} <= found["machine"].keys()


@pytest.mark.exhaustive
@pytest.mark.parametrize("part", ["save", "search", "upkeep", "save_at_size", "cold_start"])
def test_speed_measures(found: Any, part: str) -> None:
    assert found[part]


@pytest.mark.exhaustive
def test_speed_ratios_are_positive(found: Any) -> None:
    compared = [*found["save"].values(), *found["search"].values(), *found["save_at_size"].values()]
    assert all(one["ratio"] > 0 and one["p50_ms"] > 0 for part in compared for one in part.values())
    assert {"muisti", "bare", "naive", "noting"} <= found["search"]["200"].keys()
    upkeep = found["upkeep"]["200"]
    assert upkeep["memories"] == 200
    assert (
        min(upkeep["open_ratio"], upkeep["reindex_per_second"], upkeep["index_bytes_per_memory"])
        > 0
    )


@pytest.mark.exhaustive
def test_speed_tables_fit_the_page(found: Any, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(tables.PAGE.read_text("utf-8"), "utf-8")
    made = {table.name: table.markdown() for table in speed_tables.all_tables(found)}
    tables.rewrite(page, made)
    assert all(section in page.read_text("utf-8") for section in made.values())


@pytest.fixture(scope="module")
def kept_in_order(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """One quick run on tiny vaults."""
    return order.run(order_vaults.Plan.quick([80, 100], tmp_path_factory.mktemp("order")))


@pytest.mark.exhaustive
def test_order_compares_every_kind_of_save_and_tells_its_steps(kept_in_order: Any) -> None:
    kinds = {"new", "the same again", "nearly the same", "common words"}
    assert kept_in_order["save"].keys() == kept_in_order["shares"].keys() == kinds
    assert kept_in_order["save"]["new"]["100"]["kept"] == 6
    assert kept_in_order["save"]["the same again"]["100"]["kept"] == 0
    assert all(
        sum(row.values()) - row["ms"] == pytest.approx(1)
        for row in kept_in_order["shares"]["new"].values()
    )


@pytest.mark.exhaustive
def test_order_fades_as_numpy_does(kept_in_order: Any) -> None:
    assert kept_in_order["fade"]["faded"] > 0
    assert kept_in_order["fade"]["difference"] < order_vaults.MOST_DIFFERENCE


@pytest.mark.exhaustive
def test_order_moves_and_takes_apart(kept_in_order: Any) -> None:
    assert kept_in_order["evict"]["moved"] > 0
    assert kept_in_order["history"]["unmerge"]["runs"] == 2


@pytest.mark.exhaustive
def test_order_tables_fit_the_page(kept_in_order: Any, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(tables.PAGE.read_text("utf-8"), "utf-8")
    made = {table.name: table.markdown() for table in order_tables.tables(kept_in_order)}
    tables.rewrite(page, made)
    assert all(section in page.read_text("utf-8") for section in made.values())


def test_order_says_which_limit_is_broken() -> None:
    slow = {"ratio": 9.0}
    found: Any = {
        "save": {"new": slow, "old": {"ratio": 1.0}},
        "fade": {"decay_salience": slow, "difference": 0.1},
    }
    found["fade"]["every salience, sorted"] = {"ratio": 1.0}
    assert [line.split()[0] for line in order_tables.broken(found)] == [
        "a",
        "decay_salience",
        "salience",
    ]


def test_texts_are_the_same_in_every_run_and_need_no_data(tmp_path: Path) -> None:
    source, words = texts.vocabulary(tmp_path)
    assert source == "made-up words"
    assert len(words) > 10_000
    first, second = (texts.Writer(words).texts(5) for _ in range(2))
    assert first == second
    assert 20 <= len(first[0].content.split()) <= 150


def test_quality_without_data_says_what_to_get(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert quality.main(["--data", str(tmp_path), "--json", str(tmp_path / "out.json")]) == 1
    said = capsys.readouterr().err
    assert all(name in said for name in datasets.HOW_TO_GET)


def test_quality_scores_a_ranking() -> None:
    scores = quality.scored(frozenset(("a", "b")), ["x", "a", "y", "z", "v", "b"])
    assert scores == {"recall@5": 0.5, "recall@10": 1.0, "any@10": 1.0, "all@10": 1.0, "all@5": 0.0}
    assert quality.folded(["a1", "b1", "a2"], {"a1": "a", "a2": "a", "b1": "b"}) == ["a", "b"]


@pytest.mark.parametrize(
    ("written", "meant"),
    [("D1:05", ["D1:5"]), ("D:1:5", ["D1:5"]), ("D8:6; D9:17", ["D8:6", "D9:17"])],
)
def test_evidence_is_normalised(written: str, meant: list[str]) -> None:
    assert datasets._turn_ids(written) == meant


def test_confidence_without_data_says_what_to_get(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert confidence.main(["--data", str(tmp_path)]) == 1
    assert "locomo_dev.json is missing" in capsys.readouterr().err


def test_confidence_measures_order_and_calibration() -> None:
    scores, right = [0.1, 0.2, 0.8, 0.9], [False, False, True, True]
    assert confidence.measure_auc(scores, right) == 1.0
    assert confidence.measure_auc([0.5] * 4, right) == 0.5
    assert confidence.measure_ece([0.5] * 40, [True, False] * 20) == pytest.approx(0.0)
    assert confidence.measure_ece([0.9] * 40, [False] * 40) == pytest.approx(0.9)


def test_confidence_finds_the_weights_of_a_logistic_function() -> None:
    rng = np.random.default_rng(1)
    numbers = np.c_[np.ones(20_000), rng.normal(size=(20_000, 2))]
    weights = np.array([-1.0, 2.0, 0.5])
    right = (rng.random(20_000) < confidence.logistic(numbers @ weights)).astype(float)
    found = confidence.fit_logistic(numbers, right, np.ones(20_000))
    assert found == pytest.approx(weights, abs=0.1)


def test_confidence_asks_in_one_or_two_words() -> None:
    question = "When did Melanie run a charity race?"
    assert confidence_data.shorten(question, 1, {"Melanie"}) == "charity"
    assert confidence_data.shorten(question, 2, {"Melanie"}) == "charity race"
