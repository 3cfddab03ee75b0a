"""What speaks for a hit by itself, whatever else the vault holds. Pure.

`confidence` turns this into a probability. Scores of features cannot be used for that: they are
relative to the other candidates.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from muisti.recall.speaker import find_names
from muisti.recall.word_weights import weigh_word
from muisti.text.tokens import tokenize

if TYPE_CHECKING:
    from muisti.ports import Term, Words
    from muisti.recall.features import Ranked, RankingInputs

UNKNOWN_BACKGROUND = 0.5
"""The background of a model that was not measured. Most models have a lower one: rather too low a
score than confidence in unrelated texts."""
LOOSE = 0.9
"""How well an alternative matches: other forms of a word mean the same, words that only contain it
may not."""
TIME = 2.0
"""The weight of the time that a query names, in words: a date says more than one word."""
PASSAGE = 60
"""Words of a passage. A long text has many words of any query, but not close together."""
TOGETHER = 3
"""How far apart two words that are side by side in the query may be in a text."""
Forms = Mapping[str, Sequence[tuple[str, float]]]
"""For each index word the words of the query that it matches, and how well."""
_WORD = re.compile(r"[^\W\d_]+")


class Evidence(NamedTuple):
    """What speaks for one hit."""

    nearness: float | None
    """From 0, the model's background, to 1, the same text; None if no vector was compared."""
    share: float
    """The weighted share of the query's words that it has."""
    share_around: float
    """The same of it together with its neighbours in the conversation."""
    matched: float
    """The weight of the words that it has: two rare words say more than one common word."""
    is_speaker: bool
    """Whether the person said it whom the query is about."""
    nearer_neighbour: float
    """How much nearer the next text in the conversation is."""
    is_turn: bool
    """Whether it stands between others in a conversation or session."""
    length: int
    """Its number of words."""
    pairs: float
    """The weight of the query's pairs of words that it has together: rarely by chance."""
    names: float
    """From -0.5, it has none of the names in the query, to 0.5, all; 0 if there are none."""
    by_words: float
    """1 divided by its rank among the keyword hits; 0 if it is not among them."""


def choose_background(unrelated: float) -> float:
    """Return the background of an embedder: its `unrelated`, or a guess if that is unknown."""
    return unrelated if unrelated > -1.0 else UNKNOWN_BACKGROUND


def weigh_query(inputs: RankingInputs) -> dict[str, float]:
    """Return the query's words that a text should have, with their weights.

    Names of speakers are left out: half of a conversation has them. So are the words of a time.
    """
    query = inputs.query
    words = query.words or [query.text]
    left_out = find_names(inputs.speakers)
    if query.when is not None:
        left_out |= set(tokenize(query.when.phrase))
    kept = [word for word in words if word not in left_out]
    if not kept and query.when is None:
        kept = list(words)
    return {word: weigh_word(word) for word in kept}


def find_capitalised(text: str, words: Collection[str]) -> set[str]:
    """Return those of a query's words that it capitalises, other than the first: its names."""
    found = _WORD.findall(text)
    capitalised = {word for word in found[1:] if word[0].isupper() and word[1:].islower()}
    return {word for name in capitalised - set(found[:1]) for word in tokenize(name)} & set(words)


def find_forms(words: Iterable[str], terms: Sequence[Term]) -> dict[str, list[tuple[str, float]]]:
    """Return for each index word the words of a query that it matches: 1, or LOOSE."""
    alternatives = {term.text: term.alternatives for term in terms}
    forms: dict[str, list[tuple[str, float]]] = {}
    for word in words:
        forms.setdefault(word, []).append((word, 1.0))
        for other in alternatives.get(word, ()):
            forms.setdefault(other, []).append((word, LOOSE))
    return forms


