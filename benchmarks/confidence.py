"""How well the score of a hit says whether it is right: `python -m benchmarks.confidence
[--data FOLDER] [--vaults FOLDER] [--cache FOLDER] [--markdown]`.

The constants of `muisti.recall.confidence` are fitted on one half of the questions and measured on
the other, then the other way round. LoCoMo is halved by conversation, the other sets by question.
At last they are fitted on all of them and printed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks import datasets
from benchmarks.confidence_data import (
    ARTICLE,
    DOMAIN,
    EXCHANGED,
    GIBBERISH,
    MODES,
    SHORT,
    UNRELATED,
    Case,
    collect,
)
from benchmarks.tables import PAGE, Table, rewrite
from muisti.recall import confidence
from muisti.recall.confidence import (
    Constants,
    describe_answer,
    describe_topic,
    estimate,
    estimate_topic,
)

Numbers = NDArray[Any]
SETS = ("LoCoMo", "LongMemEval", "XQuAD", "Notes")
SIZES = ("vaults of 3", "vaults of 14", "vault of 300", "vault of 30,000")
OFF_TOPIC_TO_REAL = 2.0
"""How many off-topic questions are assumed for each real one: most prompts are not about the past."""
NEAR_TOPIC = 0.3
"""The weight of questions about another article: they are not quite off-topic."""
SHORT_TO_REAL = 0.3
"""The weight of queries of one or two words, which the question sets do not have."""
RIDGE = 0.2
"""Pulls the weights to 0, so that a few questions do not decide."""
FLOORS = (0.02, 0.03, 0.05, 0.08, 0.10, 0.15, 0.20)
UNAVAILABLE = {
    "keyword": ((1, 4), (6, 8, 13, 14, 15)),
    "hybrid": ((), ()),
    "vector": ((), (12, 14, 15)),
}
"""Numbers of topic and answer that a mode does not have, or that do not help it."""


# -- Fitting


def fit_logistic(numbers: Numbers, targets: Numbers, weights: Numbers) -> Numbers:
    """Return the weights of a logistic regression, by Newton's method."""
    found = np.zeros(numbers.shape[1])
    ridge = RIDGE * np.eye(len(found))
    ridge[0, 0] = 1e-6
    for _ in range(50):
        guess = logistic(numbers @ found)
        slope = numbers.T @ (weights * (targets - guess)) - ridge @ found
        curve = (numbers * (weights * guess * (1 - guess))[:, None]).T @ numbers + ridge
        step = np.linalg.solve(curve, slope)
        found += step
        if np.abs(step).max() < 1e-8:
            break
    return found


def logistic(values: Numbers) -> Numbers:
    return np.asarray(1 / (1 + np.exp(-values)))


def fit(cases: Sequence[Case], mode: str, floor: float) -> Constants:
    """Return the constants of one mode, from real and off-topic cases.

    The notes are left out: their questions are made up. They show what was not fitted to them.
    """
    cases = [case for case in cases if case.set != "Notes"]
    real = [case for case in cases if case.kind == "real" and case.hits]
    short = [case for case in cases if case.kind == SHORT and case.hits]
    off = [
        case
        for case in cases
        if case.hits
        and (
            case.kind in (GIBBERISH, ARTICLE, UNRELATED)
            or (case.kind == DOMAIN and case.set != "LongMemEval")
        )
    ]  # in LongMemEval an assistant explains much of what XQuAD asks
    no_topic, no_answer = UNAVAILABLE[mode]
    of_real = _share_weight(real, len(real))
    of_short = _share_weight(short, SHORT_TO_REAL * len(real))
    of_off = _share_weight(off, OFF_TOPIC_TO_REAL * len(real))

    numbers = np.array([describe_topic(case.hits) for case in (*real, *short, *off)])
    numbers[:, no_topic] = 0.0
    targets = np.array([1.0] * (len(real) + len(short)) + [0.0] * len(off))
    topic = fit_logistic(numbers, targets, np.concatenate([of_real, of_short, of_off]))
    meaning = () if mode == "keyword" else confidence.MEANING
    constants = Constants(tuple(topic), meaning, (), (), floor)
    first, further = (
        _fit_answer(real, of_real, constants, places, no_answer)
        for places in ((0,), tuple(range(1, confidence.FIRST)))
    )
    return constants._replace(first=tuple(first), further=tuple(further))


def _share_weight(cases: Sequence[Case], total: float) -> Numbers:
    """Return a weight for each case, so that each set and kind weighs the same."""
    groups = Counter((case.set, case.kind) for case in cases)
    weights = np.array(
        [
            (NEAR_TOPIC if case.kind == ARTICLE else 1.0) / groups[case.set, case.kind]
            for case in cases
        ]
    )
    return np.asarray(weights * total / weights.sum())


