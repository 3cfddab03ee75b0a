"""E3 · Reciprocal rank fusion as in specs 2 and 3, with the six cases of spec 2's HybridSearchTest."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from muisti import Muisti, SearchResult, SettingsError
from muisti.model import SearchResults
from muisti.settings import load_settings
from tests.conftest import FakeClock, Opener

TEXTS = [
    "The cat is asleep on the sofa",
    "CAT is also short for computerised axial tomography, says the hospital's leaflet",
    "Our kitten likes to nap on the couch",
    "The sofa was delivered in March",
    "A cat needs a vaccination every year",
    "The budget for the third quarter was approved",
    "Deploys happen with docker compose on Fridays",
    "The bridge is closed for repairs until further notice",
    "Anna plays the violin in an orchestra",
    "Ticket QX-7731 was closed as a duplicate",
]
QUERY = "cat asleep on sofa"


@pytest.fixture
def rrf(opened: Opener) -> Muisti:
    memory = opened(fusion="rrf", record_recall=False)
    memory.save_batch(TEXTS)
    return memory


def ids(results: SearchResults | list[SearchResult]) -> list[str]:
    return [result.memory.id for result in results]


def fuse(memory: Muisti, query: str, k: int = 60, depth: int = 20) -> dict[str, float]:
    """Spec 2's formula over the two lists that the two other modes return."""
    scores: dict[str, float] = {}
    for mode in ("vector", "keyword"):
        found = memory.search(query, mode=mode, limit=depth)  # type: ignore[arg-type]
        for rank, id_ in enumerate(ids(found), start=1):
            scores[id_] = scores.get(id_, 0.0) + 1 / (k + rank)
    return scores


def read_fusion(result: SearchResult) -> float:
    return result.why[-1].score


def test_E3_rrf_combines_vector_and_fts_results(rrf: Muisti) -> None:
    found = rrf.search(QUERY, limit=20)
    assert set(ids(found)) == set(ids(rrf.search(QUERY, mode="vector", limit=20)))
    signals = [{signal.name for signal in result.why} for result in found]
    assert {"keyword", "vector"} <= signals[0]
    assert any("keyword" not in names for names in signals)


def test_E3_document_in_both_results_gets_higher_score(rrf: Muisti) -> None:
    found = rrf.search(QUERY, limit=20)
    in_both = [{"keyword", "vector"} <= {signal.name for signal in result.why} for result in found]
    assert in_both == sorted(in_both, reverse=True)
    assert (in_both[0], in_both[-1]) == (True, False)
    assert found[0].memory.content == TEXTS[0]


def test_E3_topK_respected(rrf: Muisti) -> None:
    assert len(rrf.search(QUERY)) == 10  # the default of spec 2
    first = rrf.search(QUERY, limit=3)
    assert ids(first) == ids(rrf.search(QUERY, limit=10))[:3]


@pytest.mark.parametrize("query", [QUERY, "feline", "closed", "when was the sofa delivered?"])
def test_E3_k_60_parameter_used_correctly(rrf: Muisti, query: str) -> None:
    expected = fuse(rrf, query)
    found = rrf.search(query, limit=20)
    assert {r.memory.id: pytest.approx(read_fusion(r)) for r in found} == expected
    order = [expected[id_] for id_ in ids(found)]
    assert order == sorted(order, reverse=True)
    assert "1 / (60 + rank)" in found[0].why[-1].note


@pytest.mark.parametrize(("k", "depth"), [(0, 20), (1, 2), (60, 3), (1000, 20)])
def test_E3_k_and_depth_are_settings(opened: Opener, k: int, depth: int) -> None:
    memory = opened(fusion="rrf", rrf_k=k, rrf_depth=depth)
    memory.save_batch(TEXTS)
    expected = fuse(memory, QUERY, k, depth)
    found = memory.search(QUERY, limit=len(expected))
    assert {r.memory.id: pytest.approx(read_fusion(r)) for r in found} == expected
    assert set(ids(memory.search(QUERY, limit=20))) == set(ids(memory.search(QUERY, limit=1000)))
    assert len(memory.search(QUERY, limit=20)) == len(TEXTS)  # deeper lists fill the limit


def test_E3_empty_vector_results_falls_back_to_fts_only(opened: Opener) -> None:
    memory = opened(fusion="rrf", embedder="none")
    memory.save_batch(TEXTS)
    found = memory.search(QUERY)
    assert ids(found) == ids(memory.search(QUERY, mode="keyword"))
    assert [read_fusion(r) for r in found] == [1 / (60 + rank) for rank in range(1, len(found) + 1)]
    assert len(found) == 4


