"""What `benchmarks.confidence` learns from: the evidence for the first hits of many questions.

Real questions have right and wrong hits. Off-topic questions have only wrong ones: gibberish,
questions about another domain, and another conversation's questions with the names exchanged.
"""

from __future__ import annotations

import json
import random
import re
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import NamedTuple

from benchmarks import datasets
from benchmarks.datasets import Document, Question, Store
from benchmarks.quality import Asked
from muisti.model import Filter
from muisti.recall.confidence import FIRST
from muisti.recall.evidence import Evidence, measure_evidence
from muisti.recall.pages import find_hits
from muisti.recall.query import parse_query, split_query
from muisti.recall.word_weights import weigh_word
from muisti.text.stop_words import is_phrase
from muisti.text.tokens import stem, tokenize

MODES = ("hybrid", "keyword", "vector")
SHORT = "one or two words"
GIBBERISH, DOMAIN, EXCHANGED = "gibberish", "another domain", "names exchanged"
ARTICLE, UNRELATED = "another article", "unrelated"
FEW = 60
"""Real questions of each vault that are also asked in one or two words."""
OFF_TOPIC = 100
"""Off-topic questions of each kind, for each vault."""
SMALL = 40
"""Vaults of three memories, at most."""


class Case(NamedTuple):
    """One question, asked of one vault in one mode."""

    set: str
    vault: str
    kind: str
    """`real`, or why it has no answer."""
    mode: str
    number: int
    """Of the question within its vault and kind."""
    hits: list[Evidence]
    right: list[bool]
    fusion: list[float]
    is_phrase: bool


def collect(data: Path, vaults: Path, cache: Path) -> list[Case]:
    """Return all cases; those of an earlier run are read from the cache."""
    cache.mkdir(parents=True, exist_ok=True)
    cases: list[Case] = []
    for name, make in _list_parts(data, vaults):
        file = cache / f"{name}.json"
        if not file.is_file():
            print(f"{name} …", file=sys.stderr)
            file.write_text(json.dumps(list(make())), "utf-8")
        for values in json.loads(file.read_text()):
            case = Case(*values)
            cases.append(case._replace(hits=[Evidence(*one) for one in case.hits]))
    return cases


Part = tuple[str, Callable[[], Iterator[Case]]]


def _list_parts(data: Path, vaults: Path) -> list[Part]:
    conversations = datasets.locomo(data)
    paragraphs = datasets.xquad(data, "en")
    pooled = datasets.longmemeval(data)
    about_articles = [question.text for question in paragraphs.questions]
    about_people = [one.text for store in conversations for one in store.questions]
    notes, unrelated = load_notes(), load_unrelated()

    def ask_conversation(store: Store) -> Iterator[Case]:
        off = {DOMAIN: about_articles, EXCHANGED: _exchange_names(store, conversations)}
        yield from _ask("LoCoMo", store, vaults / "LoCoMo dev", store.questions, off)

    def ask_pooled() -> Iterator[Case]:
        off = {DOMAIN: about_articles, EXCHANGED: about_people}
        folder = vaults / "LongMemEval dev pooled"
        yield from _ask("LongMemEval", pooled, folder, pooled.questions, off)

    def ask_paragraphs() -> Iterator[Case]:
        off: dict[str, Sequence[str]] = {DOMAIN: about_people}
        yield from _ask("XQuAD", paragraphs, vaults / "XQuAD en", paragraphs.questions, off)

    def ask_half() -> Iterator[Case]:
        half = _halve(paragraphs)
        off: dict[str, Sequence[str]] = {ARTICLE: half.unanswered}
        yield from _ask("XQuAD", half.store, vaults / "XQuAD half", half.store.questions, off, 300)

    def ask_notes(store: Store) -> Iterator[Case]:
        off = {UNRELATED: unrelated, DOMAIN: about_articles}
        yield from _ask("Notes", store, vaults / "Notes", store.questions, off)

    def ask_few_notes() -> Iterator[Case]:
        for few in split_notes(notes):
            off = {UNRELATED: unrelated, DOMAIN: about_articles}
            yield from _ask("vaults of 14", few, vaults / "sizes", few.questions, off, 20)

    parts: list[Part] = [
        (f"locomo-{one.name}", partial(ask_conversation, one)) for one in conversations
    ]
    return [
        *parts,
        ("longmemeval", ask_pooled),
        ("xquad", ask_paragraphs),
        ("xquad-half", ask_half),
        ("notes", partial(ask_notes, notes)),
        ("vaults-of-14", ask_few_notes),
        ("vaults-of-3", lambda: _ask_threes(conversations[0], about_articles, vaults)),
        ("vault-of-300", lambda: _ask_300(conversations[0], about_articles, vaults)),
        ("vault-of-30000", lambda: _ask_30000(conversations[0], paragraphs, vaults)),
    ]