def _fit_answer(
    real: Sequence[Case],
    of_set: Numbers,
    constants: Constants,
    places: Sequence[int],
    unavailable: Sequence[int],
) -> Numbers:
    """Return the weights of the answer for these places, so that topic × answer fits."""
    rows, targets, weights, known = [], [], [], []
    for case, weight in zip(real, of_set, strict=True):
        topic = estimate_topic(case.hits, constants, is_phrase=case.is_phrase)
        for place in places:
            if place < len(case.hits):
                rows.append(describe_answer(case.hits, place))
                targets.append(float(case.right[place]))
                weights.append(weight)
                known.append(topic)
    numbers, right, topics = np.array(rows), np.array(targets), np.array(known)
    numbers[:, list(unavailable)] = 0.0
    found = fit_logistic(numbers, right, np.array(weights))
    for _ in range(20):  # a wrong hit may be wrong because the topic is not there
        guess = logistic(numbers @ found)
        still = guess * (1 - topics) / (1 - topics * guess + 1e-12)
        found = fit_logistic(numbers, np.where(right > 0, 1.0, still), np.array(weights))
    return found


# -- Measuring


class Scored(NamedTuple):
    case: Case
    scores: list[float]

    @property
    def top(self) -> float:
        return self.scores[0] if self.scores else 0.0


def measure_auc(scores: Sequence[float], right: Sequence[bool]) -> float:
    """Return the probability that a right one scores higher than a wrong one."""
    good = np.array([score for score, one in zip(scores, right, strict=True) if one])
    bad = np.sort([score for score, one in zip(scores, right, strict=True) if not one])
    below = np.searchsorted(bad, good, "left") + np.searchsorted(bad, good, "right")
    return float(below.mean() / 2 / max(1, len(bad))) if len(good) else float("nan")


def measure_ece(scores: Sequence[float], right: Sequence[bool]) -> float:
    """Return the expected calibration error over ten bins of equal mass."""
    order = np.argsort(scores, kind="stable")
    bins = zip(
        np.array_split(np.asarray(scores)[order], 10),
        np.array_split(np.asarray(right, float)[order], 10),
        strict=True,
    )
    errors = [len(said) * abs(said.mean() - true.mean()) for said, true in bins if len(said)]
    return float(sum(errors) / max(1, len(scores)))


def simulate_ece(scores: Sequence[float]) -> float:
    """Return the calibration error that perfect scores would show by chance."""
    rng = np.random.default_rng(19)
    draws = [measure_ece(scores, list(rng.random(len(scores)) < scores)) for _ in range(50)]
    return float(np.mean(draws))


def cross_fit(cases: Sequence[Case], mode: str, floor: float) -> list[Scored]:
    """Score each case with the constants that were fitted on the other half."""
    conversations = sorted({case.vault for case in cases if case.set == "LoCoMo"})
    halves = np.random.default_rng(16).integers(2, size=10_000)

    def half(case: Case) -> int:
        if case.set == "LoCoMo" and case.kind == "real":
            return conversations.index(case.vault) % 2
        return int(halves[case.number])

    scored: list[Scored] = []
    for side in (0, 1):
        constants = fit([case for case in cases if half(case) != side], mode, floor)
        scored += [
            Scored(case, estimate(case.hits, constants, is_phrase=case.is_phrase))
            for case in cases
            if half(case) == side
        ]
    return scored


def show_calibration(results: dict[str, list[Scored]]) -> Table:
    """Over the top hits of real questions; the last columns also over the first ten hits."""
    rows = []
    for mode, scored in results.items():
        for name in (*SETS, "all"):
            real = [
                one
                for one in scored
                if one.case.kind == "real" and one.scores and name in (one.case.set, "all")
            ]
            tops = [one.top for one in real]
            right = [one.case.right[0] for one in real]
            every = [score for one in real for score in one.scores]
            every_right = [is_right for one in real for is_right in one.case.right]
            figures = (
                float(np.mean(right)),
                measure_auc([one.case.fusion[0] for one in real], right),
                measure_auc(tops, right),
                measure_ece(tops, right),
                simulate_ece(tops),
                float(np.mean(np.array(tops) < 0.3)),
                float(np.mean(np.array(tops) > 0.7)),
                measure_ece(every, every_right),
            )
            rows.append((f"{mode}, {name}", str(len(real)), *(f"{one:.3f}" for one in figures)))
    head = (
        "search, set",
        "questions",
        "top hit right",
        "AUC of the old score",
        "AUC",
        "calibration error",
        "by chance",
        "scores < .3",
        "scores > .7",
        "calibration error, ten hits",
    )
    return Table("confidence", "The score of the top hit", head, tuple(rows))