def test_E3_empty_fts_results_falls_back_to_vector_only(rrf: Muisti) -> None:
    query = "feline musician"
    assert rrf.search(query, mode="keyword") == []
    found = rrf.search(query)
    assert ids(found) == ids(rrf.search(query, mode="vector"))
    assert [read_fusion(r) for r in found] == [1 / (60 + rank) for rank in range(1, 11)]


def test_E3_salience_age_and_time_do_not_move_an_rrf_result(
    opened: Opener, clock: FakeClock
) -> None:
    memory = opened(fusion="rrf")
    memory.save_batch(TEXTS)
    before = ids(memory.search(QUERY))
    memory.deemphasize(before[0], 0.9)
    clock.forward(days=400)
    memory.reinforce(before[-1], 0.9)
    assert ids(memory.search(QUERY)) == before
    asked = f"{QUERY} yesterday"
    assert set(ids(memory.search(asked))) == set(fuse(memory, asked))


def test_E4_a_superseded_memory_never_stands_above_its_successor_with_rrf(
    opened: Opener, clock: FakeClock
) -> None:
    memory = opened(fusion="rrf")
    memory.save_batch(TEXTS)
    old = memory.save("The staging server listens on port 8080")
    clock.forward(days=1)
    new = memory.save("It is 9090 now")
    plain = ids(memory.search("staging server port"))
    memory.supersede(old.id, new.id)
    found = memory.search("staging server port")
    assert ids(found)[:2] == [new.id, old.id]
    others = [id_ for id_ in plain if id_ not in (old.id, new.id)]
    assert [id_ for id_ in ids(found) if id_ not in (old.id, new.id)] == others
    assert "supersedes" in {signal.name for signal in found[0].why}
    marks = {signal.name: signal for signal in found[1].why}
    assert new.id in marks["validity"].note
    assert marks["validity"].score == 0
    assert (found[1].outdated, found[1].superseded_by) == (True, new.id)


@pytest.mark.parametrize("query", [QUERY, "feline", "closed", "qwxzv blorp"])
@pytest.mark.parametrize("mode", ["hybrid", "vector", "keyword"])
def test_E5_the_score_of_an_rrf_result_is_its_confidence(
    opened: Opener, query: str, mode: str
) -> None:
    memory = opened(fusion="rrf")
    memory.save_batch(TEXTS)
    found = memory.search(query, mode=mode, limit=20)  # type: ignore[arg-type]
    scores = [result.score for result in found]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    if query == "qwxzv blorp":
        assert not found.has_good_match


def test_E5_the_confidence_is_that_of_the_other_fusion(vault: Path) -> None:
    with Muisti.open(vault) as memory:
        memory.save_batch(TEXTS)
        plain = memory.search(QUERY)[0]
    with Muisti.open(vault, fusion="rrf") as memory:
        found = memory.search(QUERY)[0]
    assert found.memory.id == plain.memory.id
    assert found.score == pytest.approx(plain.score, abs=0.1)
    assert found.score > 0.5


def test_E8_explain_agrees_with_an_rrf_search(rrf: Muisti) -> None:
    found = rrf.search(QUERY, limit=20)
    for place, result in enumerate(found, start=1):
        explained = rrf.explain(QUERY, result.memory.id)
        assert (explained.rank, explained.score, explained.signals) == (
            place,
            result.score,
            result.why,
        )
    names = {signal.name for result in found for signal in result.why}
    assert names == {"keyword", "vector", "fusion"}


def test_E3_an_unknown_fusion_is_an_error_that_names_the_choices(opened: Opener) -> None:
    with pytest.raises(SettingsError, match=r"fusion = 'rff' must be one of scores, rrf"):
        opened(fusion="rff")
    for name, value in [("rrf_k", -1), ("rrf_depth", 0), ("rrf_depth", "deep")]:
        with pytest.raises(SettingsError, match=name):
            opened(**{name: value})


def test_K6_a_foreign_vault_does_not_choose_the_fusion(tmp_path: Path) -> None:
    (tmp_path / "muisti.toml").write_text('fusion = "rrf"\nrrf_depth = 1\n', encoding="utf-8")
    settings = load_settings(tmp_path, environ={}, foreign=True)
    assert (settings.fusion, settings.rrf_depth) == ("scores", 20)
    assert load_settings(tmp_path, environ={}).fusion == "rrf"


def test_E3_related_and_time_filters_work_with_rrf(rrf: Muisti, clock: FakeClock) -> None:
    cat = next(one for one in rrf.list(limit=None) if one.content == TEXTS[0])
    related = rrf.related(cat.id)
    scores = [result.score for result in related]
    assert cat.id not in ids(related)
    assert scores == sorted(scores, reverse=True)
    assert rrf.search(QUERY, until=clock.now() - timedelta(days=1)) == []