def measure_evidence(inputs: RankingInputs, ranked: Ranked) -> Evidence:
    """Return what speaks for a hit. A successor has the evidence of the memory it replaced too."""
    own = _measure(inputs, ranked, ranked)
    if ranked.instead_of is None:
        return own
    old = _measure(inputs, ranked.instead_of, ranked)
    if own.nearness is None or old.nearness is None:
        nearness = own.nearness if old.nearness is None else old.nearness
    else:
        nearness = max(own.nearness, old.nearness)
    return Evidence(
        nearness,
        max(own.share, old.share),
        max(own.share_around, old.share_around),
        max(own.matched, old.matched),
        own.is_speaker,
        min(own.nearer_neighbour, old.nearer_neighbour),
        own.is_turn,
        own.length,
        max(own.pairs, old.pairs),
        max(own.names, old.names),
        max(own.by_words, old.by_words),
    )


def _measure(inputs: RankingInputs, hit: Ranked, ranked: Ranked) -> Evidence:
    retrieval, position = inputs.retrieval, hit.position
    weights = inputs.query_weights
    total = inputs.query_weight
    in_time = 0.0
    if inputs.query.when is not None:
        total += TIME
        in_time = TIME * float(inputs.closeness[position])
    around = inputs.get_around(position)
    text = retrieval.texts.get(hit.candidate.memory_id)
    body = text.body if text else ""
    places = find_words(body, inputs.sought_forms)
    if text is None:
        own = dict.fromkeys(weights.keys() & inputs.explain_match(hit).words, 1.0)
    else:
        own = match_passage(text, places, weights, inputs.query_forms)
    matched = sum([weights[word] * part for word, part in own.items()]) + in_time
    matched_around = matched
    if around.words:
        together = dict(own)
        add_matches(together, around.words.items())
        matched_around = in_time + sum([weights[word] * part for word, part in together.items()])

    nearness = _scale(inputs, position)
    nearer = 0.0
    if nearness is not None and around.is_turn:
        next_to = [_scale(inputs, around.sides[side]) for side in (0, 2)]
        nearer = max([near - nearness for near in next_to if near is not None], default=0.0)
    rank = inputs.keyword_ranks.get(position)
    return Evidence(
        nearness,
        matched / total if total else 0.0,
        matched_around / total if total else 0.0,
        matched,
        ranked.get_contribution("speaker") > 0,
        nearer,
        around.is_turn,
        body.count(" ") + 1 if body else 0,
        weigh_pairs(places, weights, inputs.query_pairs),
        rate_names(own, inputs.query_names),
        1 / rank if rank else 0.0,
    )


def _scale(inputs: RankingInputs, position: int) -> float | None:
    """Return where a cosine lies between the model's background, 0, and 1."""
    cosines = inputs.retrieval.cosines
    cosine = float(cosines[position]) if len(cosines) else math.nan
    if math.isnan(cosine):
        return None
    background = inputs.retrieval.embedding.background
    return min(1.0, max(0.0, (cosine - background) / (1 - background)))


class Around(NamedTuple):
    """The neighbours of a text."""

    sides: Sequence[int]
    """Their positions, as `CandidateTable.sides` has them; empty if no candidate has any."""
    is_turn: bool
    """Whether there are any."""
    words: Mapping[str, float]
    """The words of the query that short ones have, and how well they match."""


def find_around(inputs: RankingInputs, positions: Sequence[int]) -> dict[int, Around]:
    """Return the neighbours of texts by the texts' positions."""
    table, columns = inputs.retrieval.table, inputs.retrieval.columns
    missing = len(table.lengths) - 1
    sides = columns.take_sides(table.sides, positions)
    beside = list({at for row in sides for at in row if at != missing})
    words: dict[int, dict[str, float]] = {}
    if beside:
        found = {word: table.counts[word] for word in inputs.query_forms if word in table.counts}
        bodies, *counted = columns.take_all([table.bodies, *found.values()], beside)
        # All of a short text is one passage.
        words = {at: {} for at, length in zip(beside, bodies, strict=True) if length <= PASSAGE}
        for word, counts in zip(found, counted, strict=True):
            forms = inputs.query_forms[word]
            for at, count in zip(beside, counts, strict=True):
                if count and at in words:
                    add_matches(words[at], forms)
    around = {}
    for position, row in zip(positions, sides, strict=True):
        together: dict[str, float] = {}
        for at in row:
            if words.get(at):
                add_matches(together, words[at].items())
        is_turn = row.count(missing) < len(row)
        around[position] = Around(row, is_turn, together)
    return around


