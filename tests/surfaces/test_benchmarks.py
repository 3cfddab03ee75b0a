"""The benchmarks run and say what they promise. How fast anything is, no test asserts."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks import (
    chart,
    confidence,
    confidence_data,
    datasets,
    ingest,
    order,
    order_tables,
    order_vaults,
    peer_tables,
    peers,
    quality,
    same_answers,
    same_writes,
    scale_vaults,
    search_scale,
    speed,
    speed_tables,
    tables,
    tenant_rows,
    texts,
    workers,
)
from benchmarks import (
    words as word_engines,
)

from muisti import Muisti


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


@pytest.mark.exhaustive
def test_scale_compares_search_with_the_bare_embedding(tmp_path: Path) -> None:
    path = tmp_path / "scale.json"
    small = ["--sizes", "60", "--questions", "3", "--fresh", "0", "--saves", "2"]
    small += ["--batch", "5", "--cache", str(tmp_path / "kept")]
    assert search_scale.main([*small, "--json", str(path)]) == 0
    found = json.loads(path.read_text())
    part = found["sizes"]["60"]["this"]
    assert part["search"].keys() == {*search_scale.MODES, "embedding", "scan"}
    assert all(one["cpu_p50_ms"] > 0 and one["runs"] == 3 for one in part["search"].values())
    assert part["reindex"]["memories"] == 60
    assert part["memory"]["private_mb"] > 1
    assert part["writes"].keys() == {"save", "bare", "batch", "delete", "open", "walk"}
    assert "load" in search_scale.make_search_table(found).text()
    assert not list((tmp_path / "kept").glob("copy-*"))


@pytest.mark.exhaustive
def test_a_large_vault_is_written_as_files(tmp_path: Path) -> None:
    vault = scale_vaults.build_vault(tmp_path, 40, bulk=30)
    assert scale_vaults.build_vault(tmp_path, 40) == vault
    assert len(list(vault.glob("notes/*.md"))) == 40
    with Muisti.open(vault, record_recall=False) as memory:
        assert memory.get_stats().total_count == 40
        assert memory.search("What happened?").mode == "hybrid"


def test_scale_questions_differ_and_are_about_as_long() -> None:
    columns = scale_vaults.make_questions(30)
    assert len({question for column in columns for question in column}) == 90
    assert all(max(map(len, row)) - min(map(len, row)) < 30 for row in zip(*columns, strict=True))


@pytest.mark.exhaustive
def test_peers_measure_muisti_as_any_other(tmp_path: Path) -> None:
    path = tmp_path / "peers.json"
    small = ["--systems", "muisti", "--sizes", "40", "--questions", "2", "--added", "8"]
    small += [
        "--embedded",
        "4",
        "--first",
        "1",
        "--conversations",
        "--cache",
        str(tmp_path / "kept"),
    ]
    assert peers.main([*small, "--python", sys.executable, "--json", str(path)]) == 0
    found = json.loads(path.read_text())
    ours = found["sizes"]["40"]["muisti"]
    assert ours["search"]["runs"] == 2
    assert min(ours["ingest"]["per_cpu_second"], ours["first"]["cpu"], ours["bytes_each"]) > 0
    assert found["as_installed"] == {"muisti": "runs"}
    tables_ = peer_tables.of_peers(found)
    assert [table.title for table in tables_][:2] == [
        "Next to other memory systems, 40 texts",
        "Ingest",
    ]
    assert "muisti" in chart.draw_speed(found)


def test_peers_without_their_environment_say_how_to_create_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert peers.main(["--python", str(tmp_path / "python")]) == 1
    assert "make bench-peers" in capsys.readouterr().err


@pytest.mark.exhaustive
def test_same_answers_of_the_same_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    turns = [
        {"speaker": "Ann", "dia_id": f"D1:{place}", "text": text}
        for place, text in enumerate(("I bought a canoe", "Nice", "It is red", "I sold my bike"), 1)
    ]
    talk = {"session_1": turns, "session_1_date_time": "1:56 pm on 8 May, 2023"}
    qa = [{"question": "What did Ann buy?", "evidence": ["D1:1"]}]
    locomo = [{"sample_id": "conv-1", "conversation": talk, "qa": qa}]
    (tmp_path / "locomo_dev.json").write_text(json.dumps(locomo))
    asked = {
        "question_id": "q1",
        "question": "Where do I keep my canoe?",
        "question_date": "2023/05/20 (Sat) 02:21",
        "haystack_session_ids": ["s1"],
        "haystack_dates": ["2023/05/19 (Fri) 02:21"],
        "haystack_sessions": [
            [{"role": "user", "content": "My canoe is in the shed", "has_answer": True}]
        ],
    }
    (tmp_path / "longmemeval_dev.json").write_text(json.dumps([asked]))
    kept = ["--cache", str(tmp_path / "kept"), "--data", str(tmp_path)]
    assert same_answers.main(["--against", str(workers.ROOT), *kept]) == 0
    table = capsys.readouterr().out
    shares = {row[0]: row[1:4] for row in map(str.split, table.splitlines()) if len(row) == 5}
    assert shares["hybrid"] == shares["keyword"] == ["2", "100.00%", "100.00%"]


@pytest.mark.exhaustive
def test_same_writes_of_the_same_code(capsys: pytest.CaptureFixture[str]) -> None:
    only = ["--only", "write_by_hand", "--only", "talk_and_index"]
    assert same_writes.main(["--against", str(workers.ROOT), *only]) == 0
    assert capsys.readouterr().out.endswith("\n0 differences\n")


@pytest.mark.exhaustive
def test_ingest_compares_with_files_and_sqlite(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    few = ["--texts", str(ingest.SINGLE + 40), "--rounds", "1", "--peers", str(tmp_path / "none")]
    assert ingest.main(few) == 0
    shown = capsys.readouterr().out
    for figure in ("batch", "single", "reindex, with vectors", "bare: single"):
        assert f"| {figure} |" in shown
    assert "without chromadb" in shown


def test_ingest_shows_the_ratio_to_chromadb_as_one_of_speeds() -> None:
    found = {
        name: {"batch": ingest.Cost(cpu=cpu, wall=2 * cpu)}
        for name, cpu in {
            "new": 2.0,
            "vectors": 4.0,
            "bare": 1.0,
            "old": 6.0,
            "chromadb": 3.0,
        }.items()
    }
    first, second, *others = ingest.describe(found).splitlines()[2:]
    assert "2.00× CPU, 2.00× wall | 3.00× | – |" in first
    assert second.endswith("| 0.75× CPU, 0.75× wall |")
    assert len(others) == 2


def test_same_writes_names_what_differs() -> None:
    old = {"files": {"a.md": "1", "b.md": "1"}, "index": {"entries": ["x", "y"]}, "rebuilt": {}}
    new = {"files": {"a.md": "2"}, "index": {"entries": ["x", "x"]}, "rebuilt": {}}
    found = same_writes.compare_written(old, new)
    assert found == ["file a.md", "file b.md", "index entries: 2 rows of 2"]


def test_same_answers_excuses_ties_only() -> None:
    a, b, c = (same_answers.Hit(id_, 0.5, "") for id_ in "abc")
    best = same_answers.Hit("z", 0.9, "")
    assert same_answers.compare([best, a, b], [best, b, a]) == (True, True, 0.0)
    assert same_answers.compare([best, a, b], [best, a, c]) == (True, True, 0.0)
    assert same_answers.compare([best, a], [a, best]) == (True, False, 0.0)
    assert same_answers.compare([best, a], [a, b]) == (False, False, 0.0)
    assert same_answers.compare([best, a], [best]) == (False, False, 0.0)
    less = same_answers.compare([best], [best._replace(score=0.8)])
    assert less.same_set
    assert less.same_order
    assert less.difference == pytest.approx(0.1)


def test_a_worker_reports_what_a_command_raised() -> None:
    worker = workers.Worker("scale_worker", "kept")
    with pytest.raises(workers.Failed, match="KeyError: 'nothing'"):
        worker.ask("nothing")
    assert worker.ask("about").result["source"].startswith(str(workers.ROOT))
    worker.close()
    with pytest.raises(workers.Failed):
        worker.ask("about")


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


def test_L6_tenants_have_sizes_by_zipf_that_add_up() -> None:
    sizes = tenant_rows.choose_sizes(1_000_000, 1000)
    assert len(sizes) == 1000
    assert sum(sizes) == pytest.approx(1_000_000, rel=0.001)
    assert sizes[0] / sizes[9] == pytest.approx(10, rel=0.01)
    assert min(sizes) > 0


def test_E1_engines_for_words_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    assert word_engines.main(["--sizes", "300", "--queries", "5"]) == 0
    printed = capsys.readouterr().out
    for engine in ("FTS5", "postings"):
        assert f"300 {engine}" in printed