def load_notes() -> Store:
    """Return notes with questions that share hardly a word with them."""
    at = datetime(2026, 1, 1, tzinfo=UTC)
    documents, questions = [], []
    for number, line in enumerate(_read_lines("paraphrases.tsv")):
        text, question = line.split("\t")
        key = f"note-{number}"
        documents.append(Document(key, key, text, at))
        questions.append(Question(question, frozenset({key}), at))
    return Store("notes", tuple(documents), tuple(questions))


def split_notes(notes: Store, size: int = 14) -> Iterator[Store]:
    """Yield small vaults of different notes."""
    for start in range(0, len(notes.documents), size):
        documents = notes.documents[start : start + size]
        yield Store(f"notes-{start}", documents, notes.questions[start : start + size])


def load_unrelated() -> list[str]:
    """Return questions and tasks that no note is about."""
    return _read_lines("unrelated.txt")


def _read_lines(name: str) -> list[str]:
    lines = Path(__file__).with_name("data").joinpath(name).read_text("utf-8").splitlines()
    return [line for line in lines if not line.startswith("#")]


class Half(NamedTuple):
    """Half of the paragraphs, without questions, and the questions about the other half."""

    store: Store
    unanswered: list[str]


def _halve(paragraphs: Store) -> Half:
    documents = paragraphs.documents[: len(paragraphs.documents) // 2]
    known = {document.key for document in documents}
    unanswered = [one.text for one in paragraphs.questions if not one.gold <= known]
    return Half(Store("half", documents, ()), unanswered)


def _ask(
    name: str,
    store: Store,
    folder: Path,
    questions: Sequence[Question],
    off_topic: dict[str, Sequence[str]],
    most: int = OFF_TOPIC,
) -> Iterator[Case]:
    asked = Asked(store, folder)
    rng = random.Random(f"{name} {store.name}")
    latest = max((question.at for question in store.questions), default=store.documents[-1].at)
    wrong = {GIBBERISH: make_gibberish(rng, most)}
    for kind, texts in off_topic.items():
        wrong[kind] = rng.sample(texts, min(most, len(texts)))
    names = {document.text.partition(":")[0] for document in store.documents}
    with asked.memory:
        for mode in MODES:
            rng_short = random.Random(store.name)
            for number, question in enumerate(questions):
                yield _find(asked, (name, store.name, "real", mode, number), question)
            for number, question in enumerate(
                rng_short.sample(questions, min(FEW, len(questions)))
            ):
                short = replace(question, text=shorten(question.text, 1 + number % 2, names))
                yield _find(asked, (name, store.name, SHORT, mode, number), short)
            for kind, texts in wrong.items():
                for number, text in enumerate(texts):
                    question = Question(text, frozenset(), latest)
                    yield _find(asked, (name, store.name, kind, mode, number), question)


def _find(asked: Asked, labels: tuple[str, str, str, str, int], question: Question) -> Case:
    services = asked.memory._services
    mode = labels[3]
    with services.index.snapshot():
        parsed = parse_query(services, question.text, mode, question.at)
        hits = find_hits(services, parsed, Filter(), FIRST, question.at).hits
    ids = [hit.ranked.candidate.memory_id for hit in hits]
    return Case(
        *labels,
        [measure_evidence(hit.inputs, hit.ranked) for hit in hits],
        [bool(question.gold.intersection(asked.stands_for[id_])) for id_ in ids],
        [hit.ranked.score for hit in hits],
        is_phrase(question.text),
    )


def shorten(text: str, count: int, names: Collection[str]) -> str:
    """Return the most telling words of a question, as one types them into a search box."""
    found = re.findall(r"\w[\w'’]*", text)
    words = [word for word in found if re.split("['’]", word)[0] not in names]
    telling = [word for word in words if split_query(f"the {word}") == tokenize(word)]
    best = sorted(telling or words, key=lambda word: (-weigh_word(stem(word)), -len(word)))[:count]
    return " ".join(word for word in words if word in best)


def make_gibberish(rng: random.Random, count: int) -> list[str]:
    """Return random letters, keys side by side, syllables, and letters with digits."""
    letters = "abcdefghijklmnopqrstuvwxyz"

    def syllable() -> str:
        return rng.choice("bdfgklmnprstvz") + rng.choice("aeiou")

    def word(kind: int) -> str:
        if kind == 0:
            return "".join(rng.choices(letters, k=rng.randint(3, 9)))
        if kind == 1:
            row = rng.choice(("qwertyuiop", "asdfghjkl", "zxcvbnm"))
            return "".join(rng.choices(row, k=rng.randint(3, 8)))
        if kind == 2:
            return "".join(syllable() for _ in range(rng.randint(2, 4)))
        return "".join(rng.choices(letters + "0123456789", k=rng.randint(6, 24)))

    return [" ".join(word(at % 4) for _ in range(rng.randint(1, 6))) for at in range(count)]


def _exchange_names(store: Store, stores: Sequence[Store]) -> list[str]:
    """Return the questions of the other conversations, about the people of this one."""

    def names(one: Store) -> list[str]:
        return sorted({document.text.partition(":")[0] for document in one.documents})

    texts = []
    for other in stores:
        if other is not store:
            for question in other.questions:
                text = question.text
                for old, new in zip(names(other), names(store), strict=True):
                    text = text.replace(old, new)
                texts.append(text)
    return texts


# -- The same in vaults of other sizes


def _ask_threes(store: Store, off: Sequence[str], vaults: Path) -> Iterator[Case]:
    """A right turn and two others, for questions that the whole conversation answers first.

    Other right turns come first in a vault of three for want of any other, not by evidence.
    """
    rng = random.Random(4)
    answered: list[tuple[Question, str]] = []
    asked = Asked(store, vaults / "LoCoMo dev")
    with asked.memory:
        for question in store.questions:
            best = {key for mode in MODES for key in asked.ranking(question, 1, mode)}
            if len(best) == 1 and best <= question.gold:
                answered.append((question, best.pop()))
    for number, (question, key) in enumerate(rng.sample(answered, min(SMALL, len(answered)))):
        right = [one for one in store.documents if one.key == key]
        others = [one for one in store.documents if one.key not in question.gold]
        chosen = (*right, *rng.sample(others, 2))
        small = Store(f"three-{number}", chosen, (question,))
        yield from _ask("vaults of 3", small, vaults / "sizes", [question], {DOMAIN: off}, 4)


def _ask_300(store: Store, off: Sequence[str], vaults: Path) -> Iterator[Case]:
    documents = store.documents[:300]
    keys = {document.key for document in documents}
    questions = [question for question in store.questions if question.gold <= keys]
    part = Store("three-hundred", documents, tuple(questions))
    yield from _ask("vault of 300", part, vaults / "sizes", questions, {DOMAIN: off})


def _ask_30000(store: Store, paragraphs: Store, vaults: Path) -> Iterator[Case]:
    """One conversation, half of the paragraphs, and generated notes."""
    half = _halve(paragraphs)
    documents = (*store.documents, *half.store.documents)
    notes = _make_notes(30_000 - len(documents))
    full = Store("thirty-thousand", (*documents, *notes), store.questions)
    off = {ARTICLE: half.unanswered}
    yield from _ask("vault of 30,000", full, vaults / "sizes", store.questions, off)


_SUBJECTS = "server invoice parser garden printer budget router deploy camera backup ticket".split()
_VERBS = "failed moved waited grew stopped returned changed broke doubled restarted".split()
_PLACES = "Oulu Turku Lahti Vaasa Kuopio Porvoo Rauma Kotka Salo Imatra".split()


def _make_notes(count: int) -> list[Document]:
    """Return notes of which no two are equal."""
    rng = random.Random(5)
    at = datetime(2023, 1, 1, tzinfo=UTC)
    notes = []
    for number in range(count):
        subject, verb, place = (rng.choice(words) for words in (_SUBJECTS, _VERBS, _PLACES))
        text = f"The {subject} {number} in {place} {verb} after {rng.randint(2, 999)} hours."
        key = f"n{number}"
        notes.append(Document(key, key, text, at + timedelta(minutes=number)))
    return notes