def add_matches(found: dict[str, float], matches: Iterable[tuple[str, float]]) -> None:
    """Add words of the query to those that were found, each as well as it matches best."""
    for word, part in matches:
        if part > found.get(word, 0.0):
            found[word] = part


Places = Sequence[tuple[int, Sequence[tuple[str, float]]]]
"""Where a body has words of the query: which ones, and how well."""


def space_forms(forms: Forms) -> list[tuple[str, Sequence[tuple[str, float]]]]:
    """Return the words of a query between spaces, with the words that they match."""
    return [(f" {word} ", matches) for word, matches in forms.items()]


def find_words(
    body: str, sought_forms: Iterable[tuple[str, Sequence[tuple[str, float]]]]
) -> Places:
    """Return where a body has words of the query. It has its words with a space between them.

    `sought_forms` is what `space_forms` returns.
    """
    spaced = f" {body} "
    places: list[tuple[int, Sequence[tuple[str, float]]]] = []
    for sought, matches in sought_forms:
        number = last = 0
        at = spaced.find(sought)
        while at >= 0:
            number += spaced.count(" ", last, at)
            places.append((number, matches))
            last = at
            at = spaced.find(sought, at + 1)
    places.sort(key=itemgetter(0))
    return places


def find_pairs(words: Iterable[str]) -> dict[str, list[tuple[str, str]]]:
    """Return for each word of a query its pairs with the words beside it."""
    beside: dict[str, list[tuple[str, str]]] = {}
    for pair in pairwise(words):
        for word in pair:
            beside.setdefault(word, []).append(pair)
    return beside


def weigh_pairs(
    places: Places, weights: Mapping[str, float], beside: Mapping[str, Sequence[tuple[str, str]]]
) -> float:
    """Return the weight of the query's neighbouring words that a text has close together.

    `beside` has the pairs of each word.
    """
    if len(places) < 2:
        return 0.0
    last: dict[str, int] = {}
    together: set[tuple[str, str]] = set()
    for at, matches in places:
        for word, _ in matches:
            last[word] = at
            for pair in beside.get(word, ()):
                earlier = last.get(pair[0] if pair[1] == word else pair[1])
                if earlier is not None and at - earlier <= TOGETHER:
                    together.add(pair)
    return sum((weights[first] + weights[second]) / 2 for first, second in together)


def rate_names(matched: Mapping[str, float], names: Collection[str]) -> float:
    """Return how many of the names a text has, from -0.5 to 0.5; 0 without names."""
    if not names:
        return 0.0
    return sum(matched.get(name, 0.0) for name in names) / len(names) - 0.5


def match_passage(
    text: Words, places: Places, weights: Mapping[str, float], forms: Forms
) -> dict[str, float]:
    """Return the words of the query in the best passage of a text; LOOSE for an alternative.

    Words of title and labels belong to every passage.
    """
    always: dict[str, float] = {}
    if text.title or text.labels:
        for token in f"{text.title} {text.labels}".split():
            if token in forms:
                add_matches(always, forms[token])
    blocks: dict[int, dict[str, float]] = {}
    for at, matches in places:
        add_matches(blocks.setdefault(at // (PASSAGE // 2), {}), matches)
    if len(blocks) == 1 and not always:
        return next(iter(blocks.values()))
    best, best_weight = always, -1.0
    for number, block in blocks.items():  # a passage is a block with the one before it
        found = dict(always)
        for part_of in (block, blocks.get(number - 1, _NONE)):
            add_matches(found, part_of.items())
        weight = sum(weights[word] * part for word, part in found.items())
        if weight > best_weight:
            best, best_weight = found, weight
    return best


_NONE: Mapping[str, float] = {}