def show_floors(results: dict[str, list[Scored]], floors: dict[str, float]) -> Table:
    """Share of questions whose top hit is not weak, and of right hits that are, by floor."""
    rows = []
    for mode, scored in results.items():
        for floor in sorted({*FLOORS, floors[mode]}):
            mark = " (chosen)" if floor == floors[mode] else ""
            shorter = [one for one in scored if one.case.kind == SHORT]
            figures = (
                _measure_over(scored, floor, GIBBERISH),
                _measure_over(scored, floor, DOMAIN, "LoCoMo"),
                _measure_over(scored, floor, DOMAIN, "XQuAD"),
                _measure_over(scored, floor, ARTICLE),
                _measure_over(scored, floor, DOMAIN, "LongMemEval"),
                _measure_over(scored, floor, EXCHANGED, "LoCoMo"),
                *_measure_hidden(scored, floor),
                _measure_hidden(shorter, floor, SHORT)[0],
            )
            rows.append((f"{mode}, {floor:g}{mark}", *(f"{100 * one:.1f} %" for one in figures)))
    head = (
        "search, floor",
        "gibberish",
        "XQuAD on LoCoMo",
        "LoCoMo on XQuAD",
        "XQuAD on other XQuAD",
        "XQuAD on LongMemEval",
        "names exchanged",
        "right top hits hidden",
        "further right hits hidden",
        "right top hits of one or two words hidden",
    )
    return Table("confidence-floor", "What passes the floor", head, tuple(rows))


def show_sizes(cases: Sequence[Case], fitted: dict[str, Constants]) -> Table:
    """The same questions in vaults of other sizes, with the final constants."""
    rows = []
    for mode, constants in fitted.items():
        for size in SIZES:
            scored = [
                Scored(case, estimate(case.hits, constants, is_phrase=case.is_phrase))
                for case in cases
                if case.set == size and case.mode == mode
            ]
            if not scored:
                continue
            real = [one for one in scored if one.case.kind == "real" and one.scores]
            hidden, _ = _measure_hidden(scored, constants.floor)
            right = float(np.mean([one.case.right[0] for one in real]))
            mean = float(np.mean([one.top for one in real]))
            shown = [f"{100 * one:.1f} %" for one in (right, mean)]
            for kind in (GIBBERISH, DOMAIN, ARTICLE):
                asked = any(one.case.kind == kind for one in scored)
                share = _measure_over(scored, constants.floor, kind)
                shown.append(f"{100 * share:.1f} %" if asked else "–")
            shown.append(f"{100 * hidden:.1f} %")
            rows.append((f"{mode}, {size}", *shown))
    head = (
        "search, vault",
        "top hit right",
        "mean score",
        "gibberish",
        "another domain",
        "another article",
        "right top hits hidden",
    )
    return Table("confidence-size", "Vaults of other sizes", head, tuple(rows))


def _measure_hidden(
    scored: Sequence[Scored], floor: float, kind: str = "real"
) -> tuple[float, float]:
    """Return the share of right hits below the floor: of top hits, and of further ones."""
    tops: list[bool] = []
    later: list[bool] = []
    for one in scored:
        if one.case.kind == kind:
            for place, score in enumerate(one.scores):
                if one.case.right[place]:
                    (later if place else tops).append(score < floor)
    return float(np.mean(tops or [False])), float(np.mean(later or [False]))


def _measure_over(scored: Sequence[Scored], floor: float, kind: str, name: str = "") -> float:
    """Return the share of questions of a kind, and set, whose top hit reaches the floor."""
    chosen = [one for one in scored if one.case.kind == kind and (not name or one.case.set == name)]
    return float(np.mean([one.top >= floor for one in chosen] or [False]))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.confidence", description=__doc__)
    parser.add_argument("--data", type=Path, default=datasets.DEFAULT_FOLDER)
    parser.add_argument("--vaults", type=Path, help="keep the vaults here: embedding takes long")
    parser.add_argument("--cache", type=Path, help="keep the evidence here")
    parser.add_argument("--markdown", action="store_true", help=f"rewrite tables in {PAGE.name}")
    options = parser.parse_args(arguments)
    needed = ("locomo_dev.json", "longmemeval_dev.json", "xquad.en.json")
    missing = datasets.missing(options.data, needed)
    if missing:
        print("\n".join(missing), file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(prefix="muisti-confidence-") as temporary:
        vaults = options.vaults or Path(temporary, "vaults")
        cases = collect(options.data, vaults, options.cache or Path(temporary, "cache"))
    current = {
        "hybrid": confidence.HYBRID,
        "keyword": confidence.WORDS,
        "vector": confidence.VECTOR,
    }
    floors = {mode: constants.floor for mode, constants in current.items()}
    results, fitted = {}, {}
    for mode in MODES:
        of_mode = [case for case in cases if case.mode == mode and case.set in SETS]
        results[mode] = cross_fit(of_mode, mode, floors[mode])
        fitted[mode] = fit(of_mode, mode, floors[mode])
    tables = [show_calibration(results), show_floors(results, floors), show_sizes(cases, fitted)]
    for table in tables:
        print(table.text(), end="\n\n")
    for mode, constants in fitted.items():
        print(mode)
        for name, values in constants._asdict().items():
            shown = values if name == "floor" else tuple(round(float(one), 2) for one in values)
            print(f"    {name} = {shown}")
    if options.markdown:
        rewrite(PAGE, {table.name: table.markdown() for table in tables})
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
