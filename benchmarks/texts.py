"""Texts that look like memories: words of real English in their real frequencies, the same in every
run.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, product
from pathlib import Path

from benchmarks.datasets import DEFAULT_FOLDER

VOCABULARY = 30_000
LENGTH = 60
"""Words of a memory, on average."""
SHORTEST, LONGEST = 8, 200
"""Words of a memory, if its length is drawn: shorter ones would repeat one another, and longer ones
have several vectors.
"""
_GRAMMAR = """
the to and a of i in is for that it you we on with was be this are my have as at or if not but they can from so an about will do
your what has by all our would there when which more their how up out some were been just also no should any one had who them its
into than then only other could after before because these did me her she he his him where why while here now over under each
between most very through
"""
_QUESTIONS = (
    "What did we decide about the {0} {1} for the {2}?",
    "When did I talk to them about {0} and the {1}?",
    "Which {0} should be used with {1} when there is no {2}?",
    "How do we {0} the {1} {2} after the {3}?",
    "Why was the {0} of the {1} moved to {2}?",
    "Who was going to look at {0} {1} before the {2}?",
    "Where is the {0} that she wanted for our {1} {2} {3}?",
)


@dataclass(frozen=True)
class Text:
    title: str
    content: str


def vocabulary(folder: Path = DEFAULT_FOLDER) -> tuple[str, list[str]]:
    """Where the words come from, and the words, the most frequent first."""
    counts: Counter[str] = Counter()
    for path in sorted(folder.glob("l*_dev.json")) if folder.is_dir() else []:
        counts.update(
            re.findall(
                r"[a-z]{1,20}", " ".join(_strings(json.loads(path.read_text("utf-8")))).lower()
            )
        )
    if len(counts) >= 5_000:
        return "real conversations (shared/data)", [
            word for word, _ in counts.most_common(VOCABULARY)
        ]
    return "made-up words", [*_GRAMMAR.split(), *_made_up()][:VOCABULARY]


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        if "://" not in value:  # addresses of pictures: no words
            yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _strings(item)


def _made_up() -> list[str]:
    """Pronounceable words, in an order that mixes short and long ones."""
    syllables = [
        "".join(parts) for parts in product("bdfgklmnprstv", "aeiou", ("", "n", "r", "st"))
    ]
    made = [a + b for a, b in product(syllables, syllables)]
    random.Random(1).shuffle(made)
    return list(dict.fromkeys(made))


class Writer:
    """Writes memories and asks questions about them."""

    def __init__(
        self, words: Sequence[str], seed: int = 7, lengths: Sequence[int] | None = None
    ) -> None:
        """Lengths: of which to draw those of the memories, in words; by default about sixty."""
        self._words = words
        self._lengths = lengths
        self._random = random.Random(seed)
        # Zipf's law in Mandelbrot's form, which fits the most frequent words too.
        self._weights = list(accumulate(1 / (rank + 2.7) for rank in range(len(words))))
        self._grammar = frozenset(words[:120]) | frozenset(_GRAMMAR.split())

    def texts(self, number: int) -> list[Text]:
        """Memories of about sixty words in a few sentences, with a title of three."""
        return [self.text() for _ in range(number)]

    def text(self) -> Text:
        """The next memory."""
        if self._lengths:
            length = min(LONGEST, max(SHORTEST, self._random.choice(self._lengths)))
        else:
            length = max(20, round(self._random.gauss(LENGTH, LENGTH / 4)))
        drawn = self._random.choices(self._words, cum_weights=self._weights, k=length + 3)
        title, body = drawn[:3], drawn[3:]
        sentences = []
        while body:
            end = self._random.randint(7, 15)
            sentences.append(" ".join(body[:end]).capitalize() + ".")
            body = body[end:]
        return Text(" ".join(title).capitalize(), " ".join(sentences))

    def questions(self, texts: Sequence[Text], number: int) -> list[str]:
        """Natural questions, each about words of one of the texts."""
        asked = []
        for text in self._random.choices(texts, k=number):
            telling = [
                w
                for w in dict.fromkeys(re.findall(r"\w+", text.content.lower()))
                if w not in self._grammar
            ]
            chosen = [*self._random.sample(telling, min(4, len(telling))), *["thing"] * 4]
            asked.append(self._random.choice(_QUESTIONS).format(*chosen))
        return asked
