"""BERT's uncased WordPiece tokenizer in plain Python, with the same token ids as the original.

Control characters are removed, letters lower-cased and stripped of accents. The text is split at
spaces, punctuation and Chinese characters, and each word greedily into the longest known pieces.
One table of characters does this in one pass, in linear time.

Special tokens in a text, such as `[SEP]`, are read as ordinary characters.
"""

from __future__ import annotations

import gzip
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib import resources

MAX_WORD = 100
"""A word of more characters is one unknown token, as in the original."""
_CACHED_WORDS = 50_000
# BERT's own list, not `text.scripts`: token ids must be those of the training.
_CJK = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),  # the original has this gap after 2B81F too
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


class _Characters(dict[int, str]):
    """Maps each character to its replacement: nothing, spaces around it, or lower case.

    Filled on demand.
    """

    def __missing__(self, code: int) -> str:
        char = chr(code)
        if char in "\t\n\r":
            replacement = " "
        elif char == "\ufffd" or unicodedata.category(char) in {"Cc", "Cf", "Co", "Cs"}:
            replacement = ""
        elif char.isspace():
            replacement = " "
        else:
            replacement = ""
            for part in unicodedata.normalize("NFD", char):
                if unicodedata.category(part) != "Mn":
                    for lower in part.lower():
                        replacement += f" {lower} " if _is_punctuation(lower) else lower
            if any(first <= code <= last for first, last in _CJK):
                replacement = f" {replacement} "
        self[code] = replacement
        return replacement


def _is_punctuation(char: str) -> bool:
    if char.isascii():  # BERT counts $ + < = > ^ ` | ~ as punctuation
        return char.isprintable() and not char.isalnum() and char != " "
    return unicodedata.category(char).startswith("P")


_CHARACTERS = _Characters()


class WordPiece:
    """Splits texts into the tokens of a vocabulary. Thread-safe."""

    def __init__(self, vocabulary: Iterable[str]) -> None:
        self._ids = {piece: number for number, piece in enumerate(vocabulary)}
        self._unknown = self._ids["[UNK]"]
        self._start = self._ids["[CLS]"]
        self._end = self._ids["[SEP]"]
        self._cached_split = lru_cache(maxsize=_CACHED_WORDS)(self._split_word)

    def encode(self, text: str, max_tokens: int) -> list[int]:
        """Return at most `max_tokens` token ids (at least 2), from [CLS] to [SEP]."""
        room = max(0, max_tokens - 2)
        ids: list[int] = []
        for pieces in self._split(text):
            ids += pieces
            if len(ids) >= room:
                break
        return [self._start, *ids[:room], self._end]

    def count(self, text: str) -> int:
        """Return the number of tokens, without [CLS] and [SEP]."""
        return sum(map(len, self._split(text)))

    def _split(self, text: str) -> Iterator[tuple[int, ...]]:
        unknown = (self._unknown,)
        for word in text.translate(_CHARACTERS).split():
            yield self._cached_split(word) if len(word) <= MAX_WORD else unknown

    def _split_word(self, word: str) -> tuple[int, ...]:
        ids: list[int] = []
        start = 0
        while start < len(word):
            mark = "##" if start else ""
            for end in range(len(word), start, -1):
                number = self._ids.get(mark + word[start:end])
                if number is not None:
                    break
            else:
                return (self._unknown,)  # an unknown piece makes the whole word unknown
            ids.append(number)
            start = end
        return tuple(ids)


@lru_cache(maxsize=1)
def load_bert_uncased() -> WordPiece:
    """Return the tokenizer of BERT uncased, which all models of the catalogue use."""
    packed = resources.files(__package__).joinpath("vocab", "bert_uncased.txt.gz").read_bytes()
    return WordPiece(gzip.decompress(packed).decode("utf-8").rstrip("\n").split("\n"))
